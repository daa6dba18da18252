//! Values that are no measurements: single ones far off their neighbours, and stretches in which a state stands still while it should not.
//!
//! A glitch of one row says nothing of the law and spoils everything that is summed: its square, cube and products with others. It is found while the data are looked at first, by a fit to the rows around it that a few others of its kind cannot pull away, and the value of
//! that fit is put in its place where sums are made. Where measurements are weighed it does not count.

mod around;
mod scanner;

use serde::{Deserialize, Serialize};

pub(crate) use scanner::{Scale, Scanner};

/// A value far off its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spike {
    /// Number of its row among all rows.
    #[serde(skip)]
    pub row: u64,
    /// Which state.
    pub state: usize,
    /// Where it stands, in words: a line or row of a file.
    pub place: String,
    /// What was measured.
    pub value: f64,
    /// What its neighbours say.
    pub expected: f64,
}

/// Rows in which a state keeps exactly one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Still {
    /// Number of the first row among all rows.
    #[serde(skip)]
    pub row: u64,
    /// How many rows.
    pub rows: u64,
    /// Which state.
    pub state: usize,
    /// Where the first row stands.
    pub place: String,
    /// The value.
    pub value: f64,
}

/// What is no measurement, in the order of the rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blemishes {
    /// Number of values far off their neighbours, and of rows in which a state stands still.
    pub values: u64,
    /// The first values far off.
    pub spikes: Vec<Spike>,
    /// The first stretches.
    pub still: Vec<Still>,
    /// The first rows that stand by themselves and are astray; the target that says so takes the place of a state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub astray: Vec<Spike>,
}

/// More than this share of all rows are no accidents, but what the data are.
pub(crate) const ACCIDENTS: f64 = 0.05;

/// Places of spikes and stretches that are told.
const TOLD: usize = 100;

impl Blemishes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spikes.is_empty() && self.still.is_empty() && self.astray.is_empty()
    }

    /// Rows that are astray, and nothing else.
    #[must_use]
    pub fn of_astray(astray: Vec<Spike>) -> Self {
        Blemishes {
            values: astray.len() as u64,
            astray,
            ..Blemishes::default()
        }
    }

    /// Those of two parts of the data.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.values += other.values;
        self.spikes.extend(other.spikes);
        self.still.extend(other.still);
        self.astray.extend(other.astray);
        self
    }

    /// The first of them.
    #[must_use]
    pub fn told(&self) -> Self {
        Blemishes {
            values: self.values,
            spikes: self.spikes.iter().take(TOLD).cloned().collect(),
            still: self.still.iter().take(TOLD).cloned().collect(),
            astray: self.astray.iter().take(TOLD).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
