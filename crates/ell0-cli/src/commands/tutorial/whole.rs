//! `ell0 tutorial` without a further word: everything, one stage after the other.

use crate::screen;
use ell0::wording::shown_path;
use std::{
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use ell0_run::{
    Analysis, Error, Findings, Site, Stage, StageResult, Tutorial as Course, TutorialSettings,
};

use super::{figures::print_figures, models::print_models, pde::print_pde, policy::print_policies};
use crate::{
    commands::analyze::print_loop,
    options::{command_line, in_runs},
    progress::Bars,
};

#[derive(Args)]
pub struct Whole {
    /// Everything in under five minutes
    #[arg(long)]
    quick: bool,
    /// Stages to leave out, with commas between them
    #[arg(long, value_delimiter = ',', value_enum)]
    skip: Vec<Skipped>,
    /// Seed of everything random [default: 0]
    #[arg(long, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Folder [default: runs/tutorial, with -seedN for other seeds and -quick]; what is finished in it is not done again
    #[arg(long)]
    out: Option<PathBuf>,
    /// Begin all of it anew if the folder exists
    #[arg(long, conflicts_with = "skip")]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Skipped {
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
    /// Laws that control fields
    Pde,
}

impl Skipped {
    fn stage(self) -> Stage {
        Stage::ALL[self as usize]
    }
}

/// Seconds that a stage took on two cores of a common machine.
fn planned(stage: Stage, quick: bool) -> u64 {
    let (whole, short) = match stage {
        Stage::Figures => (3, 2),
        Stage::Dynamics => (202, 12),
        Stage::Reward => (189, 10),
        Stage::Policy => (50, 29),
        Stage::Analysis => (3, 2),
        Stage::Pde => (3000, 150),
    };
    if quick { short } else { whole }
}

/// A time in words.
fn about(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("about {seconds} s"),
        _ => format!("about {} min", seconds.div_ceil(60)),
    }
}

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
        self.out.clone().unwrap_or_else(|| in_runs(&name))
    }

    fn begin(&self, folder: &Path) -> anyhow::Result<Course> {
        let settings = TutorialSettings {
            seed: self.seed.unwrap_or(0),
            quick: self.quick,
        };
        let site = Site {
            folder: folder.into(),
            replace: self.force,
            command: Some(command_line()),
        };
        settings.begin(&site).map_err(|error| match error.root() {
            Error::OtherRun { found, .. } if !self.force => {
                let found = found
                    .replace(", not quick", ", not --quick")
                    .replace(", quick", ", --quick");
                anyhow::anyhow!(
                    "{} holds {found}: --force replaces it, another --out leaves it",
                    shown_path(folder)
                )
            }
            Error::NoRun { .. } | Error::Damaged { .. } => anyhow::anyhow!(
                "{} is not the folder of an `ell0 tutorial`: choose another --out",
                shown_path(folder)
            ),
            _ => error.into(),
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let folder = self.folder();
        let skipped: Vec<Stage> = self.skip.iter().map(|s| s.stage()).collect();
        let mut stages = Stage::ALL.to_vec();
        stages.retain(|stage| !skipped.contains(stage));
        ensure!(!stages.is_empty(), "--skip leaves nothing to do");
        let policies =
            stages.contains(&Stage::Policy) || folder.join("policy").join("results.json").exists();
        ensure!(
            !stages.contains(&Stage::Analysis) || policies,
            "the analysis needs the policies: leave --skip policy out, or skip analysis, too"
        );
        let course = self.begin(&folder)?;
        let left = |stages: &[Stage]| {
            let stages = stages.iter().filter(|s| !course.is_done(**s));
            stages.map(|s| planned(*s, self.quick)).sum::<u64>()
        };
        writeln!(
            screen::out(),
            "The plan, {} in all on two cores:",
            about(left(&stages))
        )?;
        for &stage in &stages {
            let time = if course.is_done(stage) {
                "done".into()
            } else {
                about(planned(stage, self.quick))
            };
            writeln!(
                screen::out(),
                "  {:<9} {}, {time}",
                stage.name(),
                stage.title()
            )?;
        }
        let began = Instant::now();
        // Seconds that were planned for what was done here: how fast this machine is.
        let mut spent = 0;
        let bars = Bars::stoppable();
        for (k, &stage) in stages.iter().enumerate() {
            if course.is_done(stage) {
                continue;
            }
            // A short stage says little about the others.
            let pace = match spent {
                0..10 => 1.0,
                spent => began.elapsed().as_secs_f64() / spent as f64,
            };
            let left = (left(&stages[k..]) as f64 * pace).ceil() as u64;
            writeln!(
                screen::out(),
                "\n== {} ({} left)\n",
                stage.title(),
                about(left)
            )?;
            self.stage(&course, stage, &bars)?;
            spent += planned(stage, self.quick);
        }
        writeln!(
            screen::out(),
            "\n{} in all. Everything on one page: {}",
            about(began.elapsed().as_secs()),
            shown_path(&course.finish()?)
        )?;
        Ok(())
    }

    fn stage(&self, course: &Course, stage: Stage, bars: &Bars) -> anyhow::Result<()> {
        let began = Instant::now();
        let result = match course.run_stage(stage, bars) {
            Ok(result) => result,
            Err(error) if matches!(error.root(), Error::Stopped { .. }) || bars.stopped() => bail!(
                "interrupted in the stage {}; the same command goes on with it",
                stage.name()
            ),
            Err(error) => {
                let remedy = format!(
                    "the stage {} did not finish; the same command goes on with it, --skip {} leaves it out",
                    stage.name(),
                    stage.name()
                );
                return Err(anyhow::Error::from(error).context(remedy));
            }
        };
        bars.clear();
        print_stage(&result, began.elapsed())
    }
}

fn print_stage(result: &StageResult, took: Duration) -> anyhow::Result<()> {
    let mut screen = screen::out();
    match result {
        StageResult::Figures(figures) => print_figures(&mut screen, figures)?,
        StageResult::Models(run) => print_models(&mut screen, run)?,
        StageResult::Policies(run) => print_policies(&mut screen, run)?,
        StageResult::Analysis(Analysis {
            model,
            findings: Findings::Loop(found),
        }) => print_loop(&mut screen, model, found)?,
        StageResult::Analysis(_) => {}
        StageResult::Pde(run) => print_pde(&mut screen, run)?,
    }
    writeln!(screen, "{:.0} s", took.as_secs_f64())?;
    Ok(())
}
