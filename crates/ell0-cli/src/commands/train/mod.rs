//! `ell0 train`: control policies, learned by acting.

mod events;
mod plan;
mod results;

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use ell0_control::{
    agent::{Td3Config, TrainConfig},
    environment::{Environment, make, pendulum},
    optimum::{GridConfig, pendulum_optimum},
};
use ell0_data::write::write_whole;

use self::plan::{INSIDE, STOP};
pub use self::{
    plan::{Agent, Plan},
    results::{Done, Row, equations},
};
use crate::{
    report,
    run_dir::{Lock, begin, lock, make_inside, remove},
};

/// Learn a control policy by acting
///
/// TD3 or DDPG with a policy that is a network, or a dictionary whose terms are gated: it ends as a formula of a few terms. Several policies or prices are trained side by side.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\"\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\" --lambda 0.001,0.01,0.03 --seeds 5\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"network(64, 64)\""
)]
pub struct Train {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV", required_unless_present = "resume")]
    environment: Option<String>,
    /// What acts: a library such as "polynomial(3)", "network(256, 256)" or "sparse-network(256, 256)"; may be given several times
    #[arg(long, default_value = "polynomial(3)")]
    policy: Vec<String>,
    /// How it learns
    #[arg(long, value_enum, default_value_t = Algorithm::Td3)]
    algorithm: Algorithm,
    /// Episodes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Updates after each episode [default: 200; 100 with --reference]
    #[arg(long)]
    updates: Option<u64>,
    /// Number of seeds, run side by side
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Price of an open gate, relative to the size of Q; several with commas between them give the frontier of return and terms [default: 0.001]
    #[arg(long, value_delimiter = ',')]
    lambda: Vec<f64>,
    /// Number of terms that the price is steered to
    #[arg(long)]
    terms: Option<usize>,
    /// After training, tune the remaining coefficients on rollouts (the extra steps are counted)
    #[arg(long)]
    fine_tune: bool,
    /// The settings of the published code and what it gets wrong, for comparison
    #[arg(long, conflicts_with_all = ["algorithm", "terms", "fine_tune"])]
    reference: bool,
    /// Folder of the run [default: one in runs/ named after environment, policy and seed]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder of --out, as it was begun
    #[arg(long, requires = "out", conflicts_with_all = ["force", "policy", "algorithm", "episodes", "updates", "seeds", "seed", "lambda", "terms", "fine_tune", "reference"])]
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

/// Whether there is a price to pay.
fn has_gates(policy: &str) -> bool {
    !policy.trim().starts_with("network")
}

/// Text as part of a file's name.
pub fn file_word(text: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let word: String = text.chars().map(keep).collect();
    let parts: Vec<&str> = word.split('-').filter(|p| !p.is_empty()).collect();
    parts.join("-")
}

impl Train {
    /// What the options ask for.
    fn plan(&self) -> anyhow::Result<Plan> {
        let switches = match self.algorithm {
            Algorithm::Td3 => Td3Config::default(),
            Algorithm::Ddpg => Td3Config::ddpg(),
        };
        let mut agents = Vec::new();
        for policy in &self.policy {
            let mut training = TrainConfig {
                environment: self.environment.clone().unwrap_or_default(),
                policy: policy.clone(),
                episodes: self.episodes,
                terms: self.terms,
                seed: self.seed,
                ..TrainConfig::default()
            };
            training.agent.twin = switches.twin;
            training.agent.policy_delay = switches.policy_delay;
            training.agent.smoothing = switches.smoothing;
            if self.reference {
                training = training.published()?;
            }
            if let Some(updates) = self.updates {
                training.updates = updates;
            }
            // A network without gates pays no price: it is trained once.
            let gated = has_gates(policy);
            let prices = match self.lambda.as_slice() {
                prices @ [_, ..] if gated => prices.to_vec(),
                _ => vec![training.lambda],
            };
            for &lambda in &prices {
                let mut name = Vec::new();
                if self.policy.len() > 1 {
                    name.push(file_word(policy));
                }
                if prices.len() > 1 {
                    name.push(format!("lambda{lambda}"));
                }
                agents.push(Agent {
                    name: name.join("-"),
                    training: TrainConfig {
                        lambda,
                        ..training.clone()
                    },
                });
            }
        }
        Ok(Plan {
            command: "train".into(),
            seeds: self.seeds,
            prune: !self.reference,
            fine_tune: self.fine_tune,
            agents,
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let place = Place {
            folder: self.out.clone().unwrap_or_else(|| {
                let name = format!(
                    "train-{}-{}-seed{}",
                    file_word(self.environment.as_deref().unwrap_or("")),
                    file_word(&self.policy.join("-")),
                    self.seed
                );
                Path::new("runs").join(name)
            }),
            command: "train",
            resume: self.resume,
            force: self.force,
        };
        let (plan, _lock) = place.prepare(|| self.plan())?;
        let of_plan = &plan.agents[0].training.environment;
        if let Some(asked) = &self.environment {
            ensure!(
                of_plan == asked,
                "{} holds a run in {of_plan}, not in {asked}",
                place.folder.display()
            );
        }
        for agent in &plan.agents {
            let training = &agent.training;
            if has_gates(&training.policy) && training.episodes <= training.lambda_from {
                eprintln!(
                    "note: gates cost nothing before episode {}, so that --lambda and --terms have no effect in {} episodes",
                    training.lambda_from, training.episodes
                );
                break;
            }
        }
        let title = match self.policy.as_slice() {
            [policy] => policy.as_str(),
            _ => "policies",
        };
        let done = place.carry_out(&plan, title)?;
        let rows: Vec<&Row> = done.iter().map(|d| &d.row).collect();
        let mut screen = stdout().lock();
        if self.json {
            let json = serde_json::to_string_pretty(&rows)? + "\n";
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        results::print(&mut screen, &rows)?;
        writeln!(
            screen,
            "Policies, results, metrics, events for TensorBoard and figures are in {}",
            place.folder.display()
        )?;
        Ok(())
    }
}

/// Where a run is, and whether it begins there or goes on.
pub struct Place {
    pub folder: PathBuf,
    /// The words after `ell0`.
    pub command: &'static str,
    pub resume: bool,
    pub force: bool,
}

impl Place {
    /// What is to be done: what is asked for, or what the run in the folder began with.
    pub fn prepare(
        &self,
        asked: impl FnOnce() -> anyhow::Result<Plan>,
    ) -> anyhow::Result<(Plan, Lock)> {
        let folder = &self.folder;
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is a file; --out needs a folder",
            folder.display()
        );
        if self.resume {
            let plan = self.read()?;
            ensure!(
                plan.command == self.command,
                "{} holds a run of `ell0 {}`",
                folder.display(),
                plan.command
            );
            plan.check()?;
            let lock = lock(folder)?;
            make_inside(folder, INSIDE)?;
            return Ok((plan, lock));
        }
        let plan = asked()?;
        plan.check()?;
        if folder.exists() {
            ensure!(
                self.force,
                "the folder {} exists; `ell0 {} --resume --out {}` goes on with the run in it, --force begins anew",
                folder.display(),
                self.command,
                folder.display()
            );
            let old = self
                .read()
                .context("--force replaces only folders of runs: choose another --out")?;
            old.may_throw_away(folder)?;
            let _lock = lock(folder)?;
            remove(folder)?;
        }
        let head = format!(
            "# Made by ell0 {} with `ell0 {}`.\n\n",
            env!("CARGO_PKG_VERSION"),
            self.command
        );
        begin(folder, INSIDE, &(head + &toml::to_string(&plan)?))?;
        Ok((plan, lock(folder)?))
    }

    /// What the run in the folder began with.
    pub fn read(&self) -> anyhow::Result<Plan> {
        let file = self.folder.join("config.toml");
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{} holds no run to go on with", self.folder.display()))?;
        // What a parser says of another command's file helps nobody.
        toml::from_str(&text).ok().with_context(|| {
            format!(
                "{} is not the config.toml of `ell0 {}`, or was changed",
                file.display(),
                self.command
            )
        })
    }

    /// Trains, measures and writes everything.
    pub fn carry_out(&self, plan: &Plan, title: &str) -> anyhow::Result<Vec<Done>> {
        // The first Ctrl-C lets every job finish its episode and save; the second ends at once.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        let folder = &self.folder;
        report::note_command(folder)?;
        let mut done = plan.all_jobs(folder)?;
        if STOP.load(Ordering::Relaxed) {
            bail!(
                "interrupted; everything is saved: `ell0 {} --resume --out {}` goes on",
                self.command,
                folder.display()
            );
        }
        let optimum = optimum(&plan.agents[0].training.environment)?;
        for d in &mut done {
            d.row.gap = optimum.map(|o| o - d.row.return_mean);
        }
        let put = |name: &str, content: &[u8]| write_whole(folder.join(name), content);
        for d in &done {
            if let Some(model) = d.actor.model()? {
                let name = format!("policies/{}.json", d.name);
                put(&name, (model.to_json() + "\n").as_bytes())?;
            }
        }
        let mut figures = vec![("returns", results::figure(title, &done))];
        if plan.agents.len() > 1 {
            figures.push(("frontier", results::frontier(&done)));
        }
        for (name, figure) in figures {
            put(&format!("{name}.svg"), figure.svg().as_bytes())?;
            put(&format!("{name}.png"), &figure.png(2.0)?)?;
        }
        let rows: Vec<&Row> = done.iter().map(|d| &d.row).collect();
        let json = serde_json::to_string_pretty(&rows)? + "\n";
        put("results.json", json.as_bytes())?;
        report::write(folder)?;
        Ok(done)
    }
}

/// Episodes longer than this would take too long.
const LONGEST_OPTIMUM: u32 = 1000;

/// The mean return of optimal control on the evaluation grid, where it can be computed in seconds.
fn optimum(environment: &str) -> anyhow::Result<Option<f64>> {
    let (pendulum, limit) = pendulum(environment)?;
    if limit > LONGEST_OPTIMUM {
        return Ok(None);
    }
    if stderr().is_terminal() {
        eprintln!("optimal control, for comparison …");
    }
    let grid = make(environment)?.evaluation_grid();
    let result = pendulum_optimum(&pendulum, limit, &grid, GridConfig::default());
    Ok(Some(result.mean))
}
