use std::{fs, path::Path};

use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::*;
use crate::{
    error::{Error, Result},
    testing::proptest_config,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Header {
    steps: u64,
    rate: f64,
    name: String,
}

fn header() -> Header {
    Header {
        steps: 7,
        rate: 0.1,
        name: "a \"name\" with α".into(),
    }
}

fn sample() -> Vec<u8> {
    let tensors = [
        (
            "weights".to_string(),
            Tensor::new(vec![2, 3], VALUES.to_vec()),
        ),
        ("empty".to_string(), Tensor::flat(Vec::new())),
        ("flat".to_string(), Tensor::flat(&VALUES[..5])),
    ];
    to_bytes("test-format", 3, &header(), &tensors).unwrap()
}

const VALUES: [f32; 6] = [1.0, -0.0, f32::NAN, f32::INFINITY, 1e-45, 3.5];

/// Everything that a file says, as bits.
fn contents(bytes: &[u8]) -> Result<(Header, Vec<Vec<u32>>)> {
    let (header, tensors) = from_bytes::<Header>("test-format", 3, bytes, "x")?;
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    let all = vec![
        bits(tensors.take("weights", &[2, 3])?),
        bits(tensors.take("flat", &[5])?),
        bits(tensors.take_flat("empty")?),
    ];
    Ok((header, all))
}

fn reason<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result.unwrap_err() {
        Error::Checkpoint { path, reason } => {
            assert_ne!(path, Path::new(""));
            reason
        }
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_written_is_read() {
    let bytes = sample();
    assert_eq!(bytes, sample(), "the same contents give the same bytes");
    let (read, tensors) = contents(&bytes).unwrap();
    assert_eq!(read, header());
    assert_eq!(tensors[0], VALUES.map(f32::to_bits));
    assert_eq!(
        tensors[1],
        VALUES[..5].iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    );
    assert!(tensors[2].is_empty());
    assert_eq!(format_of(&bytes, "x").unwrap(), "test-format");
    let (_, tensors) = from_bytes::<Header>("test-format", 3, &bytes, "x").unwrap();
    assert_eq!(tensors.names(), ["empty", "flat", "weights"]);
    assert!(tensors.contains("flat") && !tensors.contains("round"));
}

#[test]
fn foreign_files_are_told_apart() {
    let bytes = sample();
    for cut in 0..bytes.len() {
        let reason = reason(contents(&bytes[..cut]));
        assert!(reason.contains("truncated"), "{cut}: {reason}");
    }
    let read = |format, version| from_bytes::<Header>(format, version, &bytes, "x").map(drop);
    assert_eq!(
        reason(read("other", 3)),
        "its format is `test-format`, not `other`"
    );
    assert_eq!(
        reason(read("test-format", 4)),
        "it has format version 3; this program reads version 4"
    );
    let zip = b"PK\x03\x04 this is a zip file, not a checkpoint";
    assert!(reason(contents(zip)).contains("not a safetensors file"));
    let none = Vec::<(String, safetensors::tensor::TensorView)>::new();
    let empty = safetensors::serialize(none, None).unwrap();
    assert!(reason(contents(&empty)).contains("without an `ell0` header"));

    let (_, tensors) = from_bytes::<Header>("test-format", 3, &bytes, "x").unwrap();
    assert!(reason(tensors.take("round", &[1])).contains("tensor `round` is missing"));
    assert!(reason(tensors.take("weights", &[6])).contains("shape [2, 3], not F32 of shape [6]"));
    assert!(reason(tensors.take_flat("weights")).contains("shape [2, 3]"));
    #[derive(Debug, Deserialize)]
    struct Other {
        #[expect(dead_code, reason = "only its absence matters")]
        rounds: u64,
    }
    let other = from_bytes::<Other>("test-format", 3, &bytes, "x").map(drop);
    assert!(reason(other).contains("missing field `rounds`"));
}

#[test]
fn what_cannot_be_written_is_named() {
    let twice = ["a", "a"].map(|name| (name.to_string(), Tensor::flat(vec![1.0])));
    assert!(reason(to_bytes("f", 1, &(), &twice)).contains("two tensors `a`"));
    let wrong = [("a".to_string(), Tensor::new(vec![2, 2], vec![1.0]))];
    let error = to_bytes("f", 1, &(), &wrong).unwrap_err().to_string();
    assert_eq!(error, "tensor `a`: got 1, expected 4");
}

/// Each byte in turn: found, or without effect (white space that fills up the header).
#[test]
fn damage_of_any_byte_is_found() {
    let bytes = sample();
    let whole = contents(&bytes).unwrap();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            match contents(&damaged) {
                Err(error) => assert!(matches!(error, Error::Checkpoint { .. }), "{error}"),
                Ok(read) => assert!(read == whole, "byte {place}"),
            }
        }
    }
}

#[test]
fn files_appear_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    write_whole(&path, b"first").unwrap();
    write_whole(&path, b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    let error = write_whole(folder.path().join("none/x"), b"").unwrap_err();
    assert!(error.to_string().contains("there is no folder"), "{error}");
    fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(write_whole(folder.path().join("taken"), b"").is_err());
    drop(WholeFile::create(folder.path().join("given up")).unwrap());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    // A device is written to as it is, and its refusal is told.
    #[cfg(target_os = "linux")]
    {
        write_whole("/dev/null", b"gone").unwrap();
        let error = write_whole("/dev/full", b"more").unwrap_err();
        assert!(
            error.to_string().starts_with("cannot write /dev/full"),
            "{error}"
        );
    }
}

/// Rows that can be told from each other.
fn rows(range: std::ops::Range<u64>, width: usize) -> Vec<f32> {
    range
        .flat_map(|row| (0..width).map(move |k| row as f32 + k as f32 / 16.0))
        .collect()
}

#[test]
fn a_journal_goes_on_where_a_checkpoint_knew_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let mut journal = Journal::create(&path, 3).unwrap();
    journal.append(&[]).unwrap();
    journal.append(&rows(0..4, 3)).unwrap();
    journal.append(&rows(4..5, 3)).unwrap();
    journal.sync().unwrap();
    journal.append(&rows(5..9, 3)).unwrap();
    assert_eq!((journal.rows(), journal.width()), (9, 3));
    drop(journal);
    // The rows after the fifth were not in the checkpoint; they are drawn again.
    let (read, mut journal) = Journal::read(&path, 3, 5).unwrap();
    assert_eq!(read, rows(0..5, 3));
    journal.append(&rows(5..7, 3)).unwrap();
    drop(journal);
    let whole = fs::read(&path).unwrap();
    let (read, _) = Journal::read(&path, 3, 7).unwrap();
    assert_eq!(read, rows(0..7, 3));
    assert_eq!(fs::read(&path).unwrap(), whole);
    // Within a block.
    let (read, mut journal) = Journal::read(&path, 3, 6).unwrap();
    assert_eq!(read, rows(0..6, 3));
    journal.append(&rows(6..8, 3)).unwrap();
    assert_eq!(Journal::read(&path, 3, 8).unwrap().0, rows(0..8, 3));
    assert!(Journal::read(&path, 3, 0).unwrap().0.is_empty());
    assert!(reason(Journal::read(&path, 3, 1)).contains("holds 0 rows, not the 1"));
}

#[test]
fn a_journal_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let mut journal = Journal::create(&path, 3).unwrap();
    let error = journal.append(&[1.0; 4]).unwrap_err().to_string();
    assert!(error.contains("multiple of the 3 numbers"), "{error}");
    journal.append(&[1.0; 6]).unwrap();
    assert!(reason(Journal::read(&path, 4, 2)).contains("have 3 numbers, not 4"));
    assert!(Journal::create(&path, 0).is_err());
    fs::write(&path, b"something else, and long enough").unwrap();
    assert!(reason(Journal::read(&path, 3, 2)).contains("no journal"));
    fs::write(&path, b"short").unwrap();
    assert!(reason(Journal::read(&path, 3, 2)).contains("too short"));
    let missing = Journal::read(folder.path().join("none"), 3, 0).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

#[test]
fn a_journal_is_written_anew_whole_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    // More than one block.
    let many = rows(0..300_000, 2);
    let mut journal = Journal::rewrite(&path, 2, &many).unwrap();
    journal.append(&rows(300_000..300_001, 2)).unwrap();
    let (read, _) = Journal::read(&path, 2, 300_001).unwrap();
    assert!(read == rows(0..300_001, 2));
    assert!(Journal::rewrite(folder.path().join("none/rows"), 2, &many).is_err());
    drop(Journal::rewrite(&path, 2, &[]).unwrap());
    assert_eq!(Journal::read(&path, 2, 0).unwrap().1.rows(), 0);
}

proptest! {
    #![proptest_config(proptest_config(200))]

    /// Wherever a journal is cut, damaged or both: what is asked for comes back bit for bit or there is an error, and it goes on from there. Nothing panics.
    #[test]
    fn a_torn_journal_gives_all_that_was_asked_for_or_an_error(
        blocks in prop::collection::vec(1u64..6, 1..6),
        width in 1usize..4,
        wanted in 0u64..30,
        cut: prop::sample::Index,
        damage: Option<(prop::sample::Index, u8)>,
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let mut journal = Journal::create(&path, width).unwrap();
        let mut ends = vec![(0, fs::metadata(&path).unwrap().len() as usize)];
        let mut have = 0;
        for block in blocks {
            journal.append(&rows(have..have + block, width)).unwrap();
            have += block;
            ends.push((have, fs::metadata(&path).unwrap().len() as usize));
        }
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole[..cut.index(whole.len() + 1)].to_vec();
        bytes.extend(&tail);
        if let Some((place, value)) = damage && !bytes.is_empty() {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        fs::write(&path, &bytes).unwrap();
        // Bytes that are as they were written.
        let same = bytes.iter().zip(&whole).take_while(|(a, b)| a == b).count();
        let needed = ends.iter().find(|(rows, _)| *rows >= wanted).map(|(_, end)| *end);
        match Journal::read(&path, width, wanted) {
            Ok((read, mut journal)) => {
                prop_assert!(needed.is_some_and(|end| end <= same));
                prop_assert_eq!(read, rows(0..wanted, width));
                journal.append(&rows(wanted..wanted + 2, width)).unwrap();
                prop_assert_eq!(Journal::read(&path, width, wanted + 2).unwrap().0, rows(0..wanted + 2, width));
            }
            Err(error) => {
                prop_assert!(matches!(error, Error::Checkpoint { .. }), "{}", error);
                prop_assert!(needed.is_none_or(|end| end > same), "{}", error);
            }
        }
    }

    #[test]
    fn random_bytes_are_no_file_of_ours(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(contents(&bytes).is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        fs::write(&path, &bytes).unwrap();
        prop_assert!(Journal::read(&path, 1, 0).is_err());
    }
}

/// Leftovers of killed processes go; what is being written stays, and so does what is not ours.
#[test]
fn leftovers_are_told_from_what_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at(".ell0-left00000000"), b"half a fi").unwrap();
    std::fs::create_dir(at(".ell0-empty0000000")).unwrap();
    std::fs::create_dir(at(".ell0-folder000000")).unwrap();
    std::fs::write(at(".ell0-folder000000/.lock"), b"").unwrap();
    std::fs::write(at(".ell0-folder000000/model.json"), b"{").unwrap();
    std::fs::write(at(".other"), b"mine").unwrap();
    std::fs::write(at(".ell0-notes.txt"), b"mine").unwrap();
    let (file, whole) = (
        WholeFile::create(at("file")).unwrap(),
        WholeFolder::create_in(&at("deep/er")).unwrap(),
    );
    clear_leftovers(folder.path());
    clear_leftovers(&at("deep/er"));
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(names[..2].contains(&".ell0-notes.txt".into()), "{names:?}");
    assert!(names[2] == ".other" && names[3] == "deep", "{names:?}");
    std::fs::write(whole.path().join("inside"), b"1").unwrap();
    whole.finish(&at("whole")).unwrap();
    file.finish().unwrap();
    assert!(at("file").exists() && at("whole/inside").exists() && !at("whole/.lock").exists());
    // A folder that is given up takes along what was made for it.
    assert!(!at("deep").exists());
    let given_up = WholeFolder::create_in(&at("deep/er")).unwrap();
    assert!(given_up.path().exists());
    drop(given_up);
    assert!(!at("deep").exists());
}
