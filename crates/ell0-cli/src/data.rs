//! Files of measurements on the command line: what they are and what their columns mean.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use ell0::{
    equation::Dynamics,
    features::{Features, Library},
};
use ell0_data::{
    derivative::Wanted,
    part::Part,
    runs::{Roles, Runs},
    series::Recipe,
    survey::Survey,
    table::{ReadOptions, Table},
};
use serde::{Deserialize, Serialize};

use crate::progress::Progress;

/// Files and the meaning of their columns.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataArgs {
    /// CSV (also .gz), Parquet or NPZ files; each is a trajectory of its own
    #[arg(value_name = "DATA")]
    pub files: Vec<PathBuf>,
    /// Columns whose law is wanted
    #[arg(long, value_delimiter = ',')]
    #[serde(default)]
    pub states: Vec<String>,
    /// Columns that act on the states from outside
    #[arg(long, value_delimiter = ',')]
    #[serde(default)]
    pub controls: Vec<String>,
    /// Column of time [default: `t` or `time`, if there is one]
    #[arg(long)]
    pub time: Option<String>,
    /// Time between rows, where there is no column of time
    #[arg(long, conflicts_with = "time")]
    pub dt: Option<f64>,
    /// Column, of numbers or text, that tells the experiments apart; rows of one must stand together
    #[arg(long)]
    pub trajectory: Option<String>,
    /// What the law gives
    #[arg(long, value_enum, default_value_t = Kind::Continuous)]
    #[serde(default)]
    pub dynamics: Kind,
    /// How rates of change are found: auto, fd2, fd4, savgol or weak
    #[arg(long, default_value = "auto")]
    #[serde(default)]
    pub derivative: Wanted,
    /// Inputs of a plain regression, instead of states
    #[arg(long, value_delimiter = ',', conflicts_with_all = ["states", "controls", "time", "dt", "trajectory"], requires = "targets")]
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Targets of a plain regression
    #[arg(long, value_delimiter = ',', requires = "inputs")]
    #[serde(default)]
    pub targets: Vec<String>,
    /// Candidate terms, for example "polynomial(3) + fourier(1, interactions)"
    #[arg(long, default_value = "polynomial(3)")]
    #[serde(with = "crate::text")]
    pub library: Library,
    /// Leave out rows with empty or NaN cells, and say how many
    #[arg(long)]
    #[serde(default)]
    pub drop_missing: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rates of change
    #[default]
    Continuous,
    /// The next row
    Discrete,
}

/// A mistake in how the command was written, as clap reports its own.
pub fn usage(message: impl std::fmt::Display) -> anyhow::Error {
    clap::Error::raw(
        clap::error::ErrorKind::MissingRequiredArgument,
        format!("{message}\n"),
    )
    .into()
}

/// The column of time, where one is needed: the one named, or the usual ones.
pub fn time_column(
    files: &[PathBuf],
    time: Option<&String>,
    dt: Option<f64>,
    dynamics: Dynamics,
) -> anyhow::Result<Option<String>> {
    if let Some(dt) = dt {
        ensure!(
            dt > 0.0 && dt.is_finite(),
            "--dt {dt} is not allowed: the time between rows must be positive"
        );
    }
    if time.is_some() || dynamics == Dynamics::Regression || dt.is_some() {
        return Ok(time.cloned());
    }
    let names = Table::open(&files[0], &[], ReadOptions::default())?
        .names()
        .to_vec();
    let usual = ["t", "time"]
        .iter()
        .find(|name| names.iter().any(|n| n == *name));
    match (usual, dynamics) {
        (Some(name), _) => Ok(Some(name.to_string())),
        (None, Dynamics::Continuous) => bail!(
            "no column of time: name it with --time, or give the time between rows with --dt (the columns are {}); `ell0 fit --dynamics discrete` needs none",
            names.join(", ")
        ),
        (None, _) => Ok(None),
    }
}

/// The data of a fit, looked at once.
pub struct Prepared {
    pub features: Features,
    pub targets: Vec<String>,
    pub recipe: Recipe,
    pub survey: Survey,
    files: Vec<PathBuf>,
    roles: Roles,
    options: ReadOptions,
}

impl Prepared {
    pub fn runs(&self) -> Runs {
        Runs::new(&self.files, self.roles.clone(), self.options)
    }
}

impl DataArgs {
    fn dynamics(&self) -> Dynamics {
        match self.dynamics {
            _ if !self.inputs.is_empty() => Dynamics::Regression,
            Kind::Continuous => Dynamics::Continuous,
            Kind::Discrete => Dynamics::Discrete,
        }
    }

    /// Looks at the files once and decides how they are worked on.
    pub fn prepare(&self) -> anyhow::Result<Prepared> {
        if self.files.is_empty() {
            return Err(usage(
                "no file of measurements was given, for example: ell0 fit data.csv --states x,y",
            ));
        }
        if self.states.is_empty() && self.inputs.is_empty() {
            return Err(usage(
                "which columns? Name the states whose law is wanted with --states x,y, or the columns of a plain regression with --inputs a,b --targets y",
            ));
        }
        ensure!(
            self.time.is_none() || self.dt.is_none(),
            "both a column of time and a time between rows were given; one of them is enough"
        );
        let dynamics = self.dynamics();
        let regression = dynamics == Dynamics::Regression;
        let (inputs, targets): (Vec<String>, _) = if regression {
            (self.inputs.clone(), self.targets.clone())
        } else {
            let inputs = self.states.iter().chain(&self.controls).cloned();
            (inputs.collect(), self.states.clone())
        };
        let features = self.library.features(&inputs)?;
        let roles = Roles {
            inputs: inputs.clone(),
            targets: if regression { targets.clone() } else { vec![] },
            time: time_column(&self.files, self.time.as_ref(), self.dt, dynamics)?,
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            split_at_gaps: dynamics == Dynamics::Discrete,
        };
        let options = ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        };
        let states = if regression { 0 } else { targets.len() };
        let looking = Progress::new("looking at the data, rows:", None);
        let survey = Survey::new(
            Runs::new(&self.files, roles.clone(), options),
            states,
            |rows| looking.advance(rows),
        )?;
        let recipe = Recipe {
            dynamics,
            derivative: self.derivative.decide(survey.relative_noise, survey.lag),
            inputs: inputs.len(),
            targets: targets.len(),
        };
        let needed = recipe.rows_needed();
        ensure!(
            survey.shortest >= needed,
            "a trajectory has only {} rows; {} needs {needed}: leave it out, or choose another way",
            survey.shortest,
            match dynamics {
                Dynamics::Continuous => format!("--derivative {}", recipe.derivative),
                _ => "--dynamics discrete".into(),
            }
        );
        Ok(Prepared {
            features,
            targets,
            recipe,
            survey,
            files: self.files.clone(),
            roles,
            options,
        })
    }

    /// The statistics of the files.
    pub fn gather(&self, prepared: &Prepared) -> anyhow::Result<Part> {
        let reading = Progress::new("reading rows", Some(prepared.survey.rows));
        Ok(Part::gather(
            prepared.runs(),
            &self.library,
            &prepared.features,
            &prepared.targets,
            &prepared.recipe,
            prepared.survey.clone(),
            |rows| reading.advance(rows),
        )?)
    }
}
