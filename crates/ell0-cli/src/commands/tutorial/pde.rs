//! `ell0 tutorial pde`.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf, time::Instant};

use clap::Args;
use ell0_run::{PdeProblem, PdeRow, PdeRun, PdeSettings, Site};

use crate::{
    commands::train::goes_on,
    options::{command_line, in_runs},
    progress::Bars,
    table::{self, new_table},
};

/// Laws that control fields
///
/// The two problems of Botteghi and Fasel, "Parametric PDE control with deep reinforcement learning and differentiable L0-sparse polynomial policies": eight actuators and eight sensors on a ring, parameters that change from episode to episode.
/// Laws of at most three terms that all actuators share, sparse laws of each actuator (L0, L1), and networks with and without sight of the parameters are trained, and measured where they were trained and beyond, without and with noise.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct PdeOptions {
    /// Short trainings with one seed: under three minutes
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// The Kuramoto–Sivashinsky equation with the mistakes of the published code
    #[arg(long)]
    published: bool,
    /// Number of seeds of each agent [default: 3; 1 with --quick]
    #[arg(long, value_parser = crate::values::whole::<1, 1000>, allow_negative_numbers = true)]
    seeds: Option<u64>,
    /// First seed
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Folder of the run [default: runs/tutorial-pde-seedN, …-published, …-quick]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder, as it was begun
    #[arg(long, conflicts_with_all = ["quick", "published", "seeds", "force"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

impl PdeOptions {
    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let published = if self.published { "-published" } else { "" };
            let quick = if self.quick { "-quick" } else { "" };
            in_runs(&format!("tutorial-pde-seed{}{published}{quick}", self.seed))
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let site = Site {
            folder: self.folder(),
            replace: self.force,
            command: Some(command_line()),
        };
        let began = Instant::now();
        let usual = if self.quick {
            PdeSettings::quick()
        } else {
            PdeSettings::default()
        };
        let settings = PdeSettings {
            published: self.published,
            seeds: self.seeds.unwrap_or(usual.seeds),
            seed: self.seed,
            ..usual
        };
        let bars = Bars::stoppable();
        let run = match self.resume {
            true => PdeSettings::resume(&site, &bars),
            false => settings.run(&site, &bars),
        };
        let run = run.map_err(|e| goes_on(e, "tutorial pde", &site))?;
        drop(bars);
        let mut screen = screen::out();
        if self.json {
            return table::json(&mut screen, &run.rows);
        }
        print_pde(&mut screen, &run)?;
        writeln!(
            screen,
            "{:.0} s in all. Results, policies, pictures and the page are in {}",
            began.elapsed().as_secs_f64(),
            shown_path(&site.folder)
        )?;
        Ok(())
    }
}

pub fn print_pde(out: &mut impl Write, run: &PdeRun) -> anyhow::Result<()> {
    for problem in PdeProblem::ALL {
        let rows: Vec<&PdeRow> = run.of(problem).collect();
        let Some(first) = rows.first() else {
            continue;
        };
        writeln!(out, "{}\n", problem.title())?;
        let header = first.header();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let mut grid = new_table(&header, 1);
        for row in &rows {
            grid.add_row(row.cells());
        }
        writeln!(out, "{grid}")?;
        let mut grid = new_table(&header, 1);
        for costs in rows.iter().filter_map(|row| row.costs()) {
            grid.add_row(costs);
        }
        writeln!(out, "Costs of the state and of the actions\n{grid}")?;
        for row in rows {
            let (Some(law), Some(seed)) = (&row.law, row.seed) else {
                continue;
            };
            let lines = if law.contains('\n') { "\n" } else { " " };
            writeln!(out, "{}, seed {seed}:{lines}{}", row.agent, short(law))?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "Returns are means over all starts. Terms: of each actuator, on average. here, left1, right1, …: sensors counted from the actuator; forcing: the known force at its place."
    )?;
    Ok(())
}

/// A law whose lines are not endless.
fn short(law: &str) -> String {
    const MOST: usize = 400;
    let line = |line: &str| match line.char_indices().nth(MOST) {
        None => line.to_string(),
        Some((at, _)) => format!("{} …", &line[..at]),
    };
    law.lines().map(line).collect::<Vec<_>>().join("\n")
}
