//! Small grammars: texts that are read and written again.

use super::Target;
use crate::{
    dice::Dice,
    mutate::{bytes, tokens},
    verdict::{Fault, Outcome, Verdict, error},
};

const BRACKETS: [(&str, &str); 6] = [
    ("(", ")"),
    ("sin(", ")"),
    ("-", ""),
    ("(polynomial(1) + ", ")"),
    ("[x", "]"),
    ("2^", ""),
];

/// A target whose inputs are texts of a small grammar.
pub struct Grammar {
    /// Valid texts.
    pub seeds: &'static [&'static str],
    /// Words that the grammar knows.
    pub words: &'static [&'static str],
    /// Reads bytes and checks what comes of them.
    pub run: fn(&[u8]) -> Verdict,
}

impl Target for Grammar {
    fn extension(&self) -> &'static str {
        "txt"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(seeds(self.seeds))
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        mutate(dice, seeds, self.words)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        (self.run)(bytes)
    }
}

/// Texts as seeds.
pub fn seeds(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|t| t.as_bytes().to_vec()).collect()
}

/// A changed text.
pub fn mutate(dice: &mut Dice, seeds: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
    if dice.one_in(8) {
        let mut out = seed.clone();
        bytes::mutate(dice, &mut out, other);
        return out;
    }
    let other = String::from_utf8_lossy(other);
    let mut text = String::from_utf8_lossy(seed).into_owned();
    for _ in 0..dice.size(5) {
        text = tokens::mutate(dice, &text, &other, words, &BRACKETS);
    }
    text.into_bytes()
}

/// Reads a text, which must be one: arguments of a command are.
pub fn read<T, E: ToString>(
    bytes: &[u8],
    parse: impl FnOnce(&str) -> Result<T, E>,
    check: impl FnOnce(T) -> Verdict,
) -> Verdict {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Ok(Outcome::Error("not text".into()));
    };
    match parse(text) {
        Ok(value) => check(value),
        Err(e) => error(e),
    }
}

/// Whether a value, written as text and read again, is the same.
pub fn same_again<T: PartialEq + std::fmt::Debug, E: ToString>(
    value: &T,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<(), Fault> {
    let short = |s: &str| s.chars().take(400).collect::<String>();
    match parse(text) {
        Ok(again) if again == *value => Ok(()),
        Ok(again) => {
            let what = format!(
                "{} is read as {}",
                short(text),
                short(&format!("{again:?}"))
            );
            Err(Fault::wrong("the same when read again", what))
        }
        Err(e) => {
            let what = format!("{} is refused: {}", short(text), short(&e.to_string()));
            Err(Fault::wrong("can be read again", what))
        }
    }
}
