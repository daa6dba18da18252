//! `ell0 score`: a model measured on other data.

use std::{
    io::{Write, stdout},
    path::PathBuf,
};

use anyhow::{Context, ensure};
use clap::Args;
use ell0::equation::Dynamics;
use ell0_data::{
    derivative::Wanted,
    runs::{Roles, Runs},
    series::{Recipe, for_each_stretch},
    survey::Survey,
    table::ReadOptions,
};
use serde_json::json;

use super::model::load;
use crate::data::time_column;

/// Measure a model on other data
///
/// A plain regression is compared with its target columns, a discrete law with the next row, a law of rates of change with the rates that the data show.
#[derive(Args)]
pub struct Score {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// Files with the model's inputs and, for a regression, its targets; each is a trajectory of its own
    #[arg(required = true)]
    data: Vec<PathBuf>,
    /// Column of time [default: `t` or `time`, if there is one]
    #[arg(long)]
    time: Option<String>,
    /// Time between rows, where there is no column of time
    #[arg(long, conflicts_with = "time")]
    dt: Option<f64>,
    /// Column that tells the experiments apart
    #[arg(long)]
    trajectory: Option<String>,
    /// How rates of change are found: auto, fd2, fd4, savgol or weak
    #[arg(long, default_value = "auto")]
    derivative: Wanted,
    /// Leave out rows with empty or NaN cells
    #[arg(long)]
    drop_missing: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Sums for the error and the spread of one target.
#[derive(Clone, Copy, Default)]
struct Sums {
    rows: f64,
    error: f64,
    /// Mean of the target and sum of its squared distances from it, kept up to date row by row.
    mean: f64,
    spread: f64,
}

impl Sums {
    fn add(&mut self, truth: f64, prediction: f64) {
        self.rows += 1.0;
        self.error += (truth - prediction).powi(2);
        let away = truth - self.mean;
        self.mean += away / self.rows;
        self.spread += away * (truth - self.mean);
    }
}

impl Score {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let names: Vec<String> = model.targets().map(String::from).collect();
        let dynamics = model.dynamics();
        let regression = dynamics == Dynamics::Regression;
        // The states of a law come first; its other inputs are controls.
        let controls = if regression {
            vec![]
        } else {
            model.controls()?
        };
        let inputs: Vec<String> = if regression {
            model.inputs().to_vec()
        } else {
            names.iter().chain(&controls).cloned().collect()
        };
        let roles = Roles {
            targets: if regression { names.clone() } else { vec![] },
            time: time_column(&self.data, self.time.as_ref(), self.dt, dynamics)?,
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            split_at_gaps: dynamics == Dynamics::Discrete,
            inputs,
        };
        let options = ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        };
        let runs = || Runs::new(&self.data, roles.clone(), options);
        let states = if regression { 0 } else { names.len() };
        let survey = Survey::new(runs(), states, |_| ())?;
        let recipe = Recipe {
            dynamics,
            derivative: self.derivative.decide(survey.relative_noise, survey.lag),
            inputs: roles.inputs.len(),
            targets: names.len(),
        };
        ensure!(
            survey.shortest >= recipe.rows_needed(),
            "a trajectory has only {} rows; {} are needed to compare this model with",
            survey.shortest,
            recipe.rows_needed()
        );
        // The model may name its inputs in another order.
        let order: Vec<usize> = model
            .inputs()
            .iter()
            .map(|name| roles.inputs.iter().position(|n| n == name))
            .collect::<Option<_>>()
            .context("the model has inputs that are neither states nor controls")?;
        let predict = |x: &[f64], rows: usize| {
            let columns: Vec<f64> = order
                .iter()
                .flat_map(|k| x[k * rows..][..rows].to_vec())
                .collect();
            model.predict(&columns, rows)
        };
        let mut sums = vec![Sums::default(); names.len()];
        for_each_stretch(
            &mut runs(),
            &recipe,
            |_| (),
            |stretch| Ok(recipe.equations(stretch, &stretch.rows(), &survey.noise, predict)?),
            |e| {
                for (k, sums) in sums.iter_mut().enumerate() {
                    let column = k * e.rows..(k + 1) * e.rows;
                    let pairs = e.y[column.clone()].iter().zip(&e.phi[column]);
                    pairs.for_each(|(y, p)| sums.add(*y, *p));
                }
                Ok(())
            },
        )?;
        let scores: Vec<(f64, Option<f64>)> = sums
            .iter()
            .map(|s| {
                let r2 = (s.spread > 0.0).then(|| 1.0 - s.error / s.spread);
                (s.error / s.rows, r2)
            })
            .collect();
        let mut out = stdout().lock();
        if self.json {
            let list: Vec<_> = names
                .iter()
                .zip(&scores)
                .map(|(n, s)| json!({ "target": n, "mse": s.0, "r2": s.1 }))
                .collect();
            let object = json!({
                "rows": sums.first().map_or(0.0, |s| s.rows) as u64,
                "derivative": (dynamics == Dynamics::Continuous).then(|| recipe.derivative.to_string()),
                "scores": list,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            if dynamics == Dynamics::Continuous {
                writeln!(out, "rates of change by {}", recipe.derivative)?;
            }
            for (name, (mse, r2)) in names.iter().zip(&scores) {
                let r2 = r2.map_or("undefined, the target is constant".into(), |r| {
                    format!("{r:.6}")
                });
                writeln!(out, "{name}: mean squared error {mse:.4e}, R² {r2}")?;
            }
        }
        Ok(())
    }
}
