//! `ell0 show`, `predict`, `score` and `simulate`: a finished model at work.

use std::{
    collections::HashMap,
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use ell0::equation::{Dynamics, Model};
use ell0_data::table::{Block, ReadOptions, Table};
use serde_json::json;

/// Reads a model file, or that of a run directory.
fn load(path: &Path) -> anyhow::Result<Model> {
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
fn deliver(out: Option<&Path>, text: &str) -> anyhow::Result<()> {
    let Some(path) = out else {
        stdout().lock().write_all(text.as_bytes())?;
        return Ok(());
    };
    let cannot = || format!("cannot write {}", path.display());
    let folder = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)?;
    file.persist(path).with_context(cannot)?;
    Ok(())
}

/// All rows of the named columns.
fn read_all(path: &Path, columns: &[String]) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut table = Table::open(path, columns, ReadOptions::default())?;
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
    /// CSV file with the model's inputs
    data: PathBuf,
    /// Where the predictions go [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Predict {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let columns = read_all(&self.data, model.inputs())?;
        let rows = columns.first().map_or(0, Vec::len);
        let values = model.predict(&columns.concat(), rows)?;
        let names: Vec<&str> = model.targets().collect();
        let mut text = names
            .iter()
            .map(|n| quoted(n))
            .collect::<Vec<_>>()
            .join(",")
            + "\n";
        for row in 0..rows {
            let cells: Vec<String> = (0..names.len())
                .map(|k| values[k * rows + row].to_string())
                .collect();
            text += &(cells.join(",") + "\n");
        }
        deliver(self.out.as_deref(), &text)
    }
}

/// Measure a model on other data
///
/// A plain regression is compared with its target columns, a discrete law with the next row. Laws of rates of change are scored by `ell0 fit` on held-out data.
#[derive(Args)]
pub struct Score {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// CSV file with the model's inputs and, for a regression, its targets
    data: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Score {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = load(&self.model)?;
        let columns = read_all(&self.data, model.inputs())?;
        let rows = columns.first().map_or(0, Vec::len);
        let names: Vec<String> = model.targets().map(String::from).collect();
        let (truth, used): (Vec<Vec<f64>>, usize) = match model.dynamics() {
            Dynamics::Regression => (read_all(&self.data, &names)?, rows),
            Dynamics::Discrete => {
                ensure!(
                    rows >= 2,
                    "{}: one row has no next row to compare with",
                    self.data.display()
                );
                (
                    read_all(&self.data, &names)?
                        .into_iter()
                        .map(|c| c[1..].to_vec())
                        .collect(),
                    rows - 1,
                )
            }
            Dynamics::Continuous => bail!(
                "a law of rates of change cannot be compared with columns of states; use `ell0 simulate`, or `ell0 fit`, which scores on held-out data"
            ),
        };
        let inputs: Vec<f64> = columns.iter().flat_map(|c| c[..used].to_vec()).collect();
        let values = model.predict(&inputs, used)?;
        let scores: Vec<(f64, f64)> = truth
            .iter()
            .enumerate()
            .map(|(k, truth)| {
                let mean = truth.iter().sum::<f64>() / used as f64;
                let error = truth
                    .iter()
                    .zip(&values[k * used..])
                    .map(|(t, v)| (t - v).powi(2))
                    .sum::<f64>();
                let spread = truth.iter().map(|t| (t - mean).powi(2)).sum::<f64>();
                (error / used as f64, 1.0 - error / spread)
            })
            .collect();
        let mut out = stdout().lock();
        if self.json {
            let list: Vec<_> = names
                .iter()
                .zip(&scores)
                .map(|(n, s)| json!({ "target": n, "mse": s.0, "r2": s.1 }))
                .collect();
            writeln!(
                out,
                "{}",
                serde_json::to_string_pretty(&json!({ "rows": used, "scores": list }))?
            )?;
        } else {
            for (name, (mse, r2)) in names.iter().zip(&scores) {
                writeln!(out, "{name}: mean squared error {mse:.4e}, R² {r2:.6}")?;
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
    /// CSV file with a column `t` (for a law of rates of change) and the controls; in between they hold their value
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
            (Dynamics::Discrete, Some(steps), _) => (0..=steps).map(f64::from).collect(),
            (Dynamics::Discrete, None, _) => bail!("a discrete law needs --steps N"),
            (Dynamics::Continuous, _, None) => bail!("a law of rates of change needs --duration T"),
            (Dynamics::Continuous, _, Some(duration)) => {
                ensure!(
                    duration > 0.0 && self.dt > 0.0 && duration / self.dt <= MOST_ROWS,
                    "--duration {duration} with --dt {}: both must be positive, and at most 10 million rows",
                    self.dt
                );
                let rows = (duration / self.dt).round().max(1.0) as usize;
                (0..=rows).map(|k| k as f64 * self.dt).collect()
            }
        };
        let needed = model.controls()?;
        let (clock, controls) = match &self.controls_from {
            None if needed.is_empty() => (vec![0.0], vec![]),
            None => bail!(
                "this law has controls ({}); give them with --controls-from FILE",
                needed.join(", ")
            ),
            Some(file) => {
                let discrete = model.dynamics() == Dynamics::Discrete;
                let mut wanted = needed.clone();
                if !discrete {
                    wanted.push("t".into());
                }
                let mut columns = read_all(file, &wanted)?;
                let clock = if discrete {
                    (0..columns[0].len()).map(|k| k as f64).collect()
                } else {
                    columns.pop().unwrap_or_default()
                };
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
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
