//! Parquet files.

use std::sync::Arc;

use ell0_data::write::{TableWriter, Values};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};

use super::{Target, samples, table};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::bytes::{self, EXTREMES, varint},
    verdict::Verdict,
};

pub struct Parquet(Desk);

impl Parquet {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Parquet(Desk::new()?))
    }
}

/// What other programs write: numbers that may be absent, text, points in time.
const SCHEMA: &str = "message table {
    required binary name (UTF8);
    required int64 t (TIMESTAMP(MICROS,true));
    optional double x;
}";

impl Target for Parquet {
    fn extension(&self) -> &'static str {
        "parquet"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let desk = Desk::new()?;
        let path = desk.file("seed.parquet");
        let table = samples::oscillator(8);
        let mut names = table.names().to_vec();
        names.extend(["n".into(), "flag".into()]);
        let mut writer = TableWriter::create(&path, &names)?;
        let numbers = table.columns().into_iter().map(Values::Number);
        let mut columns: Vec<Values> = numbers.collect();
        columns.push(Values::Integer((0..8).collect()));
        columns.push(Values::Flag((0..8).map(|k| k % 3 == 0).collect()));
        writer.push(&columns)?;
        writer.push(&columns)?;
        writer.finish()?;
        let mut seeds = vec![std::fs::read(&path)?];
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::GZIP(Default::default()),
            Compression::ZSTD(Default::default()),
            Compression::LZ4_RAW,
        ] {
            seeds.push(foreign(compression)?);
        }
        Ok(seeds)
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        let mut out = seed.clone();
        for _ in 0..dice.size(4) {
            change(dice, &mut out, other);
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        table::read(&self.0, "case.parquet", bytes)
    }
}

/// The length of the footer, which stands before the last four letters.
fn footer(bytes: &[u8]) -> usize {
    let length = bytes.len().checked_sub(8).and_then(|at| {
        let word = bytes.get(at..at + 4)?;
        Some(u32::from_le_bytes(word.try_into().ok()?) as usize)
    });
    length.unwrap_or(0).min(bytes.len().saturating_sub(12))
}

fn change(dice: &mut Dice, out: &mut Vec<u8>, other: &[u8]) {
    if out.len() < 16 {
        bytes::mutate(dice, out, other);
        return;
    }
    let length = footer(out);
    let start = out.len() - 8 - length;
    match dice.below(10) {
        0..=3 if length > 0 => {
            // Within the footer, whose length stays true.
            let at = start + dice.below(length);
            match dice.below(3) {
                0 => out[at] ^= 1 << dice.below(8),
                1 => out[at] = dice.byte(),
                _ => {
                    let value = varint(*dice.pick(&EXTREMES));
                    out.splice(at..at + 1, value);
                }
            }
            let now = (out.len() - 8 - start) as u32;
            let end = out.len() - 8;
            out[end..end + 4].copy_from_slice(&now.to_le_bytes());
        }
        4 => {
            // The length of the footer itself.
            let at = out.len() - 8;
            bytes::overwrite(dice, &mut out[at..at + 4], 0);
        }
        5 => {
            // The first page's head, and what follows it.
            let reach = start.max(1);
            bytes::mutate_near(dice, out, 4, reach.min(40));
        }
        6 => {
            // Data are gone, the footer is whole.
            let from = 4 + dice.below(start.saturating_sub(4).max(1));
            let to = (from + dice.size(start)).min(start);
            out.drain(from.min(to)..to);
        }
        7 => out.truncate(dice.below(out.len())),
        8 => {
            // The footer of another file.
            let foot = footer(other);
            out.truncate(start);
            out.extend_from_slice(&other[other.len() - 8 - foot..]);
        }
        _ => bytes::mutate(dice, out, other),
    }
}

fn foreign(compression: Compression) -> anyhow::Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(compression);
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build()))?;
    let mut group = writer.next_row_group()?;
    let times: Vec<i64> = (0..6).map(|k| 1_700_000_000_000_000 + k * 1000).collect();
    let names = ["a", "a", "a", "b", "b", "b"].map(ByteArray::from);
    let mut column = 0;
    while let Some(mut writer) = group.next_column()? {
        match column {
            1 => writer
                .typed::<Int64Type>()
                .write_batch(&times, None, None)?,
            2 => {
                let present = [1, 1, 0, 1, 0, 1];
                let values = [0.5, 1.5, 2.5, 3.5];
                let writer = writer.typed::<DoubleType>();
                writer.write_batch(&values, Some(&present), None)?
            }
            _ => writer
                .typed::<ByteArrayType>()
                .write_batch(&names, None, None)?,
        };
        writer.close()?;
        column += 1;
    }
    group.close()?;
    writer.close()?;
    Ok(bytes)
}
