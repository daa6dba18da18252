//! The hard-concrete distribution on tensors, differentiable: the formulas of [`ell0::gates::HardConcrete`] in Burn's operations.
//!
//! Every function takes the parameters that all gates share from there, so that they are checked in one place.

use burn::tensor::{
    Tensor,
    activation::{log_sigmoid, sigmoid},
};
use ell0::gates::{GatePrior, HardConcrete};

/// The gates z = min(1, max(0, σ((logit u + log α)/β)(ζ − γ) + γ)) for the uniform noise u.
///
/// The gradient by log α is that at fixed noise: zero where the gate is clamped.
pub fn sample<const D: usize>(
    gate: &HardConcrete,
    log_alpha: Tensor<D>,
    u: Tensor<D>,
) -> Tensor<D> {
    let logit = u.clone().log() - u.neg().log1p();
    // Multiplied: what Burn 0.22 passes back through a division by a number is rounded to single precision.
    rectify(gate, (logit + log_alpha) * (1.0 / gate.beta()))
}

/// The gates of test time, min(1, max(0, σ(log α)(ζ − γ) + γ)).
pub fn test_gate<const D: usize>(gate: &HardConcrete, log_alpha: Tensor<D>) -> Tensor<D> {
    rectify(gate, log_alpha)
}

/// P(z ≠ 0) = σ(log α − β log(−γ/ζ)).
pub fn prob_active<const D: usize>(gate: &HardConcrete, log_alpha: Tensor<D>) -> Tensor<D> {
    sigmoid(logit_active(gate, log_alpha))
}

/// scale·KL(Bern(P(z ≠ 0)) ‖ Bern(π₀)) of each gate: what the free energy adds.
pub fn divergence<const D: usize>(
    gate: &HardConcrete,
    log_alpha: Tensor<D>,
    prior: GatePrior,
) -> Tensor<D> {
    let x = logit_active(gate, log_alpha);
    let (ln_prior, ln_other) = (prior.prob.ln(), (-prior.prob).ln_1p());
    // Both logarithms through ln σ: ln(1 − σ(x)) would lose all digits where the gate is open.
    let active = sigmoid(x.clone()) * (log_sigmoid(x.clone()) - ln_prior);
    let closed = sigmoid(x.clone().neg()) * (log_sigmoid(x.neg()) - ln_other);
    (active + closed) * prior.scale
}

fn rectify<const D: usize>(gate: &HardConcrete, x: Tensor<D>) -> Tensor<D> {
    (sigmoid(x) * (gate.zeta() - gate.gamma()) + gate.gamma()).clamp(0.0, 1.0)
}

/// The logit of P(z ≠ 0).
fn logit_active<const D: usize>(gate: &HardConcrete, log_alpha: Tensor<D>) -> Tensor<D> {
    log_alpha - gate.beta() * (-gate.gamma() / gate.zeta()).ln()
}
