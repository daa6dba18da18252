//! `ell0 tutorial`: the experiments of the paper, one after the other.

use std::{
    io::{Write, stdout},
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{bail, ensure};
use clap::{Args, Subcommand, ValueEnum};
use ell0_run::{
    Analysis, Error, FigureSettings, Findings, ModelKind, ModelResult, ModelsRun, ModelsSettings,
    PAGE, Place, PolicySettings, Site, Stage, StageResult, TUTORIAL_ENVIRONMENT, Task,
    TrainSettings, TrainingRun, Tutorial as Course, TutorialSettings, published_return,
};

use super::{
    analyze::print_loop,
    train::{equations, goes_on},
};
use crate::{
    options::{command_line, in_runs},
    progress::Bars,
    table::{self, new_table, or_dash},
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
    whole: Whole,
}

#[derive(Subcommand)]
enum What {
    /// The observation after a step
    Dynamics(Options),
    /// The reward of a step
    Reward(Options),
    /// Control: a network and three dictionaries learn to swing the pendulum up
    Policy(Policy),
    /// The explanatory figures: penalties, gates, their densities and gradients, and gates that close
    Figures(Figures),
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

#[derive(Args)]
struct Whole {
    /// Everything in under two minutes
    #[arg(long)]
    quick: bool,
    /// Stages to leave out, with commas between them
    #[arg(long, value_delimiter = ',', value_enum)]
    skip: Vec<Skipped>,
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

#[derive(Args)]
#[command(allow_negative_numbers = true)]
struct Policy {
    /// Episodes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// 140 episodes: under a minute
    #[arg(long, conflicts_with_all = ["episodes", "reference"])]
    quick: bool,
    /// The settings of the published code and what it gets wrong, for comparison
    #[arg(long)]
    reference: bool,
    /// Number of seeds of each agent
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the run [default: runs/tutorial-policy-seedN, …-quick or …-reference]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder, as it was begun
    #[arg(long, conflicts_with_all = ["episodes", "quick", "reference", "seeds", "force"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Figures {
    /// Folder of the figures
    #[arg(long, default_value = "runs/tutorial-figures")]
    out: PathBuf,
    /// Seed of the samples, the estimates and the training
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Fewer samples and steps: the same figures, less smooth
    #[arg(long)]
    quick: bool,
    /// Replace the folder if it exists
    #[arg(long)]
    force: bool,
    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
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
}

impl Skipped {
    fn stage(self) -> Stage {
        Stage::ALL[self as usize]
    }
}

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
            in_runs(&format!("tutorial-{}-seed{seed}{quick}", task.name()))
        })
    }

    fn run(&self, task: Task) -> anyhow::Result<()> {
        let site = Site {
            folder: self.folder(task),
            replace: self.force,
            command: Some(command_line()),
        };
        let began = Instant::now();
        let bars = Bars::stoppable();
        let run = if self.resume {
            ModelsSettings::resume(&site, task, self.seed, &bars)
        } else {
            let settings = ModelsSettings {
                epochs: self.epochs,
                seed: self.seed.unwrap_or(0),
                lambda_factor: self.lambda_factor,
                ..ModelsSettings::new(task)
            };
            let settings = if self.quick {
                settings.quick()
            } else {
                settings
            };
            settings.run(&site, &bars)
        };
        let run = run.map_err(|e| goes_on(e, &format!("tutorial {}", task.name()), &site))?;
        drop(bars);
        let mut screen = stdout().lock();
        if self.json {
            return table::json(&mut screen, &run.results);
        }
        print_models(&mut screen, &run)?;
        writeln!(
            screen,
            "{:.0} s in all. Results, models, metrics and the figure are in {}",
            began.elapsed().as_secs_f64(),
            site.folder.display()
        )?;
        Ok(())
    }
}

fn print_models(out: &mut impl Write, run: &ModelsRun) -> anyhow::Result<()> {
    let settings = &run.settings;
    writeln!(
        out,
        "{} of {TUTORIAL_ENVIRONMENT}, {} epochs, seed {}\n",
        match settings.task {
            Task::Dynamics => "Transition models",
            Task::Reward => "Reward models",
        },
        settings.epochs,
        settings.seed
    )?;
    let rows = run.results.as_deref().unwrap_or_default();
    models_table(out, settings.task, rows)?;
    model_equations(out, rows)
}

fn models_table(out: &mut impl Write, task: Task, rows: &[ModelResult]) -> anyhow::Result<()> {
    let header = [
        "model",
        "train MSE",
        "test MSE",
        "best test",
        "published",
        "all terms",
        "parameters",
        "active",
        "FLOPs",
        "seconds",
    ];
    let mut grid = new_table(&header, 1);
    for (kind, row) in ModelKind::ALL.iter().zip(rows) {
        let number = |v: f64| format!("{v:.2e}");
        grid.add_row([
            row.model.clone(),
            number(row.train_mse),
            number(row.test_mse),
            number(row.best_test_mse),
            kind.published(task)
                .map_or("–".into(), |(_, test)| number(test)),
            row.all_terms_test_mse.map_or("–".into(), number),
            row.parameters.to_string(),
            row.active.to_string(),
            format!("{:.0}", row.flops),
            format!("{:.1}", row.seconds),
        ]);
    }
    writeln!(out, "{grid}")?;
    writeln!(
        out,
        "train and test: after the last epoch; best test: the best epoch, as in the published figure; active and FLOPs: of the best epoch, closed gates removed.\n\"exact\" needs no epochs: gates by their expectation in closed form, and the path's choice of terms; all terms: the test error of least squares with every term kept.\n"
    )?;
    Ok(())
}

fn model_equations(out: &mut impl Write, rows: &[ModelResult]) -> anyhow::Result<()> {
    for row in rows {
        if let Some(equations) = &row.equations {
            writeln!(out, "{}:", row.model)?;
            for line in equations.lines() {
                let terms = line.matches(" + ").count() + line.matches(" - ").count() + 1;
                if terms <= 14 {
                    writeln!(out, "  {line}")?;
                } else {
                    let name = line.split(" = ").next().unwrap_or_default();
                    writeln!(out, "  {name} = … ({terms} terms)")?;
                }
            }
        }
    }
    writeln!(out)?;
    Ok(())
}

impl Policy {
    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let kind = match (self.quick, self.reference) {
                (true, _) => "-quick",
                (_, true) => "-reference",
                _ => "",
            };
            in_runs(&format!("tutorial-policy-seed{}{kind}", self.seed))
        })
    }

    fn run(&self) -> anyhow::Result<()> {
        const COMMAND: &str = "tutorial policy";
        let site = Site {
            folder: self.folder(),
            replace: self.force,
            command: Some(command_line()),
        };
        let bars = Bars::stoppable();
        let run = if self.resume {
            TrainSettings::resume(&site, COMMAND, &bars)
        } else {
            let settings = PolicySettings {
                episodes: self.episodes,
                quick: self.quick,
                reference: self.reference,
                seeds: self.seeds,
                seed: self.seed,
            };
            settings.training()?.run(Some(&site), &bars)
        };
        let run = run.map_err(|e| goes_on(e, COMMAND, &site))?;
        drop(bars);
        let mut screen = stdout().lock();
        if self.json {
            return table::json(&mut screen, &run.rows());
        }
        print_policies(&mut screen, &run)?;
        writeln!(
            screen,
            "Policies, results, metrics, events for TensorBoard and figures are in {}",
            site.folder.display()
        )?;
        Ok(())
    }
}

fn print_policies(out: &mut impl Write, run: &TrainingRun) -> anyhow::Result<()> {
    if let Some(agent) = run.settings.agents.first() {
        let published = if run.settings.prune {
            ""
        } else {
            ", as published"
        };
        writeln!(
            out,
            "Policies for {TUTORIAL_ENVIRONMENT}, {} episodes, seed {}{published}\n",
            agent.training.episodes, agent.training.seed,
        )?;
    }
    let header = [
        "policy",
        "seed",
        "return",
        "gap",
        "terms",
        "seconds",
        "published",
    ];
    let mut grid = new_table(&header, 1);
    for row in run.rows() {
        grid.add_row([
            row.policy.clone(),
            row.seed.to_string(),
            format!("{:.1} ± {:.1}", row.return_mean, row.return_ci95),
            or_dash(row.gap.map(|g| format!("{g:.1}"))),
            or_dash(row.terms),
            format!("{:.1}", row.seconds),
            or_dash(published_return(&row.agent)),
        ]);
    }
    writeln!(out, "{grid}\n")?;
    equations(out, run.rows())?;
    writeln!(
        out,
        "Return: mean over 2000 initial states ± 95 %. Gap: what optimal control reaches more. Published: one seed, ten episodes."
    )?;
    Ok(())
}

impl Figures {
    fn run(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        let place = Place::Named {
            folder: self.out.clone(),
            replace: self.force,
        };
        let settings = FigureSettings {
            seed: self.seed,
            quick: self.quick,
        };
        settings.check_place(&place)?;
        let bars = Bars::new();
        let drawn = settings.run(&bars)?;
        drop(bars);
        let folder = drawn.write(&place, Some(&command_line()))?;
        let mut screen = stdout().lock();
        if self.json {
            return table::json(&mut screen, &drawn.results);
        }
        print_figures(&mut screen, &drawn.results)?;
        writeln!(
            screen,
            "{:.1} s. Each as SVG and PNG in {}, all numbers in {}",
            began.elapsed().as_secs_f64(),
            folder.join("figures").display(),
            folder.join("results.json").display()
        )?;
        Ok(())
    }
}

fn print_figures(out: &mut impl Write, figures: &ell0_run::Figures) -> anyhow::Result<()> {
    let gate = &figures.gate;
    writeln!(
        out,
        "Figures of the gates: β = {:.3}, γ = {}, ζ = {}; seed {}\n",
        gate.beta(),
        gate.gamma(),
        gate.zeta(),
        figures.seed
    )?;
    for (name, says) in figures.sentences() {
        writeln!(out, "{name}")?;
        for line in wrapped(says, 96) {
            writeln!(out, "    {line}")?;
        }
    }
    writeln!(out)?;
    Ok(())
}

/// Lines of whole words, none longer than `width` if its words are not.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

/// Seconds that a stage took on two cores of a common machine.
fn planned(stage: Stage, quick: bool) -> u64 {
    let (whole, short) = match stage {
        Stage::Figures => (3, 2),
        Stage::Dynamics => (202, 12),
        Stage::Reward => (189, 10),
        Stage::Policy => (50, 29),
        Stage::Analysis => (3, 2),
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
    fn is_given(&self) -> bool {
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

    fn begin(&self, folder: &std::path::Path) -> anyhow::Result<Course> {
        let settings = TutorialSettings {
            seed: self.seed.unwrap_or(0),
            quick: self.quick,
        };
        let site = Site {
            folder: folder.into(),
            replace: self.force,
            command: Some(command_line()),
        };
        settings.begin(&site).map_err(|error| match error {
            Error::OtherRun { found, .. } => {
                let found = found
                    .replace(", not quick", ", not --quick")
                    .replace(", quick", ", --quick");
                anyhow::anyhow!(
                    "{} holds {found}: --force replaces it, another --out leaves it",
                    folder.display()
                )
            }
            Error::NoRun { .. } | Error::Damaged { .. } => anyhow::anyhow!(
                "{} is not the folder of an `ell0 tutorial`: choose another --out",
                folder.display()
            ),
            error => error.into(),
        })
    }

    fn run(&self) -> anyhow::Result<()> {
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
        println!("The plan, {} in all on two cores:", about(left(&stages)));
        for &stage in &stages {
            let time = if course.is_done(stage) {
                "done".into()
            } else {
                about(planned(stage, self.quick))
            };
            println!("  {:<9} {}, {time}", stage.name(), stage.title());
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
            println!("\n== {} ({} left)\n", stage.title(), about(left));
            self.stage(&course, stage, &bars)?;
            spent += planned(stage, self.quick);
        }
        println!(
            "\n{} in all. Everything on one page: {}",
            about(began.elapsed().as_secs()),
            folder.join(PAGE).display()
        );
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
    let mut screen = stdout().lock();
    match result {
        StageResult::Figures(figures) => print_figures(&mut screen, figures)?,
        StageResult::Models(run) => print_models(&mut screen, run)?,
        StageResult::Policies(run) => print_policies(&mut screen, run)?,
        StageResult::Analysis(Analysis {
            model,
            findings: Findings::Loop(found),
        }) => print_loop(&mut screen, model, found)?,
        StageResult::Analysis(_) => {}
    }
    writeln!(screen, "{:.0} s", took.as_secs_f64())?;
    Ok(())
}
