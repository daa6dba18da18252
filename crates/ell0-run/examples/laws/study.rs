//! The studies: which system is measured how, and with which terms a law is looked for.

use ell0::{
    features::{Factor, Library},
    rng::Stream,
};
use serde::Serialize;

use crate::{
    Failure,
    data::noise_of,
    options::Options,
    systems::{FIXED, Group, System},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Study {
    Textbook,
    Nine,
    Board,
}

/// Noise as a share of each value, or of each state's standard deviation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Noise {
    OfValue(f64),
    OfDeviation(f64),
}

impl Noise {
    pub fn level(self) -> f64 {
        match self {
            Noise::OfValue(level) | Noise::OfDeviation(level) => level,
        }
    }
}

/// Ways in which measurements differ from the natural run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The natural run.
    Plain,
    /// The same time in steps so many times longer.
    Coarse(usize),
    /// Only the first 150 rows.
    Short,
    /// Five runs of at most 100 rows, from states between the initial one and the second.
    Runs,
    /// The first state times 10⁶, the second times 10⁻⁶, and so on; or the other way round.
    Units { small_first: bool },
}

impl Variant {
    pub const ALL: [(&'static str, Variant); 7] = [
        ("plain", Variant::Plain),
        ("coarse5", Variant::Coarse(5)),
        ("coarse10", Variant::Coarse(10)),
        ("short", Variant::Short),
        ("runs", Variant::Runs),
        ("units", Variant::Units { small_first: false }),
        ("units-reversed", Variant::Units { small_first: true }),
    ];
}

/// One data set, and the terms among which its law is looked for.
pub struct Case<'a> {
    pub study: Study,
    pub system: &'a System,
    pub library: Library,
    pub variant: String,
    /// Initial states of the runs.
    pub starts: Vec<Vec<f64>>,
    pub rows: usize,
    pub step: f64,
    pub noise: Noise,
    pub seed: u64,
    pub stream: Stream,
    /// What each state is multiplied by once it has been measured.
    pub units: Vec<f64>,
}

impl Case<'_> {
    /// A short name of its system and variant, fit for a file.
    pub fn setting(&self) -> String {
        let word = |text: &str| -> String {
            let plain = |c: char| match c.is_ascii_alphanumeric() {
                true => c.to_ascii_lowercase(),
                false => '-',
            };
            text.chars().map(plain).collect()
        };
        format!("{}_{}", word(&self.system.name), word(&self.variant))
    }

    /// A short name that is its own in the study.
    pub fn stem(&self) -> String {
        format!("{}_{}_{}", self.setting(), self.noise.level(), self.seed)
    }
}

/// Rows of the two sizes of the study `textbook`.
const SAMPLES: [usize; 2] = [150, 512];

/// The cases of a study, system after system.
pub fn cases<'a>(systems: &'a [System], options: &Options) -> Result<Vec<Case<'a>>, Failure> {
    let mut cases = Vec::new();
    for system in systems {
        match options.study {
            Study::Textbook if system.group == Group::Textbook => {
                textbook(system, options, &mut cases)?
            }
            Study::Nine if system.nine => nine(system, options, &mut cases)?,
            Study::Board => board(system, options, &mut cases)?,
            _ => {}
        }
    }
    Ok(cases)
}

/// Seeds of a level of noise: one is enough where there is none.
fn seeds(options: &Options, level: f64, usual: u64) -> std::ops::Range<u64> {
    match level {
        0.0 => 0..1,
        _ => 0..options.seeds.unwrap_or(usual),
    }
}

fn levels(options: &Options, usual: &[f64]) -> Vec<f64> {
    options.noise.clone().unwrap_or(usual.to_vec())
}

/// One run of few or more samples, and one library for all.
fn textbook<'a>(
    system: &'a System,
    options: &Options,
    cases: &mut Vec<Case<'a>>,
) -> Result<(), Failure> {
    for rows in SAMPLES {
        for level in levels(options, &[0.0, 0.01, 0.05]) {
            for seed in seeds(options, level, 1) {
                cases.push(Case {
                    study: Study::Textbook,
                    system,
                    library: FIXED.parse()?,
                    variant: format!("{rows} samples"),
                    starts: vec![system.initial.clone()],
                    rows,
                    step: system.duration / (rows - 1) as f64,
                    noise: Noise::OfValue(level),
                    seed,
                    stream: noise_of(seed, Some(&system.name)),
                    units: vec![1.0; system.states.len()],
                });
            }
        }
    }
    Ok(())
}

/// The natural run of a system with its own library, as the base of other cases; none if it has no library.
fn natural(system: &System, study: Study) -> Result<Option<Case<'_>>, Failure> {
    Ok(system.library()?.map(|library| Case {
        study,
        system,
        library,
        variant: "plain".into(),
        starts: vec![system.initial.clone()],
        rows: system.rows(),
        step: system.step,
        noise: Noise::OfDeviation(0.0),
        seed: 0,
        stream: noise_of(0, Some(&system.name)),
        units: vec![1.0; system.states.len()],
    }))
}

fn nine<'a>(
    system: &'a System,
    options: &Options,
    cases: &mut Vec<Case<'a>>,
) -> Result<(), Failure> {
    for level in levels(options, &[0.01, 0.05, 0.1]) {
        for seed in seeds(options, level, 4) {
            cases.extend(natural(system, Study::Nine)?.map(|case| Case {
                noise: Noise::OfDeviation(level),
                seed,
                stream: noise_of(seed, None),
                ..case
            }));
        }
    }
    Ok(())
}

fn board<'a>(
    system: &'a System,
    options: &Options,
    cases: &mut Vec<Case<'a>>,
) -> Result<(), Failure> {
    for (name, variant) in &options.variants {
        let usual: &[f64] = match variant {
            Variant::Plain => &[0.0, 0.001, 0.01, 0.05, 0.1],
            _ => &[0.01],
        };
        for level in levels(options, usual) {
            for seed in seeds(options, level, 4) {
                let Some(case) = natural(system, Study::Board)? else {
                    continue;
                };
                cases.extend(varied(case, *variant)?.map(|case| Case {
                    variant: name.clone(),
                    noise: Noise::OfDeviation(level),
                    seed,
                    stream: noise_of(seed, Some(&system.name)),
                    ..case
                }));
            }
        }
    }
    Ok(())
}

/// A case as a variant has it; none where it would mean nothing.
fn varied(case: Case<'_>, variant: Variant) -> Result<Option<Case<'_>>, Failure> {
    let system = case.system;
    Ok(Some(match variant {
        Variant::Plain => case,
        Variant::Coarse(times) => Case {
            rows: case.rows / times,
            step: case.step * times as f64,
            ..case
        },
        Variant::Short => Case {
            rows: case.rows.min(150),
            ..case
        },
        Variant::Runs => {
            let between = |share: f64| {
                let pairs = system.initial.iter().zip(&system.second);
                pairs.map(|(a, b)| a + share * (b - a)).collect()
            };
            Case {
                starts: [0.0, 0.25, 0.5, 0.75, 1.0].map(between).to_vec(),
                rows: case.rows.min(100),
                ..case
            }
        }
        Variant::Units { small_first } => {
            // The sine of a state in other units is none of the library's terms.
            let features = system.features(&case.library)?;
            let power = |factor: &Factor| matches!(factor, Factor::Power { .. });
            if !features
                .terms()
                .iter()
                .all(|t| t.factors().iter().all(power))
            {
                return Ok(None);
            }
            let unit = |k: usize| match k.is_multiple_of(2) ^ small_first {
                true => 1e6,
                false => 1e-6,
            };
            Case {
                units: (0..system.states.len()).map(unit).collect(),
                ..case
            }
        }
    }))
}
