//! All randomness: a case depends on the seed, the name of its target and its number, and on nothing else.

use ell0::rng::{Generator, Stream};

/// A generator with the questions that mutation asks.
#[derive(Clone, Debug)]
pub struct Dice(Generator);

impl Dice {
    /// The dice of one case.
    #[must_use]
    pub fn of(seed: u64, target: &str, case: u64) -> Self {
        Dice(Stream::new(seed).split(target).at(case))
    }

    /// A number below `n`, which must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.index(n.max(1))
    }

    /// A number between two others, both possible.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most.saturating_sub(least) + 1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of some things, of which there is at least one.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// From 1 to `most`, small ones as likely as large ones: the logarithm is uniform.
    pub fn size(&mut self, most: usize) -> usize {
        let size = (self.0.uniform() * (most as f64).ln()).exp();
        (size as usize).clamp(1, most.max(1))
    }

    /// Uniform in (0, 1).
    pub fn share(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    /// A place and a length within `length`, the latter mostly short.
    pub fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length.max(1)).min(length);
        let most = (length - start).max(1);
        let end = (start + self.size(most)).min(length);
        start..end
    }
}
