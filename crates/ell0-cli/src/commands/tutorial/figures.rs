//! `ell0 tutorial figures`.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf, time::Instant};

use clap::Args;
use ell0_run::{FigureSettings, Place};

use crate::{options::command_line, progress::Bars, table};

#[derive(Args)]
pub struct Figures {
    /// Folder of the figures
    #[arg(long, default_value = "runs/tutorial-figures")]
    out: PathBuf,
    /// Seed of the samples, the estimates and the training
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
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

impl Figures {
    pub fn run(&self) -> anyhow::Result<()> {
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
        let mut screen = screen::out();
        if self.json {
            return table::json(&mut screen, &drawn.results);
        }
        print_figures(&mut screen, &drawn.results)?;
        writeln!(
            screen,
            "{:.1} s. Each as SVG and PNG in {}, all numbers in {}",
            began.elapsed().as_secs_f64(),
            shown_path(&folder.join("figures")),
            shown_path(&folder.join("results.json"))
        )?;
        Ok(())
    }
}

pub fn print_figures(out: &mut impl Write, figures: &ell0_run::Figures) -> anyhow::Result<()> {
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
