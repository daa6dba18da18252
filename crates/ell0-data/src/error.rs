//! What can be wrong with measurements.

use std::path::PathBuf;

use ell0::wording::{meant, shown, shown_path, told};

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can be wrong with measurements, with the file (or the name of a frame), the row and the column.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot read {}: {source}", shown_path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The operating system refused to write.
    #[error("cannot write {}: {source}", shown_path(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The file is not what its name says.
    #[error("{}: {}", shown_path(path), told(reason))]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A library whose statistics no usual computer holds.
    #[error(
        "the library has {terms} terms; their statistics in {groups} groups of rows would take {gigabytes:.1} GB, and at most 1 GB is taken: lower the degree, or restrict the inputs"
    )]
    LargeLibrary {
        /// Its terms.
        terms: usize,
        /// Groups of rows, each with statistics of its own.
        groups: usize,
        /// What they would take.
        gigabytes: f64,
    },
    /// A column that is not there.
    #[error(
        "{}: there is no column `{}`{}",
        shown_path(path),
        shown(column),
        meant(column, "columns", columns)
    )]
    Column {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        column: String,
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A width that no cubic and no bump can have.
    #[error(
        "{derivative}: from {least} to {most} points on either side are possible; without a number the width is that of the data"
    )]
    Width {
        /// What was asked for.
        derivative: String,
        /// Points on either side, at least.
        least: usize,
        /// And at most.
        most: usize,
    },
    /// A cell that is not a finite number.
    #[error(
        "{}: {place}, column `{}` holds {found}: expected a finite number",
        shown_path(path),
        shown(column)
    )]
    Cell {
        /// The file.
        path: PathBuf,
        /// The line of the file, or the row, counted from 1.
        place: String,
        /// The column.
        column: String,
        /// What is there.
        found: String,
    },
    /// Time that does not run forwards.
    #[error(
        "{}: {place}: time goes from {before} to {after}; within a trajectory it must increase",
        shown_path(path)
    )]
    Time {
        /// The file.
        path: PathBuf,
        /// The line of the file, or the row, counted from 1.
        place: String,
        /// Time of the row before.
        before: f64,
        /// Time of this row.
        after: f64,
    },
    /// Columns of different length.
    #[error(
        "{}: column `{}` has {rows} rows, but `{}` has {expected}",
        shown_path(path),
        shown(column),
        shown(first)
    )]
    Length {
        /// The frame.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its rows.
        rows: usize,
        /// The column that it differs from.
        first: String,
        /// The rows of that one.
        expected: usize,
    },
    /// Saved statistics that cannot be read.
    #[error(transparent)]
    Evidence(#[from] crate::evidence::EvidenceError),
    /// The values cannot be worked with.
    #[error(transparent)]
    Model(#[from] ell0::Error),
}
