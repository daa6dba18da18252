//! `ell0 fit`: from files of measurements to the law behind them.

use crate::screen;
use std::path::PathBuf;

use clap::Args;
use ell0_run::{Choice, Criterion, DataSettings, Error, FitSettings, InputNoise, Place};
use serde::Serialize;

use super::fit_print;
use crate::{
    hint::usage,
    options::{DataOptions, command_line, in_runs},
    progress::Bars,
    table,
    values::input_noise,
};

/// Find the few-term law behind measurements
///
/// States over time, perhaps with controls, in one or several files (CSV, CSV.gz, Parquet, NPZ, NPY): the law of their rates of change, or of the next row with `--dynamics discrete`. Or
/// plain inputs and targets with --inputs and --targets. Or statistics that `ell0 stats` made.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  ell0 fit examples/lorenz.csv --states x,y,z\n  ell0 fit run1.parquet run2.parquet --states x,v --controls u --library \"polynomial(2) + fourier(1)\"\n  ell0 fit table.csv --inputs a,b --targets y --terms 3\n  ell0 fit data.csv --states x,v --rates x_dot,v_dot\n  ell0 fit data.csv --states x,v --library \"x: polynomial(1)\" --library \"v: polynomial(3)\" --terms 1,4\n  ell0 fit --config runs/lorenz-1234abcd/config.toml"
)]
pub struct Fit {
    /// How terms are chosen: exact, sampled, stlsq, lasso or ols
    #[arg(long, default_value = "exact")]
    method: Choice,
    /// What a law is judged by: likelihood (of the measurements themselves; the default with --method exact), validation (its error on held-out rows of the linear problem) or bic (the least BIC on the path of all rows, none held out)
    #[arg(long)]
    criterion: Option<Criterion>,
    /// Price of a term, instead of the choice by the criterion: one for all equations, or one for each with commas between them
    #[arg(long, value_delimiter = ',', conflicts_with = "terms")]
    lambda: Vec<f64>,
    /// Number of terms, instead of the choice by the criterion: one for all equations, or one for each, as in 2,3,2
    #[arg(long, value_delimiter = ',', value_parser = crate::values::count, allow_negative_numbers = true)]
    terms: Vec<usize>,
    /// For --method stlsq, as in PySINDy: coefficients below it, in the units of the data, are cut; the law that is left is taken
    #[arg(long, conflicts_with_all = ["terms", "lambda", "criterion"])]
    threshold: Option<f64>,
    /// Probability that a term belongs, before the data are seen
    #[arg(long, default_value_t = 0.1)]
    prior: f64,
    /// Seed of the inclusion probabilities, and of sampled gates
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Standard deviation of the errors with which inputs were measured, in the units of their columns: one for all, or as in x=0.1,v=0.05. Coefficients are corrected for them. For regressions, --dynamics discrete and --rates
    #[arg(long, value_name = "NOISE", value_parser = input_noise)]
    input_noise: Option<InputNoise>,
    #[command(flatten)]
    data: DataOptions,
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

impl Fit {
    fn settings(&self) -> anyhow::Result<FitSettings> {
        let settings = FitSettings {
            criterion: self.criterion,
            method: self.method,
            lambda: self.lambda.clone(),
            terms: self.terms.clone(),
            threshold: self.threshold,
            prior: self.prior,
            seed: self.seed,
            data: DataSettings {
                input_noise: self.input_noise.clone().unwrap_or_default(),
                ..self.data.settings()?
            },
        };
        let Some(file) = &self.config else {
            return Ok(settings);
        };
        if settings != FitSettings::default() {
            return Err(usage(
                "--config repeats a run with its own data and options; leave the files and all options but --out, --force and --json out, or edit a copy of the file",
            ));
        }
        Ok(FitSettings::read(file)?)
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let settings = self.settings()?;
        let place = match &self.out {
            Some(out) => Place::Named {
                folder: out.clone(),
                replace: self.force,
            },
            None => Place::Automatic {
                within: in_runs(""),
                stem: settings.stem(),
            },
        };
        place.keep(self.config.as_slice())?;
        settings.check_place(&place)?;
        let bars = Bars::new();
        let found = settings.run(&bars).map_err(missing)?;
        drop(bars);
        let folder = found.write(&settings, &place, Some(&command_line()))?;
        let mut screen = screen::out();
        if self.json {
            #[derive(Serialize)]
            struct WithFolder<'a> {
                #[serde(flatten)]
                found: &'a ell0_run::Discovery,
                run_dir: &'a PathBuf,
            }
            let run_dir = &folder;
            let found = &found;
            return table::json(&mut screen, &WithFolder { found, run_dir });
        }
        fit_print::tables(&mut screen, &found, &folder)
    }
}

/// What was not said is a mistake in how the command was written.
pub fn missing(error: Error) -> anyhow::Error {
    match error {
        Error::NoData => {
            usage("no file of measurements was given, for example: ell0 fit data.csv --states x,y")
        }
        Error::NoColumns => usage(
            "which columns? Name the states whose law is wanted with --states x,y, or the columns of a plain regression with --inputs a,b --targets y",
        ),
        error => error.into(),
    }
}
