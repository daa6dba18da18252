//! Control policies, learned by acting: some agents, each with some seeds, side by side, saved now and then.

mod events;
mod figures;
mod finer;
mod folder;
mod job;
mod page;
mod plan;
mod refine;
mod results;

use std::path::Path;

use ell0::wording::shown;
use ell0_control::{
    agent::{FineTuneConfig, TrainConfig, Training},
    environment::{Environment, GridConfig, make},
};
use serde::{Deserialize, Serialize};

pub(crate) use folder::kind;
pub(crate) use page::{RESULT_HEADER, result_row, returns};
pub use plan::TrainPlan;
pub use results::{AgentResult, MetricLine, TrainedPolicy, TrainingRun};

use self::job::Job;
use crate::{
    error::{Error, Result},
    folder::growing::Site,
    jobs::side_by_side,
    metrics::Metrics,
    observer::{Event, Observer},
};

/// What learns, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// What its files are named after; empty if it is the only one.
    pub name: String,
    /// Whether it is tuned after training, if others are.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub tuned: bool,
    /// How it is trained.
    pub training: TrainConfig,
}

fn yes() -> bool {
    true
}

/// Everything that a run of training depends on.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `command` | train | the words that such a run is begun with | |
/// | `seeds` | 1 | seeds of each agent, counted from the one in its settings | 1 to 1000 |
/// | `prune` | yes | whether terms that do nothing are dropped after training | |
/// | `fine_tune` | no | whether the remaining coefficients are tuned on rollouts after training | dictionaries only |
/// | `exchange` | no | whether, after tuning, terms are exchanged for others that serve better, or nearly as well and are simpler | with `fine_tune` |
/// | `optimum` | no | whether policies are compared with optimal control where that is known | |
/// | `generations` | 30 | generations of candidates of that tuning | ≥ 1 |
/// | `as_published` | no | whether the time limit ends an episode for good, as in the published code: see [`published`](ell0_control::published) | |
/// | `agents` | one | what learns, and how | at least one, all in the same world |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TrainSettings {
    pub command: String,
    pub seeds: u64,
    pub prune: bool,
    pub fine_tune: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exchange: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optimum: bool,
    #[serde(default = "generations", skip_serializing_if = "is_usual")]
    pub generations: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_published: bool,
    pub agents: Vec<AgentSettings>,
}

fn generations() -> usize {
    FineTuneConfig::default().generations
}

fn is_usual(count: &usize) -> bool {
    *count == generations()
}

impl Default for TrainSettings {
    fn default() -> Self {
        TrainSettings::new(TrainConfig::default())
    }
}

/// Episodes longer than this would take too long to compute optimal control for.
const LONGEST_OPTIMUM: u32 = 1000;

/// Seeds of one run.
const MOST_SEEDS: u64 = 1000;

impl TrainSettings {
    /// One agent with one seed.
    #[must_use]
    pub fn new(training: TrainConfig) -> Self {
        TrainSettings {
            command: "train".into(),
            seeds: 1,
            prune: true,
            fine_tune: false,
            exchange: false,
            optimum: false,
            generations: generations(),
            as_published: false,
            agents: vec![AgentSettings {
                name: String::new(),
                tuned: true,
                training,
            }],
        }
    }

    /// The name of the world that all agents act in.
    #[must_use]
    pub fn environment(&self) -> &str {
        let first = self.agents.first();
        first.map_or("", |agent| agent.training.environment.as_str())
    }

    /// Mistakes are found before anything is done.
    pub fn check(&self, world: &dyn Environment) -> Result<()> {
        ell0_control::environment::check(world)?;
        if !(1..=MOST_SEEDS).contains(&self.seeds) {
            return Err(Error::setting("seeds", self.seeds, "from 1 to 1000"));
        }
        if self.agents.is_empty() {
            return Err(Error::Settings("there is nothing to train"));
        }
        if self.exchange && !self.fine_tune {
            return Err(Error::Settings(
                "terms are exchanged only if they are tuned",
            ));
        }
        for (k, agent) in self.agents.iter().enumerate() {
            let training = &agent.training;
            let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
            if !agent.name.chars().all(plain) || agent.name.starts_with('.') {
                return Err(Error::Unsuitable(format!(
                    "the agent `{}` cannot name a file: letters, digits, - and . can",
                    shown(&agent.name)
                )));
            }
            if self.agents[..k].iter().any(|a| a.name == agent.name) {
                return Err(Error::Unsuitable(format!(
                    "two agents are the same: `{}`",
                    shown(&agent.name)
                )));
            }
            if training.environment != self.environment() {
                return Err(Error::Settings("all agents of a run act in the same world"));
            }
            if training.seed.checked_add(self.seeds - 1).is_none() {
                let expected = format!("there are no {} seeds from there on", self.seeds);
                return Err(Error::setting("seed", training.seed, expected));
            }
            if training.episodes == 0 {
                return Err(Error::setting("episodes", 0, "at least one"));
            }
            let terms = Training::new(training.clone(), world.copy())?
                .actor()
                .terms();
            if let (Some(wanted), None) = (training.terms, terms) {
                let expected = "it is for dictionaries; a network has no terms";
                return Err(Error::setting("terms", wanted, expected));
            }
            if self.fine_tune && agent.tuned && terms.is_none() {
                return Err(Error::Settings(
                    "fine-tuning is for dictionaries; a network has too many coefficients",
                ));
            }
        }
        Ok(())
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        // A file that was changed is looked at before it is checked.
        let seeds = self.seeds.min(MOST_SEEDS);
        let seeds = |agent| (0..seeds).map(move |k| (agent, k));
        let jobs = self.agents.iter().flat_map(seeds);
        jobs.map(|(agent, k)| Job::new(agent, agent.training.seed.saturating_add(k)))
            .collect()
    }

    /// Trains in the world that the settings name, in a new folder or, without one, in memory.
    pub fn run(&self, site: Option<&Site>, observer: &dyn Observer) -> Result<TrainingRun> {
        let world = make(self.environment())?;
        self.run_in(world.as_ref(), site, observer)
    }

    /// Trains in a world of the caller's own; the `environment` of the settings is only its name.
    pub fn run_in(
        &self,
        world: &dyn Environment,
        site: Option<&Site>,
        observer: &dyn Observer,
    ) -> Result<TrainingRun> {
        self.check(world)?;
        let Some(site) = site else {
            return self.train(world, None, observer);
        };
        let _lock = site.begin(&folder::kind(), &self.command, self)?;
        self.train(world, Some(&site.folder), observer)
    }

    /// Goes on with the run in a folder, in the world that its settings name: to its end or, also when it is finished, to more episodes.
    pub fn resume(
        site: &Site,
        command: &str,
        episodes: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<TrainingRun> {
        let settings = TrainSettings::read(site, command)?;
        let world = make(settings.environment())?;
        settings.go_on(world.as_ref(), site, episodes, observer)
    }

    /// Goes on with the run in a folder, in a world of the caller's own.
    pub fn resume_in(
        world: &dyn Environment,
        site: &Site,
        episodes: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<TrainingRun> {
        let settings: TrainSettings = site.read("a training")?;
        settings.go_on(world, site, episodes, observer)
    }

    /// The settings of the run in a folder, which must have been begun with these words.
    pub fn read(site: &Site, command: &str) -> Result<Self> {
        let settings: TrainSettings = site.read(&format!("`ell0 {command}`"))?;
        if settings.command != command {
            return Err(Error::OtherRun {
                folder: site.folder.clone(),
                found: format!("a run of `ell0 {}`", settings.command),
                asked: format!("one of `ell0 {command}`"),
            });
        }
        Ok(settings)
    }

    fn go_on(
        mut self,
        world: &dyn Environment,
        site: &Site,
        episodes: Option<u64>,
        observer: &dyn Observer,
    ) -> Result<TrainingRun> {
        let more = match episodes {
            Some(wanted) => self.lengthen(wanted)?,
            None => false,
        };
        self.check(world)?;
        let _lock = site.go_on(folder::INSIDE)?;
        if more {
            site.change(&self.command, &self)?;
        }
        self.train(world, Some(&site.folder), observer)
    }

    /// The same with more episodes; whether that is a change.
    fn lengthen(&mut self, episodes: u64) -> Result<bool> {
        let had = |agent: &AgentSettings| agent.training.episodes;
        let most = self.agents.iter().map(had).max().unwrap_or(0);
        if episodes < most {
            let expected = format!("the run has {most}: so many or more");
            return Err(Error::setting("episodes", episodes, expected));
        }
        let agents = self.agents.iter_mut();
        agents.for_each(|agent| agent.training.episodes = episodes);
        Ok(episodes > most)
    }

    /// Trains, measures and writes everything.
    fn train(
        &self,
        world: &dyn Environment,
        folder: Option<&Path>,
        observer: &dyn Observer,
    ) -> Result<TrainingRun> {
        let metrics = folder.map(|f| Metrics::new(f.join("metrics.jsonl")));
        let jobs = self.jobs();
        let done = side_by_side(&jobs, observer, |job, observer| {
            let done = job.run(self, world, folder, metrics.as_ref(), observer);
            done.map_err(|error| match at(error, folder) {
                stopped @ Error::Stopped { .. } => stopped,
                error => Error::About {
                    what: job.name.clone(),
                    source: Box::new(error),
                },
            })
        })?;
        let mut run = TrainingRun::new(self.clone(), done.into_iter().flatten().collect());
        let optimum = match self.optimum {
            true => self
                .best_possible(world, observer)
                .map_err(|e| at(e, folder))?,
            false => None,
        };
        for row in run.results.iter_mut().flatten() {
            row.gap = optimum.map(|o| o - row.return_mean);
        }
        if let Some(folder) = folder {
            if let Some(metrics) = metrics {
                metrics.finish(run.metrics.iter().cloned())?;
            }
            run.write(folder)?;
        }
        Ok(run)
    }

    /// The mean return of optimal control where policies are compared, if it is known and takes seconds.
    fn best_possible(
        &self,
        world: &dyn Environment,
        observer: &dyn Observer,
    ) -> Result<Option<f64>> {
        let Some(limit) = world.time_limit().filter(|l| *l <= LONGEST_OPTIMUM) else {
            return Ok(None);
        };
        let note = Event::Note("comparing with optimal control, where it is known …");
        // All agents are saved: what is left is done again.
        if observer.hear(note).is_break() {
            return Err(Error::Stopped { folder: None });
        }
        let optimum = world.optimum(limit, &world.evaluation_starts(), GridConfig::default());
        // What was trained does not depend on it.
        Ok(optimum.ok().flatten().map(|o| o.worth.mean))
    }
}

/// A run that was stopped goes on from its folder.
fn at(error: Error, folder: Option<&Path>) -> Error {
    match error {
        Error::Stopped { .. } => Error::Stopped {
            folder: folder.map(Into::into),
        },
        error => error,
    }
}

/// Text as part of a file's name.
#[must_use]
pub fn file_word(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let word: String = text.chars().map(keep).collect();
    let parts: Vec<&str> = word.split('-').filter(|p| !p.is_empty()).collect();
    parts.join("-")
}
