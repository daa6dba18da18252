//! Parquet files, by their column readers: a page of each wanted column is in memory at a time.

mod claims;
mod values;

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use ell0::wording::shown;
use parquet::{
    basic::Compression,
    errors::ParquetError,
    file::{
        metadata::RowGroupMetaData,
        reader::{FileReader, SerializedFileReader},
    },
};

use super::{
    Block, Found, Labels, MOST_COLUMNS, ReadOptions, Source, guard::caught, open_file, sift,
    too_many_columns,
};
use crate::error::{Error, Result};
use values::Column;

pub(super) struct Parquet {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    /// The same file, to look at what pages claim before they are read.
    beside: File,
    names: Vec<String>,
    /// Place of each named column among the leaves of the schema.
    leaves: Vec<usize>,
    wanted: Vec<Found>,
    columns: Vec<Column>,
    /// The first point in time of each wanted column that holds such.
    origins: Vec<Option<i64>>,
    labels: Labels,
    /// The row group that comes next, and the rows left in the present one.
    next_group: usize,
    left: usize,
    rows_read: u64,
    options: ReadOptions,
    dropped: u64,
    /// Rows left out since the last one that was kept.
    pending: u64,
}

fn damaged(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::Format {
        path: path.into(),
        reason: format!(
            "it cannot be read as a Parquet file ({error}); it may be truncated or damaged: write it again"
        ),
    }
}

/// Looks at a column of a row group before any of it is read: how it is compressed, and what its pages claim.
fn check(
    path: &Path,
    file: &mut File,
    group: &RowGroupMetaData,
    leaf: usize,
    name: &str,
) -> Result<()> {
    let Some(chunk) = group.columns().get(leaf) else {
        return Err(damaged(path, "a row group lacks a column"));
    };
    if let Compression::BROTLI(_) | Compression::LZO = chunk.compression() {
        let codec = match chunk.compression() {
            Compression::LZO => "LZO",
            _ => "Brotli",
        };
        return Err(Error::Format {
            path: path.into(),
            reason: format!(
                "column `{}` is compressed with {codec}, which this program does not read; write the file again with Snappy, gzip, Zstandard, LZ4 or no compression, for example compression=\"zstd\"",
                shown(name)
            ),
        });
    }
    let about = |reason| damaged(path, format!("column `{}`: {reason}", shown(name)));
    if chunk.num_values() != group.num_rows() {
        return Err(about(format!(
            "{} values in a row group of {} rows",
            chunk.num_values(),
            group.num_rows()
        )));
    }
    claims::pages(file, chunk).map_err(about)
}

/// The `parquet` crate panics on some damaged files, where it should return an error.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let unsound = || ParquetError::General("its parts contradict each other".into());
    caught(work)
        .unwrap_or_else(|| Err(unsound()))
        .map_err(|e| damaged(path, e))
}

impl Parquet {
    pub(super) fn open(path: &Path, options: ReadOptions) -> Result<Self> {
        let (file, mut beside) = (open_file(path)?, open_file(path)?);
        claims::footer(&mut beside).map_err(|reason| damaged(path, reason))?;
        let reader = guarded(path, || SerializedFileReader::new(file))?;
        let schema = reader.metadata().file_metadata().schema_descr();
        if schema.num_columns() > MOST_COLUMNS {
            return Err(too_many_columns(path, schema.num_columns()));
        }
        // Columns of lists and structures have no single value in a row.
        let (leaves, names) = (0..schema.num_columns())
            .filter(|&k| {
                let column = schema.column(k);
                column.max_rep_level() == 0 && column.path().parts().len() == 1
            })
            .map(|k| (k, schema.column(k).name().to_string()))
            .unzip();
        Ok(Parquet {
            path: path.into(),
            reader,
            beside,
            names,
            leaves,
            wanted: Vec::new(),
            columns: Vec::new(),
            origins: Vec::new(),
            labels: Labels::default(),
            next_group: 0,
            left: 0,
            rows_read: 0,
            options,
            dropped: 0,
            pending: 0,
        })
    }

    /// Opens the columns of the next row group that has rows; false if there is none.
    fn next_group(&mut self) -> Result<bool> {
        while self.left == 0 {
            if self.next_group == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = guarded(&self.path, || self.reader.get_row_group(self.next_group))?;
            let rows = group.metadata().num_rows();
            self.left = usize::try_from(rows).map_err(|_| {
                let number = self.next_group + 1;
                damaged(&self.path, format!("row group {number} claims {rows} rows"))
            })?;
            self.next_group += 1;
            self.columns.clear();
            for want in &self.wanted {
                let leaf = self.leaves[want.index];
                let name = &self.names[want.index];
                check(&self.path, &mut self.beside, group.metadata(), leaf, name)?;
                let (descriptor, reader) = guarded(&self.path, || {
                    let descriptor = group.metadata().column(leaf).column_descr_ptr();
                    Ok((descriptor, group.get_column_reader(leaf)?))
                })?;
                self.columns.push(Column::new(reader, &descriptor));
            }
        }
        Ok(true)
    }
}

impl Source for Parquet {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn select(&mut self, wanted: Vec<Found>) -> Result<()> {
        self.origins = vec![None; wanted.len()];
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
        // Blocks without a single whole row are passed over.
        loop {
            block.clear(self.wanted.len());
            if !self.next_group()? {
                return Ok(());
            }
            let rows = rows.min(self.left);
            for (((column, out), want), origin) in self
                .columns
                .iter_mut()
                .zip(&mut block.columns)
                .zip(&self.wanted)
                .zip(&mut self.origins)
            {
                let labels = want.label.then_some(&mut self.labels);
                let found = guarded(&self.path, || column.read(rows, out, labels, origin))?;
                match found {
                    None => {
                        return Err(Error::Format {
                            path: self.path.clone(),
                            reason: format!(
                                "column `{}` holds text, bytes or another kind of value that is no number; expected numbers, booleans, times or decimals",
                                shown(&self.names[want.index])
                            ),
                        });
                    }
                    Some(found) if found < rows || out.len() != rows => {
                        return Err(Error::Format {
                            path: self.path.clone(),
                            reason: format!(
                                "column `{}` ends before the other columns; the file is damaged: write it again",
                                shown(&self.names[want.index])
                            ),
                        });
                    }
                    Some(_) => {}
                }
            }
            block
                .places
                .extend((1..=rows as u64).map(|k| self.rows_read + k));
            self.left -= rows;
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
