//! The loop: episodes, experience, updates.

use ell0::{gates::Penalty, rng::Stream};

use super::{
    Actor, ActorPass, Algorithm, EnvironmentSteps, EpisodeRecord, PenaltyKind, Price, TrainConfig,
    exploring::Exploring,
    selection::{Candidate, Selection},
};
use crate::{
    environment::{Environment, Space, Start, check},
    error::{Error, Result},
    evaluation::{Returns, returns},
    replay::{Batch, Replay, Transition},
    rollout::{Moment, Rollout},
};

/// Starts by which policies are chosen, at most.
const MOST_STARTS: u64 = 250;

/// A policy in training.
pub struct Training {
    pub(super) config: TrainConfig,
    /// The worlds that are stepped side by side.
    worlds: Vec<Box<dyn Environment>>,
    /// What the policy chooses, beside the worlds that are being stepped.
    space: Space,
    pub(super) agent: Box<dyn Algorithm>,
    pub(super) replay: Replay,
    pub(super) episode: u64,
    pub(super) steps: EnvironmentSteps,
    pub(super) q_scale: f64,
    /// Factors by which the price of each law is steered towards the wanted number of terms.
    pub(super) steering: Vec<f64>,
    pub(super) history: Vec<EpisodeRecord>,
    pub(super) selection: Selection,
    /// Where episodes begin by which policies are chosen.
    starts: Vec<Start>,
    stream: Stream,
    act: ActorPass,
    rollout: Rollout,
    batch: Batch,
    memories: Vec<Experience>,
}

/// The steps of an episode that is being played.
#[derive(Clone, Default)]
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
        let actor = Actor::in_world(&kind, world.as_ref(), &stream.split("actor"))?;
        let rows = config.worlds;
        let copies: Vec<_> = (1..rows).map(|_| world.copy()).collect();
        Ok(Training {
            space: action.clone(),
            replay: Replay::new(config.replay, observation.len(), action.len())?,
            act: ActorPass::new(&actor, rows),
            rollout: Rollout::new(world.as_ref(), rows),
            steering: vec![1.0; actor.laws()],
            agent: config.agent.build(actor, &stream)?,
            episode: 0,
            steps: EnvironmentSteps::default(),
            q_scale: 0.0,
            history: Vec::new(),
            selection: Selection::default(),
            starts: Vec::new(),
            batch: Batch::default(),
            memories: vec![Experience::default(); rows],
            worlds: [world].into_iter().chain(copies).collect(),
            stream,
            config,
        })
    }

    /// The settings.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The world, or the first of them.
    pub fn world(&self) -> &dyn Environment {
        self.worlds[0].as_ref()
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
            env_steps: self.steps.learning,
            training_return,
            critic_loss: loss,
            terms: actor.terms(),
            q_scale: self.q_scale,
            price: self.mean_price(),
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

    /// The policy that training has to show for itself: of those that were evaluated the one that is best at its penalty, the smallest where several are as good. The present one if none was, or if the best is not kept.
    #[must_use]
    pub fn policy(&self) -> Actor {
        let mut actor = self.agent.actor();
        if let Some(chosen) = self.selection.chosen(self.config.worth()) {
            actor.parameters_mut().copy_from_slice(&chosen.parameters);
        }
        actor
    }

    /// Policies that were nearly as good as [`policy`](Self::policy), where a number of terms is wanted: which of them is best when terms must go shows when they have gone.
    #[must_use]
    pub fn runners_up(&self) -> Vec<Actor> {
        if self.config.terms.is_none() {
            return Vec::new();
        }
        let others = self.selection.runners_up(self.config.worth());
        let actor = |candidate: &Candidate| {
            let mut actor = self.agent.actor();
            actor
                .parameters_mut()
                .copy_from_slice(&candidate.parameters);
            actor
        };
        others.into_iter().map(actor).collect()
    }

    /// Measures the present policy and writes its mean return into the last record. It may become the best; if it is clearly worse than the best, the penalty gives way until it is not. The starts are not those that finished
    /// policies are compared on, unless neither is wanted.
    pub fn evaluate(&mut self) -> Result<f64> {
        let actor = self.agent.actor();
        let (keep, ease) = (self.config.keep_best, self.config.ease_lambda);
        if self.starts.is_empty() {
            self.starts = self.evaluation_starts(keep || ease);
        }
        let Returns { each, steps } = returns(self.world(), &actor, &self.starts)?;
        self.steps.evaluation += steps;
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        if let Some(last) = self.history.last_mut() {
            last.evaluation_return = Some(mean);
        }
        if keep || ease {
            let candidate = Candidate {
                episode: self.episode,
                size: self.config.size(&actor, self.episode),
                returns: each,
                parameters: actor.parameters().to_vec(),
            };
            self.selection.offer(candidate, self.config.worth());
        }
        Ok(mean)
    }

    /// Steps of the environment so far, by purpose.
    #[must_use]
    pub fn environment_steps(&self) -> EnvironmentSteps {
        self.steps
    }

    /// Whether the present policy has been evaluated.
    #[must_use]
    pub fn is_evaluated(&self) -> bool {
        let last = self.history.last();
        last.is_none_or(|last| last.evaluation_return.is_some())
    }

    fn evaluation_starts(&self, own: bool) -> Vec<Start> {
        let compared = self.world().evaluation_starts();
        if !own {
            return compared;
        }
        let stream = self.stream.split("evaluation");
        let most = MOST_STARTS.min(compared.len() as u64);
        self.world().training_starts(&stream, most)
    }

    /// Plays an episode in each of the worlds and, when all are over, remembers them; their mean return.
    fn play(&mut self) -> Result<f64> {
        let rows = self.worlds.len();
        let first = self.episode * rows as u64;
        let episodes = self.stream.split("episode");
        let mut generators: Vec<_> = (0..rows as u64).map(|k| episodes.at(first + k)).collect();
        let random = self.episode < self.config.random_episodes;
        let mut policy = Exploring {
            pass: &mut self.act,
            parameters: self.agent.policy_parameters(),
            space: &self.space,
            noise: (!random).then_some(self.config.exploration),
            hold: self.config.hold,
            time: 0,
            drawn: Vec::new(),
        };
        let memories = &mut self.memories;
        memories.iter_mut().for_each(Experience::clear);
        for (world, rng) in self.worlds.iter_mut().zip(&mut generators) {
            world.reset(rng);
        }
        let worlds = &mut self.worlds[..];
        self.rollout
            .run(worlds, &mut policy, &mut generators, first, &mut |moment| {
                memories[moment.row].push(moment);
                Ok(())
            })?;
        // Nothing was remembered before: a world that breaks down in the middle costs nothing. Single precision may be too small for a reward.
        for (k, memory) in memories.iter().enumerate() {
            let number = first + k as u64 + 1;
            memory.check(&self.config.environment, &self.space, number)?;
        }
        let (o, a) = (self.worlds[0].observation_space().len(), self.space.len());
        let mut total = 0.0;
        for memory in memories.iter() {
            for (k, &(reward, terminated, truncated)) in memory.steps.iter().enumerate() {
                self.replay.push(Transition {
                    observation: &memory.observations[k * o..][..o],
                    action: &memory.actions[k * a..][..a],
                    reward,
                    next_observation: &memory.observations[(k + 1) * o..][..o],
                    terminated,
                    truncated,
                })?;
                total += reward;
            }
            self.steps.learning += memory.steps.len() as u64;
        }
        Ok(total / rows as f64)
    }

    /// The price now, in units of Q, before it is steered.
    fn price(&self) -> f64 {
        let (from, full) = (self.config.lambda_from, self.config.lambda_full);
        let ramp =
            (self.episode.saturating_sub(from)) as f64 / full.saturating_sub(from).max(1) as f64;
        let scale = if self.config.relative_lambda {
            self.q_scale
        } else {
            1.0
        };
        let easing = match self.config.ease_lambda {
            true => self.selection.easing,
            false => 1.0,
        };
        self.config.lambda * ramp.min(1.0) * scale * easing
    }

    /// The mean price of a law.
    fn mean_price(&self) -> f64 {
        let mean = self.steering.iter().sum::<f64>() / self.steering.len() as f64;
        self.price() * mean
    }

    /// What the policy pays now.
    fn paid(&self) -> Result<Price> {
        let several = self.steering.iter().any(|s| *s != self.steering[0]);
        let price = self.price() * if several { 1.0 } else { self.steering[0] };
        let penalty = match self.config.penalty {
            _ if price <= 0.0 => Penalty::none(),
            PenaltyKind::L0 => Penalty::expected_l0(price)?,
            PenaltyKind::L1 => Penalty::none().with_l1(price)?,
        };
        Ok(Price {
            penalty,
            factors: if several {
                self.steering.clone()
            } else {
                Vec::new()
            },
        })
    }

    fn learn(&mut self) -> Result<f64> {
        let mut total = 0.0;
        let updates = self.stream.split("update");
        for _ in 0..self.config.updates {
            let mut rng = updates.at(self.agent.updates());
            let rows = self.agent.batch();
            self.replay.sample(rows, &mut rng, &mut self.batch)?;
            self.agent.draw(&mut rng);
            let price = self.paid()?;
            let record = self.agent.update(&self.batch, &price)?;
            self.q_scale += 0.01 * (record.q_scale - self.q_scale);
            total += record.critic_loss;
        }
        // Towards the wanted number of terms, slowly.
        if self.episode >= self.config.lambda_from
            && let Some(wanted) = self.config.terms
            && let Some(laws) = self.agent.actor().terms_of_laws()
        {
            let behind = self.config.ease_lambda && self.selection.behind;
            for (steering, terms) in self.steering.iter_mut().zip(laws) {
                // Which of the last few matter is seen better by what is lost without them: up to twice as many may stay.
                *steering *= if terms > 2 * wanted {
                    if behind { 1.0 } else { 1.05 }
                } else if terms < wanted {
                    0.9
                } else {
                    1.0
                };
            }
        }
        Ok(total / self.config.updates as f64)
    }
}

impl Experience {
    fn clear(&mut self) {
        self.observations.clear();
        self.actions.clear();
        self.steps.clear();
    }

    fn push(&mut self, moment: &Moment) {
        if self.steps.is_empty() {
            self.observations.extend_from_slice(moment.observation);
        }
        self.observations.extend_from_slice(moment.next_observation);
        self.actions.extend(moment.action.iter().map(|a| *a as f32));
        let step = moment.step;
        self.steps
            .push((step.reward, step.terminated, step.truncated));
    }

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
