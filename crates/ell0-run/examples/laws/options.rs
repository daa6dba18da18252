//! The command line.

use std::path::PathBuf;

use ell0::wording::shown;
use ell0_run::Criterion;

use crate::{
    Failure,
    study::{Study, Variant},
    systems::{Half, System},
};

pub const USAGE: &str = "\
How often laws are found: in systems whose law is known, under noise, with few rows, in strange units.

Usage: laws textbook|nine|board [OPTIONS]

  textbook  one run of 150 and of 512 samples of each textbook system, noise proportional to the value, one library for all
  nine      nine systems, about 2,000 samples, noise relative to each state's deviation, each with its own library
  board     every system with its own library: more noise, long steps, few rows, several runs, strange units

  --criterion validation|likelihood  what laws are judged by (the library's default)
  --seeds N           seeds 0, …, N−1 of the noise (1 for textbook, 4 for the others; always 1 where there is no noise)
  --half tune|report|all  which half of the systems (all)
  --only NAME         only this system; may be given more than once
  --noise LIST        levels of noise, as 0,0.01,0.05
  --variants LIST     of the study board: plain, coarse5, coarse10 (or coarseN), short, runs, units, units-reversed (all)
  --true-terms        fits with the terms of the true law alone: what one could do who knows them
  --json FILE         writes every single result
  --csv FOLDER        writes every data set that is fitted, with a manifest.json, for pysindy_laws.py
  --data-only         with --csv: fits nothing
  --systems FILE      other systems than those of benchmarks/laws/systems.toml";

/// Most seeds: more would take days.
const MOST_SEEDS: u64 = 1000;

pub struct Options {
    pub study: Study,
    pub criterion: Option<Criterion>,
    pub seeds: Option<u64>,
    pub half: Option<Half>,
    pub only: Vec<String>,
    pub noise: Option<Vec<f64>>,
    pub variants: Vec<(String, Variant)>,
    pub true_terms: bool,
    pub json: Option<PathBuf>,
    pub csv: Option<PathBuf>,
    pub data_only: bool,
    pub systems: PathBuf,
}

impl Options {
    /// Reads what stands after the program's name; none if only help is wanted.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Option<Self>, Failure> {
        let mut study = None;
        let mut options = Options {
            study: Study::Textbook,
            criterion: None,
            seeds: None,
            half: None,
            only: Vec::new(),
            noise: None,
            variants: Variant::ALL.map(|(name, v)| (name.into(), v)).to_vec(),
            true_terms: false,
            json: None,
            csv: None,
            data_only: false,
            systems: concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../benchmarks/laws/systems.toml"
            )
            .into(),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, mut given) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name.into(), Some(value.into())),
                _ => (word, None),
            };
            let mut value = || {
                let value: Option<String> = given.take().or_else(|| words.next());
                value.ok_or(format!("{name} needs a value"))
            };
            match name.as_str() {
                "-h" | "--help" => return Ok(None),
                "--criterion" => options.criterion = Some(one_of(&name, &value()?, CRITERIA)?),
                "--seeds" => options.seeds = Some(seeds(&value()?)?),
                "--half" => options.half = one_of(&name, &value()?, HALVES)?,
                "--only" => options.only.push(value()?),
                "--noise" => options.noise = Some(noise(&value()?)?),
                "--variants" => {
                    let each = |word: &str| variant(&name, word.trim());
                    options.variants = value()?.split(',').map(each).collect::<Result<_, _>>()?;
                }
                "--true-terms" => options.true_terms = true,
                "--json" => options.json = Some(value()?.into()),
                "--csv" => options.csv = Some(value()?.into()),
                "--data-only" => options.data_only = true,
                "--systems" => options.systems = value()?.into(),
                "--study" => study = Some(one_of(&name, &value()?, STUDIES)?),
                _ if name.starts_with('-') => {
                    return Err(format!("there is no option {}", shown(&name)).into());
                }
                _ => study = Some(one_of("the study", &name, STUDIES)?),
            }
            if given.is_some() {
                return Err(format!("{name} takes no value").into());
            }
        }
        options.study = study.ok_or("which study: textbook, nine or board?")?;
        if options.data_only && options.csv.is_none() {
            return Err("--data-only needs --csv: there would be nothing to do".into());
        }
        Ok(Some(options))
    }

    /// The systems that are wanted.
    pub fn chosen(&self, systems: Vec<System>) -> Result<Vec<System>, Failure> {
        let same = |system: &System, name: &str| system.name.to_lowercase() == name.to_lowercase();
        for name in &self.only {
            if !systems.iter().any(|system| same(system, name)) {
                let names: Vec<&str> = systems.iter().map(|s| s.name.as_str()).collect();
                let (name, names) = (shown(name), names.join(", "));
                return Err(format!("there is no system {name}; there are {names}").into());
            }
        }
        let wanted = |system: &System| {
            (self.only.is_empty() || self.only.iter().any(|name| same(system, name)))
                && self.half.is_none_or(|half| system.half == half)
        };
        Ok(systems.into_iter().filter(wanted).collect())
    }
}

const STUDIES: &[(&str, Study)] = &[
    ("textbook", Study::Textbook),
    ("nine", Study::Nine),
    ("board", Study::Board),
];
const CRITERIA: &[(&str, Criterion)] = &[
    ("validation", Criterion::Validation),
    ("likelihood", Criterion::Likelihood),
];
const HALVES: &[(&str, Option<Half>)] = &[
    ("tune", Some(Half::Tune)),
    ("report", Some(Half::Report)),
    ("all", None),
];

fn one_of<T: Copy>(what: &str, word: &str, known: &[(&str, T)]) -> Result<T, Failure> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let (word, names) = (shown(word), names.join(", "));
        format!("{what} cannot be {word}; it can be {names}").into()
    })
}

/// A variant by its name; long steps may be of any length.
fn variant(option: &str, word: &str) -> Result<(String, Variant), Failure> {
    let times = word.strip_prefix("coarse").and_then(|n| n.parse().ok());
    let variant = match times {
        Some(times @ 2..=1000) => Variant::Coarse(times),
        _ => one_of(option, word, &Variant::ALL)?,
    };
    Ok((word.into(), variant))
}

fn seeds(word: &str) -> Result<u64, Failure> {
    match word.parse() {
        Ok(seeds @ 1..=MOST_SEEDS) => Ok(seeds),
        _ => Err(format!("--seeds must be a number from 1 to {MOST_SEEDS}").into()),
    }
}

fn noise(words: &str) -> Result<Vec<f64>, Failure> {
    let level = |word: &str| match word.trim().parse() {
        Ok(level) if (0.0..=10.0).contains(&level) => Ok(level),
        _ => Err(format!(
            "--noise has shares from 0 to 10, as 0,0.01,0.05, not {}",
            shown(word)
        )),
    };
    Ok(words.split(',').map(level).collect::<Result<_, _>>()?)
}
