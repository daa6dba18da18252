//! What came out, for people and for programs.

use std::{fmt::Write, path::PathBuf, time::Duration};

use serde::Serialize;

use crate::{verdict::Fault, worker::Status};

/// What came of all cases of a parser.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The parser.
    pub parser: String,
    /// Cases that were run.
    pub cases: u64,
    /// Those that were valid.
    pub valid: u64,
    /// Those that were refused.
    pub errors: u64,
    /// Different faults.
    pub defects: usize,
    /// The longest time, in milliseconds.
    pub slowest_ms: f64,
    /// The case that took it.
    pub slowest_case: u64,
    /// The most memory, in megabytes.
    pub memory_mb: f64,
    /// Cases a second, on one core.
    pub per_second: f64,
    /// Time of all workers.
    #[serde(skip)]
    pub time: Duration,
}

impl Row {
    /// Nothing yet.
    #[must_use]
    pub fn new(parser: &str) -> Self {
        Row {
            parser: parser.into(),
            ..Row::default()
        }
    }

    /// Adds what a worker did.
    pub fn add(&mut self, status: Status, cases: u64, time: Duration) {
        self.cases += cases;
        self.valid += status.valid;
        self.errors += status.errors;
        let slowest = status.slowest as f64 / 1000.0;
        if slowest > self.slowest_ms {
            (self.slowest_ms, self.slowest_case) = (slowest, status.slowest_case);
        }
        self.memory_mb = self
            .memory_mb
            .max(status.memory as f64 / f64::from(1 << 20));
        self.time += time;
        self.per_second = crate::parsers::rate(self.cases, self.time);
    }
}

/// A fault, made small.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Defect {
    /// The parser.
    pub parser: String,
    /// The first case that has it.
    pub case: u64,
    /// Cases that have it.
    pub times: u64,
    /// What is wrong.
    pub fault: Fault,
    /// Bytes of the small case.
    pub length: usize,
    /// How they begin.
    pub input: String,
    /// Where they are kept.
    pub file: Option<PathBuf>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// A row for each parser.
    pub rows: Vec<Row>,
    /// The faults.
    pub defects: Vec<Defect>,
    /// What else is to be said.
    pub notes: Vec<String>,
    /// Time in all.
    pub seconds: f64,
}

impl Report {
    /// As a table.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = format!(
            "{:<12} {:>9} {:>9} {:>9} {:>8} {:>11} {:>10} {:>10} {:>9}\n",
            "parser",
            "cases",
            "valid",
            "errors",
            "defects",
            "slowest ms",
            "its case",
            "memory MB",
            "per s"
        );
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:<12} {:>9} {:>9} {:>9} {:>8} {:>11.1} {:>10} {:>10.1} {:>9.0}",
                row.parser,
                row.cases,
                row.valid,
                row.errors,
                row.defects,
                row.slowest_ms,
                row.slowest_case,
                row.memory_mb,
                row.per_second
            );
        }
        for defect in &self.defects {
            let _ = write!(
                out,
                "\n{} {}: case {} and {} more\n    {}\n    {} bytes: {}\n",
                defect.parser,
                defect.fault.signature(),
                defect.case,
                defect.times - 1,
                defect.fault.what.replace('\n', "\n    "),
                defect.length,
                defect.input
            );
            if let Some(file) = &defect.file {
                let _ = writeln!(out, "    kept as {}", file.display());
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "\nnote: {note}");
        }
        let _ = write!(
            out,
            "\n{} cases in {:.0} s, {} defects\n",
            self.rows.iter().map(|r| r.cases).sum::<u64>(),
            self.seconds,
            self.defects.len()
        );
        out
    }
}
