//! `ell0 train`: a control policy, learned by acting.

mod plan;
mod results;

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use ell0_control::agent::{Td3Config, TrainConfig};
use ell0_data::write::write_whole;

use self::{
    plan::{INSIDE, Plan, STOP},
    results::Row,
};
use crate::run_dir::{begin, make_inside};

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
        put("metrics.jsonl", results::metrics(&done)?.as_bytes())?;
        for d in &done {
            if let Some(model) = d.actor.model()? {
                let name = format!("policies/seed{}.json", d.row.seed);
                put(&name, (model.to_json() + "\n").as_bytes())?;
            }
        }
        let figure = results::figure(&plan.training.policy, &done);
        put("returns.svg", figure.svg().as_bytes())?;
        put("returns.png", &figure.png(2.0)?)?;
        put("results.json", json.as_bytes())?;
        let mut screen = stdout().lock();
        if self.json {
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        results::print(&mut screen, &rows)?;
        writeln!(
            screen,
            "Policies, results, metrics and returns are in {}",
            folder.display()
        )?;
        Ok(())
    }
}
