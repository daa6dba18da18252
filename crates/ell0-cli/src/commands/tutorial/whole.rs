//! `ell0 tutorial` without a further word: everything, one stage after the other.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    commands::analyze,
    report::{self, STAGES},
    run_dir::{Lock, begin, is_held, lock, may_replace, remove},
};

/// Whether this process was asked to end.
static STOP: AtomicBool = AtomicBool::new(false);

/// How often a stage is looked at, and how long one may take to save after a signal.
const POLL: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(5);

#[derive(Args)]
pub struct Whole {
    /// Everything in under two minutes
    #[arg(long)]
    quick: bool,
    /// Stages to leave out, with commas between them
    #[arg(long, value_delimiter = ',', value_enum)]
    skip: Vec<Stage>,
    /// Seed of everything random [default: 0]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder [default: runs/tutorial, with -seedN for other seeds and -quick]; what is finished in it is not done again
    #[arg(long)]
    out: Option<PathBuf>,
    /// Begin all of it anew if the folder exists
    #[arg(long, conflicts_with = "skip")]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// Penalties, gates and estimators, drawn
    Figures,
    /// Transition models
    Dynamics,
    /// Reward models
    Reward,
    /// Policies
    Policy,
    /// Analysis of the best policy
    Analysis,
}

impl Stage {
    const ALL: [Stage; 5] = [
        Stage::Figures,
        Stage::Dynamics,
        Stage::Reward,
        Stage::Policy,
        Stage::Analysis,
    ];

    fn name(self) -> &'static str {
        STAGES[self as usize].0
    }

    /// Seconds it took on two cores of a common machine: (whole, quick).
    fn seconds(self) -> (u64, u64) {
        match self {
            Stage::Figures => (3, 2),
            Stage::Dynamics => (202, 12),
            Stage::Reward => (189, 10),
            Stage::Policy => (50, 29),
            Stage::Analysis => (3, 2),
        }
    }
}

/// What a folder of the whole tutorial was begun with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    tutorial: Whose,
    seed: u64,
    quick: bool,
}

/// That a folder is one of the whole tutorial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Whose {
    Whole,
}

/// What the whole tutorial leaves in its folder, besides the stages.
const OURS: [&str; 3] = ["config.toml", report::FILE, report::COMMAND];

impl Whole {
    /// Whether any option was given.
    pub fn is_given(&self) -> bool {
        let place = self.seed.is_some() || self.out.is_some();
        self.quick || self.force || place || !self.skip.is_empty()
    }

    fn folder(&self) -> PathBuf {
        let quick = if self.quick { "-quick" } else { "" };
        let seed = match self.seed {
            None | Some(0) => String::new(),
            Some(seed) => format!("-seed{seed}"),
        };
        let name = format!("tutorial{seed}{quick}");
        self.out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(name))
    }

    /// Makes the folder, or makes sure that it holds what is asked for; nothing is written into a folder that does not.
    fn prepare(&self, folder: &Path) -> anyhow::Result<Lock> {
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is a file; --out needs a folder",
            folder.display()
        );
        let asked = Begun {
            tutorial: Whose::Whole,
            seed: self.seed.unwrap_or(0),
            quick: self.quick,
        };
        let config = folder.join("config.toml");
        let begun = || -> anyhow::Result<Begun> {
            let text = std::fs::read_to_string(&config)?;
            Ok(toml::from_str(&text)?)
        };
        if folder.exists() {
            let Ok(begun) = begun() else {
                bail!(
                    "{} is not the folder of an `ell0 tutorial`: choose another --out",
                    folder.display()
                );
            };
            if !self.force {
                ensure!(
                    begun == asked,
                    "{} holds the tutorial with seed {}{}: --force replaces it, another --out leaves it",
                    folder.display(),
                    begun.seed,
                    if begun.quick {
                        ", --quick"
                    } else {
                        ", not --quick"
                    }
                );
                return lock(folder);
            }
            throw_away(folder)?;
        }
        let head = format!(
            "# Made by ell0 {} with `ell0 tutorial`.\n\n",
            env!("CARGO_PKG_VERSION")
        );
        begin(folder, &[], &(head + &toml::to_string(&asked)?))?;
        lock(folder)
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let folder = self.folder();
        let stages: Vec<Stage> = Stage::ALL
            .into_iter()
            .filter(|s| !self.skip.contains(s))
            .collect();
        ensure!(!stages.is_empty(), "--skip leaves nothing to do");
        ensure!(
            !stages.contains(&Stage::Analysis)
                || stages.contains(&Stage::Policy)
                || is_done(&folder, Stage::Policy),
            "the analysis needs the policies: leave --skip policy out, or skip analysis, too"
        );
        let _lock = self.prepare(&folder)?;
        report::note_command(&folder)?;
        let seconds = |stage: &Stage| {
            let (whole, quick) = stage.seconds();
            if self.quick { quick } else { whole }
        };
        let left = |stages: &[Stage]| {
            let stages = stages.iter().filter(|s| !is_done(&folder, **s));
            stages.map(seconds).sum::<u64>()
        };
        println!("The plan, {} in all on two cores:", about(left(&stages)));
        for stage in &stages {
            let what = STAGES[*stage as usize].1;
            let time = if is_done(&folder, *stage) {
                "done".into()
            } else {
                about(seconds(stage))
            };
            println!("  {:<9} {what}, {time}", stage.name());
        }
        let began = Instant::now();
        // Seconds that were planned for what was done here: how fast this machine is.
        let mut planned = 0;
        for (k, stage) in stages.iter().enumerate() {
            if is_done(&folder, *stage) {
                continue;
            }
            // A short stage says little about the others.
            let pace = match planned {
                0..10 => 1.0,
                planned => began.elapsed().as_secs_f64() / planned as f64,
            };
            let left = (left(&stages[k..]) as f64 * pace).ceil() as u64;
            println!(
                "\n== {} ({} left)\n",
                STAGES[*stage as usize].1,
                about(left)
            );
            self.stage(&folder, *stage)?;
            planned += seconds(stage);
            // A page after each stage: there is something to look at early.
            report::write(&folder)?;
        }
        let page = report::write(&folder)?;
        println!(
            "\n{} in all. Everything on one page: {}",
            about(began.elapsed().as_secs()),
            page.display()
        );
        Ok(())
    }

    /// Runs a stage as the command that a user would type, so that both do the same.
    fn stage(&self, folder: &Path, stage: Stage) -> anyhow::Result<()> {
        let inside = folder.join(stage.name());
        let mut words: Vec<OsString> = Vec::new();
        let mut more = |text: &[&str]| words.extend(text.iter().map(OsString::from));
        let seed = self.seed.unwrap_or(0).to_string();
        let quick: &[&str] = if self.quick { &["--quick"] } else { &[] };
        match stage {
            Stage::Analysis => {
                more(&["analyze", "--env", super::data::ENVIRONMENT, "--force"]);
            }
            Stage::Figures => {
                more(&["tutorial", "figures", "--seed", &seed, "--force"]);
                more(quick);
            }
            stage => {
                more(&["tutorial", stage.name()]);
                if inside.exists() {
                    more(&["--resume"]);
                } else {
                    more(&["--seed", &seed]);
                    more(quick);
                }
            }
        }
        // As one word: a name may begin with a dash.
        let mut out = OsString::from("--out=");
        out.push(&inside);
        words.push(out);
        if stage == Stage::Analysis {
            words.push("--".into());
            words.push(best_policy(&folder.join(Stage::Policy.name()))?.into());
        }
        let program = std::env::current_exe().context("this program's own file")?;
        // It may go on alone, if the process that began it was killed.
        if inside.is_dir() && is_held(&inside) {
            bail!(
                "the stage {} goes on in another process; wait for its end, or end it",
                stage.name()
            );
        }
        // Ctrl-C in a terminal reaches both processes: this one waits until the other has saved.
        let _ = ctrlc::set_handler(|| {
            STOP.store(true, Ordering::Relaxed);
        });
        let interrupted = || {
            format!(
                "interrupted in the stage {}; the same command goes on with it",
                stage.name()
            )
        };
        ensure!(!STOP.load(Ordering::Relaxed), interrupted());
        let mut child = Command::new(program)
            .args(&words)
            .spawn()
            .context("cannot start a stage")?;
        let mut grace = GRACE;
        let status = loop {
            if let Some(status) = child.try_wait().context("a stage")? {
                break status;
            }
            std::thread::sleep(POLL);
            if STOP.load(Ordering::Relaxed) {
                // A signal for this process alone does not reach the other one. What is saved stays whole, however it ends.
                match grace.checked_sub(POLL) {
                    Some(rest) => grace = rest,
                    None => child.kill().context("cannot end a stage")?,
                }
            }
        };
        // A stage that was finished all the same is finished.
        ensure!(
            status.success() || !STOP.load(Ordering::Relaxed),
            interrupted()
        );
        ensure!(
            status.success(),
            "the stage {} did not finish; the same command goes on with it, --skip {} leaves it out",
            stage.name(),
            stage.name()
        );
        Ok(())
    }
}

/// Deletes a whole tutorial, if the folder holds nothing else and no process is writing to it.
fn throw_away(folder: &Path) -> anyhow::Result<()> {
    let stages = STAGES.iter().map(|s| s.0);
    may_replace(folder, &stages.chain(OURS).collect::<Vec<_>>())?;
    let mut begun = Stage::ALL.to_vec();
    begun.retain(|stage| folder.join(stage.name()).is_dir());
    for stage in &begun {
        let inside = folder.join(stage.name());
        match stage {
            Stage::Figures => super::figures::may_throw_away(&inside)?,
            Stage::Analysis => may_replace(&inside, analyze::OURS)?,
            Stage::Dynamics | Stage::Reward => super::may_throw_away(&inside)?,
            Stage::Policy => {
                let place = super::policy::place(inside.clone());
                place.read()?.may_throw_away(&inside)?;
            }
        }
    }
    // A stage may go on alone, if the process that began it was killed.
    let locks = begun.iter().map(|stage| lock(&folder.join(stage.name())));
    let mut locks = locks.collect::<anyhow::Result<Vec<_>>>()?;
    locks.push(lock(folder)?);
    remove(folder)
}

/// Whether a stage has left its results.
fn is_done(folder: &Path, stage: Stage) -> bool {
    let name = match stage {
        Stage::Analysis => "analysis.json",
        _ => "results.json",
    };
    folder.join(stage.name()).join(name).exists()
}

/// The policy in closed form with the largest return.
fn best_policy(folder: &Path) -> anyhow::Result<PathBuf> {
    let place = folder.join("results.json");
    let text = std::fs::read_to_string(&place).with_context(|| {
        format!(
            "the analysis needs the policies: {} is not there",
            place.display()
        )
    })?;
    let rows: Value = serde_json::from_str(&text).context("results.json of the policies")?;
    let best = rows
        .as_array()
        .into_iter()
        .flatten()
        .filter(|r| r["equation"].is_string())
        .max_by(|a, b| {
            let value = |r: &Value| r["return_mean"].as_f64().unwrap_or(f64::NEG_INFINITY);
            value(a).total_cmp(&value(b))
        })
        .context("no policy in closed form was trained")?;
    let name = format!(
        "{}-seed{}.json",
        best["agent"].as_str().unwrap_or(""),
        best["seed"]
    );
    Ok(folder.join("policies").join(name))
}

/// A time in words.
fn about(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("about {seconds} s"),
        _ => format!("about {} min", seconds.div_ceil(60)),
    }
}
