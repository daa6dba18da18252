//! Control of partial differential equations: the two problems of Botteghi and Fasel, *Parametric PDE control with deep reinforcement learning and differentiable L0-sparse polynomial policies* (2024), with their agents
//! and with laws that all actuators share.

mod folder;
mod measured;
mod page;
mod pictures;
mod problem;

use serde::{Deserialize, Serialize};

pub use measured::{PdeMeasured, PdeRow};
pub use problem::PdeProblem;

pub(crate) use folder::kind;

use self::{measured::measure, problem::Part};
use crate::{
    error::{Error, Result},
    folder::growing::Site,
    observer::{Observer, Task},
    train::{TrainSettings, TrainingRun},
};

/// What is trained on the two problems.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `quick` | no | short trainings with one seed: under three minutes | |
/// | `trial` | no | a few updates in short episodes, to see whether everything works: seconds | |
/// | `published` | no | the Kuramoto–Sivashinsky equation with the mistakes of the published code | |
/// | `seeds` | 3 | seeds of each agent | 1 to 1000 |
/// | `seed` | 0 | the first of them | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct PdeSettings {
    pub quick: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trial: bool,
    pub published: bool,
    pub seeds: u64,
    pub seed: u64,
}

impl Default for PdeSettings {
    fn default() -> Self {
        PdeSettings {
            quick: false,
            trial: false,
            published: false,
            seeds: 3,
            seed: 0,
        }
    }
}

/// What the folder begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Begun {
    pde: PdeSettings,
}

/// The two problems, finished or under way.
#[derive(Clone, Debug, PartialEq)]
pub struct PdeRun {
    /// What it began with.
    pub settings: PdeSettings,
    /// All agents and laws, measured, if it is finished.
    pub rows: Option<Vec<PdeRow>>,
    /// The trainings that have begun, by the names of their folders.
    pub trainings: Vec<(String, TrainingRun)>,
}

impl PdeSettings {
    /// The words that begin such a run.
    pub(crate) const COMMAND: &str = "tutorial pde";

    /// A run of one seed that takes less than three minutes.
    #[must_use]
    pub fn quick() -> Self {
        PdeSettings {
            quick: true,
            seeds: 1,
            ..PdeSettings::default()
        }
    }

    /// Trains, measures and draws in a new folder, or goes on in one that was begun with the same settings.
    pub fn run(&self, site: &Site, observer: &dyn Observer) -> Result<PdeRun> {
        let begun = Begun { pde: *self };
        let folder = &site.folder;
        let _lock = site.begin(&folder::kind(), Self::COMMAND, &begun)?;
        self.work(folder, observer)
    }

    /// Goes on with the run in a folder.
    pub fn resume(site: &Site, observer: &dyn Observer) -> Result<PdeRun> {
        let begun: Begun = site.read(&format!("`ell0 {}`", Self::COMMAND))?;
        let _lock = site.go_on(&[])?;
        begun.pde.work(&site.folder, observer)
    }

    fn work(&self, folder: &std::path::Path, observer: &dyn Observer) -> Result<PdeRun> {
        let stopped = |error: Error| match error.root() {
            Error::Stopped { .. } => Error::Stopped {
                folder: Some(folder.into()),
            },
            _ => error,
        };
        for part in Part::ALL {
            let inside = folder.join(part.name);
            if inside.join("results.json").exists() {
                continue;
            }
            let site = Site::new(&inside);
            let run = match inside.exists() {
                true => TrainSettings::resume(&site, Self::COMMAND, None, observer),
                false => part.training(self)?.run(Some(&site), observer),
            };
            run.map_err(stopped)?;
        }
        let mut run = PdeRun::read(folder)?;
        if run.rows.is_none() {
            let measuring = Task::begin(observer, "measuring", None);
            let rows = measure(&run, &measuring)?;
            measuring.end()?;
            run.rows = Some(rows);
            run.write(folder)?;
        }
        Ok(run)
    }
}
