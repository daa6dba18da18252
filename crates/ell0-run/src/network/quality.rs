//! How good a network is on rows that it has not seen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How good a network is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase")]
pub enum Quality {
    /// Of numbers.
    Regression {
        /// Rows.
        rows: usize,
        /// Mean squared error over rows and targets.
        #[serde(rename = "test_mse")]
        mse: f64,
        /// Its 95 % interval.
        interval: (f64, f64),
        /// Share of each target's variance that is explained.
        r2: Vec<f64>,
    },
    /// Of classes.
    Classification {
        /// Rows.
        rows: usize,
        /// Share of the rows whose class is the likeliest.
        accuracy: f64,
        /// Its 95 % interval, by Wilson's formula.
        interval: (f64, f64),
        /// Mean of −log of the probability of the right class.
        log_loss: f64,
        /// For each class as it is, how often each was said.
        confusion: Vec<Vec<u64>>,
        /// How probabilities hold.
        calibration: Calibration,
    },
}

/// How often what is said with some probability is right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Mean gap between the probability of what is said and how often it is right, over the bins.
    pub error: f64,
    /// Tenths of the probability of what is said: rows, mean probability, share that is right.
    pub bins: Vec<(u64, f64, f64)>,
}

/// Bins of probabilities.
const BINS: usize = 10;

/// 97.5 % of a normal distribution lie below.
const Z: f64 = 1.959_963_984_540_054;

/// Wilson's 95 % interval of a share.
fn wilson(right: f64, rows: f64) -> (f64, f64) {
    let (share, z2) = (right / rows, Z * Z);
    let centre = (share + z2 / (2.0 * rows)) / (1.0 + z2 / rows);
    let half =
        Z / (1.0 + z2 / rows) * (share * (1.0 - share) / rows + z2 / (4.0 * rows * rows)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

/// The place of the largest of some numbers, the first of several.
pub(super) fn likeliest(logits: &[f64]) -> usize {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logits.iter().position(|l| *l == largest).unwrap_or(0)
}

impl fmt::Display for Quality {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Quality::Regression {
                mse, interval, r2, ..
            } => {
                let each: Vec<String> = r2.iter().map(|r| format!("{r:.4}")).collect();
                let (low, high) = interval;
                write!(
                    f,
                    "mean squared error {mse:.4e} ({low:.3e} … {high:.3e}), R² {}",
                    each.join(", ")
                )
            }
            Quality::Classification {
                accuracy, interval, ..
            } => {
                let (low, high) = interval;
                let percent = |share: &f64| 100.0 * share;
                write!(
                    f,
                    "accuracy {:.2} % ({:.2} … {:.2} %)",
                    percent(accuracy),
                    percent(low),
                    percent(high)
                )
            }
        }
    }
}

impl Quality {
    /// Share of wrong classes, or mean squared error.
    #[must_use]
    pub fn error(&self) -> f64 {
        match self {
            Quality::Regression { mse, .. } => *mse,
            Quality::Classification { accuracy, .. } => 1.0 - accuracy,
        }
    }

    /// The standard error of that.
    pub(super) fn standard_error(&self) -> f64 {
        match self {
            Quality::Regression { mse, interval, .. } => (interval.1 - mse) / Z,
            Quality::Classification { accuracy, rows, .. } => {
                (accuracy * (1.0 - accuracy) / *rows as f64).sqrt()
            }
        }
    }

    /// Of predictions and targets, both row by row.
    pub(super) fn of_numbers(predicted: &[f64], y: &[f64], targets: usize) -> Result<Self> {
        let rows = y.len() / targets.max(1);
        if rows == 0 || predicted.len() != y.len() {
            return Err(Error::NoData);
        }
        let squares: Vec<f64> = predicted
            .chunks_exact(targets)
            .zip(y.chunks_exact(targets))
            .map(|(p, y)| {
                p.iter().zip(y).map(|(p, y)| (p - y).powi(2)).sum::<f64>() / targets as f64
            })
            .collect();
        let mse = squares.iter().sum::<f64>() / rows as f64;
        let spread = squares.iter().map(|s| (s - mse).powi(2)).sum::<f64>();
        let deviation = (spread / (rows - 1).max(1) as f64).sqrt();
        let r2 = (0..targets).map(|k| {
            let own = || y.iter().skip(k).step_by(targets);
            let mean = own().sum::<f64>() / rows as f64;
            let all: f64 = own().map(|y| (y - mean).powi(2)).sum();
            let found = predicted.iter().skip(k).step_by(targets);
            let left: f64 = found.zip(own()).map(|(p, y)| (p - y).powi(2)).sum();
            1.0 - left / all.max(f64::MIN_POSITIVE)
        });
        Ok(Quality::Regression {
            rows,
            mse,
            interval: (
                (mse - Z * deviation / (rows as f64).sqrt()).max(0.0),
                mse + Z * deviation / (rows as f64).sqrt(),
            ),
            r2: r2.collect(),
        })
    }

    /// Of numbers for each class, whose softmax are probabilities, and the classes as they are.
    pub(super) fn of_classes(logits: &[f64], y: &[f64], classes: usize) -> Result<Self> {
        let rows = y.len();
        if rows == 0 || classes == 0 || logits.len() != rows * classes {
            return Err(Error::NoData);
        }
        let mut confusion = vec![vec![0u64; classes]; classes];
        let (mut log_loss, mut right) = (0.0, 0u64);
        let mut sums = vec![(0u64, 0.0, 0.0); BINS];
        for (logits, truth) in logits.chunks_exact(classes).zip(y) {
            let truth = (*truth as usize).min(classes - 1);
            let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let all: f64 = logits.iter().map(|l| (l - largest).exp()).sum();
            let said = likeliest(logits);
            let probability = 1.0 / all;
            log_loss += largest + all.ln() - logits[truth];
            confusion[truth][said] += 1;
            right += u64::from(said == truth);
            let bin = &mut sums[((probability * BINS as f64) as usize).min(BINS - 1)];
            bin.0 += 1;
            bin.1 += probability;
            bin.2 += f64::from(said == truth);
        }
        let bins: Vec<(u64, f64, f64)> = sums
            .into_iter()
            .map(|(count, p, hit)| (count, p / count.max(1) as f64, hit / count.max(1) as f64))
            .collect();
        let gap = bins.iter().map(|(n, p, hit)| *n as f64 * (p - hit).abs());
        Ok(Quality::Classification {
            rows,
            accuracy: right as f64 / rows as f64,
            interval: wilson(right as f64, rows as f64),
            log_loss: log_loss / rows as f64,
            confusion,
            calibration: Calibration {
                error: gap.sum::<f64>() / rows as f64,
                bins,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted() {
        // Three rows of two classes: right with 0.75, wrong with 0.75, right with 0.5.
        let three = 3f64.ln();
        let logits = [three, 0.0, three, 0.0, 0.0, 0.0];
        let found = Quality::of_classes(&logits, &[0.0, 1.0, 0.0], 2).expect("quality");
        let Quality::Classification {
            accuracy,
            interval,
            log_loss,
            confusion,
            calibration,
            ..
        } = found
        else {
            panic!("classes");
        };
        assert_eq!(accuracy, 2.0 / 3.0);
        assert!((interval.0 - 0.2077).abs() < 1e-4 && (interval.1 - 0.9385).abs() < 1e-4);
        let expected = -(0.75f64.ln() + 0.25f64.ln() + 0.5f64.ln()) / 3.0;
        assert!((log_loss - expected).abs() < 1e-12);
        assert_eq!(confusion, [[2, 0], [1, 0]]);
        // |0.75 − 0.5| for two rows, |0.5 − 1| for one.
        assert!((calibration.error - 1.0 / 3.0).abs() < 1e-12);
        assert!(Quality::of_classes(&logits, &[0.0], 2).is_err());
    }

    #[test]
    fn numbers_are_compared() {
        let found = Quality::of_numbers(&[1.0, 2.0, 3.0], &[1.0, 2.0, 6.0], 1).expect("quality");
        let Quality::Regression { mse, r2, .. } = found else {
            panic!("numbers");
        };
        assert_eq!(mse, 3.0);
        assert!((r2[0] - (1.0 - 9.0 / 14.0)).abs() < 1e-12);
    }
}
