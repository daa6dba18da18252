//! One process at a time writes to the folder of a run.

use std::{
    fs::{File, TryLockError},
    path::Path,
    time::Duration,
};

use crate::error::{Error, Result};

pub(crate) use ell0::checkpoint::LOCK;

/// How often a folder that is held is asked for again, and the time between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(20);

/// Keeps other processes from writing into the folder of a run, until it is dropped or the process ends, however it ends.
#[must_use]
pub(crate) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Takes hold of the folder of a run, of which the caller has made sure that it is one.
pub(crate) fn lock(folder: &Path) -> Result<Lock> {
    let place = folder.join(LOCK);
    let cannot = |e| Error::io("write", &place)(e);
    let held = || Error::Held(folder.into());
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&place)
        .map_err(|e| match e.kind() {
            // Whoever holds it has just moved it away.
            std::io::ErrorKind::NotFound => held(),
            _ => cannot(e),
        })?;
    for attempt in 1.. {
        match file.try_lock() {
            // Somebody may only be looking whether it is held.
            Err(TryLockError::WouldBlock) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(held()),
            // Some file systems know no locks: better to go on than to refuse.
            Ok(()) | Err(TryLockError::Error(_)) => break,
        }
    }
    // Whoever held it may have put another folder in its place meanwhile.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let there = std::fs::metadata(&place).map_err(|_| held())?;
        if there.ino() != file.metadata().map_err(cannot)?.ino() {
            return Err(held());
        }
    }
    Ok(Lock(file))
}

/// Whether a process has taken hold of a folder.
#[must_use]
pub fn is_held(folder: &Path) -> bool {
    let file = File::open(folder.join(LOCK));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
