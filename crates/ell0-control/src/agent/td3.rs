//! Twin delayed deep deterministic policy gradients (Fujimoto, van Hoof and Meger 2018), one update a function.

use ell0::{
    gates::Penalty,
    network::{
        Activation, Architecture, Draw, Init, Loss, Mlp, MlpConfig, Noise as GateNoise, Pass,
    },
    rng::{Generator, Stream},
    training::{Adam, AdamConfig, follow},
};
use serde::{Deserialize, Serialize};

use super::{Actor, ActorPass, Td3Config};
use crate::{
    error::{Error, Result, require_size},
    replay::Batch,
};

/// A function with the parameters of its target, its optimizer and its gradient.
#[derive(Clone, Debug)]
pub(super) struct Learner {
    pub parameters: Vec<f32>,
    pub target: Vec<f32>,
    pub adam: Adam,
    gradient: Vec<f32>,
}

impl Learner {
    fn new(parameters: &[f32]) -> Result<Self> {
        Ok(Learner {
            parameters: parameters.to_vec(),
            target: parameters.to_vec(),
            adam: Adam::new(AdamConfig::default(), parameters.len())?,
            gradient: vec![0.0; parameters.len()],
        })
    }

    /// θ' ← τθ + (1−τ)θ'.
    fn follow(&mut self, tau: f64) {
        follow(&mut self.target, &self.parameters, tau);
    }
}

/// The randomness of one update.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// Standard normal numbers for the smoothing of the target policy, a column for each component of the action.
    pub smoothing: Vec<f32>,
    /// Uniform numbers for the gates of the policy and of its target: those drawn for the batch, and those for each row.
    gates: [(Vec<f32>, Vec<f32>); 2],
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct UpdateRecord {
    /// Sum of the critics' mean squared errors.
    pub critic_loss: f64,
    /// −mean Q of the policy's actions plus what it pays for its gates, if the policy was updated.
    pub actor_loss: Option<f64>,
    /// Mean size of the targets of the critics: the scale of Q.
    pub q_scale: f64,
}

/// A policy and its critics in training.
#[derive(Clone, Debug)]
pub struct Td3 {
    config: Td3Config,
    actor: Actor,
    pub(super) policy: Learner,
    pub(super) critics: Vec<Learner>,
    pub(super) updates: u64,
    actor_pass: ActorPass,
    critic_passes: Vec<Pass>,
    /// Observation and action side by side, columns after columns: what a critic sees.
    seen: Vec<f32>,
    d_seen: Vec<f32>,
    target: Vec<f32>,
    critic_architecture: Architecture,
}

impl Td3 {
    /// An agent with random critics.
    pub fn new(config: Td3Config, actor: Actor, stream: &Stream) -> Result<Self> {
        config.check()?;
        let inputs = actor.observations() + actor.max_action().len();
        let mut dims = vec![inputs];
        dims.extend_from_slice(&config.critic_hidden);
        dims.push(1);
        let network = MlpConfig {
            init: Init::Torch,
            ..MlpConfig::new(dims, Activation::Relu)
        };
        let critics: Vec<Mlp> = (0..if config.twin { 2 } else { 1 })
            .map(|k| Mlp::new(&network, &stream.split(&format!("critic {k}"))))
            .collect::<ell0::Result<_>>()?;
        let architecture = critics[0].architecture().clone();
        let rows = config.batch;
        Ok(Td3 {
            policy: Learner::new(actor.parameters())?,
            critics: critics
                .iter()
                .map(|c| Learner::new(c.parameters()))
                .collect::<Result<_>>()?,
            updates: 0,
            actor_pass: ActorPass::new(&actor, rows),
            critic_passes: vec![Pass::new(&architecture, rows); critics.len()],
            seen: vec![0.0; rows * inputs],
            d_seen: vec![0.0; rows * inputs],
            target: vec![0.0; rows],
            critic_architecture: architecture,
            actor,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &Td3Config {
        &self.config
    }

    /// The policy as it is now.
    pub fn actor(&self) -> Actor {
        let mut actor = self.actor.clone();
        actor
            .parameters_mut()
            .copy_from_slice(&self.policy.parameters);
        actor
    }

    /// The critics' layers.
    pub fn critic_architecture(&self) -> &Architecture {
        &self.critic_architecture
    }

    /// Updates so far.
    pub fn updates(&self) -> u64 {
        self.updates
    }

    /// Parameters of the policy, to be changed: (now, target).
    pub fn policy_parameters_mut(&mut self) -> (&mut [f32], &mut [f32]) {
        (&mut self.policy.parameters, &mut self.policy.target)
    }

    /// Parameters of the critics, to be changed: (now, target) of each.
    pub fn critic_parameters_mut(&mut self) -> Vec<(&mut [f32], &mut [f32])> {
        self.critics
            .iter_mut()
            .map(|c| (&mut c.parameters[..], &mut c.target[..]))
            .collect()
    }

    /// The gradient of the policy's last update.
    pub fn policy_gradient(&self) -> &[f32] {
        &self.policy.gradient
    }

    /// Draws the randomness of an update.
    pub fn draw(&self, rng: &mut Generator, noise: &mut Noise) {
        let rows = self.config.batch;
        noise
            .smoothing
            .resize(rows * self.actor.max_action().len(), 0.0);
        noise
            .smoothing
            .iter_mut()
            .for_each(|e| *e = rng.normal() as f32);
        let architecture = self.actor.architecture();
        for (shared, by_row) in &mut noise.gates {
            shared.resize(architecture.shared_noise_len(), 0.0);
            by_row.resize(architecture.row_noise_len(rows), 0.0);
            rng.fill_uniform(shared);
            rng.fill_uniform(by_row);
        }
    }

    /// One update, in the order of the paper. `penalty` is what the policy pays for its open gates.
    pub fn update(
        &mut self,
        batch: &Batch,
        noise: &Noise,
        penalty: &Penalty,
    ) -> Result<UpdateRecord> {
        let rows = batch.rows;
        require_size("a batch", rows, self.config.batch)?;
        require_size(
            "the observations of a batch",
            batch.observation.len().min(batch.next_observation.len()),
            rows * self.actor.observations(),
        )?;
        let max = self.actor.max_action();
        require_size(
            "the noise of an update",
            noise.smoothing.len(),
            rows * max.len(),
        )?;
        let o = self.actor.observations() * rows;
        let gates = |k: usize| {
            let (shared, rows) = &noise.gates[k];
            Draw::Sampled(GateNoise { shared, rows })
        };

        // ã ← π'(s') + clip(ε), within the range of actions.
        let draw = if self.config.sampled_targets {
            gates(1)
        } else {
            Draw::TestTime
        };
        let actions =
            self.actor_pass
                .forward(&self.policy.target, &batch.next_observation, rows, draw)?;
        let (sigma, clip) = (
            self.config.smoothing as f32,
            self.config.smoothing_clip as f32,
        );
        self.seen[..o].copy_from_slice(&batch.next_observation);
        for (k, &max) in max.iter().enumerate() {
            let column = k * rows..(k + 1) * rows;
            let pairs = actions[column.clone()]
                .iter()
                .zip(&noise.smoothing[column.clone()]);
            for (seen, (action, epsilon)) in self.seen[o..][column].iter_mut().zip(pairs) {
                let smoothing = (sigma * max * epsilon).clamp(-clip * max, clip * max);
                *seen = (action + smoothing).clamp(-max, max);
            }
        }

        // y ← r + γ·min Q'(s', ã), unless the episode ended there.
        self.target.fill(f32::INFINITY);
        for (critic, pass) in self.critics.iter().zip(&mut self.critic_passes) {
            let values = pass.forward(&critic.target, &self.seen, Draw::TestTime)?;
            let pairs = self.target.iter_mut().zip(values);
            pairs.for_each(|(least, q)| *least = least.min(*q));
        }
        let discount = self.config.discount as f32;
        let mut q_scale = 0.0;
        for row in 0..rows {
            let ends = batch.terminated[row] || self.config.truncation_ends && batch.truncated[row];
            let after = if ends {
                0.0
            } else {
                discount * self.target[row]
            };
            self.target[row] = batch.reward[row] + after;
            q_scale += f64::from(self.target[row].abs()) / rows as f64;
        }

        // Each critic towards y.
        self.seen[..o].copy_from_slice(&batch.observation);
        self.seen[o..].copy_from_slice(&batch.action);
        let mut critic_loss = 0.0;
        let everything = 0..self.critic_architecture.parameter_len();
        for (critic, pass) in self.critics.iter_mut().zip(&mut self.critic_passes) {
            pass.forward(&critic.parameters, &self.seen, Draw::TestTime)?;
            critic_loss += pass.loss(Loss::MeanSquaredError, &self.target, rows)?;
            // Before the step: what was learned so far stays finite.
            if !critic_loss.is_finite() {
                return Err(Error::NotFinite {
                    what: "the critics' loss",
                    value: critic_loss,
                });
            }
            pass.backward(&critic.parameters, &mut critic.gradient, None)?;
            let groups = [(everything.clone(), self.config.critic_rate)];
            critic
                .adam
                .step(&mut critic.parameters, &critic.gradient, 1.0, &groups)?;
        }
        self.updates += 1;

        // Now and then, the policy towards larger Q₁(s, π(s)), and all targets a little closer.
        let mut actor_loss = None;
        if self.updates.is_multiple_of(self.config.policy_delay) {
            let actions = self.actor_pass.forward(
                &self.policy.parameters,
                &batch.observation,
                rows,
                gates(0),
            )?;
            self.seen[o..].copy_from_slice(actions);
            let (critic, pass) = (&self.critics[0], &mut self.critic_passes[0]);
            let values = pass.forward(&critic.parameters, &self.seen, Draw::TestTime)?;
            let mean = values.iter().map(|q| f64::from(*q)).sum::<f64>() / rows as f64;
            pass.d_output_mut().fill(-1.0 / rows as f32);
            pass.backward_to_input(&critic.parameters, &mut self.d_seen)?;
            let policy = &mut self.policy;
            self.actor_pass.backward(
                &policy.parameters,
                &self.d_seen[o..],
                &mut policy.gradient,
            )?;
            let architecture = self.actor.architecture();
            let price = architecture.penalise(&policy.parameters, penalty, &mut policy.gradient)?;
            let groups = [
                (architecture.weights_and_biases(), self.config.actor_rate),
                (
                    architecture.all_log_alphas(),
                    self.config.gate_rate.unwrap_or(self.config.actor_rate),
                ),
            ];
            policy
                .adam
                .step(&mut policy.parameters, &policy.gradient, 1.0, &groups)?;
            actor_loss = Some(price - mean);
            policy.follow(self.config.tau);
            let tau = self.config.tau;
            self.critics.iter_mut().for_each(|c| c.follow(tau));
        }
        Ok(UpdateRecord {
            critic_loss,
            actor_loss,
            q_scale,
        })
    }
}

impl Td3 {
    /// Everything that learns, by name, for a checkpoint.
    pub(super) fn learners(&self) -> Vec<(String, &Learner)> {
        let critics = self.critics.iter().enumerate();
        std::iter::once(("policy".to_string(), &self.policy))
            .chain(critics.map(|(k, c)| (format!("critic{k}"), c)))
            .collect()
    }

    /// The same, to be restored.
    pub(super) fn learners_mut(&mut self) -> Vec<(String, &mut Learner)> {
        let critics = self.critics.iter_mut().enumerate();
        std::iter::once(("policy".to_string(), &mut self.policy))
            .chain(critics.map(|(k, c)| (format!("critic{k}"), c)))
            .collect()
    }
}
