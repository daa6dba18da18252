//! CSV files that are compressed.

use std::io::Write;

use super::{Target, samples, table};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::{self, bytes},
    verdict::Verdict,
};

pub struct Gz(Desk);

impl Gz {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Gz(Desk::new()?))
    }
}

/// What many times the same costs when it is packed: little. One in so many cases is such a bomb, for it takes long to unpack.
const BOMBS: usize = 1000;

impl Target for Gz {
    fn extension(&self) -> &'static str {
        "csv.gz"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let packed = samples::tables().iter().map(|t| samples::gzip(t)).collect();
        Ok(packed)
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        if dice.one_in(BOMBS) {
            return bomb(dice);
        }
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        let mut out = if dice.one_in(2) {
            // The text inside, packed again.
            let tables = samples::tables();
            let (seed, other) = (dice.pick(&tables), dice.pick(&tables));
            samples::gzip(&mutate::csv::mutate(dice, seed, other))
        } else {
            seed.clone()
        };
        let length = out.len();
        match dice.below(10) {
            0 => out.truncate(dice.below(length)),
            1 => {
                // The checksum, or the length behind it.
                let at = length.saturating_sub(8) + dice.below(8);
                out[at] ^= 1 << dice.below(8);
            }
            2 => out.extend_from_slice(other),
            3 => out = [&other[..], &out, other].concat(),
            4 => {
                // Flags of the head: a name, a comment, more fields.
                out[3] = dice.byte();
            }
            5 => out.extend((0..dice.size(20)).map(|_| dice.byte())),
            6 => bytes::mutate_near(dice, &mut out, 0, 12),
            7 | 8 => bytes::mutate(dice, &mut out, other),
            _ => {}
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        table::read(&self.0, "case.csv.gz", bytes)
    }
}

/// A small file that is large inside: of one line, of one cell, of many rows.
fn bomb(dice: &mut Dice) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let (head, piece) = *dice.pick(&[
        ("t,x\n", "1"),
        ("t,x\n", "1,2\n"),
        ("", "a"),
        ("", "a,"),
        ("t,x\n1,\"", "\n"),
        ("t,x\n", "\n"),
    ]);
    let block = piece.repeat((1 << 16) / piece.len());
    let _ = encoder.write_all(head.as_bytes());
    for _ in 0..dice.size(64) {
        let _ = encoder.write_all(block.as_bytes());
    }
    encoder.finish().unwrap_or_default()
}
