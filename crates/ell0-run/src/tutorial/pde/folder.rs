//! The folder of the two problems.

use std::path::Path;

use ell0_data::write::write_whole;

use super::{Begun, PdeProblem, PdeRun, pictures, problem::Part};
use crate::{
    error::Result,
    files,
    folder::{growing::read_settings, lock, may_replace},
    report,
    train::{self, TrainingRun},
};

/// The file with all numbers.
const RESULTS: &str = "results.json";

/// Whether a folder holds nothing but such a run, and no process is writing to a training of it.
pub(crate) fn may_throw_away(folder: &Path) -> Result<()> {
    let _: Begun = read_settings(folder, "the tutorial on equations of fields")?;
    let parts = Part::ALL;
    let mut ours = vec!["config.toml", RESULTS, report::FILE, report::COMMAND];
    ours.extend(parts.iter().map(|p| p.name));
    let pictures = PdeProblem::ALL.map(|p| ["svg", "png"].map(|e| format!("{}.{e}", p.name())));
    ours.extend(pictures.iter().flatten().map(String::as_str));
    may_replace(folder, &ours)?;
    for part in parts {
        let inside = folder.join(part.name);
        if inside.is_dir() {
            train::may_throw_away(&inside)?;
            let _held = lock(&inside)?;
        }
    }
    Ok(())
}

impl PdeRun {
    /// Reads the run in a folder, as far as it has come.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let begun: Begun = read_settings(folder, "the tutorial on equations of fields")?;
        let results = folder.join(RESULTS);
        let rows = results.exists().then(|| files::read_json(&results));
        let mut trainings = Vec::new();
        for part in Part::ALL {
            let inside = folder.join(part.name);
            if inside.is_dir() {
                trainings.push((part.name.to_string(), TrainingRun::read(&inside)?));
            }
        }
        Ok(PdeRun {
            settings: begun.pde,
            rows: rows.transpose()?,
            trainings,
        })
    }

    /// Writes the pictures, the numbers and the page of a finished run.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        for problem in PdeProblem::ALL {
            let figure = pictures::figure(self, problem)?;
            let name = problem.name();
            write_whole(folder.join(format!("{name}.svg")), figure.svg().as_bytes())?;
            write_whole(folder.join(format!("{name}.png")), &figure.png(1.5)?)?;
        }
        let rows = self.rows.as_deref().unwrap_or_default();
        write_whole(folder.join(RESULTS), files::to_json(&rows)?.as_bytes())?;
        report::write(folder).map(drop)
    }
}
