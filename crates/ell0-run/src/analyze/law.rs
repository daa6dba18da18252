//! A law of states on its own.

use std::path::Path;

use ell0::{
    equation::{Dynamics, Model},
    wording::shown_path,
};
use ell0_control::analysis::{Law, STARTS, Stability};
use ell0_data::table::{ReadOptions, Table};
use serde::{Deserialize, Serialize};

use super::{Analysis, Analyzed, Findings};
use crate::{
    error::{About, Error, Result},
    model::read_all,
    observer::{Observer, Task},
};

/// Steps of the exponent, and the time between two of a law of rates of change.
const STEPS: usize = 100_000;
const DT: f64 = 0.01;

/// A prediction is valid until its error exceeds this share of the spread of the data.
const VALID: f64 = 0.4;

/// What was found of a law of states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LawAnalysis {
    /// The law, with all digits.
    pub law: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// The fixed points, the nearest to 0 first.
    pub equilibria: Vec<FixedPointReport>,
    /// The mean rate at which neighbours part; none if the trajectory does not stay bounded.
    pub largest_lyapunov_exponent: Option<f64>,
    /// How long predictions are valid, where there are data.
    pub valid_prediction_time: Option<ValidityReport>,
}

/// A fixed point of a law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedPointReport {
    /// Where.
    pub state: Vec<f64>,
    /// Whether what is near stays near and comes closer.
    pub stable: bool,
    /// Eigenvalues of the linearisation, real and imaginary parts.
    pub eigenvalues: Vec<[f64; 2]>,
}

/// How long predictions are valid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidityReport {
    /// Mean time until a prediction leaves the data.
    pub mean: f64,
    /// Starts.
    pub starts: usize,
    /// Those that were still valid at the end of the data.
    pub valid_to_the_end: usize,
    /// The share of the data's spread at which a prediction ends to be valid.
    pub threshold: f64,
    /// The mean in Lyapunov times, of a law whose neighbours part.
    pub lyapunov_times: Option<f64>,
}

/// States over time, held against a law.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    times: Vec<f64>,
    states: Vec<Vec<f64>>,
}

impl Recording {
    /// Times, or numbers of steps, and the states at each of them, in the order of the law's targets: at least two.
    pub fn new(times: Vec<f64>, states: Vec<Vec<f64>>) -> Result<Self> {
        let width = states.first().map_or(0, Vec::len);
        let alike = states.iter().all(|state| state.len() == width);
        if states.len() < 2 || times.len() != states.len() || width == 0 || !alike {
            return Err(Error::Settings(
                "a recording needs at least two rows, a time for each, and the same states in all of them",
            ));
        }
        Ok(Recording { times, states })
    }

    /// Reads the states of a law from a file; a law of rates of change needs a column of time, `t` or `time`.
    pub fn read(model: &Model, path: &Path) -> Result<Self> {
        let states: Vec<String> = model.targets().map(String::from).collect();
        let time = match model.dynamics() {
            Dynamics::Discrete => None,
            _ => {
                let table = Table::open(path, &[], ReadOptions::default())?;
                let known = ["t", "time"].into_iter();
                let known = known
                    .map(String::from)
                    .find(|name| table.names().contains(name));
                Some(known.ok_or_else(|| {
                    Error::damaged(path, "there is no column of time, `t` or `time`")
                })?)
            }
        };
        let columns: Vec<String> = time.iter().cloned().chain(states).collect();
        let mut columns = read_all(path, &columns)?;
        let rows = columns.first().map_or(0, Vec::len);
        let times = match time {
            Some(_) => columns.remove(0),
            None => (0..rows).map(|k| k as f64).collect(),
        };
        let states = (0..rows).map(|r| columns.iter().map(|c| c[r]).collect());
        Recording::new(times, states.collect()).about(|| shown_path(path))
    }
}

/// Fixed points, predictability and, with held-out trajectories, how long predictions are valid.
pub fn analyze_law(
    model: &Model,
    trajectories: &[Recording],
    observer: &dyn Observer,
) -> Result<Analyzed> {
    let law = Law::new(model)?;
    if let Some(other) = trajectories
        .iter()
        .find(|t| t.states[0].len() != law.states())
    {
        return Err(Error::Unsuitable(format!(
            "a recording has {} states, the law {}",
            other.states[0].len(),
            law.states()
        )));
    }
    let controls = model.controls()?;
    if !trajectories.is_empty() && !controls.is_empty() {
        return Err(Error::Unsuitable(format!(
            "data can be compared with a law without controls; this one has {}",
            controls.join(", ")
        )));
    }
    // The data say how large states are, and where a trajectory may begin.
    let scale = trajectories
        .iter()
        .flat_map(|t| t.states.iter().flatten())
        .fold(0f64, |m, v| m.max(v.abs()));
    let scale = if scale > 0.0 { scale } else { 100.0 };
    let searching = Task::begin(observer, "fixed points", Some(STARTS));
    let points = law.fixed_points(scale, &|| searching.beat());
    searching.end()?;
    let initial = trajectories
        .first()
        .map_or_else(|| vec![0.1; law.states()], |t| t.states[0].clone());
    let following = Task::begin(observer, "following a trajectory", Some(STEPS as u64));
    let exponent = law.largest_exponent(&initial, DT, STEPS, &|| following.beat());
    following.end()?;
    let exponent = exponent.filter(|e| e.is_finite());
    let validity = if trajectories.is_empty() {
        None
    } else {
        Some(valid_time(model, trajectories, exponent, observer)?)
    };
    let findings = LawAnalysis {
        law: model.text(17),
        states: model.targets().map(String::from).collect(),
        equilibria: points
            .into_iter()
            .map(|p| FixedPointReport {
                stable: p.stability == Stability::Stable,
                eigenvalues: p.eigenvalues.iter().map(|z| [z.re, z.im]).collect(),
                state: p.state,
            })
            .collect(),
        largest_lyapunov_exponent: exponent,
        valid_prediction_time: validity,
    };
    Ok(Analyzed {
        analysis: Analysis {
            model: model.clone(),
            findings: Findings::Law(findings),
        },
        portrait: None,
        certificate: None,
    })
}

/// The mean time until predictions leave the data, from ten starts in each trajectory.
fn valid_time(
    model: &Model,
    trajectories: &[Recording],
    exponent: Option<f64>,
    observer: &dyn Observer,
) -> Result<ValidityReport> {
    let predicting = Task::begin(observer, "predicting", None);
    let (mut mean_time, mut starts, mut to_the_end) = (0.0, 0, 0);
    for Recording { times, states } in trajectories {
        let n = states[0].len();
        let rows = states.len() as f64;
        let mean: Vec<f64> = (0..n)
            .map(|k| states.iter().map(|s| s[k]).sum::<f64>() / rows)
            .collect();
        let distance = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let spread = (states.iter().map(|s| distance(s, &mean)).sum::<f64>() / rows).sqrt();
        let step = (states.len() / 10).max(1);
        for start in (0..states.len() - 1).step_by(step) {
            predicting.advance(1);
            predicting.go_on()?;
            let run = model.simulate(&states[start], &times[start..], |_, _| ())?;
            let wrong = run
                .states
                .iter()
                .zip(&states[start..])
                .position(|(p, s)| distance(p, s).sqrt() > VALID * spread);
            let ended = run.states.len() < states.len() - start;
            let last = match wrong {
                Some(k) => k,
                None if ended => run.states.len(),
                None => {
                    to_the_end += 1;
                    states.len() - start - 1
                }
            };
            mean_time += times[(start + last).min(times.len() - 1)] - times[start];
            starts += 1;
        }
    }
    let mean = mean_time / starts.max(1) as f64;
    Ok(ValidityReport {
        mean,
        starts,
        valid_to_the_end: to_the_end,
        threshold: VALID,
        lyapunov_times: exponent.filter(|e| *e > 0.0).map(|e| mean * e),
    })
}
