//! Returns from fixed starts.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::{
    environment::{Environment, Start},
    error::Result,
    policy::Policy,
    rollout::Rollout,
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
    #[must_use]
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

/// The return from each of the starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Returns {
    /// One after the other, in the order of the starts.
    pub each: Vec<f64>,
    /// Steps in all.
    pub steps: u64,
}

/// Midpoints of a grid over the box of initial states: the least and the greatest value and the number of cells of each component.
#[must_use]
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

/// The mean return over episodes from every start. It does not depend on the number of threads.
pub fn evaluate(world: &dyn Environment, policy: &dyn Policy, starts: &[Start]) -> Result<Return> {
    let Returns { each, steps } = returns(world, policy, starts)?;
    Ok(Return::of(&each, steps))
}

/// Runs an episode from every start.
pub fn returns(world: &dyn Environment, policy: &dyn Policy, starts: &[Start]) -> Result<Returns> {
    if starts.is_empty() {
        return Err(ell0::Error::Empty {
            what: "list of starts",
        }
        .into());
    }
    let run = |(part, starts): (usize, &[Start])| -> Result<(Vec<f64>, u64)> {
        let rows = starts.len();
        let mut worlds: Vec<Box<dyn Environment>> = starts.iter().map(|_| world.copy()).collect();
        let mut generators = worlds
            .iter_mut()
            .zip(starts)
            .map(|(world, start)| start.begin(world))
            .collect::<Result<Vec<_>>>()?;
        let (mut returns, mut steps) = (vec![0.0; rows], 0);
        let mut act = policy.start(rows)?;
        let first = (part * SIDE_BY_SIDE) as u64;
        Rollout::new(world, rows).run(
            &mut worlds,
            act.as_mut(),
            &mut generators,
            first,
            &mut |moment| {
                returns[moment.row] += moment.step.reward;
                steps += 1;
                Ok(())
            },
        )?;
        Ok((returns, steps))
    };
    let parts: Vec<(Vec<f64>, u64)> = starts
        .par_chunks(SIDE_BY_SIDE)
        .enumerate()
        .map(run)
        .collect::<Result<_>>()?;
    let steps = parts.iter().map(|(_, s)| s).sum();
    Ok(Returns {
        each: parts.into_iter().flat_map(|(r, _)| r).collect(),
        steps,
    })
}
