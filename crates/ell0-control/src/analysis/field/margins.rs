//! How much gain and delay a loop of many states bears.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    closed::FieldLoop,
    continuation::{Reach, Way, at, follow, typical_size},
    equilibrium::FieldEquilibrium,
};
use crate::{
    analysis::{linear, pulse::Pulse},
    error::{Error, Result},
};

/// Gains are looked for up to this factor, and down to its inverse.
const LARGEST_GAIN: f64 = 1000.0;

/// Delays are looked for up to so many actions: each makes the matrix larger.
const LONGEST_DELAY: usize = 20;

/// The factors of the action that keep an equilibrium stable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GainReach {
    /// The least.
    pub low: Reach,
    /// The greatest.
    pub high: Reach,
}

/// The factors of the action, around 1, that keep an equilibrium stable, looked for from a thousandth to a thousandfold; the equilibrium is followed if it moves. None for one that is not stable.
pub fn field_gain_margin(
    found: &FieldLoop,
    equilibrium: &FieldEquilibrium,
    pulse: Pulse,
) -> Result<Option<GainReach>> {
    if !equilibrium.is_stable() {
        return Ok(None);
    }
    let size = typical_size(found);
    // In the logarithm of the gain.
    let ends: Vec<Reach> = [-1.0, 1.0]
        .into_par_iter()
        .map(|sign| {
            let way = Way {
                from: 0.0,
                step: 0.03 * sign,
                longest: 0.3,
                bound: sign * LARGEST_GAIN.ln(),
                exact: 1e-5,
            };
            let look = |value: f64, guess: &[f64]| {
                let other = found.with_gain(value.exp());
                Ok(at(&other, &equilibrium.kept, guess))
            };
            let reach = follow(&way, &equilibrium.state, size, &look, pulse)?;
            Ok(Reach {
                value: reach.value.exp(),
                ..reach
            })
        })
        .collect::<Result<_>>()?;
    Ok(Some(GainReach {
        low: ends[0],
        high: ends[1],
    }))
}

/// How late actions may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldDelay {
    /// Every delay of up to so many actions keeps the equilibrium stable.
    pub tolerated: usize,
    /// Whether the next one does not; else the search ended.
    pub ends: bool,
}

/// The largest number of actions that all of them may come late without making the equilibrium unstable, up to 20; none for one that is not stable. The pulse beats at every delay.
pub fn field_delay(
    found: &FieldLoop,
    equilibrium: &FieldEquilibrium,
    pulse: Pulse,
) -> Result<Option<FieldDelay>> {
    if !equilibrium.is_stable() {
        return Ok(None);
    }
    let (n, m) = (found.states(), found.actions());
    let (action, gain) = found.action_slopes(&equilibrium.state);
    let open = found.world().slopes(&equilibrium.state, &action);
    // The state with the actions that are still on their way, the oldest first: x⁺ = A·x + B·oldest, the newest is K·x.
    let mut tolerated = 0;
    for delay in 1..=LONGEST_DELAY {
        if !pulse() {
            return Err(Error::Stopped);
        }
        let size = n + delay * m;
        let mut matrix = vec![vec![0.0; size]; size];
        for (i, row) in matrix.iter_mut().enumerate().take(n) {
            row[..n].copy_from_slice(&open.state[i]);
        }
        equilibrium.kept.without(&mut matrix[..n]);
        for i in 0..n {
            matrix[i][n..n + m].copy_from_slice(&open.action[i]);
        }
        for k in 0..delay - 1 {
            for j in 0..m {
                matrix[n + k * m + j][n + (k + 1) * m + j] = 1.0;
            }
        }
        for j in 0..m {
            matrix[n + (delay - 1) * m + j][..n].copy_from_slice(&gain[j]);
        }
        if !linear::is_stable(&matrix) {
            return Ok(Some(FieldDelay {
                tolerated,
                ends: true,
            }));
        }
        tolerated = delay;
    }
    Ok(Some(FieldDelay {
        tolerated,
        ends: false,
    }))
}
