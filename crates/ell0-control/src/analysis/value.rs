//! The small values that findings are made of.

use std::ops::Index;

use serde::{Deserialize, Serialize};

/// Everything from a least to a greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Range {
    /// From the least to the greatest.
    #[must_use]
    pub const fn new(low: f64, high: f64) -> Self {
        Range { low, high }
    }

    /// From −bound to bound.
    #[must_use]
    pub const fn symmetric(bound: f64) -> Self {
        Range::new(-bound, bound)
    }

    /// How far it reaches.
    #[must_use]
    pub fn width(self) -> f64 {
        self.high - self.low
    }

    /// The value at a share of the way from the least to the greatest.
    #[must_use]
    pub fn at(self, share: f64) -> f64 {
        self.low + (self.high - self.low) * share
    }

    /// Whether a value lies in it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    /// Its absolute value.
    #[must_use]
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }
}

/// A matrix, row by row; in JSON a list of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Matrix(Vec<Vec<f64>>);

impl Matrix {
    /// A matrix of given rows.
    #[must_use]
    pub fn from_rows(rows: Vec<Vec<f64>>) -> Self {
        Matrix(rows)
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.0
    }
}

impl Index<usize> for Matrix {
    type Output = [f64];

    /// A row.
    fn index(&self, row: usize) -> &[f64] {
        &self.0[row]
    }
}

/// What linearisation tells of an equilibrium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stability {
    /// What is near comes closer.
    Stable,
    /// Something near goes away.
    Unstable,
    /// Nothing: an eigenvalue is on the limit, up to rounding, or there is a jump or a corner.
    Undecided,
}
