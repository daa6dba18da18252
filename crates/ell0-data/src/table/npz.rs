//! NPZ files, as `numpy.savez` and `savez_compressed` write them: every array of one dimension is a column, every array `X` of two or more dimensions the columns `X_0`, `X_1`, …, the numbers of each row one after the other. An NPY file is like one with a single array `x`.

use std::{
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use ell0::wording::{shown, size};
use flate2::{CrcReader, read::DeflateDecoder};
use zip::{CompressionMethod, ZipArchive};

use super::{
    Block, Found, Labels, MOST_COLUMNS, ReadOptions, Source,
    npy::{Element, Header, Kind, Shape},
    open_file, sift, too_many_columns,
};
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
    /// Its size when it is unpacked, as the archive claims.
    unpacked: u64,
    method: CompressionMethod,
    /// Of the archive; an array in a file of its own has none.
    crc: Option<u32>,
    rows: u64,
    width: usize,
    element: Option<Element>,
    by_columns: bool,
    /// What it claims but does not hold. It matters only if the array is wanted.
    lie: Option<String>,
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
            "it cannot be read as an NPZ or NPY file ({reason}); it may be truncated or damaged: write it again"
        ),
    }
}

/// Bytes of an array that are unpacked at a time.
const AT_ONCE: usize = 1 << 24;

/// The name of the array of an NPY file, which has none itself.
const ALONE: &str = "x";

/// How much longer than what it is packed in deflated data can be.
const MOST_INFLATED: u64 = 1032;

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

    /// What the archive claims of it that its file, of so many bytes, cannot keep.
    fn false_size(&self, whole: u64) -> Option<String> {
        let inside = self.start.checked_add(self.compressed);
        let most = match self.method {
            CompressionMethod::Stored => self.compressed,
            _ => self.compressed.saturating_mul(MOST_INFLATED),
        };
        let lies = inside.is_none_or(|end| end > whole) || self.unpacked > most;
        lies.then(|| {
            format!(
                "array `{}` claims {}, packed in {}, and the file has {}",
                shown(&self.name),
                size(self.unpacked),
                size(self.compressed),
                size(whole)
            )
        })
    }

    /// What its header claims that it has no room for.
    fn false_shape(&self, header: &Header, shape: &Shape) -> Option<String> {
        (!header.fits(self.unpacked)).then(|| {
            format!(
                "array `{}` claims {} rows of {} columns, but there are only {} of it",
                shown(&self.name),
                shape.rows,
                shape.width,
                size(self.unpacked)
            )
        })
    }
}

impl Npz {
    /// An archive of arrays.
    pub(super) fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let file = open_file(path)?;
        let whole = file.metadata().map_err(|e| damaged(path, e))?.len();
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|e| damaged(path, e))?;
        let mut arrays = Vec::new();
        for index in 0..archive.len() {
            if let Some(mut array) = locate(path, &mut archive, index)? {
                array.lie = array.false_size(whole);
                arrays.push(array);
            }
        }
        Npz::of(path, arrays, options)
    }

    /// A single array.
    pub(super) fn open_npy(path: &Path, options: ReadOptions) -> Result<Self> {
        let file = open_file(path)?;
        let whole = file.metadata().map_err(|e| damaged(path, e))?.len();
        let array = Array {
            name: ALONE.into(),
            start: 0,
            compressed: whole,
            unpacked: whole,
            method: CompressionMethod::Stored,
            crc: None,
            rows: 0,
            width: 1,
            element: None,
            by_columns: false,
            lie: None,
        };
        Npz::of(path, vec![array], options)
    }

    fn of(path: &Path, found: Vec<Array>, options: ReadOptions) -> Result<Self> {
        let (mut arrays, mut names, mut columns) = (Vec::new(), Vec::new(), Vec::new());
        let there = found.len();
        for mut array in found {
            let mut stream = array.stream(path)?;
            let header = Header::read(&mut stream).map_err(|e| damaged(path, e))?;
            let Some(shape) = &header.table else { continue };
            let lie = array.false_shape(&header, shape);
            array.lie = array.lie.or(lie);
            if names.len() + shape.width > MOST_COLUMNS {
                return Err(too_many_columns(path, names.len() + shape.width));
            }
            array.rows = shape.rows;
            array.width = shape.width;
            array.element = header.element;
            array.by_columns = shape.by_columns;
            for column in 0..shape.width {
                names.push(if shape.single {
                    array.name.clone()
                } else {
                    format!("{}_{column}", array.name)
                });
                columns.push((arrays.len(), column));
            }
            arrays.push(array);
        }
        if names.is_empty() {
            let expected = "expected arrays of one or more dimensions, as numpy.savez and numpy.save write them";
            let reason = match there {
                0 => format!("there is no array in it; {expected}"),
                1 => format!("its array is no table of at least one column; {expected}"),
                n => {
                    format!("none of its {n} arrays is a table of at least one column; {expected}")
                }
            };
            return Err(Error::Format {
                path: path.into(),
                reason,
            });
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
                "array `{}` is packed as {method}; expected numpy.savez or savez_compressed",
                shown(&name)
            ),
        ));
    }
    Ok(Some(Array {
        start: entry
            .data_start()
            .ok_or_else(|| damaged(path, format!("array `{}` has no place", shown(&name))))?,
        compressed: entry.compressed_size(),
        unpacked: entry.size(),
        crc: Some(entry.crc32()),
        name,
        method,
        rows: 0,
        width: 1,
        element: None,
        by_columns: false,
        lie: None,
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
            let name = shown(&array.name);
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
            if let Some(lie) = &array.lie {
                return Err(damaged(&self.path, lie));
            }
            if place == 0 {
                self.rows = array.rows;
            } else if self.rows != array.rows {
                return Err(refuse(format!(
                    "array `{name}` has {} rows, but `{}` has {}",
                    array.rows,
                    shown(&self.names[wanted[0].index]),
                    self.rows
                )));
            }
            let reader = match self.readers.iter().position(|r| r.array == index) {
                Some(reader) => reader,
                None => {
                    let mut stream = array.stream(&self.path)?;
                    Header::read(&mut stream).map_err(|e| damaged(&self.path, e))?;
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

    fn labels(&self) -> &Labels {
        &self.labels
    }

    fn read(&mut self, rows: usize, block: &mut Block) -> Result<()> {
        loop {
            block.clear(self.wanted.len());
            // A wide array is read in fewer rows at a time.
            let row = |r: &Reader| {
                let array = &self.arrays[r.array];
                array.width * array.element.map_or(1, |e| e.size)
            };
            let widest = self.readers.iter().map(row).max();
            let rows = rows.min(AT_ONCE / widest.unwrap_or(1).max(1)).max(1);
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
                        format!(
                            "array `{}` ends before row {}: {e}",
                            shown(&array.name),
                            self.rows
                        ),
                    )
                })?;
                let last = self.rows_read + rows as u64 == self.rows;
                if last
                    && array
                        .crc
                        .is_some_and(|crc| crc != reader.stream.crc().sum())
                {
                    return Err(damaged(
                        &self.path,
                        format!("the checksum of array `{}` is wrong", shown(&array.name)),
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
                        out.extend(cells.map(|cell| self.labels.number(&element.text(cell))));
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
