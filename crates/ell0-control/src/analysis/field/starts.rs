//! How many random starts end at an equilibrium.

use ell0::rng::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    closed::FieldLoop,
    matrix::{difference, length},
};
use crate::{
    analysis::pulse::Pulse,
    error::{Error, Result},
};

/// How many starts end at an equilibrium. This is seen, not proved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reaching {
    /// Starts.
    pub starts: usize,
    /// Those that came within a thousandth of their first distance.
    pub reached: usize,
    /// Actions that each had.
    pub actions: usize,
    /// The mean number of actions of those that arrived.
    pub mean_actions: Option<f64>,
}

/// Actions that a start has.
const ACTIONS: usize = 1000;

/// A start has arrived when it is as near as this, relative to its first distance (or to the size of a typical state, if that is more).
const NEAR: f64 = 1e-3;

/// Follows random typical states, the same for everybody, for 1000 actions at most. The pulse beats at every start. The result does not depend on the number of threads.
pub fn reaching(found: &FieldLoop, state: &[f64], starts: usize, pulse: Pulse) -> Result<Reaching> {
    let stream = Stream::new(0).split("reaching");
    let arrivals: Vec<Option<usize>> = (0..starts as u64)
        .into_par_iter()
        .map(|k| {
            if !pulse() {
                return Err(Error::Stopped);
            }
            let mut x = found.world().typical_state(&mut stream.at(k));
            let near = NEAR * length(&difference(&x, state)).max(length(&x)).max(1e-9);
            for action in 0..=ACTIONS {
                let away = length(&difference(&x, state));
                if away <= near {
                    return Ok(Some(action));
                }
                if !away.is_finite() {
                    break;
                }
                x = found.next(&x);
            }
            Ok(None)
        })
        .collect::<Result<_>>()?;
    let times: Vec<usize> = arrivals.into_iter().flatten().collect();
    Ok(Reaching {
        starts,
        reached: times.len(),
        actions: ACTIONS,
        mean_actions: (!times.is_empty())
            .then(|| times.iter().sum::<usize>() as f64 / times.len() as f64),
    })
}
