//! The page of a run, made of its typed result; several runs on one page.

mod compare;
mod page;

use std::path::{Path, PathBuf};

use ell0::wording::shown_path;
use ell0_data::write::write_whole;

pub use compare::compare;
pub use page::{Page, Section, is_page};

use crate::{
    analyze::Analysis,
    error::{About, Error, Result},
    files,
    fit::{Discovery, FitSettings},
    folder::is_held,
    network::NetworkRun,
    train::TrainingRun,
    tutorial::{Figures, ModelsRun, PdeRun, TutorialRun},
};

/// The file of a page.
pub const FILE: &str = "report.html";

/// The file with the words that began a run.
pub const COMMAND: &str = "command.txt";

/// What the folder of a run holds.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum Run {
    /// A fit.
    Fit(FitSettings, Discovery),
    /// Training of policies, finished or under way.
    Training(TrainingRun),
    /// Sparse networks, finished or under way.
    Networks(NetworkRun),
    /// An analysis.
    Analysis(Analysis),
    /// Transition or reward models, finished or under way.
    Models(ModelsRun),
    /// The drawings of the method.
    Figures(Figures),
    /// Laws that control fields, finished or under way.
    Pde(PdeRun),
    /// The whole tutorial, finished or under way.
    Tutorial(TutorialRun),
}

impl Run {
    /// Reads whatever run a folder holds.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let about = || format!("cannot read the run in {}", shown_path(folder));
        Run::of(folder).about(about)
    }

    fn of(folder: &Path) -> Result<Self> {
        let has = |name: &str| folder.join(name).exists();
        if has("discovery.json") {
            let settings = FitSettings::read(folder.join("config.toml"))?;
            return Ok(Run::Fit(settings, Discovery::read(folder)?));
        }
        if has("analysis.json") {
            return Ok(Run::Analysis(Analysis::read(folder)?));
        }
        if has("config.toml") {
            /// What tells the settings of long runs apart.
            #[derive(serde::Deserialize)]
            struct Kind {
                agents: Option<toml::Value>,
                task: Option<toml::Value>,
                pde: Option<toml::Value>,
                tutorial: Option<toml::Value>,
                network: Option<toml::Value>,
            }
            let place = folder.join("config.toml");
            let kind: Kind =
                toml::from_str(&files::read(&place)?).map_err(|e| Error::damaged(&place, e))?;
            if kind.agents.is_some() {
                return Ok(Run::Training(TrainingRun::read(folder)?));
            }
            if kind.network.is_some() {
                return Ok(Run::Networks(NetworkRun::read(folder)?));
            }
            if kind.task.is_some() {
                return Ok(Run::Models(ModelsRun::read(folder)?));
            }
            if kind.pde.is_some() {
                return Ok(Run::Pde(PdeRun::read(folder)?));
            }
            if kind.tutorial.is_some() {
                return Ok(Run::Tutorial(TutorialRun::read(folder)?));
            }
        }
        if Figures::is_folder(folder) {
            return Ok(Run::Figures(Figures::read(folder)?));
        }
        Err(Error::NoRun {
            folder: folder.into(),
            expected:
                "run: expected the folder of a fit, a training, networks, a tutorial or an analysis"
                    .into(),
        })
    }

    /// The page of the run; `folder` is where its drawings are.
    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        Ok(match self {
            Run::Fit(settings, found) => {
                found.page(settings, &files::read(&folder.join("config.toml"))?)
            }
            Run::Training(run) => run.page(folder)?,
            Run::Networks(run) => run.page(folder)?,
            Run::Analysis(analysis) => analysis.page(folder)?,
            Run::Models(run) => run.page(folder)?,
            Run::Figures(figures) => figures.page(folder)?,
            Run::Pde(run) => run.page(folder)?,
            Run::Tutorial(run) => run.page(folder)?,
        })
    }
}

impl Page {
    /// The page of a run's folder, whatever run it is.
    pub fn of(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let mut page = Run::read(folder)?.page(folder)?;
        let command = ell0::input::read_text(folder.join(COMMAND));
        page.command = command.ok().map(|c| c.trim().to_string());
        Ok(page)
    }
}

/// Writes the page of a folder into it, and says where it is.
pub fn write(folder: impl AsRef<Path>) -> Result<PathBuf> {
    let folder = folder.as_ref();
    let place = folder.join(FILE);
    write_whole(&place, Page::of(folder)?.html(None).as_bytes())?;
    Ok(place)
}

/// What the file says of how a run began.
pub(crate) fn command_text(command: &str) -> String {
    format!("{command}\n")
}

/// What is said of a run without results: whether a process is at work on it.
pub(crate) fn unfinished(folder: &Path) -> Section {
    if is_held(folder) {
        Section::new("Under way")
            .text("This run is not finished; what follows is what it has done so far.")
    } else {
        Section::new("Not finished")
            .text("No process is at work on this run; what follows is what it has done so far. It can be gone on with.")
    }
}

/// A number for a table.
pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    match value {
        Some(v) if v != 0.0 && (v.abs() < 1e-3 || v.abs() >= 1e6) => format!("{v:.2e}"),
        Some(v) => format!("{v:.digits$}"),
        None => "–".into(),
    }
}

/// A number with so many digits after the point, rounded downwards: what is claimed is not more than what is.
#[must_use]
pub fn at_most(value: f64, digits: usize) -> String {
    let unit = 10f64.powi(digits as i32);
    format!("{:.digits$}", (value * unit).floor() / unit)
}

/// A value for a table, or a dash.
pub(crate) fn plain(value: Option<impl ToString>) -> String {
    value.map_or("–".into(), |v| v.to_string())
}
