//! The loop: episodes, experience, updates.

use ell0::{gates::Penalty, rng::Stream};

use super::{Actor, ActorPass, Algorithm, EpisodeRecord, TrainConfig, exploring::Exploring};
use crate::{
    environment::{Environment, Space, check},
    error::{Error, Result},
    replay::{Batch, Replay, Transition},
    rollout::Rollout,
};

/// A policy in training.
pub struct Training {
    pub(super) config: TrainConfig,
    pub(super) world: Box<dyn Environment>,
    /// What the policy chooses, beside the world that is being stepped.
    space: Space,
    pub(super) agent: Box<dyn Algorithm>,
    pub(super) replay: Replay,
    pub(super) episode: u64,
    pub(super) env_steps: u64,
    pub(super) q_scale: f64,
    /// Factor by which the price is steered towards the wanted number of terms.
    pub(super) steering: f64,
    pub(super) history: Vec<EpisodeRecord>,
    stream: Stream,
    act: ActorPass,
    rollout: Rollout,
    batch: Batch,
    memory: Experience,
}

/// The steps of the episode that is being played.
#[derive(Default)]
struct Experience {
    observations: Vec<f32>,
    actions: Vec<f32>,
    /// Reward, terminated, truncated.
    steps: Vec<(f64, bool, bool)>,
}

impl Training {
    /// Training from the beginning, in a world; the `environment` of the settings is only its name.
    pub fn new(config: TrainConfig, world: Box<dyn Environment>) -> Result<Self> {
        config.check()?;
        check(world.as_ref())?;
        let kind = config.kind()?;
        let stream = Stream::new(config.seed).split("train");
        let (observation, action) = (world.observation_space(), world.action_space());
        let actor = Actor::new(&kind, observation, action, &stream.split("actor"))?;
        Ok(Training {
            space: action.clone(),
            replay: Replay::new(config.replay, observation.len(), action.len())?,
            act: ActorPass::new(&actor, 1),
            rollout: Rollout::new(world.as_ref(), 1),
            agent: config.agent.build(actor, &stream)?,
            episode: 0,
            env_steps: 0,
            q_scale: 0.0,
            steering: 1.0,
            history: Vec::new(),
            batch: Batch::default(),
            memory: Experience::default(),
            stream,
            config,
            world,
        })
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The world.
    pub fn world(&self) -> &dyn Environment {
        self.world.as_ref()
    }

    /// The policy as it is now.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.agent.actor()
    }

    /// Whether all episodes are done.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.episode >= self.config.episodes
    }

    /// One episode and the updates after it. If the world breaks down, training is as it was before the episode.
    pub fn episode(&mut self) -> Result<EpisodeRecord> {
        let training_return = self.play()?;
        self.episode += 1;
        let mut loss = None;
        if self.episode > self.config.updates_after && self.config.updates > 0 {
            loss = Some(self.learn()?);
        }
        let actor = self.agent.actor();
        let record = EpisodeRecord {
            episode: self.episode,
            env_steps: self.env_steps,
            training_return,
            critic_loss: loss,
            terms: actor.terms(),
            q_scale: self.q_scale,
            price: self.price(),
            evaluation_return: None,
            prob_active: actor.prob_active(),
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

    /// Plays an episode and, when it is over, remembers it; its return.
    fn play(&mut self) -> Result<f64> {
        let mut rng = [self.stream.split("episode").at(self.episode)];
        let random = self.episode < self.config.random_episodes;
        let mut policy = Exploring {
            pass: &mut self.act,
            parameters: self.agent.policy_parameters(),
            space: &self.space,
            noise: (!random).then_some(self.config.exploration),
        };
        let memory = &mut self.memory;
        memory.observations.clear();
        memory.actions.clear();
        memory.steps.clear();
        let mut total = 0.0;
        self.world.reset(&mut rng[0]);
        let worlds = std::slice::from_mut(&mut self.world);
        let first = self.episode;
        self.rollout
            .run(worlds, &mut policy, &mut rng, first, &mut |moment| {
                if memory.steps.is_empty() {
                    memory.observations.extend_from_slice(moment.observation);
                }
                memory
                    .observations
                    .extend_from_slice(moment.next_observation);
                memory
                    .actions
                    .extend(moment.action.iter().map(|a| *a as f32));
                let step = moment.step;
                memory
                    .steps
                    .push((step.reward, step.terminated, step.truncated));
                total += step.reward;
                Ok(())
            })?;
        // Nothing was remembered before: a world that breaks down in the middle costs nothing. Single precision may be too small for a reward.
        memory.check(&self.config.environment, &self.space, first + 1)?;
        let (o, a) = (self.world.observation_space().len(), self.space.len());
        for (k, &(reward, terminated, truncated)) in memory.steps.iter().enumerate() {
            self.replay.push(Transition {
                observation: &memory.observations[k * o..][..o],
                action: &memory.actions[k * a..][..a],
                reward,
                next_observation: &memory.observations[(k + 1) * o..][..o],
                terminated,
                truncated,
            })?;
        }
        self.env_steps += memory.steps.len() as u64;
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
        let mut total = 0.0;
        let updates = self.stream.split("update");
        for _ in 0..self.config.updates {
            let mut rng = updates.at(self.agent.updates());
            let rows = self.agent.batch();
            self.replay.sample(rows, &mut rng, &mut self.batch)?;
            self.agent.draw(&mut rng);
            let price = self.price();
            let penalty = if price > 0.0 {
                Penalty::expected_l0(price)?
            } else {
                Penalty::none()
            };
            let record = self.agent.update(&self.batch, &penalty)?;
            self.q_scale += 0.01 * (record.q_scale - self.q_scale);
            total += record.critic_loss;
        }
        // Towards the wanted number of terms, slowly.
        if self.episode >= self.config.lambda_from
            && let Some(wanted) = self.config.terms
            && let Some(terms) = self.agent.actor().terms()
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

impl Experience {
    /// Whether rewards and actions are finite in single precision, too: that is how they are remembered.
    fn check(&self, environment: &str, space: &Space, episode: u64) -> Result<()> {
        if let Some(at) = self.actions.iter().position(|a| !a.is_finite()) {
            return Err(Error::Action {
                action: space.names()[at % space.len()].clone(),
                episode,
                step: (at / space.len()) as u64 + 1,
                value: f64::from(self.actions[at]),
            });
        }
        match self.steps.iter().position(|s| !(s.0 as f32).is_finite()) {
            None => Ok(()),
            Some(k) => Err(Error::World {
                environment: environment.into(),
                episode,
                step: k as u64 + 1,
                what: "the reward".into(),
                value: self.steps[k].0,
            }),
        }
    }
}
