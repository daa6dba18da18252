//! Trajectories with fewer rows than are needed: which, and how many.

use std::{fmt, path::PathBuf};

use ell0::wording::{shown, shown_path};

use crate::{
    error::Result,
    runs::{Runs, Spot},
};

/// A trajectory with fewer rows than are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortTrajectory {
    /// The file, or what a frame is called.
    pub path: PathBuf,
    /// Its number in the file, counted from 1, and the column that tells the experiments apart, if there is one.
    pub number: usize,
    /// That column.
    pub column: Option<String>,
    /// What a place is called: line or row.
    pub word: &'static str,
    /// Place of its first row.
    pub first: u64,
    /// Place of its last row.
    pub last: u64,
    /// Its rows.
    pub rows: usize,
}

impl fmt::Display for ShortTrajectory {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: ", shown_path(&self.path))?;
        match &self.column {
            Some(column) => write!(f, "trajectory {} (by `{}`), ", self.number, shown(column))?,
            None => write!(f, "its trajectory, ")?,
        }
        if self.first == self.last {
            write!(f, "{} {}, ", self.word, self.first)?;
        } else {
            write!(f, "{}s {} to {}, ", self.word, self.first, self.last)?;
        }
        match self.rows {
            1 => write!(f, "has only 1 row"),
            rows => write!(f, "has only {rows} rows"),
        }
    }
}

/// Stretches whose lengths are looked at.
const STRETCHES: usize = 10_000;

/// Rows of the stretches that have no gap, of the first of them.
pub fn stretch_lengths(mut runs: Runs) -> Result<Vec<usize>> {
    let mut lengths: Vec<usize> = Vec::new();
    while let Some(run) = runs.next_run()? {
        let rows = run.columns[0].len();
        let goes_on = !run.begins && !run.gap;
        let full = lengths.len() == STRETCHES;
        match lengths.last_mut() {
            Some(length) if goes_on => *length += rows,
            _ if full => break,
            _ => lengths.push(rows),
        }
    }
    Ok(lengths)
}

/// How many trajectories are too short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// The first of them.
    pub first: ShortTrajectory,
    /// Their number.
    pub short: u64,
    /// The number of all trajectories.
    pub trajectories: u64,
    /// Rows of the longest trajectory.
    pub longest: usize,
}

impl Shortage {
    /// Reads all runs to find trajectories of fewer rows than are needed; none if there are none.
    pub fn of(mut runs: Runs, needed: usize) -> Result<Option<Self>> {
        let column = runs.roles().trajectory.clone();
        let mut shortage: Option<Shortage> = None;
        let (mut trajectories, mut longest) = (0, 0);
        let mut present: Option<(Spot, usize)> = None;
        loop {
            let next = runs.next_stretch()?;
            if next.as_ref().is_none_or(|run| run.begins)
                && let Some((spot, rows)) = present.take()
            {
                trajectories += 1;
                longest = longest.max(rows);
                match &mut shortage {
                    _ if rows >= needed => {}
                    Some(shortage) => shortage.short += 1,
                    none => {
                        *none = Some(Shortage {
                            first: ShortTrajectory {
                                path: spot.path,
                                number: spot.number,
                                column: column.clone(),
                                word: spot.word,
                                first: spot.first,
                                last: spot.last,
                                rows,
                            },
                            short: 1,
                            trajectories: 0,
                            longest: 0,
                        });
                    }
                }
            }
            let Some(run) = next else { break };
            let spot = run.spot;
            let more = run.columns[0].len();
            match &mut present {
                Some((whole, rows)) => {
                    whole.last = spot.last;
                    *rows += more;
                }
                none => *none = Some((spot, more)),
            }
        }
        Ok(shortage.map(|shortage| Shortage {
            trajectories,
            longest,
            ..shortage
        }))
    }
}
