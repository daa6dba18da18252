//! The folder of the two problems.

use std::path::Path;

use ell0_data::write::write_whole;

use super::{Begun, PdeProblem, PdeRun, pictures, problem::Part};
use crate::{
    error::Result,
    files,
    folder::{
        growing::{Kind, read_settings},
        lock,
    },
    report,
    train::{self, TrainingRun},
};

/// The file with all numbers.
const RESULTS: &str = "results.json";

/// What such a run leaves in its folder.
pub(crate) fn kind() -> Kind {
    let files = ["config.toml", RESULTS, report::FILE, report::COMMAND];
    let parts = Part::ALL.iter().map(|part| part.name.to_string());
    let pictures = PdeProblem::ALL.map(|p| ["svg", "png"].map(|e| format!("{}.{e}", p.name())));
    let pictures = pictures.into_iter().flatten();
    Kind {
        name: "control of fields",
        files: files
            .map(String::from)
            .into_iter()
            .chain(parts)
            .chain(pictures)
            .collect(),
        inside: &[],
        check: only_trainings,
    }
}

/// Whether the folders of the parts hold nothing but trainings, to which no process writes.
fn only_trainings(folder: &Path) -> Result<()> {
    let _: Begun = read_settings(folder, "the tutorial on equations of fields")?;
    for part in Part::ALL {
        let inside = folder.join(part.name);
        if inside.is_dir() {
            train::kind().only_run(&inside)?;
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
