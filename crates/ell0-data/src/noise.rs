//! How noisy a series is, and how fast it moves.

use crate::windows::Piece;

/// The standard deviation of white noise on samples of a smooth series, from their eighth divided differences: these leave next to nothing of a smooth signal,
/// whatever the times of the samples, and of noise a known multiple.
pub fn noise_deviation(time: &[f64], series: &[f64]) -> f64 {
    difference_deviation(time, series, 8)
}

/// Noise is left alike by differences of any order; where higher ones leave so much less, they leave movement.
const MOVEMENT: f64 = 0.7;

/// Whether what differences leave is the series itself, sampled too coarsely, and not noise: noise is left alike by differences of any order, a signal is left less and less by higher ones.
pub fn is_coarse(time: &[f64], series: &[f64]) -> bool {
    difference_deviation(time, series, 8) < MOVEMENT * difference_deviation(time, series, 6)
}

fn difference_deviation(time: &[f64], series: &[f64], order: usize) -> f64 {
    Differences::new(time, series, order).deviation()
}

/// Divided differences of some order, each scaled so that white noise leaves its own deviation.
pub(crate) struct Differences(Vec<f64>);

impl Differences {
    pub fn new(time: &[f64], series: &[f64], order: usize) -> Self {
        let n = series.len().min(time.len()).saturating_sub(order);
        let scaled = |start: usize| {
            let (t, x) = (&time[start..=start + order], &series[start..=start + order]);
            let width = t[order] - t[0];
            let weight = |j: usize| -> f64 {
                let others = (0..=order).filter(|&k| k != j);
                1.0 / others.map(|k| (t[j] - t[k]) / width).product::<f64>()
            };
            let (mut difference, mut size) = (0.0, 0.0);
            for (j, x) in x.iter().enumerate() {
                let w = weight(j);
                difference += w * x;
                size += w * w;
            }
            difference / size.sqrt()
        };
        Differences((0..n).map(scaled).collect())
    }

    /// The deviation of white noise that would leave these.
    pub fn deviation(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let squares: f64 = self.0.iter().map(|d| d * d).sum();
        (squares / self.0.len() as f64).sqrt()
    }

    /// The same by the median, which a few values far off do not move.
    pub fn typical(&self) -> f64 {
        let mut sizes: Vec<f64> = self.0.iter().map(|d| d.abs()).collect();
        if sizes.len() < 2 {
            return 0.0;
        }
        let middle = sizes.len() / 2;
        *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 / 0.6745
    }
}

/// The noise on a column of pieces, by eighth differences of all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiecesNoise {
    /// Its deviation.
    pub deviation: f64,
    /// Whether that is more than a bound: there are enough rows, and what differences leave is not the movement itself.
    pub is_known: bool,
}

/// Differences that are enough to tell.
const ENOUGH: usize = 50;

impl PiecesNoise {
    /// Of the column of this number.
    #[must_use]
    pub fn of(pieces: &[Piece], column: usize) -> Self {
        let mut eighth = Differences(Vec::new());
        let mut sixth = Differences(Vec::new());
        for piece in pieces {
            let rows = piece.values.chunks_exact(piece.width().max(1));
            let series: Vec<f64> = rows.map(|row| row[column]).collect();
            eighth.0.extend(Differences::new(&piece.time, &series, 8).0);
            sixth.0.extend(Differences::new(&piece.time, &series, 6).0);
        }
        let deviation = eighth.deviation();
        PiecesNoise {
            deviation,
            is_known: eighth.0.len() >= ENOUGH && deviation >= MOVEMENT * sixth.deviation(),
        }
    }
}

/// Standard deviation.
pub fn deviation(series: &[f64]) -> f64 {
    let n = series.len().max(1) as f64;
    let mean = series.iter().sum::<f64>() / n;
    (series.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// The number of samples after which a series has moved by about its own standard deviation: the smallest lag whose mean squared difference, less the noise's part,
/// reaches the variance. A sinusoid needs a sixth of its period.
pub fn decorrelation_lag(series: &[f64], noise: f64) -> usize {
    let variance = deviation(series).powi(2);
    let longest = series.len() / 4;
    let mut lag = 1;
    while lag < longest {
        let n = series.len() - lag;
        let mean = (0..n)
            .map(|i| (series[i + lag] - series[i]).powi(2))
            .sum::<f64>()
            / n as f64;
        if mean - 2.0 * noise * noise >= variance {
            break;
        }
        // A few per cent of precision is enough.
        lag += 1 + lag / 16;
    }
    lag.min(longest.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_and_speed_of_a_sinusoid_are_found() {
        let mut rng = ell0::rng::Stream::new(1).at(0);
        // Evenly sampled, and at times that are off by up to a third of a step.
        for jitter in [0.0, 0.3] {
            let time: Vec<f64> = (0..5000)
                .map(|i| (f64::from(i) + jitter * rng.uniform()) * 0.02)
                .collect();
            let clean: Vec<f64> = time.iter().map(|t| t.sin()).collect();
            assert!(noise_deviation(&time, &clean) < 1e-12);
            let noisy: Vec<f64> = clean.iter().map(|x| x + 0.01 * rng.normal()).collect();
            assert!((noise_deviation(&time, &noisy) / 0.01 - 1.0).abs() < 0.05);
            // A sixth of the period of 314 samples.
            for series in [&clean, &noisy] {
                let lag = decorrelation_lag(series, noise_deviation(&time, series));
                assert!((45..=60).contains(&lag), "{lag}");
            }
        }
        assert_eq!(noise_deviation(&[0.0, 1.0], &[1.0, 2.0]), 0.0);
        // Six samples a period leave much, but no noise; with noise they leave noise.
        let time: Vec<f64> = (0..400).map(f64::from).collect();
        let coarse: Vec<f64> = time.iter().map(|t| t.sin()).collect();
        assert!(noise_deviation(&time, &coarse) > 0.003 && is_coarse(&time, &coarse));
        let noisy: Vec<f64> = coarse.iter().map(|x| x + 0.05 * rng.normal()).collect();
        assert!(!is_coarse(&time, &noisy));
        assert_eq!(decorrelation_lag(&[1.0, 1.0], 0.0), 1);
    }
}
