//! Mean and variance of a gate, without sampling.

use std::{f64::consts::PI, sync::LazyLock};

use super::{HardConcrete, sigmoid};

/// Mean and variance of a hard-concrete gate z, with their derivatives by log α.
///
/// With x = logit s as the variable of integration, z(x) = σ(x)(ζ − γ) + γ between the two points where z is 0 and 1:
///
/// ```text
/// E[z]   = ∫ P(z > z(x)) z'(x) dx
/// Var[z] = P(z=0) E[z]² + P(z=1) (1 − E[z])² + ∫ β σ(βx − log α) σ(log α − βx) (z(x) − E[z])² dx
/// ```
///
/// These integrands are positive, so nothing cancels: even at log α = ±50 the results are right to round-off relative to their own size.
/// (The derivative of the variance alone changes sign; where it is nearly zero only its absolute error is small.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// E\[z\].
    pub mean: f64,
    /// 1 − E\[z\], without cancellation.
    pub mean_complement: f64,
    /// Var\[z\].
    pub variance: f64,
    /// ∂E\[z\]/∂log α.
    pub mean_slope: f64,
    /// ∂Var\[z\]/∂log α.
    pub variance_slope: f64,
}

/// Nodes in each panel.
const NODES: usize = 24;

/// Nodes and weights of Gauss–Legendre quadrature on [−1, 1].
static GAUSS_LEGENDRE: LazyLock<[(f64, f64); NODES]> = LazyLock::new(gauss_legendre);

fn gauss_legendre() -> [(f64, f64); NODES] {
    std::array::from_fn(|i| {
        // Newton's method on the Legendre polynomial, from the usual asymptotic guess.
        let mut x = (PI * (i as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..8 {
            let (mut p, mut previous) = (x, 1.0);
            for k in 2..=NODES {
                let k = k as f64;
                (p, previous) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * previous) / k, p);
            }
            slope = NODES as f64 * (x * p - previous) / (x * x - 1.0);
            x -= p / slope;
        }
        (x, 2.0 / ((1.0 - x * x) * slope * slope))
    })
}

impl Moments {
    pub(super) fn new(gate: &HardConcrete, log_alpha: f64) -> Self {
        let (beta, width) = (gate.beta(), gate.zeta() - gate.gamma());
        let (low, high) = (gate.logit_at_zero(), gate.logit_at_one());
        // The integrands are analytic up to a distance of min(π, π/β) from the real axis. Panels twice as wide as that make the error of
        // 24 nodes about (1 + √2)⁻⁴⁸ = 4e-19; the usual settings need a single panel.
        let strip = PI.min(PI / beta);
        let panels = ((high - low) / (2.0 * strip)).ceil().max(1.0) as usize;
        let half = (high - low) / (2.0 * panels as f64);
        let integrate = |integrand: &dyn Fn(f64) -> f64| -> f64 {
            (0..panels)
                .map(|panel| {
                    let centre = low + half * (2 * panel + 1) as f64;
                    GAUSS_LEGENDRE
                        .iter()
                        .map(|&(x, weight)| weight * integrand(centre + half * x))
                        .sum::<f64>()
                })
                .sum::<f64>()
                * half
        };
        let z = |x: f64| sigmoid(x) * width + gate.gamma();
        let dz = |x: f64| sigmoid(x) * sigmoid(-x) * width;
        let above = |x: f64| sigmoid(log_alpha - beta * x);
        let below = |x: f64| sigmoid(beta * x - log_alpha);

        let mean = integrate(&|x| above(x) * dz(x));
        let mean_complement = integrate(&|x| below(x) * dz(x));
        let mean_slope = integrate(&|x| above(x) * below(x) * dz(x));
        // z − E[z], from whichever end loses no digits.
        let deviation = |x: f64| {
            if mean < 0.5 {
                z(x) - mean
            } else {
                mean_complement - (1.0 - z(x))
            }
        };
        let variance = gate.prob_zero(log_alpha) * mean * mean
            + gate.prob_one(log_alpha) * mean_complement * mean_complement
            + integrate(&|x| beta * above(x) * below(x) * deviation(x).powi(2));
        let variance_slope = integrate(&|x| 2.0 * deviation(x) * above(x) * below(x) * dz(x));
        Moments {
            mean,
            mean_complement,
            variance,
            mean_slope,
            variance_slope,
        }
    }
}
