//! Files of runs: JSON of typed values, names in tables.

use std::path::Path;

use ell0::input;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::{Error, Result};

/// A value as the text of a JSON file.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|e| Error::Unsuitable(format!("a result that cannot be written: {e}")))
}

/// Settings as the text of a TOML file, which can be read back: TOML has no whole numbers beyond 2⁶³ − 1.
pub(crate) fn to_toml(settings: &impl Serialize) -> Result<String> {
    let cannot = |e: String| Error::Unsuitable(format!("settings that cannot be written: {e}"));
    let text = toml::to_string(settings).map_err(|e| match e.to_string() {
        large if large.contains("too large") => {
            cannot(format!("whole numbers, also seeds, go up to {}", i64::MAX))
        }
        other => cannot(other),
    })?;
    match text.parse::<toml::Table>() {
        Ok(_) => Ok(text),
        Err(e) => Err(cannot(e.message().to_string())),
    }
}

/// Reads a text file, if it is a file and not too large.
pub(crate) fn read(path: &Path) -> Result<String> {
    input::read_text(path).map_err(Error::io("read", path))
}

/// Reads a value from its JSON file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_str(&read(path)?).map_err(|e| Error::damaged(path, e))
}

/// Reads values from a file with one JSON object a line. The last line may be cut off: whoever writes it may be at work, or was killed.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let bytes = input::read(path, input::MOST_BINARY).map_err(Error::io("read", path))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Error::damaged(path, "it is not text in UTF-8"))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .enumerate()
        .map(|(k, line)| {
            serde_json::from_str(line)
                .map_err(|e| Error::damaged(path, format!("line {}: {e}", k + 1)))
        })
        .collect()
}

/// A name as a CSV cell.
#[must_use]
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_string()
    }
}
