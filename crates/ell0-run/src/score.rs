//! A model measured on other data.

use std::path::PathBuf;

use ell0::equation::{Dynamics, Model};
use ell0_data::{
    derivative::{Derivative, Wanted},
    runs::Roles,
    series::{Recipe, for_each_stretch},
    survey::Survey,
    table::ReadOptions,
};
use serde::{Deserialize, Serialize};

use crate::{
    data::{Clock, Source, check_rates, refuse_short, refuse_twice, respect_gaps, time_column},
    error::{Error, Result},
};

/// What a model is measured on: a plain regression is compared with its target columns, a discrete law with the next row, a law of rates of change with the rates that the data show.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `files` | none | files with the model's inputs and, for a regression, its targets; each is a trajectory of its own |
/// | `time` | `t` or `time`, if there is one | column of time |
/// | `dt` | none | time between rows, where there is no column of time |
/// | `trajectory` | none | column that tells the experiments apart |
/// | `derivative` | auto | how rates of change are found |
/// | `rates` | none | columns that hold the rates of change, one for each state in the order of the model; nothing is differenced then |
/// | `drop_missing` | no | whether rows with empty or NaN cells are left out |
/// | `drop_short` | no | whether trajectories with fewer rows than are needed are left out |
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct ScoreSettings {
    pub files: Vec<PathBuf>,
    pub time: Option<String>,
    pub dt: Option<f64>,
    pub trajectory: Option<String>,
    pub derivative: Wanted,
    pub rates: Vec<String>,
    pub drop_missing: bool,
    pub drop_short: bool,
}

/// How well a model does on some data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Rows that it was compared on.
    pub rows: u64,
    /// Trajectories left out because they are too short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// How rates of change were found; none where there are none.
    pub derivative: Option<String>,
    /// The score of each target.
    pub scores: Vec<Score>,
}

/// How well a model gives one of its targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The target.
    pub target: String,
    /// Mean squared error.
    pub mse: f64,
    /// Share of the target's variance that the model explains; none for a target that is constant.
    pub r2: Option<f64>,
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

impl ScoreSettings {
    /// Measures a model on the files of the settings.
    pub fn run(&self, model: &Model) -> Result<Scores> {
        refuse_twice(&self.files)?;
        self.of(model, Source::Files(&self.files))
    }

    /// Measures a model on tables in memory.
    pub fn run_on(&self, model: &Model, tables: &[ell0_data::frame::Frame]) -> Result<Scores> {
        self.of(model, Source::Frames(tables))
    }

    fn of(&self, model: &Model, source: Source) -> Result<Scores> {
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
        let given = !self.rates.is_empty();
        check_rates(&self.rates, &names, dynamics, self.derivative)?;
        let mut roles = Roles {
            targets: match regression {
                true => names.clone(),
                false => self.rates.clone(),
            },
            time: time_column(
                source,
                self.time.as_ref(),
                self.dt,
                Clock::of(dynamics, given),
                &[&inputs[..], &self.rates].concat(),
            )?,
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            split_at_gaps: dynamics == Dynamics::Discrete,
            longest_step: None,
            fewest_rows: 0,
            inputs,
        };
        let options = ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        };
        let states = if regression { 0 } else { names.len() };
        let survey = Survey::new(source.runs(&roles, options)?, states, |_| ())?;
        let recipe = Recipe {
            dynamics,
            derivative: match given {
                true => Derivative::Given,
                false => self.derivative.decide(&survey, 0)?,
            },
            inputs: roles.inputs.len(),
            targets: names.len(),
        };
        respect_gaps(&mut roles, &survey, dynamics, recipe.derivative)?;
        if survey.shortest < recipe.rows_needed() {
            refuse_short(source, &mut roles, options, &recipe, self.drop_short)?;
        }
        // The model may name its inputs in another order.
        let order: Vec<usize> = model
            .inputs()
            .iter()
            .map(|name| roles.inputs.iter().position(|n| n == name))
            .collect::<Option<_>>()
            .ok_or(Error::Settings(
                "the model has inputs that are neither states nor controls",
            ))?;
        let predict = |x: &[f64], rows: usize| {
            let columns: Vec<f64> = order
                .iter()
                .flat_map(|k| x[k * rows..][..rows].to_vec())
                .collect();
            model.predict(&columns, rows)
        };
        let mut sums = vec![Sums::default(); names.len()];
        let mut runs = source.runs(&roles, options)?;
        for_each_stretch(
            &mut runs,
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
        let score = |(target, s): (String, &Sums)| Score {
            target,
            mse: s.error / s.rows,
            r2: (s.spread > 0.0).then(|| 1.0 - s.error / s.spread),
        };
        Ok(Scores {
            rows: sums.first().map_or(0.0, |s| s.rows) as u64,
            short: Some(runs.short()).filter(|short| *short > 0),
            derivative: (dynamics == Dynamics::Continuous).then(|| recipe.derivative.to_string()),
            scores: names.into_iter().zip(&sums).map(score).collect(),
        })
    }
}
