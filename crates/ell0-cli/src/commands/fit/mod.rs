//! `ell0 fit`: from files of measurements to the law behind them.

mod files;
mod print;

use std::{
    io::{Read, Write, stdout},
    path::{Path as FilePath, PathBuf},
    str::FromStr,
};

use anyhow::{Context, bail, ensure};
use clap::{Args, Parser};
use ell0::{
    dictionary::{
        Line, Method, Path, PathConfig, Problem, Rule, Statistics, inclusion_probabilities,
        sampled_supports,
    },
    equation::{DictionaryTarget, Model},
    rng::Stream,
};
use ell0_data::{
    part::{Part, Split, training_rows},
    table::panics_are_errors,
};
use serde::{Deserialize, Serialize};

use crate::{
    data::{DataArgs, usage},
    progress::Progress,
    run_dir::RunDir,
};

/// Find the few-term law behind measurements
///
/// States over time, perhaps with controls, in one or several files (CSV, CSV.gz, Parquet, NPZ): the law of their rates of change, or of the next row with `--dynamics discrete`. Or
/// plain inputs and targets with --inputs and --targets. Or statistics that `ell0 stats` made.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  ell0 fit examples/lorenz.csv --states x,y,z\n  ell0 fit run1.parquet run2.parquet --states x,v --controls u --library \"polynomial(2) + fourier(1)\"\n  ell0 fit table.csv --inputs a,b --targets y --terms 3\n  ell0 fit --config runs/lorenz-1234abcd/config.toml"
)]
pub struct Fit {
    #[command(flatten)]
    settings: Settings,
    /// Repeat a run: its config.toml, instead of all other options but the next three
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder for the results [default: a new one in runs/]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the folder of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

/// Everything that a fit depends on.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// How terms are chosen: exact, sampled, stlsq, lasso or ols
    #[arg(long, default_value = "exact")]
    #[serde(with = "crate::text")]
    method: How,
    /// Price of a term, instead of the choice by validation
    #[arg(long, conflicts_with = "terms")]
    lambda: Option<f64>,
    /// Number of terms of each equation, instead of the choice by validation
    #[arg(long)]
    terms: Option<usize>,
    /// Probability that a term belongs, before the data are seen
    #[arg(long, default_value_t = 0.1)]
    prior: f64,
    /// Seed of the inclusion probabilities, and of sampled gates
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    data: DataArgs,
}

/// The settings when nothing is said.
#[derive(Parser)]
struct Bare {
    #[command(flatten)]
    settings: Settings,
}

/// How terms are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// By a method that needs only statistics.
    ByStatistics(Method),
    /// By minibatches and sampled gates, as published.
    Sampled,
}

impl FromStr for How {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match (name, name.parse()) {
            ("sampled", _) => Ok(How::Sampled),
            (_, Ok(method)) => Ok(How::ByStatistics(method)),
            _ => Err(format!(
                "unknown method `{name}`: expected exact, sampled, stlsq, lasso or ols"
            )),
        }
    }
}

impl std::fmt::Display for How {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            How::ByStatistics(method) => method.fmt(f),
            How::Sampled => f.write_str("sampled"),
        }
    }
}

/// A law that leaves less than this share of a target's mean square unexplained needs no more terms: digits cut off in a file, or an inexact simulation, are no law.
const NEGLIGIBLE: f64 = 1e-10;

/// Rows that sampled gates are trained on, at most.
const MOST_SAMPLED: u64 = 100_000;

/// What was found.
struct Found {
    parts: Vec<Part>,
    train: Statistics,
    targets: Vec<String>,
    paths: Vec<(Path, Line)>,
    model: Model,
}

impl Fit {
    pub fn run(&self) -> anyhow::Result<()> {
        let settings = match &self.config {
            None => self.settings.clone(),
            Some(file) => {
                if self.settings != Bare::parse_from(["ell0"]).settings {
                    return Err(usage(
                        "--config repeats a run with its own data and options; leave the files and all options but --out, --force and --json out, or edit a copy of the file",
                    ));
                }
                read_config(file)?
            }
        };
        let stem = settings.data.files.first().and_then(|f| f.file_name());
        let stem = stem.map_or("fit".into(), |s| s.to_string_lossy().to_string());
        let stem = stem.split('.').find(|s| !s.is_empty()).unwrap_or("fit");
        let mut run_dir = RunDir::new(self.out.as_deref(), self.force, stem, files::OURS)?;
        let found = settings.fit()?;
        files::write(&mut run_dir, &settings, &found)?;
        let place = run_dir.finish()?;
        let mut screen = stdout().lock();
        if self.json {
            let object = print::to_json(&found, &place);
            writeln!(screen, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            print::tables(&mut screen, &settings, &found, &place)?;
        }
        Ok(())
    }
}

fn read_config(file: &FilePath) -> anyhow::Result<Settings> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    toml::from_str(&text)
        .with_context(|| format!("{} is not the config.toml of a fit", file.display()))
}

/// A file's content, if it is one of statistics.
fn read_part(file: &FilePath) -> anyhow::Result<Option<Part>> {
    let cannot = || format!("cannot read {}", file.display());
    let mut head = [0; 32];
    let mut reader = std::fs::File::open(file).with_context(cannot)?;
    let mut filled = 0;
    while filled < head.len() {
        match reader.read(&mut head[filled..]).with_context(cannot)? {
            0 => break,
            n => filled += n,
        }
    }
    let named = file.extension().is_some_and(|e| e == "stats");
    if !named && !Part::looks_like(&head[..filled]) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(file).with_context(cannot)?;
    match Part::from_json(&text) {
        Ok(part) => Ok(Some(part)),
        Err(reason) => bail!(
            "{} does not hold statistics of `ell0 stats`: {reason}; make it again",
            file.display()
        ),
    }
}

impl Settings {
    fn rule(&self) -> Rule {
        match (self.terms, self.lambda) {
            (Some(terms), _) => Rule::Terms(terms),
            (None, Some(lambda)) => Rule::Lambda(lambda),
            (None, None) => Rule::OneStandardError,
        }
    }

    /// The statistics that were given, if they were.
    fn given_parts(&self) -> anyhow::Result<Vec<Part>> {
        let mut parts = Vec::new();
        let mut other = None;
        for file in &self.data.files {
            match read_part(file)? {
                Some(part) => parts.push((file, part)),
                None => other = Some(file),
            }
        }
        let Some(((first_file, first), rest)) = parts.split_first() else {
            return Ok(vec![]);
        };
        if let Some(other) = other {
            bail!(
                "{} holds statistics and {} rows; fit them apart, or make statistics of both",
                first_file.display(),
                other.display()
            );
        }
        let said = DataArgs {
            files: vec![],
            ..self.data.clone()
        };
        ensure!(
            said == Bare::parse_from(["ell0"]).settings.data,
            "statistics already say which columns are which, what the law gives and what the candidate terms are; leave out --states, --inputs, --library and the like"
        );
        for (file, part) in rest {
            let same = part.library == first.library
                && part.inputs == first.inputs
                && part.targets == first.targets
                && part.dynamics == first.dynamics;
            ensure!(
                same,
                "{} was made of {} for {} with library `{}`, but {} of {} for {} with `{}`: make them alike",
                file.display(),
                part.inputs.join(", "),
                part.targets.join(", "),
                part.library,
                first_file.display(),
                first.inputs.join(", "),
                first.targets.join(", "),
                first.library
            );
        }
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    fn fit(&self) -> anyhow::Result<Found> {
        ensure!(
            self.terms.is_none() || self.lambda.is_none(),
            "both a number of terms and a price of a term were given; one of them is enough"
        );
        ensure!(
            self.prior > 0.0 && self.prior < 1.0,
            "--prior {} is not allowed: a probability strictly between 0 and 1",
            self.prior
        );
        let given = self.given_parts()?;
        if !given.is_empty() {
            ensure!(
                self.method != How::Sampled,
                "--method sampled needs the rows themselves; statistics do not have them: use exact"
            );
            return self.solve(given, None);
        }
        let prepared = self.data.prepare()?;
        let part = self.data.gather(&prepared)?;
        let rows = (self.method == How::Sampled)
            .then(|| {
                training_rows(
                    prepared.runs(),
                    &prepared.features,
                    &prepared.recipe,
                    &prepared.survey,
                    MOST_SAMPLED,
                )
            })
            .transpose()?;
        self.solve(vec![part], rows)
    }

    fn solve(&self, parts: Vec<Part>, rows: Option<(Vec<f64>, Vec<f64>)>) -> anyhow::Result<Found> {
        refuse_constants(&parts)?;
        let features = parts[0].features()?;
        let (targets, library) = (parts[0].targets.clone(), parts[0].library.clone());
        let dynamics = parts[0].dynamics;
        let Split {
            train,
            validation,
            floors,
        } = Part::split(&parts)?;
        let supports = match rows {
            None => None,
            Some((phi, y)) => {
                let training = Progress::new("training at prices", Some(13));
                Some(sampled_supports(&train, &phi, &y, self.seed, |_, _| {
                    training.advance(1)
                })?)
            }
        };
        let (mut paths, mut equations) = (Vec::new(), Vec::new());
        for (index, target) in targets.iter().enumerate() {
            let nothing = train.mean_squared_error(index, &vec![0.0; features.len()])?;
            let mut config = PathConfig {
                floor: floors[index].max(NEGLIGIBLE * nothing),
                ..PathConfig::default()
            };
            let path = match (self.method, &supports) {
                (How::Sampled, Some(supports)) => {
                    let supports = supports[index].clone();
                    Path::of_supports(&train, &[index], &validation, &config, supports)
                }
                (How::Sampled, None) => bail!("--method sampled needs the rows themselves"),
                (How::ByStatistics(method), _) => {
                    config.method = method;
                    Path::new(&train, &[index], &validation, &config)
                }
            }
            .with_context(|| format!("no law for `{target}`"))?;
            let line = path.choose(self.rule())?.clone();
            let problem = Problem::new(&train, &[index])?;
            equations.push(DictionaryTarget {
                target: target.clone(),
                coefficients: line.coefficients.clone(),
                probabilities: inclusion_probabilities(
                    &problem,
                    self.prior,
                    &Stream::new(self.seed),
                )
                .ok(),
            });
            paths.push((path, line));
        }
        let laws = equations.iter().enumerate();
        let digits = laws.map(|(index, law)| train.digits(index, &law.coefficients));
        let digits = digits.collect::<ell0::Result<Vec<_>>>()?;
        let model =
            Model::dictionary(&features, &library, &equations, dynamics)?.with_digits(digits);
        Ok(Found {
            parts,
            train,
            targets,
            paths,
            model,
        })
    }
}

/// A column that never changes says nothing of anything.
fn refuse_constants(parts: &[Part]) -> anyhow::Result<()> {
    let names = parts[0].inputs.iter().chain(&parts[0].targets);
    for (k, name) in names.enumerate() {
        let value = |part: &Part| part.survey.constant.get(k).copied().flatten();
        if let Some(first) = value(&parts[0])
            && parts.iter().all(|part| value(part) == Some(first))
        {
            bail!(
                "column `{name}` is {first} in every row: nothing can be learned from it or of it; leave it out, or take data in which it varies"
            );
        }
    }
    Ok(())
}

/// Does not report panics that become errors.
pub fn quiet_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !panics_are_errors() {
            report(info);
        }
    }));
}
