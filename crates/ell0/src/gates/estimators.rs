//! Estimators of ∂E\[f(z)\]/∂log α for gates that ought to be binary, and the exact gradient to measure them by.
//!
//! The quantity wanted is the gradient for Bernoulli gates, P(z_j = 1) = σ(log α_j). [`exact_gradient`] sums over all 2ⁿ masks; the estimators
//! draw samples:
//!
//! | estimator | gate in the forward pass | gradient |
//! | --- | --- | --- |
//! | hard-concrete | clamped, often exactly 0 or 1 | ∂f/∂z · ∂z/∂log α at fixed noise |
//! | concrete | strictly between 0 and 1 | ∂f/∂s · ∂s/∂log α at fixed noise |
//! | straight-through | binary | ∂f/∂z · ∂σ/∂log α, as if the threshold were not there |
//! | REINFORCE | binary | (f(z) − baseline) · ∂log p(z)/∂log α; no derivative of f needed |
//!
//! ```
//! use ell0::{gates::estimators::{Estimator, Quadratic, exact_gradient}, rng::Stream};
//! let f = Quadratic::demonstration();
//! let log_alpha = [0.5, -1.0, 0.0, 2.0];
//! let exact = exact_gradient(&f, &log_alpha)?;
//! let estimate = Estimator::Reinforce { baseline: true }.gradient(&f, &log_alpha, 50_000, &mut Stream::new(0).at(0))?;
//! assert!((estimate[0] - exact[0]).abs() < 0.05);
//! # Ok::<(), ell0::Error>(())
//! ```

use super::{HardConcrete, logit, sigmoid};
use crate::{
    error::{Error, Result, require, require_len},
    rng::Generator,
};

/// A function of gates.
pub trait GateFunction {
    /// Number of gates.
    fn gates(&self) -> usize;
    /// f(z).
    fn value(&self, z: &[f64]) -> f64;
    /// ∂f/∂z, written to `gradient`.
    fn gradient(&self, z: &[f64], gradient: &mut [f64]);
}

/// The squared error of a gated linear model, f(z) = (z⊙w)ᵀ G (z⊙w) − 2 bᵀ(z⊙w) + c, with G = ΦᵀΦ/N, b = Φᵀy/N, c = yᵀy/N.
#[derive(Clone, Debug)]
pub struct Quadratic {
    gram: Vec<f64>,
    moment: Vec<f64>,
    constant: f64,
    weights: Vec<f64>,
}

/// An expectation over gates.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// E\[f(z)\].
    pub value: f64,
    /// ∂E\[f(z)\]/∂log α.
    pub gradient: Vec<f64>,
}

impl Quadratic {
    /// A function of `weights.len()` gates; `gram` is symmetric, stored whole.
    pub fn new(gram: Vec<f64>, moment: Vec<f64>, constant: f64, weights: Vec<f64>) -> Result<Self> {
        let n = weights.len();
        require_len("gram matrix of the quadratic", gram.len(), n * n)?;
        require_len("moment vector of the quadratic", moment.len(), n)?;
        Ok(Quadratic {
            gram,
            moment,
            constant,
            weights,
        })
    }

    /// Four correlated features, of which two matter: an example to measure estimators by.
    pub fn demonstration() -> Self {
        let n = 4usize;
        let truth = [1.5, 0.0, -1.0, 0.0];
        let gram: Vec<f64> = (0..n * n)
            .map(|k| 0.4f64.powi((k / n).abs_diff(k % n) as i32))
            .collect();
        let moment: Vec<f64> = (0..n)
            .map(|i| (0..n).map(|j| gram[i * n + j] * truth[j]).sum())
            .collect();
        let constant = (0..n).map(|i| truth[i] * moment[i]).sum::<f64>() + 0.1;
        Quadratic {
            gram,
            moment,
            constant,
            weights: vec![1.4, 0.3, -0.9, 0.2],
        }
    }

    /// E\[f(z)\] for independent hard-concrete gates and its gradient by log α, in closed form:
    /// f(E\[z\]) + Σ_j G_jj w_j² Var\[z_j\].
    pub fn expectation(&self, gate: &HardConcrete, log_alpha: &[f64]) -> Result<Expectation> {
        let n = check(self, log_alpha)?;
        let moments: Vec<_> = log_alpha.iter().map(|&a| gate.moments(a)).collect();
        let mean: Vec<f64> = moments.iter().map(|m| m.mean).collect();
        let mut gradient = vec![0.0; n];
        self.gradient(&mean, &mut gradient);
        let mut value = self.value(&mean);
        for (j, moments) in moments.iter().enumerate() {
            let energy = self.gram[j * n + j] * self.weights[j].powi(2);
            value += energy * moments.variance;
            gradient[j] = gradient[j] * moments.mean_slope + energy * moments.variance_slope;
        }
        Ok(Expectation { value, gradient })
    }
}

impl GateFunction for Quadratic {
    fn gates(&self) -> usize {
        self.weights.len()
    }

    fn value(&self, z: &[f64]) -> f64 {
        let n = self.gates();
        let mut value = self.constant;
        for i in 0..n {
            let row: f64 = (0..n)
                .map(|j| self.gram[i * n + j] * z[j] * self.weights[j])
                .sum();
            value += z[i] * self.weights[i] * (row - 2.0 * self.moment[i]);
        }
        value
    }

    fn gradient(&self, z: &[f64], gradient: &mut [f64]) {
        let n = self.gates();
        for i in 0..n {
            let row: f64 = (0..n)
                .map(|j| self.gram[i * n + j] * z[j] * self.weights[j])
                .sum();
            gradient[i] = 2.0 * self.weights[i] * (row - self.moment[i]);
        }
    }
}

/// Largest number of gates that [`exact_gradient`] enumerates.
pub const MAX_ENUMERATED: usize = 20;

/// The exact gradient for Bernoulli gates with P(z_j = 1) = σ(log α_j), by summing over all masks.
pub fn exact_gradient(f: &impl GateFunction, log_alpha: &[f64]) -> Result<Vec<f64>> {
    let n = check(f, log_alpha)?;
    require(
        n <= MAX_ENUMERATED,
        "number of gates",
        n,
        "enumeration visits 2^n masks: at most 20 gates",
    )?;
    let mut z = vec![0.0; n];
    let mut gradient = vec![0.0; n];
    for mask in 0..1usize << n {
        let mut probability = 1.0;
        for (j, (z, &a)) in z.iter_mut().zip(log_alpha).enumerate() {
            *z = (mask >> j & 1) as f64;
            probability *= sigmoid(if *z == 1.0 { a } else { -a });
        }
        let value = f.value(&z);
        for ((g, &z), &a) in gradient.iter_mut().zip(&z).zip(log_alpha) {
            *g += probability * value * score(z, a);
        }
    }
    Ok(gradient)
}

/// ∂log p(z)/∂log α = z − σ(log α), without cancellation.
fn score(z: f64, log_alpha: f64) -> f64 {
    if z == 1.0 {
        sigmoid(-log_alpha)
    } else {
        -sigmoid(log_alpha)
    }
}

fn check(f: &impl GateFunction, log_alpha: &[f64]) -> Result<usize> {
    let n = f.gates();
    require(n > 0, "number of gates", n, "at least one gate")?;
    require_len("log_alpha", log_alpha.len(), n)?;
    if let Some((column, &value)) = log_alpha.iter().enumerate().find(|(_, a)| !a.is_finite()) {
        return Err(Error::Data {
            what: "log_alpha",
            row: 0,
            column,
            value,
            expected: "every location must be finite".into(),
        });
    }
    Ok(n)
}

/// A way to estimate ∂E\[f(z)\]/∂log α from samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimator {
    /// Reparametrized hard-concrete gates.
    HardConcrete(HardConcrete),
    /// Reparametrized concrete gates of temperature `beta`, never exactly 0.
    Concrete {
        /// Temperature.
        beta: f64,
    },
    /// Binary gates whose threshold is ignored by the gradient.
    StraightThrough,
    /// The score-function estimator, with or without the mean of the other samples as a baseline.
    Reinforce {
        /// Whether to subtract, from each sample's value, the mean value of the other samples; that keeps the estimate unbiased.
        baseline: bool,
    },
}

/// How much an estimator is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Draws of all gates for one estimate.
    pub samples: usize,
    /// Estimates; at least two.
    pub repeats: usize,
}

/// Bias and spread of an estimator, measured over many estimates.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Mean of the estimates.
    pub mean: Vec<f64>,
    /// Mean minus the exact gradient.
    pub bias: Vec<f64>,
    /// Standard error of `mean`, hence of `bias`.
    pub standard_error: Vec<f64>,
    /// Variance of one estimate.
    pub variance: Vec<f64>,
    /// Share of gates that were exactly zero in the forward pass.
    pub zeros: f64,
}

impl Estimator {
    /// Name as printed in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Estimator::HardConcrete(_) => "hard-concrete",
            Estimator::Concrete { .. } => "concrete",
            Estimator::StraightThrough => "straight-through",
            Estimator::Reinforce { baseline: false } => "REINFORCE",
            Estimator::Reinforce { baseline: true } => "REINFORCE + baseline",
        }
    }

    /// One estimate: the average over `samples` draws of all gates.
    pub fn gradient(
        &self,
        f: &impl GateFunction,
        log_alpha: &[f64],
        samples: usize,
        rng: &mut Generator,
    ) -> Result<Vec<f64>> {
        self.estimate(f, log_alpha, samples, rng)
            .map(|(gradient, _)| gradient)
    }

    fn estimate(
        &self,
        f: &impl GateFunction,
        log_alpha: &[f64],
        samples: usize,
        rng: &mut Generator,
    ) -> Result<(Vec<f64>, usize)> {
        let n = check(f, log_alpha)?;
        let least = if *self == (Estimator::Reinforce { baseline: true }) {
            2
        } else {
            1
        };
        require(
            samples >= least,
            "samples",
            samples,
            "at least one, and two for a baseline from the other samples",
        )?;
        if let Estimator::Concrete { beta } = *self {
            require(
                beta > 0.0 && beta.is_finite(),
                "beta",
                beta,
                "the temperature must be positive",
            )?;
        }
        let mut z = vec![0.0; n];
        let mut slope = vec![0.0; n];
        let mut df = vec![0.0; n];
        let mut total = vec![0.0; n];
        let (mut scores, mut value_sum) = (vec![0.0; n], 0.0);
        let mut zeros = 0;
        for _ in 0..samples {
            for ((z, slope), &a) in z.iter_mut().zip(&mut slope).zip(log_alpha) {
                let u = rng.uniform();
                (*z, *slope) = match *self {
                    Estimator::HardConcrete(gate) => {
                        let gate = gate.sample_with_slope(a, u);
                        (gate.value, gate.slope)
                    }
                    Estimator::Concrete { beta } => {
                        let x = (logit(u) + a) / beta;
                        (sigmoid(x), sigmoid(x) * sigmoid(-x) / beta)
                    }
                    Estimator::StraightThrough | Estimator::Reinforce { .. } => {
                        let binary = f64::from(u < sigmoid(a));
                        (binary, sigmoid(a) * sigmoid(-a))
                    }
                };
                zeros += usize::from(*z == 0.0);
            }
            if let Estimator::Reinforce { .. } = self {
                let value = f.value(&z);
                value_sum += value;
                for (j, (&z, &a)) in z.iter().zip(log_alpha).enumerate() {
                    let score = score(z, a);
                    total[j] += value * score;
                    scores[j] += score;
                }
            } else {
                f.gradient(&z, &mut df);
                for j in 0..n {
                    total[j] += df[j] * slope[j];
                }
            }
        }
        let k = samples as f64;
        if let Estimator::Reinforce { baseline: true } = self {
            // Σ_i (f_i − mean of the others)·score_i = K/(K−1) · (Σ f_i score_i − mean f · Σ score_i).
            for (total, scores) in total.iter_mut().zip(&scores) {
                *total = (*total - value_sum / k * scores) * k / (k - 1.0);
            }
        }
        total.iter_mut().for_each(|g| *g /= k);
        Ok((total, zeros))
    }

    /// Bias and variance against the `exact` gradient.
    pub fn measure(
        &self,
        f: &impl GateFunction,
        log_alpha: &[f64],
        exact: &[f64],
        trial: Trial,
        rng: &mut Generator,
    ) -> Result<Measurement> {
        let Trial { samples, repeats } = trial;
        let n = check(f, log_alpha)?;
        require_len("exact gradient", exact.len(), n)?;
        require(
            repeats >= 2,
            "repeats",
            repeats,
            "a variance needs at least two estimates",
        )?;
        let (mut mean, mut squares, mut zeros) = (vec![0.0; n], vec![0.0; n], 0);
        for repeat in 1..=repeats {
            let (gradient, closed) = self.estimate(f, log_alpha, samples, rng)?;
            zeros += closed;
            for j in 0..n {
                // Welford's update: no cancellation when the mean is large.
                let delta = gradient[j] - mean[j];
                mean[j] += delta / repeat as f64;
                squares[j] += delta * (gradient[j] - mean[j]);
            }
        }
        let variance: Vec<f64> = squares.iter().map(|s| s / (repeats - 1) as f64).collect();
        Ok(Measurement {
            bias: mean.iter().zip(exact).map(|(m, e)| m - e).collect(),
            standard_error: variance
                .iter()
                .map(|v| (v / repeats as f64).sqrt())
                .collect(),
            mean,
            variance,
            zeros: zeros as f64 / (n * samples * repeats) as f64,
        })
    }
}
