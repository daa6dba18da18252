//! Whether two runs left the same. What differs between any two runs is the time they took; that, and nothing else, is left aside here:
//!
//! | file | what is left aside | why |
//! | --- | --- | --- |
//! | `results.json`, `analysis.json` | numbers called `seconds` | the time the run took |
//! | `report.html` | the column `seconds` of its tables | the same |
//! | `manifest.json` | the fingerprints of files | those of the files above |
//! | `*.seconds` | its number | the time so far, over all attempts |
//! | `events.out.tfevents.*` | the time of each event, and its checksum | wall-clock time, for TensorBoard |
//! | `checkpoints/*.safetensors` of a training | `replay` and `episodes` of its header | how the journals beside it are cut into blocks depends on when it saved itself |
//! | `checkpoints/*.replay`, `*.jsonl` | the blocks; lines that later lines replace | the same; their rows and episodes must be equal |
//! | `.lock` | all | empty; a process holds it |

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::files::{is_temporary, walk};

/// All files of a run, without what differs between any two runs.
#[derive(Debug)]
pub struct Picture(BTreeMap<PathBuf, Vec<u8>>);

impl Picture {
    /// What a folder holds, or a file.
    pub fn of(place: &Path) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        if place.is_file() {
            files.insert(PathBuf::new(), std::fs::read(place)?);
        } else if place.is_dir() {
            for file in walk(place)? {
                if file.is_dir() || file.ends_with(".lock") {
                    continue;
                }
                let name = file.strip_prefix(place)?.to_path_buf();
                let bytes = std::fs::read(&file)?;
                files.insert(name, timeless(&file, bytes));
            }
        }
        Ok(Picture(files))
    }

    /// The first difference, in words.
    pub fn difference(&self, other: &Picture) -> Option<String> {
        if other.0.is_empty() {
            return Some("there are no results".into());
        }
        for (name, bytes) in &self.0 {
            match other.0.get(name) {
                None => return Some(format!("{} is missing", name.display())),
                Some(found) if found != bytes => {
                    let at = bytes.iter().zip(found).take_while(|(a, b)| a == b).count();
                    let piece = |bytes: &[u8]| {
                        let from = at.saturating_sub(30).min(bytes.len());
                        let to = (at + 30).min(bytes.len());
                        bytes[from..to].escape_ascii().to_string()
                    };
                    return Some(format!(
                        "{} differs at byte {at} of {} and {}: {} and {}",
                        name.display(),
                        bytes.len(),
                        found.len(),
                        piece(bytes),
                        piece(found)
                    ));
                }
                Some(_) => {}
            }
        }
        let more = other.0.keys().find(|name| !self.0.contains_key(*name));
        more.map(|name| format!("{} is there, too", name.display()))
    }
}

/// What is half-written, by its name.
pub fn left_behind(folder: &Path) -> std::io::Result<Vec<String>> {
    let found = walk(folder)?.into_iter().filter(|p| is_temporary(p));
    let inside = found.map(|p| p.strip_prefix(folder).unwrap_or(&p).display().to_string());
    Ok(inside.collect())
}

/// A file's contents without the time.
fn timeless(file: &Path, bytes: Vec<u8>) -> Vec<u8> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ending = file.extension().unwrap_or_default().to_string_lossy();
    let saved = file.parent().is_some_and(|p| p.ends_with("checkpoints"));
    match (&*name, &*ending) {
        ("results.json" | "analysis.json", _) => without_seconds(&bytes).unwrap_or(bytes),
        ("report.html", _) => page(&bytes),
        ("manifest.json", _) => names(&bytes).unwrap_or(bytes),
        (_, "seconds") => Vec::new(),
        (name, _) if name.starts_with("events.out.tfevents") => events(&bytes).unwrap_or(bytes),
        (_, "safetensors") if saved => state(file, &bytes).unwrap_or(bytes),
        (_, "replay" | "replay2") => rows(&bytes).unwrap_or(bytes),
        (_, "jsonl") if saved => episodes(&bytes).unwrap_or(bytes),
        _ => bytes,
    }
}

fn without_seconds(bytes: &[u8]) -> Option<Vec<u8>> {
    fn clear(node: &mut Value) {
        match node {
            Value::Array(items) => items.iter_mut().for_each(clear),
            Value::Object(map) => {
                for (key, value) in map {
                    if key == "seconds" {
                        *value = Value::Null;
                    } else {
                        clear(value);
                    }
                }
            }
            _ => {}
        }
    }
    let mut tree: Value = serde_json::from_slice(bytes).ok()?;
    clear(&mut tree);
    Some(tree.to_string().into_bytes())
}

/// A manifest with the names of its files alone.
fn names(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut tree: Value = serde_json::from_slice(bytes).ok()?;
    let files = tree.get_mut("files")?.as_object_mut()?;
    files.values_mut().for_each(|print| *print = Value::Null);
    Some(tree.to_string().into_bytes())
}

/// The page without the last column of tables in which that is the time.
fn page(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let tables = text.split("<table").map(|table| {
        let timed = table.contains("<th>seconds</th></tr>");
        let rows = table.split("</tr>").map(|row| match row.rfind("<td>") {
            Some(last) if timed && row.ends_with("</td>") => {
                format!("{}<td>time</td>", &row[..last])
            }
            _ => row.to_string(),
        });
        rows.collect::<Vec<_>>().join("</tr>")
    });
    tables.collect::<Vec<_>>().join("<table").into_bytes()
}

/// Records of a length, its checksum, the bytes and their checksum; an event begins with its time.
fn events(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while !rest.is_empty() {
        let (head, _) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*head)).ok()?;
        let event = rest.get(12..12 + length)?;
        // A tag and eight bytes.
        out.extend_from_slice(event.get(9..)?);
        rest = rest.get(12 + length + 4..)?;
    }
    Some(out)
}

/// The state of a training: its tensors, and its header but for how the journals are cut.
fn state(file: &Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let format = ell0_control::agent::TRAINING_FORMAT;
    let read = ell0::checkpoint::from_bytes::<Value>(format, 2, bytes, file);
    let (mut header, tensors) = read.ok()?;
    let map = header.as_object_mut()?;
    map.remove("replay");
    map.remove("episodes");
    let mut out = header.to_string().into_bytes();
    for name in tensors.names() {
        out.extend_from_slice(name.as_bytes());
        let values = tensors.take_flat(name).ok()?;
        out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    }
    Some(out)
}

/// The rows of a journal, without the heads of its blocks.
fn rows(bytes: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    let width = word(8)?;
    let (mut out, mut at) = (Vec::new(), 24);
    while at < bytes.len() {
        let length = word(at)? * width * 4;
        out.extend_from_slice(bytes.get(at + 16..at + 16 + length)?);
        at += 16 + length;
    }
    Some(out)
}

/// The last word on each episode.
fn episodes(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut last = BTreeMap::new();
    for line in String::from_utf8_lossy(bytes).lines() {
        let tree: Value = serde_json::from_str(line).ok()?;
        last.insert(tree.get("episode")?.as_u64()?, line.to_string());
    }
    let lines: Vec<String> = last.into_values().collect();
    Some(lines.join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::Desk;

    fn picture(results: &str, model: &str) -> Picture {
        let desk = Desk::new().expect("a folder");
        desk.put("results.json", results.as_bytes());
        desk.put("model.json", model.as_bytes());
        Picture::of(desk.path()).expect("a picture")
    }

    /// Time is left aside, and nothing else.
    #[test]
    fn only_time_may_differ() {
        let one = picture(r#"[{"return": 1, "seconds": 2.5}]"#, "{}");
        let later = picture(r#"[{"return": 1, "seconds": 3.5}]"#, "{}");
        let worse = picture(r#"[{"return": 2, "seconds": 2.5}]"#, "{}");
        let other = picture(r#"[{"return": 1, "seconds": 2.5}]"#, "{ }");
        assert_eq!(one.difference(&later), None);
        assert!(
            one.difference(&worse)
                .is_some_and(|d| d.contains("results.json"))
        );
        assert!(
            one.difference(&other)
                .is_some_and(|d| d.contains("model.json"))
        );
    }
}
