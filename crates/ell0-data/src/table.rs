//! Files with named columns, read block by block.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;

use crate::error::{Error, Result};

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
    /// The line of the file that each row came from, counted from 1.
    pub lines: Vec<u64>,
}

impl Block {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }
}

/// A CSV file, plain or compressed (`.gz`), from which some columns are read.
pub struct Table {
    path: PathBuf,
    reader: csv::Reader<Box<dyn Read + Send>>,
    record: csv::StringRecord,
    names: Vec<String>,
    wanted: Vec<usize>,
    options: ReadOptions,
    dropped: u64,
    line: u64,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("path", &self.path)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let file = File::open(path).map_err(|source| Error::Io {
        path: path.into(),
        source,
    })?;
    let compressed = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    Ok(if compressed {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// The separator that the first line speaks for; quoted parts do not count.
fn guess_separator(path: &Path) -> Result<u8> {
    let mut line = Vec::new();
    let limit = 1 << 20;
    let mut reader = BufReader::new(open(path)?.take(limit));
    reader
        .read_until(b'\n', &mut line)
        .map_err(|source| Error::Io {
            path: path.into(),
            source,
        })?;
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
    Ok([b',', b';', b'\t'][best])
}

impl Table {
    /// Opens a file and finds the wanted columns.
    pub fn open(path: impl AsRef<Path>, wanted: &[String], options: ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let separator = match options.separator {
            Some(separator) => separator,
            None => guess_separator(path)?,
        };
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .trim(csv::Trim::All)
            .from_reader(open(path)?);
        let names: Vec<String> = reader
            .headers()
            .map_err(|e| csv_error(path, e))?
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
        let find = |column: &String| {
            names
                .iter()
                .position(|name| name == column)
                .ok_or_else(|| Error::Column {
                    path: path.into(),
                    column: column.clone(),
                    nearest: names
                        .iter()
                        .min_by_key(|name| strsim::levenshtein(name, column))
                        .cloned(),
                })
        };
        let wanted = wanted.iter().map(find).collect::<Result<Vec<_>>>()?;
        Ok(Table {
            path: path.into(),
            reader,
            record: csv::StringRecord::new(),
            names,
            wanted,
            options,
            dropped: 0,
            line: 1,
        })
    }

    /// Names of all columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Rows left out so far because of empty or NaN cells.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Reads at most `rows` rows into the block, overwriting it; false at the end of the file.
    pub fn read(&mut self, rows: usize, block: &mut Block) -> Result<bool> {
        block.columns.resize(self.wanted.len(), Vec::new());
        block.columns.iter_mut().for_each(Vec::clear);
        block.lines.clear();
        'rows: while block.rows() < rows {
            let more = self
                .reader
                .read_record(&mut self.record)
                .map_err(|e| csv_error(&self.path, e))?;
            if !more {
                break;
            }
            // With \r\n the reader's count is one behind; lines with several in one cell put it ahead.
            self.line = self
                .record
                .position()
                .map_or(0, csv::Position::line)
                .max(self.line + 1);
            let line = self.line;
            for (column, &index) in self.wanted.iter().enumerate() {
                let text = self.record.get(index).unwrap_or("");
                let missing = text.is_empty()
                    || matches!(text.to_ascii_lowercase().as_str(), "nan" | "na" | "null");
                match text.parse::<f64>() {
                    Ok(value) if value.is_finite() => block.columns[column].push(value),
                    _ if missing && self.options.drop_missing => {
                        self.dropped += 1;
                        let kept = block.lines.len();
                        block.columns.iter_mut().for_each(|c| c.truncate(kept));
                        continue 'rows;
                    }
                    _ => {
                        let found = if text.is_empty() {
                            "nothing".into()
                        } else {
                            format!("`{text}`")
                        };
                        return Err(Error::Cell {
                            path: self.path.clone(),
                            line,
                            column: self.names[index].clone(),
                            found,
                        });
                    }
                }
            }
            block.lines.push(line);
        }
        Ok(block.rows() > 0)
    }
}

fn csv_error(path: &Path, error: csv::Error) -> Error {
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            pos,
            expected_len,
            len,
        } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, but the header has {expected_len}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            format!(
                "line {} is not text in UTF-8",
                pos.as_ref().map_or(0, csv::Position::line)
            )
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], name: &str, wanted: &[&str], drop_missing: bool) -> Result<(Block, u64)> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        let wanted: Vec<String> = wanted.iter().map(|s| s.to_string()).collect();
        let mut table = Table::open(
            &path,
            &wanted,
            ReadOptions {
                drop_missing,
                ..ReadOptions::default()
            },
        )?;
        let (mut all, mut block) = (
            Block {
                columns: vec![Vec::new(); wanted.len()],
                lines: Vec::new(),
            },
            Block::default(),
        );
        while table.read(2, &mut block)? {
            all.lines.extend(&block.lines);
            all.columns
                .iter_mut()
                .zip(&block.columns)
                .for_each(|(a, b)| a.extend(b));
        }
        Ok((all, table.dropped()))
    }

    #[test]
    fn separators_quotes_and_compression_are_understood() {
        for text in [
            "t,\"a b\",c\n0,1,x\n1,2.5,y\n2,-3e-1,z\n",
            "t;a b;c\r\n0;1;x\r\n1; 2.5;y\r\n2;-3e-1;z",
            "\u{feff}t\ta b\tc\n0\t1\tx\n1\t2.5\ty\n2\t-3e-1\tz\n",
        ] {
            let (block, _) =
                read(text.as_bytes(), "x.csv", &["a b", "t"], false).expect("readable");
            assert_eq!(block.columns, [vec![1.0, 2.5, -0.3], vec![0.0, 1.0, 2.0]]);
            assert_eq!(block.lines, [2, 3, 4]);
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"a\n1\n2\n").expect("written");
        let bytes = encoder.finish().expect("written");
        assert_eq!(
            read(&bytes, "x.csv.gz", &["a"], false)
                .expect("readable")
                .0
                .columns,
            [[1.0, 2.0]]
        );
        assert!(read(&bytes[..bytes.len() / 2], "x.csv.gz", &["a"], false).is_err());
    }

    #[test]
    fn errors_name_file_line_and_column() {
        let message = |text: &str, wanted: &[&str]| {
            read(text.as_bytes(), "x.csv", wanted, false)
                .expect_err("bad")
                .to_string()
        };
        assert!(
            message("theta,u\n1,2\n", &["teta"])
                .contains("there is no column `teta`; did you mean `theta`?")
        );
        assert!(message("a,b\n1,2\n3,x\n", &["b"]).contains("line 3, column `b` holds `x`"));
        assert!(message("a,b\n1,\n", &["b"]).contains("holds nothing"));
        assert!(message("a,b\n1,NaN\n", &["b"]).contains("holds `NaN`"));
        assert!(message("a,b\n1,inf\n", &["b"]).contains("holds `inf`"));
        assert!(
            message("a,b\n1,2\n3\n", &["a"]).contains("line 3 has 1 cells, but the header has 2")
        );
        assert!(message("", &["a"]).contains("empty"));
        assert!(Table::open("no/such.csv", &[], ReadOptions::default()).is_err());
    }

    #[test]
    fn missing_cells_can_be_left_out_and_are_counted() {
        let (block, dropped) =
            read(b"a,b\n1,2\n3,\nnan,4\n5,6\n", "x.csv", &["a", "b"], true).expect("readable");
        assert_eq!(block.columns, [[1.0, 5.0], [2.0, 6.0]]);
        assert_eq!((block.lines, dropped), (vec![2, 5], 2));
        assert!(read(b"a,b\n1,x\n", "x.csv", &["a", "b"], true).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), gz: bool) {
            let _ = read(&bytes, if gz { "x.csv.gz" } else { "x.csv" }, &["a"], true);
            let mut named = b"a,b\n".to_vec();
            named.extend(bytes);
            let _ = read(&named, "x.csv", &["a"], false);
        }
    }
}
