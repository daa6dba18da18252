//! Randomness as an explicit, splittable value.
//!
//! A [`Stream`] is a key. Splitting it by a name gives an independent stream for another purpose; [`Stream::at`] gives the generator of
//! one index (a step, an episode, a sample). So the numbers of step 1000 do not depend on who drew what before: work can be
//! resumed or spread over threads, and the bits stay the same.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A seeded, splittable source of random generators.
///
/// ```
/// use ell0::rng::Stream;
/// let root = Stream::new(7);
/// let noise = root.split("gates");
/// assert_eq!(noise.at(3).uniform(), Stream::new(7).split("gates").at(3).uniform());
/// assert_ne!(noise.at(3).uniform(), noise.at(4).uniform());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u8; 32],
}

impl Stream {
    /// The root stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        Stream { key }
    }

    /// An independent stream for another purpose.
    pub fn split(&self, purpose: &str) -> Self {
        let mut rng = ChaCha8Rng::from_seed(self.key);
        // The top bit keeps names apart from the indices that `at` uses.
        rng.set_stream(fnv1a(purpose.as_bytes()) | 1 << 63);
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        Stream { key }
    }

    /// The generator of one index: a step, an episode, a sample.
    pub fn at(&self, index: u64) -> Generator {
        let mut rng = ChaCha8Rng::from_seed(self.key);
        rng.set_stream(index & !(1 << 63));
        Generator { rng }
    }
}

/// A generator of random numbers: ChaCha with eight rounds.
#[derive(Clone, Debug)]
pub struct Generator {
    rng: ChaCha8Rng,
}

impl Generator {
    /// Uniform in the open interval (0, 1), on a grid of 2⁻⁵² whose ends are half a step away from 0 and 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.rng.next_u64() >> 12) as f64 + 0.5) * 2f64.powi(-52)
    }

    /// Standard normal, by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// Fills `out` with numbers uniform in (0, 1), on a grid of 2⁻²³ whose ends are half a step away from 0 and 1,
    /// so that both u and 1 − u are exact in single precision.
    pub fn fill_uniform(&mut self, out: &mut [f32]) {
        for u in out {
            *u = ((self.rng.next_u32() >> 9) as f32 + 0.5) * 2f32.powi(-23);
        }
    }

    /// Fills `out` with indices drawn uniformly, with replacement, from `0..n`.
    pub(crate) fn fill_indices(&mut self, n: usize, out: &mut [usize]) {
        for index in out {
            *index = self.index(n);
        }
    }

    /// One index drawn uniformly from `0..n`. Multiplying instead of dividing (Lemire) leaves a bias below n·2⁻⁶⁴.
    pub fn index(&mut self, n: usize) -> usize {
        ((self.rng.next_u64() as u128 * n as u128) >> 64) as usize
    }
}

/// FNV-1a: a short, stable hash for names and checksums; not a defence against intent.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_numbers_stay_inside_the_open_interval_and_have_the_right_moments() {
        let mut generator = Stream::new(1).at(0);
        let n = 100_000;
        let mut values = vec![0f32; n];
        generator.fill_uniform(&mut values);
        assert!(values.iter().all(|&u| u > 0.0 && u < 1.0));
        let mean = values.iter().map(|&u| f64::from(u)).sum::<f64>() / n as f64;
        // Five standard errors of the mean of a uniform number.
        assert!((mean - 0.5).abs() < 5.0 / (12.0 * n as f64).sqrt());
    }

    #[test]
    fn normal_numbers_have_the_right_moments() {
        let mut generator = Stream::new(2).at(0);
        let n = 100_000;
        let values: Vec<f64> = (0..n).map(|_| generator.normal()).collect();
        let mean = values.iter().sum::<f64>() / n as f64;
        let variance = values.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(mean.abs() < 5.0 / (n as f64).sqrt());
        assert!((variance - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt());
    }

    #[test]
    fn indices_cover_their_range_evenly() {
        let mut counts = [0usize; 10];
        let mut generator = Stream::new(3).at(0);
        for _ in 0..100_000 {
            counts[generator.index(10)] += 1;
        }
        // Five standard deviations of a binomial count with n = 100,000 and p = 0.1.
        assert!(
            counts
                .iter()
                .all(|&c| (c as f64 - 10_000.0).abs() < 5.0 * 9_000f64.sqrt())
        );
    }

    #[test]
    fn streams_of_other_names_and_indices_differ() {
        let root = Stream::new(0);
        let mut seen: Vec<u64> = ["a", "b", "gates", "batches"]
            .iter()
            .flat_map(|name| {
                (0..3)
                    .map(|i| root.split(name).at(i).uniform().to_bits())
                    .collect::<Vec<_>>()
            })
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 12);
    }
}
