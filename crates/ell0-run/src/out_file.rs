//! Where a single file goes: never over one that is there, unless that is wished, and never over one that is being read.

use std::path::{Path, PathBuf};

use ell0::checkpoint::{clear_leftovers, write_whole};

use crate::{
    error::{Error, Result},
    folder::parent_of,
};

/// Where a single file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFile {
    path: PathBuf,
    replace: bool,
}

impl OutFile {
    /// A file that must not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        OutFile {
            path: path.into(),
            replace: false,
        }
    }

    /// Whether a file that is there may be replaced.
    #[must_use]
    pub fn replacing(self, replace: bool) -> Self {
        OutFile { replace, ..self }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can be written, asked before the work begins; `read` are the files that the work reads.
    pub fn check<P: AsRef<Path>>(&self, read: &[P]) -> Result<()> {
        if self.path.is_dir() {
            return Err(Error::IsAFolder(self.path.clone()));
        }
        clear_leftovers(parent_of(&self.path));
        // A pipe or a terminal is no file that could be lost.
        if !self.path.is_file() {
            return Ok(());
        }
        // Two names may be one file.
        let place = self.path.canonicalize().ok();
        let same = |other: &P| place.is_some() && other.as_ref().canonicalize().ok() == place;
        if read.iter().any(same) {
            return Err(Error::ReadAndWritten(self.path.clone()));
        }
        if self.replace {
            Ok(())
        } else {
            Err(Error::FileExists(self.path.clone()))
        }
    }

    /// Writes it, whole or not at all.
    pub fn write(&self, content: impl AsRef<[u8]>) -> Result<()> {
        self.check::<&Path>(&[])?;
        Ok(write_whole(&self.path, content.as_ref())?)
    }
}
