//! CSV files.

use super::{Target, samples, table};
use crate::{desk::Desk, dice::Dice, mutate, verdict::Verdict};

pub struct Csv(Desk);

impl Csv {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Csv(Desk::new()?))
    }
}

impl Target for Csv {
    fn extension(&self) -> &'static str {
        "csv"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(samples::tables())
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        mutate::csv::mutate(dice, seed, other)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        table::read(&self.0, "case.csv", bytes)
    }
}
