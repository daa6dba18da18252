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
    pub fn of<'a>(rows: impl Iterator<Item = &'a [f64]> + Clone, columns: usize) -> Self {
        let sum = |value: &dyn Fn(usize, f64) -> f64| {
            let (mut sums, mut count) = (vec![0.0; columns], 0u64);
            for row in rows.clone() {
                for (k, (sum, x)) in sums.iter_mut().zip(row).enumerate() {
                    *sum += value(k, *x);
                }
                count += 1;
            }
            sums.iter_mut().for_each(|s| *s /= count.max(1) as f64);
            sums
        };
        let mean = sum(&|_, x| x);
        let squares = sum(&|k, x| (x - mean[k]).powi(2));
        let deviation = squares.iter().zip(&mean).map(|(square, mean)| {
            let deviation = square.sqrt();
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

    /// The same mean and deviation for all columns: what is constant or rare, as at the edge of images, stays small.
    #[must_use]
    pub fn together<'a>(rows: impl Iterator<Item = &'a [f64]> + Clone, columns: usize) -> Self {
        let each = Scale::of(rows.clone().flat_map(|row| row.chunks(1)), 1);
        Scale {
            mean: vec![each.mean[0]; columns],
            deviation: vec![each.deviation[0]; columns],
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
    pub(super) fn there<'a>(&'a self, rows: &'a [f64]) -> impl Iterator<Item = f32> + 'a {
        let columns = self.mean.iter().zip(&self.deviation).cycle();
        let scaled = rows.iter().zip(columns);
        scaled.map(|(x, (m, d))| ((x - m) / d) as f32)
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
        let scale = Scale::of(rows.chunks_exact(3), 3);
        assert_eq!(scale.mean, [2.0, 7.0, 1e9 + 1.0]);
        assert_eq!(scale.deviation, [1.0, 1.0, 1.0]);
        let there: Vec<f32> = scale.there(&rows).collect();
        assert_eq!(there, [-1.0, 0.0, -1.0, 1.0, 0.0, 1.0]);
        assert_eq!(scale.back(&there), rows);
        let together = Scale::together([0.0, 2.0, 6.0, 8.0].chunks_exact(2), 2);
        assert_eq!(together.mean, [4.0; 2]);
        assert_eq!(together.deviation, [10.0f64.sqrt(); 2]);
    }
}
