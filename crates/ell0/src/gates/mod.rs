//! Gates that can be exactly zero and still be trained by gradients.
//!
//! - [`HardConcrete`]: the distribution of a gate, its sampler, the probability that the gate is active, its moments.
//! - [`BinaryConcrete`], [`Stretched`], [`Rectified`]: the three distributions that lead from one to the other, with density, CDF and quantile.
//! - [`estimators`]: ways to estimate the gradient of E\[f(z)\], and the exact gradient to measure them by.
//! - [`Penalty`]: what a gated model pays for its open gates.

mod distributions;
pub mod estimators;
mod hard_concrete;
mod moments;
mod penalty;

pub use distributions::{BinaryConcrete, Rectified, Stretched};
pub use hard_concrete::{Gate, HardConcrete};
pub use moments::Moments;
pub use penalty::{GatePrior, Penalty};

#[cfg(test)]
mod tests;

/// σ(x) = 1/(1 + e⁻ˣ), accurate in both tails.
pub(crate) fn sigmoid(x: f64) -> f64 {
    // For x → −∞ the exponential overflows to infinity only beyond −709, where the true value underflows.
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// ln σ(x), accurate in both tails.
pub(crate) fn log_sigmoid(x: f64) -> f64 {
    x.min(0.0) - (-x.abs()).exp().ln_1p()
}

/// logit(u) = ln u − ln(1 − u).
pub(crate) fn logit(u: f64) -> f64 {
    u.ln() - (-u).ln_1p()
}
