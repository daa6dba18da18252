//! Laws of states on their own: fixed points, and how fast neighbours part.

use ell0::{
    equation::{
        Dynamics, Expression, Model, Shared,
        integrate::{Method, RungeKutta4},
    },
    rng::Stream,
};

use serde::{Deserialize, Serialize};

use super::{
    linear::{self, Rows},
    pulse::Pulse,
    value::{Complex, Stability},
};
use crate::error::{Error, Result};

/// A fixed point of a law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixedPoint {
    /// Where.
    pub state: Vec<f64>,
    /// Eigenvalues of the Jacobian, the largest first.
    pub eigenvalues: Vec<Complex>,
    /// Whether what is near comes closer.
    pub stability: Stability,
}

/// Starts of the search for fixed points.
pub const STARTS: u64 = 2000;

/// More states than this make matrices that nobody waits for.
const MOST_STATES: usize = 1000;

/// Room for rates and slopes at one state after another.
#[derive(Default)]
struct Room {
    row: Vec<f64>,
    steps: Vec<f64>,
    values: Vec<f64>,
}

/// A law of states with its derivatives.
#[derive(Clone, Debug)]
pub struct Law {
    dynamics: Dynamics,
    /// Every rate, followed by its derivatives by all states.
    rates: Shared,
    /// Where each state stands among the inputs.
    places: Vec<usize>,
    inputs: usize,
}

impl Law {
    /// A law whose inputs are all states; others are held at 0.
    pub fn new(model: &Model) -> Result<Self> {
        if model.dynamics() == Dynamics::Regression {
            return Err(Error::NotALaw);
        }
        let states = model.targets().count();
        if states > MOST_STATES {
            return Err(Error::TooManyStates {
                states,
                most: MOST_STATES,
            });
        }
        let places: Vec<usize> = model
            .targets()
            .map(|t| {
                let at = model.inputs().iter().position(|i| i == t);
                at.ok_or_else(|| Error::NotAState { target: t.into() })
            })
            .collect::<Result<_>>()?;
        Ok(Law {
            dynamics: model.dynamics(),
            rates: Shared::gradients(model.expressions().map(Expression::root), &places),
            places,
            inputs: model.inputs().len(),
        })
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.places.len()
    }

    /// The rates at a state, and the Jacobian there.
    fn linear(&self, state: &[f64], room: &mut Room) -> (Vec<f64>, Rows) {
        self.rates_at(state, room);
        let parts = room.values.chunks_exact(self.states() + 1);
        parts.map(|part| (part[0], part[1..].to_vec())).unzip()
    }

    /// Rates and slopes at a state, into the room; inputs that are no states are 0.
    fn rates_at(&self, state: &[f64], room: &mut Room) {
        room.row.resize(self.inputs, 0.0);
        for (&place, x) in self.places.iter().zip(state) {
            room.row[place] = *x;
        }
        let (row, steps, values) = (&room.row, &mut room.steps, &mut room.values);
        self.rates.values_into(row, steps, values);
    }

    /// Fixed points, by Newton's method from so many starts of many sizes up to `scale`. The pulse beats at every start.
    pub fn fixed_points(&self, scale: f64, pulse: Pulse) -> Vec<FixedPoint> {
        let n = self.states();
        let stream = Stream::new(0).split("fixed points");
        let map = self.dynamics == Dynamics::Discrete;
        let mut room = Room::default();
        let mut found: Vec<FixedPoint> = Vec::new();
        for k in (0..STARTS).take_while(|_| pulse()) {
            let mut rng = stream.at(k);
            let size = scale * 10f64.powf(-3.0 * rng.uniform());
            let mut x: Vec<f64> = (0..n)
                .map(|_| {
                    if k == 0 {
                        0.0
                    } else {
                        size * (2.0 * rng.uniform() - 1.0)
                    }
                })
                .collect();
            let mut done = false;
            for _ in 0..60 {
                let (mut residual, mut slopes) = self.linear(&x, &mut room);
                if map {
                    (0..n).for_each(|k| {
                        residual[k] -= x[k];
                        slopes[k][k] -= 1.0;
                    });
                }
                let Some(step) = linear::solve(&slopes, &residual) else {
                    break;
                };
                x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
                let size = x.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
                if step.iter().all(|s| s.abs() < 1e-13 * size) {
                    done = true;
                    break;
                }
            }
            let (rate, _) = self.linear(&x, &mut room);
            let residual = (0..n)
                .map(|k| (rate[k] - if map { x[k] } else { 0.0 }).abs())
                .fold(0.0, f64::max);
            let size = x.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            let inside = x.iter().all(|v| v.abs() <= 10.0 * scale) && residual < 1e-9 * size;
            let known = found.iter().any(|p| {
                p.state
                    .iter()
                    .zip(&x)
                    .all(|(a, b)| (a - b).abs() < 1e-7 * size)
            });
            if !done || !inside || known || found.len() >= 50 {
                continue;
            }
            x.iter_mut().for_each(|v| {
                if v.abs() < 1e-12 * scale {
                    *v = 0.0
                }
            });
            if let Some(eigenvalues) = linear::eigenvalues(&self.linear(&x, &mut room).1) {
                let beyond = |z: &Complex| if map { z.abs() - 1.0 } else { z.re };
                let largest = eigenvalues
                    .iter()
                    .map(beyond)
                    .fold(f64::NEG_INFINITY, f64::max);
                // On the limit, up to rounding, the linear part does not tell.
                let size = eigenvalues.iter().map(|z| z.abs()).fold(1.0, f64::max);
                let stability = if largest < 0.0 {
                    Stability::Stable
                } else if largest > 1e-9 * size {
                    Stability::Unstable
                } else {
                    Stability::Undecided
                };
                found.push(FixedPoint {
                    state: x,
                    eigenvalues,
                    stability,
                });
            }
        }
        found.sort_by(|a, b| {
            let distance = |p: &FixedPoint| p.state.iter().map(|v| v * v).sum::<f64>();
            distance(a).total_cmp(&distance(b))
        });
        found
    }

    /// How a state and a tangent at it change, one after the other: the law, and its Jacobian times the tangent. For a map, where they go.
    fn flow(&self, at: &[f64], room: &mut Room, out: &mut [f64]) {
        let n = self.states();
        let (state, tangent) = at.split_at(n);
        let (rate, turned) = out.split_at_mut(n);
        self.rates_at(state, room);
        let parts = room.values.chunks_exact(n + 1);
        for ((rate, turned), part) in rate.iter_mut().zip(turned).zip(parts) {
            *rate = part[0];
            *turned = part[1..].iter().zip(tangent).map(|(a, v)| a * v).sum();
        }
    }

    /// The largest Lyapunov exponent from an initial state, after a tenth of the steps to forget it: the mean rate at which neighbours part, per unit of time or per step. None if
    /// the trajectory leaves every bound. The pulse beats at every step.
    pub fn largest_exponent(
        &self,
        initial: &[f64],
        dt: f64,
        steps: usize,
        pulse: Pulse,
    ) -> Option<f64> {
        let n = self.states();
        let map = self.dynamics == Dynamics::Discrete;
        // The state, and a tangent at it in no special direction.
        let mut at = initial.to_vec();
        at.resize(n, 0.0);
        at.extend((0..n).map(|k| 1.0 / (1.0 + k as f64)));
        let (mut next, mut room) = (vec![0.0; 2 * n], Room::default());
        let mut method = RungeKutta4::new(2 * n);
        let (mut sum, mut counted) = (0.0, 0);
        for step in 0..steps {
            if !pulse() {
                return None;
            }
            if map {
                self.flow(&at, &mut room, &mut next);
            } else {
                let mut law = |x: &[f64], _: f64, out: &mut [f64]| self.flow(x, &mut room, out);
                method.step(&mut law, &at, 0.0, dt, &mut next);
            }
            std::mem::swap(&mut at, &mut next);
            let (state, tangent) = at.split_at_mut(n);
            let size = tangent.iter().map(|v| v * v).sum::<f64>().sqrt();
            let bounded = state.iter().all(|x| x.abs() < 1e9);
            if !(bounded && size.is_finite()) {
                return None;
            }
            if size == 0.0 {
                return Some(f64::NEG_INFINITY);
            }
            tangent.iter_mut().for_each(|v| *v /= size);
            if step >= steps / 10 {
                sum += size.ln();
                counted += 1;
            }
        }
        let time = if map {
            counted as f64
        } else {
            counted as f64 * dt
        };
        (counted > 0).then(|| sum / time)
    }
}
