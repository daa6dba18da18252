//! The folder of a run: whole or not at all, held by one process at a time.
//!
//! - [`Place`]: where a run's folder goes, and whether what is there may be replaced.
//! - [`Folder`]: the folder of a short run, which appears when it is complete.
//! - [`growing`]: that of a long run, which is written to while it goes on.

pub(crate) mod growing;
mod lock;
pub(crate) mod manifest;

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use ell0::checkpoint::{WholeFile, WholeFolder, clear_leftovers};
use ell0_plot::Figure;
use rayon::prelude::*;

pub use lock::is_held;
pub(crate) use lock::{Lock, lock};

use self::manifest::Manifest;
use crate::{
    error::{Error, Result},
    report::{self, Page},
};

/// Pixels for each unit of a figure: sharp on the screen, and in half the time that twice as sharp would take.
const ZOOM: f32 = 1.5;

/// Where a run's folder goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// This folder.
    Named {
        /// The folder.
        folder: PathBuf,
        /// Whether the folder of another run may be replaced; one that holds anything else never is.
        replace: bool,
    },
    /// `WITHIN/STEM-FINGERPRINT`, where the fingerprint is that of the results: the same run has the same folder.
    Automatic {
        /// The folder of all runs.
        within: PathBuf,
        /// What its name begins with.
        stem: String,
    },
}

impl Place {
    /// A folder that must not be there yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Place::Named {
            folder: folder.into(),
            replace: false,
        }
    }

    /// The folder that must be writable, whatever the results will be.
    fn parent(&self) -> PathBuf {
        match self {
            Place::Named { folder, .. } => parent_of(&steady(folder)).into(),
            Place::Automatic { within, .. } => within.clone(),
        }
    }

    /// Whether a run of this kind, which reads `inputs`, could put its folder there: asked before the work begins, so that it is not in vain.
    pub(crate) fn check<'a>(
        &self,
        run: &str,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<()> {
        if let Place::Named { folder, replace } = self
            && folder.exists()
        {
            if !folder.is_dir() {
                return Err(Error::NotAFolder(folder.clone()));
            }
            if !is_empty(folder) {
                if !replace {
                    return Err(Error::FolderExists(folder.clone()));
                }
                keep(folder, inputs)?;
                match manifest::only_run(folder, run) {
                    // Another process has just moved it away, to put its own there.
                    Err(_) if !folder.exists() => {}
                    asked => asked?,
                }
            }
        }
        // The nearest folder that is there: others would be made in it.
        let parent = self.parent();
        let there = parent.ancestors().find(|p| p.exists());
        let there = there.unwrap_or_else(|| parent_of(Path::new("")));
        if !there.is_dir() {
            return Err(Error::NotAFolder(there.into()));
        }
        clear_leftovers(there);
        let probe = WholeFile::create(there.join("probe"));
        probe
            .map(drop)
            .map_err(Error::io("write to the folder", there))
    }

    /// Refuses a place whose folder would be replaced while one of the files or folders that are read lies in it, or leads into it.
    pub fn keep<P: AsRef<Path>>(&self, inputs: &[P]) -> Result<()> {
        match self {
            Place::Named {
                folder,
                replace: true,
            } => keep(folder, inputs.iter().map(AsRef::as_ref)),
            _ => Ok(()),
        }
    }
}

/// Refuses to replace a folder in which something lies that is read.
fn keep<'a>(folder: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    match manifest::first_inside(folder, inputs)? {
        Some(input) => Err(Error::InputInside {
            folder: folder.into(),
            input: input.into(),
        }),
        None => Ok(()),
    }
}

/// A folder in the making, beside the place where it will be.
pub(crate) struct Folder {
    fresh: WholeFolder,
    place: Place,
    /// The kind of run.
    run: &'static str,
    /// What was written so far.
    manifest: Manifest,
    /// Fingerprint of the results among it.
    print: u64,
}

/// Whether a folder holds nothing but files with these names.
pub(crate) fn only_names(folder: &Path, ours: &[&str]) -> Result<()> {
    let cannot = |e| Error::io("read the folder", folder)(e);
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if manifest::passes(&entry) {
            continue;
        }
        let name = entry.file_name();
        if !ours.iter().any(|known| name.to_str() == Some(known)) {
            return Err(Error::Foreign {
                folder: folder.into(),
                name: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(())
}

/// How often a folder is put where others may be putting theirs.
const ATTEMPTS: usize = 100;

/// Gives a finished folder its place. `make_room` is asked whether a folder that is there may go, and holds it until it is moved aside; it is deleted only when the new one is in its place.
pub(crate) fn put_in_place<Guard>(
    mut fresh: WholeFolder,
    place: &Path,
    make_room: impl Fn(&Path) -> Result<Guard>,
) -> Result<()> {
    let cannot = |e| Error::io("write the folder", place)(e);
    let place = &steady(place);
    for _ in 0..ATTEMPTS {
        let old = if place.exists() && !is_empty(place) {
            let _guard = match make_room(place) {
                // Somebody else has moved it away meanwhile.
                Err(_) if !place.exists() => continue,
                asked => asked?,
            };
            move_aside(place)?
        } else {
            None
        };
        let error = match fresh.finish(place) {
            Ok(()) => return Ok(()),
            Err(unplaced) => {
                fresh = unplaced.folder;
                unplaced.error
            }
        };
        if !matches!(
            error.kind(),
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
        ) {
            // What was there comes back, if it can.
            if let Some(old) = old {
                let _ = std::fs::rename(old.path().join(ASIDE), place);
            }
            return Err(cannot(error));
        }
        // Another run was quicker: it is the one that is replaced now.
    }
    Err(cannot(ErrorKind::ResourceBusy.into()))
}

/// A path that leads to the same place when the folder in which this process works is moved, and that is the link itself where it is one.
fn steady(place: &Path) -> PathBuf {
    let place: PathBuf = place.components().collect();
    match (parent_of(&place).canonicalize(), place.file_name()) {
        (Ok(parent), Some(name)) => parent.join(name),
        // `.` and `..` are folders that are there.
        _ => place.canonicalize().unwrap_or(place),
    }
}

/// What a folder is called that was moved aside, to be deleted.
const ASIDE: &str = "run";

/// Moves a folder into one that is deleted when it is dropped, and by the next process if this one is killed; none if it is gone.
fn move_aside(folder: &Path) -> Result<Option<WholeFolder>> {
    let cannot = |e| Error::io("replace", folder)(e);
    let aside = WholeFolder::create_in(parent_of(folder)).map_err(cannot)?;
    match std::fs::rename(folder, aside.path().join(ASIDE)) {
        Ok(()) => Ok(Some(aside)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(cannot(e)),
    }
}

/// Whether a folder is there and holds nothing.
pub(crate) fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The folder that something is in.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// How a hash begins.
const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, going on from a hash of what came before: the same on every machine.
fn fnv1a(hash: u64, bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(hash, step)
}

impl Folder {
    /// Begins the folder of a run of this kind, which has read `inputs`.
    pub fn new<'a>(
        place: &Place,
        run: &'static str,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self> {
        place.check(run, inputs)?;
        let parent = place.parent();
        let cannot = |e| Error::io("write the folder", &parent)(e);
        let fresh = WholeFolder::create_in(&parent).map_err(cannot)?;
        Ok(Folder {
            fresh,
            place: place.clone(),
            run,
            manifest: Manifest::new(run),
            print: FNV,
        })
    }

    /// Writes a file into the folder, or into one inside it.
    pub fn put(&mut self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let content = content.as_ref();
        self.print = fnv1a(self.print, name.bytes().chain(content.iter().copied()));
        self.write(name, content)
    }

    /// Writes a figure as SVG and as PNG. The folder is not named after it: how results are drawn may change without them.
    pub fn draw(&mut self, name: &str, figure: &Figure) -> Result<()> {
        self.write(&format!("{name}.svg"), figure.svg().as_bytes())?;
        self.write(&format!("{name}.png"), &figure.png(ZOOM)?)
    }

    /// Draws several figures side by side.
    pub fn draw_all(&mut self, figures: &[(&str, Figure)]) -> Result<()> {
        let drawn = figures.par_iter().map(|(_, figure)| {
            let (svg, png) = rayon::join(|| figure.svg(), || figure.png(ZOOM));
            Ok((svg, png?))
        });
        let drawn: Vec<(String, Vec<u8>)> = drawn.collect::<Result<_>>()?;
        for ((name, _), (svg, png)) in figures.iter().zip(drawn) {
            self.write(&format!("{name}.svg"), svg.as_bytes())?;
            self.write(&format!("{name}.png"), &png)?;
        }
        Ok(())
    }

    fn write(&mut self, name: &str, content: &[u8]) -> Result<()> {
        let file = self.fresh.path().join(name);
        std::fs::create_dir_all(parent_of(&file)).map_err(Error::io("write", &file))?;
        std::fs::write(&file, content).map_err(Error::io("write", &file))?;
        self.manifest.wrote(name, content);
        Ok(())
    }

    /// Writes the page of what is in the folder so far, and the words that began the run; neither is part of what the folder is named after.
    pub fn report(&mut self, command: Option<&str>) -> Result<()> {
        if let Some(command) = command {
            self.write(report::COMMAND, report::command_text(command).as_bytes())?;
        }
        let page = Page::of(self.fresh.path())?.html(None);
        self.write(report::FILE, page.as_bytes())
    }

    /// Puts the folder in its place, and says where that is.
    pub fn finish(self) -> Result<PathBuf> {
        self.manifest.write(self.fresh.path())?;
        match self.place {
            Place::Named { folder, replace } => {
                put_in_place(self.fresh, &folder, |there| match replace {
                    // What was put there meanwhile is not ours to delete.
                    true => manifest::only_run(there, self.run),
                    false => Err(Error::FolderExists(there.into())),
                })?;
                Ok(folder)
            }
            Place::Automatic { within, stem } => {
                let place = within.join(format!("{stem}-{:08x}", self.print as u32));
                let exists = |there: &Path| Err::<(), _>(Error::FolderExists(there.into()));
                match put_in_place(self.fresh, &place, exists) {
                    // The same run was made before: it is all there.
                    Ok(()) | Err(Error::FolderExists(_)) => Ok(place),
                    Err(error) => Err(error),
                }
            }
        }
    }
}
