//! NPZ files: archives of arrays.

use std::io::{Cursor, Write};

use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{Target, table};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::{bytes, tokens},
    verdict::Verdict,
};

pub struct Npz(Desk);

impl Npz {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Npz(Desk::new()?))
    }
}

/// An array before it is packed.
#[derive(Clone)]
struct Array {
    name: String,
    kind: String,
    fortran: bool,
    shape: String,
    data: Vec<u8>,
    packed: bool,
    /// Version of the header.
    version: u8,
}

fn array(name: &str, kind: &str, shape: &str, data: Vec<u8>) -> Array {
    Array {
        name: format!("{name}.npy"),
        kind: kind.into(),
        fortran: false,
        shape: shape.into(),
        data,
        packed: false,
        version: 1,
    }
}

/// Two archives: of columns, and of one array of two dimensions with labels beside it.
fn archives() -> [Vec<Array>; 2] {
    let floats = |n: u32| (0..n).flat_map(|k| (0.5 * f64::from(k)).to_le_bytes());
    let singles = (0..5u8).flat_map(|k| f32::from(k).to_be_bytes());
    let whole = (0..5i32).flat_map(|k| (k - 2).to_le_bytes());
    let letters = ["a", "a", "b", "b", "b"].map(|l| u32::from(l.as_bytes()[0]).to_le_bytes());
    [
        vec![
            array("t", "<f8", "(5,)", floats(5).collect()),
            array("x", ">f4", "(5,)", singles.collect()),
            array("n", "<i4", "(5,)", whole.collect()),
        ],
        vec![
            array("label", "<U1", "(5,)", letters.concat()),
            array("X", "<f8", "(5, 2)", floats(10).collect()),
            array("flag", "|b1", "(5,)", vec![0, 1, 1, 0, 1]),
        ],
    ]
}

/// Shapes, some of which nothing can have.
const SHAPES: [&str; 17] = [
    "()",
    "(0,)",
    "(5,)",
    "(5, 0)",
    "(0, 2)",
    "(1, 5)",
    "(5, 1, 1)",
    "(5, 65536)",
    "(5, 65537)",
    "(100000000000,)",
    "(18446744073709551615,)",
    "(4294967296, 4294967296)",
    "(9223372036854775807, 2)",
    "(-1,)",
    "(5",
    "5",
    "(5, 2, )",
];

const KINDS: [&str; 21] = [
    "<f8", ">f8", "<f4", "<f2", "<f16", "<i8", ">i2", "|i1", "|u1", "<u8", "|b1", "<c16", "|O",
    "<U1", "<U1024", "<U1025", "|S3", "<m8[ns]", "|V8", "<f0", "",
];

const NAMES: [&str; 10] = [
    "t.npy",
    "x.npy",
    ".npy",
    "x",
    "../x.npy",
    "/x.npy",
    "a/b.npy",
    "x\u{0}.npy",
    "é\u{1b}.npy",
    "X.npy/",
];

fn pack(arrays: &[Array]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for array in arrays {
        let method = if array.packed {
            CompressionMethod::Deflated
        } else {
            CompressionMethod::Stored
        };
        let options = SimpleFileOptions::default().compression_method(method);
        // A name that the archive refuses, or has already, is left out.
        if writer.start_file(array.name.as_str(), options).is_err() {
            continue;
        }
        let _ = writer.write_all(&npy(array));
    }
    writer.finish().map_or(Vec::new(), Cursor::into_inner)
}

fn npy(array: &Array) -> Vec<u8> {
    let fortran = if array.fortran { "True" } else { "False" };
    let header = format!(
        "{{'descr': '{}', 'fortran_order': {fortran}, 'shape': {}, }}",
        array.kind, array.shape
    );
    let head = if array.version == 1 { 10 } else { 12 };
    let pad = (64 - (head + header.len() + 1) % 64) % 64;
    let header = header + &" ".repeat(pad) + "\n";
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([array.version, 0]);
    if array.version == 1 {
        bytes.extend((header.len() as u16).to_le_bytes());
    } else {
        bytes.extend((header.len() as u32).to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.extend(&array.data);
    bytes
}

impl Target for Npz {
    fn extension(&self) -> &'static str {
        "npz"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let packed = archives().map(|mut arrays| {
            arrays.iter_mut().for_each(|a| a.packed = true);
            pack(&arrays)
        });
        Ok(archives().iter().map(|a| pack(a)).chain(packed).collect())
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let other = dice.pick(seeds);
        if dice.one_in(2) {
            // The arrays are changed, their archive is sound.
            let mut arrays = dice.pick(&archives()).clone();
            for _ in 0..dice.size(4) {
                change(dice, &mut arrays);
            }
            let mut out = pack(&arrays);
            if dice.one_in(5) {
                bytes::mutate(dice, &mut out, other);
            }
            return out;
        }
        let mut out = dice.pick(seeds).clone();
        for _ in 0..dice.size(4) {
            // Mostly where the archive speaks of itself.
            let marks: Vec<usize> = (0..out.len().saturating_sub(4))
                .filter(|k| out[*k..].starts_with(b"PK") || out[*k..].starts_with(b"\x93NUM"))
                .collect();
            if marks.is_empty() || dice.one_in(5) {
                bytes::mutate(dice, &mut out, other);
            } else {
                let place = *dice.pick(&marks);
                if dice.one_in(2) {
                    let at = place + 4 + dice.below(44);
                    bytes::overwrite(dice, &mut out, at);
                } else {
                    bytes::mutate_near(dice, &mut out, place, 64);
                }
            }
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        table::read(&self.0, "case.npz", bytes)
    }
}

fn change(dice: &mut Dice, arrays: &mut Vec<Array>) {
    if arrays.is_empty() {
        return;
    }
    let at = dice.below(arrays.len());
    let array = &mut arrays[at];
    match dice.below(11) {
        0 | 1 => array.shape = dice.pick(&SHAPES).to_string(),
        2 | 3 => array.kind = dice.pick(&KINDS).to_string(),
        4 => array.fortran = !array.fortran,
        5 => array.name = dice.pick(&NAMES).to_string(),
        6 => array.version = *dice.pick(&[0, 1, 2, 3, 255]),
        7 => bytes::mutate(dice, &mut array.data, &[]),
        8 => array.shape = tokens::mutate(dice, &array.shape, "(3, 4)", &["5", ","], &[("(", ")")]),
        9 => array.packed = !array.packed,
        _ => {
            if dice.one_in(2) {
                arrays.remove(at);
            } else {
                let mut copy = arrays[at].clone();
                copy.name = dice.pick(&NAMES).to_string();
                arrays.push(copy);
            }
        }
    }
}
