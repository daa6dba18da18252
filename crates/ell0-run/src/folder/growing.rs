//! Folders of long runs: they begin with their settings, are written to while the run goes on, and are gone on with.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use ell0::checkpoint::{WholeFolder, clear_leftovers};
use serde::{Serialize, de::DeserializeOwned};

use super::{Lock, is_empty, lock, parent_of, remove};
use crate::{
    error::{Error, Result},
    files, report,
};

/// The file that a growing folder begins with: the settings of its run.
pub const CONFIG: &str = "config.toml";

/// Where a long run is, and whether it begins there or goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The folder.
    pub folder: PathBuf,
    /// Whether the folder of another run may be replaced; one that holds anything else never is.
    pub replace: bool,
    /// The words that began the run, for its page.
    pub command: Option<String>,
}

impl Site {
    /// A folder that must not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Site {
            folder: folder.into(),
            replace: false,
            command: None,
        }
    }

    /// What the run in the folder began with.
    pub(crate) fn read<S: DeserializeOwned>(&self, what: &str) -> Result<S> {
        read_settings(&self.folder, what)
    }

    /// Makes the folder with its settings and the folders inside it. `may_throw_away` says whether all that is there belongs to a run.
    pub(crate) fn begin<S: Serialize>(
        &self,
        inside: &[&str],
        settings: &S,
        made_with: &str,
        may_throw_away: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<Lock> {
        let folder = &self.folder;
        if folder.exists() && !folder.is_dir() {
            return Err(Error::NotAFolder(folder.clone()));
        }
        if folder.exists() && !is_empty(folder) {
            if !self.replace {
                return Err(Error::FolderExists(folder.clone()));
            }
            may_throw_away(folder).map_err(|error| match error {
                Error::NoRun { .. } | Error::Damaged { .. } => Error::About {
                    what: "only folders of runs are replaced".into(),
                    source: Box::new(error),
                },
                error => error,
            })?;
        }
        let text = format!(
            "# Made by ell0 {}{made_with}.\n\n{}",
            env!("CARGO_PKG_VERSION"),
            files::to_toml(settings)?
        );
        let cannot = |e| Error::io("write the folder", folder)(e);
        let parent = parent_of(folder);
        clear_leftovers(parent);
        let fresh = WholeFolder::create_in(parent).map_err(cannot)?;
        make_inside(fresh.path(), inside)?;
        std::fs::write(fresh.path().join(CONFIG), text).map_err(cannot)?;
        // Only now, when all is ready, the old one goes.
        if folder.exists() && !is_empty(folder) {
            let _lock = lock(folder)?;
            remove(folder)?;
        }
        fresh.finish(folder).map_err(cannot)?;
        let lock = lock(folder)?;
        report::note_command(folder, self.command.as_deref())?;
        Ok(lock)
    }

    /// Takes hold of a folder to go on in it, and clears away what a process that was killed left half-written.
    pub(crate) fn go_on(&self, inside: &[&str]) -> Result<Lock> {
        let lock = lock(&self.folder)?;
        clear_leftovers(parent_of(&self.folder));
        make_inside(&self.folder, inside)?;
        report::note_command(&self.folder, self.command.as_deref())?;
        Ok(lock)
    }
}

/// The settings that the run in a folder began with; `what` says what run it should be.
pub(crate) fn read_settings<S: DeserializeOwned>(folder: &Path, what: &str) -> Result<S> {
    if folder.exists() && !folder.is_dir() {
        return Err(Error::NotAFolder(folder.into()));
    }
    let file = folder.join(CONFIG);
    let text = ell0::input::read_text(&file).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::NoRun {
            folder: folder.into(),
            expected: "run to go on with".into(),
        },
        _ => Error::io("read", &file)(e),
    })?;
    // What a parser says of another run's file helps nobody.
    toml::from_str(&text)
        .map_err(|_| Error::damaged(&file, format!("not the settings of {what}, or changed")))
}

fn make_inside(folder: &Path, inside: &[&str]) -> Result<()> {
    for name in inside.iter().chain(&[""]) {
        let inner = folder.join(name);
        std::fs::create_dir_all(&inner).map_err(Error::io("write the folder", folder))?;
        clear_leftovers(&inner);
    }
    Ok(())
}
