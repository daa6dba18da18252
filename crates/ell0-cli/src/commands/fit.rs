//! `ell0 fit`: from files of measurements to the law behind them.

use std::{
    io::{Write, stdout},
    path::{Path as FilePath, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table as Grid, presets::UTF8_BORDERS_ONLY};
use ell0::{
    dictionary::{Line, Method, Path, PathConfig, Problem, Rule, inclusion_probabilities},
    equation::{DictionaryTarget, Dynamics, Model},
    features::Library,
    rng::Stream,
};
use ell0_data::{
    derivative::{Derivative, Wanted},
    noise::{decorrelation_lag, deviation, noise_deviation},
    series::{Collector, HoldOut},
    table::{Block, ReadOptions, Table},
};
use serde_json::json;

/// Find the few-term law behind measurements
///
/// States over time, perhaps with controls, in one or several CSV files (plain or .gz): the law of their rates of change, or of the next row with `--dynamics discrete`. Or plain inputs
/// and targets with --inputs and --targets.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Fit {
    /// CSV files with a header line; each file is a trajectory of its own
    #[arg(required = true, value_name = "DATA")]
    data: Vec<PathBuf>,
    /// Columns whose law is wanted
    #[arg(long, value_delimiter = ',', required_unless_present = "inputs")]
    states: Vec<String>,
    /// Columns that act on the states from outside
    #[arg(long, value_delimiter = ',')]
    controls: Vec<String>,
    /// Column of time [default: `t` or `time`, if there is one]
    #[arg(long)]
    time: Option<String>,
    /// Time between rows, where there is no column of time
    #[arg(long, conflicts_with = "time")]
    dt: Option<f64>,
    /// Column that numbers the experiments; rows of one must stand together
    #[arg(long)]
    trajectory: Option<String>,
    /// What the law gives
    #[arg(long, value_enum, default_value_t = Kind::Continuous)]
    dynamics: Kind,
    /// How rates of change are found: auto, fd2, fd4, savgol or weak
    #[arg(long, default_value = "auto")]
    derivative: Wanted,
    /// Inputs of a plain regression, instead of states
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["states", "controls", "time", "dt", "trajectory"], requires = "targets")]
    inputs: Vec<String>,
    /// Targets of a plain regression
    #[arg(long, value_delimiter = ',', requires = "inputs")]
    targets: Vec<String>,
    /// Candidate terms, for example "polynomial(3) + fourier(1, interactions)"
    #[arg(long, default_value = "polynomial(3)")]
    library: Library,
    /// How terms are chosen: exact, stlsq, lasso or ols
    #[arg(long, default_value = "exact")]
    method: Method,
    /// Price of a term, instead of the choice by validation
    #[arg(long, conflicts_with = "terms")]
    lambda: Option<f64>,
    /// Number of terms of each equation, instead of the choice by validation
    #[arg(long)]
    terms: Option<usize>,
    /// Probability that a term belongs, before the data are seen
    #[arg(long, default_value_t = 0.1)]
    prior: f64,
    /// Seed of the inclusion probabilities
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Leave out rows with empty or NaN cells, and say how many
    #[arg(long)]
    drop_missing: bool,
    /// Folder for model.json, path.csv and the equations
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the folder of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Rates of change
    Continuous,
    /// The next row
    Discrete,
}

/// A law that leaves less than this share of a target's mean square unexplained needs no more terms: digits cut off in a file, or an inexact simulation, are no law.
const NEGLIGIBLE: f64 = 1e-10;

/// Rows read at a time.
const ROWS: usize = 8192;

/// What the first look at the files found.
struct Survey {
    rows: u64,
    trajectories: usize,
    shortest: usize,
    dropped: u64,
    noise: Vec<f64>,
    lag: usize,
    relative_noise: f64,
}

impl Fit {
    pub fn run(&self) -> anyhow::Result<()> {
        if let Some(out) = &self.out {
            ensure!(
                self.force || !out.exists(),
                "the folder {} exists; choose another one, or --force to replace it",
                out.display()
            );
        }
        let (inputs, targets, dynamics) = self.roles();
        let time = self.time_column()?;
        let features = self.library.features(&inputs)?;
        let states = if dynamics == Dynamics::Regression {
            0
        } else {
            self.states.len()
        };
        let survey = self.survey(&inputs, &targets, time.as_deref())?;
        let derivative = self.derivative.decide(survey.relative_noise, survey.lag);
        let hold_out = if survey.trajectories >= 5 {
            HoldOut::Trajectories
        } else {
            HoldOut::Blocks(((survey.rows / 25) as usize).max(1))
        };
        let mut collector = Collector::new(
            &features,
            states,
            &targets,
            dynamics,
            derivative,
            survey.noise.clone(),
            hold_out,
        )?;
        let needed = collector.rows_needed();
        ensure!(
            survey.shortest >= needed,
            "a trajectory has only {} rows; --derivative {derivative} needs {needed}: leave it out, or choose another derivative",
            survey.shortest
        );
        self.each_sample(&inputs, &targets, time.as_deref(), |sample, ends| {
            collector.push(sample.iter().copied())?;
            if ends {
                collector.end_trajectory()?;
            }
            Ok(())
        })?;
        let (train, validation, floors) = collector.finish();

        let mut paths = Vec::new();
        let mut equations = Vec::new();
        for (index, target) in targets.iter().enumerate() {
            let nothing = train.mean_squared_error(index, &vec![0.0; features.len()])?;
            let floor = floors
                .get(index)
                .copied()
                .unwrap_or(0.0)
                .max(NEGLIGIBLE * nothing);
            let config = PathConfig {
                method: self.method,
                floor,
                ..PathConfig::default()
            };
            let path = Path::new(&train, &[index], &validation, &config)
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
        let model = Model::dictionary(&features, &self.library.to_string(), &equations, dynamics)?;
        if let Some(out) = &self.out {
            self.write(out, &model, &targets, &paths)?;
        }
        let mut screen = stdout().lock();
        if self.json {
            let object = self.to_json(&model, &targets, &paths);
            writeln!(screen, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            self.print(
                &mut screen,
                &model,
                &targets,
                &paths,
                &survey,
                derivative,
                dynamics,
            )?;
        }
        Ok(())
    }

    fn rule(&self) -> Rule {
        match (self.terms, self.lambda) {
            (Some(terms), _) => Rule::Terms(terms),
            (None, Some(lambda)) => Rule::Lambda(lambda),
            (None, None) => Rule::OneStandardError,
        }
    }

    /// Input columns, targets, and what the targets are.
    fn roles(&self) -> (Vec<String>, Vec<String>, Dynamics) {
        if !self.inputs.is_empty() {
            return (
                self.inputs.clone(),
                self.targets.clone(),
                Dynamics::Regression,
            );
        }
        let inputs = self.states.iter().chain(&self.controls).cloned().collect();
        let dynamics = match self.dynamics {
            Kind::Continuous => Dynamics::Continuous,
            Kind::Discrete => Dynamics::Discrete,
        };
        (inputs, self.states.clone(), dynamics)
    }

    /// The column of time, where one is needed or named.
    fn time_column(&self) -> anyhow::Result<Option<String>> {
        if let Some(dt) = self.dt {
            ensure!(
                dt > 0.0 && dt.is_finite(),
                "--dt {dt} is not allowed: the time between rows must be positive"
            );
        }
        if self.time.is_some() || !self.inputs.is_empty() || self.dt.is_some() {
            return Ok(self.time.clone());
        }
        let names = Table::open(&self.data[0], &[], self.options())?
            .names()
            .to_vec();
        let usual = ["t", "time"]
            .iter()
            .find(|name| names.iter().any(|n| n == *name));
        match (usual, self.dynamics) {
            (Some(name), _) => Ok(Some(name.to_string())),
            (None, Kind::Discrete) => Ok(None),
            (None, Kind::Continuous) => {
                bail!(
                    "no column of time: name it with --time, give the time between rows with --dt, or ask for --dynamics discrete (the columns are {})",
                    names.join(", ")
                )
            }
        }
    }

    fn options(&self) -> ReadOptions {
        ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        }
    }

    /// Calls `work` with each sample (time, inputs and, for regression, targets) and whether its trajectory ends with it. Returns the number of rows left out.
    fn each_sample(
        &self,
        inputs: &[String],
        targets: &[String],
        time: Option<&str>,
        mut work: impl FnMut(&[f64], bool) -> anyhow::Result<()>,
    ) -> anyhow::Result<u64> {
        let regression = !self.inputs.is_empty();
        let mut wanted: Vec<String> = inputs.to_vec();
        if regression {
            wanted.extend_from_slice(targets);
        }
        let width = wanted.len();
        let time_at = time.map(|name| {
            wanted.push(name.to_string());
            wanted.len() - 1
        });
        let id_at = self.trajectory.as_ref().map(|name| {
            wanted.push(name.clone());
            wanted.len() - 1
        });
        let mut dropped = 0;
        for file in &self.data {
            let mut table = Table::open(file, &wanted, self.options())?;
            let mut block = Block::default();
            // The sample before, which can only be handed on once it is known whether its trajectory goes on.
            let mut last: Option<(Vec<f64>, f64)> = None;
            let mut row = 0u64;
            while table.read(ROWS, &mut block)? {
                for k in 0..block.rows() {
                    let id = id_at.map_or(0.0, |c| block.columns[c][k]);
                    let same = last.as_ref().is_some_and(|(_, before)| *before == id);
                    row = if same { row + 1 } else { 0 };
                    let now = match time_at {
                        Some(c) => block.columns[c][k],
                        None => row as f64 * self.dt.unwrap_or(1.0),
                    };
                    let mut sample = vec![now];
                    sample.extend((0..width).map(|c| block.columns[c][k]));
                    if let Some((before, _)) = &last {
                        if same && now <= before[0] {
                            return Err(ell0_data::Error::Time {
                                path: file.clone(),
                                line: block.lines[k],
                                before: before[0],
                                after: now,
                            }
                            .into());
                        }
                        work(before, !same)?;
                    }
                    last = Some((sample, id));
                }
            }
            match &last {
                Some((sample, _)) => work(sample, true)?,
                None => bail!("{}: there is no row of data", file.display()),
            }
            dropped += table.dropped();
        }
        Ok(dropped)
    }

    /// A first pass: how much there is, how noisy it is, how fast it moves.
    fn survey(
        &self,
        inputs: &[String],
        targets: &[String],
        time: Option<&str>,
    ) -> anyhow::Result<Survey> {
        const SAMPLE: usize = 20_000;
        let states = if self.inputs.is_empty() {
            self.states.len()
        } else {
            0
        };
        let mut series: Vec<Vec<f64>> = vec![Vec::new(); states];
        let (mut rows, mut trajectories, mut shortest, mut length) = (0u64, 0, usize::MAX, 0usize);
        let dropped = self.each_sample(inputs, targets, time, |sample, ends| {
            rows += 1;
            length += 1;
            // The longest stretch of one trajectory at the start of the data is enough to tell.
            if trajectories == 0 && length <= SAMPLE {
                series
                    .iter_mut()
                    .zip(&sample[1..])
                    .for_each(|(s, x)| s.push(*x));
            }
            if ends {
                trajectories += 1;
                shortest = shortest.min(length);
                length = 0;
            }
            Ok(())
        })?;
        let noise: Vec<f64> = series.iter().map(|s| noise_deviation(s)).collect();
        let relative = series
            .iter()
            .zip(&noise)
            .map(|(s, n)| if *n > 0.0 { n / deviation(s) } else { 0.0 });
        let relative_noise = relative.fold(0.0, f64::max);
        let lag = series
            .iter()
            .zip(&noise)
            .map(|(s, n)| decorrelation_lag(s, *n))
            .min()
            .unwrap_or(1);
        Ok(Survey {
            rows,
            trajectories,
            shortest,
            dropped,
            noise,
            lag,
            relative_noise,
        })
    }

    fn to_json(
        &self,
        model: &Model,
        targets: &[String],
        paths: &[(Path, Line)],
    ) -> serde_json::Value {
        let text = model.text(6);
        let equations: Vec<_> = model
            .equations()
            .iter()
            .zip(text.lines())
            .map(|(e, text)| json!({ "target": e.target, "text": text, "terms": e.terms }))
            .collect();
        let lines = targets
            .iter()
            .zip(paths)
            .flat_map(|(target, (path, _))| path.lines().iter().map(move |line| (target, line)));
        let path: Vec<_> = lines
            .map(|(target, l)| {
                json!({
                    "target": target, "lambda": finite(l.lambda), "terms": l.terms, "train_mse": l.train_error,
                    "validation_mse": l.validation_error, "validation_deviation": l.validation_deviation, "bic": l.bic, "aicc": l.aicc,
                })
            })
            .collect();
        let smallest = paths
            .iter()
            .map(|(_, line)| line.lambda)
            .fold(f64::INFINITY, f64::min);
        json!({
            "equations": equations,
            "selected": { "lambda": finite(smallest), "terms": paths.iter().map(|(_, line)| line.terms).sum::<usize>() },
            "path": path,
            "run_dir": self.out,
        })
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "everything there is to show, once"
    )]
    fn print(
        &self,
        out: &mut impl Write,
        model: &Model,
        targets: &[String],
        paths: &[(Path, Line)],
        survey: &Survey,
        derivative: Derivative,
        dynamics: Dynamics,
    ) -> anyhow::Result<()> {
        write!(
            out,
            "{} rows in {} {}",
            survey.rows,
            survey.trajectories,
            if survey.trajectories == 1 {
                "trajectory"
            } else {
                "trajectories"
            }
        )?;
        if survey.dropped > 0 {
            write!(out, ", {} rows with missing cells left out", survey.dropped)?;
        }
        if dynamics == Dynamics::Continuous {
            write!(
                out,
                "; noise about {:.2} % of a state's deviation; rates of change by {derivative}",
                survey.relative_noise * 100.0
            )?;
        }
        writeln!(out, "\n\n{}\n", model.text(5))?;
        for (target, (path, chosen)) in targets.iter().zip(paths) {
            writeln!(out, "{target}: the best law of every size")?;
            let mut grid = Grid::new();
            grid.load_style(UTF8_BORDERS_ONLY).set_header([
                "",
                "terms",
                "train error",
                "validation error",
                "± std. error",
                "λ",
            ]);
            for column in grid.column_iter_mut().skip(1) {
                column.set_cell_alignment(CellAlignment::Right);
            }
            // Past the chosen one a few lines show that nothing much is gained.
            for line in path.lines().iter().filter(|l| l.terms <= chosen.terms + 4) {
                let number =
                    |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3e}"));
                grid.add_row([
                    if line.terms == chosen.terms {
                        "→".into()
                    } else {
                        String::new()
                    },
                    line.terms.to_string(),
                    number(Some(line.train_error)),
                    number(line.validation_error),
                    number(line.validation_deviation),
                    if line.lambda.is_finite() {
                        number(Some(line.lambda))
                    } else {
                        "–".into()
                    },
                ]);
            }
            writeln!(out, "{grid}")?;
            if let Some(equation) = model.equations().iter().find(|e| &e.target == target) {
                let sure: Vec<String> = equation
                    .terms
                    .iter()
                    .filter_map(|t| {
                        t.probability
                            .map(|p| format!("{} {:.0} %", t.feature, p * 100.0))
                    })
                    .collect();
                writeln!(out, "Probability of each term: {}\n", sure.join(", "))?;
            }
        }
        let how = match self.rule() {
            Rule::Terms(terms) => format!("{terms} terms were asked for"),
            Rule::Lambda(lambda) => format!("the least error + {lambda} × terms"),
            _ => "the smallest law whose error on held-out data is within one standard error of the least, or no larger than the error of the targets themselves".into(),
        };
        writeln!(out, "Choice: {how}.")?;
        match &self.out {
            Some(folder) => writeln!(out, "Written to {}", folder.display())?,
            None => writeln!(out, "Nothing was written; --out DIR keeps the model.")?,
        }
        Ok(())
    }

    /// The run directory, whole or not at all: made beside its place and renamed.
    fn write(
        &self,
        folder: &FilePath,
        model: &Model,
        targets: &[String],
        paths: &[(Path, Line)],
    ) -> anyhow::Result<()> {
        let parent = match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => FilePath::new("."),
        };
        let cannot = || format!("cannot write the folder {}", folder.display());
        std::fs::create_dir_all(parent).with_context(cannot)?;
        let fresh = tempfile::Builder::new()
            .prefix(".ell0-")
            .tempdir_in(parent)
            .with_context(cannot)?;
        let put = |name: &str, text: String| {
            std::fs::write(fresh.path().join(name), text).with_context(cannot)
        };
        put("model.json", model.to_json() + "\n")?;
        put("equations.txt", model.text(6) + "\n")?;
        put("equations.tex", model.latex(5) + "\n")?;
        let mut csv = String::from(
            "target,terms,lambda,train_mse,validation_mse,validation_deviation,bic,aicc,chosen\n",
        );
        for (target, (path, chosen)) in targets.iter().zip(paths) {
            for l in path.lines() {
                let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
                let quoted = if target.contains([',', '"']) {
                    format!("\"{}\"", target.replace('"', "\"\""))
                } else {
                    target.clone()
                };
                csv += &format!(
                    "{quoted},{},{},{},{},{},{},{},{}\n",
                    l.terms,
                    number(finite(l.lambda)),
                    l.train_error,
                    number(l.validation_error),
                    number(l.validation_deviation),
                    l.bic,
                    l.aicc,
                    l.terms == chosen.terms
                );
            }
        }
        put("path.csv", csv)?;
        if self.force && folder.exists() {
            std::fs::remove_dir_all(folder).with_context(cannot)?;
        }
        #[cfg(unix)]
        std::fs::set_permissions(
            fresh.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .with_context(cannot)?;
        std::fs::rename(fresh.keep(), folder).with_context(cannot)
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
