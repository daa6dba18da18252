//! What can go wrong, with the value at fault and what would be right.

use std::path::PathBuf;

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in this crate. Bad input ends here, never in a panic.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyper-parameter outside its range.
    #[error("{name} = {value} is not allowed: {expected}")]
    Parameter {
        /// Name of the hyper-parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A name that is not one of those known.
    #[error("unknown {kind} `{name}`: expected one of {expected}")]
    Unknown {
        /// What was to be named, for example "activation".
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        expected: &'static str,
    },
    /// Sizes that do not fit together.
    #[error("{what}: got {got}, expected {expected}")]
    Shape {
        /// What has the wrong size.
        what: String,
        /// Its size.
        got: usize,
        /// The size it must have.
        expected: usize,
    },
    /// No data where at least one row is needed.
    #[error("{what} is empty: at least one row is needed")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// A value in the data that training cannot use.
    #[error("{what}: row {row}, column {column} (counted from 0) holds {value}: {expected}")]
    Data {
        /// Which part of the data.
        what: &'static str,
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// The value found there.
        value: f64,
        /// What would be right.
        expected: String,
    },
    /// A value in a named column that cannot be used.
    #[error("column `{column}`, row {row} (counted from 0) holds {value}: {expected}")]
    Value {
        /// Name of the column, or of the term computed from it.
        column: String,
        /// Row, counted from 0.
        row: u64,
        /// The value found there.
        value: f64,
        /// What would be right.
        expected: String,
    },
    /// A text that cannot be read.
    #[error("cannot read {what}: expected {expected} here\n    {}", marked(text, *place))]
    Syntax {
        /// What the text should be.
        what: &'static str,
        /// The text.
        text: String,
        /// Where it goes wrong, in bytes from the start.
        place: usize,
        /// What would be right there.
        expected: String,
    },
    /// Training produced a number that is not finite. The last state with a finite loss is kept.
    #[error(
        "training stopped at step {step}: the {quantity} became {value}. The state after step {kept}, the last one with a finite loss, is kept; \
         try a smaller learning rate, gradient clipping, or scaled data"
    )]
    NotFinite {
        /// The step, counted from 1, at which it showed.
        step: u64,
        /// Which quantity was not finite.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// The step whose state is kept.
        kept: u64,
    },
    /// A file that is not a checkpoint, or not of this model.
    #[error("checkpoint {}: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Most characters of a foreign text in a message.
const SHOWN: usize = 80;

/// A foreign text between backticks for a message: cut if it is long, control characters escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text))
}

/// The same without backticks.
#[must_use]
pub fn shortened(text: &str) -> String {
    let mut out: String = text.chars().take(SHOWN).map(visible).collect();
    if text.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}

/// A character that cannot do anything to a terminal.
fn visible(c: char) -> String {
    // Marks that change the direction of what follows count, too: they make a message read as something else.
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if c.is_control() || hidden {
        c.escape_default().to_string()
    } else {
        c.to_string()
    }
}

/// The part of a text around a place, in bytes, with a mark below it.
fn marked(text: &str, place: usize) -> String {
    let whole = |at: &usize| text.is_char_boundary(*at);
    let place = (0..=place.min(text.len())).rev().find(whole).unwrap_or(0);
    let (before, after) = text.split_at(place);
    let cut_before = before.chars().count().saturating_sub(SHOWN / 2);
    let from: String = before.chars().skip(cut_before).map(visible).collect();
    let to: String = after.chars().take(SHOWN / 2).map(visible).collect();
    let (left, right) = (
        if cut_before > 0 { "…" } else { "" },
        if after.chars().nth(SHOWN / 2).is_some() {
            "…"
        } else {
            ""
        },
    );
    let indent = " ".repeat(left.chars().count() + from.chars().count());
    format!("{left}{from}{to}{right}\n    {indent}^")
}

impl Error {
    pub(crate) fn parameter(
        name: &'static str,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Error::Parameter {
            name,
            value: value.to_string(),
            expected: expected.into(),
        }
    }
}

/// Checks a hyper-parameter once, where it enters.
pub(crate) fn require(
    ok: bool,
    name: &'static str,
    value: impl ToString,
    expected: &str,
) -> Result<()> {
    if ok {
        Ok(())
    } else {
        Err(Error::parameter(name, value, expected))
    }
}

/// Checks a size once, where it enters.
pub(crate) fn require_len(what: impl Into<String>, got: usize, expected: usize) -> Result<()> {
    if got == expected {
        Ok(())
    } else {
        Err(Error::Shape {
            what: what.into(),
            got,
            expected,
        })
    }
}
