//! After training: terms that do nothing are dropped, the others tuned and exchanged if that is wanted.

use ell0::rng::Stream;
use ell0_control::{
    agent::{
        Actor, EnvironmentSteps, ExchangeConfig, FineTuneConfig, PruneConfig, Refined,
        SimplifyConfig, exchange, fine_tune, prune, simplify,
    },
    environment::Environment,
    evaluation::{Return, evaluate},
};

use super::{AgentSettings, TrainSettings};
use crate::error::Result;

/// The refinement of one policy.
pub(super) struct Refining<'a> {
    settings: &'a TrainSettings,
    agent: &'a AgentSettings,
    world: &'a dyn Environment,
    stream: Stream,
    /// Tells what is being done; an error if it is to stop.
    tell: &'a (dyn Fn(&str) -> Result<()> + Sync),
    steps: EnvironmentSteps,
}

impl<'a> Refining<'a> {
    pub fn new(
        settings: &'a TrainSettings,
        agent: &'a AgentSettings,
        seed: u64,
        world: &'a dyn Environment,
        tell: &'a (dyn Fn(&str) -> Result<()> + Sync),
    ) -> Self {
        Refining {
            settings,
            agent,
            world,
            stream: Stream::new(seed).split("refine"),
            tell,
            steps: EnvironmentSteps::default(),
        }
    }

    /// The refined policy, of several the one that is best with the wanted number of terms, and the steps of the environment that it took.
    pub fn run(mut self, policy: Actor, others: Vec<Actor>) -> Result<Refined> {
        let most = self.agent.training.terms;
        // What the penalty did not bring about in time.
        let usual = PruneConfig {
            most,
            ..PruneConfig::default()
        };
        let TrainSettings {
            prune, fine_tune, ..
        } = *self.settings;
        let (mut actor, dropped) = match prune && !others.is_empty() {
            true => self.best_of(policy, others, &usual)?,
            false => (policy, None),
        };
        if fine_tune && self.agent.tuned {
            actor = self.tuned_law(actor, &usual)?;
        } else if let Some(dropped) = dropped {
            actor = dropped;
        } else if prune {
            actor = self.dropped(actor, &usual)?;
        }
        Ok(Refined {
            actor,
            steps: self.steps,
        })
    }

    /// The policy that is worth most when its terms have been dropped, all on the same starts: as it was, and as it is then.
    fn best_of(
        &mut self,
        policy: Actor,
        others: Vec<Actor>,
        usual: &PruneConfig,
    ) -> Result<(Actor, Option<Actor>)> {
        let starts = self.world.training_starts(&self.stream, usual.starts);
        let (mut best, mut most) = ((policy.clone(), None), f64::NEG_INFINITY);
        for finalist in [policy].into_iter().chain(others) {
            let dropped = self.dropped(finalist.clone(), usual)?;
            let Return { mean, steps, .. } = evaluate(self.world, &dropped, &starts)?;
            self.steps.pruning += steps;
            if mean > most {
                (best, most) = ((finalist, Some(dropped)), mean);
            }
        }
        Ok(best)
    }

    /// What a term is worth shows when all are tuned: of a single law, one goes after the other, the rest tuned in between. Several laws have too many coefficients for that, and too many terms that could be exchanged.
    fn tuned_law(&mut self, mut actor: Actor, usual: &PruneConfig) -> Result<Actor> {
        let TrainSettings {
            generations,
            prune,
            exchange,
            ..
        } = *self.settings;
        let single = actor.laws() == 1;
        if prune {
            let wanted = usual.most.unwrap_or(usize::MAX);
            while single && actor.terms().is_some_and(|t| t > wanted) {
                let one_less = PruneConfig {
                    most: actor.terms().map(|t| t - 1),
                    threshold: 0.0,
                    ..usual.clone()
                };
                actor = self.tuned(actor, (generations / 4).max(1))?;
                actor = self.dropped(actor, &one_less)?;
            }
            let only_too_many = PruneConfig {
                threshold: 0.0,
                ..usual.clone()
            };
            actor = self.dropped(actor, &only_too_many)?;
        }
        actor = self.tuned(actor, generations)?;
        if exchange && single {
            let before = actor.clone();
            actor = self.exchanged(actor)?;
            if actor != before {
                actor = self.tuned(actor, generations)?;
            }
            let before = actor.clone();
            actor = self.simplified(actor)?;
            if actor != before {
                actor = self.tuned(actor, generations)?;
            }
        }
        if prune {
            let before = actor.terms();
            actor = self.dropped(actor, usual)?;
            if actor.terms() != before {
                actor = self.tuned(actor, generations)?;
            }
        }
        Ok(actor)
    }

    fn dropped(&mut self, actor: Actor, config: &PruneConfig) -> Result<Actor> {
        self.done("dropping what does nothing", |this, pulse| {
            prune(&actor, this.world, config, &this.stream, pulse)
        })
    }

    fn tuned(&mut self, actor: Actor, generations: usize) -> Result<Actor> {
        let config = FineTuneConfig {
            generations,
            ..FineTuneConfig::default()
        };
        self.done("tuning what is left", |this, pulse| {
            fine_tune(&actor, this.world, &config, &this.stream, pulse)
        })
    }

    fn exchanged(&mut self, actor: Actor) -> Result<Actor> {
        let config = ExchangeConfig {
            most: self.agent.training.terms,
            ..ExchangeConfig::default()
        };
        self.done("exchanging terms", |this, pulse| {
            exchange(&actor, this.world, &config, &this.stream, pulse)
        })
    }

    fn simplified(&mut self, actor: Actor) -> Result<Actor> {
        let config = SimplifyConfig::default();
        self.done("looking for simpler terms", |this, pulse| {
            simplify(&actor, this.world, &config, &this.stream, pulse)
        })
    }

    /// One kind of work, which says what it is and can be stopped.
    fn done(
        &mut self,
        what: &str,
        work: impl FnOnce(&Self, &(dyn Fn() -> bool + Sync)) -> ell0_control::Result<Refined>,
    ) -> Result<Actor> {
        (self.tell)(what)?;
        let refined = work(self, &|| (self.tell)(what).is_ok())?;
        // What was stopped is not finished.
        (self.tell)(what)?;
        self.steps += refined.steps;
        Ok(refined.actor)
    }
}
