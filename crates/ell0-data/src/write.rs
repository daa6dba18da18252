//! Tables written block by block, as Parquet or CSV; whole or not at all.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    sync::Arc,
};

use ell0::checkpoint::WholeFile;
pub use ell0::checkpoint::write_whole;
use parquet::{
    basic::{Compression, LogicalType, Repetition, Type as Physical},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};

use crate::error::{Error, Result};

/// Some values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers.
    Number(Vec<f64>),
    /// Whole numbers.
    Integer(Vec<i64>),
    /// True or false; 1 or 0 in a CSV file.
    Flag(Vec<bool>),
    /// Words.
    Text(Vec<String>),
}

impl Values {
    /// How many there are.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a block has rows")]
    pub fn len(&self) -> usize {
        match self {
            Values::Number(v) => v.len(),
            Values::Integer(v) => v.len(),
            Values::Flag(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    fn physical(&self) -> Physical {
        match self {
            Values::Number(_) => Physical::DOUBLE,
            Values::Integer(_) => Physical::INT64,
            Values::Flag(_) => Physical::BOOLEAN,
            Values::Text(_) => Physical::BYTE_ARRAY,
        }
    }

    /// One of them, as a CSV file has it, but for quotes.
    #[must_use]
    pub fn cell(&self, row: usize) -> String {
        match self {
            Values::Number(v) => number(v[row]),
            Values::Integer(v) => v[row].to_string(),
            Values::Flag(v) => u8::from(v[row]).to_string(),
            Values::Text(v) => v[row].clone(),
        }
    }
}

/// A number with all its digits; with an exponent where there would be many zeros.
fn number(value: f64) -> String {
    let size = value.abs();
    match size == 0.0 || (1e-5..1e17).contains(&size) || !size.is_finite() {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// A file that is being written. It gets its name when it is finished.
#[derive(Debug)]
pub struct TableWriter {
    path: PathBuf,
    names: Vec<String>,
    file: WholeFile,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// Nothing was written yet: the types of the columns are not known.
    New,
    Csv(csv::Writer<BufWriter<File>>),
    Parquet(SerializedFileWriter<File>),
}

impl TableWriter {
    /// A file with the given columns: Parquet if its name ends so, else CSV.
    pub fn create(path: impl AsRef<Path>, names: &[String]) -> Result<Self> {
        let path = path.as_ref();
        let refused = ["npz", "npy"]
            .into_iter()
            .find(|e| super::table::has_extension(path, e));
        if let Some(extension) = refused {
            let reason = format!("tables are written as .parquet or .csv, not as .{extension}");
            return Err(cannot(path, std::io::Error::other(reason)));
        }
        let file = WholeFile::create(path).map_err(|e| cannot(path, e))?;
        Ok(TableWriter {
            path: path.into(),
            names: names.to_vec(),
            file,
            form: Form::New,
        })
    }

    /// Adds rows: one list of values for each column, of the same type in every call. A Parquet file gets a row group each time.
    pub fn push(&mut self, columns: &[Values]) -> Result<()> {
        let fail =
            |e: &dyn std::fmt::Display| cannot(&self.path, std::io::Error::other(e.to_string()));
        let rows = columns.first().map_or(0, Values::len);
        if columns.len() != self.names.len() || columns.iter().any(|c| c.len() != rows) {
            return Err(fail(&"the columns differ in length, or there are too few"));
        }
        if let Form::New = self.form {
            let file = self.file.file().map_err(|e| fail(&e))?;
            self.form = if super::table::has_extension(&self.path, "parquet") {
                let fields = self.names.iter().zip(columns).map(|(name, values)| {
                    let field = Type::primitive_type_builder(name, values.physical())
                        .with_repetition(Repetition::REQUIRED);
                    let text = matches!(values, Values::Text(_)).then_some(LogicalType::String);
                    field.with_logical_type(text).build().map(Arc::new)
                });
                let fields = fields
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|e| fail(&e))?;
                let schema = Type::group_type_builder("table")
                    .with_fields(fields)
                    .build()
                    .map_err(|e| fail(&e))?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .build();
                let writer =
                    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
                        .map_err(|e| fail(&e))?;
                Form::Parquet(writer)
            } else {
                let mut writer = csv::Writer::from_writer(BufWriter::new(file));
                writer.write_record(&self.names).map_err(|e| fail(&e))?;
                Form::Csv(writer)
            };
        }
        match &mut self.form {
            Form::New => Ok(()),
            Form::Csv(writer) => {
                for row in 0..rows {
                    writer
                        .write_record(columns.iter().map(|c| c.cell(row)))
                        .map_err(|e| fail(&e))?;
                }
                Ok(())
            }
            Form::Parquet(writer) => write_group(writer, columns).map_err(|e| fail(&e)),
        }
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<()> {
        let path = self.path.clone();
        match std::mem::replace(&mut self.form, Form::New) {
            Form::New => {}
            Form::Csv(mut writer) => writer.flush().map_err(|e| cannot(&path, e))?,
            Form::Parquet(writer) => {
                let done = writer.close().map(drop);
                done.map_err(|e| cannot(&path, std::io::Error::other(e)))?;
            }
        }
        self.file.finish().map_err(|e| cannot(&path, e))
    }
}

fn write_group(
    writer: &mut SerializedFileWriter<File>,
    columns: &[Values],
) -> Result<(), parquet::errors::ParquetError> {
    let mut group = writer.next_row_group()?;
    for values in columns {
        let Some(mut column) = group.next_column()? else {
            break;
        };
        match values {
            Values::Number(v) => column.typed::<DoubleType>().write_batch(v, None, None)?,
            Values::Integer(v) => column.typed::<Int64Type>().write_batch(v, None, None)?,
            Values::Flag(v) => column.typed::<BoolType>().write_batch(v, None, None)?,
            Values::Text(v) => {
                let words: Vec<ByteArray> = v.iter().map(|w| w.as_str().into()).collect();
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&words, None, None)?
            }
        };
        column.close()?;
    }
    group.close().map(drop)
}

fn cannot(path: &Path, source: std::io::Error) -> Error {
    Error::Write {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits_and_have_few_zeros() {
        for (value, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (1e-5, "0.00001"),
            (4.423638876390335e-20, "4.423638876390335e-20"),
            (1e300, "1e300"),
        ] {
            assert_eq!(number(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
    }
}
