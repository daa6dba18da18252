//! What is being written and not complete yet: thrown away when the process is asked to end, recognised and cleared away by the next one when it was killed.
//!
//! Everything unfinished has a [name of its own](is_temporary) and is locked by whoever writes it: a file itself, a folder by the file [`LOCK`] in it. The system lets go of locks when a process
//! ends, however it ends; so what is not locked was left behind.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use tempfile::{NamedTempFile, TempDir};

/// Names of what is not complete yet: this, and so many letters and digits by lot. No name that somebody chooses is like that.
const TEMPORARY: &str = ".ell0-";
const RANDOM: usize = 12;

/// Whether a file or folder is called as one that is not complete yet.
#[must_use]
pub fn is_temporary(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY));
    rest.is_some_and(|rest| rest.len() == RANDOM && rest.bytes().all(|b| b.is_ascii_alphanumeric()))
}

/// What makes files and folders with such names.
fn builder() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY).rand_bytes(RANDOM);
    builder
}

/// The file by which a folder is held.
pub const LOCK: &str = ".lock";

/// Whoever clears away may take what was just made and is not locked yet; then another is made.
const ATTEMPTS: usize = 100;

/// All that this process has not finished.
static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

#[derive(Clone, Debug, PartialEq)]
struct Unfinished {
    path: PathBuf,
    /// Folders that were made for it, the deepest first.
    parents: Vec<PathBuf>,
}

/// An entry in the list of what is unfinished, for as long as it lives.
#[derive(Debug)]
pub(super) struct Entry(Unfinished);

impl Entry {
    fn new(path: &Path, parents: Vec<PathBuf>) -> Self {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let path = path.into();
        let unfinished = Unfinished { path, parents };
        all.push(unfinished.clone());
        Entry(unfinished)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = all.iter().position(|other| *other == self.0) {
            all.swap_remove(place);
        }
        remove_empty(&self.0.parents);
    }
}

/// Throws away all that this process has not finished; for the last moment of a process that was asked to end. Whoever writes waits from now on, for ever.
pub fn discard_unfinished() {
    let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for Unfinished { path, parents } in all.drain(..) {
        let _ = remove(&path);
        remove_empty(&parents);
    }
    std::mem::forget(all);
}

/// Folders in which something stands stay.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders {
        let _ = std::fs::remove_dir(folder);
    }
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        std::fs::remove_dir_all(path)
    } else {
        std::fs::remove_file(path)
    }
}

/// Removes what killed processes left in a folder, and leaves alone what others are writing at this moment. What cannot be removed stays: it harms nobody.
pub fn clear_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if !is_temporary(&entry.file_name()) {
            continue;
        }
        let path = entry.path();
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => match File::open(path.join(LOCK)) {
                Ok(lock) if lock.try_lock().is_ok() => std::fs::remove_dir_all(&path),
                Ok(_) => Ok(()),
                // Killed, or looked at, before there was a lock: then it is empty.
                Err(_) => std::fs::remove_dir(&path),
            },
            Ok(kind) if kind.is_file() => match File::open(&path) {
                Ok(file) if file.try_lock().is_ok() => std::fs::remove_file(&path),
                _ => Ok(()),
            },
            _ => Ok(()),
        };
    }
}

/// Whether a lock was taken, or cannot be had because the file system knows none.
fn locked(file: &File) -> bool {
    !matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
}

/// A locked temporary file in a folder.
pub(super) fn temporary_file(folder: &Path) -> io::Result<(NamedTempFile, Entry)> {
    let mut builder = builder();
    // As any new file, not private as temporary ones usually are.
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(mode);
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(folder)?;
        let entry = Entry::new(file.path(), Vec::new());
        if locked(file.as_file()) && file.path().exists() {
            return Ok((file, entry));
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

/// A folder that is being filled beside its place. It gets its name when it is finished; dropped before, it leaves nothing behind.
#[derive(Debug)]
#[must_use = "the folder appears only when it is finished"]
pub struct WholeFolder {
    folder: TempDir,
    // Let go of after the folder is gone.
    lock: File,
    entry: Entry,
}

impl WholeFolder {
    /// Begins a folder that will stand in `parent`, which is made if it is not there; then it goes again if this folder is not finished.
    pub fn create_in(parent: &Path) -> io::Result<Self> {
        let missing = parent.ancestors().take_while(|p| !p.exists());
        let missing: Vec<PathBuf> = missing
            .filter(|p| !p.as_os_str().is_empty())
            .map(Path::to_path_buf)
            .collect();
        std::fs::create_dir_all(parent)?;
        // A relative path would lead elsewhere if the folder in which this process works is moved.
        let parent = parent.canonicalize()?;
        for _ in 0..ATTEMPTS {
            let folder = builder().tempdir_in(&parent)?;
            let entry = Entry::new(folder.path(), missing.clone());
            let Ok(lock) = File::create(folder.path().join(LOCK)) else {
                if folder.path().exists() {
                    File::create(folder.path().join(LOCK))?;
                }
                continue;
            };
            if locked(&lock) && folder.path().join(LOCK).exists() {
                return Ok(WholeFolder {
                    folder,
                    lock,
                    entry,
                });
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Where it is until it is finished.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives the folder its name; an empty one that is there makes room. If that cannot be, it comes back.
    pub fn finish(self, place: &Path) -> Result<(), Unplaced> {
        if let Err(error) = self.rename_to(place) {
            return Err(Unplaced {
                folder: self,
                error,
            });
        }
        // The temporary name is gone. The lock goes last: without it, what is left behind could not be told from what is being written.
        let _ = self.folder.keep();
        let _ = std::fs::remove_file(place.join(LOCK));
        drop((self.lock, self.entry));
        Ok(())
    }

    fn rename_to(&self, place: &Path) -> io::Result<()> {
        // Temporary folders are private; what the user asked for is like any other.
        #[cfg(unix)]
        std::fs::set_permissions(
            self.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )?;
        std::fs::rename(self.path(), place)
    }
}

/// A folder that could not get its name.
#[derive(Debug)]
pub struct Unplaced {
    /// The folder, as it was.
    pub folder: WholeFolder,
    /// Why.
    pub error: io::Error,
}

impl From<Unplaced> for io::Error {
    fn from(unplaced: Unplaced) -> Self {
        unplaced.error
    }
}
