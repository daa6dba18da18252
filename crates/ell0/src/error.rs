//! What can go wrong, with the value at fault and what would be right.

use std::path::PathBuf;

use crate::wording::{marked, shown, shown_path, told};

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in this crate. Bad input ends here, never in a panic.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A hyper-parameter outside its range.
    #[error("{name} = {} is not allowed: {}", told(value), told(expected))]
    Parameter {
        /// Name of the hyper-parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// A name that is not one of those known.
    #[error("unknown {kind} `{}`: expected one of {expected}", shown(name))]
    Unknown {
        /// What was to be named, for example "activation".
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// The names that exist.
        expected: &'static str,
    },
    /// Sizes that do not fit together.
    #[error("{}: got {got}, expected {expected}", told(what))]
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
    #[error(
        "column `{}`, row {row} (counted from 0) holds {value}: {expected}",
        shown(column)
    )]
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
    #[error("cannot read {what}: expected {} here\n{}", told(expected), marked(text, *place, 4))]
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
    #[error("checkpoint {}: {}", shown_path(path), told(reason))]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and what to do.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", shown_path(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
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
