//! `ell0 simulate`: a law from an initial state.

use crate::screen;
use std::{io::Write, path::PathBuf};

use anyhow::bail;
use clap::Args;
use ell0_run::{OutFile, SimulateSettings, read_model, shown_trajectory, trajectory_table};

use crate::values::{Named, assignments};

/// Simulate a law from an initial state
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Simulate {
    /// model.json, or the folder of a run
    model: PathBuf,
    /// Initial state, for example x=1,y=0
    #[arg(long, required = true, value_parser = assignments)]
    initial: Vec<Named<f64>>,
    /// How long to simulate a law of rates of change
    #[arg(long, conflicts_with = "steps")]
    duration: Option<f64>,
    /// Time between rows
    #[arg(long, default_value_t = 0.01)]
    dt: f64,
    /// Steps of a discrete law
    #[arg(long)]
    steps: Option<u32>,
    /// File with a column of time, `t` or `time` (for a law of rates of change) and the controls; in between they hold their value
    #[arg(long)]
    controls_from: Option<PathBuf>,
    /// Where the trajectory goes [default: the screen]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl Simulate {
    pub fn run(&self) -> anyhow::Result<()> {
        let out = self.out.as_ref();
        let out = out.map(|out| OutFile::new(out).replacing(self.force));
        let read: Vec<&PathBuf> = [&self.model]
            .into_iter()
            .chain(&self.controls_from)
            .collect();
        if let Some(out) = &out {
            out.check(&read)?;
        }
        let model = read_model(&self.model)?;
        let settings = SimulateSettings {
            initial: Named::all(&self.initial),
            duration: self.duration,
            dt: self.dt,
            steps: self.steps,
            controls_from: self.controls_from.clone(),
        };
        let simulation = settings.run(&model)?;
        match &out {
            Some(out) => out.write(trajectory_table(&model, &simulation))?,
            None => write!(screen::out(), "{}", shown_trajectory(&model, &simulation))?,
        }
        match simulation.stopped {
            Some(why) => bail!("the simulation ended early: {why}"),
            None => Ok(()),
        }
    }
}
