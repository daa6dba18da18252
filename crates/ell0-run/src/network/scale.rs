//! Columns with mean 0 and deviation 1: what a network learns from.

use serde::{Deserialize, Serialize};

/// A column whose deviation is a smaller share of its mean never changes: rounding leaves that much.
const STILL: f64 = 1e-12;

/// How columns are brought to mean 0 and deviation 1, and back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// The mean of each column.
    pub mean: Vec<f64>,
    /// The deviation of each column; 1 for one that never changes.
    pub deviation: Vec<f64>,
}

impl Scale {
    /// That of rows of so many columns.
    #[must_use]
    pub fn of(rows: &[f64], columns: usize) -> Self {
        let count = (rows.len() / columns.max(1)).max(1) as f64;
        let sum = |value: &dyn Fn(usize, f64) -> f64| {
            let mut sums = vec![0.0; columns];
            for row in rows.chunks_exact(columns.max(1)) {
                for (k, x) in row.iter().enumerate() {
                    sums[k] += value(k, *x);
                }
            }
            sums
        };
        let mean: Vec<f64> = sum(&|_, x| x).iter().map(|s| s / count).collect();
        let squares = sum(&|k, x| (x - mean[k]).powi(2));
        let deviation = squares.iter().zip(&mean).map(|(square, mean)| {
            let deviation = (square / count).sqrt();
            match deviation <= STILL * mean.abs() {
                true => 1.0,
                false => deviation,
            }
        });
        Scale {
            deviation: deviation.collect(),
            mean,
        }
    }

    /// Leaves so many columns as they are.
    #[must_use]
    pub fn none(columns: usize) -> Self {
        Scale {
            mean: vec![0.0; columns],
            deviation: vec![1.0; columns],
        }
    }

    /// Rows as a network sees them.
    pub(super) fn there(&self, rows: &[f64]) -> Vec<f32> {
        let columns = self.mean.iter().zip(&self.deviation).cycle();
        let scaled = rows.iter().zip(columns);
        scaled.map(|(x, (m, d))| ((x - m) / d) as f32).collect()
    }

    /// What a network gives, in the units of the data.
    pub(super) fn back(&self, rows: &[f32]) -> Vec<f64> {
        let columns = self.mean.iter().zip(&self.deviation).cycle();
        let scaled = rows.iter().zip(columns);
        scaled.map(|(x, (m, d))| f64::from(*x) * d + m).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_there_and_back() {
        let rows = [1.0, 7.0, 1e9, 3.0, 7.0, 1e9 + 2.0];
        let scale = Scale::of(&rows, 3);
        assert_eq!(scale.mean, [2.0, 7.0, 1e9 + 1.0]);
        assert_eq!(scale.deviation, [1.0, 1.0, 1.0]);
        let there = scale.there(&rows);
        assert_eq!(there, [-1.0, 0.0, -1.0, 1.0, 0.0, 1.0]);
        assert_eq!(scale.back(&there), rows);
    }
}
