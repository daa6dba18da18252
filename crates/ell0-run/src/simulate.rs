//! A law from an initial state.

use std::path::PathBuf;

use ell0::{
    equation::{Dynamics, Model, Simulation},
    wording::{listed, on_one_line, shown},
};

use crate::{
    data::{Clock, Source, time_column},
    error::{Error, Result},
    files::quoted,
    model::read_all,
};

/// What is simulated.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `initial` | none | a value for each state |
/// | `duration` | none | how long to simulate a law of rates of change |
/// | `dt` | 0.01 | time between rows |
/// | `steps` | none | steps of a discrete law |
/// | `controls_from` | none | file with a column of time, `t` or `time` (for a law of rates of change) and the controls; in between they hold their value |
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct SimulateSettings {
    pub initial: Vec<(String, f64)>,
    pub duration: Option<f64>,
    pub dt: f64,
    pub steps: Option<u32>,
    pub controls_from: Option<PathBuf>,
}

impl Default for SimulateSettings {
    fn default() -> Self {
        SimulateSettings {
            initial: Vec::new(),
            duration: None,
            dt: 0.01,
            steps: None,
            controls_from: None,
        }
    }
}

/// A simulation of more rows than this is a mistake.
const MOST_ROWS: f64 = 1e7;

/// Controls over time; in between they hold their value.
struct Controls {
    clock: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

impl Controls {
    fn at(&self, t: f64, values: &mut [f64]) {
        let row = self.clock.partition_point(|c| *c <= t).saturating_sub(1);
        let columns = values.iter_mut().zip(&self.columns);
        columns.for_each(|(value, column)| *value = column[row]);
    }
}

impl SimulateSettings {
    /// The initial state in the order of the model's states.
    fn initial(&self, model: &Model) -> Result<Vec<f64>> {
        let names: Vec<&str> = model.targets().collect();
        for (k, (name, _)) in self.initial.iter().enumerate() {
            if self.initial[..k].iter().any(|(n, _)| n == name) {
                return Err(Error::Unsuitable(format!(
                    "the initial state gives `{}` twice",
                    shown(name)
                )));
            }
            if !names.contains(&name.as_str()) {
                return Err(Error::Unsuitable(format!(
                    "`{}` is no state of this model; its states are {}",
                    shown(name),
                    listed(&names)
                )));
            }
        }
        names
            .iter()
            .map(|n| {
                let given = self.initial.iter().find(|(name, _)| name == n);
                given.map(|(_, value)| *value).ok_or_else(|| {
                    Error::Unsuitable(format!(
                        "the initial state says nothing of `{}`; the states are {}",
                        shown(n),
                        listed(&names)
                    ))
                })
            })
            .collect()
    }

    fn times(&self, dynamics: Dynamics) -> Result<Vec<f64>> {
        match (dynamics, self.steps, self.duration) {
            (Dynamics::Regression, ..) => Err(Error::Settings(
                "this model is a plain regression; only laws of states can be simulated",
            )),
            (Dynamics::Discrete, Some(steps), _) => {
                if f64::from(steps) > MOST_ROWS {
                    return Err(Error::setting("steps", steps, "at most 10 million"));
                }
                Ok((0..=steps).map(f64::from).collect())
            }
            (Dynamics::Discrete, None, _) => {
                Err(Error::setting("steps", "none", "a discrete law needs them"))
            }
            (Dynamics::Continuous, _, None) => Err(Error::setting(
                "duration",
                "none",
                "a law of rates of change needs it",
            )),
            (Dynamics::Continuous, _, Some(duration)) => {
                let positive = |time: f64| time > 0.0 && time.is_finite();
                let sound = positive(duration) && positive(self.dt);
                if !sound || duration / self.dt > MOST_ROWS {
                    return Err(Error::Unsuitable(format!(
                        "a duration of {duration} with {} between rows: both must be positive and finite, and at most 10 million rows",
                        self.dt
                    )));
                }
                let rows = (duration / self.dt * (1.0 + 1e-12)).floor() as usize;
                let mut times: Vec<f64> = (0..=rows).map(|k| k as f64 * self.dt).collect();
                // The end itself, where it is no multiple of the step.
                if duration - rows as f64 * self.dt > 1e-9 * self.dt {
                    times.push(duration);
                }
                Ok(times)
            }
        }
    }

    fn controls(&self, model: &Model) -> Result<Controls> {
        let needed = model.controls()?;
        // A law without controls has no use for them.
        let Some(file) = self.controls_from.as_ref().filter(|_| !needed.is_empty()) else {
            if needed.is_empty() {
                return Ok(Controls {
                    clock: vec![0.0],
                    columns: vec![],
                });
            }
            return Err(Error::setting(
                "controls-from",
                "none",
                format!(
                    "this law has controls ({}); a file with them is needed",
                    needed.join(", ")
                ),
            ));
        };
        let discrete = model.dynamics() == Dynamics::Discrete;
        let mut wanted = needed;
        if !discrete {
            let files = std::slice::from_ref(file);
            let time = time_column(Source::Files(files), None, None, Clock::Needed, &wanted)?;
            wanted.extend(time);
        }
        let mut columns = read_all(file, &wanted)?;
        let clock = if discrete {
            (0..columns[0].len()).map(|k| k as f64).collect()
        } else {
            columns.pop().unwrap_or_default()
        };
        if let Some(at) = clock.windows(2).position(|t| t[0] >= t[1]) {
            return Err(Error::damaged(
                file,
                format!(
                    "time goes from {} to {}; it must increase",
                    clock[at],
                    clock[at + 1]
                ),
            ));
        }
        Ok(Controls { clock, columns })
    }

    /// The trajectory of a law. One that blows up ends there and says so.
    pub fn run(&self, model: &Model) -> Result<Simulation> {
        let initial = self.initial(model)?;
        let times = self.times(model.dynamics())?;
        let controls = self.controls(model)?;
        Ok(model.simulate(&initial, &times, |t, values| controls.at(t, values))?)
    }
}

/// A simulated trajectory as the text of a CSV file.
#[must_use]
pub fn trajectory_table(model: &Model, simulation: &Simulation) -> String {
    table_of(model, simulation, quoted)
}

/// The same for a screen: names as messages show them, a line for each row.
#[must_use]
pub fn shown_trajectory(model: &Model, simulation: &Simulation) -> String {
    table_of(model, simulation, |name| quoted(&on_one_line(name)))
}

fn table_of(model: &Model, simulation: &Simulation, named: impl Fn(&str) -> String) -> String {
    let head = if model.dynamics() == Dynamics::Discrete {
        "k"
    } else {
        "t"
    };
    let names: Vec<String> = model.targets().map(named).collect();
    let mut text = format!("{head},{}\n", names.join(","));
    for (time, state) in simulation.time.iter().zip(&simulation.states) {
        let cells: Vec<String> = std::iter::once(time)
            .chain(state)
            .map(ToString::to_string)
            .collect();
        text += &(cells.join(",") + "\n");
    }
    text
}
