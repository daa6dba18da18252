//! Laws of states on their own: fixed points, and how fast neighbours part.

use ell0::{
    equation::{
        Dynamics, Expression, Model,
        integrate::{Method, RungeKutta4},
    },
    rng::Stream,
};

use serde::{Deserialize, Serialize};

use super::{
    linear::{self, Rows},
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

/// A law of states with its derivatives.
#[derive(Clone, Debug)]
pub struct Law {
    dynamics: Dynamics,
    rates: Vec<Expression>,
    slopes: Vec<Vec<Expression>>,
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
        let places: Vec<usize> = model
            .targets()
            .map(|t| {
                let at = model.inputs().iter().position(|i| i == t);
                at.ok_or_else(|| Error::NotAState { target: t.into() })
            })
            .collect::<Result<_>>()?;
        let slopes = model
            .expressions()
            .map(|e| {
                let by = |k: &usize| Ok(e.derivative(&model.inputs()[*k])?);
                places.iter().map(by).collect::<Result<Vec<_>>>()
            })
            .collect::<Result<_>>()?;
        Ok(Law {
            dynamics: model.dynamics(),
            rates: model.expressions().cloned().collect(),
            slopes,
            places,
            inputs: model.inputs().len(),
        })
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.places.len()
    }

    fn row(&self, state: &[f64]) -> Vec<f64> {
        let mut row = vec![0.0; self.inputs];
        self.places
            .iter()
            .zip(state)
            .for_each(|(&k, x)| row[k] = *x);
        row
    }

    fn rate(&self, state: &[f64]) -> Vec<f64> {
        let row = self.row(state);
        self.rates.iter().map(|e| e.evaluate_row(&row)).collect()
    }

    fn jacobian(&self, state: &[f64]) -> Rows {
        let row = self.row(state);
        self.slopes
            .iter()
            .map(|slopes| slopes.iter().map(|e| e.evaluate_row(&row)).collect())
            .collect()
    }

    /// Fixed points, by Newton's method from starts of many sizes up to `scale`.
    pub fn fixed_points(&self, scale: f64) -> Vec<FixedPoint> {
        let n = self.states();
        let stream = Stream::new(0).split("fixed points");
        let map = self.dynamics == Dynamics::Discrete;
        let mut found: Vec<FixedPoint> = Vec::new();
        for k in 0..2000 {
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
                let mut residual = self.rate(&x);
                let mut slopes = self.jacobian(&x);
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
            let residual: f64 = {
                let rate = self.rate(&x);
                (0..n)
                    .map(|k| (rate[k] - if map { x[k] } else { 0.0 }).abs())
                    .fold(0.0, f64::max)
            };
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
            if let Some(eigenvalues) = linear::eigenvalues(&self.jacobian(&x)) {
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

    /// How a state and a tangent at it change, one after the other: the law, and its Jacobian times the tangent. For a map, where they go. `row` is room for the inputs.
    fn flow(&self, at: &[f64], row: &mut [f64], out: &mut [f64]) {
        let n = self.states();
        let (state, tangent) = at.split_at(n);
        let (rate, turned) = out.split_at_mut(n);
        self.places
            .iter()
            .zip(state)
            .for_each(|(&k, x)| row[k] = *x);
        for ((rate, turned), (law, slopes)) in rate
            .iter_mut()
            .zip(turned)
            .zip(self.rates.iter().zip(&self.slopes))
        {
            *rate = law.evaluate_row(row);
            let products = slopes.iter().zip(tangent);
            *turned = products.map(|(a, v)| a.evaluate_row(row) * v).sum();
        }
    }

    /// The largest Lyapunov exponent from an initial state, after a tenth of the steps to forget it: the mean rate at which neighbours part, per unit of time or per step. None if
    /// the trajectory leaves every bound.
    pub fn largest_exponent(&self, initial: &[f64], dt: f64, steps: usize) -> Option<f64> {
        let n = self.states();
        let map = self.dynamics == Dynamics::Discrete;
        // The state, and a tangent at it in no special direction.
        let mut at = initial.to_vec();
        at.resize(n, 0.0);
        at.extend((0..n).map(|k| 1.0 / (1.0 + k as f64)));
        let (mut next, mut row) = (vec![0.0; 2 * n], vec![0.0; self.inputs]);
        let mut method = RungeKutta4::new(2 * n);
        let (mut sum, mut counted) = (0.0, 0);
        for step in 0..steps {
            if map {
                self.flow(&at, &mut row, &mut next);
            } else {
                let mut law = |x: &[f64], _: f64, out: &mut [f64]| self.flow(x, &mut row, out);
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
