//! `ell0 show`, `predict`, `score` and `simulate`: a finished model at work.

use std::{
    collections::HashMap,
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use ell0::equation::{Dynamics, Model};
use ell0_data::{
    derivative::Wanted,
    runs::{Roles, Runs},
    series::{Recipe, for_each_stretch},
    survey::Survey,
    table::{Block, ReadOptions, Table, Want},
    write::{TableWriter, Values, write_whole},
};
use serde_json::json;

use crate::data::time_column;

/// Reads a model file, or that of a run directory.
pub fn load(path: &Path) -> anyhow::Result<Model> {
    let file = if path.is_dir() {
        path.join("model.json")
    } else {
        path.to_path_buf()
    };
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read {}", file.display()))?;
    Model::from_json(&text).with_context(|| format!("{} is not a model", file.display()))
}

/// Writes text to a file, whole or not at all, or to the screen.
pub fn deliver(out: Option<&Path>, text: &str) -> anyhow::Result<()> {
    match out {
        Some(path) => Ok(write_whole(path, text.as_bytes())?),
        None => Ok(stdout().lock().write_all(text.as_bytes())?),
    }
}

/// All rows of the named columns.
fn read_all(path: &Path, columns: &[String]) -> anyhow::Result<Vec<Vec<f64>>> {
    let wanted: Vec<Want> = columns.iter().cloned().map(Want::Number).collect();
    let mut table = Table::open(path, &wanted, ReadOptions::default())?;
    let (mut all, mut block) = (vec![Vec::new(); columns.len()], Block::default());
    while table.read(8192, &mut block)? {
        all.iter_mut()
            .zip(&block.columns)
            .for_each(|(a, b)| a.extend(b));
    }
    ensure!(
        all.first().is_none_or(|c: &Vec<f64>| !c.is_empty()),
        "{}: there is no row of data",
        path.display()
    );
    Ok(all)
}

/// Print the equations of a model
#[derive(Args)]
pub struct Show {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// As PySINDy prints them
    #[arg(long, conflicts_with_all = ["latex", "json"])]
    pysindy: bool,
    /// As LaTeX
    #[arg(long, conflicts_with = "json")]
    latex: bool,
    /// The model file itself
    #[arg(long)]
    json: bool,
}

impl Show {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let text = if self.json {
            model.to_json()
        } else if self.latex {
            model.latex(5)
        } else if self.pysindy {
            model.pysindy(3)
        } else {
            model.text(6)
        };
        deliver(None, &(text + "\n"))
    }
}

/// Predict the targets of a model for the rows of a file
///
/// For a law of states: their rates of change, or the next row.
#[derive(Args)]
pub struct Predict {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// File with the model's inputs
    data: PathBuf,
    /// Where the predictions go [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Predict {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let wanted: Vec<Want> = model.inputs().iter().cloned().map(Want::Number).collect();
        let mut table = Table::open(&self.data, &wanted, ReadOptions::default())?;
        let names: Vec<String> = model.targets().map(String::from).collect();
        let mut file = match &self.out {
            Some(out) => Some(TableWriter::create(out, &names)?),
            None => None,
        };
        let mut screen = stdout().lock();
        if file.is_none() {
            let names: Vec<String> = names.iter().map(|n| quoted(n)).collect();
            writeln!(screen, "{}", names.join(","))?;
        }
        let (mut block, mut any) = (Block::default(), false);
        while table.read(8192, &mut block)? {
            any = true;
            let rows = block.rows();
            let values = model.predict(&block.columns.concat(), rows)?;
            match &mut file {
                Some(file) => {
                    let columns = values.chunks_exact(rows);
                    let columns: Vec<_> = columns.map(|c| Values::Number(c.to_vec())).collect();
                    file.push(&columns)?;
                }
                None => {
                    for row in 0..rows {
                        let cells: Vec<String> = (0..names.len())
                            .map(|k| values[k * rows + row].to_string())
                            .collect();
                        writeln!(screen, "{}", cells.join(","))?;
                    }
                }
            }
        }
        ensure!(any, "{}: there is no row of data", self.data.display());
        if let Some(file) = file {
            file.finish()?;
        }
        Ok(())
    }
}

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

/// Simulate a law from an initial state
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Simulate {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// Initial state, for example x=1,y=0
    #[arg(long, value_delimiter = ',', required = true, value_parser = assignment)]
    initial: Vec<(String, f64)>,
    /// How long to simulate a law of rates of change
    #[arg(long, conflicts_with = "steps")]
    duration: Option<f64>,
    /// Time between rows
    #[arg(long, default_value_t = 0.01)]
    dt: f64,
    /// Steps of a discrete law
    #[arg(long)]
    steps: Option<u32>,
    /// File with a column of time, `t` or `time` (for a law of rates of change) and the controls; in between they hold their value
    #[arg(long)]
    controls_from: Option<PathBuf>,
    /// Where the trajectory goes [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
}

fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected name=value, for example x=1")?;
    match value.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((name.trim().into(), value)),
        _ => Err(format!("`{value}` is not a finite number")),
    }
}

/// A simulation of more rows than this is a mistake.
const MOST_ROWS: f64 = 1e7;

impl Simulate {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let given: HashMap<&str, f64> =
            self.initial.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        ensure!(
            given.len() == self.initial.len(),
            "--initial gives a state twice"
        );
        let names: Vec<&str> = model.targets().collect();
        if let Some(stranger) = given.keys().find(|n| !names.contains(n)) {
            bail!(
                "`{stranger}` is no state of this model; its states are {}",
                names.join(", ")
            );
        }
        let initial = names
            .iter()
            .map(|n| {
                given.get(n).copied().with_context(|| {
                    format!(
                        "--initial says nothing of `{n}`; the states are {}",
                        names.join(", ")
                    )
                })
            })
            .collect::<anyhow::Result<Vec<f64>>>()?;
        let times: Vec<f64> = match (model.dynamics(), self.steps, self.duration) {
            (Dynamics::Regression, ..) => {
                bail!("this model is a plain regression; only laws of states can be simulated")
            }
            (Dynamics::Discrete, Some(steps), _) => {
                ensure!(
                    f64::from(steps) <= MOST_ROWS,
                    "--steps {steps}: at most 10 million"
                );
                (0..=steps).map(f64::from).collect()
            }
            (Dynamics::Discrete, None, _) => bail!("a discrete law needs --steps N"),
            (Dynamics::Continuous, _, None) => bail!("a law of rates of change needs --duration T"),
            (Dynamics::Continuous, _, Some(duration)) => {
                ensure!(
                    duration > 0.0 && self.dt > 0.0 && duration / self.dt <= MOST_ROWS,
                    "--duration {duration} with --dt {}: both must be positive, and at most 10 million rows",
                    self.dt
                );
                let rows = (duration / self.dt * (1.0 + 1e-12)).floor() as usize;
                let mut times: Vec<f64> = (0..=rows).map(|k| k as f64 * self.dt).collect();
                // The end itself, where it is no multiple of the step.
                if duration - rows as f64 * self.dt > 1e-9 * self.dt {
                    times.push(duration);
                }
                times
            }
        };
        let needed = model.controls()?;
        let (clock, controls) = match &self.controls_from {
            None if needed.is_empty() => (vec![0.0], vec![]),
            None => bail!(
                "this law has controls ({}); give them with --controls-from FILE",
                needed.join(", ")
            ),
            // A law without controls has no use for them.
            Some(_) if needed.is_empty() => (vec![0.0], vec![]),
            Some(file) => {
                let discrete = model.dynamics() == Dynamics::Discrete;
                let mut wanted = needed.clone();
                if !discrete {
                    let time =
                        time_column(std::slice::from_ref(file), None, None, Dynamics::Continuous)?;
                    wanted.extend(time);
                }
                let mut columns = read_all(file, &wanted)?;
                let clock = if discrete {
                    (0..columns[0].len()).map(|k| k as f64).collect()
                } else {
                    columns.pop().unwrap_or_default()
                };
                if let Some(at) = clock.windows(2).position(|t| t[0] >= t[1]) {
                    bail!(
                        "{}: time goes from {} to {}; it must increase",
                        file.display(),
                        clock[at],
                        clock[at + 1]
                    );
                }
                (clock, columns)
            }
        };
        let at = |t: f64| -> Vec<f64> {
            let row = clock.partition_point(|c| *c <= t).saturating_sub(1);
            controls.iter().map(|c| c[row]).collect()
        };
        let simulation = model.simulate(&initial, &times, at)?;
        let head = if model.dynamics() == Dynamics::Discrete {
            "k"
        } else {
            "t"
        };
        let mut text = format!(
            "{head},{}\n",
            names
                .iter()
                .map(|n| quoted(n))
                .collect::<Vec<_>>()
                .join(",")
        );
        for (time, state) in simulation.time.iter().zip(&simulation.states) {
            let cells: Vec<String> = std::iter::once(time)
                .chain(state)
                .map(ToString::to_string)
                .collect();
            text += &(cells.join(",") + "\n");
        }
        deliver(self.out.as_deref(), &text)?;
        match simulation.stopped {
            Some(why) => bail!("the simulation ended early: {why}"),
            None => Ok(()),
        }
    }
}

/// A name as a CSV cell.
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
