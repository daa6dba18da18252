//! A folder for the file of a case, in memory where the system has such a place.

use std::{
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::verdict::{Fault, Kind};

/// A folder that is gone when it is dropped.
#[derive(Debug)]
pub struct Desk(TempDir);

/// How its name begins.
const PREFIX: &str = "ell0-fuzz-";

impl Desk {
    /// A new, empty folder.
    pub fn new() -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(PREFIX);
        // Writing a file for every case would wear out a disk.
        let memory = Path::new("/dev/shm");
        let made = if memory.is_dir() {
            builder.tempdir_in(memory)
        } else {
            builder.tempdir()
        };
        made.or_else(|_| builder.tempdir()).map(Desk)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes the file of a case.
    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let file = self.file(name);
        if let Err(error) = std::fs::write(&file, bytes) {
            // Nothing can be said of a case that cannot be written.
            eprintln!("cannot write {}: {error}", file.display());
            std::process::exit(3);
        }
        file
    }

    /// Whether the file is what it was, and nothing else is there but what may be.
    pub fn check(&self, name: &str, bytes: &[u8], others: &[&str]) -> Result<(), Fault> {
        if !std::fs::read(self.file(name)).is_ok_and(|now| now == bytes) {
            let what = format!("{name} has changed");
            return Err(Fault::new(Kind::Touched, "input", what));
        }
        let entries = std::fs::read_dir(self.path());
        let entries = entries.map_err(|e| Fault::new(Kind::Left, "", e.to_string()))?;
        for entry in entries.flatten() {
            let found = entry.file_name().to_string_lossy().into_owned();
            if found != name && !others.contains(&found.as_str()) {
                return Err(Fault::new(Kind::Left, "a file", found));
            }
        }
        Ok(())
    }
}
