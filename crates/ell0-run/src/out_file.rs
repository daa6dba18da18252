//! Where a single file goes: never over one that is there, unless that is wished, and never over one that is being read or belongs to a run.

use std::path::{Path, PathBuf};

use ell0::checkpoint::{clear_leftovers, write_whole};

use crate::{
    error::{Error, Result},
    folder::{manifest::owner, parent_of},
    network,
};

/// The files by which the folder of a model is read.
const MODELS: [&str; 2] = ["model.json", network::FILE];

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
        if self.path.exists() && !self.path.is_file() {
            return Ok(());
        }
        // Two names may be one file, and a folder stands for the model in it.
        let place = self.path.canonicalize().ok();
        let same = |file: &Path| place.is_some() && file.canonicalize().ok() == place;
        let reads = |path: &P| {
            let path = path.as_ref();
            same(path) || MODELS.iter().any(|file| same(&path.join(file)))
        };
        if read.iter().any(reads) {
            return Err(Error::ReadAndWritten(self.path.clone()));
        }
        if let Some(folder) = owner(&self.path) {
            let file = self.path.clone();
            return Err(Error::OfRun { file, folder });
        }
        if !self.path.exists() {
            return Ok(());
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
