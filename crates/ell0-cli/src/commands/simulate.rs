//! `ell0 simulate`: a law from an initial state.

use std::{collections::HashMap, path::PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args;
use ell0::equation::Dynamics;

use super::model::{deliver, load, quoted, read_all};
use crate::data::time_column;

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
