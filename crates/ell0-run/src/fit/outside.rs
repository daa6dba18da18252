//! Terms outside of a library, for what a law of it leaves.

use std::collections::HashSet;

use ell0::{
    features::{Factor, Features, Function, Library, Term},
    likelihood::Candidates,
};

use super::measured::Measured;
use crate::error::Result;

/// Candidates of all equations together.
const MOST: usize = 600;

/// A term larger than this somewhere is none that a law of these data could have.
pub(super) const LARGEST: f64 = 1e9;

/// Terms that a library has not: the usual functions of each of the first `inputs` inputs, higher powers and products.
pub(super) fn others(features: &Features, inputs: usize) -> Result<Vec<Term>> {
    let names = features.inputs();
    let mut more = Vec::new();
    // A variable of its own first: time, where there is one.
    for input in inputs..names.len() {
        more.push(Term::of(Factor::Power { input, exponent: 1 }));
    }
    for (function, _) in Function::ALL {
        more.extend((0..inputs).map(|input| {
            Term::of(Factor::Call {
                function,
                frequency: 1,
                input,
            })
        }));
    }
    let reciprocal = |input| {
        Term::of(Factor::Power {
            input,
            exponent: -1,
        })
    };
    more.extend((0..inputs).map(reciprocal));
    // A few inputs have few products; those of many are left aside.
    for degree in [1, 2, 3] {
        if degree < 3 || inputs <= 4 {
            more.extend_from_slice(
                Library::polynomial(degree)
                    .features(&names[..inputs])?
                    .terms(),
            );
        }
    }
    let mut known: HashSet<Term> = features.terms().iter().cloned().collect();
    more.retain(|term| known.insert(term.clone()));
    Ok(more)
}

/// The terms of a library and others, for a law of states over time.
pub(super) struct Outside {
    /// The library's terms first, in their order; time is the last input.
    pub features: Features,
    /// The others, for every equation.
    pub candidates: Candidates,
}

impl Outside {
    pub fn new(features: &Features, measured: &Measured) -> Result<Self> {
        let mut inputs = features.inputs().to_vec();
        let time = inputs.len();
        let free = |name: &&str| !inputs.iter().any(|i| i == name);
        let name = ["t", "time", "the time"].into_iter().find(free);
        inputs.push(name.unwrap_or("time since the beginning").into());
        let with_time = Features::from_terms(inputs, features.terms().to_vec())?;
        let others = others(&with_time, time)?.into_iter();
        let sound = others.filter(|term| is_sound(term, measured)).take(MOST);
        let terms = features.terms().iter().cloned().chain(sound).collect();
        let extended = Features::from_terms(with_time.inputs().to_vec(), terms)?;
        let n = measured.states;
        let room = MOST / n.max(1);
        let added: Vec<usize> = (features.len()..extended.len()).take(room).collect();
        Ok(Outside {
            candidates: Candidates {
                choices: vec![added.len(); n],
                terms: vec![added; n],
            },
            features: extended,
        })
    }
}

/// Whether a term has a value, and no huge one, in every row.
fn is_sound(term: &Term, measured: &Measured) -> bool {
    measured.pieces.iter().all(|piece| {
        let rows = piece.values.chunks_exact(piece.width()).zip(&piece.time);
        let mut row = vec![0.0; piece.width() + 1];
        rows.into_iter().all(|(values, time)| {
            row[..values.len()].copy_from_slice(values);
            row[values.len()] = *time;
            term.apply(&row).abs() < LARGEST
        })
    })
}
