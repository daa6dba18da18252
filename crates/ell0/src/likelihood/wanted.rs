//! What a law lacks: terms, of another library perhaps, that what it leaves goes along with.

use super::{
    Beginning, Candidates, LikelihoodConfig, Window, choose::judge_as_it_is, neighbours::changes,
};
use crate::{error::Result, features::Features};

/// A term that a law lacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// By its index.
    pub term: usize,
    /// The share of all squared residuals that it would take away.
    pub share: f64,
    /// By how much the evidence would grow: the score would fall by so much.
    pub gain: f64,
}

/// For each equation of a law, the candidate that its residuals go along with most; none if there is none or the law cannot be followed.
pub fn wanted_terms(
    features: &Features,
    windows: &[Window],
    candidates: &Candidates,
    law: &Beginning,
    config: &LikelihoodConfig,
) -> Result<Vec<Option<Wanted>>> {
    let (judge, now) = judge_as_it_is(features, windows, candidates, law, config, &|_| true)?;
    let squares = now.fitted.squares.max(f64::MIN_POSITIVE);
    let mut wanted = vec![None; law.law.len()];
    for change in changes(&judge, &now).unwrap_or_default() {
        let (None, Some(term)) = (change.dropped, change.added) else {
            continue;
        };
        let slot: &mut Option<Wanted> = &mut wanted[change.equation];
        if slot.is_none_or(|best| -change.worse > best.gain) {
            *slot = Some(Wanted {
                term,
                share: (-change.rise / squares).clamp(0.0, 1.0),
                gain: -change.worse,
            });
        }
    }
    Ok(wanted)
}
