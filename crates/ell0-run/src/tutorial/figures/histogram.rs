//! Counts of samples, to hold against a density.

use ell0_plot::Series;

/// Samples counted in bins of equal width, and those that fall outside left out.
pub struct Histogram {
    low: f64,
    width: f64,
    counts: Vec<u64>,
    /// All samples, inside or not.
    total: u64,
}

impl Histogram {
    pub fn new(low: f64, high: f64, bins: usize) -> Self {
        Histogram {
            low,
            width: (high - low) / bins as f64,
            counts: vec![0; bins],
            total: 0,
        }
    }

    /// Counts a sample.
    pub fn add(&mut self, value: f64) {
        self.skip();
        let bin = (value - self.low) / self.width;
        if bin >= 0.0
            && let Some(count) = self.counts.get_mut(bin as usize)
        {
            *count += 1;
        }
    }

    /// Counts a sample that belongs to a point mass: it is in no bin.
    pub fn skip(&mut self) {
        self.total += 1;
    }

    fn edges(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let edge = |k: usize| self.low + self.width * k as f64;
        let with_edges = move |(k, &count): (usize, &u64)| (edge(k), edge(k + 1), count);
        self.counts.iter().enumerate().map(with_edges)
    }

    /// Steps as high as the density that the counts estimate.
    pub fn steps(&self, name: &str) -> Series {
        let height = |count: u64| count as f64 / (self.total.max(1) as f64 * self.width);
        let corners = |(from, to, count)| [(from, 0.0, height(count)), (to, 0.0, height(count))];
        Series::band(name, self.edges().flat_map(corners))
    }

    /// How far the counts are from what a distribution function (and point masses, as (samples there, probability)) lets expect: (χ² − k)/√(2k), where k is
    /// the number of bins that are free. About standard normal if the samples are from the distribution.
    pub fn deviation(&self, cdf: impl Fn(f64) -> f64, masses: &[(u64, f64)]) -> f64 {
        let total = self.total as f64;
        let bins = self
            .edges()
            .map(|(from, to, count)| (count, cdf(to) - cdf(from)));
        let (mut chi, mut free) = (0.0, -1.0);
        for (count, probability) in bins.chain(masses.iter().copied()) {
            let expected = total * probability;
            // Where hardly a sample is expected, the count is not nearly normal.
            if expected >= 5.0 {
                chi += (count as f64 - expected).powi(2) / expected;
                free += 1.0;
            }
        }
        (chi - free) / (2.0f64 * free).sqrt()
    }
}
