//! What the body of a policy is, as text.

use ell0_control::agent::ActorKind;

use super::text::{self, Grammar};
use crate::verdict::{Outcome, Verdict};

pub const TARGET: Grammar = Grammar {
    seeds: &SEEDS,
    words: &WORDS,
    run,
};

const SEEDS: [&str; 6] = [
    "network",
    "network(256, 256)",
    "sparse-network(64)",
    "sparse-network( 8 , 8 , 8 )",
    "polynomial(3)",
    "polynomial(2) + fourier(1, interactions)",
];

const WORDS: [&str; 11] = [
    "network",
    "sparse-network",
    "sparse",
    "-",
    "(",
    ")",
    ",",
    "64",
    "0",
    "polynomial",
    " ",
];

fn run(bytes: &[u8]) -> Verdict {
    text::read(bytes, str::parse::<ActorKind>, |kind| {
        text::same_again(&kind, &kind.to_string(), str::parse)?;
        Ok(Outcome::Valid)
    })
}
