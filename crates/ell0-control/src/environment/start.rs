//! Where episodes begin.

use ell0::rng::{Generator, Stream};

use super::Environment;
use crate::error::Result;

/// Where an episode begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// In a state, for worlds that can be put into one.
    State(Vec<f64>),
    /// In the random state of this number: the same for everybody.
    Seed(u64),
    /// In the random state of this number of a stream.
    Drawn(Stream, u64),
}

impl Start {
    /// So many starts at random, numbered from 0.
    #[must_use]
    pub fn seeds(count: u64) -> Vec<Start> {
        (0..count).map(Start::Seed).collect()
    }

    /// So many starts of a stream.
    #[must_use]
    pub fn drawn(stream: &Stream, count: u64) -> Vec<Start> {
        (0..count)
            .map(|k| Start::Drawn(stream.clone(), k))
            .collect()
    }

    /// Starts in given states.
    #[must_use]
    pub fn states(states: impl IntoIterator<Item = Vec<f64>>) -> Vec<Start> {
        states.into_iter().map(Start::State).collect()
    }

    /// Begins an episode there; the randomness of the rest of the episode.
    pub fn begin(&self, world: &mut dyn Environment) -> Result<Generator> {
        let fixed = || Stream::new(0).split("starts");
        let mut rng = match self {
            Start::State(state) => {
                world.reset_to(state)?;
                return Ok(fixed().split("states").at(0));
            }
            Start::Seed(k) => fixed().at(*k),
            Start::Drawn(stream, k) => stream.at(*k),
        };
        world.reset(&mut rng);
        Ok(rng)
    }
}
