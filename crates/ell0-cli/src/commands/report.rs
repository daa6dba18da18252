//! `ell0 report`: runs as pages.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use ell0_data::write::write_whole;

use crate::report::{FILE, Report, command_line, compare, html, is_page};

/// Make the page of a run, or one page that compares several
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ell0 report runs/tutorial-policy-seed0\n  ell0 report runs/train-a runs/train-b --out comparison.html"
)]
pub struct ReportCommand {
    /// Folders of runs: of fit, train, tutorial or analyze
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The page [default: report.html in the folder; of several, report.html here]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out even if it is no page of ell0
    #[arg(long, requires = "out")]
    force: bool,
}

impl ReportCommand {
    pub fn run(&self) -> anyhow::Result<()> {
        let mut folders: Vec<&Path> = Vec::new();
        let mut seen = Vec::new();
        for folder in &self.folders {
            ensure!(folder.is_dir(), "{} is no folder", folder.display());
            let place = folder.canonicalize()?;
            if seen.contains(&place) {
                eprintln!("{} is named twice; it is shown once", folder.display());
                continue;
            }
            seen.push(place);
            folders.push(folder);
        }
        let (page, place) = match folders.as_slice() {
            [folder] => (Report::of(folder)?.html(None), folder.join(FILE)),
            folders => (self.comparison(folders)?, PathBuf::from(FILE)),
        };
        let place = self.out.clone().unwrap_or(place);
        ensure!(
            self.force || !place.is_file() || is_page(&place),
            "{} is there, and no page of ell0; --force replaces it",
            place.display()
        );
        write_whole(&place, page.as_bytes())?;
        println!("{}", place.display());
        Ok(())
    }

    fn comparison(&self, folders: &[&Path]) -> anyhow::Result<String> {
        let mut all = compare(folders)?;
        for folder in folders {
            let report = Report::of(folder)?;
            let name = folder.display().to_string();
            // The parts of a tutorial stay parts of it.
            all.extend(report.sections.into_iter().map(|s| s.under(&name)));
        }
        let title = format!("{} runs compared", folders.len());
        Ok(html(&title, None, Some(&command_line()), &all, None))
    }
}
