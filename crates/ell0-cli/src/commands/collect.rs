//! `ell0 collect`: experience of an environment as a table.

use crate::screen;
use ell0::wording::shown_path;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ell0_control::environment::{Environment, make};
use ell0_run::{CollectSettings, OutFile};

use crate::progress::Bars;

/// Record episodes of an environment under a random policy
///
/// A row is a step: what was observed, the action, the reward, what was observed next, and how it ended. `ell0 fit` reads the file.
#[derive(Args)]
pub struct Collect {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Number of episodes
    #[arg(long, default_value_t = 1000, value_parser = crate::values::at_least_one, allow_negative_numbers = true)]
    episodes: u64,
    /// Seed of initial states and actions
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// File for the rows: Parquet if it ends in .parquet, else CSV
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl Collect {
    pub fn run(&self) -> anyhow::Result<()> {
        let world = make(&self.environment)?;
        let settings = CollectSettings {
            episodes: self.episodes,
            seed: self.seed,
        };
        let out = OutFile::new(&self.out).replacing(self.force);
        let rows = settings.run(world.as_ref(), &out, &Bars::new())?;
        writeln!(
            screen::out(),
            "{rows} steps of {} in {} episodes, written to {}",
            world.text(),
            self.episodes,
            shown_path(&self.out)
        )?;
        Ok(())
    }
}
