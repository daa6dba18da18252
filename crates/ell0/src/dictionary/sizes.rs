//! The best support of every size.

use super::{
    Problem,
    budget::Budget,
    curve::GateCurve,
    ending::Ending,
    exact::supports_along,
    polish::{polish_further, swap},
    support::Fitted,
};
use crate::{error::Result, gates::HardConcrete};

/// Prices along which gates are trained.
const PRICES: usize = 40;

/// The best support of each size that was found, with its error.
struct Best(Vec<Option<(f64, Vec<usize>)>>);

impl Best {
    fn offer(&mut self, fitted: &Fitted) {
        if let Some(slot) = self.0.get_mut(fitted.len()) {
            let error = fitted.error();
            if slot.as_ref().is_none_or(|(e, _)| error < *e) {
                *slot = Some((error, fitted.support.clone()));
            }
        }
    }

    fn support(&self, size: usize) -> Option<&[usize]> {
        self.0[size].as_ref().map(|(_, support)| &support[..])
    }

    /// Whether a fit has the very terms that are best so far: then nothing is to be gained from swapping, which has been tried.
    fn has(&self, fitted: &Fitted) -> bool {
        let known = self.0.get(fitted.len()).and_then(Option::as_ref);
        known.is_some_and(|(_, support)| fitted.support.iter().all(|j| support.contains(j)))
    }
}

/// Gates along a falling price give supports; polished, they seed every size; then each size learns from its neighbours: the best of one size plus its best
/// addition, or minus its least loss, swapped until nothing improves.
///
/// The path ends where `ending` says so, which `note` tells of each model; if `note` says no, it ends at once. Where the budget is spent, it ends with what was found.
pub(super) fn best_of_each_size(
    problem: &Problem,
    full: Fitted,
    gate: &HardConcrete,
    most: usize,
    budget: &Budget,
    ending: &mut Ending,
    mut note: impl FnMut(&mut Ending, &Fitted) -> Result<bool>,
) -> Result<Vec<Vec<usize>>> {
    let energy = problem.energy();
    if energy == 0.0 {
        return Ok(vec![Vec::new()]);
    }
    let largest = full.len().min(most);
    let mut best = Best(vec![None; largest + 1]);
    let nothing = Fitted::new(problem, &[]);
    best.offer(&nothing);
    best.offer(&full);
    // From the price at which the first term pays to where all that is left to gain is round-off.
    let lowest = ((energy - full.error()) * 1e-12)
        .max((full.error() / problem.n).min(energy * 1e-4))
        .max(energy * 1e-14);
    let prices: Vec<f64> = (0..PRICES)
        .map(|i| energy * (lowest / energy).powf(i as f64 / (PRICES - 1) as f64))
        .collect();
    drop(full);
    let curve = GateCurve::expected_l0(gate);
    let mut previous: Option<Vec<usize>> = None;
    let mut fitted = nothing.clone();
    // The largest size that was found beside all terms together.
    let mut reached = 0;
    for (support, &price) in supports_along(problem, gate, &curve, &prices, budget).zip(&prices) {
        if previous.as_ref() == Some(&support) {
            continue;
        }
        // Twice: polishing drops many of the terms that gates hold half open.
        if ending.is_at(support.len() / 2) {
            break;
        }
        // What a descent left half open when the budget was spent is no support.
        if budget.is_spent() {
            break;
        }
        let wanted = &support[..support.len().min(most)];
        budget.spend(wanted.len() * fitted.of_a_move());
        fitted.go_to(wanted);
        polish_further(problem, &mut fitted, price, most, budget);
        best.offer(&fitted);
        reached = reached.max(fitted.len());
        if !note(ending, &fitted)? || ending.is_at(fitted.len()) {
            break;
        }
        previous = Some(support);
    }
    // Upwards, then downwards.
    let mut last = largest;
    fitted = nothing;
    for size in 0..largest {
        let Some(support) = best.support(size) else {
            continue;
        };
        if budget.is_spent() {
            last = reached.max(size);
            break;
        }
        budget.spend(size * fitted.of_a_move());
        fitted.go_to(support);
        if !note(ending, &fitted)? || ending.is_at(size) {
            last = size;
            break;
        }
        if let Some(change) = fitted.best_add() {
            fitted.make(change);
            if !best.has(&fitted) {
                swap(problem, &mut fitted, budget);
                best.offer(&fitted);
            }
        }
    }
    best.0.truncate(last + 1);
    for size in (0..last).rev() {
        if budget.is_spent() {
            break;
        }
        budget.spend(size * fitted.of_a_move());
        let Some(support) = best.support(size + 1) else {
            continue;
        };
        fitted.go_to(support);
        if let Some(change) = fitted.best_drop() {
            fitted.make(change);
            if !best.has(&fitted) {
                swap(problem, &mut fitted, budget);
                best.offer(&fitted);
            }
        }
    }
    let found = best.0.into_iter().flatten();
    Ok(found.map(|(_, support)| support).collect())
}
