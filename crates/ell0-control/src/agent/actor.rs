//! Policies with parameters: a = max·tanh(f(observation)), where f is a network, a network with gates, or a dictionary with gates.

use ell0::{
    equation::{Dynamics, Expression, Model},
    features::{Factor, Features, Library, Workspace},
    network::{
        Activation, Architecture, Dense, Draw, GateSpec, Gating, Init, Mlp, MlpConfig, NoisePer,
        Pass, Per,
    },
    rng::Stream,
};

use crate::{
    environment::Space,
    error::{Error, Result, require_size},
};

/// What the function inside a policy is.
#[derive(Clone, Debug, PartialEq)]
pub enum ActorKind {
    /// A plain network with these hidden widths, ReLU.
    Network(Vec<usize>),
    /// The same with gates on every layer.
    SparseNetwork(Vec<usize>),
    /// A linear combination of terms with a gate on each.
    Dictionary {
        /// The terms.
        library: Library,
        /// Whether gates are drawn for each batch or for each row.
        noise: NoisePer,
        /// Whether the terms are of observations scaled to their range.
        scaled: bool,
    },
}

impl ActorKind {
    /// A dictionary with gates drawn for each row, on scaled observations.
    pub fn dictionary(library: Library) -> Self {
        ActorKind::Dictionary {
            library,
            noise: NoisePer::Row,
            scaled: true,
        }
    }
}

/// A policy with parameters.
#[derive(Clone, Debug)]
pub struct Actor {
    architecture: Architecture,
    parameters: Vec<f32>,
    /// The terms of a dictionary, on scaled observations.
    lift: Option<(Library, Features)>,
    /// What observations are divided by before the terms are computed.
    scales: Vec<f64>,
    pub(super) observation_names: Vec<String>,
    pub(super) action_names: Vec<String>,
    max_action: Vec<f32>,
}

impl Actor {
    /// A policy with random parameters for the given spaces.
    pub fn new(
        kind: &ActorKind,
        observation: &Space,
        action: &Space,
        stream: &Stream,
    ) -> Result<Self> {
        let symmetric = action
            .low
            .iter()
            .zip(&action.high)
            .find(|(l, h)| **l != -**h);
        if let Some((_, &high)) = symmetric {
            return Err(Error::Parameter {
                name: "action space".into(),
                value: high,
                expected: "its bounds must be symmetric",
            });
        }
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
        let (model, lift) = match kind {
            ActorKind::Network(hidden) => (network(hidden, None)?, None),
            ActorKind::SparseNetwork(hidden) => (network(hidden, Some(GateSpec::default()))?, None),
            ActorKind::Dictionary { library, noise, .. } => {
                let features = library.features(&observation.names)?;
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
                let model =
                    Mlp::random(Architecture::new(vec![layer])?, Init::Normal(0.01), stream)?;
                (model, Some((library.clone(), features)))
            }
        };
        Ok(Actor {
            architecture: model.architecture().clone(),
            parameters: model.parameters().to_vec(),
            scales: match kind {
                ActorKind::Dictionary { scaled: true, .. } => observation.high.clone(),
                _ => vec![1.0; observation.len()],
            },
            lift,
            observation_names: observation.names.clone(),
            action_names: action.names.clone(),
            max_action: action.high.iter().map(|h| *h as f32).collect(),
        })
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

    /// Number of components of an observation.
    pub fn observations(&self) -> usize {
        self.observation_names.len()
    }

    /// Greatest value of each component of an action.
    pub fn max_action(&self) -> &[f32] {
        &self.max_action
    }

    /// Coefficients of a dictionary in the user's terms (of scaled observations), gates of test time folded in: action after action. None for a network.
    pub fn scaled_coefficients(&self) -> Option<Vec<f64>> {
        let (_, features) = self.lift.as_ref()?;
        let Gating::Gated(spec) = self.architecture.layers()[0].gating else {
            return None;
        };
        let (p, q) = (features.len(), self.max_action.len());
        let weights = &self.parameters[self.architecture.weights(0)];
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let coefficient = |k: usize, j: usize| {
            let at = j * q + k;
            f64::from(weights[at]) * spec.distribution.test_gate(f64::from(log_alphas[at]))
        };
        Some(
            (0..q)
                .flat_map(|k| (0..p).map(move |j| (k, j)))
                .map(|(k, j)| coefficient(k, j))
                .collect(),
        )
    }

    /// Probability of each gate of a dictionary to be open, action after action.
    pub fn prob_active(&self) -> Option<Vec<f32>> {
        let (_, features) = self.lift.as_ref()?;
        let Gating::Gated(spec) = self.architecture.layers()[0].gating else {
            return None;
        };
        let (p, q) = (features.len(), self.max_action.len());
        let log_alphas = &self.parameters[self.architecture.log_alphas(0)];
        let gates = (0..q).flat_map(|k| (0..p).map(move |j| j * q + k));
        let active = |at: usize| spec.distribution.prob_active(f64::from(log_alphas[at])) as f32;
        Some(gates.map(active).collect())
    }

    /// Number of open terms of a dictionary.
    pub fn terms(&self) -> Option<usize> {
        let coefficients = self.scaled_coefficients()?;
        Some(coefficients.iter().filter(|c| **c != 0.0).count())
    }

    /// The features of a dictionary and what observations are divided by before.
    pub fn features(&self) -> Option<(&Library, &Features, &[f64])> {
        let (library, features) = self.lift.as_ref()?;
        Some((library, features, &self.scales))
    }

    /// The same policy with other coefficients of its terms (of scaled observations), all gates open or, where a coefficient is zero, shut.
    pub fn with_coefficients(&self, coefficients: &[f64]) -> Result<Actor> {
        let (p, q) = match &self.lift {
            Some((_, features)) => (features.len(), self.max_action.len()),
            None => (0, 0),
        };
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

    /// The policy of a dictionary in closed form, in the units of the observations: max·tanh(…). None for a network.
    pub fn model(&self) -> Result<Option<Model>> {
        let (Some((_, features)), Some(coefficients)) = (&self.lift, self.scaled_coefficients())
        else {
            return Ok(None);
        };
        let factor_text = |factor: &Factor| {
            let (name, scale) = (
                &self.observation_names[factor.input()],
                self.scales[factor.input()],
            );
            match *factor {
                Factor::Power { exponent: 1, .. } => (name.clone(), 1.0 / scale),
                Factor::Power { exponent, .. } => {
                    (format!("{name}^{exponent}"), scale.powi(-exponent))
                }
                Factor::Call {
                    function,
                    frequency,
                    ..
                } => {
                    let inside = f64::from(frequency) / scale;
                    let text = if inside == 1.0 {
                        format!("{function}({name})")
                    } else {
                        format!("{function}({inside}*{name})")
                    };
                    (text, 1.0)
                }
            }
        };
        let mut equations = Vec::new();
        for ((target, max), law) in self
            .action_names
            .iter()
            .zip(&self.max_action)
            .zip(coefficients.chunks_exact(features.len()))
        {
            let mut inside = String::new();
            for (term, &coefficient) in features.terms().iter().zip(law) {
                if coefficient == 0.0 {
                    continue;
                }
                let parts: Vec<(String, f64)> = term.factors().iter().map(factor_text).collect();
                let value = parts.iter().fold(coefficient, |c, (_, scale)| c * scale);
                let sign = match (inside.is_empty(), value < 0.0) {
                    (true, false) => "",
                    (true, true) => "-",
                    (false, false) => " + ",
                    (false, true) => " - ",
                };
                inside += &format!("{sign}{}", value.abs());
                for (text, _) in &parts {
                    inside += &format!("*{text}");
                }
            }
            if inside.is_empty() {
                inside.push('0');
            }
            let expression =
                Expression::parse(&format!("{max}*tanh({inside})"), &self.observation_names)?;
            equations.push((target.clone(), expression));
        }
        let inputs = self.observation_names.clone();
        Ok(Some(Model::new(inputs, equations, Dynamics::Regression)?))
    }
}

/// Workspace for a policy's forward and backward pass.
#[derive(Clone, Debug)]
pub struct ActorPass {
    pass: Pass,
    lift: Option<Lift>,
    action: Vec<f32>,
    max_action: Vec<f32>,
    rows: usize,
}

#[derive(Clone, Debug)]
struct Lift {
    features: Features,
    factors: Vec<f64>,
    inputs: Vec<f64>,
    values: Vec<f64>,
    seen: Vec<f32>,
    workspace: Workspace,
}

impl ActorPass {
    /// A workspace for batches of at most `capacity` rows.
    pub fn new(actor: &Actor, capacity: usize) -> Self {
        let lift = actor.lift.as_ref().map(|(_, features)| Lift {
            factors: actor.scales.iter().map(|s| 1.0 / s).collect(),
            inputs: vec![0.0; capacity * features.inputs().len()],
            values: vec![0.0; capacity * features.len()],
            seen: vec![0.0; capacity * features.len()],
            workspace: features.workspace(capacity),
            features: features.clone(),
        });
        ActorPass {
            pass: Pass::new(&actor.architecture, capacity),
            lift,
            action: vec![0.0; capacity * actor.max_action.len()],
            max_action: actor.max_action.clone(),
            rows: 0,
        }
    }

    /// The actions for observations; both stand column after column.
    pub fn forward(
        &mut self,
        parameters: &[f32],
        observation: &[f32],
        rows: usize,
        draw: Draw,
    ) -> Result<&[f32]> {
        let input = match &mut self.lift {
            None => observation,
            Some(lift) => {
                let (n, p) = (lift.features.inputs().len(), lift.features.len());
                for (k, column) in observation.chunks_exact(rows).enumerate().take(n) {
                    let room = &mut lift.inputs[k * rows..][..rows];
                    room.iter_mut()
                        .zip(column)
                        .for_each(|(r, x)| *r = f64::from(*x) * lift.factors[k]);
                }
                let values = &mut lift.values[..rows * p];
                lift.features.evaluate_into(
                    &lift.inputs[..rows * n],
                    rows,
                    values,
                    &mut lift.workspace,
                )?;
                lift.seen
                    .iter_mut()
                    .zip(values)
                    .for_each(|(s, v)| *s = *v as f32);
                &lift.seen[..rows * p]
            }
        };
        let output = self.pass.forward(parameters, input, draw)?;
        self.rows = rows;
        let columns = self
            .action
            .chunks_exact_mut(rows)
            .zip(output.chunks_exact(rows));
        for ((action, output), &max) in columns.zip(&self.max_action) {
            action
                .iter_mut()
                .zip(output)
                .for_each(|(a, y)| *a = max * y.tanh());
        }
        Ok(&self.action[..rows * self.max_action.len()])
    }

    /// Overwrites `gradient` with the gradient by all parameters, given that by the actions of the last forward pass.
    pub fn backward(
        &mut self,
        parameters: &[f32],
        d_action: &[f32],
        gradient: &mut [f32],
    ) -> Result<()> {
        let rows = self.rows;
        let d_output = self.pass.d_output_mut();
        let columns = d_output
            .chunks_exact_mut(rows)
            .zip(self.action.chunks_exact(rows));
        for (((d, action), d_action), &max) in columns
            .zip(d_action.chunks_exact(rows))
            .zip(&self.max_action)
        {
            // d tanh y = 1 − tanh² y.
            for ((d, a), da) in d.iter_mut().zip(action).zip(d_action) {
                let t = a / max;
                *d = da * max * (1.0 - t * t);
            }
        }
        Ok(self.pass.backward(parameters, gradient, None)?)
    }
}
