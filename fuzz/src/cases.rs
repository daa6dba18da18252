//! Cases that failed once, kept so that they never fail again.

use std::path::{Path, PathBuf};

use crate::files::fingerprint;

/// The folder of kept cases in the sources.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases")
}

/// Keeps bytes under the name of their parser and of their contents, and says where.
pub fn keep(folder: &Path, parser: &str, extension: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let print = fingerprint(bytes);
    let print = (print ^ (print >> 32)) as u32;
    let file = folder.join(format!("{parser}-{print:08x}.{extension}"));
    std::fs::write(&file, bytes)?;
    Ok(file)
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
