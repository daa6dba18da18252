//! IDX files, plain or compressed, as MNIST and the like are kept in: one array of numbers. Of one dimension it is the column `x`, of more the columns `x_0`, `x_1`, …, the numbers of each row one after the other.

use std::{
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use ell0::wording::size;
use flate2::read::MultiGzDecoder;

use super::{
    Block, Found, Labels, MOST_COLUMNS, ReadOptions, Source, open_file, sift, too_many_columns,
};
use crate::error::{Error, Result};

/// How a number is written, most significant byte first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl Element {
    fn new(code: u8) -> Option<Self> {
        Some(match code {
            0x08 => Element::U8,
            0x09 => Element::I8,
            0x0b => Element::I16,
            0x0c => Element::I32,
            0x0d => Element::F32,
            0x0e => Element::F64,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Element::U8 | Element::I8 => 1,
            Element::I16 => 2,
            Element::I32 | Element::F32 => 4,
            Element::F64 => 8,
        }
    }

    fn number(self, bytes: &[u8]) -> f64 {
        let all = bytes.iter().fold(0u64, |all, b| all << 8 | u64::from(*b));
        match self {
            Element::U8 => all as f64,
            Element::I8 => f64::from(all as u8 as i8),
            Element::I16 => f64::from(all as u16 as i16),
            Element::I32 => f64::from(all as u32 as i32),
            Element::F32 => f64::from(f32::from_bits(all as u32)),
            Element::F64 => f64::from_bits(all),
        }
    }
}

pub(super) struct Idx {
    path: PathBuf,
    stream: Box<dyn Read + Send>,
    element: Element,
    names: Vec<String>,
    wanted: Vec<Found>,
    labels: Labels,
    rows: u64,
    rows_read: u64,
    bytes: Vec<u8>,
    options: ReadOptions,
    dropped: u64,
    /// Rows left out since the last one that was kept.
    pending: u64,
}

fn damaged(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Format {
        path: path.into(),
        reason: format!(
            "it cannot be read as an IDX file ({reason}); it may be truncated or damaged: fetch it again"
        ),
    }
}

/// Dimensions that an array may have.
const MOST_DIMENSIONS: u8 = 8;

/// Bytes that are read at a time.
const AT_ONCE: usize = 1 << 22;

/// How much longer than what it is packed in deflated data can be.
const MOST_INFLATED: u64 = 1032;

impl Idx {
    /// Opens a file; none if it is not of this kind.
    pub(super) fn open(path: &Path, options: ReadOptions) -> Result<Option<Self>> {
        let io = |source| Error::Io {
            path: path.into(),
            source,
        };
        let file = open_file(path)?;
        let whole = file.metadata().map_err(io)?.len();
        let mut first = [0; 2];
        let packed = open_file(path)?.read_exact(&mut first).is_ok() && first == [0x1f, 0x8b];
        let file = BufReader::with_capacity(1 << 16, file);
        let (mut stream, most): (Box<dyn Read + Send>, u64) = match packed {
            true => (
                Box::new(MultiGzDecoder::new(file)),
                whole.saturating_mul(MOST_INFLATED),
            ),
            false => (Box::new(file), whole),
        };
        let mut magic = [0; 4];
        // Text never begins with two zeros.
        if stream.read_exact(&mut magic).is_err() || magic[..2] != [0, 0] {
            return Ok(None);
        }
        let Some(element) = Element::new(magic[2]) else {
            return Ok(None);
        };
        if !(1..=MOST_DIMENSIONS).contains(&magic[3]) {
            let reason = format!("it claims {} dimensions", magic[3]);
            return Err(damaged(path, reason));
        }
        let mut shape = Vec::new();
        for _ in 0..magic[3] {
            let mut four = [0; 4];
            let read = stream.read_exact(&mut four);
            read.map_err(|_| damaged(path, "it ends within its header"))?;
            shape.push(u64::from(u32::from_be_bytes(four)));
        }
        let (rows, each) = (shape[0], &shape[1..]);
        let width = each.iter().try_fold(1u64, |w, n| w.checked_mul(*n));
        let width = width.unwrap_or(u64::MAX);
        if width > MOST_COLUMNS as u64 {
            let columns = usize::try_from(width).unwrap_or(usize::MAX);
            return Err(too_many_columns(path, columns));
        }
        if width == 0 {
            return Err(damaged(path, "its rows are empty"));
        }
        let needed = rows.checked_mul(width * element.size() as u64);
        let header = 4 + 4 * shape.len() as u64;
        if needed.is_none_or(|needed| needed > most.saturating_sub(header)) {
            let reason = format!(
                "it claims {rows} rows of {width} numbers, and the file has {}",
                size(whole)
            );
            return Err(damaged(path, reason));
        }
        let names = match each {
            [] => vec!["x".into()],
            _ => (0..width).map(|k| format!("x_{k}")).collect(),
        };
        Ok(Some(Idx {
            path: path.into(),
            stream,
            element,
            names,
            wanted: Vec::new(),
            labels: Labels::default(),
            rows,
            rows_read: 0,
            bytes: Vec::new(),
            options,
            dropped: 0,
            pending: 0,
        }))
    }
}

impl Source for Idx {
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

    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()> {
        let (size, width) = (self.element.size(), self.names.len());
        loop {
            block.clear(self.wanted.len());
            let rows = rows.min(AT_ONCE / (size * width)).max(1);
            let rows = (self.rows - self.rows_read).min(rows as u64) as usize;
            if rows == 0 {
                return Ok(());
            }
            self.bytes.resize(rows * width * size, 0);
            let read = self.stream.read_exact(&mut self.bytes);
            read.map_err(|e| {
                damaged(&self.path, format!("it ends before row {}: {e}", self.rows))
            })?;
            for (out, want) in block.columns.iter_mut().zip(&self.wanted) {
                let cells = self.bytes.chunks_exact(size).skip(want.index);
                let numbers = cells.step_by(width).map(|cell| self.element.number(cell));
                match want.label {
                    true => out.extend(numbers.map(|v| self.labels.number(&v.to_string()))),
                    false => out.extend(numbers),
                }
            }
            let places = (1..=rows as u64).map(|k| self.rows_read + k);
            block.places.extend(places);
            self.rows_read += rows as u64;
            let name = |k: usize| self.names[self.wanted[k].index].clone();
            let drop_missing = self.options.drop_missing;
            self.dropped += sift(&self.path, block, name, drop_missing, &mut self.pending)?;
            if block.rows() > 0 {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::table::{Table, Want};

    fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        (folder, path)
    }

    /// Two images of 2 × 2 pixels.
    const IMAGES: [u8; 24] = [
        0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 255,
    ];

    fn columns(path: &Path, wanted: &[Want]) -> Result<Vec<Vec<f64>>> {
        let mut table = Table::open(path, wanted, ReadOptions::default())?;
        let mut block = Block::default();
        let mut all = vec![Vec::new(); wanted.len()];
        while table.read(1, &mut block)? {
            all.iter_mut()
                .zip(&block.columns)
                .for_each(|(a, b)| a.extend(b));
        }
        Ok(all)
    }

    #[test]
    fn arrays_are_tables_plain_or_packed() {
        let wanted = ["x_3", "x_0"].map(|name| Want::Number(name.into()));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&IMAGES).expect("packed");
        let packed = packed.finish().expect("packed");
        for bytes in [&IMAGES[..], &packed] {
            let (_folder, path) = file("images", bytes);
            let read = columns(&path, &wanted).expect("columns");
            assert_eq!(read, [[4.0, 255.0], [1.0, 5.0]]);
        }
        let (_folder, path) = file("labels", &[0, 0, 9, 1, 0, 0, 0, 3, 7, 255, 7]);
        let read = columns(&path, &[Want::Number("x".into())]).expect("a column");
        assert_eq!(read, [[7.0, -1.0, 7.0]]);
        let mut table = Table::open(&path, &[Want::Label("x".into())], ReadOptions::default());
        let table = table.as_mut().expect("a table");
        let mut block = Block::default();
        assert!(table.read(10, &mut block).expect("labels"));
        assert_eq!(block.columns, [[0.0, 1.0, 0.0]]);
        assert_eq!(table.labels(), ["7", "-1"]);
        let double = [&[0, 0, 14, 1, 0, 0, 0, 1][..], &1.5f64.to_be_bytes()].concat();
        let (_folder, path) = file("double", &double);
        assert_eq!(
            columns(&path, &[Want::Number("x".into())]).expect("one"),
            [[1.5]]
        );
    }

    #[test]
    fn what_is_cut_off_or_false_is_told() {
        let short = &IMAGES[..20];
        let mut wide = IMAGES;
        wide[8] = 255;
        let mut dimensions = IMAGES;
        dimensions[3] = 200;
        let mut empty = IMAGES;
        empty[11] = 0;
        for (bytes, words) in [
            (
                short,
                "claims 2 rows of 4 numbers, and the file has 20 bytes",
            ),
            (&IMAGES[..10], "ends within its header"),
            (&wide, "columns"),
            (&dimensions, "200 dimensions"),
            (&empty, "rows are empty"),
        ] {
            let (_folder, path) = file("wrong", bytes);
            let said = columns(&path, &[Want::Number("x_0".into())]).expect_err("refused");
            assert!(said.to_string().contains(words), "{said}");
        }
    }
}
