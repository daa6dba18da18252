//! `ell0 stats`: the statistics of some files, to be fitted elsewhere.

use std::path::PathBuf;

use clap::Args;

use crate::{commands::model::deliver, data::DataArgs};

/// Reduce files of measurements to statistics that `ell0 fit` can use
///
/// The file is small whatever the number of rows. Statistics of several files, made on several machines, are fitted together:
/// `ell0 fit part1.stats part2.stats`.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Stats {
    #[command(flatten)]
    data: DataArgs,
    /// Where the statistics go
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Stats {
    pub fn run(&self) -> anyhow::Result<()> {
        let prepared = self.data.prepare()?;
        let part = self.data.gather(&prepared)?;
        deliver(Some(&self.out), &part.to_json())?;
        println!(
            "{} rows of {} candidate terms for {} in {}; fit with `ell0 fit {}`, alone or with others of the same columns and library",
            part.survey.rows,
            prepared.features.len(),
            part.targets.join(", "),
            self.out.display(),
            self.out.display()
        );
        Ok(())
    }
}
