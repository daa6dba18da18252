//! Changes of text that keep its words whole.

use crate::dice::Dice;

/// Numbers that stand badly where a number stands.
pub const NUMBERS: [&str; 22] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "100",
    "1000",
    "65536",
    "2147483648",
    "4294967296",
    "1e11",
    "100000000000",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e999",
    "-1e308",
    "5e-324",
    "nan",
    "inf",
    "0.1",
];

/// Texts that stand badly anywhere.
const ODD: [&str; 12] = [
    "\0",
    "\u{7f}",
    "\u{1b}[31m",
    "é",
    "\u{feff}",
    "\u{202e}",
    "𝒙",
    "\r\n",
    "\t",
    "\\",
    "\"",
    "`",
];

/// Longer than this nothing grows.
const LONGEST: usize = 1 << 16;

/// Words, numbers, spaces, and single other characters.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '.' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut tokens: Vec<String> = Vec::new();
    let mut before = 2;
    for c in text.chars() {
        let now = class(c);
        match tokens.last_mut() {
            Some(last) if now == before && now != 2 => last.push(c),
            _ => tokens.push(c.into()),
        }
        before = now;
    }
    tokens
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// One change of a text; `words` are those that mean something in its grammar, `brackets` those that nest.
pub fn mutate(
    dice: &mut Dice,
    text: &str,
    other: &str,
    words: &[&str],
    brackets: &[(&str, &str)],
) -> String {
    let mut tokens = split(text);
    if tokens.is_empty() {
        return dice.pick(words).to_string();
    }
    let range = dice.range(tokens.len());
    let at = range.start;
    match dice.below(14) {
        0 => tokens.insert(at, dice.pick(words).to_string()),
        1 => tokens[at] = dice.pick(words).to_string(),
        2 => {
            tokens.drain(range);
        }
        3 => {
            let to = dice.below(tokens.len());
            tokens.swap(at, to);
        }
        4 => {
            let copy = tokens[range].to_vec();
            tokens.splice(at..at, copy);
        }
        5 | 6 => {
            // A number, if there is one.
            let places: Vec<usize> = (0..tokens.len())
                .filter(|k| is_number(&tokens[*k]))
                .collect();
            let at = if places.is_empty() {
                at
            } else {
                *dice.pick(&places)
            };
            tokens[at] = dice.pick(&NUMBERS).to_string();
        }
        7 => {
            // The end of another one.
            let others = split(other);
            tokens.truncate(at);
            let from = dice.below(others.len().max(1)).min(others.len());
            tokens.extend_from_slice(&others[from..]);
        }
        8 => {
            let (open, close) = *dice.pick(brackets);
            let depth = dice.size(3000);
            tokens.insert(range.end, close.repeat(depth));
            tokens.insert(at, open.repeat(depth));
        }
        9 => {
            let copy = tokens[range].concat();
            let most = (LONGEST / copy.len().max(1)).max(1);
            let times = dice.size(most.min(5000));
            tokens.insert(at, copy.repeat(times));
        }
        10 => tokens.insert(at, dice.pick(&ODD).to_string()),
        11 => {
            let times = dice.size(3000);
            tokens[at] = tokens[at].repeat(times);
        }
        12 => tokens.truncate(at),
        _ => {
            let piece: Vec<String> = tokens.drain(range).collect();
            let to = dice.below(tokens.len() + 1);
            tokens.splice(to..to, piece);
        }
    }
    let mut text = tokens.concat();
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|k| text.is_char_boundary(*k));
        text.truncate(end.unwrap_or(0));
    }
    text
}
