//! The gates of one parameter, as Burn's reparameterisation of it.

use burn::{
    module::{Flag, Module, Param, ParamGroup, ParamId, Reparameterization},
    tensor::{DType, Device, Int, Tensor, TensorData},
};
use ell0::{gates::HardConcrete, rng::Generator};

use crate::{Per, distribution};

/// The gates of one parameter: what the module sees of the parameter w is z ⊙ w.
///
/// Attached by [`Gating::attach`](crate::Gating::attach), reached by `param.reparameterization::<Gates>()`. The stored w stays the trainable parameter
/// (`param.base()`); log α is another one beside it, so that optimisers, records and devices treat it as such.
///
/// Whether gates are sampled is a flag of the module, as with dropout: drawing noise sets it, `module.valid()` clears it and leaves the gates of test time,
/// `module.train()` sets it again.
#[derive(Module, Debug)]
pub struct Gates {
    /// Location of each gate.
    log_alpha: Param<Tensor<1>>,
    /// k of the noise u = (k + ½)·2⁻²³. Whole numbers, for which no optimiser looks and which no unfreezing makes trainable.
    noise: Param<Tensor<1, Int>>,
    /// Whether the noise counts.
    sampling: Param<Flag>,
    #[module(skip)]
    distribution: HardConcrete,
    #[module(skip)]
    per: Per,
}

impl Reparameterization for Gates {
    const NAME: &'static str = "hard_concrete";

    fn apply<const D: usize>(&self, base: Tensor<D>) -> Tensor<D> {
        let gates = self.gates().cast(base.dtype());
        let shape = base.dims();
        base * self.per.spread(gates, shape)
    }
}

impl Gates {
    pub(crate) fn new(distribution: HardConcrete, per: Per, log_alpha: Tensor<1>) -> Self {
        let device = log_alpha.device();
        let [n] = log_alpha.dims();
        Gates {
            log_alpha: Param::from_tensor(log_alpha),
            noise: Param::initialized(ParamId::new(), Tensor::zeros([n], &device)),
            sampling: Param::from_bool(false),
            distribution,
            per,
        }
    }

    /// log α of all gates of a module, for an optimiser that gives them a learning rate of their own.
    pub fn group() -> ParamGroup {
        ParamGroup::from_predicate(format!(".{}.log_alpha", Gates::NAME))
    }

    /// What all gates share.
    pub fn distribution(&self) -> &HardConcrete {
        &self.distribution
    }

    /// What one gate stands before.
    pub fn per(&self) -> Per {
        self.per
    }

    /// log α of each gate, differentiable.
    pub fn log_alpha(&self) -> Tensor<1> {
        self.log_alpha.val()
    }

    /// Whether the gates are sampled; otherwise they are those of test time.
    pub fn is_sampling(&self) -> bool {
        self.sampling.is_enabled()
    }

    /// The gates in force, differentiable: sampled from the noise last drawn, or those of test time.
    pub fn gates(&self) -> Tensor<1> {
        if !self.is_sampling() {
            return self.test_gates();
        }
        let log_alpha = self.log_alpha();
        let u = uniform(self.noise.val(), log_alpha.dtype());
        distribution::sample(&self.distribution, log_alpha, u)
    }

    /// The gates of test time, differentiable.
    pub fn test_gates(&self) -> Tensor<1> {
        distribution::test_gate(&self.distribution, self.log_alpha())
    }

    /// P(gate active) of each gate, differentiable.
    pub fn prob_active(&self) -> Tensor<1> {
        distribution::prob_active(&self.distribution, self.log_alpha())
    }
}

/// u = (k + ½)·2⁻²³, exact in single precision and so is 1 − u.
fn uniform(noise: Tensor<1, Int>, dtype: DType) -> Tensor<1> {
    (noise.float().cast(dtype) + 0.5) * 2f64.powi(-23)
}

/// The whole numbers behind uniform noise of our own stream.
pub(crate) fn noise(n: usize, generator: &mut Generator, device: &Device) -> Tensor<1, Int> {
    let mut u = vec![0f32; n];
    generator.fill_uniform(&mut u);
    // Exact: u·2²³ − ½ is a whole number below 2²³.
    let k: Vec<i32> = u.iter().map(|&u| (u * 2f32.powi(23)) as i32).collect();
    Tensor::from_data(TensorData::new(k, [n]), device)
}
