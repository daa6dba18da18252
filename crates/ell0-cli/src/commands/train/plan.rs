//! A run of training: some agents, each with some seeds, side by side, saved now and then.

use std::{
    io::{IsTerminal, stderr},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use ell0::rng::Stream;
use ell0_control::{
    agent::{EpisodeRecord, TrainConfig, Training, fine_tune, prune},
    environment::{Environment, make},
    evaluation::evaluate,
};
use ell0_data::write::write_whole;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::{
    events::{self, Events},
    results::{self, Done, Row},
};
use crate::{clock::Clock, report, run_dir::may_replace};

/// Where a job puts its result; none inside if it was interrupted.
type Slot = Mutex<Option<anyhow::Result<Option<Done>>>>;

/// Episodes between two evaluations.
const EVALUATE_EVERY: u64 = 10;

/// Terms below this share of the largest coefficient are dropped after training, if the return does not fall.
const PRUNE_BELOW: f64 = 0.1;

/// Initial states, and generations, of pruning and tuning.
const STARTS: u64 = 250;
const GENERATIONS: usize = 30;

/// Time between two checkpoints.
const SAVE_EVERY: Duration = Duration::from_secs(2);

/// What learns, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What its files are named after; empty if it is the only one.
    pub name: String,
    pub training: TrainConfig,
}

/// Everything that a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The command that made it.
    pub command: String,
    /// Seeds of each agent, counted from the one in its settings.
    pub seeds: u64,
    pub prune: bool,
    pub fine_tune: bool,
    pub agents: Vec<Agent>,
}

/// Whether Ctrl-C was pressed.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// The folders inside the folder of a run.
pub const INSIDE: &[&str] = &["checkpoints", "policies", "events"];

/// What a run leaves in its folder.
const OURS: &[&str] = &[
    "config.toml",
    "checkpoints",
    "policies",
    "events",
    "metrics.jsonl",
    "results.json",
    "returns.svg",
    "returns.png",
    "frontier.svg",
    "frontier.png",
    report::FILE,
    report::COMMAND,
];

/// An agent with a seed.
struct Job<'a> {
    agent: &'a Agent,
    seed: u64,
    name: String,
}

/// What the jobs of a run have in common: the episodes so far of each, and when they were last written.
struct Board {
    episodes: Vec<Vec<EpisodeRecord>>,
    written: Instant,
}

impl Plan {
    /// Mistakes are found before anything is done.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=1000).contains(&self.seeds),
            "{} seeds: from 1 to 1000",
            self.seeds
        );
        ensure!(!self.agents.is_empty(), "there is nothing to train");
        for (k, agent) in self.agents.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
            ensure!(
                agent.name.chars().all(plain) && !agent.name.starts_with('.'),
                "the agent `{}` cannot name a file",
                agent.name
            );
            ensure!(
                self.agents[..k].iter().all(|a| a.name != agent.name),
                "two agents are the same: `{}`",
                agent.name
            );
            ensure!(
                agent.training.seed.checked_add(self.seeds - 1).is_some(),
                "there are no {} seeds from {} on",
                self.seeds,
                agent.training.seed
            );
            let training = Training::new(agent.training.clone())?;
            ensure!(
                agent.training.terms.is_none() || training.actor().terms().is_some(),
                "--terms is for dictionaries; a network has no terms"
            );
            ensure!(
                !self.fine_tune || training.actor().terms().is_some(),
                "--fine-tune is for dictionaries; a network has too many coefficients"
            );
        }
        Ok(())
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        let seeds = |agent| (0..self.seeds).map(move |k| (agent, k));
        let jobs = self.agents.iter().flat_map(seeds);
        jobs.map(|(agent, k)| {
            let seed = agent.training.seed.saturating_add(k);
            let name = match agent.name.as_str() {
                "" => format!("seed{seed}"),
                name => format!("{name}-seed{seed}"),
            };
            Job { agent, seed, name }
        })
        .collect()
    }

    /// Whether a folder holds nothing but the run of this plan.
    pub fn may_throw_away(&self, folder: &Path) -> anyhow::Result<()> {
        may_replace(folder, OURS)?;
        let endings: [&[&str]; 3] = [&[".safetensors", ".seconds"], &[".json"], &[""]];
        for (inside, endings) in INSIDE.iter().zip(endings) {
            let inside = folder.join(inside);
            if inside.exists() {
                let jobs = self.jobs();
                let named = |j: &Job| {
                    endings
                        .iter()
                        .map(|e| j.name.clone() + e)
                        .collect::<Vec<_>>()
                };
                let names: Vec<String> = jobs.iter().flat_map(named).collect();
                let ours: Vec<&str> = names.iter().map(String::as_str).collect();
                may_replace(&inside, &ours)?;
                if endings == [""] {
                    for name in names.iter().map(|n| inside.join(n)).filter(|p| p.exists()) {
                        may_replace(&name, &[events::FILE])?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Trains all jobs, as many at a time as there are cores.
    pub fn all_jobs(&self, folder: &Path) -> anyhow::Result<Vec<Done>> {
        let bars = MultiProgress::new();
        let jobs = self.jobs();
        let width = jobs.iter().map(|j| j.name.len()).max().unwrap_or(0);
        let template =
            format!("{{prefix:{width}}} {{bar:24}} {{pos:>4}}/{{len:<4}} {{msg}} ({{eta}} left)");
        let style = ProgressStyle::with_template(&template).unwrap_or(ProgressStyle::default_bar());
        let slots: Vec<Slot> = jobs.iter().map(|_| Mutex::new(None)).collect();
        let board = Mutex::new(Board {
            episodes: vec![Vec::new(); jobs.len()],
            written: Instant::now(),
        });
        let next = AtomicUsize::new(0);
        let plain = !stderr().is_terminal();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else {
                    return;
                };
                if STOP.load(Ordering::Relaxed) {
                    return;
                }
                let bar = ProgressBar::new(job.agent.training.episodes).with_style(style.clone());
                let bar = bars.add(bar);
                bar.set_prefix(job.name.clone());
                let result = self
                    .one_job(folder, job, &bar, |episodes| {
                        self.show(folder, &jobs, &board, index, episodes)
                    })
                    .with_context(|| job.name.clone());
                if let Ok(Some(done)) = &result {
                    bar.finish_with_message(format!("return {:.1}", done.row.return_mean));
                    if plain {
                        eprintln!(
                            "{}: return {:.2}, {:.0} s",
                            job.name, done.row.return_mean, done.row.seconds
                        );
                    }
                }
                if let Ok(mut slot) = slots[index].lock() {
                    *slot = Some(result);
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        std::thread::scope(|scope| {
            (0..cores.min(jobs.len())).for_each(|_| drop(scope.spawn(work)));
        });
        let _ = bars.clear();
        let mut done = Vec::new();
        for slot in slots {
            // A job that was interrupted, or not begun, has no result.
            if let Some(result) = slot.into_inner().ok().flatten() {
                done.extend(result?);
            }
        }
        Ok(done)
    }

    /// Puts what a job did so far where others can read it: now and then in `metrics.jsonl`.
    fn show(
        &self,
        folder: &Path,
        jobs: &[Job],
        board: &Mutex<Board>,
        index: usize,
        episodes: &[EpisodeRecord],
    ) -> anyhow::Result<()> {
        let Ok(mut board) = board.lock() else {
            return Ok(());
        };
        board.episodes[index] = episodes.to_vec();
        let over = episodes.len() as u64 == jobs[index].agent.training.episodes;
        if over || board.written.elapsed() > SAVE_EVERY {
            let lines = jobs.iter().zip(&board.episodes);
            let text = results::metrics(lines.map(|(job, episodes)| {
                (
                    job.name.as_str(),
                    &job.agent.training,
                    job.seed,
                    &episodes[..],
                )
            }))?;
            write_whole(folder.join("metrics.jsonl"), text.as_bytes())?;
            board.written = Instant::now();
        }
        Ok(())
    }

    /// Trains an agent with a seed, or goes on with it; nothing if it was interrupted.
    fn one_job(
        &self,
        folder: &Path,
        job: &Job,
        bar: &ProgressBar,
        show: impl Fn(&[EpisodeRecord]) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<Done>> {
        let config = TrainConfig {
            seed: job.seed,
            ..job.agent.training.clone()
        };
        let environment = &config.environment;
        let grid = make(environment)?.evaluation_grid();
        let checkpoint = folder.join(format!("checkpoints/{}.safetensors", job.name));
        let mut training = resume(&checkpoint, &config)?;
        let clock = Clock::new(&checkpoint);
        let save = |training: &Training| -> anyhow::Result<()> {
            write_whole(&checkpoint, &training.to_bytes()?)?;
            clock.save()
        };
        let mut events = Events::begin(&folder.join("events").join(&job.name), training.history())?;
        let mut saved = Instant::now();
        while !training.is_over() {
            if STOP.load(Ordering::Relaxed) {
                save(&training)?;
                return Ok(None);
            }
            let record = match training.episode() {
                Ok(record) => record,
                Err(error) => {
                    // A world that breaks down leaves training as it was before the episode.
                    if matches!(error, ell0_control::Error::World { .. }) {
                        save(&training)?;
                    }
                    return Err(error.into());
                }
            };
            if record.episode.is_multiple_of(EVALUATE_EVERY) || training.is_over() {
                let result = evaluate(environment, &training.actor(), &grid)?;
                training.note_evaluation(result.mean);
            }
            events.push(training.history().last().unwrap_or(&record))?;
            show(training.history())?;
            bar.set_position(record.episode);
            bar.set_message(message(training.history()));
            if saved.elapsed() > SAVE_EVERY || training.is_over() {
                save(&training)?;
                saved = Instant::now();
            }
        }
        show(training.history())?;
        let mut actor = training.actor();
        let stream = Stream::new(job.seed).split("refine");
        let mut refinement_steps = 0;
        if self.prune {
            bar.set_message("dropping what does nothing");
            let pruned = prune(&actor, environment, PRUNE_BELOW, 0.0, STARTS, &stream)?;
            refinement_steps += pruned.env_steps;
            actor = pruned.actor;
        }
        if self.fine_tune {
            bar.set_message("tuning what is left");
            let tuned = fine_tune(&actor, environment, GENERATIONS, STARTS, &stream)?;
            refinement_steps += tuned.env_steps;
            actor = tuned.actor;
        }
        let result = evaluate(environment, &actor, &grid)?;
        let row = Row {
            agent: job.agent.name.clone(),
            policy: config.policy.clone(),
            seed: job.seed,
            lambda: actor.terms().map(|_| config.lambda),
            return_mean: result.mean,
            return_ci95: result.ci95,
            gap: None,
            terms: actor.terms(),
            equation: actor.model()?.map(|m| m.text(5)),
            env_steps: training.history().last().map_or(0, |e| e.env_steps),
            refinement_steps,
            fine_tuned: self.fine_tune,
            seconds: clock.seconds(),
        };
        Ok(Some(Done {
            row,
            name: job.name.clone(),
            actor,
            episodes: training.history().to_vec(),
        }))
    }
}

/// Training from its checkpoint, or from the beginning if there is none.
fn resume(checkpoint: &Path, config: &TrainConfig) -> anyhow::Result<Training> {
    if !checkpoint.exists() {
        return Ok(Training::new(config.clone())?);
    }
    let again = || {
        format!(
            "{} is not a checkpoint of this run; delete it to train the seed anew",
            checkpoint.display()
        )
    };
    let bytes = std::fs::read(checkpoint).with_context(again)?;
    let training = Training::from_bytes(&bytes).with_context(again)?;
    ensure!(training.config() == config, again());
    Ok(training)
}

/// How training stands, in a line.
fn message(history: &[EpisodeRecord]) -> String {
    let Some(last) = history.last() else {
        return String::new();
    };
    let mut text = format!("return {:.1}", last.training_return);
    if let Some(evaluated) = history.iter().rev().find_map(|r| r.evaluation_return) {
        text += &format!(", on the grid {evaluated:.1}");
    }
    if let Some(terms) = last.terms {
        text += &format!(", {terms} terms");
    }
    if let Some(loss) = last.critic_loss {
        text += &format!(", critic loss {loss:.2}");
    }
    text
}
