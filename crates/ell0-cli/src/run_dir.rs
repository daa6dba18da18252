//! Run directories, whole or not at all.

use std::{
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail, ensure};
use ell0_data::write::TEMPORARY;
use ell0_plot::Figure;

use crate::report;

/// A directory in the making, beside the place where it will be.
pub struct RunDir {
    fresh: tempfile::TempDir,
    wish: Wish,
    /// The files that such a run leaves.
    ours: &'static [&'static str],
    /// Fingerprint of what was written so far.
    print: u64,
}

enum Wish {
    /// This directory; one that is there is replaced only if the flag says so.
    Named(PathBuf, bool),
    /// `runs/STEM-FINGERPRINT`: the same run has the same name.
    Automatic(String),
}

/// Whether a folder holds nothing but the files of a run, so that nothing is lost when another takes its place.
pub fn may_replace(folder: &Path, ours: &[&str]) -> anyhow::Result<()> {
    let cannot = || format!("cannot read the folder {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let name = entry.with_context(cannot)?.file_name();
        // Left behind by a process that was killed, or by any.
        if name.to_string_lossy().starts_with(TEMPORARY) || name == LOCK {
            continue;
        }
        ensure!(
            ours.iter().any(|known| name.to_str() == Some(known)),
            "the folder {} holds {}, which no run has put there; --force replaces only folders of runs: choose another --out",
            folder.display(),
            name.to_string_lossy()
        );
    }
    Ok(())
}

/// The file by which a process holds a folder.
const LOCK: &str = ".lock";

/// Keeps other processes from writing into the folder of a run, until it is dropped or the process ends, however it ends.
pub struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

/// Takes hold of the folder of a run, of which the caller has made sure that it is one.
pub fn lock(folder: &Path) -> anyhow::Result<Lock> {
    let place = folder.join(LOCK);
    let cannot = || format!("cannot write {}", place.display());
    let file = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&place)
        .with_context(cannot)?;
    let held = || {
        format!(
            "another process is writing to {}; wait for its end, or end it",
            folder.display()
        )
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => bail!(held()),
        // Some file systems know no locks: better to go on than to refuse.
        Ok(()) | Err(TryLockError::Error(_)) => {}
    }
    // Whoever held it may have put another folder in its place meanwhile.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let there = std::fs::metadata(&place).with_context(held)?;
        ensure!(
            there.ino() == file.metadata().with_context(cannot)?.ino(),
            held()
        );
    }
    Ok(Lock(file))
}

/// Whether a process has taken hold of a folder.
pub fn is_held(folder: &Path) -> bool {
    let file = File::open(folder.join(LOCK));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Deletes a folder: it is gone at once or not at all, also if this process is killed meanwhile.
pub fn remove(folder: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot replace {}", folder.display());
    let aside = tempfile::Builder::new()
        .prefix(".ell0-old-")
        .tempdir_in(parent_of(folder))
        .with_context(cannot)?;
    std::fs::rename(folder, aside.path().join("run")).with_context(cannot)
}

/// Makes the folder of a run that is written to while it goes on: it appears with its `config.toml` and the folders inside it, or not at all.
pub fn begin(folder: &Path, inside: &[&str], config: &str) -> anyhow::Result<()> {
    let cannot = || format!("cannot write the folder {}", folder.display());
    let parent = parent_of(folder);
    std::fs::create_dir_all(parent).with_context(cannot)?;
    let fresh = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempdir_in(parent)
        .with_context(cannot)?;
    make_inside(fresh.path(), inside)?;
    std::fs::write(fresh.path().join("config.toml"), config).with_context(cannot)?;
    readable_by_all(fresh.path()).with_context(cannot)?;
    std::fs::rename(fresh.path(), folder).with_context(cannot)?;
    let _ = fresh.keep();
    Ok(())
}

/// Makes the folders inside a run's folder, and clears away what a process that was killed left half-written.
pub fn make_inside(folder: &Path, inside: &[&str]) -> anyhow::Result<()> {
    let tidy = |folder: &Path| -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    };
    inside
        .iter()
        .chain(&[""])
        .try_for_each(|name| tidy(&folder.join(name)))
        .with_context(|| format!("cannot write the folder {}", folder.display()))
}

/// Temporary folders are private; what the user asked for is like any other.
fn readable_by_all(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let _ = folder;
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Where runs go that were given no place.
const RUNS: &str = "runs";

impl RunDir {
    /// A directory at `out`, or one in `runs/` that is named after `stem` and its contents.
    pub fn new(
        out: Option<&Path>,
        force: bool,
        stem: &str,
        ours: &'static [&'static str],
    ) -> anyhow::Result<Self> {
        let (parent, shown, wish) = match out {
            Some(out) => {
                ensure!(
                    force || !out.exists(),
                    "the folder {} exists; choose another one, or --force to replace it",
                    out.display()
                );
                ensure!(
                    !out.exists() || out.is_dir(),
                    "{} is a file; --out needs a folder",
                    out.display()
                );
                if out.exists() {
                    may_replace(out, ours)?;
                }
                (parent_of(out), out, Wish::Named(out.into(), force))
            }
            None => (
                Path::new(RUNS),
                Path::new(RUNS),
                Wish::Automatic(stem.into()),
            ),
        };
        let cannot = || {
            format!(
                "cannot write the folder {}; --out DIR names another place",
                shown.display()
            )
        };
        std::fs::create_dir_all(parent).with_context(cannot)?;
        let fresh = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .tempdir_in(parent)
            .with_context(cannot)?;
        Ok(RunDir {
            fresh,
            wish,
            ours,
            print: 0xcbf2_9ce4_8422_2325,
        })
    }

    /// Writes a file into the directory, or into one inside it.
    pub fn put(&mut self, name: &str, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let content = content.as_ref();
        // FNV-1a: the same on every machine.
        for byte in name.bytes().chain(content.iter().copied()) {
            self.print = (self.print ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self.write(name, content)
    }

    /// Writes a figure as SVG and as PNG. The directory is not named after it: how results are drawn may change without them.
    pub fn draw(&mut self, name: &str, figure: &Figure) -> anyhow::Result<()> {
        self.write(&format!("{name}.svg"), figure.svg().as_bytes())?;
        self.write(&format!("{name}.png"), &figure.png(2.0)?)
    }

    fn write(&self, name: &str, content: &[u8]) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {name} of the run");
        let file = self.fresh.path().join(name);
        std::fs::create_dir_all(parent_of(&file)).with_context(cannot)?;
        std::fs::write(file, content).with_context(cannot)
    }

    /// Writes the page of what is in the directory so far, and the command that made it; neither is part of what the directory is named after.
    pub fn report(&mut self) -> anyhow::Result<()> {
        report::note_command(self.fresh.path())?;
        report::write(self.fresh.path()).map(drop)
    }

    /// Puts the directory in its place, and says where that is.
    pub fn finish(self) -> anyhow::Result<PathBuf> {
        let place = match &self.wish {
            Wish::Named(place, _) => place.clone(),
            Wish::Automatic(stem) => {
                Path::new(RUNS).join(format!("{stem}-{:08x}", self.print as u32))
            }
        };
        let cannot = || format!("cannot write the folder {}", place.display());
        if place.exists() {
            match self.wish {
                Wish::Named(_, true) => {
                    // What was put there meanwhile is not ours to delete.
                    may_replace(&place, self.ours)?;
                    remove(&place)?;
                }
                // The same run was made before: it is all there.
                Wish::Automatic(_) => return Ok(place),
                Wish::Named(_, false) => {}
            }
        }
        readable_by_all(self.fresh.path()).with_context(cannot)?;
        std::fs::rename(self.fresh.path(), &place).with_context(cannot)?;
        // The temporary name is gone.
        let _ = self.fresh.keep();
        Ok(place)
    }
}
