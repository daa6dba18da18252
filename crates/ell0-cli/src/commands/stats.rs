//! `ell0 stats`: the statistics of some files, to be fitted elsewhere.

use crate::screen;
use ell0::wording::{listed, shown_path};
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use ell0_run::{OutFile, StatsSettings};

use super::{fit::missing, fit_print::too_short};
use crate::{options::DataOptions, progress::Bars};

/// Reduce files of measurements to statistics that `ell0 fit` can use
///
/// The file is small whatever the number of rows. Several such files, made on several machines, are fitted together:
/// `ell0 fit part1.stats part2.stats`.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Stats {
    #[command(flatten)]
    data: DataOptions,
    /// Where the statistics go
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Leave out the sample of at most 4,000 rows that otherwise comes along: the law is then chosen without the measurements themselves
    #[arg(long)]
    no_samples: bool,
}

impl Stats {
    pub fn run(&self) -> anyhow::Result<()> {
        let data = self.data.settings()?;
        let out = OutFile::new(&self.out).replacing(self.force);
        out.check(&data.files)?;
        let settings = StatsSettings {
            data,
            no_samples: self.no_samples,
        };
        let evidence = settings.run(&Bars::new()).map_err(missing)?;
        out.write(evidence.to_json())?;
        let short = match evidence.short {
            0 => String::new(),
            short => format!("{} left out; ", too_short(short)),
        };
        writeln!(
            screen::out(),
            "{short}{} rows of {} candidate terms for {} in {}; fit with `ell0 fit {}`, alone or with others of the same columns and library",
            evidence.survey.rows,
            evidence.features()?.len(),
            listed(&evidence.targets),
            shown_path(&self.out),
            shown_path(&self.out)
        )?;
        Ok(())
    }
}
