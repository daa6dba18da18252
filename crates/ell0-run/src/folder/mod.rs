//! The folder of a run: whole or not at all, held by one process at a time.
//!
//! - [`Place`]: where a run's folder goes, and whether what is there may be replaced.
//! - [`Folder`]: the folder of a short run, which appears when it is complete.
//! - [`growing`]: that of a long run, which is written to while it goes on.

pub(crate) mod growing;
mod lock;

use std::path::{Path, PathBuf};

use ell0::checkpoint::{TEMPORARY, WholeFile, WholeFolder, clear_leftovers};
use ell0_plot::Figure;
use rayon::prelude::*;

pub use lock::is_held;
pub(crate) use lock::{LOCK, Lock, lock};

use crate::{
    error::{Error, Result},
    report,
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
    fn parent(&self) -> &Path {
        match self {
            Place::Named { folder, .. } => parent_of(folder),
            Place::Automatic { within, .. } => within,
        }
    }

    /// Whether a run that leaves the files `ours` could put its folder there: asked before the work begins, so that it is not in vain.
    pub(crate) fn check(&self, ours: &[&str]) -> Result<()> {
        if let Place::Named { folder, replace } = self
            && folder.exists()
        {
            if !folder.is_dir() {
                return Err(Error::NotAFolder(folder.clone()));
            }
            if !replace && !is_empty(folder) {
                return Err(Error::FolderExists(folder.clone()));
            }
            may_replace(folder, ours)?;
        }
        // The nearest folder that is there: others would be made in it.
        let there = self.parent().ancestors().find(|p| p.exists());
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
}

/// A folder in the making, beside the place where it will be.
pub(crate) struct Folder {
    fresh: WholeFolder,
    place: Place,
    /// The files that such a run leaves.
    ours: &'static [&'static str],
    /// Fingerprint of what was written so far.
    print: u64,
}

/// Whether a folder holds nothing but the files of a run, so that nothing is lost when another takes its place.
pub(crate) fn may_replace(folder: &Path, ours: &[&str]) -> Result<()> {
    let cannot = |e| Error::io("read the folder", folder)(e);
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let name = entry.map_err(cannot)?.file_name();
        // Left behind by a process that was killed, or by any.
        if name.to_string_lossy().starts_with(TEMPORARY) || name == LOCK {
            continue;
        }
        if !ours.iter().any(|known| name.to_str() == Some(known)) {
            return Err(Error::Foreign {
                folder: folder.into(),
                name: name.to_string_lossy().into_owned(),
            });
        }
    }
    Ok(())
}

/// Deletes a folder: it is gone at once or not at all, also if this process is killed meanwhile.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    let cannot = |e| Error::io("replace", folder)(e);
    let aside = WholeFolder::create_in(parent_of(folder)).map_err(cannot)?;
    std::fs::rename(folder, aside.path().join("run")).map_err(cannot)
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

impl Folder {
    /// Begins a folder; `ours` are the names of all files that such a run leaves.
    pub fn new(place: &Place, ours: &'static [&'static str]) -> Result<Self> {
        place.check(ours)?;
        let parent = place.parent();
        let cannot = |e| Error::io("write the folder", parent)(e);
        let fresh = WholeFolder::create_in(parent).map_err(cannot)?;
        Ok(Folder {
            fresh,
            place: place.clone(),
            ours,
            print: 0xcbf2_9ce4_8422_2325,
        })
    }

    /// Writes a file into the folder, or into one inside it.
    pub fn put(&mut self, name: &str, content: impl AsRef<[u8]>) -> Result<()> {
        let content = content.as_ref();
        // FNV-1a: the same on every machine.
        for byte in name.bytes().chain(content.iter().copied()) {
            self.print = (self.print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
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

    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let file = self.fresh.path().join(name);
        std::fs::create_dir_all(parent_of(&file)).map_err(Error::io("write", &file))?;
        std::fs::write(&file, content).map_err(Error::io("write", &file))
    }

    /// Writes the page of what is in the folder so far, and the words that began the run; neither is part of what the folder is named after.
    pub fn report(&mut self, command: Option<&str>) -> Result<()> {
        report::note_command(self.fresh.path(), command)?;
        report::write(self.fresh.path()).map(drop)
    }

    /// Puts the folder in its place, and says where that is.
    pub fn finish(self) -> Result<PathBuf> {
        let place = match &self.place {
            Place::Named { folder, .. } => folder.clone(),
            Place::Automatic { within, stem } => {
                within.join(format!("{stem}-{:08x}", self.print as u32))
            }
        };
        if place.exists() {
            match self.place {
                Place::Named { replace: true, .. } => {
                    // What was put there meanwhile is not ours to delete.
                    may_replace(&place, self.ours)?;
                    remove(&place)?;
                }
                // The same run was made before: it is all there.
                Place::Automatic { .. } => return Ok(place),
                // An empty one makes room for itself.
                Place::Named { replace: false, .. } => {}
            }
        }
        let cannot = Error::io("write the folder", &place);
        self.fresh.finish(&place).map_err(cannot)?;
        Ok(place)
    }
}
