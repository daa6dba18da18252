//! What gates a parameter gets.

use ell0::gates::{HardConcrete, Penalty};

use crate::{
    Per,
    error::{Error, Result},
};

/// What gates a parameter gets and what it pays for them.
///
/// | field | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `per` | none | what one gate stands before | an axis that the parameter has |
/// | `distribution` | β = 2/3, γ = −0.1, ζ = 1.1 | of each gate | that of [`HardConcrete`] |
/// | `drop_rate` | 0.5 | initial d, log α ~ N(log((1−d)/d), 0.01²) | (0, 1) |
/// | `penalty` | none | price of open gates and of weights | that of [`Penalty`] |
///
/// ```
/// use ell0::gates::Penalty;
/// use ell0_burn::{GateSpec, Per};
/// let spec = GateSpec::new(Per::OUTPUT_CHANNEL)
///     .with_drop_rate(0.3)
///     .with_penalty(Penalty::expected_l0(1e-5)?.with_prior(0.1, 1e-3)?);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateSpec {
    /// What one gate stands before.
    pub per: Per,
    /// Distribution of each gate.
    pub distribution: HardConcrete,
    /// Initial drop rate.
    pub drop_rate: f64,
    /// Price of open gates and of weights.
    pub penalty: Penalty,
}

impl GateSpec {
    /// The usual gates, without a price.
    pub fn new(per: Per) -> Self {
        GateSpec {
            per,
            distribution: HardConcrete::default(),
            drop_rate: 0.5,
            penalty: Penalty::none(),
        }
    }

    /// The same with another distribution.
    pub fn with_distribution(mut self, distribution: HardConcrete) -> Self {
        self.distribution = distribution;
        self
    }

    /// The same with another initial drop rate.
    pub fn with_drop_rate(mut self, drop_rate: f64) -> Self {
        self.drop_rate = drop_rate;
        self
    }

    /// The same with another price.
    pub fn with_penalty(mut self, penalty: Penalty) -> Self {
        self.penalty = penalty;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.drop_rate > 0.0 && self.drop_rate < 1.0 {
            Ok(())
        } else {
            Err(Error::Parameter {
                name: "drop_rate",
                value: self.drop_rate,
                expected: "the initial drop rate must lie strictly between 0 and 1, for example 0.5",
            })
        }
    }

    /// The log α at which training begins, before its noise.
    pub(crate) fn initial(&self) -> f64 {
        ((1.0 - self.drop_rate) / self.drop_rate).ln()
    }
}
