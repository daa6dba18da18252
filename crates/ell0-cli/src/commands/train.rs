//! `ell0 train`: a control policy, learned by acting.

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0::rng::Stream;
use ell0_control::{
    agent::{Actor, EpisodeRecord, Td3Config, TrainConfig, Training, fine_tune, prune},
    environment::{Environment, make},
    evaluation::evaluate,
};
use ell0_data::write::write_whole;
use ell0_plot::{Axis, Chart, Figure, Series};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::run_dir::{begin, make_inside, may_replace};

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
    #[arg(
        long = "env",
        value_name = "ENV",
        required_unless_present = "resume",
        default_value = "",
        hide_default_value = true
    )]
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
    /// Folder of the run [default: one in runs/ named after environment, policy and seed]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder of --out, as it was begun
    #[arg(long, requires = "out", conflicts_with = "force")]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
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

struct Done {
    row: Row,
    actor: Actor,
    episodes: Vec<EpisodeRecord>,
}

/// Where a seed puts its result; none inside if it was interrupted.
type Slot = Mutex<Option<anyhow::Result<Option<Done>>>>;

/// Episodes between two evaluations.
const EVALUATE_EVERY: u64 = 25;

impl Train {
    /// What the options ask for.
    fn plan(&self) -> Plan {
        let base = TrainConfig::default();
        let switches = match self.algorithm {
            Algorithm::Td3 => Td3Config::default(),
            Algorithm::Ddpg => Td3Config::ddpg(),
        };
        let training = TrainConfig {
            environment: self.environment.clone(),
            policy: self.policy.clone(),
            episodes: self.episodes,
            updates: self.updates,
            lambda: self.lambda,
            terms: self.terms,
            seed: self.seed,
            agent: Td3Config {
                twin: switches.twin,
                policy_delay: switches.policy_delay,
                smoothing: switches.smoothing,
                ..base.agent.clone()
            },
            ..base
        };
        Plan {
            seeds: self.seeds,
            fine_tune: self.fine_tune,
            training,
        }
    }

    /// The folder of the run and what it does, whether it begins or goes on.
    fn prepare(&self) -> anyhow::Result<(PathBuf, Plan)> {
        let asked = self.plan();
        let folder = self.out.clone().unwrap_or_else(|| {
            let word = |text: &str| -> String {
                let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
                text.chars().map(keep).collect()
            };
            let name = format!(
                "train-{}-{}-seed{}",
                word(&self.environment),
                word(&self.policy),
                self.seed
            );
            Path::new("runs").join(name)
        });
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is a file; --out needs a folder",
            folder.display()
        );
        if self.resume {
            let file = folder.join("config.toml");
            let text = std::fs::read_to_string(&file)
                .with_context(|| format!("{} holds no run to go on with", folder.display()))?;
            let plan: Plan = toml::from_str(&text).with_context(|| {
                format!("{} is not the config.toml of `ell0 train`", file.display())
            })?;
            ensure!(
                self.environment.is_empty() || plan.training.environment == self.environment,
                "{} holds a run in {}, not in {}",
                folder.display(),
                plan.training.environment,
                self.environment
            );
            plan.check()?;
            make_inside(&folder, INSIDE)?;
            return Ok((folder, plan));
        }
        asked.check()?;
        if folder.exists() {
            ensure!(
                self.force,
                "the folder {} exists; `ell0 train --resume --out {}` goes on with the run in it, --force begins anew",
                folder.display(),
                folder.display()
            );
            asked.throw_away(&folder)?;
        }
        let head = format!(
            "# Made by ell0 {} with `ell0 train`.\n\n",
            env!("CARGO_PKG_VERSION")
        );
        begin(&folder, INSIDE, &(head + &toml::to_string(&asked)?))?;
        Ok((folder, asked))
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let (folder, plan) = self.prepare()?;
        // The first Ctrl-C lets every seed finish its episode and save; the second ends at once.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        let done = plan.all_seeds(&folder)?;
        if STOP.load(Ordering::Relaxed) {
            bail!(
                "interrupted; everything is saved: `ell0 train --resume --out {}` goes on",
                folder.display()
            );
        }
        let rows: Vec<&Row> = done.iter().map(|d| &d.row).collect();
        let json = serde_json::to_string_pretty(&rows)? + "\n";
        let put = |name: &str, content: &[u8]| write_whole(folder.join(name), content);
        put("metrics.jsonl", metrics(&done)?.as_bytes())?;
        for d in &done {
            if let Some(model) = d.actor.model()? {
                let name = format!("policies/seed{}.json", d.row.seed);
                put(&name, (model.to_json() + "\n").as_bytes())?;
            }
        }
        let figure = figure(&plan.training.policy, &done);
        put("returns.svg", figure.svg().as_bytes())?;
        put("returns.png", &figure.png(2.0)?)?;
        put("results.json", json.as_bytes())?;
        let mut screen = stdout().lock();
        if self.json {
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        print(&mut screen, &rows)?;
        writeln!(
            screen,
            "Policies, results, metrics and returns are in {}",
            folder.display()
        )?;
        Ok(())
    }
}

/// Everything that a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    seeds: u64,
    fine_tune: bool,
    training: TrainConfig,
}

/// Whether Ctrl-C was pressed.
static STOP: AtomicBool = AtomicBool::new(false);

/// The folders inside the folder of a run.
const INSIDE: &[&str] = &["checkpoints", "policies"];

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
    fn check(&self) -> anyhow::Result<()> {
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
    fn throw_away(&self, folder: &Path) -> anyhow::Result<()> {
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
    fn all_seeds(&self, folder: &Path) -> anyhow::Result<Vec<Done>> {
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

/// One line for each episode of each seed.
fn metrics(done: &[Done]) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        seed: u64,
        #[serde(flatten)]
        record: &'a EpisodeRecord,
    }
    let mut text = String::new();
    for d in done {
        for record in &d.episodes {
            let line = Line {
                seed: d.row.seed,
                record,
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
            .episodes
            .iter()
            .filter_map(|e| Some((e.episode as f64, e.evaluation_return?)));
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
