//! How noisy a series is, and how fast it moves.

/// The standard deviation of white noise on evenly sampled smooth series, from their eighth differences: these leave next to nothing of a smooth signal, and of
/// noise a known multiple, √12870.
pub fn noise_deviation(series: &[f64]) -> f64 {
    const ORDER: usize = 8;
    if series.len() <= ORDER + 1 {
        return 0.0;
    }
    let mut differences = series.to_vec();
    for order in 1..=ORDER {
        let n = series.len() - order;
        (0..n).for_each(|i| differences[i] = differences[i + 1] - differences[i]);
    }
    let n = series.len() - ORDER;
    let mean = differences[..n].iter().map(|d| d * d).sum::<f64>() / n as f64;
    (mean / 12_870.0).sqrt()
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
        let clean: Vec<f64> = (0..5000).map(|i| (f64::from(i) * 0.02).sin()).collect();
        assert!(noise_deviation(&clean) < 1e-12);
        let noisy: Vec<f64> = clean.iter().map(|x| x + 0.01 * rng.normal()).collect();
        assert!((noise_deviation(&noisy) / 0.01 - 1.0).abs() < 0.05);
        // A sixth of the period of 314 samples.
        for series in [&clean, &noisy] {
            let lag = decorrelation_lag(series, noise_deviation(series));
            assert!((45..=60).contains(&lag), "{lag}");
        }
        assert_eq!(noise_deviation(&[1.0, 2.0]), 0.0);
        assert_eq!(decorrelation_lag(&[1.0, 1.0], 0.0), 1);
    }
}
