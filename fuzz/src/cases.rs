//! Cases that failed once, kept so that they never fail again.

use std::path::{Path, PathBuf};

/// The folder of kept cases in the sources.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Keeps bytes under the name of their parser and of their contents, and says where.
pub fn keep(folder: &Path, parser: &str, extension: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("{parser}-{:08x}.{extension}", fingerprint(bytes)));
    std::fs::write(&file, bytes)?;
    Ok(file)
}

/// FNV-1a, folded: the same contents have the same name.
fn fingerprint(bytes: &[u8]) -> u32 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

/// The parser of a kept case, by its name.
#[must_use]
pub fn parser_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_string_lossy();
    let (parser, _) = name.rsplit_once('-')?;
    crate::targets::names()
        .any(|n| n == parser)
        .then(|| parser.into())
}

/// All kept cases, in the order of their names.
pub fn all(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if parser_of(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
