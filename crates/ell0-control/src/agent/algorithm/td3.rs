//! Twin delayed deep deterministic policy gradients (Fujimoto, van Hoof and Meger 2018), from top to bottom: settings, randomness, one update in the order of the paper, memory.

use ell0::{
    network::{
        Activation, Architecture, Dense, Draw, Gating, Init, Loss, Mlp, MlpConfig,
        Noise as GateNoise, Pass,
    },
    rng::{Generator, Stream},
    training::Group,
};
use serde::{Deserialize, Serialize};

use super::{Algorithm, Memory, Price, UpdateRecord, learner::Learner};
use crate::{
    agent::{Actor, ActorPass},
    error::{Error, Result, require_parameter, require_size},
    replay::Batch,
};

/// The settings of an update.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `discount` | 0.99 | worth of the next step's return |
/// | `tau` | 0.005 | share of the networks that their targets take over at a time |
/// | `twin` | yes | two critics, of which the lower is believed; no: one, as in DDPG |
/// | `policy_delay` | 2 | updates of the critics for one of the policy; 1 in DDPG |
/// | `smoothing` | 0.2 | noise on the actions of the target policy, relative to half their range; 0 in DDPG |
/// | `smoothing_clip` | 0.5 | its greatest size, relative to half the range |
/// | `critic_rate` | 3e-4 | learning rate of the critics |
/// | `actor_rate` | 3e-4 | learning rate of the policy's weights |
/// | `gate_rate` | as `actor_rate` | learning rate of the policy's gates |
/// | `gate_floor` | 0 | least probability of a gate to be open while it learns, so that it can open again; a gate at the floor is shut at test time |
/// | `sampled_targets` | no | whether gates are drawn in the target policy, too, instead of those of test time |
/// | `batch` | 256 | rows of a batch |
/// | `critic_hidden` | 256, 256 | hidden widths of the critics |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct Td3Config {
    pub discount: f64,
    pub tau: f64,
    pub twin: bool,
    pub policy_delay: u64,
    pub smoothing: f64,
    pub smoothing_clip: f64,
    pub critic_rate: f64,
    pub actor_rate: f64,
    pub gate_rate: Option<f64>,
    pub gate_floor: f64,
    pub sampled_targets: bool,
    pub batch: usize,
    pub critic_hidden: Vec<usize>,
}

impl Default for Td3Config {
    fn default() -> Self {
        Td3Config {
            discount: 0.99,
            tau: 0.005,
            twin: true,
            policy_delay: 2,
            smoothing: 0.2,
            smoothing_clip: 0.5,
            critic_rate: 3e-4,
            actor_rate: 3e-4,
            gate_rate: None,
            gate_floor: 0.0,
            sampled_targets: false,
            batch: 256,
            critic_hidden: vec![256, 256],
        }
    }
}

/// At a higher probability to be open, a gate of usual shape would not be shut at test time.
const MOST_FLOOR: f64 = 0.2;

/// Widest layer of a critic, and most values of a batch in all of its layers.
const MOST_WIDTH: usize = 4096;
const MOST_ACTIVATIONS: usize = 1 << 25;

impl Td3Config {
    /// Deep deterministic policy gradients (Lillicrap et al. 2015): the same with one critic, no delay, no smoothing.
    #[must_use]
    pub fn ddpg() -> Self {
        Td3Config {
            twin: false,
            policy_delay: 1,
            smoothing: 0.0,
            ..Td3Config::default()
        }
    }

    /// The same as a policy of few parameters likes it.
    pub(super) fn small(self) -> Self {
        Td3Config {
            critic_hidden: vec![64, 64],
            actor_rate: 1e-3,
            gate_rate: Some(5e-3),
            gate_floor: 0.01,
            ..self
        }
    }

    fn check(&self) -> Result<()> {
        let parameter = require_parameter;
        let share = "it must lie in [0, 1]";
        parameter(
            "discount",
            self.discount,
            (0.0..=1.0).contains(&self.discount),
            share,
        )?;
        parameter("tau", self.tau, (0.0..=1.0).contains(&self.tau), share)?;
        let size = "it must be finite and not negative";
        for (name, value) in [
            ("smoothing", self.smoothing),
            ("smoothing_clip", self.smoothing_clip),
        ] {
            parameter(name, value, value >= 0.0 && value.is_finite(), size)?;
        }
        for (name, value) in [
            ("critic_rate", self.critic_rate),
            ("actor_rate", self.actor_rate),
            ("gate_rate", self.gate_rate.unwrap_or(self.actor_rate)),
        ] {
            let ok = value > 0.0 && value.is_finite();
            parameter(name, value, ok, "it must be positive and finite")?;
        }
        let ok = (0.0..=MOST_FLOOR).contains(&self.gate_floor);
        let shut = "from 0 to 0.2: at the floor a gate is shut at test time";
        parameter("gate_floor", self.gate_floor, ok, shut)?;
        let one = "it must be at least 1";
        let delay = self.policy_delay;
        parameter("policy_delay", delay as f64, delay >= 1, one)?;
        parameter("batch", self.batch as f64, self.batch >= 1, one)?;
        for &width in &self.critic_hidden {
            let ok = (1..=MOST_WIDTH).contains(&width);
            parameter("critic_hidden", width as f64, ok, "from 1 to 4096 wide")?;
        }
        let widths = self
            .critic_hidden
            .iter()
            .fold(1, |sum, w| w.saturating_add(sum));
        let ok = self.batch.saturating_mul(widths) <= MOST_ACTIVATIONS;
        let size = "times the widths of the critic it must be at most 2^25: what is computed for a batch is kept";
        parameter("batch", self.batch as f64, ok, size)
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

/// The gates of each layer, and where P(z ≠ 0) = σ(log α − β log(−γ/ζ)) is the least that is allowed; none for 0.
fn floors(architecture: &Architecture, least: f64) -> Vec<(std::ops::Range<usize>, f32)> {
    let layers = architecture.layers().iter().enumerate();
    let floor = |(k, layer): (usize, &Dense)| match layer.gating {
        Gating::Gated(spec) if least > 0.0 => {
            let gate = spec.distribution;
            let shift = gate.beta() * (-gate.gamma() / gate.zeta()).ln();
            let location = (least / (1.0 - least)).ln() + shift;
            Some((architecture.log_alphas(k), location as f32))
        }
        _ => None,
    };
    layers.filter_map(floor).collect()
}

/// Half the range of an action, its least and its greatest value, in single precision.
#[derive(Clone, Copy, Debug)]
struct Range {
    half: f32,
    low: f32,
    high: f32,
}

/// A policy and its critics in training.
#[derive(Clone, Debug)]
pub struct Td3 {
    config: Td3Config,
    actor: Actor,
    /// What noise on each action is relative to, and its least and greatest value.
    ranges: Vec<Range>,
    policy: Learner,
    critics: Vec<Learner>,
    updates: u64,
    noise: Noise,
    actor_pass: ActorPass,
    critic_passes: Vec<Pass>,
    /// Observation and action side by side, columns after columns: what a critic sees.
    seen: Vec<f32>,
    d_seen: Vec<f32>,
    target: Vec<f32>,
    /// Gates, and the location that they do not fall below.
    floors: Vec<(std::ops::Range<usize>, f32)>,
    /// The gradient of what each law pays by itself.
    paid: Vec<f32>,
    critic_architecture: Architecture,
}

impl Td3 {
    /// An agent with random critics.
    pub fn new(config: Td3Config, actor: Actor, stream: &Stream) -> Result<Self> {
        config.check()?;
        let action = actor.action_space();
        let range = |k: usize| Range {
            half: action.half(k) as f32,
            low: action.low(k) as f32,
            high: action.high(k) as f32,
        };
        let ranges: Vec<Range> = (0..action.len()).map(range).collect();
        let inputs = actor.observation_space().len() + ranges.len();
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
            ranges,
            updates: 0,
            noise: Noise::default(),
            actor_pass: ActorPass::new(&actor, rows),
            critic_passes: vec![Pass::new(&architecture, rows); critics.len()],
            seen: vec![0.0; rows * inputs],
            d_seen: vec![0.0; rows * inputs],
            target: vec![0.0; rows],
            floors: floors(actor.architecture(), config.gate_floor),
            paid: Vec::new(),
            critic_architecture: architecture,
            actor,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &Td3Config {
        &self.config
    }

    /// The critics' layers.
    pub fn critic_architecture(&self) -> &Architecture {
        &self.critic_architecture
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

    /// The randomness of the next update, to be changed: for comparison with what others computed.
    pub fn noise_mut(&mut self) -> &mut Noise {
        &mut self.noise
    }

    /// Everything that learns, by name.
    fn learners(&self) -> impl Iterator<Item = (String, &Learner)> {
        let critics = self.critics.iter().enumerate();
        std::iter::once(("policy".to_string(), &self.policy))
            .chain(critics.map(|(k, c)| (format!("critic{k}"), c)))
    }
}

impl Algorithm for Td3 {
    fn batch(&self) -> usize {
        self.config.batch
    }

    fn draw(&mut self, rng: &mut Generator) {
        let rows = self.config.batch;
        let noise = &mut self.noise;
        noise.smoothing.resize(rows * self.ranges.len(), 0.0);
        noise
            .smoothing
            .iter_mut()
            .for_each(|e| *e = rng.normal() as f32);
        let architecture = self.actor.architecture();
        // Gates of the policy are drawn for its own updates, those of its target only if that is wanted.
        let sampled = self.config.sampled_targets;
        let policy = (self.updates + 1).is_multiple_of(self.config.policy_delay);
        let drawn = [policy || sampled, sampled];
        let rows = self.actor.body_rows(rows);
        for ((shared, by_row), _) in noise.gates.iter_mut().zip(drawn).filter(|g| g.1) {
            shared.resize(architecture.shared_noise_len(), 0.0);
            by_row.resize(architecture.row_noise_len(rows), 0.0);
            rng.fill_uniform(shared);
            rng.fill_uniform(by_row);
        }
    }

    fn update(&mut self, batch: &Batch, price: &Price) -> Result<UpdateRecord> {
        let rows = batch.rows;
        require_size("a batch", rows, self.config.batch)?;
        // Numbers of the observations; actions stand behind them.
        let o = rows * self.actor.observation_space().len();
        for (what, found, expected) in [
            ("the observations of a batch", batch.observation.len(), o),
            (
                "the next observations of a batch",
                batch.next_observation.len(),
                o,
            ),
            (
                "the actions of a batch",
                batch.action.len(),
                rows * self.ranges.len(),
            ),
            ("the rewards of a batch", batch.reward.len(), rows),
            ("the ends of a batch", batch.terminated.len(), rows),
        ] {
            require_size(what, found, expected)?;
        }
        let noise = &self.noise;
        require_size(
            "the noise of an update",
            noise.smoothing.len(),
            rows * self.ranges.len(),
        )?;
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
        for (k, &Range { half, low, high }) in self.ranges.iter().enumerate() {
            let column = k * rows..(k + 1) * rows;
            let pairs = actions[column.clone()]
                .iter()
                .zip(&noise.smoothing[column.clone()]);
            for (seen, (action, epsilon)) in self.seen[o..][column].iter_mut().zip(pairs) {
                let smoothing = (sigma * half * epsilon).clamp(-clip * half, clip * half);
                *seen = (action + smoothing).clamp(low, high);
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
            let after = if batch.terminated[row] {
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
            let groups = [Group {
                range: everything.clone(),
                learning_rate: self.config.critic_rate,
            }];
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
            let paid = if price.factors.is_empty() {
                let (parameters, gradient) = (&policy.parameters, &mut policy.gradient);
                architecture.penalise(parameters, &price.penalty, gradient)?
            } else {
                // Weights and gates of a dictionary stand term after term, a law beside the other.
                let laws = price.factors.len();
                require_size("the factors of a price", laws, self.actor.laws())?;
                self.paid.clear();
                self.paid.resize(policy.gradient.len(), 0.0);
                let parameters = &policy.parameters;
                let paid = architecture.penalise(parameters, &price.penalty, &mut self.paid)?;
                let rows = policy.gradient.chunks_mut(laws).zip(self.paid.chunks(laws));
                for (gradient, paid) in rows {
                    for ((g, p), factor) in gradient.iter_mut().zip(paid).zip(&price.factors) {
                        *g += p * *factor as f32;
                    }
                }
                paid
            };
            let loss = paid - mean;
            // Before the step, too; every one is looked at, which takes no time side by side.
            let broken = |bad: bool, g: &f32| bad | !g.is_finite();
            if !loss.is_finite() || policy.gradient.iter().fold(false, broken) {
                return Err(Error::NotFinite {
                    what: "the policy's loss, or its gradient,",
                    value: loss,
                });
            }
            let groups = [
                Group {
                    range: architecture.weights_and_biases(),
                    learning_rate: self.config.actor_rate,
                },
                Group {
                    range: architecture.all_log_alphas(),
                    learning_rate: self.config.gate_rate.unwrap_or(self.config.actor_rate),
                },
            ];
            policy
                .adam
                .step(&mut policy.parameters, &policy.gradient, 1.0, &groups)?;
            for (gates, least) in &self.floors {
                let gates = &mut policy.parameters[gates.clone()];
                gates.iter_mut().for_each(|g| *g = g.max(*least));
            }
            actor_loss = Some(loss);
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
    fn updates(&self) -> u64 {
        self.updates
    }

    fn actor(&self) -> Actor {
        let mut actor = self.actor.clone();
        let parameters = actor.parameters_mut();
        parameters.copy_from_slice(&self.policy.parameters);
        actor
    }

    fn policy_parameters(&self) -> &[f32] {
        &self.policy.parameters
    }

    fn memory(&self) -> Memory {
        let mut memory = Memory::default();
        for (name, learner) in self.learners() {
            learner.remember(&name, &mut memory);
        }
        memory.counters.insert("updates".into(), self.updates);
        memory
    }

    fn restore(&mut self, mut memory: Memory) -> Result<()> {
        self.policy.restore("policy", &mut memory)?;
        for (k, critic) in self.critics.iter_mut().enumerate() {
            critic.restore(&format!("critic{k}"), &mut memory)?;
        }
        self.updates = memory.count("updates")?;
        Ok(())
    }
}
