//! An agent with a seed: trained, pruned, tuned, measured.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ell0_control::{
    Error as ControlError,
    agent::{EpisodeRecord, Refined, Saver, TrainConfig, Training},
    environment::Environment,
    evaluation::evaluate,
    published::LimitEnds,
};

use super::{
    AgentSettings, TrainSettings,
    events::Events,
    refine::Refining,
    results::{AgentResult, MetricLine, TrainedPolicy},
};
use crate::{
    error::{About, Error, Result},
    metrics::Metrics,
    observer::{Event, Observer, seconds_since},
    stopwatch::Stopwatch,
};

/// Episodes between two evaluations.
const EVALUATE_EVERY: u64 = 10;

/// Time between two checkpoints.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// An agent with a seed.
pub(super) struct Job<'a> {
    pub agent: &'a AgentSettings,
    pub seed: u64,
    /// What its files are named after.
    pub name: String,
}

/// What a finished job leaves.
pub(super) struct Finished {
    pub row: AgentResult,
    pub policy: TrainedPolicy,
    pub metrics: Vec<MetricLine>,
}

/// The files of a job that is under way.
struct Files<'a> {
    saver: Saver,
    stopwatch: Stopwatch<'a>,
    events: Events<'a>,
    folder: &'a Path,
}

impl Files<'_> {
    fn save(&mut self, training: &Training) -> Result<()> {
        self.saver.save(training)?;
        self.stopwatch.save()
    }
}

impl<'a> Job<'a> {
    pub fn new(agent: &'a AgentSettings, seed: u64) -> Self {
        let name = match agent.name.as_str() {
            "" => format!("seed{seed}"),
            name => format!("{name}-seed{seed}"),
        };
        Job { agent, seed, name }
    }

    /// What the names of its checkpoint's files begin with.
    pub fn stem(&self, folder: &Path) -> PathBuf {
        folder.join("checkpoints").join(&self.name)
    }

    fn config(&self) -> TrainConfig {
        TrainConfig {
            seed: self.seed,
            ..self.agent.training.clone()
        }
    }

    fn line(&self, record: &EpisodeRecord) -> MetricLine {
        MetricLine {
            run: self.name.clone(),
            policy: self.agent.training.policy.clone(),
            lambda: self.agent.training.lambda,
            seed: self.seed,
            record: record.clone(),
        }
    }

    /// Tells how the job stands; an error if it is to stop.
    fn tell(&self, observer: &dyn Observer, step: u64, note: &str) -> Result<()> {
        let task = &self.name;
        match observer.hear(Event::Reached { task, step, note }) {
            std::ops::ControlFlow::Continue(()) => Ok(()),
            std::ops::ControlFlow::Break(()) => Err(Error::Stopped { folder: None }),
        }
    }

    /// Training from its checkpoint, or from the beginning if there is none.
    fn begin<'f>(
        &'f self,
        world: &dyn Environment,
        folder: Option<&'f Path>,
        observer: &'f dyn Observer,
    ) -> Result<(Training, Option<Files<'f>>)> {
        let config = self.config();
        let Some(folder) = folder else {
            return Ok((Training::new(config, world.copy())?, None));
        };
        let stem = self.stem(folder);
        let begun = Saver::exists(&stem);
        let stopwatch = Stopwatch::new(&stem, begun, observer);
        let (training, saver) = if begun {
            let (mut training, saver) =
                Training::resume(&stem, config, world.copy()).about(|| {
                    "not a checkpoint of this run; delete it to train the seed anew".into()
                })?;
            // The comparison may be what failed.
            let last_one = training.is_over();
            compare(&mut training, last_one)?;
            (training, saver)
        } else {
            let training = Training::new(config, world.copy())?;
            let saver = Saver::create(&stem, &training)?;
            (training, saver)
        };
        let place = folder.join("events").join(&self.name);
        let events = Events::begin(&place, training.history(), observer)?;
        let files = Files {
            saver,
            stopwatch,
            events,
            folder,
        };
        Ok((training, Some(files)))
    }

    /// Trains, or goes on; then drops what does nothing, tunes if that is wanted, and measures. None if nobody wants it any more before it has begun.
    pub fn run(
        &self,
        settings: &TrainSettings,
        world: &dyn Environment,
        folder: Option<&Path>,
        metrics: Option<&Metrics<MetricLine>>,
        observer: &dyn Observer,
    ) -> Result<Option<Finished>> {
        let began = observer.now();
        let start = Event::Began {
            task: &self.name,
            steps: Some(self.agent.training.episodes),
        };
        if observer.hear(start).is_break() {
            return Err(Error::Stopped { folder: None });
        }
        let (mut training, mut files) = match settings.as_published {
            true => self.begin(&LimitEnds(world.copy()), folder, observer)?,
            false => self.begin(world, folder, observer)?,
        };
        if let Some(metrics) = metrics {
            metrics.begin(&self.name, training.history().iter().map(|r| self.line(r)))?;
        }
        self.learn(&mut training, files.as_mut(), metrics, observer)?;
        if training.history().is_empty() {
            return Ok(None);
        }
        let tell = |note: &str| self.tell(observer, self.agent.training.episodes, note);
        let refining = Refining::new(settings, self.agent, self.seed, world, &tell);
        let Refined { actor, steps } = refining.run(training.policy(), training.runners_up())?;
        let result = evaluate(world, &actor, &world.evaluation_starts())?;
        let mut environment_steps = training.environment_steps();
        environment_steps += steps;
        environment_steps.evaluation += result.steps;
        if let Some(files) = &files {
            actor.save(
                files
                    .folder
                    .join(format!("policies/{}.safetensors", self.name)),
            )?;
        }
        let law = actor.model()?;
        let row = AgentResult {
            agent: self.agent.name.clone(),
            policy: self.agent.training.policy.clone(),
            seed: self.seed,
            lambda: actor.terms().map(|_| self.agent.training.lambda),
            return_mean: result.mean,
            return_ci95: result.ci95,
            gap: None,
            terms: actor.terms(),
            laws: actor.terms().map(|_| actor.laws()),
            equation: match actor.shared_law()? {
                Some(shared) => Some(shared.text(5)),
                None => law.as_ref().map(|m| m.text(5)),
            },
            environment_steps,
            fine_tuned: settings.fine_tune && self.agent.tuned,
            seconds: match &files {
                Some(files) => files.stopwatch.seconds(),
                None => seconds_since(observer, began),
            },
        };
        let note = format!("return {:.2}, {:.0} s", row.return_mean, row.seconds);
        // It is finished: a break concerns the others, who hear it themselves.
        let _ = observer.hear(Event::Ended {
            task: &self.name,
            note: &note,
        });
        Ok(Some(Finished {
            row,
            metrics: training.history().iter().map(|r| self.line(r)).collect(),
            policy: TrainedPolicy {
                name: self.name.clone(),
                actor,
                law,
            },
        }))
    }

    /// All episodes that are left, or as many as somebody wants.
    fn learn(
        &self,
        training: &mut Training,
        mut files: Option<&mut Files>,
        metrics: Option<&Metrics<MetricLine>>,
        observer: &dyn Observer,
    ) -> Result<()> {
        let mut saved = observer.now();
        while !training.is_over() {
            if observer.has_enough() && training.is_evaluated() {
                break;
            }
            let record = match training.episode() {
                Ok(record) => record,
                Err(error) => {
                    // A world or a policy that breaks down leaves training as it was before the episode.
                    let before = matches!(
                        error,
                        ControlError::World { .. }
                            | ControlError::Outside { .. }
                            | ControlError::Diverged { .. }
                            | ControlError::Action { .. }
                    );
                    if let (true, Some(files)) = (before, files) {
                        files.save(training)?;
                    }
                    return Err(error.into());
                }
            };
            let last_one = training.is_over() || observer.has_enough();
            if let Err(error) = compare(training, last_one) {
                // What was learned does not depend on it.
                if let Some(files) = files {
                    files.save(training)?;
                }
                return Err(error);
            }
            let last = training.history().last().unwrap_or(&record);
            if let Some(files) = files.as_deref_mut() {
                files.events.push(last)?;
            }
            if let Some(metrics) = metrics {
                metrics.push(&self.line(last))?;
            }
            let told = self.tell(observer, record.episode, &message(training.history()));
            let now = observer.now();
            let due = if now.is_zero() {
                // Without a clock, by count.
                record.episode.is_multiple_of(EVALUATE_EVERY)
            } else {
                // A clock that was set back says nothing.
                now < saved || now - saved > SAVE_EVERY
            };
            if let Some(files) = files.as_deref_mut()
                && (due || last_one || told.is_err())
            {
                files.save(training)?;
                saved = observer.now();
            }
            told?;
        }
        Ok(())
    }
}

/// Measures the policy, if its last episode is one of those after which that is done, or the last one, and it has not been.
fn compare(training: &mut Training, last_one: bool) -> Result<()> {
    let episode = training.history().len() as u64;
    let due = episode.is_multiple_of(EVALUATE_EVERY) || last_one;
    if due && !training.is_evaluated() {
        training.evaluate()?;
    }
    Ok(())
}

/// How training stands, in a line.
fn message(history: &[EpisodeRecord]) -> String {
    let Some(last) = history.last() else {
        return String::new();
    };
    let mut text = format!("return {:.1}", last.training_return);
    if let Some(evaluated) = history.iter().rev().find_map(|r| r.evaluation_return) {
        text += &format!(", evaluated {evaluated:.1}");
    }
    if let Some(terms) = last.terms {
        text += &format!(", {terms} terms");
    }
    if let Some(loss) = last.critic_loss {
        text += &format!(", critic loss {loss:.2}");
    }
    text
}
