//! Rows that only grow, too many to be written anew with every checkpoint.
//!
//! The file is a head (eight letters, the width, the checksum of both) and blocks: the number of rows, a checksum, the values, all in little-endian order. A checkpoint
//! remembers how many rows there were; whatever a process wrote after that is cut off when the journal is read again.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use super::{
    checksum::{Checksum, push_values, values_of},
    whole::{WholeFile, sync_folder},
};
use crate::error::{Error, Result, require};

const MAGIC: &[u8; 8] = b"ell0rows";

/// Bytes before the first block, and before the values of a block.
const HEAD: usize = 24;
const BLOCK_HEAD: usize = 16;

/// Numbers of a block when a journal is written anew: few enough to be checked in a small room.
const REWRITTEN: usize = 1 << 18;

/// A file of rows of single-precision numbers, all of the same width, which is only ever added to.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    width: usize,
    rows: u64,
    /// Bytes of the file that are known to be good.
    length: u64,
    /// Room for a block.
    block: Vec<u8>,
}

impl Journal {
    /// An empty journal of rows of `width` numbers, in place of whatever is there.
    pub fn create(path: impl AsRef<Path>, width: usize) -> Result<Self> {
        let path = path.as_ref();
        let head = head(width)?;
        let create = || {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(path)?;
            file.write_all(&head)?;
            Ok(file)
        };
        let file = create().map_err(|e| failed("write", path, e))?;
        sync_folder(path);
        Ok(Journal {
            path: path.into(),
            file,
            width,
            rows: 0,
            length: HEAD as u64,
            block: Vec::new(),
        })
    }

    /// Numbers of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds rows as one block, in one write. After an error the journal is as it was before.
    pub fn append(&mut self, rows: &[f32]) -> Result<()> {
        let count = count(rows, self.width)?;
        if count == 0 {
            return Ok(());
        }
        self.block.clear();
        push_block(self.rows, rows, self.width, &mut self.block);
        if let Err(error) = self.file.write_all(&self.block) {
            // What was written of the block is no part of the journal; should this fail, too, the next reader cuts it off.
            let _ = self.file.set_len(self.length);
            let _ = self.file.seek(SeekFrom::Start(self.length));
            return Err(failed("write", &self.path, error));
        }
        self.rows += count;
        self.length += self.block.len() as u64;
        Ok(())
    }

    /// Makes sure that all rows are on the disk.
    pub fn sync(&self) -> Result<()> {
        let done = self.file.sync_all();
        done.map_err(|e| failed("write", &self.path, e))
    }

    /// The first `rows` rows of a journal, and the journal cut off behind them, to be added to. What follows them may be torn: a process may have died while it wrote.
    pub fn read(path: impl AsRef<Path>, width: usize, rows: u64) -> Result<(Vec<f32>, Self)> {
        let path = path.as_ref();
        let expected = head(width)?;
        let io = |e| failed("read", path, e);
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(path)
            .map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut found = [0; HEAD];
        match reader.read_exact(&mut found) {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(wrong(path, "it is too short for a journal of rows"));
            }
            other => other.map_err(io)?,
        }
        if found != expected {
            return Err(foreign(path, &found, width));
        }
        let fits = usize::try_from(size / 4).unwrap_or(usize::MAX);
        let wanted = usize::try_from(rows).unwrap_or(usize::MAX);
        let mut values = Vec::with_capacity(wanted.saturating_mul(width).min(fits));
        let (mut have, mut length) = (0u64, HEAD as u64);
        let mut block = Vec::new();
        while have < rows {
            let short = || {
                let reason = format!(
                    "it holds {have} rows, not the {rows} that were written: the file is truncated"
                );
                wrong(path, reason)
            };
            if size - length < BLOCK_HEAD as u64 {
                return Err(short());
            }
            let mut head = [0; BLOCK_HEAD];
            reader.read_exact(&mut head).map_err(io)?;
            let [count, sum] = words(head);
            // A length that cannot be is not worth the room for it.
            let bytes = count.checked_mul(4 * width as u64);
            let rest = size - length - BLOCK_HEAD as u64;
            let Some(bytes) = bytes.filter(|bytes| *bytes <= rest && count > 0) else {
                return Err(short());
            };
            block.resize(bytes as usize, 0);
            reader.read_exact(&mut block).map_err(io)?;
            if checksum(have, count, |sum| sum.bytes(&block)) != sum {
                let reason = format!(
                    "rows {have} to {} do not match their checksum: the file is damaged",
                    have + count
                );
                return Err(wrong(path, reason));
            }
            values.extend(values_of(&block));
            have += count;
            length += BLOCK_HEAD as u64 + bytes;
        }
        if have > rows {
            // The end lies within a block, which cannot be cut in place without a moment in which its rows are lost.
            values.truncate(wanted * width);
            let journal = Journal::rewrite(path, width, &values)?;
            return Ok((values, journal));
        }
        let mut cut = || {
            file.set_len(length)?;
            file.seek(SeekFrom::Start(length))
        };
        cut().map_err(|e| failed("write", path, e))?;
        let journal = Journal {
            path: path.into(),
            file,
            width,
            rows,
            length,
            block,
        };
        Ok((values, journal))
    }

    /// A journal with exactly these rows, in place of whatever is there: the old one or the new one, never less.
    pub fn rewrite(path: impl AsRef<Path>, width: usize, rows: &[f32]) -> Result<Self> {
        let path = path.as_ref();
        let head = head(width)?;
        let count = count(rows, width)?;
        let mut block = Vec::new();
        let mut length = HEAD as u64;
        let mut write = || {
            let whole = WholeFile::create(path)?;
            let mut file = whole.file()?;
            file.write_all(&head)?;
            let mut first = 0;
            for rows in rows.chunks((REWRITTEN / width).max(1) * width) {
                block.clear();
                push_block(first, rows, width, &mut block);
                file.write_all(&block)?;
                first += (rows.len() / width) as u64;
                length += block.len() as u64;
            }
            whole.finish()?;
            // The same file under its new name, at its end.
            Ok(file)
        };
        let file = write().map_err(|e| failed("write", path, e))?;
        Ok(Journal {
            path: path.into(),
            file,
            width,
            rows: count,
            length,
            block,
        })
    }
}

/// The first bytes of a journal.
fn head(width: usize) -> Result<[u8; HEAD]> {
    let ok = (1..=1 << 24).contains(&width);
    require(ok, "width", width, "a row has 1 to 2^24 numbers")?;
    let mut sum = Checksum::new();
    sum.bytes(MAGIC);
    sum.word(width as u64);
    let mut head = [0; HEAD];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&(width as u64).to_le_bytes());
    head[16..].copy_from_slice(&sum.finish().to_le_bytes());
    Ok(head)
}

/// Why the first bytes of a file are not those of the journal that was asked for.
fn foreign(path: &Path, found: &[u8; HEAD], width: usize) -> Error {
    let [_, other, _] = words(*found);
    let whole = usize::try_from(other)
        .ok()
        .and_then(|other| head(other).ok())
        .is_some_and(|head| head == *found);
    wrong(
        path,
        if whole {
            format!("its rows have {other} numbers, not {width}: it belongs to something else")
        } else {
            "it is no journal of rows, or a damaged one".into()
        },
    )
}

/// Adds a block to the bytes.
fn push_block(first: u64, rows: &[f32], width: usize, bytes: &mut Vec<u8>) {
    let count = (rows.len() / width) as u64;
    let sum = checksum(first, count, |sum| sum.values(rows));
    bytes.extend(count.to_le_bytes());
    bytes.extend(sum.to_le_bytes());
    push_values(rows, bytes);
}

/// The checksum of a block. It knows the number of its first row: blocks cannot change places.
fn checksum(first: u64, count: u64, values: impl FnOnce(&mut Checksum)) -> u64 {
    let mut sum = Checksum::new();
    sum.word(first);
    sum.word(count);
    values(&mut sum);
    sum.finish()
}

fn count(rows: &[f32], width: usize) -> Result<u64> {
    let ok = rows.len().is_multiple_of(width);
    let expected = format!("a multiple of the {width} numbers of a row");
    require(ok, "rows", rows.len(), &expected)?;
    Ok((rows.len() / width) as u64)
}

/// Little-endian words.
fn words<const BYTES: usize, const WORDS: usize>(bytes: [u8; BYTES]) -> [u64; WORDS] {
    let (chunks, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|k| u64::from_le_bytes(chunks[k]))
}

fn wrong(path: &Path, reason: impl Into<String>) -> Error {
    Error::Checkpoint {
        path: path.into(),
        reason: reason.into(),
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io {
        action,
        path: path.into(),
        source,
    }
}
