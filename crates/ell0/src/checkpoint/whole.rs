//! Files that appear whole or not at all.

use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use super::unfinished::{Entry, temporary_file};
use crate::error::{Error, Result};

/// A file that is being written beside its place. It gets its name when it is finished; dropped before, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "the file appears only when it is finished"]
pub struct WholeFile {
    path: PathBuf,
    target: Target,
}

/// Where bytes go until they are complete.
#[derive(Debug)]
enum Target {
    /// A file beside the one that is wanted, which it becomes by renaming.
    Temporary(NamedTempFile, Entry),
    /// A pipe, a terminal or another thing that is no file: there is nothing to rename.
    Special(File),
}

impl WholeFile {
    /// Begins a file that will stand at `path`.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let target = if path.metadata().is_ok_and(|m| !m.is_file()) {
            Target::Special(File::options().write(true).open(path)?)
        } else {
            let folder = folder_of(path);
            if !folder.is_dir() {
                let reason = format!("there is no folder {}", folder.display());
                return Err(io::Error::new(io::ErrorKind::NotFound, reason));
            }
            let (file, entry) = temporary_file(folder)?;
            Target::Temporary(file, entry)
        };
        Ok(WholeFile {
            path: path.into(),
            target,
        })
    }

    /// What to write to.
    pub fn file(&self) -> io::Result<File> {
        match &self.target {
            Target::Temporary(file, _) => file.as_file().try_clone(),
            Target::Special(file) => file.try_clone(),
        }
    }

    /// Makes sure that all is on the disk, and gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        if let Target::Temporary(file, _entry) = self.target {
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|e| e.error)?;
            sync_folder(&self.path);
        }
        Ok(())
    }
}

/// Writes a file beside its place, makes sure that it is on the disk, and renames it. Pipes, terminals and other things that are no files are written to as they are.
pub fn write_whole(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let write = || {
        let whole = WholeFile::create(path)?;
        whole.file()?.write_all(bytes)?;
        whole.finish()
    };
    write().map_err(|source| Error::Io {
        action: "write",
        path: path.into(),
        source,
    })
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A new name is durable once its folder is; not every system can sync a folder.
pub(super) fn sync_folder(path: &Path) {
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
}
