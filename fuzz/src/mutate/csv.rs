//! Tables as text, spoilt as the programs and people of this world spoil them.

use super::{bytes, tokens::NUMBERS};
use crate::dice::Dice;

/// Cells that are no plain numbers.
const CELLS: [&str; 24] = [
    "",
    "nan",
    "NaN",
    "NA",
    "null",
    "inf",
    "-inf",
    "1e999",
    "-1e999",
    "1e-999",
    "0x10",
    "1,5",
    "1.2.3",
    "\"1\"",
    "\"",
    "a b",
    "\0",
    "é",
    "+1",
    ".5",
    "5.",
    "1e",
    "\u{1b}[31mred",
    "--1",
];

/// Names that are hardly any.
const NAMES: [&str; 12] = [
    "", "x", "t", " ", "\"\"", "x y", "x,y", "`x`", "é", "\u{1}", "1", "a\"b",
];

/// A changed table.
pub fn mutate(dice: &mut Dice, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut table = seed.to_vec();
    for _ in 0..dice.size(5) {
        table = match dice.below(10) {
            0 | 1 => {
                bytes::mutate(dice, &mut table, other);
                table
            }
            2..=6 => cells(dice, &table),
            7 => lines(dice, &table),
            _ => whole(dice, table),
        };
    }
    table
}

/// A change of some cells.
fn cells(dice: &mut Dice, table: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(table).into_owned();
    let mut rows: Vec<Vec<String>> = text
        .split('\n')
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    let row = if dice.one_in(3) {
        0
    } else {
        dice.below(rows.len())
    };
    let column = dice.below(rows[row].len());
    let header = row == 0;
    let cell = &mut rows[row][column];
    match dice.below(9) {
        0 if header => *cell = dice.pick(&NAMES).to_string(),
        0 | 1 => *cell = dice.pick(&CELLS).to_string(),
        2 => *cell = dice.pick(&NUMBERS).to_string(),
        3 => *cell = format!("\"{cell}\""),
        4 => {
            let most = if dice.one_in(50) { 2_000_000 } else { 20_000 };
            let letter = *dice.pick(&["1", "a", " ", "\"", "é", "\0"]);
            *cell = letter.repeat(dice.size(most));
        }
        5 => {
            rows[row].remove(column);
        }
        6 => {
            let copy = rows[row][column].clone();
            rows[row].insert(column, copy);
        }
        7 => {
            let times = dice.size(5000);
            rows[row].extend(std::iter::repeat_n("1".to_string(), times));
        }
        _ => *cell = format!(" {cell}\t"),
    }
    let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    lines.join("\n").into_bytes()
}

/// A change of some lines.
fn lines(dice: &mut Dice, table: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = table.split(|b| *b == b'\n').collect();
    let at = dice.below(lines.len());
    match dice.below(6) {
        0 => {
            lines.remove(at);
        }
        1 => lines.insert(at, b""),
        2 => lines.insert(at, lines[at]),
        3 => {
            let to = dice.below(lines.len());
            lines.swap(at, to);
        }
        4 => lines.truncate(1),
        _ => lines.insert(at, b"# a comment, perhaps"),
    }
    lines.join(&b'\n')
}

/// A change of the whole file.
fn whole(dice: &mut Dice, mut table: Vec<u8>) -> Vec<u8> {
    let swap = |table: &mut [u8], from: u8, to: u8| {
        table
            .iter_mut()
            .filter(|b| **b == from)
            .for_each(|b| *b = to)
    };
    match dice.below(9) {
        0 => swap(&mut table, b',', *dice.pick(b";\t| :,")),
        1 => swap(&mut table, b'\n', b'\r'),
        2 => {
            let text = String::from_utf8_lossy(&table).replace('\n', "\r\n");
            table = text.into_bytes();
        }
        3 => table = [&b"\xef\xbb\xbf"[..], &table].concat(),
        4 | 5 => {
            // As some programs of Windows save text.
            let big = dice.one_in(2);
            let units = String::from_utf8_lossy(&table).into_owned();
            let units = std::iter::once(0xfeff).chain(units.encode_utf16());
            table = units
                .flat_map(|u| {
                    if big {
                        u.to_be_bytes()
                    } else {
                        u.to_le_bytes()
                    }
                })
                .collect();
        }
        6 => table.truncate(table.len().saturating_sub(1)),
        7 => table.insert(0, b'"'),
        _ => table.clear(),
    }
    table
}
