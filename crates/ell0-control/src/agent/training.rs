//! The loop: episodes, experience, updates.

use std::{fmt, str::FromStr};

use ell0::{
    features::{Library, Pairs},
    gates::Penalty,
    network::{Draw, NoisePer},
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use super::{Actor, ActorKind, ActorPass, Noise, Td3, Td3Config};
use crate::{
    environment::{Environment, Step, make},
    error::{Error, Result},
    evaluation::BatchPolicy,
    replay::{Batch, Replay, Transition},
};

/// A policy before the spaces are known.
///
/// | text | policy |
/// | --- | --- |
/// | `network`, `network(256, 256)` | a network with these hidden widths |
/// | `sparse-network(256, 256)` | the same with gates |
/// | any library, such as `polynomial(3)` | a dictionary of its terms |
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyText(pub ActorKind);

impl FromStr for PolicyText {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let trimmed = text.trim();
        for (name, sparse) in [("sparse-network", true), ("network", false)] {
            let Some(rest) = trimmed.strip_prefix(name) else {
                continue;
            };
            let wrong = || Error::Text {
                text: text.into(),
                at: name.len(),
                reason: format!(
                    "expected the widths of the hidden layers, for example {name}(256, 256)"
                ),
            };
            let inside = match rest.trim() {
                "" => "256, 256",
                rest => rest
                    .strip_prefix('(')
                    .and_then(|r| r.strip_suffix(')'))
                    .ok_or_else(wrong)?,
            };
            let hidden: Vec<usize> = inside
                .split(',')
                .map(|w| w.trim().parse().ok().filter(|w| (1..=8192).contains(w)))
                .collect::<Option<_>>()
                .ok_or_else(wrong)?;
            return Ok(PolicyText(if sparse {
                ActorKind::SparseNetwork(hidden)
            } else {
                ActorKind::Network(hidden)
            }));
        }
        let library: Library = trimmed.parse()?;
        Ok(PolicyText(ActorKind::dictionary(library)))
    }
}

impl fmt::Display for PolicyText {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let widths = |w: &[usize]| {
            let w: Vec<String> = w.iter().map(ToString::to_string).collect();
            w.join(", ")
        };
        match &self.0 {
            ActorKind::Network(hidden) => write!(f, "network({})", widths(hidden)),
            ActorKind::SparseNetwork(hidden) => write!(f, "sparse-network({})", widths(hidden)),
            ActorKind::Dictionary { library, .. } => library.fmt(f),
        }
    }
}

/// The settings of training.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `environment` | pendulum(g=9.81) | where it acts |
/// | `policy` | polynomial(3) | what acts: see [`PolicyText`] |
/// | `episodes` | 250 | episodes in all |
/// | `random_episodes` | 25 | episodes of random actions at the beginning |
/// | `updates_after` | 50 | episodes without updates at the beginning |
/// | `updates` | 200 | updates after each episode |
/// | `exploration` | 0.1 | deviation of the noise on actions, relative to their range |
/// | `lambda` | 1e-3 | price of an open gate, relative to the mean size of Q |
/// | `lambda_from`, `lambda_full` | 100, 150 | episodes between which the price rises to its full value |
/// | `relative_lambda` | yes | whether the price is relative to Q; no: as it stands, as in the published code |
/// | `scale_inputs` | yes | whether a dictionary sees observations scaled to their range |
/// | `gates` | row | whether the gates of a dictionary are drawn for each row, or for each batch |
/// | `terms` | none | number of terms that the price is steered to |
/// | `replay` | 1,000,000 | transitions that are remembered |
/// | `seed` | 0 | of everything random |
/// | `agent` | see [`Td3Config`], with critics of width 64, rates 1e-3 (policy) and 5e-3 (gates) | the updates |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TrainConfig {
    pub environment: String,
    pub policy: String,
    pub episodes: u64,
    pub random_episodes: u64,
    pub updates_after: u64,
    pub updates: u64,
    pub exploration: f64,
    pub lambda: f64,
    pub lambda_from: u64,
    pub lambda_full: u64,
    pub relative_lambda: bool,
    pub scale_inputs: bool,
    pub gates: NoisePer,
    pub terms: Option<usize>,
    pub replay: usize,
    pub seed: u64,
    pub agent: Td3Config,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            environment: "pendulum(g=9.81)".into(),
            policy: "polynomial(3)".into(),
            episodes: 250,
            random_episodes: 25,
            updates_after: 50,
            updates: 200,
            exploration: 0.1,
            lambda: 1e-3,
            lambda_from: 100,
            lambda_full: 150,
            relative_lambda: true,
            scale_inputs: true,
            gates: NoisePer::Row,
            terms: None,
            replay: 1_000_000,
            seed: 0,
            agent: Td3Config {
                critic_hidden: vec![64, 64],
                actor_rate: 1e-3,
                gate_rate: Some(5e-3),
                ..Td3Config::default()
            },
        }
    }
}

impl TrainConfig {
    /// The settings of the published code for this environment, policy and seed, with what it gets wrong: the time limit ends an episode for good, targets are not smoothed and their
    /// gates are drawn (once for the batch), observations are not scaled, the price is not related to Q, products of a Fourier library are paired by its mistake.
    pub fn published(self) -> Result<Self> {
        let PolicyText(mut kind) = self.policy.parse()?;
        let mut lambda = 0.005;
        let mut actor_rate = 3e-4;
        if let ActorKind::Dictionary { library, .. } = &mut kind {
            if matches!(library, Library::Sum(_)) {
                lambda = 0.01;
            }
            actor_rate = 1e-3;
            *library = library.clone().with_pairs(Pairs::Published);
        }
        Ok(TrainConfig {
            policy: PolicyText(kind).to_string(),
            updates: 100,
            lambda,
            lambda_from: 0,
            lambda_full: 0,
            relative_lambda: false,
            scale_inputs: false,
            gates: NoisePer::Batch,
            agent: Td3Config {
                smoothing: 0.0,
                actor_rate,
                truncation_ends: true,
                sampled_targets: true,
                ..Td3Config::default()
            },
            ..self
        })
    }
}

/// One episode of training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRecord {
    /// Number of the episode, counted from 1.
    pub episode: u64,
    /// Steps of the environment so far.
    pub env_steps: u64,
    /// Return of the episode, exploration included.
    pub training_return: f64,
    /// Mean loss of the critics over the updates after the episode.
    pub critic_loss: Option<f64>,
    /// Open terms of a dictionary.
    pub terms: Option<usize>,
    /// Mean size of Q.
    pub q_scale: f64,
    /// Price of an open gate, in the units of Q.
    pub price: f64,
    /// Mean return on the evaluation grid, where it was measured.
    pub evaluation_return: Option<f64>,
    /// Probability of each term's gate to be open, of a dictionary.
    pub prob_active: Option<Vec<f32>>,
}

/// A policy in training.
pub struct Training {
    pub(super) config: TrainConfig,
    environment: Box<dyn Environment>,
    pub(super) agent: Td3,
    pub(super) replay: Replay,
    pub(super) episode: u64,
    pub(super) env_steps: u64,
    pub(super) q_scale: f64,
    /// Factor by which the price is steered towards the wanted number of terms.
    pub(super) steering: f64,
    pub(super) history: Vec<EpisodeRecord>,
    stream: Stream,
    act: ActorPass,
}

impl Training {
    /// Training from the beginning.
    pub fn new(config: TrainConfig) -> Result<Self> {
        let environment = make(&config.environment)?;
        Self::in_environment(config, environment)
    }

    /// Training from the beginning in a world of your own; the `environment` of the settings is only its name.
    pub fn in_environment(config: TrainConfig, environment: Box<dyn Environment>) -> Result<Self> {
        let PolicyText(mut kind) = config.policy.parse()?;
        if let ActorKind::Dictionary { noise, scaled, .. } = &mut kind {
            *noise = config.gates;
            *scaled = config.scale_inputs;
        }
        for (name, value) in [
            ("exploration", config.exploration),
            ("lambda", config.lambda),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::Parameter {
                    name: name.into(),
                    value,
                    expected: "it must be finite and not negative",
                });
            }
        }
        let stream = Stream::new(config.seed).split("train");
        let (observation, action) = (environment.observation_space(), environment.action_space());
        let actor = Actor::new(&kind, observation, action, &stream.split("actor"))?;
        let replay = Replay::new(config.replay, observation.len(), action.len())?;
        let act = ActorPass::new(&actor, 1);
        let agent = Td3::new(config.agent.clone(), actor, &stream)?;
        Ok(Training {
            environment,
            agent,
            replay,
            episode: 0,
            env_steps: 0,
            q_scale: 0.0,
            steering: 1.0,
            history: Vec::new(),
            stream,
            act,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The policy as it is now.
    pub fn actor(&self) -> Actor {
        self.agent.actor()
    }

    /// Whether all episodes are done.
    pub fn is_over(&self) -> bool {
        self.episode >= self.config.episodes
    }

    /// One episode and the updates after it.
    pub fn episode(&mut self) -> Result<EpisodeRecord> {
        let training_return = self.play()?;
        self.episode += 1;
        let mut loss = None;
        if self.episode > self.config.updates_after && self.config.updates > 0 {
            loss = Some(self.learn()?);
        }
        let record = EpisodeRecord {
            episode: self.episode,
            env_steps: self.env_steps,
            training_return,
            critic_loss: loss,
            terms: self.agent.actor().terms(),
            q_scale: self.q_scale,
            price: self.price(),
            evaluation_return: None,
            prob_active: self.agent.actor().prob_active(),
        };
        self.history.push(record.clone());
        Ok(record)
    }

    /// All episodes so far.
    pub fn history(&self) -> &[EpisodeRecord] {
        &self.history
    }

    /// Writes the result of an evaluation into the last record.
    pub fn note_evaluation(&mut self, mean_return: f64) {
        if let Some(last) = self.history.last_mut() {
            last.evaluation_return = Some(mean_return);
        }
    }

    fn play(&mut self) -> Result<f64> {
        let mut rng = self.stream.split("episode").at(self.episode);
        let space = self.environment.action_space().clone();
        let (o, a) = (self.environment.observation_space().len(), space.len());
        let mut now = vec![0f32; o];
        let (mut action, mut single) = (vec![0.0; a], vec![0f32; a]);
        let random = self.episode < self.config.random_episodes;
        self.environment.reset(&mut rng);
        self.environment.observe(&mut now);
        let mut total = 0.0;
        // Remembered when the episode is over: if the world breaks down, training is as it was before.
        let mut steps: Vec<Step> = Vec::new();
        let (mut observations, mut actions) = (now.clone(), Vec::new());
        loop {
            if random {
                for k in 0..a {
                    action[k] = space.low[k] + (space.high[k] - space.low[k]) * rng.uniform();
                }
            } else {
                let chosen =
                    self.act
                        .forward(&self.agent.policy.parameters, &now, 1, Draw::TestTime)?;
                for k in 0..a {
                    let noise = self.config.exploration * space.high[k] * rng.normal();
                    action[k] = (f64::from(chosen[k]) + noise).clamp(space.low[k], space.high[k]);
                }
            }
            single
                .iter_mut()
                .zip(&action)
                .for_each(|(s, a)| *s = *a as f32);
            let step = self.environment.step(&action)?;
            self.environment.observe(&mut now);
            if !(step.reward.is_finite() && now.iter().all(|o| o.is_finite())) {
                return Err(Error::World {
                    environment: self.config.environment.clone(),
                    episode: self.episode + 1,
                    step: steps.len() as u64 + 1,
                    reward: step.reward,
                });
            }
            observations.extend_from_slice(&now);
            actions.extend_from_slice(&single);
            total += step.reward;
            steps.push(step);
            if step.terminated || step.truncated {
                break;
            }
        }
        for (k, step) in steps.iter().enumerate() {
            self.replay.push(Transition {
                observation: &observations[k * o..][..o],
                action: &actions[k * a..][..a],
                reward: step.reward,
                next_observation: &observations[(k + 1) * o..][..o],
                terminated: step.terminated,
                truncated: step.truncated,
            })?;
        }
        self.env_steps += steps.len() as u64;
        Ok(total)
    }

    /// The price of an open gate now, in units of Q.
    fn price(&self) -> f64 {
        let (from, full) = (self.config.lambda_from, self.config.lambda_full);
        let ramp =
            (self.episode.saturating_sub(from)) as f64 / full.saturating_sub(from).max(1) as f64;
        let scale = if self.config.relative_lambda {
            self.q_scale
        } else {
            1.0
        };
        self.config.lambda * self.steering * ramp.min(1.0) * scale
    }

    fn learn(&mut self) -> Result<f64> {
        let (mut batch, mut noise) = (Batch::default(), Noise::default());
        let mut total = 0.0;
        for _ in 0..self.config.updates {
            let mut rng = self.stream.split("update").at(self.agent.updates());
            self.replay
                .sample(self.config.agent.batch, &mut rng, &mut batch)?;
            self.agent.draw(&mut rng, &mut noise);
            let price = self.price();
            let penalty = if price > 0.0 {
                Penalty::expected_l0(price)?
            } else {
                Penalty::none()
            };
            let record = self.agent.update(&batch, &noise, &penalty)?;
            self.q_scale += 0.01 * (record.q_scale - self.q_scale);
            total += record.critic_loss;
        }
        // Towards the wanted number of terms, slowly.
        if let (Some(wanted), Some(terms)) = (self.config.terms, self.agent.actor().terms())
            && self.episode >= self.config.lambda_from
        {
            self.steering *= match terms.cmp(&wanted) {
                std::cmp::Ordering::Greater => 1.05,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Less => 0.9,
            };
        }
        Ok(total / self.config.updates as f64)
    }
}

impl BatchPolicy for Actor {
    fn act(&self, observation: &[f32], rows: usize, action: &mut [f64]) -> Result<()> {
        let mut pass = ActorPass::new(self, rows);
        let actions = pass.forward(self.parameters(), observation, rows, Draw::TestTime)?;
        action
            .iter_mut()
            .zip(actions)
            .for_each(|(slot, a)| *slot = f64::from(*a));
        Ok(())
    }
}
