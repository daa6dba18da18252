//! Libraries of terms.

use ell0::features::Library;

use super::text::{self, Grammar};
use crate::verdict::{Fault, Outcome, Verdict, error};

pub const TARGET: Grammar = Grammar {
    seeds: &SEEDS,
    words: &WORDS,
    run,
};

const SEEDS: [&str; 9] = [
    "polynomial(3)",
    "polynomial(2, no-bias)",
    "fourier(1, interactions)",
    "fourier(2, no-sin, published-interactions)",
    "functions(exp, tanh, reciprocal)",
    "polynomial(3) + fourier(1, interactions)",
    "(polynomial(1) + functions(tanh)) * polynomial(1)[u]",
    "polynomial(3)[x, y] without {x^3, x y}",
    "polynomial(2) only {x, \"x y\"}",
];

const WORDS: [&str; 33] = [
    "polynomial",
    "fourier",
    "functions",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "+",
    "*",
    ",",
    "only",
    "without",
    "no-bias",
    "no-interactions",
    "interactions-only",
    "interactions",
    "published-interactions",
    "no-sin",
    "no-cos",
    "exp",
    "log",
    "sqrt",
    "reciprocal",
    "x",
    "y",
    "u",
    "\"",
    "polynomial(100)",
    "polynomial(20)",
    "fourier(1000)",
    "fourier(60, interactions)",
];

fn run(bytes: &[u8]) -> Verdict {
    text::read(bytes, str::parse::<Library>, |library| {
        text::same_again(&library, &library.to_string(), str::parse)?;
        let features = match library.features(&["x", "y", "u"]) {
            Ok(features) => features,
            Err(e) => return error(e),
        };
        let count = features.len();
        if features.names().len() != count || features.terms().len() != count || count == 0 {
            return Err(Fault::wrong("a name for each term", ""));
        }
        match features.evaluate(&[0.5, -1.5, 2.0]) {
            Ok(values) if values.len() == count => Ok(Outcome::Valid),
            Ok(values) => {
                let what = format!("{} values of {count} terms", values.len());
                Err(Fault::wrong("a value for each term", what))
            }
            Err(e) => error(e),
        }
    })
}
