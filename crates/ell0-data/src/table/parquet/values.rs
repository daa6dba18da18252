//! The values of a column of a row group as numbers or labels.

use parquet::{
    basic::{ConvertedType, LogicalType, TimeUnit},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::DataType,
    errors::ParquetError,
    schema::types::ColumnDescriptor,
};

use crate::table::Labels;

/// A column of the present row group.
pub(super) struct Column {
    reader: ColumnReader,
    /// Definition level of a value that is there.
    present: i16,
    meaning: Meaning,
}

/// How the stored integers are to be understood.
#[derive(Clone, Copy)]
enum Meaning {
    Plain,
    Unsigned,
    /// Times of day, and decimals.
    Scaled(f64),
    /// Points in time, as seconds since the first of the file: since 1970 they would lose their last digits.
    Instant(f64),
    /// Half precision.
    Half,
}

fn meaning(column: &ColumnDescriptor) -> Meaning {
    let second = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1e-3,
        TimeUnit::MICROS => 1e-6,
        TimeUnit::NANOS => 1e-9,
    };
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(t)) => return Meaning::Instant(second(&t.unit)),
        Some(LogicalType::Time(t)) => return Meaning::Scaled(second(&t.unit)),
        Some(LogicalType::Decimal(d)) => return Meaning::Scaled(10f64.powi(-d.scale)),
        Some(LogicalType::Float16) => return Meaning::Half,
        Some(LogicalType::Integer(i)) if !i.is_signed => return Meaning::Unsigned,
        _ => {}
    }
    match column.converted_type() {
        ConvertedType::TIMESTAMP_MILLIS => Meaning::Instant(1e-3),
        ConvertedType::TIMESTAMP_MICROS => Meaning::Instant(1e-6),
        ConvertedType::TIME_MILLIS => Meaning::Scaled(1e-3),
        ConvertedType::TIME_MICROS => Meaning::Scaled(1e-6),
        ConvertedType::DECIMAL => Meaning::Scaled(10f64.powi(-column.type_scale())),
        ConvertedType::UINT_8
        | ConvertedType::UINT_16
        | ConvertedType::UINT_32
        | ConvertedType::UINT_64 => Meaning::Unsigned,
        _ => Meaning::Plain,
    }
}

/// Appends `rows` values of a column, NaN where there is none; the number of rows found.
fn read_typed<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    present: i16,
    rows: usize,
    out: &mut Vec<f64>,
    mut number: impl FnMut(&T::T) -> f64,
) -> Result<usize, ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut found = 0;
    while found < rows {
        values.clear();
        levels.clear();
        let (records, _, _) =
            reader.read_records(rows - found, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            break;
        }
        found += records;
        if present == 0 {
            out.extend(values.iter().map(&mut number));
            continue;
        }
        let mut next = values.iter();
        for level in &levels {
            let value = if *level == present { next.next() } else { None };
            out.push(value.map_or(f64::NAN, &mut number));
        }
    }
    Ok(found)
}

/// A whole number in big-endian bytes, as decimals are stored.
fn whole(bytes: &[u8]) -> f64 {
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let size = |b: &u8| f64::from(if negative { !b } else { *b });
    let value = bytes.iter().fold(0.0, |sum, b| sum * 256.0 + size(b));
    if negative { -value - 1.0 } else { value }
}

/// A number in half precision.
fn half(bytes: &[u8]) -> f64 {
    let &[low, high] = bytes else {
        return f64::NAN;
    };
    let bits = u16::from_le_bytes([low, high]);
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + fraction / 1024.0) * 2f64.powi(e - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}

impl Column {
    pub fn new(reader: ColumnReader, descriptor: &ColumnDescriptor) -> Self {
        Column {
            reader,
            present: descriptor.max_def_level(),
            meaning: meaning(descriptor),
        }
    }

    pub fn read(
        &mut self,
        rows: usize,
        out: &mut Vec<f64>,
        labels: Option<&mut Labels>,
        origin: &mut Option<i64>,
    ) -> Result<Option<usize>, ParquetError> {
        use ColumnReader::*;
        let present = self.present;
        let (unsigned, scale) = match self.meaning {
            Meaning::Plain | Meaning::Half => (false, 1.0),
            Meaning::Unsigned => (true, 1.0),
            Meaning::Scaled(scale) | Meaning::Instant(scale) => (false, scale),
        };
        let decimal = matches!(self.meaning, Meaning::Scaled(_));
        if let Some(labels) = labels {
            // As text: numbers beyond 2⁵³ would not be told apart.
            let out = &mut *out;
            return match &mut self.reader {
                BoolColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                Int32ColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                Int64ColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                Int96ColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                FloatColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                DoubleColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&v.to_string()))
                }
                ByteArrayColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&text(v.data())))
                }
                FixedLenByteArrayColumnReader(r) => {
                    read_typed(r, present, rows, out, |v| labels.number(&text(v.data())))
                }
            }
            .map(Some);
        }
        match &mut self.reader {
            BoolColumnReader(r) => {
                read_typed(r, present, rows, out, |v| f64::from(u8::from(*v))).map(Some)
            }
            Int32ColumnReader(r) if unsigned => {
                read_typed(r, present, rows, out, |v| f64::from(v.cast_unsigned())).map(Some)
            }
            Int32ColumnReader(r) => {
                read_typed(r, present, rows, out, |v| f64::from(*v) * scale).map(Some)
            }
            Int64ColumnReader(r) if unsigned => {
                read_typed(r, present, rows, out, |v| v.cast_unsigned() as f64).map(Some)
            }
            Int64ColumnReader(r) if matches!(self.meaning, Meaning::Instant(_)) => {
                let origin = &mut *origin;
                read_typed(r, present, rows, out, |v| {
                    let first = *origin.get_or_insert(*v);
                    v.wrapping_sub(first) as f64 * scale
                })
                .map(Some)
            }
            Int64ColumnReader(r) => {
                read_typed(r, present, rows, out, |v| *v as f64 * scale).map(Some)
            }
            FloatColumnReader(r) => read_typed(r, present, rows, out, |v| f64::from(*v)).map(Some),
            DoubleColumnReader(r) => read_typed(r, present, rows, out, |v| *v).map(Some),
            ByteArrayColumnReader(r) if decimal => {
                read_typed(r, present, rows, out, |v| whole(v.data()) * scale).map(Some)
            }
            FixedLenByteArrayColumnReader(r) if decimal => {
                read_typed(r, present, rows, out, |v| whole(v.data()) * scale).map(Some)
            }
            FixedLenByteArrayColumnReader(r) if matches!(self.meaning, Meaning::Half) => {
                read_typed(r, present, rows, out, |v| half(v.data())).map(Some)
            }
            ByteArrayColumnReader(_) | Int96ColumnReader(_) | FixedLenByteArrayColumnReader(_) => {
                Ok(None)
            }
        }
    }
}

/// A label of bytes: text where it is some.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| format!("{bytes:?}"), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_and_halves_are_understood() {
        assert_eq!(whole(&[0x01, 0x00]), 256.0);
        assert_eq!(whole(&[0xff, 0xfe]), -2.0);
        assert_eq!(whole(&[]), 0.0);
        for (bits, value) in [
            (0x3c00u16, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_953_125),
            (0x0001, 2f64.powi(-24)),
            (0x7c00, f64::INFINITY),
        ] {
            assert_eq!(half(&bits.to_le_bytes()), value);
        }
        assert!(half(&0x7e00u16.to_le_bytes()).is_nan() && half(&[1]).is_nan());
    }
}
