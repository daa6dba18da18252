//! What a run has put into its folder, so that nothing else is ever deleted or overwritten.

use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use ell0::{
    checkpoint::{Checksum, LOCK, is_temporary},
    input,
};
use serde::{Deserialize, Serialize};

use super::parent_of;
use crate::{
    error::{Error, Result},
    files, report,
};

/// The file that says what a folder holds.
pub(crate) const FILE: &str = "manifest.json";

/// Files by which the folder of a run is read and shown: in a folder with a manifest they are the run's, also those that it has not written.
const READ: [&str; 9] = [
    FILE,
    report::FILE,
    report::COMMAND,
    "config.toml",
    "model.json",
    "network.safetensors",
    "discovery.json",
    "analysis.json",
    "results.json",
];

/// What a run has put into its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// The program and its version.
    made_by: String,
    /// The kind of run.
    run: String,
    /// The files by their paths in the folder. Those that are written only once have a fingerprint; a name that ends in `/` is a folder in which everything is the run's.
    files: BTreeMap<String, Option<Fingerprint>>,
}

/// By which a file is recognised: its length, and a checksum of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fingerprint {
    bytes: u64,
    checksum: String,
}

impl Fingerprint {
    fn of(content: &[u8]) -> Self {
        let mut sum = Checksum::new();
        sum.bytes(content);
        Fingerprint {
            bytes: content.len() as u64,
            checksum: format!("{:016x}", sum.finish()),
        }
    }

    fn is_of(&self, file: &Path) -> bool {
        let length = std::fs::metadata(file).map(|m| m.len());
        length.is_ok_and(|length| length == self.bytes)
            && input::read(file, input::MOST_BINARY).is_ok_and(|c| Fingerprint::of(&c) == *self)
    }
}

impl Manifest {
    pub fn new(run: &str) -> Self {
        Manifest {
            made_by: concat!("ell0 ", env!("CARGO_PKG_VERSION")).into(),
            run: run.into(),
            files: BTreeMap::new(),
        }
    }

    /// Notes a file that is written once.
    pub fn wrote(&mut self, name: &str, content: &[u8]) {
        let print = Fingerprint::of(content);
        self.files.insert(name.into(), Some(print));
    }

    /// Notes files, or folders, that the run writes to as it goes on.
    pub fn will_write(&mut self, names: impl IntoIterator<Item = String>) {
        self.files
            .extend(names.into_iter().map(|name| (name, None)));
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        let place = folder.join(FILE);
        std::fs::write(&place, files::to_json(self)?).map_err(Error::io("write", &place))
    }

    /// The manifest of a folder, if it holds a run.
    fn of(folder: &Path) -> Option<Self> {
        let text = input::read_text(folder.join(FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The manifest of a folder that must hold a run of this kind.
    fn of_run(folder: &Path, run: &str) -> Result<Self> {
        let Some(manifest) = Manifest::of(folder) else {
            let name = match first_entry(folder)? {
                Some(name) => name,
                None => FILE.into(),
            };
            return Err(Error::Foreign {
                folder: folder.into(),
                name,
            });
        };
        if manifest.run != run {
            return Err(Error::OtherRun {
                folder: folder.into(),
                found: format!("a run of another kind ({})", manifest.run),
                asked: format!("one of this kind ({run})"),
            });
        }
        Ok(manifest)
    }

    /// Whether something in the folder is the run's, by its path in there; `is_there` says whether there is such a file.
    fn holds(&self, name: &Path, is_there: bool) -> bool {
        let within = |part: &Path| self.files.contains_key(&format!("{}/", slashed(part)));
        self.files.contains_key(&slashed(name))
            || READ.iter().any(|file| name == Path::new(file))
            || is_there && name.ancestors().skip(1).any(within)
    }
}

/// A path inside a folder, as the manifest writes it on every system.
fn slashed(name: &Path) -> String {
    let parts = name.iter().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// Whether an entry of a folder is what processes leave behind that were killed, or any.
pub(super) fn passes(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let empty = || entry.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
    is_temporary(&name) || name == LOCK && empty()
}

fn entries(folder: &Path) -> Result<Vec<std::fs::DirEntry>> {
    let read = || std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>();
    let mut entries = read().map_err(Error::io("read the folder", folder))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    Ok(entries)
}

fn first_entry(folder: &Path) -> Result<Option<String>> {
    let entries = entries(folder)?;
    let first = entries.iter().find(|entry| !passes(entry));
    Ok(first.map(|entry| entry.file_name().to_string_lossy().into_owned()))
}

/// Whether a folder holds the run of this kind that has begun in it; its own check says whether it holds nothing else.
pub(super) fn is_run(folder: &Path, run: &str) -> Result<()> {
    Manifest::of_run(folder, run).map(drop)
}

/// Whether a folder holds nothing but what a run of this kind has put there, as the run has put it there: then nothing is lost when another takes its place.
pub(crate) fn only_run(folder: &Path, run: &str) -> Result<()> {
    let manifest = || std::fs::read(folder.join(FILE)).ok();
    for _ in 0..ATTEMPTS {
        let before = manifest();
        let asked = looked_through(folder, run);
        // Another process may have put its own run there meanwhile, or be about to: then that one is asked about.
        let gone =
            matches!(&asked, Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound);
        if asked.is_ok() || !gone && manifest() == before {
            return asked;
        }
    }
    looked_through(folder, run)
}

/// How often a folder is looked through while others put theirs in its place.
const ATTEMPTS: usize = 100;

fn looked_through(folder: &Path, run: &str) -> Result<()> {
    let manifest = Manifest::of_run(folder, run)?;
    let mut inside = vec![PathBuf::new()];
    while let Some(within) = inside.pop() {
        for entry in entries(&folder.join(&within))? {
            let name = within.join(entry.file_name());
            if passes(&entry) || name == Path::new(FILE) {
                continue;
            }
            let (slashed, place) = (slashed(&name), entry.path());
            let foreign = || Error::Foreign {
                folder: folder.into(),
                name: slashed.clone(),
            };
            // Links are never made by a run, and are not followed.
            let kind = entry.file_type().map_err(Error::io("read", &place))?;
            if kind.is_dir() {
                let some = format!("{slashed}/");
                if !manifest.files.keys().any(|known| known.starts_with(&some)) {
                    return Err(foreign());
                }
                inside.push(name);
                continue;
            }
            // `ell0 report` makes pages anew.
            if kind.is_file() && slashed == report::FILE && report::is_page(&place) {
                continue;
            }
            match manifest.files.get(&slashed) {
                Some(Some(print)) if kind.is_file() && print.is_of(&place) => {}
                Some(_) if kind.is_file() => {
                    return Err(Error::Changed {
                        folder: folder.into(),
                        name: slashed,
                    });
                }
                _ => return Err(foreign()),
            }
        }
    }
    Ok(())
}

/// The folder of the run that a file belongs to, or would be read as part of; links are followed.
pub(crate) fn owner(file: &Path) -> Option<PathBuf> {
    let named = parent_of(file).canonicalize().ok()?.join(file.file_name()?);
    let meant = file.canonicalize().ok();
    [Some(named), meant]
        .into_iter()
        .flatten()
        .find_map(|place| {
            let holds = |folder: &&Path| {
                let manifest = Manifest::of(folder);
                let name = place.strip_prefix(folder).ok();
                manifest
                    .zip(name)
                    .is_some_and(|(m, name)| m.holds(name, place.exists()))
            };
            let mut folders = place.ancestors().skip(1);
            folders.find(holds).map(Path::to_path_buf)
        })
}

/// The first of the files and folders that lies in a folder, or leads into it.
pub(super) fn first_inside<'a>(
    folder: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<Option<&'a Path>> {
    let place = match folder.canonicalize() {
        Ok(place) => place,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("read the folder", folder)(e)),
    };
    let inside = |input: &&Path| {
        // Where it leads to, and where its own name stands.
        let named = parent_of(input).canonicalize().ok();
        let named = named.and_then(|parent| Some(parent.join(input.file_name()?)));
        let meant = input.canonicalize().ok();
        [named, meant]
            .iter()
            .flatten()
            .any(|p| p.starts_with(&place))
    };
    Ok(inputs.into_iter().find(inside))
}
