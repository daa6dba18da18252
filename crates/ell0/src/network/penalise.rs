//! The complexity loss of a network and its gradient.

use super::{Architecture, Gating, Per};
use crate::{
    error::{Result, require_len},
    gates::{HardConcrete, Penalty},
    simd,
};

impl Architecture {
    /// The penalty at `parameters`; its gradient is added to `gradient`.
    pub fn penalise(
        &self,
        parameters: &[f32],
        penalty: &Penalty,
        gradient: &mut [f32],
    ) -> Result<f64> {
        require_len("parameters", parameters.len(), self.parameter_len())?;
        require_len("gradient", gradient.len(), self.parameter_len())?;
        let (ungated, log_alpha_gradient) = gradient.split_at_mut(self.weights_and_biases().end);
        let offset = self.weights_and_biases().end;
        let mut total = 0.0;
        for (index, layer) in self.layers().iter().enumerate() {
            let (weights, biases) = (self.weights(index), self.biases(index));
            let w = &parameters[weights.clone()];
            let log_alphas = self.log_alphas(index);
            let d_log_alpha =
                &mut log_alpha_gradient[log_alphas.start - offset..log_alphas.end - offset];
            let log_alphas = &parameters[log_alphas];
            let d_w = &mut ungated[weights];
            total += match layer.gating {
                Gating::Plain => plain(w, penalty, d_w),
                Gating::Gated(spec) => {
                    let penalty = &penalty.priced(spec.price);
                    let paid = match spec.per {
                        Per::Unit => unit_gates,
                        Per::Weight => weight_gates,
                    };
                    paid(spec.distribution, log_alphas, w, penalty, d_w, d_log_alpha)
                }
            };
            if penalty.l1() > 0.0 || penalty.l2() > 0.0 {
                total += norms(w, penalty, d_w);
            }
            if penalty.weight_decay() > 0.0 {
                let b = &parameters[biases.clone()];
                total += decay(b, penalty.weight_decay(), 1.0, &mut ungated[biases]);
            }
        }
        Ok(total)
    }
}

/// ½ factor Σ w²; adds `active` times its gradient, factor·w.
fn decay(w: &[f32], factor: f64, active: f64, d_w: &mut [f32]) -> f64 {
    let single = (factor * active) as f32;
    simd::vectorised(
        #[inline(always)]
        || {
            for (d, &w) in d_w.iter_mut().zip(w) {
                *d = single.mul_add(w, *d);
            }
            0.5 * factor * f64::from(simd::dot(w, w))
        },
    )
}

/// Weights without gates: always open.
fn plain(w: &[f32], penalty: &Penalty, d_w: &mut [f32]) -> f64 {
    let l0 = penalty.lambda() * w.len() as f64;
    if penalty.weight_decay() > 0.0 {
        l0 + decay(w, penalty.weight_decay(), 1.0, d_w)
    } else {
        l0
    }
}

/// l1 Σ|w| + ½ l2 Σw².
fn norms(w: &[f32], penalty: &Penalty, d_w: &mut [f32]) -> f64 {
    let (l1, l2) = (penalty.l1(), penalty.l2());
    let mut total = 0.0;
    for (d, &w) in d_w.iter_mut().zip(w) {
        let wide = f64::from(w);
        total += l1 * wide.abs() + 0.5 * l2 * wide * wide;
        // The subgradient at 0 is 0.
        let sign = if w == 0.0 { 0.0 } else { w.signum() };
        *d += (l1 as f32).mul_add(sign, l2 as f32 * w);
    }
    total
}

/// P(active)·Σ (λ + ½ decay w²) over the weights of each unit, plus the prior.
fn unit_gates(
    gate: HardConcrete,
    log_alphas: &[f32],
    w: &[f32],
    penalty: &Penalty,
    d_w: &mut [f32],
    d_log_alpha: &mut [f32],
) -> f64 {
    let Some(outputs) = w.len().checked_div(log_alphas.len()) else {
        return 0.0;
    };
    let weight_decay = penalty.weight_decay();
    let mut total = 0.0;
    for (i, (&log_alpha, d_log_alpha)) in log_alphas.iter().zip(d_log_alpha).enumerate() {
        let log_alpha = f64::from(log_alpha);
        let (active, slope) = (
            gate.prob_active(log_alpha),
            gate.prob_active_slope(log_alpha),
        );
        let mut cost = penalty.lambda() * outputs as f64;
        if weight_decay > 0.0 {
            let range = i * outputs..(i + 1) * outputs;
            cost += decay(&w[range.clone()], weight_decay, active, &mut d_w[range]);
        }
        total += active * cost;
        let mut d = slope * cost;
        if let Some(prior) = penalty.prior() {
            let (divergence, d_divergence) = prior.divergence(log_alpha + gate.active_shift());
            total += divergence;
            d += d_divergence;
        }
        *d_log_alpha += d as f32;
    }
    total
}

/// The same with a gate for each weight.
fn weight_gates(
    gate: HardConcrete,
    log_alphas: &[f32],
    w: &[f32],
    penalty: &Penalty,
    d_w: &mut [f32],
    d_log_alpha: &mut [f32],
) -> f64 {
    let (lambda, weight_decay) = (penalty.lambda() as f32, penalty.weight_decay() as f32);
    let shift = gate.active_shift() as f32;
    let mut total = 0.0;
    // In blocks, so that the sum of many single-precision terms loses no digits.
    const BLOCK: usize = 64;
    let blocks = log_alphas
        .chunks(BLOCK)
        .zip(w.chunks(BLOCK))
        .zip(d_w.chunks_mut(BLOCK))
        .zip(d_log_alpha.chunks_mut(BLOCK));
    simd::vectorised(
        #[inline(always)]
        || {
            for (((log_alphas, w), d_w), d_log_alpha) in blocks {
                let mut costs = [0f32; BLOCK];
                for ((((cost, &a), &w), d_w), d_a) in costs
                    .iter_mut()
                    .zip(log_alphas)
                    .zip(w)
                    .zip(d_w)
                    .zip(d_log_alpha)
                {
                    // P = 1/(1 + e) and 1 − P = e·P, so that nothing cancels when P is near 1.
                    let e = simd::exp(-(a + shift));
                    let active = 1.0 / (1.0 + e);
                    let price = (0.5 * weight_decay * w).mul_add(w, lambda);
                    *cost = active * price;
                    *d_w = (active * weight_decay).mul_add(w, *d_w);
                    *d_a = (active * (e * active)).mul_add(price, *d_a);
                }
                total += f64::from(simd::sum(&costs));
            }
        },
    );
    if let Some(prior) = penalty.prior() {
        for (&a, d_a) in log_alphas.iter().zip(d_log_alpha) {
            let (divergence, slope) = prior.divergence(f64::from(a) + gate.active_shift());
            total += divergence;
            *d_a += slope as f32;
        }
    }
    total
}
