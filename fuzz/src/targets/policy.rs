//! What the body of a policy is, as text.

use ell0_control::agent::ActorKind;

use super::{Target, text};
use crate::{
    dice::Dice,
    verdict::{Outcome, Verdict},
};

pub struct PolicyText;

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

impl Target for PolicyText {
    fn extension(&self) -> &'static str {
        "txt"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(text::seeds(&SEEDS))
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        text::mutate(dice, seeds, &WORDS)
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        text::read(bytes, str::parse::<ActorKind>, |kind| {
            text::same_again(&kind, &kind.to_string(), str::parse)?;
            Ok(Outcome::Valid)
        })
    }
}
