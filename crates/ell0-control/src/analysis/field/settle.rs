//! What a loop does from a typical state when it is left to itself.

use std::fmt;

use ell0::rng::Stream;
use serde::{Deserialize, Serialize};

use super::{
    closed::FieldLoop,
    matrix::{difference, length},
};
use crate::{
    analysis::pulse::Pulse,
    error::{Error, Result},
};

/// What a loop does in the end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Behaviour {
    /// It comes to rest.
    Settles,
    /// It comes back to itself after so many actions.
    Cycles {
        /// The number of actions.
        period: usize,
    },
    /// It goes on, bounded, without coming back to itself.
    Wanders {
        /// The mean rate at which neighbours part, by action: chaos if it is clearly above 0.
        exponent: f64,
    },
    /// It grows without bound.
    Diverges {
        /// Actions until it did.
        actions: usize,
    },
}

/// Neighbours that part faster than this, by action, are chaos; slower ones may be rounding or a long transient.
const CHAOS: f64 = 0.005;

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Behaviour::Settles => write!(f, "comes to rest"),
            Behaviour::Cycles { period } => {
                write!(
                    f,
                    "does not come to rest: it is back where it was after {period} actions, again and again (a limit cycle)"
                )
            }
            Behaviour::Wanders { exponent } if *exponent > CHAOS => {
                write!(
                    f,
                    "does not come to rest: neighbours part at a rate of {exponent:.3} an action (chaos)"
                )
            }
            Behaviour::Wanders { .. } => {
                write!(
                    f,
                    "does not come to rest within {} actions, nor does it come back to itself; neighbours do not part",
                    ACTIONS + WATCHED
                )
            }
            Behaviour::Diverges { actions } => {
                write!(
                    f,
                    "grows without bound: a millionfold after {actions} actions"
                )
            }
        }
    }
}

/// A run of a loop from a typical state.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// What it does in the end.
    pub behaviour: Behaviour,
    /// The last state, or the last that was finite.
    pub state: Vec<f64>,
    /// The mean of the states that were watched.
    pub mean: Vec<f64>,
    /// The length of the state that it began in.
    pub size: f64,
}

/// Actions before the loop is watched, and while it is.
const ACTIONS: usize = 600;
const WATCHED: usize = 200;

/// Actions that a neighbour has to turn into the direction that grows most, before it is watched.
const ALIGNED: usize = 200;

/// A loop rests if an action moves it by less than this share of its size.
const REST: f64 = 1e-6;

/// A loop is back if it is as close as this to where it was, relative to how far it went.
const BACK: f64 = 1e-3;

/// A state that has grown by this factor is on its way to infinity.
const GROWN: f64 = 1e6;

/// Runs a loop from a typical state for 600 actions and watches 200 more. The pulse beats at every action.
pub fn settle(found: &FieldLoop, pulse: Pulse) -> Result<Settled> {
    let mut rng = Stream::new(0).split("settle").at(0);
    let mut state = found.world().typical_state(&mut rng);
    let size = length(&state).max(1e-6);
    let n = state.len();
    // A neighbour, brought back to its distance after every action.
    let apart = 1e-7 * size;
    let mut beside: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
    let scale = apart / length(&beside).max(1e-300);
    beside.iter_mut().for_each(|b| *b *= scale);
    let (mut growth, mut watched) = (0.0, Vec::with_capacity(WATCHED));
    for action in 0..ACTIONS + WATCHED {
        if !pulse() {
            return Err(Error::Stopped);
        }
        let next = found.next(&state);
        let long = length(&next);
        if !long.is_finite() || long > GROWN * size.max(1.0) {
            return Ok(Settled {
                behaviour: Behaviour::Diverges {
                    actions: action + 1,
                },
                mean: state.clone(),
                state,
                size,
            });
        }
        if action + ALIGNED >= ACTIONS {
            let neighbour: Vec<f64> = state.iter().zip(&beside).map(|(x, b)| x + b).collect();
            beside = difference(&found.next(&neighbour), &next);
            let now = length(&beside);
            // Rounding is all that is left of a neighbour that has come too close.
            if action >= ACTIONS {
                growth += (now / apart).max(1e-12).ln();
            }
            if now > 0.0 {
                beside.iter_mut().for_each(|b| *b *= apart / now);
            } else {
                beside[0] = apart;
            }
        }
        if action >= ACTIONS {
            watched.push(next.clone());
        }
        state = next;
    }
    let mean: Vec<f64> = (0..n)
        .map(|k| watched.iter().map(|x| x[k]).sum::<f64>() / WATCHED as f64)
        .collect();
    let from = |a: &[f64], b: &[f64]| length(&difference(a, b));
    let last = &watched[WATCHED - 1];
    let moved = from(last, &watched[WATCHED - 2]);
    let range = watched.iter().fold(0.0, |m: f64, x| m.max(from(x, last)));
    let early = from(&watched[1], &watched[0]);
    let exponent = growth / WATCHED as f64;
    // At rest, or still on its way there: neighbours come together, and steps become shorter.
    let rests = moved <= REST * size.max(length(last)) || exponent < -1e-3 && moved < 0.9 * early;
    let behaviour = if rests {
        Behaviour::Settles
    } else {
        // Back after a period: then it must be back after every action of the last half, too.
        let back = |period: &usize| {
            (WATCHED / 2..WATCHED).all(|k| from(&watched[k], &watched[k - period]) <= BACK * range)
        };
        match (1..=WATCHED / 2).find(back) {
            Some(period) => Behaviour::Cycles { period },
            None => Behaviour::Wanders { exponent },
        }
    };
    Ok(Settled {
        behaviour,
        state,
        mean,
        size,
    })
}
