//! `ell0 tutorial`: the seed's experiments, one after the other.

mod data;
mod figures;
mod models;
mod policy;
mod results;
mod side_by_side;
mod train;
mod whole;

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use ell0_data::write::write_whole;
use serde::{Deserialize, Serialize};

use crate::{
    report,
    run_dir::{Lock, begin, lock, make_inside, may_replace, remove},
};

use self::{
    data::Data,
    models::{Kind, Task},
    side_by_side::side_by_side,
    train::Run,
};

/// Everything that the method does, on one page: figures, models, policies, analysis
///
/// Without a further word, all stages one after the other, with a plan first; what is finished is not done again. Each stage is also a command of its own.
///
/// The models are those of section 4.1 of Botteghi and Fasel, "Sparsifying parametric models with L0 regularization": a network, a network with gates, and dictionaries of polynomial and Fourier terms, trained on 1000 episodes of a random
/// policy and tested on 100 others; beside them the same dictionaries by the exact method.
#[derive(Args)]
pub struct Tutorial {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    whole: whole::Whole,
}

#[derive(Subcommand)]
enum What {
    /// The observation after a step
    Dynamics(Options),
    /// The reward of a step
    Reward(Options),
    /// Control: a network and three dictionaries learn to swing the pendulum up
    Policy(policy::Policy),
    /// The explanatory figures: penalties, gates, their densities and gradients, and gates that close
    Figures(figures::Figures),
}

#[derive(Args)]
#[command(allow_negative_numbers = true)]
struct Options {
    /// Epochs of 781 batches
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    epochs: u64,
    /// 25 epochs: under a minute
    #[arg(long, conflicts_with = "epochs")]
    quick: bool,
    /// Seed of the data, the weights, the batches and the gates [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Factor of the prices of a weight
    #[arg(long, value_name = "F", default_value_t = 1.0)]
    lambda_factor: f64,
    /// Folder of the run [default: runs/tutorial-TASK-seedN, or …-quick]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder, as it was begun
    #[arg(long, conflicts_with_all = ["epochs", "force", "lambda_factor"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Everything that a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    task: Task,
    epochs: u64,
    seed: u64,
    lambda_factor: f64,
}

impl Config {
    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.epochs >= 1, "there must be at least one epoch");
        ensure!(
            self.lambda_factor >= 0.0 && self.lambda_factor.is_finite(),
            "--lambda-factor {} is not allowed: it must be finite and not negative",
            self.lambda_factor
        );
        Ok(())
    }
}

/// Whether a folder holds nothing but a run.
fn may_throw_away(folder: &Path) -> anyhow::Result<()> {
    may_replace(folder, OURS)?;
    let names: Vec<String> = Kind::ALL.iter().map(|k| k.file()).collect();
    let files = |extensions: &[&str]| -> Vec<String> {
        let with = |name: &String| -> Vec<String> {
            extensions.iter().map(|e| format!("{name}.{e}")).collect()
        };
        names.iter().flat_map(with).collect()
    };
    for (inside, ours) in [
        ("models", files(&["json", "safetensors"])),
        ("checkpoints", files(&["safetensors", "seconds"])),
    ] {
        let inside = folder.join(inside);
        if inside.exists() {
            let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
            may_replace(&inside, &ours)?;
        }
    }
    Ok(())
}

/// The folders inside the folder of a run.
const INSIDE: &[&str] = &["checkpoints", "models"];

/// What a run leaves in its folder.
const OURS: &[&str] = &[
    "config.toml",
    "checkpoints",
    "models",
    "metrics.jsonl",
    "results.json",
    "figure.svg",
    "figure.png",
    report::FILE,
    report::COMMAND,
];

const QUICK: u64 = 25;

impl What {
    fn name(&self) -> &'static str {
        match self {
            What::Dynamics(_) => "dynamics",
            What::Reward(_) => "reward",
            What::Policy(_) => "policy",
            What::Figures(_) => "figures",
        }
    }
}

impl Tutorial {
    pub fn run(&self) -> anyhow::Result<()> {
        match &self.what {
            None => self.whole.run(),
            Some(what) if self.whole.is_given() => Err(clap::Error::raw(
                clap::error::ErrorKind::ArgumentConflict,
                format!(
                    "options stand after the stage: `ell0 tutorial {} --quick`\n",
                    what.name()
                ),
            )
            .into()),
            Some(What::Dynamics(options)) => options.run(Task::Dynamics),
            Some(What::Reward(options)) => options.run(Task::Reward),
            Some(What::Policy(policy)) => policy.run(),
            Some(What::Figures(figures)) => figures.run(),
        }
    }
}

impl Options {
    fn folder(&self, task: Task) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let quick = if self.quick { "-quick" } else { "" };
            let seed = self.seed.unwrap_or(0);
            Path::new("runs").join(format!("tutorial-{}-seed{seed}{quick}", task.name()))
        })
    }

    /// Makes the folder, or reads what the run in it was begun with.
    fn prepare(&self, task: Task, folder: &Path) -> anyhow::Result<(Config, Lock)> {
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is a file; --out needs a folder",
            folder.display()
        );
        if self.resume {
            return self.read_config(task, folder);
        }
        let config = Config {
            task,
            epochs: if self.quick { QUICK } else { self.epochs },
            seed: self.seed.unwrap_or(0),
            lambda_factor: self.lambda_factor,
        };
        config.check()?;
        if folder.exists() {
            ensure!(
                self.force,
                "the folder {} exists; `ell0 tutorial {} --resume --out {}` goes on with the run in it, --force begins anew",
                folder.display(),
                task.name(),
                folder.display()
            );
            may_throw_away(folder)?;
            let _lock = lock(folder)?;
            remove(folder)?;
        }
        let head = format!(
            "# Made by ell0 {} with `ell0 tutorial {}`.\n\n",
            env!("CARGO_PKG_VERSION"),
            task.name()
        );
        begin(folder, INSIDE, &(head + &toml::to_string(&config)?))?;
        Ok((config, lock(folder)?))
    }

    fn read_config(&self, task: Task, folder: &Path) -> anyhow::Result<(Config, Lock)> {
        let file = folder.join("config.toml");
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("{} holds no run to go on with", folder.display()))?;
        let config: Config = toml::from_str(&text)
            .with_context(|| format!("{} is not the config.toml of a tutorial", file.display()))?;
        config
            .check()
            .with_context(|| format!("{} was changed", file.display()))?;
        ensure!(
            config.task == task,
            "{} holds a run of `ell0 tutorial {}`",
            folder.display(),
            config.task.name()
        );
        ensure!(
            self.seed.is_none_or(|seed| seed == config.seed),
            "{} holds a run with seed {}; leave --seed out to go on with it",
            folder.display(),
            config.seed
        );
        let lock = lock(folder)?;
        make_inside(folder, INSIDE)?;
        Ok((config, lock))
    }

    fn run(&self, task: Task) -> anyhow::Result<()> {
        let folder = self.folder(task);
        let (config, _lock) = self.prepare(task, &folder)?;
        report::note_command(&folder)?;
        let began = Instant::now();
        let data = Data::collect(task, config.seed)?;
        let run = Run {
            task,
            epochs: config.epochs,
            seed: config.seed,
            lambda_factor: config.lambda_factor,
            folder: &folder,
            data: &data,
        };
        let rows = side_by_side(&run)?;
        let json = serde_json::to_string_pretty(&rows)? + "\n";
        let figure = results::figure(task, &rows);
        write_whole(folder.join("figure.svg"), figure.svg().as_bytes())?;
        write_whole(folder.join("figure.png"), &figure.png(2.0)?)?;
        write_whole(folder.join("results.json"), json.as_bytes())?;
        report::write(&folder)?;
        let mut screen = stdout().lock();
        if self.json {
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        writeln!(
            screen,
            "{} of {}, {} epochs, seed {}\n",
            match task {
                Task::Dynamics => "Transition models",
                Task::Reward => "Reward models",
            },
            data::ENVIRONMENT,
            config.epochs,
            config.seed
        )?;
        results::table(&mut screen, task, &rows)?;
        results::equations(&mut screen, &rows)?;
        writeln!(
            screen,
            "{:.0} s in all. Results, models, metrics and the figure are in {}",
            began.elapsed().as_secs_f64(),
            folder.display()
        )?;
        Ok(())
    }
}
