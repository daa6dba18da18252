//! `ell0 report`: runs as pages.

use crate::screen;
use ell0::wording::shown_path;
use std::io::Write;
use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use ell0_data::write::write_whole;
use ell0_run::{OutFile, PAGE, Page, compare, is_page};

use crate::options::command_line;

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
        let mut folders: Vec<&PathBuf> = Vec::new();
        let mut seen = Vec::new();
        for folder in &self.folders {
            ensure!(folder.is_dir(), "{} is no folder", shown_path(folder));
            let place = folder.canonicalize()?;
            if seen.contains(&place) {
                screen::say(format!(
                    "{} is named twice; it is shown once",
                    shown_path(folder)
                ));
                continue;
            }
            seen.push(place);
            folders.push(folder);
        }
        let (page, own) = match folders.as_slice() {
            [folder] => (Page::of(folder)?, Some(folder.join(PAGE))),
            folders => {
                let mut page = compare(folders)?;
                page.command = Some(command_line());
                (page, None)
            }
        };
        let usual = || own.clone().unwrap_or(PathBuf::from(PAGE));
        let place = self.out.clone().unwrap_or_else(usual);
        ensure!(
            self.force || !place.is_file() || is_page(&place),
            "{} is there, and no page of ell0; --force replaces it",
            shown_path(&place)
        );
        // A run's page is made anew in its folder; no other one is written over a file of a run.
        let is_own = |own: &PathBuf| match (own.canonicalize(), place.canonicalize()) {
            (Ok(own), Ok(place)) => own == place,
            _ => *own == place,
        };
        if !own.as_ref().is_some_and(is_own) {
            OutFile::new(&place).replacing(true).check(&folders)?;
        }
        write_whole(&place, page.html(None).as_bytes())?;
        writeln!(screen::out(), "{}", shown_path(&place))?;
        Ok(())
    }
}
