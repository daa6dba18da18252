//! `ell0 tutorial dynamics` and `reward`.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf, time::Instant};

use clap::Args;
use ell0_run::{
    ModelKind, ModelResult, ModelsRun, ModelsSettings, Site, TUTORIAL_ENVIRONMENT, Task,
};

use crate::{
    commands::train::goes_on,
    options::{command_line, in_runs},
    progress::Bars,
    table::{self, new_table},
};

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Epochs of 781 batches
    #[arg(long, default_value_t = 500, value_parser = crate::values::at_least_one, allow_negative_numbers = true)]
    epochs: u64,
    /// 25 epochs: under a minute
    #[arg(long, conflicts_with = "epochs")]
    quick: bool,
    /// Seed of the data, the weights, the batches and the gates [default: 0]
    #[arg(long, value_parser = crate::values::seed, allow_negative_numbers = true)]
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

impl Options {
    fn folder(&self, task: Task) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let quick = if self.quick { "-quick" } else { "" };
            let seed = self.seed.unwrap_or(0);
            in_runs(&format!("tutorial-{}-seed{seed}{quick}", task.name()))
        })
    }

    pub fn run(&self, task: Task) -> anyhow::Result<()> {
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
        let mut screen = screen::out();
        if self.json {
            return table::json(&mut screen, &run.results);
        }
        print_models(&mut screen, &run)?;
        writeln!(
            screen,
            "{:.0} s in all. Results, models, metrics and the figure are in {}",
            began.elapsed().as_secs_f64(),
            shown_path(&site.folder)
        )?;
        Ok(())
    }
}

pub fn print_models(out: &mut impl Write, run: &ModelsRun) -> anyhow::Result<()> {
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
