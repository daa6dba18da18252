//! What a gated model pays for its open gates, and the classical penalties to compare with.

use serde::{Deserialize, Serialize};

use super::{log_sigmoid, sigmoid};
use crate::error::{Result, require};

/// The complexity loss of a gated model.
///
/// ```text
/// λ Σ_j P(gate_j active)·n_j                        expected L0; n_j parameters stand behind gate j
/// + scale · Σ_j KL(Bern(P_j) ‖ Bern(π₀))            free energy, with a prior on the gates
/// + Σ_j P_j · ½ decay · Σ_{w behind j} w² + ½ decay Σ b²      weight decay inside the gate
/// + l1 Σ |w| + ½ l2 Σ w²                            for comparison
/// ```
///
/// A weight without a gate counts as one whose gate is always open: it costs λ (a constant) and decays in full. All coefficients are ≥ 0; those not
/// named are 0.
///
/// ```
/// use ell0::gates::Penalty;
/// let penalty = Penalty::expected_l0(1e-3)?.with_weight_decay(1e-4)?;
/// assert!(Penalty::expected_l0(-1.0).is_err());
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, try_from = "Unchecked")]
pub struct Penalty {
    lambda: f64,
    prior: Option<GatePrior>,
    weight_decay: f64,
    l1: f64,
    l2: f64,
}

/// The same fields before they are checked.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Unchecked {
    lambda: f64,
    prior: Option<GatePrior>,
    weight_decay: f64,
    l1: f64,
    l2: f64,
}

impl TryFrom<Unchecked> for Penalty {
    type Error = crate::Error;

    fn try_from(p: Unchecked) -> Result<Self> {
        let mut penalty = Penalty::expected_l0(p.lambda)?
            .with_weight_decay(p.weight_decay)?
            .with_l1(p.l1)?
            .with_l2(p.l2)?;
        if let Some(prior) = p.prior {
            penalty = penalty.with_prior(prior.prob, prior.scale)?;
        }
        Ok(penalty)
    }
}

/// A Bernoulli prior on the gates: "active `prob` of the time".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatePrior {
    /// Prior probability π₀ that a gate is active, in (0, 1).
    pub prob: f64,
    /// Weight of the divergence against the error loss: 1 where the error is a negative log-likelihood, 1/N where it is its mean over N rows.
    pub scale: f64,
}

fn coefficient(name: &'static str, value: f64) -> Result<f64> {
    require(
        value >= 0.0 && value.is_finite(),
        name,
        value,
        "a penalty must be finite and not negative",
    )?;
    Ok(value)
}

impl Penalty {
    /// No penalty.
    pub fn none() -> Self {
        Penalty::default()
    }

    /// λ for each parameter whose gate is active.
    pub fn expected_l0(lambda: f64) -> Result<Self> {
        Ok(Penalty {
            lambda: coefficient("lambda", lambda)?,
            ..Penalty::default()
        })
    }

    /// Adds the divergence from a Bernoulli prior: the free energy, which gives calibrated inclusion probabilities.
    pub fn with_prior(mut self, prob: f64, scale: f64) -> Result<Self> {
        require(
            prob > 0.0 && prob < 1.0,
            "prior probability",
            prob,
            "it must lie strictly between 0 and 1, for example 0.1",
        )?;
        self.prior = Some(GatePrior {
            prob,
            scale: coefficient("prior scale", scale)?,
        });
        Ok(self)
    }

    /// Adds weight decay inside the gate.
    pub fn with_weight_decay(mut self, weight_decay: f64) -> Result<Self> {
        self.weight_decay = coefficient("weight_decay", weight_decay)?;
        Ok(self)
    }

    /// Adds l1·Σ|w| over the weights, gates or not.
    pub fn with_l1(mut self, l1: f64) -> Result<Self> {
        self.l1 = coefficient("l1", l1)?;
        Ok(self)
    }

    /// Adds ½·l2·Σw² over the weights, gates or not (PyTorch's `weight_decay` of Adam, but for the biases).
    pub fn with_l2(mut self, l2: f64) -> Result<Self> {
        self.l2 = coefficient("l2", l2)?;
        Ok(self)
    }

    /// Price λ of a parameter behind an active gate.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }

    /// Prior on the gates, if any.
    pub fn prior(&self) -> Option<GatePrior> {
        self.prior
    }

    /// Weight decay inside the gate.
    pub fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    /// Coefficient of Σ|w|.
    pub fn l1(&self) -> f64 {
        self.l1
    }

    /// Coefficient of ½Σw².
    pub fn l2(&self) -> f64 {
        self.l2
    }

    /// The same with another multiple of λ.
    pub(crate) fn priced(mut self, factor: f64) -> Self {
        self.lambda *= factor;
        self
    }

    /// The same with λ and the prior's weight multiplied by `factor`: the warm-up.
    pub(crate) fn warmed(mut self, factor: f64) -> Self {
        self.lambda *= factor;
        if let Some(prior) = &mut self.prior {
            prior.scale *= factor;
        }
        self
    }
}

impl GatePrior {
    /// scale·KL(Bern(σ(x)) ‖ Bern(π₀)) and its derivative by x, where x is the logit of P(active).
    pub(crate) fn divergence(&self, x: f64) -> (f64, f64) {
        let (p, q) = (sigmoid(x), sigmoid(-x));
        let (ln_prior, ln_other) = (self.prob.ln(), (-self.prob).ln_1p());
        let value = p * (log_sigmoid(x) - ln_prior) + q * (log_sigmoid(-x) - ln_other);
        let slope = p * q * (x - (ln_prior - ln_other));
        (self.scale * value, self.scale * slope)
    }
}
