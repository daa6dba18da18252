//! Files as they come, and as they should not.

mod limits;

use std::io::Write;

use proptest::prelude::*;

use super::*;
use crate::testing::proptest_config;

fn read(bytes: &[u8], name: &str, wanted: &[&str], drop_missing: bool) -> Result<(Block, u64)> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("written");
    let wanted: Vec<Want> = wanted.iter().map(|s| Want::Number(s.to_string())).collect();
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
            places: Vec::new(),
            skipped: Vec::new(),
        },
        Block::default(),
    );
    while table.read(2, &mut block)? {
        all.places.extend(&block.places);
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
        let (block, _) = read(text.as_bytes(), "x.csv", &["a b", "t"], false).expect("readable");
        assert_eq!(block.columns, [vec![1.0, 2.5, -0.3], vec![0.0, 1.0, 2.0]]);
        assert_eq!(block.places, [2, 3, 4]);
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
    assert!(message("a,b\n1,2\n3\n", &["a"]).contains("line 3 has 1 cells, but the header has 2"));
    assert!(message("", &["a"]).contains("empty"));
    assert!(Table::open("no/such.csv", &[], ReadOptions::default()).is_err());
}

#[test]
fn missing_cells_can_be_left_out_and_are_counted() {
    let (block, dropped) =
        read(b"a,b\n1,2\n3,\nnan,4\n5,6\n", "x.csv", &["a", "b"], true).expect("readable");
    assert_eq!(block.columns, [[1.0, 5.0], [2.0, 6.0]]);
    assert_eq!((block.places, dropped), (vec![2, 5], 2));
    assert!(read(b"a,b\n1,x\n", "x.csv", &["a", "b"], true).is_err());
}

proptest! {
    #![proptest_config(proptest_config(256))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), gz: bool) {
        let _ = read(&bytes, if gz { "x.csv.gz" } else { "x.csv" }, &["a"], true);
        let mut named = b"a,b\n".to_vec();
        named.extend(bytes);
        let _ = read(&named, "x.csv", &["a"], false);
    }
}

/// Columns of every type, as Parquet in groups of rows of different size.
fn parquet_bytes() -> Vec<u8> {
    use crate::write::{TableWriter, Values};
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.parquet");
    let names = ["t", "a b", "n", "flag"].map(String::from);
    let mut writer = TableWriter::create(&path, &names).expect("a writer");
    for rows in [0..3, 3..3, 3..10] {
        let columns = [
            Values::Number(rows.clone().map(|k| f64::from(k) / 2.0).collect()),
            Values::Number(rows.clone().map(|k| f64::from(k * k)).collect()),
            Values::Integer(rows.clone().map(i64::from).collect()),
            Values::Flag(rows.map(|k| k % 3 == 0).collect()),
        ];
        writer.push(&columns).expect("written");
    }
    assert!(!path.exists());
    writer.finish().expect("written");
    std::fs::read(&path).expect("readable")
}

#[test]
fn parquet_is_read_in_blocks() {
    let bytes = parquet_bytes();
    // The name does not matter.
    for name in ["x.parquet", "x.dat"] {
        let (block, _) = read(&bytes, name, &["flag", "t", "n", "a b"], false).expect("readable");
        let index: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(
            block.columns[1],
            index.iter().map(|k| k / 2.0).collect::<Vec<_>>()
        );
        assert_eq!(block.columns[2], index);
        assert_eq!(
            block.columns[3],
            index.iter().map(|k| k * k).collect::<Vec<_>>()
        );
        assert_eq!(block.columns[0][..5], [1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(block.places, (1..=10).collect::<Vec<_>>());
    }
    let message = read(&bytes, "x.parquet", &["a"], false)
        .expect_err("missing")
        .to_string();
    assert!(
        message.contains("there is no column `a`; the columns are "),
        "{message}"
    );
    for keep in [0, 4, bytes.len() / 2, bytes.len() - 1] {
        let message = read(&bytes[..keep], "x.parquet", &["t"], false)
            .expect_err("truncated")
            .to_string();
        assert!(
            message.contains("truncated or damaged: write it again"),
            "{message}"
        );
    }
    let message = read(b"t,x\n1,2\n", "x.parquet", &["t"], false)
        .expect_err("no Parquet")
        .to_string();
    assert!(
        message.contains("cannot be read as a Parquet file"),
        "{message}"
    );
}

/// An array as NumPy saves it.
fn npy_bytes(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

/// An archive as NumPy makes it.
fn npz_bytes(compressed: bool) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let method = if compressed {
        zip::CompressionMethod::Deflated
    } else {
        zip::CompressionMethod::Stored
    };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    let mut put = |name: &str, descr: &str, order: &str, shape: &str, data: &[u8]| {
        archive
            .start_file(format!("{name}.npy"), options)
            .expect("an entry");
        let array = npy_bytes(descr, order, shape, data);
        archive.write_all(&array).expect("written");
    };
    let f64s: Vec<u8> = (0..5)
        .flat_map(|k| (f64::from(k) * 0.1).to_le_bytes())
        .collect();
    let f32s: Vec<u8> = (0..10)
        .flat_map(|k| (k as f32 - 4.0).to_be_bytes())
        .collect();
    let i16s: Vec<u8> = (0..5i16).flat_map(|k| (-k).to_le_bytes()).collect();
    put("t", "<f8", "False", "(5,)", &f64s);
    put("X", ">f4", "False", "(5, 2)", &f32s);
    put("F", ">f4", "True", "(5, 2)", &f32s);
    put("i", "<i2", "False", "(5,)", &i16s);
    put("flag", "|b1", "False", "(5,)", &[1, 0, 1, 1, 0]);
    put("word", "<U1", "False", "(5,)", &[0; 20]);
    put("one", "<f8", "False", "()", &f64s[..8]);
    put("short", "<f8", "False", "(4,)", &f64s[..32]);
    put(
        "gap",
        "<f8",
        "False",
        "(5,)",
        &[&f64s[..32], &f64::NAN.to_le_bytes()[..]].concat(),
    );
    put("lies", "<f8", "False", "(5,)", &f64s[..32]);
    archive.finish().expect("written").into_inner()
}

#[test]
fn npz_is_read_in_blocks() {
    for compressed in [false, true] {
        let bytes = npz_bytes(compressed);
        let (block, _) =
            read(&bytes, "x.npz", &["X_1", "t", "i", "flag", "X_0"], false).expect("readable");
        assert_eq!(block.columns[0], [-3.0, -1.0, 1.0, 3.0, 5.0]);
        assert_eq!(block.columns[1], [0.0, 0.1, 0.2, 0.1 * 3.0, 0.4]);
        assert_eq!(block.columns[2], [0.0, -1.0, -2.0, -3.0, -4.0]);
        assert_eq!(block.columns[3], [1.0, 0.0, 1.0, 1.0, 0.0]);
        assert_eq!(block.columns[4], [-4.0, -2.0, 0.0, 2.0, 4.0]);
        let (block, dropped) = read(&bytes, "x.npz", &["gap"], true).expect("readable");
        assert_eq!((block.rows(), dropped), (4, 1));
        for (wanted, words) in [
            (vec!["X"], "there is no column `X`; the columns are "),
            (vec!["F_0"], "save numpy.ascontiguousarray(F)"),
            (vec!["word"], "does not hold plain numbers"),
            (vec!["t", "short"], "`short` has 4 rows, but `t` has 5"),
            (vec!["gap"], "row 5, column `gap` holds nothing, or NaN"),
            (
                vec!["lies"],
                "`lies` claims 5 rows of 1 columns, but there are only",
            ),
        ] {
            let message = read(&bytes, "x.npz", &wanted, false)
                .expect_err("bad")
                .to_string();
            assert!(message.contains(words), "{message}");
        }
        for keep in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert!(read(&bytes[..keep], "x.npz", &["t"], false).is_err());
        }
    }
    // A changed number is found by the checksum.
    let mut bytes = npz_bytes(false);
    let at = bytes
        .windows(8)
        .position(|w| w == 0.2f64.to_le_bytes())
        .expect("0.2");
    bytes[at] ^= 1;
    let message = read(&bytes, "x.npz", &["t"], false)
        .expect_err("changed")
        .to_string();
    assert!(
        message.contains("checksum of array `t` is wrong"),
        "{message}"
    );
}

/// Text tells trajectories apart as well as numbers do.
#[test]
fn labels_may_be_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.csv");
    std::fs::write(&path, "run,x\nfirst,1\nfirst,2\nsecond,3\nfirst,4\n").expect("written");
    let mut table =
        Table::open(&path, &[Want::Label("run".into())], ReadOptions::default()).expect("readable");
    let mut block = Block::default();
    assert!(table.read(9, &mut block).expect("readable"));
    assert_eq!(block.columns[0], [0.0, 0.0, 1.0, 0.0]);
}

proptest! {
    #![proptest_config(proptest_config(256))]

    /// Damage anywhere in a binary file is an error, or harmless; never a panic.
    #[test]
    fn damaged_binary_files_are_read_or_refused(at in 0usize..4000, with: u8, npz: bool, cut: bool) {
        let (mut bytes, name) = if npz { (npz_bytes(with % 2 == 0), "x.npz") } else { (parquet_bytes(), "x.parquet") };
        let at = at % bytes.len();
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = with;
        }
        let _ = read(&bytes, name, &["t"], true);
        let _ = read(&bytes, name, &["flag"], true);
    }
}
