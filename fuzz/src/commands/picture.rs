//! What a command changed, and whether it may.

use std::{
    collections::BTreeMap,
    io,
    path::{Component, Path, PathBuf},
};

use super::grammar::Line;
use crate::{
    files::{fingerprint, is_temporary, walk},
    verdict::{Fault, Kind},
};

/// All files and folders, with a fingerprint of the files.
#[derive(Debug)]
pub struct Picture(BTreeMap<PathBuf, Option<u64>>);

impl Picture {
    /// What is there.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let mut all = BTreeMap::new();
        for path in walk(folder)? {
            let print = if path.is_dir() {
                None
            } else {
                Some(fingerprint(&std::fs::read(&path)?))
            };
            all.insert(path, print);
        }
        Ok(Picture(all))
    }
}

/// A path without `.` and `..`.
fn plain(folder: &Path, path: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Holds the changes of a command to its promises: nothing changes but what it says, a failure leaves nothing, nothing half-written stays.
pub fn check_changes(
    line: &Line,
    well: bool,
    before: &Picture,
    after: &Picture,
    folder: &Path,
) -> Result<(), Fault> {
    let command = line.words.first().map_or("", String::as_str);
    let has = |option: &str| line.words.iter().any(|w| w == option);
    let out = line.out().map(|out| plain(folder, out));
    let home = match (command, &out) {
        (_, Some(out)) => out.clone(),
        ("export", None) => folder.to_path_buf(),
        _ => folder.join("runs"),
    };
    let inside = |path: &Path| path.starts_with(&home);
    let grows = matches!(command, "train" | "tutorial");
    let page = |path: &Path| command == "report" && path.ends_with("report.html");
    let name = |path: &Path| {
        path.strip_prefix(folder)
            .unwrap_or(path)
            .display()
            .to_string()
    };
    for (path, print) in &after.0 {
        if is_temporary(path) {
            return Err(Fault::new(Kind::Left, command, name(path)));
        }
        match before.0.get(path) {
            Some(old) if old == print => {}
            Some(_) => {
                let may = page(path)
                    || inside(path) && (has("--force") || grows && (has("--resume") || well));
                if !may {
                    return Err(Fault::new(Kind::Touched, command, name(path)));
                }
            }
            None => {
                let on_the_way = print.is_none() && home.starts_with(path);
                // A simulation that ends early is a failure that leaves what it came to.
                let leaves = well || grows || command == "simulate";
                let may = (inside(path) || on_the_way || page(path)) && leaves;
                if !may {
                    let what = format!("{} after exit code {}", name(path), u8::from(!well));
                    return Err(Fault::new(Kind::Left, command, what));
                }
            }
        }
    }
    for path in before.0.keys().filter(|p| !after.0.contains_key(*p)) {
        if !(has("--force") && inside(path)) {
            let what = format!("{} is gone", name(path));
            return Err(Fault::new(Kind::Touched, command, what));
        }
    }
    Ok(())
}
