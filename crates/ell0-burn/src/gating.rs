//! Which parameters of a module have gates.

use burn::module::Module;
use ell0::{gates::Penalty, rng::Stream};

use crate::{GateSpec, attach, error::Result};

/// Which parameters of a module have gates, and what each pays.
///
/// Parameters are named by their path in the module: the field `weight` of the field `conv1` is `conv1.weight`. What is said here is about a module, not in it: the
/// module holds weights, gates and noise, and works without this; attaching gates, prices and summaries need it, because what visits a module of Burn sees the tensors of a
/// reparameterisation but not the rest of it.
///
/// ```
/// use burn::{module::Module, nn::{Linear, LinearConfig}, tensor::{Device, Tensor}};
/// use ell0::{gates::Penalty, rng::Stream};
/// use ell0_burn::{GateSpec, Gating, Per, draw};
///
/// #[derive(Module, Debug)]
/// struct Network { first: Linear, second: Linear }
///
/// let device = Device::flex().autodiff();
/// let network = Network {
///     first: LinearConfig::new(4, 8).init(&device),
///     second: LinearConfig::new(8, 1).init(&device),
/// };
/// let gating = Gating::new()
///     .gate("first.weight", GateSpec::new(Per::INPUT_UNIT).with_penalty(Penalty::expected_l0(1e-3)?))
///     .gate("second.weight", GateSpec::new(Per::INPUT_UNIT).with_penalty(Penalty::expected_l0(1e-2)?));
///
/// let stream = Stream::new(0);
/// let network = gating.attach(network, &stream.split("log alpha"))?;
/// // A step of training: gates drawn for it, then error plus price.
/// let network = draw(network, &stream.split("gates"), 0);
/// let x = Tensor::<2>::ones([1, 4], &device);
/// let error = network.second.forward(network.first.forward(x.clone()).tanh()).powi_scalar(2).sum();
/// let gradients = (error + gating.penalty(&network)?).backward();
/// // At test time there is no noise.
/// let valid = network.valid();
/// # Ok::<(), ell0_burn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gating {
    pub(crate) rules: Vec<Rule>,
}

/// What is said of one parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) path: String,
    pub(crate) gates: Option<GateSpec>,
    pub(crate) penalty: Penalty,
}

impl Gating {
    /// Nothing yet.
    pub fn new() -> Self {
        Gating::default()
    }

    /// Gates for the parameter of this path.
    pub fn gate(mut self, path: impl Into<String>, spec: GateSpec) -> Self {
        self.rules.push(Rule {
            path: path.into(),
            gates: Some(spec),
            penalty: spec.penalty,
        });
        self
    }

    /// A price for the parameter of this path, without gates: for a bias, say, which decays in full.
    ///
    /// Each of its elements counts as one whose gate is always open: it costs λ, a constant.
    pub fn plain(mut self, path: impl Into<String>, penalty: Penalty) -> Self {
        self.rules.push(Rule {
            path: path.into(),
            gates: None,
            penalty,
        });
        self
    }

    /// The module with gates attached, log α ~ N(log((1−d)/d), 0.01²) from the stream, each parameter from a part of it that its path names.
    ///
    /// The gates are those of test time until noise is [drawn](crate::draw). Weights that are not made yet stay so.
    pub fn attach<M: Module>(&self, module: M, stream: &Stream) -> Result<M> {
        attach::attach(&self.rules, module, stream)
    }
}
