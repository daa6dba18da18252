//! Laws of states on their own: fixed points, and how fast neighbours part.

use ell0::{
    equation::{Dynamics, Expression, Model},
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
            .iter()
            .map(|e| {
                let by = |k: &usize| Ok(e.derivative(&model.inputs()[*k])?);
                places.iter().map(by).collect::<Result<Vec<_>>>()
            })
            .collect::<Result<_>>()?;
        Ok(Law {
            dynamics: model.dynamics(),
            rates: model.expressions().to_vec(),
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

    /// State and tangent after a step of Runge and Kutta's fourth order, or of the map.
    fn advance(&self, state: &[f64], tangent: &[f64], dt: f64) -> (Vec<f64>, Vec<f64>) {
        let flow = |x: &[f64], v: &[f64]| -> (Vec<f64>, Vec<f64>) {
            let slopes = self.jacobian(x);
            let turned = slopes
                .iter()
                .map(|row| row.iter().zip(v).map(|(a, v)| a * v).sum())
                .collect();
            (self.rate(x), turned)
        };
        if self.dynamics == Dynamics::Discrete {
            return flow(state, tangent);
        }
        let along = |from: &[f64], by: &[f64], h: f64| -> Vec<f64> {
            from.iter().zip(by).map(|(x, d)| x + h * d).collect()
        };
        let k1 = flow(state, tangent);
        let k2 = flow(
            &along(state, &k1.0, 0.5 * dt),
            &along(tangent, &k1.1, 0.5 * dt),
        );
        let k3 = flow(
            &along(state, &k2.0, 0.5 * dt),
            &along(tangent, &k2.1, 0.5 * dt),
        );
        let k4 = flow(&along(state, &k3.0, dt), &along(tangent, &k3.1, dt));
        let mean = |from: &[f64], k: [&[f64]; 4]| -> Vec<f64> {
            (0..from.len())
                .map(|i| from[i] + dt / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]))
                .collect()
        };
        (
            mean(state, [&k1.0, &k2.0, &k3.0, &k4.0]),
            mean(tangent, [&k1.1, &k2.1, &k3.1, &k4.1]),
        )
    }

    /// The largest Lyapunov exponent from an initial state, after a tenth of the steps to forget it: the mean rate at which neighbours part, per unit of time or per step. None if
    /// the trajectory leaves every bound.
    pub fn largest_exponent(&self, initial: &[f64], dt: f64, steps: usize) -> Option<f64> {
        let n = self.states();
        let mut state = initial.to_vec();
        // No direction is special.
        let mut tangent: Vec<f64> = (0..n).map(|k| 1.0 / (1.0 + k as f64)).collect();
        let (mut sum, mut counted) = (0.0, 0);
        for step in 0..steps {
            (state, tangent) = self.advance(&state, &tangent, dt);
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
        let time = if self.dynamics == Dynamics::Discrete {
            counted as f64
        } else {
            counted as f64 * dt
        };
        (counted > 0).then(|| sum / time)
    }
}
