//! Episodes as lines of JSON that are only ever added to. A later line of the same episode replaces an earlier one: what was noted after a save is written again.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use ell0::input;
use serde::{Deserialize, Serialize};

use super::{failed, wrong};
use crate::{agent::EpisodeRecord, error::Result};

/// How much of the lines counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    bytes: u64,
    checksum: String,
}

/// A file of episodes that grows.
#[derive(Debug)]
pub(super) struct Episodes {
    path: PathBuf,
    file: File,
    /// Bytes of the lines, and their checksum.
    bytes: u64,
    sum: u64,
    /// Episodes that have a line, and the last of them as it was written.
    written: usize,
    last: Option<EpisodeRecord>,
}

/// FNV-1a, which can be gone on with as lines come.
fn fnv(sum: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(sum, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

impl Episodes {
    /// An empty file.
    pub fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(|e| failed("write", &path, e))?;
        Ok(Episodes {
            path,
            file,
            bytes: 0,
            sum: FNV,
            written: 0,
            last: None,
        })
    }

    /// How much of it counts now.
    pub fn lines(&self) -> Lines {
        Lines {
            bytes: self.bytes,
            checksum: format!("{:016x}", self.sum),
        }
    }

    /// Adds episodes that have no line yet, and the last one again if it has changed.
    pub fn push(&mut self, history: &[EpisodeRecord]) -> Result<()> {
        let changed = self.written > 0 && history.get(self.written - 1) != self.last.as_ref();
        let from = (self.written - usize::from(changed)).min(history.len());
        let mut text = String::new();
        for record in &history[from..] {
            text += &serde_json::to_string(record).map_err(|e| wrong(&self.path, e))?;
            text.push('\n');
        }
        let mut write = || {
            // Whatever an earlier attempt left is written over.
            self.file.seek(SeekFrom::Start(self.bytes))?;
            self.file.write_all(text.as_bytes())?;
            self.file.sync_all()
        };
        write().map_err(|e| failed("write", &self.path, e))?;
        self.bytes += text.len() as u64;
        self.sum = fnv(self.sum, text.as_bytes());
        self.written = history.len();
        self.last = history.last().cloned();
        Ok(())
    }

    /// The episodes that count, and the file cut off behind them.
    pub fn resume(path: PathBuf, lines: &Lines) -> Result<(Vec<EpisodeRecord>, Self)> {
        let io = |e| failed("read", &path, e);
        let open = File::options().read(true).write(true).open(&path);
        let mut file = open.map_err(io)?;
        let mut text = Vec::new();
        let counted = (&mut file).take(lines.bytes).read_to_end(&mut text);
        if (counted.map_err(io)? as u64) < lines.bytes {
            return Err(wrong(&path, "the file is truncated: episodes are missing"));
        }
        let sum = fnv(FNV, &text);
        if format!("{sum:016x}") != lines.checksum {
            let reason = "its episodes do not match their checksum: the file is damaged";
            return Err(wrong(&path, reason));
        }
        let history = records(&text).collect::<Option<Vec<_>>>();
        let history = history.ok_or_else(|| wrong(&path, "a line is no episode"))?;
        let history = latest(history);
        let cut = file.set_len(lines.bytes);
        cut.map_err(|e| failed("write", &path, e))?;
        let episodes = Episodes {
            bytes: lines.bytes,
            sum,
            written: history.len(),
            last: history.last().cloned(),
            path,
            file,
        };
        Ok((history, episodes))
    }
}

/// What each whole line says; none for one that says nothing.
fn records(text: &[u8]) -> impl Iterator<Item = Option<EpisodeRecord>> {
    let lines = text.split_inclusive(|b| *b == b'\n');
    let whole = lines.filter(|l| l.ends_with(b"\n"));
    whole.map(|line| serde_json::from_slice(line).ok())
}

/// The last word on each episode.
fn latest(records: Vec<EpisodeRecord>) -> Vec<EpisodeRecord> {
    let mut history: Vec<EpisodeRecord> = Vec::new();
    for record in records {
        if history.last().is_some_and(|h| h.episode == record.episode) {
            history.pop();
        }
        history.push(record);
    }
    history
}

/// The episodes in a file that may be growing: all whole lines, whether a state counts them already or not.
pub(super) fn read(path: &Path) -> Result<Vec<EpisodeRecord>> {
    let text = input::read(path, input::MOST_BINARY).map_err(|e| failed("read", path, e))?;
    Ok(latest(records(&text).map_while(|r| r).collect()))
}
