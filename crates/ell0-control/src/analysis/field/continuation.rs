//! How far a number of the world or of the loop may go while the equilibrium that is there stays, and stays stable.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    closed::FieldLoop,
    conserved::Conserved,
    equilibrium::{FieldEquilibrium, newton, spectrum},
    matrix::{difference, length},
};
use crate::{
    analysis::{pulse::Pulse, value::Complex},
    error::{Error, Result},
};

/// Where an eigenvalue leaves the unit circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crossing {
    /// At 1: other equilibria meet this one.
    One,
    /// At −1: the loop begins to change sides at every action.
    MinusOne,
    /// As a pair: the loop begins to oscillate, as at a Hopf bifurcation.
    Pair,
}

/// Why a way ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ending {
    /// The search ends: it goes at least so far.
    Searched,
    /// The world refuses values beyond.
    Refused,
    /// No equilibrium is found beyond: it meets another and both vanish, or the law has a corner there.
    Lost,
    /// It is unstable beyond.
    Unstable {
        /// Where the eigenvalue leaves the circle.
        crossing: Crossing,
        /// The largest eigenvalue just beyond.
        eigenvalue: Complex,
    },
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Ending::Searched => write!(f, "the search ends there"),
            Ending::Refused => write!(f, "the world takes nothing beyond"),
            Ending::Lost => write!(f, "the equilibrium is lost"),
            Ending::Unstable {
                crossing,
                eigenvalue,
            } => match crossing {
                Crossing::One => write!(f, "an eigenvalue leaves the circle at 1"),
                Crossing::MinusOne => write!(f, "an eigenvalue leaves the circle at −1"),
                Crossing::Pair => {
                    let angle = eigenvalue.im.abs().atan2(eigenvalue.re).to_degrees();
                    write!(f, "a pair of eigenvalues leaves the circle at ±{angle:.1}°")
                }
            },
        }
    }
}

/// The end of a way in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// The last value with a stable equilibrium.
    pub value: f64,
    /// Why it ends there.
    pub ending: Ending,
}

/// How far a parameter of the world may go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterReach {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The least that it may be.
    pub low: Reach,
    /// The most.
    pub high: Reach,
}

/// What is at a value.
pub(super) enum At {
    /// An equilibrium, and what is wrong with it, if anything is.
    Rest(Vec<f64>, Option<Ending>),
    /// None that Newton's method finds.
    Nothing,
    /// The world refuses the value.
    Refused,
}

/// The equilibrium of a loop near a guess.
pub(super) fn at(found: &FieldLoop, kept: &Conserved, guess: &[f64]) -> At {
    let Some(state) = newton(found, kept, guess) else {
        return At::Nothing;
    };
    let Some(values) = spectrum(found, kept, &state) else {
        return At::Nothing;
    };
    let leaves = |z: &&Complex| z.abs() >= 1.0 - 1e-9;
    let ending = values.first().filter(leaves).map(|z| Ending::Unstable {
        crossing: crossing(*z),
        eigenvalue: *z,
    });
    At::Rest(state, ending)
}

/// Where an eigenvalue of size about 1 lies.
fn crossing(z: Complex) -> Crossing {
    if z.im.abs() > 1e-6 * z.abs() {
        Crossing::Pair
    } else if z.re > 0.0 {
        Crossing::One
    } else {
        Crossing::MinusOne
    }
}

/// A way from a value in one direction.
pub(super) struct Way {
    /// Where it begins.
    pub from: f64,
    /// The first step; its sign is the direction.
    pub step: f64,
    /// The longest step.
    pub longest: f64,
    /// Where the search ends.
    pub bound: f64,
    /// How exactly the end is found.
    pub exact: f64,
}

/// Steps of a way, at most.
const STEPS: usize = 400;

/// Follows an equilibrium along a way. Steps grow while all is well, and are halved where the equilibrium is not where the line through the last two points to: it bends, or another one was found. Between the last stable value and the first unstable one, the end is found by halving. An interval of bad values that is shorter than a step can be missed.
pub(super) fn follow(
    way: &Way,
    start: &[f64],
    size: f64,
    look: &dyn Fn(f64, &[f64]) -> Result<At>,
    pulse: Pulse,
) -> Result<Reach> {
    let (mut good, mut state) = (way.from, start.to_vec());
    let mut before: Option<(f64, Vec<f64>)> = None;
    let mut step = way.step;
    let mut bad: Option<(f64, Ending)> = None;
    for _ in 0..STEPS {
        if !pulse() {
            return Err(Error::Stopped);
        }
        let over = |value: f64| (good + step - value) * step >= 0.0;
        let value = match bad {
            Some((bad, ending)) if (bad - good).abs() <= way.exact => {
                return Ok(Reach {
                    value: good,
                    ending,
                });
            }
            Some((bad, _)) if over(0.5 * (good + bad)) => 0.5 * (good + bad),
            None if good == way.bound => break,
            None if over(way.bound) => way.bound,
            _ => good + step,
        };
        // Along the line through the last two equilibria.
        let guess: Vec<f64> = match &before {
            Some((earlier, other)) => {
                let share = (value - good) / (good - earlier);
                let pairs = state.iter().zip(other);
                pairs.map(|(x, o)| x + share * (x - o)).collect()
            }
            None => state.clone(),
        };
        let on_the_way = |rest: &[f64]| {
            let off = length(&difference(rest, &guess));
            match before {
                Some(_) => off <= 0.1 * length(&difference(rest, &state)) + 1e-6 * size,
                None => off <= 0.05 * size,
            }
        };
        match look(value, &guess)? {
            At::Rest(rest, ending) if on_the_way(&rest) => match ending {
                Some(ending) => bad = Some((value, ending)),
                None => {
                    before = Some((good, std::mem::replace(&mut state, rest)));
                    good = value;
                    if step.abs() < way.longest {
                        step *= 1.5;
                    }
                }
            },
            At::Refused => bad = Some((value, Ending::Refused)),
            At::Rest(..) | At::Nothing => {
                step = 0.5 * (value - good);
                if step.abs() < 0.5 * way.exact {
                    return Ok(Reach {
                        value: good,
                        ending: Ending::Lost,
                    });
                }
            }
        }
    }
    Ok(Reach {
        value: good,
        ending: Ending::Searched,
    })
}

/// Parameters are looked for up to so many times their size away.
const FARTHEST: f64 = 10.0;

/// How far each parameter of the world may go, the others staying, while the equilibrium stays stable: followed from its value in both directions, up to ten times its size (ten, if it is 0) away. The pulse beats at every value that is tried.
pub fn parameter_reach(
    found: &FieldLoop,
    equilibrium: &FieldEquilibrium,
    pulse: Pulse,
) -> Result<Vec<ParameterReach>> {
    let parameters = found.world().parameters();
    let jobs: Vec<(usize, f64)> = (0..parameters.len())
        .flat_map(|k| [(k, -1.0), (k, 1.0)])
        .collect();
    let size = typical_size(found);
    let ends: Vec<Reach> = jobs
        .into_par_iter()
        .map(|(k, sign)| {
            let parameter = &parameters[k];
            let scale = match parameter.value.abs() {
                0.0 => 1.0,
                value => value,
            };
            let way = Way {
                from: parameter.value,
                step: sign * 0.02 * scale,
                longest: 0.5 * scale,
                bound: parameter.value + sign * FARTHEST * scale,
                exact: 1e-4 * scale,
            };
            let look = |value: f64, guess: &[f64]| {
                let Ok(other) = found.world().with_parameter(&parameter.name, value) else {
                    return Ok(At::Refused);
                };
                let other = found.in_world(other.as_ref())?;
                Ok(at(&other, &equilibrium.kept, guess))
            };
            follow(&way, &equilibrium.state, size, &look, pulse)
        })
        .collect::<Result<_>>()?;
    Ok(parameters
        .into_iter()
        .zip(ends.chunks_exact(2))
        .map(|(parameter, ends)| ParameterReach {
            name: parameter.name,
            value: parameter.value,
            low: ends[0],
            high: ends[1],
        })
        .collect())
}

/// The length of a typical state.
pub(super) fn typical_size(found: &FieldLoop) -> f64 {
    let mut rng = ell0::rng::Stream::new(0).split("size").at(0);
    length(&found.world().typical_state(&mut rng)).max(1e-6)
}
