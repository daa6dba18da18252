//! Files that claim more than they hold, or hold more than is read.

use super::{npy_bytes, npz_bytes, parquet_bytes, read};
use std::io::Write;

#[track_caller]
fn refused(bytes: &[u8], name: &str, column: &str) -> String {
    let error = read(bytes, name, &[column], false).expect_err("refused");
    error.to_string()
}

#[track_caller]
fn says(bytes: &[u8], name: &str, column: &str, words: &str) {
    let message = refused(bytes, name, column);
    assert!(message.contains(words), "no `{words}` in {message}");
}

fn gz(bytes: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    bytes.for_each(|part| encoder.write_all(&part).expect("written"));
    encoder.finish().expect("written")
}

#[test]
fn rows_of_a_csv_file_end() {
    let long = "line 1: this row goes on for more than 16 MiB";
    says(&vec![b'x'; 17 << 20], "x.csv", "a", long);
    // A gigabyte of one letter, packed in a few megabytes.
    let bomb = gz((0..64).map(|_| vec![b'1'; 16 << 20]));
    says(&bomb, "x.csv.gz", "a", long);
    // A quote that is never closed makes one cell of all lines.
    let mut open = b"a\n1\n\"".to_vec();
    open.extend(b"2\n".repeat(9 << 20));
    says(
        &open,
        "x.csv",
        "a",
        "line 3: this row goes on for more than 16 MiB",
    );
    // What is just as long as it may be is read, row after row.
    let cell = "0".repeat((16 << 20) - 2) + "7";
    let text = format!("a\n{cell}\n1\n{cell}\n");
    let (block, _) = read(text.as_bytes(), "x.csv", &["a"], false).expect("readable");
    assert_eq!(block.columns, [[7.0, 1.0, 7.0]]);
}

#[test]
fn columns_have_an_end() {
    let names: Vec<String> = (0..=1 << 16).map(|k| format!("x{k}")).collect();
    let text = names.join(",") + "\n";
    says(
        text.as_bytes(),
        "x.csv",
        "x1",
        "it has 65537 columns, and no more than 65536",
    );
    let wide = npy_bytes("<f8", "False", "(1, 65536)", &[0; 8 << 16]);
    assert!(read(&wide, "x.npy", &["x_65535"], false).is_ok());
}

#[test]
fn cells_are_cut_and_escaped() {
    let text = format!("a\n\u{1b}[31m{}\n", "y".repeat(500));
    let shown = format!("holds `\\u{{1b}}[31m{}…`:", "y".repeat(75));
    says(text.as_bytes(), "x.csv", "a", &shown);
    says(b"a\x07b\n1\n", "x.csv", "a", "the columns are a\\u{7}b");
}

#[test]
fn arrays_hold_what_they_claim() {
    let data: Vec<u8> = (0..5).flat_map(|k| f64::from(k).to_le_bytes()).collect();
    let whole = npy_bytes("<f8", "False", "(5,)", &data);
    let (block, _) = read(&whole, "x.npy", &["x"], false).expect("readable");
    assert_eq!(block.columns, [[0.0, 1.0, 2.0, 3.0, 4.0]]);
    // By its first bytes, whatever it is called.
    assert!(read(&whole, "x.dat", &["x"], false).is_ok());
    let table = npy_bytes("<f8", "False", "(2, 2)", &data[..32]);
    let (block, _) = read(&table, "x.npy", &["x_1", "x_0"], false).expect("readable");
    assert_eq!(block.columns, [[1.0, 3.0], [0.0, 2.0]]);
    for shape in [
        "(6,)",
        "(1000000000000,)",
        "(18446744073709551615,)",
        "(4611686018427387904, 8)",
    ] {
        let more = npy_bytes("<f8", "False", shape, &data);
        says(&more, "x.npy", "x", " claims ");
    }
    says(
        &npy_bytes("<f8", "False", "()", &data),
        "x.npy",
        "x",
        "its array is no table",
    );
    // A header that claims four gigabytes of itself, and one that never closes its brackets.
    let long = [&b"\x93NUMPY\x02\x00"[..], &[255; 4], b"{"].concat();
    says(
        &long,
        "x.npy",
        "x",
        "claims 4294967295 bytes, and at most 65536 are read",
    );
    let deep = npy_bytes("<f8", "False", &"(".repeat(20_000), &data);
    says(&deep, "x.npy", "x", "brackets too deep");
}

#[test]
fn archives_hold_what_they_claim() {
    let empty = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let empty = empty.finish().expect("an archive").into_inner();
    for name in ["x.npz", "x.dat"] {
        says(
            &empty,
            name,
            "x",
            "there is no array in it; expected arrays of one or more dimensions",
        );
    }
    // The size of the first entry as the directory claims it, 24 bytes behind its signature.
    let mut claims = npz_bytes(true);
    let signature = b"PK\x01\x02";
    let at = claims
        .windows(4)
        .position(|w| w == signature)
        .expect("a directory");
    claims[at + 24..at + 28].copy_from_slice(&0xf000_0000u32.to_le_bytes());
    says(&claims, "x.npz", "t", "array `t` claims 3.8 GiB, packed in");
}

/// A Parquet file whose bytes `from` became `to`, the first time they appear.
fn changed(from: &[u8], to: &[u8]) -> Vec<u8> {
    let bytes = parquet_bytes();
    let at = bytes.windows(from.len()).position(|w| w == from);
    let at = at.expect("these bytes");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn pages_hold_what_they_claim() {
    let bytes = parquet_bytes();
    // The first page begins behind the signature with its type and its two sizes.
    assert_eq!([bytes[4], bytes[6]], [0x15, 0x15], "a header of a page");
    let with_size = |size: &[u8]| {
        let rest = 7
            + bytes[7..]
                .iter()
                .position(|b| b & 0x80 == 0)
                .expect("an end")
            + 1;
        [&bytes[..7], size, &bytes[rest..]].concat()
    };
    let two_gigabytes = [0xfe, 0xff, 0xff, 0xff, 0x0f];
    says(
        &with_size(&two_gigabytes),
        "x.parquet",
        "t",
        "a page claims 2.0 GiB in",
    );
    says(
        &with_size(&[1]),
        "x.parquet",
        "t",
        "a page claims a negative size",
    );
}

#[test]
fn codecs_that_are_not_built_in_are_named() {
    // The name of a column in the description, and behind it the codec: Snappy is 1, Brotli 4, LZO 3, each doubled.
    let codec = |codec: u8| {
        changed(
            b"\x19\x18\x01t\x15\x02",
            &[0x19, 0x18, 1, b't', 0x15, 2 * codec],
        )
    };
    says(
        &codec(4),
        "x.parquet",
        "t",
        "column `t` is compressed with Brotli, which this program does not read; write the file again with Snappy, gzip, Zstandard, LZ4 or no compression",
    );
    says(&codec(3), "x.parquet", "t", "is compressed with LZO");
    // Other columns can be read.
    assert!(read(&codec(4), "x.parquet", &["n"], false).is_ok());
}

#[test]
fn descriptions_have_an_end() {
    let mut bytes = parquet_bytes();
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&0xffff_0000u32.to_le_bytes());
    says(
        &bytes,
        "x.parquet",
        "t",
        "its description claims 4.0 GiB of the",
    );
}
