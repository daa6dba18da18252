//! The hard-concrete distribution of Louizos, Welling and Kingma (2018).

use serde::{Deserialize, Serialize};

use super::{BinaryConcrete, Moments, Rectified, Stretched, logit, sigmoid};
use crate::{
    error::{Result, require},
    simd,
};

/// The distribution of a gate: a binary concrete variable, stretched beyond [0, 1] and clamped back, so that 0 and 1 have positive probability.
///
/// ```text
/// s = σ((logit u + log α)/β),   s̄ = s (ζ − γ) + γ,   z = min(1, max(0, s̄)),   u ~ U(0, 1)
/// P(z ≠ 0) = σ(log α − β log(−γ/ζ))
/// ```
///
/// The location log α belongs to the gate and is an argument of the methods; what all gates share is held here:
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `beta` | 2/3 | temperature: small is nearly binary | β > 0, from 1e-3 to 1e3 |
/// | `gamma` | −0.1 | lower stretch limit | γ < 0, from −1e6 to −1e-6 |
/// | `zeta` | 1.1 | upper stretch limit | ζ > 1, from 1 + 1e-6 to 1e6 |
///
/// ```
/// use ell0::gates::HardConcrete;
/// let gate = HardConcrete::default();
/// assert_eq!(gate.sample(-2.0, 0.3), 0.0);
/// assert_eq!(gate.sample(3.0, 0.7), 1.0);
/// assert!((gate.prob_active(0.0) - 0.8318).abs() < 1e-4);
/// assert!(HardConcrete::new(0.5, 0.1, 1.1).unwrap_err().to_string().contains("gamma = 0.1"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parameters", into = "Parameters")]
pub struct HardConcrete {
    beta: f64,
    gamma: f64,
    zeta: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    beta: f64,
    gamma: f64,
    zeta: f64,
}

impl TryFrom<Parameters> for HardConcrete {
    type Error = crate::Error;

    fn try_from(p: Parameters) -> Result<Self> {
        HardConcrete::new(p.beta, p.gamma, p.zeta)
    }
}

impl From<HardConcrete> for Parameters {
    fn from(gate: HardConcrete) -> Self {
        Parameters {
            beta: gate.beta,
            gamma: gate.gamma,
            zeta: gate.zeta,
        }
    }
}

impl Default for HardConcrete {
    fn default() -> Self {
        HardConcrete {
            beta: 2.0 / 3.0,
            gamma: -0.1,
            zeta: 1.1,
        }
    }
}

/// A gate and how it moves with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// The gate z.
    pub value: f64,
    /// ∂z/∂log α; zero where the gate is clamped.
    pub slope: f64,
}

impl HardConcrete {
    /// Checks that the parameters lie in their ranges.
    pub fn new(beta: f64, gamma: f64, zeta: f64) -> Result<Self> {
        // Between these bounds every quantity below stays within the range of f64.
        require(
            (1e-3..=1e3).contains(&beta),
            "beta",
            beta,
            "the temperature must lie in [0.001, 1000], for example 2/3",
        )?;
        require(
            (-1e6..=-1e-6).contains(&gamma),
            "gamma",
            gamma,
            "the lower stretch limit must be negative, in [-1e6, -1e-6], for example -0.1",
        )?;
        require(
            (1.0 + 1e-6..=1e6).contains(&zeta),
            "zeta",
            zeta,
            "the upper stretch limit must be above 1, in [1.000001, 1e6], for example 1.1",
        )?;
        Ok(HardConcrete { beta, gamma, zeta })
    }

    /// Temperature β.
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Lower stretch limit γ.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Upper stretch limit ζ.
    pub fn zeta(&self) -> f64 {
        self.zeta
    }

    /// The binary concrete variable s of a gate, before stretching.
    pub fn concrete(&self, log_alpha: f64) -> BinaryConcrete {
        BinaryConcrete::new(log_alpha, self.beta)
    }

    /// The stretched variable s̄ of a gate, before clamping.
    pub fn stretched(&self, log_alpha: f64) -> Stretched {
        Stretched::new(self.concrete(log_alpha), self.gamma, self.zeta)
    }

    /// The gate z itself as a distribution with density, CDF and quantile.
    pub fn rectified(&self, log_alpha: f64) -> Rectified {
        Rectified::new(self.stretched(log_alpha))
    }

    /// The gate z for the uniform noise u.
    pub fn sample(&self, log_alpha: f64, u: f64) -> f64 {
        self.sample_with_slope(log_alpha, u).value
    }

    /// The gate z for the uniform noise u, and ∂z/∂log α at fixed noise: zero where the gate is clamped.
    pub fn sample_with_slope(&self, log_alpha: f64, u: f64) -> Gate {
        self.rectify((logit(u) + log_alpha) / self.beta, self.beta)
    }

    /// The gate used at test time, min(1, max(0, σ(log α)(ζ − γ) + γ)).
    pub fn test_gate(&self, log_alpha: f64) -> f64 {
        self.test_gate_with_slope(log_alpha).value
    }

    /// The gate used at test time and its derivative by log α.
    pub fn test_gate_with_slope(&self, log_alpha: f64) -> Gate {
        self.rectify(log_alpha, 1.0)
    }

    /// Stretches and clamps s = σ(x), with ∂x/∂log α = 1/temperature.
    fn rectify(&self, x: f64, temperature: f64) -> Gate {
        let width = self.zeta - self.gamma;
        let stretched = sigmoid(x) * width + self.gamma;
        let (value, slope) = if stretched <= 0.0 {
            (0.0, 0.0)
        } else if stretched >= 1.0 {
            (1.0, 0.0)
        } else {
            (stretched, sigmoid(x) * sigmoid(-x) * width / temperature)
        };
        Gate { value, slope }
    }

    /// logit of s where the stretched variable is 0: log(−γ/ζ).
    pub(super) fn logit_at_zero(&self) -> f64 {
        (-self.gamma / self.zeta).ln()
    }

    /// logit of s where the stretched variable is 1: log((1−γ)/(ζ−1)).
    pub(super) fn logit_at_one(&self) -> f64 {
        ((1.0 - self.gamma) / (self.zeta - 1.0)).ln()
    }

    /// P(z ≠ 0), the probability that the gate is active.
    pub fn prob_active(&self, log_alpha: f64) -> f64 {
        sigmoid(log_alpha + self.active_shift())
    }

    /// P(z = 0) = 1 − P(z ≠ 0), without cancellation.
    pub fn prob_zero(&self, log_alpha: f64) -> f64 {
        sigmoid(-(log_alpha + self.active_shift()))
    }

    /// ∂P(z ≠ 0)/∂log α.
    pub fn prob_active_slope(&self, log_alpha: f64) -> f64 {
        self.prob_active(log_alpha) * self.prob_zero(log_alpha)
    }

    /// The log α at which P(z ≠ 0) = `prob`.
    pub fn log_alpha_of_prob_active(&self, prob: f64) -> f64 {
        logit(prob) - self.active_shift()
    }

    /// P(z = 1).
    pub fn prob_one(&self, log_alpha: f64) -> f64 {
        sigmoid(log_alpha - self.beta * self.logit_at_one())
    }

    /// ∂P(z = 1)/∂log α.
    pub fn prob_one_slope(&self, log_alpha: f64) -> f64 {
        let x = log_alpha - self.beta * self.logit_at_one();
        sigmoid(x) * sigmoid(-x)
    }

    /// Mean and variance of z and their derivatives, exact to round-off.
    pub fn moments(&self, log_alpha: f64) -> Moments {
        Moments::new(self, log_alpha)
    }

    /// −β log(−γ/ζ): what turns log α into the logit of P(z ≠ 0).
    pub(crate) fn active_shift(&self) -> f64 {
        -self.beta * self.logit_at_zero()
    }

    /// [`sample_with_slope`](Self::sample_with_slope) for many gates in single precision.
    pub(crate) fn sample_slices(
        &self,
        log_alpha: &[f32],
        u: &[f32],
        gates: &mut [f32],
        slopes: &mut [f32],
    ) {
        let beta = self.beta as f32;
        simd::vectorised(
            #[inline(always)]
            || {
                for (((&log_alpha, &u), z), slope) in log_alpha.iter().zip(u).zip(gates).zip(slopes)
                {
                    let x = (simd::ln(u / (1.0 - u)) + log_alpha) / beta;
                    (*z, *slope) = self.rectify_single(x, beta);
                }
            },
        );
    }

    /// [`sample_slices`](Self::sample_slices) for one gate and the noise of many rows.
    pub(crate) fn sample_rows(
        &self,
        log_alpha: f32,
        u: &[f32],
        gates: &mut [f32],
        slopes: &mut [f32],
    ) {
        let beta = self.beta as f32;
        simd::vectorised(
            #[inline(always)]
            || {
                for ((&u, z), slope) in u.iter().zip(gates).zip(slopes) {
                    let x = (simd::ln(u / (1.0 - u)) + log_alpha) / beta;
                    (*z, *slope) = self.rectify_single(x, beta);
                }
            },
        );
    }

    /// [`test_gate_with_slope`](Self::test_gate_with_slope) for many gates in single precision.
    pub(crate) fn test_slices(&self, log_alpha: &[f32], gates: &mut [f32], slopes: &mut [f32]) {
        simd::vectorised(
            #[inline(always)]
            || {
                for ((&log_alpha, z), slope) in log_alpha.iter().zip(gates).zip(slopes) {
                    (*z, *slope) = self.rectify_single(log_alpha, 1.0);
                }
            },
        );
    }

    #[inline(always)]
    fn rectify_single(&self, x: f32, temperature: f32) -> (f32, f32) {
        let width = (self.zeta - self.gamma) as f32;
        let s = simd::sigmoid(x);
        let stretched = s.mul_add(width, self.gamma as f32);
        let z = stretched.clamp(0.0, 1.0);
        // Where the clamp acts the gate passes no gradient.
        let slope = s * (1.0 - s) * (width / temperature);
        (z, if z == stretched { slope } else { 0.0 })
    }
}
