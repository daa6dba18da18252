//! Returns on a fixed grid of initial states.

use ell0::equation::Model;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    environment::{Space, make},
    error::{Error, Result},
};

/// Mean return over initial states, with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Return {
    /// Mean over the initial states.
    pub mean: f64,
    /// Half the width of its 95 % interval, were the initial states drawn at random.
    pub ci95: f64,
    /// Number of episodes.
    pub episodes: usize,
    /// Steps in all.
    pub steps: u64,
}

impl Return {
    /// Of returns of single episodes.
    pub fn of(returns: &[f64], steps: u64) -> Self {
        let n = returns.len().max(1) as f64;
        let mean = returns.iter().sum::<f64>() / n;
        let spread = returns.iter().map(|r| (r - mean).powi(2)).sum::<f64>();
        let deviation = (spread / (n - 1.0).max(1.0)).sqrt();
        Return {
            mean,
            ci95: 1.96 * deviation / n.sqrt(),
            episodes: returns.len(),
            steps,
        }
    }
}

/// Something that acts on many observations at once, column after column.
pub trait BatchPolicy: Sync {
    /// The actions.
    fn act(&self, observation: &[f32], rows: usize, action: &mut [f64]) -> Result<()>;
}

/// A closed form at work: a model whose inputs are among the observations and whose targets are the actions.
#[derive(Clone, Debug)]
pub struct ClosedForm {
    model: Model,
    /// Place of each input among the observations.
    order: Vec<usize>,
    /// Place of each action among the targets.
    targets: Vec<usize>,
}

impl ClosedForm {
    /// A model as a policy for given spaces.
    pub fn new(model: Model, observation: &Space, action: &Space) -> Result<Self> {
        let missing = |what: &'static str, name: &str, there: &[String]| Error::Mismatch {
            what,
            name: name.into(),
            expected: there.join(", "),
        };
        let order = model
            .inputs()
            .iter()
            .map(|name| {
                let place = observation.names.iter().position(|n| n == name);
                place.ok_or_else(|| missing("input", name, &observation.names))
            })
            .collect::<Result<_>>()?;
        let given: Vec<String> = model.targets().map(String::from).collect();
        let targets = action
            .names
            .iter()
            .map(|name| {
                let place = given.iter().position(|n| n == name);
                place.ok_or_else(|| missing("action", name, &given))
            })
            .collect::<Result<_>>()?;
        Ok(ClosedForm {
            model,
            order,
            targets,
        })
    }
}

impl BatchPolicy for ClosedForm {
    fn act(&self, observation: &[f32], rows: usize, action: &mut [f64]) -> Result<()> {
        let columns: Vec<f64> = self
            .order
            .iter()
            .flat_map(|k| {
                observation[k * rows..][..rows]
                    .iter()
                    .map(|x| f64::from(*x))
            })
            .collect();
        let values = self.model.predict(&columns, rows)?;
        for (slot, k) in action.chunks_exact_mut(rows).zip(&self.targets) {
            slot.copy_from_slice(&values[k * rows..][..rows]);
        }
        Ok(())
    }
}

/// Midpoints of a grid over the box of initial states: the least and the greatest value and the number of cells of each component.
pub fn midpoints(boxes: &[(f64, f64, usize)]) -> Vec<Vec<f64>> {
    boxes
        .iter()
        .fold(vec![vec![]], |states, &(low, high, cells)| {
            let values = (0..cells).map(|k| low + (high - low) * (k as f64 + 0.5) / cells as f64);
            let values: Vec<f64> = values.collect();
            states
                .iter()
                .flat_map(|state| {
                    values.iter().map(move |value| {
                        let mut state = state.clone();
                        state.push(*value);
                        state
                    })
                })
                .collect()
        })
}

/// Episodes that run in step with each other: large enough to act on at once, small enough to stay in the cache.
const SIDE_BY_SIDE: usize = 250;

/// Runs an episode of the named environment from every initial state. The result does not depend on the number of threads.
pub fn evaluate(
    environment: &str,
    policy: &dyn BatchPolicy,
    states: &[Vec<f64>],
) -> Result<Return> {
    let prototype = make(environment)?;
    let (o, a) = (
        prototype.observation_space().len(),
        prototype.action_space().len(),
    );
    let limit = prototype.time_limit().unwrap_or(10_000);
    let run = |states: &[Vec<f64>]| -> Result<(Vec<f64>, u64)> {
        let rows = states.len();
        let mut worlds = Vec::new();
        for state in states {
            let mut world = make(environment)?;
            world.reset_to(state)?;
            worlds.push(world);
        }
        let mut over = vec![false; rows];
        let mut returns = vec![0.0; rows];
        let mut observation = vec![0f32; rows * o];
        let (mut one, mut actions, mut action) = (vec![0f32; o], vec![0.0; rows * a], vec![0.0; a]);
        let mut steps = 0;
        for _ in 0..limit {
            for (row, world) in worlds.iter().enumerate() {
                world.observe(&mut one);
                for (k, value) in one.iter().enumerate() {
                    observation[k * rows + row] = *value;
                }
            }
            policy.act(&observation, rows, &mut actions)?;
            for (row, world) in worlds.iter_mut().enumerate() {
                if over[row] {
                    continue;
                }
                for (k, value) in action.iter_mut().enumerate() {
                    *value = actions[k * rows + row];
                }
                let step = world.step(&action)?;
                returns[row] += step.reward;
                steps += 1;
                over[row] = step.terminated || step.truncated;
            }
            if over.iter().all(|o| *o) {
                break;
            }
        }
        Ok((returns, steps))
    };
    let parts: Vec<(Vec<f64>, u64)> = states
        .par_chunks(SIDE_BY_SIDE)
        .map(run)
        .collect::<Result<_>>()?;
    let steps = parts.iter().map(|(_, s)| s).sum();
    let returns: Vec<f64> = parts.into_iter().flat_map(|(r, _)| r).collect();
    Ok(Return::of(&returns, steps))
}
