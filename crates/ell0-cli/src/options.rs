//! Options that several commands share.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{Args, ValueEnum};
use ell0::{features::Library, wording::shown};
use ell0_data::derivative::Wanted;
use ell0_run::{DataSettings, Kind};

use crate::{
    hint::usage,
    values::{Columns, LibraryOf, columns, library},
};

/// Files and the meaning of their columns.
#[derive(Args)]
pub struct DataOptions {
    /// CSV (also .gz), Parquet, NPZ or NPY files; each is a trajectory of its own
    #[arg(value_name = "DATA")]
    files: Vec<PathBuf>,
    /// Columns whose law is wanted, with commas between them; a name with a comma in it stands in double quotes: '"a,b",c'
    #[arg(long, value_parser = columns)]
    states: Vec<Columns>,
    /// Columns that act on the states from outside
    #[arg(long, value_parser = columns)]
    controls: Vec<Columns>,
    /// Column of time [default: `t` or `time`, if there is one]
    #[arg(long)]
    time: Option<String>,
    /// Time between rows, where there is no column of time
    #[arg(long, conflicts_with = "time")]
    dt: Option<f64>,
    /// Column, of numbers or text, that tells the experiments apart; rows of one must stand together
    #[arg(long)]
    trajectory: Option<String>,
    /// What the law gives
    #[arg(long, value_enum, default_value_t = Gives::Continuous)]
    dynamics: Gives,
    /// How rates of change are found: auto, fd2, fd4, savgol or weak; the last two also with the points on either side, as in "weak(10)"
    #[arg(long, default_value = "auto")]
    derivative: Wanted,
    /// Columns that hold the rates of change, one for each state in the same order: nothing is differenced, every row counts, and time is not needed
    #[arg(long, value_parser = columns, conflicts_with = "derivative")]
    rates: Vec<Columns>,
    /// Inputs of a plain regression, instead of states
    #[arg(long, value_parser = columns, conflicts_with_all = ["states", "controls", "time", "dt", "trajectory", "dynamics", "derivative", "rates"], requires = "targets")]
    inputs: Vec<Columns>,
    /// Targets of a plain regression
    #[arg(long, value_parser = columns, requires = "inputs")]
    targets: Vec<Columns>,
    /// Candidate terms, for example "polynomial(3) + fourier(1, interactions)" [default: polynomial(3)]. Those of single equations stand behind their names, and the option several times: "x: polynomial(2)", "y,z: fourier(1)"; without a name it is for the others
    #[arg(long, value_parser = library)]
    library: Vec<LibraryOf>,
    /// Leave out rows with empty or NaN cells, and say how many
    #[arg(long)]
    drop_missing: bool,
    /// Leave out trajectories with fewer rows than are needed, and say how many
    #[arg(long)]
    drop_short: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Gives {
    /// Rates of change
    Continuous,
    /// The next row
    Discrete,
}

impl DataOptions {
    /// The library of all equations but some, and those of these.
    fn libraries(&self) -> anyhow::Result<(Option<Library>, BTreeMap<String, Library>)> {
        let (mut others, mut own) = (None, BTreeMap::new());
        for LibraryOf { equations, library } in &self.library {
            if equations.is_empty() && others.replace(library.clone()).is_some() {
                return Err(usage(
                    "--library is given twice for all equations: say which equation each is for, as in --library \"x: polynomial(2)\", or join them with +",
                ));
            }
            for name in equations {
                if own.insert(name.clone(), library.clone()).is_some() {
                    return Err(usage(format!(
                        "--library is given twice for the equation of `{}`: join them with +",
                        shown(name)
                    )));
                }
            }
        }
        Ok((others, own))
    }

    pub fn settings(&self) -> anyhow::Result<DataSettings> {
        if self.dynamics == Gives::Discrete && self.derivative != Wanted::Auto {
            return Err(usage(
                "--derivative says how rates of change are found, and --dynamics discrete has none: leave one of them out",
            ));
        }
        if self.dynamics == Gives::Discrete && !self.rates.is_empty() {
            return Err(usage(
                "--rates names columns of rates of change, and --dynamics discrete has none: leave one of them out",
            ));
        }
        let default = DataSettings::default();
        let (library, libraries) = self.libraries()?;
        Ok(DataSettings {
            files: self.files.clone(),
            states: Columns::all(&self.states),
            controls: Columns::all(&self.controls),
            time: self.time.clone(),
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            dynamics: match self.dynamics {
                Gives::Continuous => Kind::Continuous,
                Gives::Discrete => Kind::Discrete,
            },
            derivative: self.derivative,
            inputs: Columns::all(&self.inputs),
            targets: Columns::all(&self.targets),
            rates: Columns::all(&self.rates),
            library: library.unwrap_or(default.library.clone()),
            libraries,
            drop_missing: self.drop_missing,
            drop_short: self.drop_short,
            ..default
        })
    }
}

/// The command line, as it could be typed again.
pub fn command_line() -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("ell0".to_string())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// The folder of all runs that were given no place.
pub fn in_runs(name: &str) -> PathBuf {
    PathBuf::from("runs").join(name)
}
