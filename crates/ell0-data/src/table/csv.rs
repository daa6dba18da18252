//! CSV files, plain or compressed (`.gz`).

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;

use ell0::wording::{shown, size};

use super::{
    Block, Found, Labels, MOST_COLUMNS, ReadOptions, Source,
    bounded::{Allowance, Bounded},
    has_extension, open_file, too_many_columns,
};
use crate::error::{Error, Result};

/// The longest row, with all its cells and the lines in them: 16 MiB. A row is in memory while it is read, and a file without line ends would be one.
pub const LONGEST_ROW: u64 = 16 << 20;

/// What is read ahead of the row that is being read.
const BUFFER: usize = 1 << 16;

pub(super) struct Csv {
    path: PathBuf,
    reader: csv::Reader<Bounded<Box<dyn Read + Send>>>,
    allowance: Allowance,
    record: csv::StringRecord,
    names: Vec<String>,
    wanted: Vec<Found>,
    labels: Labels,
    options: ReadOptions,
    dropped: u64,
    /// Rows left out since the last one that was kept.
    pending: u64,
    line: u64,
    /// Lines before the header.
    before: u64,
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = open_file(path)?;
    Ok(if has_extension(path, "gz") {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// The first line, or the beginning of a long one.
fn first_line(path: &Path) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    let limit = 1 << 20;
    let mut reader = BufReader::new(open(path)?.take(limit));
    let read = reader.read_until(b'\n', &mut line);
    read.map_err(|source| Error::Io {
        path: path.into(),
        source,
    })?;
    Ok(line)
}

/// The separator of a first line `sep=;`, which spreadsheets write before the header.
fn said_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let bare = line.strip_prefix(b"\"").and_then(|l| l.strip_suffix(b"\""));
    match bare.unwrap_or(line) {
        [s, e, p, b'=', separator]
            if [s, e, p].map(u8::to_ascii_lowercase) == *b"sep" && separator.is_ascii() =>
        {
            Some(*separator)
        }
        _ => None,
    }
}

/// The separator that a header speaks for; quoted parts do not count.
fn guess_separator(line: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [0usize; 3];
    for byte in line {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => counts[0] += 1,
            b';' if !quoted => counts[1] += 1,
            b'\t' if !quoted => counts[2] += 1,
            _ => {}
        }
    }
    let best = (0..3).max_by_key(|&k| (counts[k], 3 - k)).unwrap_or(0);
    [b',', b';', b'\t'][best]
}

/// The text of a file behind so many bytes.
fn open_behind(path: &Path, bytes: usize) -> Result<Box<dyn Read + Send>> {
    let mut text = open(path)?;
    let skipped = std::io::copy(&mut (&mut text).take(bytes as u64), &mut std::io::sink());
    skipped.map_err(|source| Error::Io {
        path: path.into(),
        source,
    })?;
    Ok(text)
}

impl Csv {
    pub(super) fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let first = first_line(path)?;
        let said = said_separator(&first);
        let separator = match (options.separator, said) {
            (Some(separator), _) | (None, Some(separator)) => separator,
            (None, None) => guess_separator(&first),
        };
        // That line is not the reader's: it counts lines from the header on.
        let (skipped, before) = match said {
            Some(_) => (first.len(), 1),
            None => (0, 0),
        };
        let text = open_behind(path, skipped)?;
        // A row that is just as long as it may be can end where the buffer is full of the next.
        let allowance = Allowance::new(LONGEST_ROW + BUFFER as u64);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .trim(csv::Trim::All)
            .buffer_capacity(BUFFER)
            .from_reader(Bounded::new(text, allowance.clone()));
        let header = match reader.headers() {
            Err(_) if allowance.is_spent() => return Err(too_long(path, 1 + before)),
            header => header.map_err(|e| csv_error(path, before, e))?,
        };
        if header.len() > MOST_COLUMNS {
            return Err(too_many_columns(path, header.len()));
        }
        let names: Vec<String> = header
            .iter()
            .enumerate()
            // Some programs begin a file with a byte-order mark.
            .map(|(k, name)| {
                if k == 0 {
                    name.trim_start_matches('\u{feff}').to_string()
                } else {
                    name.to_string()
                }
            })
            .collect();
        if names.iter().all(String::is_empty) {
            return Err(Error::Format {
                path: path.into(),
                reason: "the file is empty; expected a header line with the names of the columns"
                    .into(),
            });
        }
        Ok(Csv {
            path: path.into(),
            reader,
            allowance,
            record: csv::StringRecord::new(),
            names,
            wanted: Vec::new(),
            labels: Labels::default(),
            options,
            dropped: 0,
            pending: 0,
            line: 1 + before,
            before,
        })
    }
}

impl Source for Csv {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn select(&mut self, wanted: Vec<Found>) -> Result<()> {
        self.wanted = wanted;
        Ok(())
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn place(&self) -> &'static str {
        "line"
    }

    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()> {
        block.clear(self.wanted.len());
        'rows: while block.rows() < rows {
            self.allowance.renew();
            let next = (self.reader.position().line() + self.before).max(self.line + 1);
            let more = match self.reader.read_record(&mut self.record) {
                Err(_) if self.allowance.is_spent() => return Err(too_long(&self.path, next)),
                more => more.map_err(|e| csv_error(&self.path, self.before, e))?,
            };
            if !more {
                break;
            }
            // With \r\n the reader's count is one behind; lines with several in one cell put it ahead.
            self.line = self
                .record
                .position()
                .map_or(0, |position| position.line() + self.before)
                .max(self.line + 1);
            let line = self.line;
            for (column, want) in self.wanted.iter().enumerate() {
                let text = self.record.get(want.index).unwrap_or("");
                let missing = text.is_empty()
                    || matches!(text.to_ascii_lowercase().as_str(), "nan" | "na" | "null");
                if want.label && !missing {
                    block.columns[column].push(self.labels.number(text));
                    continue;
                }
                match text.parse::<f64>() {
                    Ok(value) if value.is_finite() => block.columns[column].push(value),
                    _ if missing && self.options.drop_missing => {
                        self.dropped += 1;
                        self.pending += 1;
                        let kept = block.places.len();
                        block.columns.iter_mut().for_each(|c| c.truncate(kept));
                        continue 'rows;
                    }
                    _ => {
                        let found = if text.is_empty() {
                            "nothing".into()
                        } else {
                            format!("`{}`", shown(text))
                        };
                        return Err(Error::Cell {
                            path: self.path.clone(),
                            place: format!("line {line}"),
                            column: self.names[want.index].clone(),
                            found,
                        });
                    }
                }
            }
            block.places.push(line);
            block.skipped.push(std::mem::take(&mut self.pending));
        }
        Ok(())
    }
}

fn too_long(path: &Path, line: u64) -> Error {
    Error::Format {
        path: path.into(),
        reason: format!(
            "line {line}: this row goes on for more than {}, and no row may be longer; is it a CSV file, and is every quote closed?",
            size(LONGEST_ROW)
        ),
    }
}

/// An error of the reader, which knows nothing of so many lines before the header.
fn csv_error(path: &Path, before: u64, error: csv::Error) -> Error {
    let line = |pos: &Option<csv::Position>| pos.as_ref().map_or(0, |pos| pos.line() + before);
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = line(pos);
            format!("line {line} has {len} cells, but the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            format!("line {} is not text in UTF-8", line(pos))
        }
        csv::ErrorKind::Io(source) => {
            format!("it cannot be read to its end ({source}); a compressed file may be truncated")
        }
        _ => error.to_string(),
    };
    Error::Format {
        path: path.into(),
        reason,
    }
}
