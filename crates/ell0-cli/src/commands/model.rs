//! `ell0 show` and `predict`: a finished model at work.

use crate::screen;
use crate::table::plain_json;
use ell0::wording::on_one_line;
use std::{io::Write, path::PathBuf};

use clap::Args;
use ell0_data::write::Values;
use ell0_run::{OutFile, SparseNetwork, Trained, predict, predict_to_file, quoted, read_model};

/// Print the equations of a model
#[derive(Args)]
pub struct Show {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// As PySINDy prints them
    #[arg(long, conflicts_with_all = ["latex", "json"])]
    pysindy: bool,
    /// As LaTeX
    #[arg(long, conflicts_with = "json")]
    latex: bool,
    /// The model file itself
    #[arg(long)]
    json: bool,
}

impl Show {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = read_model(&self.model)?;
        let text = if self.json {
            plain_json(&model.to_json())
        } else if self.latex {
            model.latex(5)
        } else if self.pysindy {
            model.pysindy(3)
        } else {
            model.text(6)
        };
        Ok(writeln!(screen::out(), "{text}")?)
    }
}

/// A name or a class as a cell of a row on the screen.
fn on_the_screen(text: &str) -> String {
    quoted(&on_one_line(text))
}

/// Predict the targets of a model for the rows of a file
///
/// For a law of states: their rates of change, or the next row. For a network that tells classes: the class, and the probability of each.
#[derive(Args)]
pub struct Predict {
    /// model.json, network.safetensors, or the folder of a run
    model: PathBuf,
    /// File with the model's inputs
    data: PathBuf,
    /// Where the predictions go [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl Predict {
    pub fn run(&self) -> anyhow::Result<()> {
        let model = Trained::read(&self.model)?;
        if let Some(out) = &self.out {
            let out = OutFile::new(out).replacing(self.force);
            out.check(&[&self.model, &self.data])?;
            match model {
                Trained::Equations(model) => predict_to_file(&model, &self.data, &out)?,
                Trained::Network(network) => network.predict_to_file(&self.data, &out)?,
            }
            return Ok(());
        }
        let model = match model {
            Trained::Equations(model) => model,
            Trained::Network(network) => return self.said(&network),
        };
        let mut screen = screen::out();
        let names: Vec<String> = model.targets().map(on_the_screen).collect();
        let mut head = Some(names.join(","));
        // Whoever reads may close the screen early: that is told apart from what is wrong with the data.
        let mut shown = Ok(());
        predict(&model, &self.data, |columns| {
            if let Some(head) = head.take() {
                shown = writeln!(screen, "{head}");
            }
            for row in 0..columns.first().map_or(0, |c| c.len()) {
                let cells: Vec<String> = columns.iter().map(|c| c[row].to_string()).collect();
                if shown.is_ok() {
                    shown = writeln!(screen, "{}", cells.join(","));
                }
            }
            Ok(())
        })?;
        Ok(shown?)
    }

    /// What a network says of the rows, on the screen.
    fn said(&self, network: &SparseNetwork) -> anyhow::Result<()> {
        let mut screen = screen::out();
        let names: Vec<String> = network.columns().iter().map(|n| on_the_screen(n)).collect();
        let mut head = Some(names.join(","));
        let mut shown = Ok(());
        network.predict_file(&self.data, |columns| {
            if let Some(head) = head.take() {
                shown = writeln!(screen, "{head}");
            }
            let rows = columns.first().map_or(0, Values::len);
            for row in 0..rows {
                let cells: Vec<String> = columns
                    .iter()
                    .map(|c| on_the_screen(&c.cell(row)))
                    .collect();
                if shown.is_ok() {
                    shown = writeln!(screen, "{}", cells.join(","));
                }
            }
            Ok(())
        })?;
        Ok(shown?)
    }
}
