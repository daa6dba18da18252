//! How noisy a series is, and how fast it moves.

/// The standard deviation of white noise on samples of a smooth series, from their eighth divided differences: these leave next to nothing of a smooth signal,
/// whatever the times of the samples, and of noise a known multiple.
pub fn noise_deviation(time: &[f64], series: &[f64]) -> f64 {
    difference_deviation(time, series, 8)
}

/// Whether what differences leave is the series itself, sampled too coarsely, and not noise: noise is left alike by differences of any order, a signal is left less and less by higher ones.
pub fn is_coarse(time: &[f64], series: &[f64]) -> bool {
    difference_deviation(time, series, 8) < 0.7 * difference_deviation(time, series, 6)
}

/// The deviation of white noise that would leave what divided differences of this order leave.
fn difference_deviation(time: &[f64], series: &[f64], order: usize) -> f64 {
    let n = series.len().min(time.len()).saturating_sub(order);
    if n < 2 {
        return 0.0;
    }
    let mut total = 0.0;
    for start in 0..n {
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
        total += difference * difference / size;
    }
    (total / n as f64).sqrt()
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
