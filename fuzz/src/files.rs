//! Folders and fingerprints.

use std::{
    io,
    path::{Path, PathBuf},
};

/// All files and folders under a folder, in their order.
pub fn walk(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(walk(&path)?);
        }
        all.push(path);
    }
    all.sort();
    Ok(all)
}

/// Whether a file or folder is half-written, or was to be deleted: its name says so.
#[must_use]
pub fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(ell0::checkpoint::is_temporary)
}

/// FNV-1a: the same contents have the same print.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
