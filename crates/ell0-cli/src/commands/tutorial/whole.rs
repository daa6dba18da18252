//! `ell0 tutorial` without a further word: everything, one stage after the other.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::{
    report::{self, STAGES},
    run_dir::may_replace,
};

#[derive(Args)]
pub struct Whole {
    /// Everything in under two minutes
    #[arg(long)]
    quick: bool,
    /// Stages to leave out
    #[arg(long, value_delimiter = ',', value_enum)]
    skip: Vec<Stage>,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder [default: runs/tutorial, or runs/tutorial-quick]; what is finished in it is not done again
    #[arg(long)]
    out: Option<PathBuf>,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// The seed's explanatory figures
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
            Stage::Figures => (10, 4),
            Stage::Dynamics => (300, 25),
            Stage::Reward => (260, 22),
            Stage::Policy => (75, 25),
            Stage::Analysis => (3, 3),
        }
    }
}

impl Whole {
    pub fn run(&self) -> anyhow::Result<()> {
        let folder = self.out.clone().unwrap_or_else(|| {
            let name = if self.quick {
                "tutorial-quick"
            } else {
                "tutorial"
            };
            Path::new("runs").join(name)
        });
        ensure!(
            !folder.exists() || folder.is_dir(),
            "{} is a file; --out needs a folder",
            folder.display()
        );
        if self.force && folder.exists() {
            let ours: Vec<&str> = STAGES
                .iter()
                .map(|s| s.0)
                .chain([report::FILE, report::COMMAND])
                .collect();
            may_replace(&folder, &ours)?;
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot replace {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot write the folder {}", folder.display()))?;
        report::note_command(&folder)?;
        let stages: Vec<Stage> = Stage::ALL
            .into_iter()
            .filter(|s| !self.skip.contains(s))
            .collect();
        let seconds = |stage: &Stage| {
            let (whole, quick) = stage.seconds();
            if self.quick { quick } else { whole }
        };
        let left = |stages: &[Stage]| stages.iter().map(seconds).sum::<u64>();
        println!("The plan, {} in all on two cores:", about(left(&stages)));
        for stage in &stages {
            let done = if is_done(&folder, *stage) {
                " (done)"
            } else {
                ""
            };
            let what = STAGES[*stage as usize].1;
            println!(
                "  {:<9} {what}, {}{done}",
                stage.name(),
                about(seconds(stage))
            );
        }
        let began = Instant::now();
        for (k, stage) in stages.iter().enumerate() {
            if is_done(&folder, *stage) {
                continue;
            }
            println!(
                "\n== {} ({} left)\n",
                STAGES[*stage as usize].1,
                about(left(&stages[k..]))
            );
            self.stage(&folder, *stage)?;
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
        let mut words: Vec<String> = Vec::new();
        let mut more = |text: &[&str]| words.extend(text.iter().map(|w| w.to_string()));
        let seed = self.seed.to_string();
        match stage {
            Stage::Analysis => {
                let policy = best_policy(&folder.join(Stage::Policy.name()))?;
                more(&[
                    "analyze",
                    &policy.to_string_lossy(),
                    "--env",
                    super::data::ENVIRONMENT,
                ]);
                more(&["--force"]);
            }
            Stage::Figures => {
                more(&["tutorial", "figures", "--seed", &seed, "--force"]);
                more(if self.quick { &["--quick"] } else { &[] });
            }
            stage => {
                more(&["tutorial", stage.name()]);
                if inside.exists() {
                    more(&["--resume"]);
                } else {
                    more(&["--seed", &seed]);
                    more(if self.quick { &["--quick"] } else { &[] });
                }
            }
        }
        more(&["--out", &inside.to_string_lossy()]);
        let program = std::env::current_exe().context("this program's own file")?;
        let status = Command::new(program)
            .args(&words)
            .status()
            .context("cannot start a stage")?;
        ensure!(
            status.success(),
            "the stage {} did not finish; the same command goes on with it, --skip {} leaves it out",
            stage.name(),
            stage.name()
        );
        Ok(())
    }
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
