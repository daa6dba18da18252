//! Density, CDF and quantile of the three distributions that make a gate: concrete, stretched, rectified.

use super::{log_sigmoid, logit, sigmoid};

/// The binary concrete distribution on (0, 1).
///
/// CDF Q(s) = σ(β logit(s) − log α); density β α s^(−β−1) (1−s)^(−β−1) / (α s^(−β) + (1−s)^(−β))².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BinaryConcrete {
    log_alpha: f64,
    beta: f64,
}

impl BinaryConcrete {
    pub(super) fn new(log_alpha: f64, beta: f64) -> Self {
        BinaryConcrete { log_alpha, beta }
    }

    /// Density at s; 0 outside (0, 1).
    pub fn density(&self, s: f64) -> f64 {
        if !(s > 0.0 && s < 1.0) {
            return if s.is_nan() { s } else { 0.0 };
        }
        // In logarithms: the powers of the textbook form overflow long before the density does.
        let x = self.beta * logit(s) - self.log_alpha;
        (self.beta.ln() + log_sigmoid(x) + log_sigmoid(-x) - s.ln() - (-s).ln_1p()).exp()
    }

    /// P(S ≤ s).
    pub fn cdf(&self, s: f64) -> f64 {
        sigmoid(self.beta * logit(s.clamp(0.0, 1.0)) - self.log_alpha)
    }

    /// P(S > s) = 1 − P(S ≤ s), without cancellation.
    pub fn survival(&self, s: f64) -> f64 {
        sigmoid(self.log_alpha - self.beta * logit(s.clamp(0.0, 1.0)))
    }

    /// The s with P(S ≤ s) = u: the sampler, when u is uniform noise.
    pub fn quantile(&self, u: f64) -> f64 {
        sigmoid((logit(u.clamp(0.0, 1.0)) + self.log_alpha) / self.beta)
    }
}

/// The binary concrete distribution stretched to (γ, ζ).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretched {
    concrete: BinaryConcrete,
    gamma: f64,
    zeta: f64,
}

impl Stretched {
    pub(super) fn new(concrete: BinaryConcrete, gamma: f64, zeta: f64) -> Self {
        Stretched {
            concrete,
            gamma,
            zeta,
        }
    }

    fn unstretch(&self, t: f64) -> f64 {
        (t - self.gamma) / (self.zeta - self.gamma)
    }

    /// Density at t; 0 outside (γ, ζ).
    pub fn density(&self, t: f64) -> f64 {
        self.concrete.density(self.unstretch(t)) / (self.zeta - self.gamma)
    }

    /// P(S̄ ≤ t).
    pub fn cdf(&self, t: f64) -> f64 {
        self.concrete.cdf(self.unstretch(t))
    }

    /// P(S̄ > t) = 1 − P(S̄ ≤ t), without cancellation.
    pub fn survival(&self, t: f64) -> f64 {
        self.concrete.survival(self.unstretch(t))
    }

    /// The t with P(S̄ ≤ t) = u.
    pub fn quantile(&self, u: f64) -> f64 {
        self.concrete.quantile(u) * (self.zeta - self.gamma) + self.gamma
    }
}

/// The hard-concrete distribution on [0, 1]: point masses at 0 and 1 and the stretched density in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectified {
    stretched: Stretched,
}

impl Rectified {
    pub(super) fn new(stretched: Stretched) -> Self {
        Rectified { stretched }
    }

    /// P(z = 0).
    pub fn mass_at_zero(&self) -> f64 {
        self.stretched.cdf(0.0)
    }

    /// P(z = 1).
    pub fn mass_at_one(&self) -> f64 {
        self.stretched.survival(1.0)
    }

    /// Density of the continuous part at t in (0, 1); it integrates to P(0 < z < 1). 0 elsewhere.
    pub fn density(&self, t: f64) -> f64 {
        if t > 0.0 && t < 1.0 {
            self.stretched.density(t)
        } else if t.is_nan() {
            t
        } else {
            0.0
        }
    }

    /// P(z ≤ t): jumps at 0 and at 1.
    pub fn cdf(&self, t: f64) -> f64 {
        if t < 0.0 {
            0.0
        } else if t >= 1.0 {
            1.0
        } else {
            self.stretched.cdf(t)
        }
    }

    /// P(z > t) = 1 − P(z ≤ t), without cancellation.
    pub fn survival(&self, t: f64) -> f64 {
        if t < 0.0 {
            1.0
        } else if t >= 1.0 {
            0.0
        } else {
            self.stretched.survival(t)
        }
    }

    /// The smallest t with P(z ≤ t) ≥ u.
    pub fn quantile(&self, u: f64) -> f64 {
        self.stretched.quantile(u).clamp(0.0, 1.0)
    }
}
