//! Policies with parameters: a body (a network, a network with gates, or a dictionary with gates) and behind it a head for each action, which brings its output into the range of the action.

mod closed;
mod file;
mod kind;
mod pass;

pub use closed::TermName;
pub use file::{POLICY_FORMAT, PolicyFile, TrainedIn};
pub use kind::ActorKind;
pub use pass::ActorPass;

use ell0::{
    features::{Features, Lift},
    network::{
        Activation, Architecture, Dense, Draw, GateSpec, Gating, Head, Init, Mlp, MlpConfig, Per,
    },
    rng::{Generator, Stream},
};

use super::head::head;
use crate::{
    environment::{Environment, Space, Tied},
    error::{Error, Result, require_size},
    policy::{Act, Policy},
};

/// A policy with parameters. It knows nothing of how it is trained.
#[derive(Clone, Debug)]
pub struct Actor {
    kind: ActorKind,
    observation: Space,
    action: Space,
    architecture: Architecture,
    parameters: Vec<f32>,
    /// The terms of a dictionary, on scaled observations.
    lift: Option<Lift>,
    /// The inputs of a law that all actions share.
    tied: Option<Tied>,
}

/// The layers follow from the kind and the spaces.
impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.observation == other.observation
            && self.action == other.action
            && self.parameters == other.parameters
            && self.tied == other.tied
    }
}

impl Actor {
    /// A policy with random parameters for the given spaces; one law for all actions needs a world: see [`in_world`](Self::in_world).
    pub fn new(
        kind: &ActorKind,
        observation: &Space,
        action: &Space,
        stream: &Stream,
    ) -> Result<Self> {
        Actor::build(kind, observation, action, None, stream)
    }

    /// A policy with random parameters for a world.
    pub fn in_world(kind: &ActorKind, world: &dyn Environment, stream: &Stream) -> Result<Self> {
        let tied = if kind.is_tied() { world.tied() } else { None };
        let (observation, action) = (world.observation_space(), world.action_space());
        Actor::build(kind, observation, action, tied, stream)
    }

    /// The same with what the world says of laws that all actions share.
    pub(in crate::agent) fn build(
        kind: &ActorKind,
        observation: &Space,
        action: &Space,
        tied: Option<Tied>,
        stream: &Stream,
    ) -> Result<Self> {
        observation.check()?;
        action.check()?;
        let network = |hidden: &[usize], gates: Option<GateSpec>| {
            let mut dims = vec![observation.len()];
            dims.extend_from_slice(hidden);
            dims.push(action.len());
            let config = MlpConfig {
                gates,
                init: Init::Torch,
                ..MlpConfig::new(dims, Activation::Relu)
            };
            Mlp::new(&config, stream)
        };
        let (body, lift) = match kind {
            ActorKind::Network(hidden) => (network(hidden, None)?, None),
            ActorKind::SparseNetwork(hidden) => (network(hidden, Some(GateSpec::default()))?, None),
            ActorKind::Dictionary {
                library,
                noise,
                scaled,
                tied: shared,
                gated,
            } => {
                let mut scales = scales(observation, *scaled);
                let (mut names, mut outputs) = (observation.names(), action.len());
                if *shared {
                    let tied = tied.as_ref().ok_or(Error::NotTied)?;
                    tied.check(observation, action)?;
                    // Every action sees the same kind of thing in the same place.
                    let of = |(k, _): &(usize, f64)| scales[*k];
                    scales = tied.inputs[0].iter().map(of).collect();
                    (names, outputs) = (&tied.names, 1);
                }
                let features = library.features(names)?;
                let gates = GateSpec {
                    per: Per::Weight,
                    noise: *noise,
                    ..GateSpec::default()
                };
                let layer = Dense {
                    inputs: features.len(),
                    outputs,
                    activation: Activation::Identity,
                    gating: if *gated {
                        Gating::Gated(gates)
                    } else {
                        Gating::Plain
                    },
                    bias: false,
                };
                let body =
                    Mlp::random(Architecture::new(vec![layer])?, Init::Normal(0.01), stream)?;
                (body, Some(Lift::of_scaled_inputs(features, &scales)?))
            }
        };
        Ok(Actor {
            kind: kind.clone(),
            observation: observation.clone(),
            action: action.clone(),
            architecture: body.architecture().clone(),
            parameters: body.parameters().to_vec(),
            lift,
            tied: tied.filter(|_| kind.is_tied()),
        })
    }

    /// What its body is.
    pub fn kind(&self) -> &ActorKind {
        &self.kind
    }

    /// What it sees.
    pub fn observation_space(&self) -> &Space {
        &self.observation
    }

    /// What it chooses.
    pub fn action_space(&self) -> &Space {
        &self.action
    }

    /// The layers.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// The parameters.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// The parameters, to be changed.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// What stands behind the body: one for each action.
    #[must_use]
    pub fn heads(&self) -> Vec<Head> {
        (0..self.action.len())
            .map(|k| head(&self.action, k))
            .collect()
    }

    /// The terms of a dictionary; none for a network.
    pub fn features(&self) -> Option<&Features> {
        self.lift.as_ref().map(Lift::features)
    }

    /// The inputs of the law that all actions share, if they do.
    pub fn tied(&self) -> Option<&Tied> {
        self.tied.as_ref()
    }

    /// What each input of the terms is divided by: each observation, or each input of a law that all actions share.
    #[must_use]
    pub fn scales(&self) -> Vec<f64> {
        let scaled = matches!(self.kind, ActorKind::Dictionary { scaled: true, .. });
        let scales = scales(&self.observation, scaled);
        match &self.tied {
            None => scales,
            Some(tied) => tied.inputs[0].iter().map(|(k, _)| scales[*k]).collect(),
        }
    }

    /// Laws that have coefficients of their own: one for each action, or a single one that all share.
    #[must_use]
    pub fn laws(&self) -> usize {
        match self.tied {
            None => self.action.len(),
            Some(_) => 1,
        }
    }

    /// Rows that its body sees for so many rows of observations.
    pub(in crate::agent) fn body_rows(&self, rows: usize) -> usize {
        rows * self.action.len() / self.laws()
    }

    /// Numbers of terms and of laws of a dictionary; the coefficient of a term j in a law k stands at j·laws + k. None for a network.
    fn shape(&self) -> Option<(usize, usize)> {
        Some((self.features()?.len(), self.laws()))
    }

    /// The gates of a dictionary that has some.
    fn gates(&self) -> Option<GateSpec> {
        self.features()?;
        match self.architecture.layers()[0].gating {
            Gating::Gated(spec) => Some(spec),
            Gating::Plain => None,
        }
    }

    /// Coefficients of a dictionary's terms (of scaled inputs), gates of test time folded in: law after law. Without gates, what is below a hundredth of the largest of its law counts as 0. None for a network.
    pub fn scaled_coefficients(&self) -> Option<Vec<f64>> {
        let (p, q) = self.shape()?;
        let weights = &self.parameters[self.architecture.weights(0)];
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let gates = self.gates();
        let law = |k: usize| -> Vec<f64> {
            let weight = |j: usize| f64::from(weights[j * q + k]);
            match &gates {
                Some(spec) => {
                    let gate = |j| {
                        spec.distribution
                            .test_gate(f64::from(log_alphas[j * q + k]))
                    };
                    (0..p).map(|j| weight(j) * gate(j)).collect()
                }
                None => {
                    let largest = (0..p).fold(0f64, |m, j| m.max(weight(j).abs()));
                    let kept = |w: f64| if w.abs() < 0.01 * largest { 0.0 } else { w };
                    (0..p).map(|j| kept(weight(j))).collect()
                }
            }
        };
        Some((0..q).flat_map(law).collect())
    }

    /// Probability of each gate of a dictionary to be open, law after law: in the order of [`term_names`](Self::term_names). None without gates.
    pub fn prob_active(&self) -> Option<Vec<f32>> {
        let ((p, q), spec) = (self.shape()?, self.gates()?);
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let places = (0..q).flat_map(|k| (0..p).map(move |j| j * q + k));
        let active = |at: usize| spec.distribution.prob_active(f64::from(log_alphas[at])) as f32;
        Some(places.map(active).collect())
    }

    /// Number of open terms of a dictionary in each of its laws.
    pub fn terms_of_laws(&self) -> Option<Vec<usize>> {
        let ((p, _), coefficients) = (self.shape()?, self.scaled_coefficients()?);
        let open = |law: &[f64]| law.iter().filter(|c| **c != 0.0).count();
        Some(coefficients.chunks_exact(p).map(open).collect())
    }

    /// Number of open terms of a dictionary, a law that all actions share counted once.
    pub fn terms(&self) -> Option<usize> {
        Some(self.terms_of_laws()?.iter().sum())
    }

    /// The same policy with other coefficients of its terms (of scaled observations), all gates open or, where a coefficient is zero, shut.
    pub fn with_coefficients(&self, coefficients: &[f64]) -> Result<Actor> {
        let (p, q) = self.shape().unwrap_or_default();
        require_size("the coefficients of a policy", coefficients.len(), p * q)?;
        let mut actor = self.clone();
        let (weights, gates) = (
            self.architecture.weights(0),
            self.architecture.log_alphas(0),
        );
        let gated = self.gates().is_some();
        for k in 0..q {
            for j in 0..p {
                let value = coefficients[k * p + j];
                actor.parameters[weights.start + j * q + k] = value as f32;
                if gated {
                    // Far from 0 on either side, the gate of test time is exactly 0 or 1.
                    let open = if value == 0.0 { -10.0 } else { 10.0 };
                    actor.parameters[gates.start + j * q + k] = open;
                }
            }
        }
        Ok(actor)
    }
}

/// What each observation is divided by.
fn scales(observation: &Space, scaled: bool) -> Vec<f64> {
    let scale = |k: usize| if scaled { observation.scale(k) } else { 1.0 };
    (0..observation.len()).map(scale).collect()
}

/// As it is used: with the gates of test time, without noise.
impl Policy for Actor {
    fn start(&self, rows: usize) -> Result<Box<dyn Act + '_>> {
        Ok(Box::new(ActorAct {
            actor: self,
            pass: ActorPass::new(self, rows),
        }))
    }
}

struct ActorAct<'a> {
    actor: &'a Actor,
    pass: ActorPass,
}

impl Act for ActorAct<'_> {
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        _: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()> {
        let chosen =
            self.pass
                .forward(self.actor.parameters(), observation, rows, Draw::TestTime)?;
        let pairs = action.iter_mut().zip(chosen);
        pairs.for_each(|(slot, a)| *slot = f64::from(*a));
        Ok(())
    }
}
