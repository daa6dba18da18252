//! NPZ files, as `numpy.savez` and `savez_compressed` write them: every array of one dimension is a column, every array `X` of two dimensions the columns `X_0`, `X_1`, …

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use flate2::{CrcReader, read::DeflateDecoder};
use npyz::{NpyHeader, Order};
use zip::{CompressionMethod, ZipArchive};

use super::{Block, Found, Labels, ReadOptions, Source, open_file, sift};
use crate::error::{Error, Result};

pub(super) struct Npz {
    path: PathBuf,
    names: Vec<String>,
    /// The array and the column of it that each name stands for.
    columns: Vec<(usize, usize)>,
    arrays: Vec<Array>,
    wanted: Vec<Found>,
    readers: Vec<Reader>,
    /// The reader and the column of it for each wanted column.
    sources: Vec<(usize, usize)>,
    labels: Labels,
    rows: u64,
    rows_read: u64,
    options: ReadOptions,
    dropped: u64,
    /// Rows left out since the last one that was kept.
    pending: u64,
}

/// An array of the archive: where it is and what it is.
struct Array {
    name: String,
    start: u64,
    compressed: u64,
    method: CompressionMethod,
    crc: u32,
    rows: u64,
    width: usize,
    element: Option<Element>,
    by_columns: bool,
}

/// A number's form in the file.
#[derive(Clone, Copy, Debug)]
struct Element {
    kind: Kind,
    size: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    /// Text, which can only be a label.
    Text,
}

impl Element {
    /// From NumPy's own text, such as `<f8`.
    fn new(text: &str) -> Option<Self> {
        let mut letters = text.trim_matches('\'').chars();
        let order = letters.next()?;
        let kind = letters.next()?;
        let size: usize = letters.as_str().parse().ok()?;
        let kind = match (kind, size) {
            ('f', 4 | 8) => Kind::Float,
            ('i', 1 | 2 | 4 | 8) => Kind::Signed,
            ('u', 1 | 2 | 4 | 8) | ('b', 1) => Kind::Unsigned,
            ('U' | 'S', 1..=1024) => Kind::Text,
            _ => return None,
        };
        let size = if text.contains('U') { 4 * size } else { size };
        Some(Element {
            kind,
            size,
            big_endian: order == '>',
        })
    }

    fn number(self, bytes: &[u8]) -> f64 {
        if self.kind == Kind::Text {
            return f64::NAN;
        }
        let mut little = [0u8; 8];
        for (k, byte) in bytes.iter().enumerate() {
            little[if self.big_endian {
                self.size - 1 - k
            } else {
                k
            }] = *byte;
        }
        let unsigned = u64::from_le_bytes(little);
        match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(unsigned as u32)),
            (Kind::Float | Kind::Text, _) => f64::from_bits(unsigned),
            (Kind::Unsigned, _) => unsigned as f64,
            (Kind::Signed, size) => {
                let unused = 64 - 8 * size as u32;
                ((unsigned << unused).cast_signed() >> unused) as f64
            }
        }
    }
}

/// The stream of an array's elements, behind its header.
struct Reader {
    array: usize,
    stream: CrcReader<Box<dyn Read + Send>>,
    bytes: Vec<u8>,
}

fn damaged(path: &Path, reason: impl std::fmt::Display) -> Error {
    Error::Format {
        path: path.into(),
        reason: format!(
            "it cannot be read as an NPZ file ({reason}); it may be truncated or damaged: write it again"
        ),
    }
}

impl Array {
    fn stream(&self, path: &Path) -> Result<CrcReader<Box<dyn Read + Send>>> {
        let mut file = open_file(path)?;
        file.seek(SeekFrom::Start(self.start))
            .map_err(|e| damaged(path, e))?;
        let raw = BufReader::with_capacity(1 << 16, file).take(self.compressed);
        let stream: Box<dyn Read + Send> = match self.method {
            CompressionMethod::Stored => Box::new(raw),
            _ => Box::new(DeflateDecoder::new(raw)),
        };
        Ok(CrcReader::new(stream))
    }
}

impl Npz {
    pub(super) fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let file = open_file(path)?;
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, e))?;
        let (mut arrays, mut names, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..archive.len() {
            let Some(mut array) = locate(path, &mut archive, index)? else {
                continue;
            };
            let mut stream = array.stream(path)?;
            let header = NpyHeader::from_reader(&mut stream).map_err(|e| damaged(path, e))?;
            let shape = header.shape();
            let (rows, width) = match *shape {
                [rows] => (rows, 1),
                [rows, width] if width <= 1 << 16 => (rows, width as usize),
                // Single numbers and higher arrays are no columns.
                _ => continue,
            };
            array.rows = rows;
            array.width = width;
            array.element = match header.dtype() {
                npyz::DType::Plain(text) => Element::new(&text.to_string()),
                _ => None,
            };
            array.by_columns = header.order() == Order::Fortran && shape.len() == 2 && width > 1;
            for column in 0..width {
                names.push(if shape.len() == 1 {
                    array.name.clone()
                } else {
                    format!("{}_{column}", array.name)
                });
                columns.push((arrays.len(), column));
            }
            arrays.push(array);
        }
        Ok(Npz {
            path: path.into(),
            names,
            columns,
            arrays,
            wanted: Vec::new(),
            readers: Vec::new(),
            sources: Vec::new(),
            labels: Labels::default(),
            rows: 0,
            rows_read: 0,
            options,
            dropped: 0,
            pending: 0,
        })
    }
}

fn locate(
    path: &Path,
    archive: &mut ZipArchive<BufReader<File>>,
    index: usize,
) -> Result<Option<Array>> {
    let entry = archive.by_index_raw(index).map_err(|e| damaged(path, e))?;
    let name = entry.name().map_err(|e| damaged(path, e))?;
    let Some(name) = name.strip_suffix(".npy").map(String::from) else {
        return Ok(None);
    };
    let method = entry.compression();
    if !matches!(
        method,
        CompressionMethod::Stored | CompressionMethod::Deflated
    ) || entry.encrypted()
    {
        return Err(damaged(
            path,
            format!(
                "array `{name}` is packed as {method}; expected numpy.savez or savez_compressed"
            ),
        ));
    }
    Ok(Some(Array {
        start: entry
            .data_start()
            .ok_or_else(|| damaged(path, format!("array `{name}` has no place")))?,
        compressed: entry.compressed_size(),
        crc: entry.crc32(),
        name,
        method,
        rows: 0,
        width: 1,
        element: None,
        by_columns: false,
    }))
}

impl Source for Npz {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn select(&mut self, wanted: Vec<Found>) -> Result<()> {
        let refuse = |reason: String| Error::Format {
            path: self.path.clone(),
            reason,
        };
        for (place, want) in wanted.iter().enumerate() {
            let (index, column) = self.columns[want.index];
            let array = &self.arrays[index];
            let name = &array.name;
            if array
                .element
                .is_none_or(|e| e.kind == Kind::Text && !want.label)
            {
                return Err(refuse(format!(
                    "array `{name}` does not hold plain numbers; expected floats, integers or booleans"
                )));
            }
            if array.by_columns {
                return Err(refuse(format!(
                    "array `{name}` is stored column after column; save numpy.ascontiguousarray({name})"
                )));
            }
            if place == 0 {
                self.rows = array.rows;
            } else if self.rows != array.rows {
                return Err(refuse(format!(
                    "array `{name}` has {} rows, but `{}` has {}",
                    array.rows, self.names[wanted[0].index], self.rows
                )));
            }
            let reader = match self.readers.iter().position(|r| r.array == index) {
                Some(reader) => reader,
                None => {
                    let mut stream = array.stream(&self.path)?;
                    NpyHeader::from_reader(&mut stream).map_err(|e| damaged(&self.path, e))?;
                    self.readers.push(Reader {
                        array: index,
                        stream,
                        bytes: Vec::new(),
                    });
                    self.readers.len() - 1
                }
            };
            self.sources.push((reader, column));
        }
        self.wanted = wanted;
        Ok(())
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }

    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()> {
        loop {
            block.clear(self.wanted.len());
            // A wide array is read in fewer rows at a time.
            let widest = self.readers.iter().map(|r| self.arrays[r.array].width);
            let rows = rows.min((1 << 21) / widest.max().unwrap_or(1).max(1));
            let rows = (self.rows - self.rows_read).min(rows as u64) as usize;
            if rows == 0 {
                return Ok(());
            }
            for reader in &mut self.readers {
                let array = &self.arrays[reader.array];
                let size = array.element.map_or(1, |e| e.size);
                reader.bytes.resize(rows * array.width * size, 0);
                reader.stream.read_exact(&mut reader.bytes).map_err(|e| {
                    damaged(
                        &self.path,
                        format!("array `{}` ends before row {}: {e}", array.name, self.rows),
                    )
                })?;
                let last = self.rows_read + rows as u64 == self.rows;
                if last && reader.stream.crc().sum() != array.crc {
                    return Err(damaged(
                        &self.path,
                        format!("the checksum of array `{}` is wrong", array.name),
                    ));
                }
            }
            let wanted = self.wanted.iter().map(|w| w.label);
            for ((out, &(reader, column)), label) in
                block.columns.iter_mut().zip(&self.sources).zip(wanted)
            {
                let reader = &self.readers[reader];
                let array = &self.arrays[reader.array];
                if let Some(element) = array.element {
                    let rows = reader.bytes.chunks_exact(array.width * element.size);
                    let cells = rows.map(|row| &row[column * element.size..][..element.size]);
                    if label {
                        // As bytes: numbers beyond 2⁵³ would not be told apart.
                        out.extend(cells.map(|cell| self.labels.number(&format!("{cell:?}"))));
                    } else {
                        out.extend(cells.map(|cell| element.number(cell)));
                    }
                }
            }
            block
                .places
                .extend((1..=rows as u64).map(|k| self.rows_read + k));
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
