//! Files of statistics: read, and fitted.

use ell0_data::evidence::Evidence;
use ell0_run::{DataSettings, FitSettings, Silent, StatsSettings};

use super::{Target, samples, text};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::json,
    verdict::{Outcome, Verdict, error},
};

pub struct Statistics(Desk);

impl Statistics {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Statistics(Desk::new()?))
    }
}

const WORDS: [&str; 22] = [
    "ell0-part",
    "ell0-statistics",
    "x",
    "v",
    "t",
    "polynomial(1)",
    "polynomial(2)",
    "fourier(1)",
    "regression",
    "continuous",
    "discrete",
    "fd2",
    "savgol",
    "weak",
    "rows",
    "features",
    "targets",
    "triangle",
    "constant",
    "survey",
    "noise",
    "x^2",
];

/// The file's name.
const NAME: &str = "case.stats";

impl Target for Statistics {
    fn extension(&self) -> &'static str {
        "stats"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let linear = DataSettings {
            library: ell0::features::Library::polynomial(1),
            ..samples::question()
        };
        let regression = DataSettings {
            inputs: vec!["x".into()],
            targets: vec!["v".into()],
            library: ell0::features::Library::polynomial(2),
            ..DataSettings::default()
        };
        let mut seeds = Vec::new();
        for data in [linear, regression] {
            let made = StatsSettings {
                data,
                ..StatsSettings::default()
            }
            .run_on(&[samples::oscillator(40)], &Silent)?;
            seeds.push(made.to_json().into_bytes());
        }
        Ok(seeds)
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        json::mutate(dice, seed, other, &WORDS)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        text::read(bytes, Evidence::from_json, |evidence| {
            text::same_again(&evidence, &evidence.to_json(), Evidence::from_json)?;
            // A fit takes long: one of eight, by the length of the file.
            if !bytes.len().is_multiple_of(8) {
                return Ok(Outcome::Valid);
            }
            let file = self.0.put(NAME, bytes);
            let settings = FitSettings {
                data: DataSettings {
                    files: vec![file],
                    ..DataSettings::default()
                },
                ..FitSettings::default()
            };
            let found = settings.run(&Silent);
            self.0.check(NAME, bytes, &[])?;
            match found {
                Ok(_) => Ok(Outcome::Valid),
                Err(e) => error(e),
            }
        })
    }
}
