//! `ell0 train`: a control policy, learned by acting.

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0::rng::Stream;
use ell0_control::{
    agent::{Actor, EpisodeRecord, PolicyText, Td3Config, TrainConfig, Training, fine_tune, prune},
    environment::{Environment, make},
    evaluation::evaluate,
};
use ell0_plot::{Axis, Chart, Figure, Series};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::run_dir::RunDir;

/// Learn a control policy by acting
///
/// TD3 or DDPG with a policy that is a network, or a dictionary whose terms are gated: it ends as a formula of a few terms.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\"\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\" --lambda 0.03 --seeds 5\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"network(64, 64)\""
)]
pub struct Train {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// What acts: a library such as "polynomial(3)", "network(256, 256)" or "sparse-network(256, 256)"
    #[arg(long, default_value = "polynomial(3)")]
    policy: String,
    /// How it learns
    #[arg(long, value_enum, default_value_t = Algorithm::Td3)]
    algorithm: Algorithm,
    /// Episodes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Updates after each episode
    #[arg(long, default_value_t = 200)]
    updates: u64,
    /// Number of seeds, run side by side
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Price of an open gate, relative to the size of Q
    #[arg(long, default_value_t = 1e-3)]
    lambda: f64,
    /// Number of terms that the price is steered to
    #[arg(long)]
    terms: Option<usize>,
    /// After training, tune the remaining coefficients on rollouts (the extra steps are counted)
    #[arg(long)]
    fine_tune: bool,
    /// Folder of the run [default: a new one in runs/]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the folder of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// Twin critics, delayed policy, smoothed targets
    Td3,
    /// One critic, no delay, no smoothing
    Ddpg,
}

/// A row of the results.
#[derive(Clone, Debug, Serialize)]
struct Row {
    policy: String,
    seed: u64,
    return_mean: f64,
    return_ci95: f64,
    terms: Option<usize>,
    equation: Option<String>,
    /// Steps of the environment for training, and for pruning and tuning after it.
    env_steps: u64,
    refinement_steps: u64,
    fine_tuned: bool,
    seconds: f64,
}

/// An evaluation during training.
#[derive(Clone, Copy, Debug, Serialize)]
struct Evaluation {
    episode: u64,
    return_mean: f64,
}

struct Done {
    row: Row,
    actor: Actor,
    episodes: Vec<EpisodeRecord>,
    evaluations: Vec<Evaluation>,
}

/// Episodes between two evaluations.
const EVALUATE_EVERY: u64 = 25;

impl Train {
    fn config(&self, seed: u64) -> TrainConfig {
        let base = TrainConfig::default();
        let switches = match self.algorithm {
            Algorithm::Td3 => Td3Config::default(),
            Algorithm::Ddpg => Td3Config::ddpg(),
        };
        TrainConfig {
            environment: self.environment.clone(),
            policy: self.policy.clone(),
            episodes: self.episodes,
            updates: self.updates,
            lambda: self.lambda,
            terms: self.terms,
            seed,
            agent: Td3Config {
                twin: switches.twin,
                policy_delay: switches.policy_delay,
                smoothing: switches.smoothing,
                ..base.agent.clone()
            },
            ..base
        }
    }

    pub fn run(&self) -> anyhow::Result<()> {
        // Mistakes are found before anything is done.
        let environment = make(&self.environment)?;
        let policy: PolicyText = self.policy.parse()?;
        Training::new(self.config(self.seed))?;
        let stem = format!(
            "train-{}",
            environment.text().split('(').next().unwrap_or("env")
        );
        let mut run_dir = RunDir::new(self.out.as_deref(), self.force, &stem)?;
        let done = self.all_seeds()?;
        let rows: Vec<&Row> = done.iter().map(|d| &d.row).collect();
        let json = serde_json::to_string_pretty(&rows)? + "\n";
        run_dir.put(
            "config.toml",
            config_text(&self.config(self.seed), self.seeds)?,
        )?;
        run_dir.put("results.json", &json)?;
        run_dir.put("metrics.jsonl", metrics(&done)?)?;
        for d in &done {
            if let Some(model) = d.actor.model()? {
                let name = format!("policy-seed{}.json", d.row.seed);
                run_dir.put(&name, model.to_json() + "\n")?;
            }
        }
        let figure = figure(&policy.to_string(), &done);
        run_dir.put("returns.svg", figure.svg())?;
        run_dir.put("returns.png", figure.png(2.0)?)?;
        let place = run_dir.finish()?;
        let mut screen = stdout().lock();
        if self.json {
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        print(&mut screen, &rows)?;
        writeln!(
            screen,
            "Policies, results, metrics and returns are in {}",
            place.display()
        )?;
        Ok(())
    }

    /// Trains all seeds, as many at a time as there are cores.
    fn all_seeds(&self) -> anyhow::Result<Vec<Done>> {
        let bars = MultiProgress::new();
        let style = ProgressStyle::with_template(
            "{prefix:8} {bar:24} {pos:>4}/{len:<4} {msg} ({eta} left)",
        )
        .unwrap_or(ProgressStyle::default_bar());
        let slots: Vec<(ProgressBar, Mutex<Option<anyhow::Result<Done>>>)> = (0..self.seeds)
            .map(|k| {
                let bar = bars.add(ProgressBar::new(self.episodes).with_style(style.clone()));
                bar.set_prefix(format!("seed {}", self.seed + k));
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
                let seed = self.seed + index as u64;
                let result = self
                    .one_seed(seed, bar)
                    .with_context(|| format!("seed {seed}"));
                if let Ok(done) = &result {
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
        slots
            .into_iter()
            .map(|(_, slot)| {
                let result = slot.into_inner().ok().flatten();
                result.unwrap_or_else(|| Err(anyhow::anyhow!("a seed was not trained")))
            })
            .collect()
    }

    fn one_seed(&self, seed: u64, bar: &ProgressBar) -> anyhow::Result<Done> {
        let began = Instant::now();
        let environment = make(&self.environment)?;
        let grid = environment.evaluation_grid();
        let mut training = Training::new(self.config(seed))?;
        let (mut episodes, mut evaluations) = (Vec::new(), Vec::new());
        while !training.is_over() {
            let record = training.episode()?;
            episodes.push(record);
            if record.episode.is_multiple_of(EVALUATE_EVERY) || training.is_over() {
                let result = evaluate(&self.environment, &training.actor(), &grid)?;
                evaluations.push(Evaluation {
                    episode: record.episode,
                    return_mean: result.mean,
                });
            }
            bar.set_position(record.episode);
            let evaluated = evaluations.last().map_or(f64::NAN, |e| e.return_mean);
            let terms = record
                .terms
                .map_or(String::new(), |t| format!(", {t} terms"));
            bar.set_message(format!(
                "return {evaluated:.1}{terms}, critic loss {:.2}",
                record.critic_loss.unwrap_or(f64::NAN)
            ));
        }
        let mut actor = training.actor();
        let stream = Stream::new(seed).split("refine");
        let pruned = prune(&actor, &self.environment, 0.1, 0.0, 250, &stream)?;
        let mut refinement_steps = pruned.env_steps;
        actor = pruned.actor;
        if self.fine_tune {
            ensure!(
                actor.terms().is_some(),
                "--fine-tune is for dictionaries; a network has too many coefficients"
            );
            let tuned = fine_tune(&actor, &self.environment, 30, 250, &stream)?;
            refinement_steps += tuned.env_steps;
            actor = tuned.actor;
        }
        let result = evaluate(&self.environment, &actor, &grid)?;
        let row = Row {
            policy: self.policy.clone(),
            seed,
            return_mean: result.mean,
            return_ci95: result.ci95,
            terms: actor.terms(),
            equation: actor.model()?.map(|m| m.text(5)),
            env_steps: episodes.last().map_or(0, |e| e.env_steps),
            refinement_steps,
            fine_tuned: self.fine_tune,
            seconds: began.elapsed().as_secs_f64(),
        };
        Ok(Done {
            row,
            actor,
            episodes,
            evaluations,
        })
    }
}

fn config_text(config: &TrainConfig, seeds: u64) -> anyhow::Result<String> {
    Ok(format!(
        "# Made by ell0 {} with `ell0 train`, {seeds} seeds from the one below.\n\n{}",
        env!("CARGO_PKG_VERSION"),
        toml::to_string(config)?
    ))
}

/// One line for each episode of each seed, with the evaluation where there was one.
fn metrics(done: &[Done]) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        seed: u64,
        #[serde(flatten)]
        record: &'a EpisodeRecord,
        evaluation_return: Option<f64>,
    }
    let mut text = String::new();
    for d in done {
        for record in &d.episodes {
            let evaluation = d.evaluations.iter().find(|e| e.episode == record.episode);
            let line = Line {
                seed: d.row.seed,
                record,
                evaluation_return: evaluation.map(|e| e.return_mean),
            };
            text += &(serde_json::to_string(&line)? + "\n");
        }
    }
    Ok(text)
}

fn figure(policy: &str, done: &[Done]) -> Figure {
    let mut chart = Chart::new(
        format!("Return of {policy} on the evaluation grid"),
        Axis::linear("episode"),
        Axis::linear("mean return"),
    );
    for d in done {
        let points = d
            .evaluations
            .iter()
            .map(|e| (e.episode as f64, e.return_mean));
        chart = chart.with(Series::dotted(&format!("seed {}", d.row.seed), points));
    }
    Figure::new(vec![chart]).with_size(640.0, 380.0)
}

fn print(out: &mut impl Write, rows: &[&Row]) -> anyhow::Result<()> {
    let mut grid = Table::new();
    grid.load_style(UTF8_BORDERS_ONLY).set_header([
        "seed",
        "return",
        "± 95 %",
        "terms",
        "steps",
        "steps after training",
        "seconds",
    ]);
    for column in grid.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        grid.add_row([
            row.seed.to_string(),
            format!("{:.2}", row.return_mean),
            format!("{:.2}", row.return_ci95),
            row.terms.map_or("–".into(), |t| t.to_string()),
            row.env_steps.to_string(),
            row.refinement_steps.to_string(),
            format!("{:.1}", row.seconds),
        ]);
    }
    writeln!(out, "{grid}")?;
    for row in rows {
        if let Some(equation) = &row.equation {
            writeln!(out, "seed {}: {equation}", row.seed)?;
        }
    }
    writeln!(out)?;
    Ok(())
}
