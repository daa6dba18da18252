//! A run of training: all its seeds, side by side, saved now and then.

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
    agent::{TrainConfig, Training, fine_tune, prune},
    environment::{Environment, make},
    evaluation::evaluate,
};
use ell0_data::write::write_whole;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::results::{Done, Row};
use crate::run_dir::may_replace;

/// Where a seed puts its result; none inside if it was interrupted.
type Slot = Mutex<Option<anyhow::Result<Option<Done>>>>;

/// Episodes between two evaluations.
const EVALUATE_EVERY: u64 = 25;

/// Everything that a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub seeds: u64,
    pub fine_tune: bool,
    pub training: TrainConfig,
}

/// Whether Ctrl-C was pressed.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// The folders inside the folder of a run.
pub const INSIDE: &[&str] = &["checkpoints", "policies"];

/// What a run leaves in its folder.
const OURS: &[&str] = &[
    "config.toml",
    "checkpoints",
    "policies",
    "metrics.jsonl",
    "results.json",
    "returns.svg",
    "returns.png",
];

/// Time between two checkpoints.
const SAVE_EVERY: Duration = Duration::from_secs(2);

impl Plan {
    /// Mistakes are found before anything is done.
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (1..=1000).contains(&self.seeds),
            "{} seeds: from 1 to 1000",
            self.seeds
        );
        let training = Training::new(self.training.clone())?;
        ensure!(
            !self.fine_tune || training.actor().terms().is_some(),
            "--fine-tune is for dictionaries; a network has too many coefficients"
        );
        Ok(())
    }

    /// Deletes a run, if the folder holds nothing else.
    pub fn throw_away(&self, folder: &Path) -> anyhow::Result<()> {
        may_replace(folder, OURS)?;
        for (inside, extension) in [("checkpoints", "safetensors"), ("policies", "json")] {
            let inside = folder.join(inside);
            if inside.exists() {
                let names: Vec<String> = std::fs::read_dir(&inside)?
                    .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                    .filter(|name| {
                        let number = name
                            .strip_prefix("seed")
                            .and_then(|n| n.strip_suffix(extension));
                        number.is_some_and(|n| n.trim_end_matches('.').parse::<u64>().is_ok())
                    })
                    .collect();
                let ours: Vec<&str> = names.iter().map(String::as_str).collect();
                may_replace(&inside, &ours)?;
            }
        }
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot replace {}", folder.display()))
    }

    /// Trains all seeds, as many at a time as there are cores.
    pub fn all_seeds(&self, folder: &Path) -> anyhow::Result<Vec<Done>> {
        let bars = MultiProgress::new();
        let style = ProgressStyle::with_template(
            "{prefix:8} {bar:24} {pos:>4}/{len:<4} {msg} ({eta} left)",
        )
        .unwrap_or(ProgressStyle::default_bar());
        let slots: Vec<(ProgressBar, Slot)> = (0..self.seeds)
            .map(|k| {
                let bar =
                    bars.add(ProgressBar::new(self.training.episodes).with_style(style.clone()));
                bar.set_prefix(format!("seed {}", self.training.seed + k));
                (bar, Mutex::new(None))
            })
            .collect();
        let next = AtomicUsize::new(0);
        let plain = !stderr().is_terminal();
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((bar, slot)) = slots.get(index) else {
                    return;
                };
                let seed = self.training.seed + index as u64;
                if STOP.load(Ordering::Relaxed) {
                    return;
                }
                let result = self
                    .one_seed(folder, seed, bar)
                    .with_context(|| format!("seed {seed}"));
                if let Ok(Some(done)) = &result {
                    bar.finish_with_message(format!("return {:.1}", done.row.return_mean));
                    if plain {
                        eprintln!(
                            "seed {seed}: return {:.2}, {:.0} s",
                            done.row.return_mean, done.row.seconds
                        );
                    }
                }
                if let Ok(mut slot) = slot.lock() {
                    *slot = Some(result);
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        std::thread::scope(|scope| {
            (0..cores.min(slots.len())).for_each(|_| drop(scope.spawn(work)));
        });
        slots.iter().for_each(|(bar, _)| bar.finish_and_clear());
        let mut done = Vec::new();
        for (_, slot) in slots {
            // A seed that was interrupted, or not begun, has no result.
            if let Some(result) = slot.into_inner().ok().flatten() {
                done.extend(result?);
            }
        }
        Ok(done)
    }

    /// Trains a seed, or goes on with it; nothing if it was interrupted.
    fn one_seed(
        &self,
        folder: &Path,
        seed: u64,
        bar: &ProgressBar,
    ) -> anyhow::Result<Option<Done>> {
        let began = Instant::now();
        let config = TrainConfig {
            seed,
            ..self.training.clone()
        };
        let environment = &config.environment;
        let grid = make(environment)?.evaluation_grid();
        let checkpoint = folder.join(format!("checkpoints/seed{seed}.safetensors"));
        let mut training = if checkpoint.exists() {
            let again = || {
                format!(
                    "{} is not a checkpoint of this run; delete it to train the seed anew",
                    checkpoint.display()
                )
            };
            let bytes = std::fs::read(&checkpoint).with_context(again)?;
            let training = Training::from_bytes(&bytes).with_context(again)?;
            ensure!(training.config() == &config, again());
            training
        } else {
            Training::new(config.clone())?
        };
        let mut saved = Instant::now();
        while !training.is_over() {
            if STOP.load(Ordering::Relaxed) {
                write_whole(&checkpoint, &training.to_bytes()?)?;
                return Ok(None);
            }
            let record = training.episode()?;
            if record.episode.is_multiple_of(EVALUATE_EVERY) || training.is_over() {
                let result = evaluate(environment, &training.actor(), &grid)?;
                training.note_evaluation(result.mean);
            }
            bar.set_position(record.episode);
            let evaluated = training
                .history()
                .iter()
                .rev()
                .find_map(|r| r.evaluation_return);
            let terms = record
                .terms
                .map_or(String::new(), |t| format!(", {t} terms"));
            bar.set_message(format!(
                "return {:.1}, on the grid {:.1}{terms}, critic loss {:.2}",
                record.training_return,
                evaluated.unwrap_or(f64::NAN),
                record.critic_loss.unwrap_or(f64::NAN)
            ));
            if saved.elapsed() > SAVE_EVERY || training.is_over() {
                write_whole(&checkpoint, &training.to_bytes()?)?;
                saved = Instant::now();
            }
        }
        let mut actor = training.actor();
        let stream = Stream::new(seed).split("refine");
        let pruned = prune(&actor, environment, 0.1, 0.0, 250, &stream)?;
        let mut refinement_steps = pruned.env_steps;
        actor = pruned.actor;
        if self.fine_tune {
            let tuned = fine_tune(&actor, environment, 30, 250, &stream)?;
            refinement_steps += tuned.env_steps;
            actor = tuned.actor;
        }
        let result = evaluate(environment, &actor, &grid)?;
        let row = Row {
            policy: self.training.policy.clone(),
            seed,
            return_mean: result.mean,
            return_ci95: result.ci95,
            terms: actor.terms(),
            equation: actor.model()?.map(|m| m.text(5)),
            env_steps: training.history().last().map_or(0, |e| e.env_steps),
            refinement_steps,
            fine_tuned: self.fine_tune,
            seconds: began.elapsed().as_secs_f64(),
        };
        Ok(Some(Done {
            row,
            actor,
            episodes: training.history().to_vec(),
        }))
    }
}
