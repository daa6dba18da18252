//! Folders of long runs: they begin with their settings, are written to while the run goes on, and are gone on with.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use ell0::{
    checkpoint::{WholeFolder, clear_leftovers, write_whole},
    wording::shown_path,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Lock, Place, is_empty, lock,
    manifest::{self, Manifest},
    only_names, parent_of, put_in_place, steady,
};
use crate::{
    error::{Error, Result},
    files, report,
};

/// The file that a growing folder begins with: the settings of its run.
pub const CONFIG: &str = "config.toml";

/// A kind of long run: what it leaves in its folder.
pub(crate) struct Kind {
    /// What it is called.
    pub name: &'static str,
    /// The files in its folder, and the folders of parts that are runs of their own.
    pub files: Vec<String>,
    /// The folders in it that are the run's alone.
    pub inside: &'static [&'static str],
    /// Whether a folder, whose files have the right names, holds nothing but such a run.
    pub check: fn(&Path) -> Result<()>,
}

impl Kind {
    fn manifest(&self) -> Manifest {
        let mut manifest = Manifest::new(self.name);
        manifest.will_write(self.files.iter().cloned());
        manifest.will_write(self.inside.iter().map(|folder| format!("{folder}/")));
        manifest
    }

    /// Whether a folder holds nothing but a run of this kind, so that nothing is lost when another takes its place.
    pub fn only_run(&self, folder: &Path) -> Result<()> {
        manifest::is_run(folder, self.name)?;
        let files = self.files.iter().map(String::as_str);
        let inside = self.inside.iter().copied();
        let names: Vec<&str> = files.chain(inside).chain([manifest::FILE]).collect();
        only_names(folder, &names)?;
        (self.check)(folder)
    }
}

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

    /// Refuses to begin where files that are read lie in the folder that would be replaced.
    pub(crate) fn keep<P: AsRef<Path>>(&self, inputs: &[P]) -> Result<()> {
        Place::Named {
            folder: self.folder.clone(),
            replace: self.replace,
        }
        .keep(inputs)
    }

    /// Makes the folder of a run with its settings and the folders inside it; `command` are the words that begin such a run.
    pub(crate) fn begin<S: Serialize>(
        &self,
        kind: &Kind,
        command: &str,
        settings: &S,
    ) -> Result<Lock> {
        let folder = &self.folder;
        let make_room = |there: &Path| match self.replace {
            false => Err(Error::FolderExists(there.into())),
            true => kind.only_run(there).map_err(|error| match error {
                Error::NoRun { .. } | Error::Damaged { .. } => Error::About {
                    what: "only folders of runs are replaced".into(),
                    source: Box::new(error),
                },
                error => error,
            }),
        };
        if folder.exists() {
            if !folder.is_dir() {
                return Err(Error::NotAFolder(folder.clone()));
            }
            if !is_empty(folder) {
                make_room(folder)?;
                refuse_to_stand_in(folder)?;
            }
        }
        let text = settings_text(command, settings)?;
        let cannot = |e| Error::io("write the folder", folder)(e);
        let parent = parent_of(&steady(folder)).to_path_buf();
        clear_leftovers(&parent);
        let fresh = WholeFolder::create_in(&parent).map_err(cannot)?;
        make_inside(fresh.path(), kind.inside)?;
        std::fs::write(fresh.path().join(CONFIG), text).map_err(cannot)?;
        kind.manifest().write(fresh.path())?;
        if let Some(command) = &self.command {
            let place = fresh.path().join(report::COMMAND);
            std::fs::write(place, report::command_text(command)).map_err(cannot)?;
        }
        // Only now, when all is ready, the old one goes, if nobody is at work in it.
        put_in_place(fresh, folder, |there| {
            make_room(there)?;
            lock(there)
        })?;
        lock(folder)
    }

    /// Other settings for the run in a folder that somebody holds: what it goes on with.
    pub(crate) fn change<S: Serialize>(&self, command: &str, settings: &S) -> Result<()> {
        let text = settings_text(command, settings)?;
        let place = self.folder.join(CONFIG);
        Ok(write_whole(&place, text.as_bytes())?)
    }

    /// Takes hold of a folder to go on in it, and clears away what a process that was killed left half-written.
    pub(crate) fn go_on(&self, inside: &[&str]) -> Result<Lock> {
        let lock = lock(&self.folder)?;
        clear_leftovers(parent_of(&self.folder));
        make_inside(&self.folder, inside)?;
        Ok(lock)
    }
}

fn settings_text<S: Serialize>(command: &str, settings: &S) -> Result<String> {
    Ok(format!(
        "# Made by ell0 {} with `ell0 {command}`.\n\n{}",
        env!("CARGO_PKG_VERSION"),
        files::to_toml(settings)?
    ))
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

/// Refuses to replace the folder in which this process works: relative paths would lead nowhere for as long as the run goes on.
fn refuse_to_stand_in(folder: &Path) -> Result<()> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    match (here, folder.canonicalize()) {
        (Ok(here), Ok(there)) if here.starts_with(&there) => Err(Error::Unsuitable(format!(
            "this command works in {}, the folder that it would replace: give it from elsewhere",
            shown_path(&there)
        ))),
        _ => Ok(()),
    }
}
