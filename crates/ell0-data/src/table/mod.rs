//! Files with named columns, read block by block: CSV (plain or `.gz`), Parquet, NPZ, NPY and IDX.

mod bounded;
mod csv;
mod guard;
mod idx;
mod npy;
mod npz;
mod parquet;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

pub use csv::LONGEST_ROW;
use ell0::{input, wording::shown};
pub use guard::panics_are_errors;

use crate::{
    error::{Error, Result},
    frame::{Frame, FrameSource},
};

/// The most columns that a table may have.
pub const MOST_COLUMNS: usize = 1 << 16;

/// How a table is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Separator of a CSV file; by default the most frequent of comma, semicolon and tab in its header.
    pub separator: Option<u8>,
    /// Whether rows with empty or NaN cells are left out, and counted, instead of being an error.
    pub drop_missing: bool,
}

/// Some rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The wanted columns, in the order they were asked for.
    pub columns: Vec<Vec<f64>>,
    /// Where each row stands in the file: its line in a CSV file, else its number; counted from 1.
    pub places: Vec<u64>,
    /// Rows that were left out just before each row.
    pub skipped: Vec<u64>,
}

impl Block {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn clear(&mut self, columns: usize) {
        self.columns.resize(columns, Vec::new());
        self.columns.iter_mut().for_each(Vec::clear);
        self.places.clear();
        self.skipped.clear();
    }
}

/// A column that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// Its numbers.
    Number(String),
    /// Its labels, numbers or text: rows with the same label get the same number.
    Label(String),
}

impl Want {
    fn name(&self) -> &String {
        match self {
            Want::Number(name) | Want::Label(name) => name,
        }
    }
}

/// A wanted column, found in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub index: usize,
    pub label: bool,
}

/// Numbers for labels, in the order of their appearance.
#[derive(Debug, Default)]
pub(crate) struct Labels(HashMap<String, usize>);

impl Labels {
    pub fn number(&mut self, label: &str) -> f64 {
        if let Some(number) = self.0.get(label) {
            return *number as f64;
        }
        let next = self.0.len();
        self.0.insert(label.to_string(), next);
        next as f64
    }

    /// The labels so far, in the order of their numbers.
    fn texts(&self) -> Vec<String> {
        let mut texts: Vec<(usize, &String)> = self.0.iter().map(|(t, n)| (*n, t)).collect();
        texts.sort_unstable();
        texts.into_iter().map(|(_, text)| text.clone()).collect()
    }
}

/// One file format, or columns in memory.
pub(crate) trait Source: Send {
    /// Names of all columns that can be read.
    fn names(&self) -> &[String];
    /// Chooses the columns that [`read`](Source::read) delivers.
    fn select(&mut self, wanted: Vec<Found>) -> Result<()>;
    /// Reads at most so many rows into a block; an empty one means the end of the file.
    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()>;
    /// Rows left out so far because of empty or NaN cells.
    fn dropped(&self) -> u64;
    /// The labels of all columns of labels so far.
    fn labels(&self) -> &Labels;
    /// What a row's place is called.
    fn place(&self) -> &'static str {
        "row"
    }
}

/// A file with named columns, some of which are read block by block.
pub struct Table {
    path: PathBuf,
    source: Box<dyn Source>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .field("names", &self.source.names())
            .finish_non_exhaustive()
    }
}

/// The first bytes of a file tell Parquet and NPZ from CSV, whatever the file is called.
fn first_bytes(path: &Path) -> Result<[u8; 4]> {
    let mut bytes = [0; 4];
    let mut file = open_file(path)?;
    let mut filled = 0;
    while filled < bytes.len() {
        let read = file
            .read(&mut bytes[filled..])
            .map_err(|source| Error::Io {
                path: path.into(),
                source,
            })?;
        if read == 0 {
            break;
        }
        filled += read;
    }
    Ok(bytes)
}

fn last_bytes(path: &Path) -> std::io::Result<[u8; 4]> {
    let mut bytes = [0; 4];
    let mut file = input::open(path)?;
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn open_file(path: &Path) -> Result<File> {
    input::open(path).map_err(|source| Error::Io {
        path: path.into(),
        source,
    })
}

pub(crate) fn too_many_columns(path: &Path, columns: usize) -> Error {
    Error::Format {
        path: path.into(),
        reason: format!(
            "it has {columns} columns, and no more than {MOST_COLUMNS} are read: leave some out, or turn the table so that its columns are rows"
        ),
    }
}

pub(crate) fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case(extension))
}

impl Table {
    /// Opens a file and finds the wanted columns.
    pub fn open(path: impl AsRef<Path>, wanted: &[Want], options: ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let bytes = first_bytes(path)?;
        // A CSV file, too, may begin with these letters, but hardly end with them.
        let parquet = &bytes == b"PAR1" && last_bytes(path).is_ok_and(|b| &b == b"PAR1");
        let source: Box<dyn Source> = if parquet || has_extension(path, "parquet") {
            Box::new(parquet::Parquet::open(path, options)?)
        } else if matches!(&bytes, b"PK\x03\x04" | b"PK\x05\x06") || has_extension(path, "npz") {
            Box::new(npz::Npz::open(path, options)?)
        } else if &bytes == b"\x93NUM" || has_extension(path, "npy") {
            Box::new(npz::Npz::open_npy(path, options)?)
        } else if let Some(idx) = idx::Idx::open(path, options)? {
            Box::new(idx)
        } else {
            Box::new(csv::Csv::open(path, options)?)
        };
        Table::select(path, source, wanted)
    }

    /// The wanted columns of a frame; `number` is what errors call it if it has no name.
    pub fn of_frame(
        frame: &Frame,
        number: usize,
        wanted: &[Want],
        options: ReadOptions,
    ) -> Result<Self> {
        let path = frame.path(number);
        let source = FrameSource::new(&path, frame.clone(), options);
        Table::select(&path, Box::new(source), wanted)
    }

    fn select(path: &Path, mut source: Box<dyn Source>, wanted: &[Want]) -> Result<Self> {
        let found = wanted
            .iter()
            .map(|want| find(path, source.names(), want))
            .collect::<Result<Vec<_>>>()?;
        source.select(found)?;
        Ok(Table {
            path: path.into(),
            source,
        })
    }

    /// The file, or what a frame is called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of all columns.
    pub fn names(&self) -> &[String] {
        self.source.names()
    }

    /// Rows left out so far because of empty or NaN cells.
    pub fn dropped(&self) -> u64 {
        self.source.dropped()
    }

    /// What the numbers of labels stand for that were read so far.
    pub fn labels(&self) -> Vec<String> {
        self.source.labels().texts()
    }

    /// "line" or "row", as the format counts.
    pub(crate) fn place_word(&self) -> &'static str {
        self.source.place()
    }

    /// "line 7" or "row 7", as the format counts.
    pub fn place(&self, place: u64) -> String {
        format!("{} {place}", self.source.place())
    }

    /// Reads at most `rows` rows into the block, overwriting it; false at the end of the file.
    pub fn read(&mut self, rows: usize, block: &mut Block) -> Result<bool> {
        self.source.read(rows.max(1), block)?;
        Ok(block.rows() > 0)
    }
}

fn find(path: &Path, names: &[String], want: &Want) -> Result<Found> {
    let column = want.name();
    let label = matches!(want, Want::Label(_));
    if names.iter().filter(|name| *name == column).count() > 1 {
        return Err(Error::Format {
            path: path.into(),
            reason: format!(
                "several columns are called `{}`; give each its own name",
                shown(column)
            ),
        });
    }
    match names.iter().position(|name| name == column) {
        Some(index) => Ok(Found { index, label }),
        None => Err(Error::Column {
            path: path.into(),
            column: column.clone(),
            columns: names.to_vec(),
        }),
    }
}

/// The rows of a block that are whole; `pending` counts the rows left out since the last one that was kept. Rows with a cell that is no finite number are left out if they may be, else an error.
pub(crate) fn sift(
    path: &Path,
    block: &mut Block,
    columns: impl Fn(usize) -> String,
    drop_missing: bool,
    pending: &mut u64,
) -> Result<u64> {
    // 0·x is 0 for every finite number, and NaN for all else: the usual case at the speed of memory.
    let whole = |column: &Vec<f64>| column.iter().map(|x| 0.0 * x).sum::<f64>() == 0.0;
    if block.columns.iter().all(whole) {
        block.skipped.resize(block.rows(), 0);
        if let Some(first) = block.skipped.first_mut() {
            *first = std::mem::take(pending);
        }
        return Ok(0);
    }
    let mut missing = vec![false; block.rows()];
    for (k, column) in block.columns.iter().enumerate() {
        if let Some(row) = column
            .iter()
            .position(|x| !(x.is_finite() || drop_missing && x.is_nan()))
        {
            return Err(Error::Cell {
                path: path.into(),
                place: format!("row {}", block.places[row]),
                column: columns(k),
                found: if column[row].is_nan() {
                    "nothing, or NaN".into()
                } else {
                    format!("`{}`", column[row])
                },
            });
        }
        missing
            .iter_mut()
            .zip(column)
            .for_each(|(m, x)| *m |= x.is_nan());
    }
    for missing in &missing {
        if *missing {
            *pending += 1;
        } else {
            block.skipped.push(std::mem::take(pending));
        }
    }
    let count = missing.iter().filter(|m| **m).count();
    if count > 0 {
        for column in &mut block.columns {
            let mut at = missing.iter();
            column.retain(|_| at.next() == Some(&false));
        }
        let mut at = missing.iter();
        block.places.retain(|_| at.next() == Some(&false));
    }
    Ok(count as u64)
}
