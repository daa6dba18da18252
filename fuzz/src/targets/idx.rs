//! IDX files, plain and compressed.

use super::{Target, samples, table};
use crate::{desk::Desk, dice::Dice, mutate::bytes, verdict::Verdict};

pub struct Idx(Desk);

impl Idx {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Idx(Desk::new()?))
    }
}

/// An array of a kind, of so many rows and numbers in each.
fn array(kind: u8, size: usize, shape: &[u32]) -> Vec<u8> {
    let mut out = vec![0, 0, kind, shape.len() as u8];
    shape.iter().for_each(|n| out.extend(n.to_be_bytes()));
    let numbers: u32 = shape.iter().product();
    out.extend((0..numbers as usize * size).map(|k| (k * 37 % 251) as u8));
    out
}

impl Target for Idx {
    fn extension(&self) -> &'static str {
        "idx"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let plain = vec![
            array(0x08, 1, &[5, 3, 2]),
            array(0x09, 1, &[12]),
            array(0x0b, 2, &[4, 2]),
            array(0x0c, 4, &[6]),
            array(0x0d, 4, &[3, 3]),
            array(0x0e, 8, &[7, 1, 2, 1]),
        ];
        let packed: Vec<_> = plain.iter().map(|array| samples::gzip(array)).collect();
        Ok([plain, packed].concat())
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (mut out, other) = (dice.pick(seeds).clone(), dice.pick(seeds));
        let length = out.len();
        match dice.below(5) {
            0 => out.truncate(dice.below(length)),
            // The header: kind, dimensions, sizes.
            1 | 2 => bytes::mutate_near(dice, &mut out, 0, 12),
            3 => out.extend_from_slice(other),
            _ => bytes::mutate(dice, &mut out, other),
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        table::read(&self.0, "case.idx", bytes)
    }
}
