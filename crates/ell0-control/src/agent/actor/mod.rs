//! Policies with parameters: a body (a network, a network with gates, or a dictionary with gates) and behind it a head for each action, which brings its output into the range of the action.

mod closed;
mod file;
mod kind;
mod pass;

pub use closed::TermName;
pub use file::POLICY_FORMAT;
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
    environment::Space,
    error::{Result, require_size},
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
}

/// The layers follow from the kind and the spaces.
impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.observation == other.observation
            && self.action == other.action
            && self.parameters == other.parameters
    }
}

impl Actor {
    /// A policy with random parameters for the given spaces.
    pub fn new(
        kind: &ActorKind,
        observation: &Space,
        action: &Space,
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
            } => {
                let features = library.features(observation.names())?;
                let layer = Dense {
                    inputs: features.len(),
                    outputs: action.len(),
                    activation: Activation::Identity,
                    gating: Gating::Gated(GateSpec {
                        per: Per::Weight,
                        noise: *noise,
                        ..GateSpec::default()
                    }),
                    bias: false,
                };
                let body =
                    Mlp::random(Architecture::new(vec![layer])?, Init::Normal(0.01), stream)?;
                let lift = Lift::of_scaled_inputs(features, &scales(observation, *scaled))?;
                (body, Some(lift))
            }
        };
        Ok(Actor {
            kind: kind.clone(),
            observation: observation.clone(),
            action: action.clone(),
            architecture: body.architecture().clone(),
            parameters: body.parameters().to_vec(),
            lift,
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

    /// What each observation is divided by before the terms are computed.
    #[must_use]
    pub fn scales(&self) -> Vec<f64> {
        let scaled = matches!(self.kind, ActorKind::Dictionary { scaled: true, .. });
        scales(&self.observation, scaled)
    }

    /// Where weights and gates of a dictionary are: (term, action) ↦ place in its layer. None for a network.
    fn gates(&self) -> Option<(GateSpec, usize, usize)> {
        let Gating::Gated(spec) = self.architecture.layers()[0].gating else {
            return None;
        };
        Some((spec, self.features()?.len(), self.action.len()))
    }

    /// Coefficients of a dictionary's terms (of scaled observations), gates of test time folded in: action after action. None for a network.
    pub fn scaled_coefficients(&self) -> Option<Vec<f64>> {
        let (spec, p, q) = self.gates()?;
        let weights = &self.parameters[self.architecture.weights(0)];
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let coefficient = |at: usize| {
            f64::from(weights[at]) * spec.distribution.test_gate(f64::from(log_alphas[at]))
        };
        let places = (0..q).flat_map(|k| (0..p).map(move |j| j * q + k));
        Some(places.map(coefficient).collect())
    }

    /// Probability of each gate of a dictionary to be open, action after action: in the order of [`term_names`](Self::term_names).
    pub fn prob_active(&self) -> Option<Vec<f32>> {
        let (spec, p, q) = self.gates()?;
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let places = (0..q).flat_map(|k| (0..p).map(move |j| j * q + k));
        let active = |at: usize| spec.distribution.prob_active(f64::from(log_alphas[at])) as f32;
        Some(places.map(active).collect())
    }

    /// Number of open terms of a dictionary.
    pub fn terms(&self) -> Option<usize> {
        let coefficients = self.scaled_coefficients()?;
        Some(coefficients.iter().filter(|c| **c != 0.0).count())
    }

    /// The same policy with other coefficients of its terms (of scaled observations), all gates open or, where a coefficient is zero, shut.
    pub fn with_coefficients(&self, coefficients: &[f64]) -> Result<Actor> {
        let (p, q) = self.gates().map_or((0, 0), |(_, p, q)| (p, q));
        require_size("the coefficients of a policy", coefficients.len(), p * q)?;
        let mut actor = self.clone();
        let (weights, gates) = (
            self.architecture.weights(0),
            self.architecture.log_alphas(0),
        );
        for k in 0..q {
            for j in 0..p {
                let value = coefficients[k * p + j];
                actor.parameters[weights.start + j * q + k] = value as f32;
                // Far from 0 on either side, the gate of test time is exactly 0 or 1.
                actor.parameters[gates.start + j * q + k] = if value == 0.0 { -10.0 } else { 10.0 };
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
