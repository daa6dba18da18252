//! Local search over supports: add, drop and swap until nothing improves.

use super::{Problem, budget::Budget, support::Fitted};
use crate::error::{Result, require};

/// A support that no single move improves, fitted by least squares.
#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    /// The terms, in increasing order.
    pub support: Vec<usize>,
    /// Coefficients of all features in the user's units, target after target.
    pub coefficients: Vec<f64>,
    /// Mean squared error, summed over the targets.
    pub error: f64,
}

/// Adds, drops and swaps terms, the best move first, until none makes error + price·terms smaller, starting from any support.
pub fn polish_support(problem: &Problem, support: &[usize], price: f64) -> Result<Polished> {
    require(
        price >= 0.0 && price.is_finite(),
        "price",
        price,
        "it must be finite and not negative",
    )?;
    for (place, &term) in support.iter().enumerate() {
        let ok = term < problem.p && !support[..place].contains(&term);
        require(
            ok,
            "term",
            term,
            "each must be one of the problem's features, once",
        )?;
    }
    let fitted = polish(problem, support, price, problem.p);
    let coefficients = problem.unscaled(&fitted.coefficients());
    let error = fitted.error();
    let mut support = fitted.support;
    support.sort_unstable();
    Ok(Polished {
        support,
        coefficients,
        error,
    })
}

/// Improvements smaller than this, relative to the error without any term, are round-off.
const ROUND_OFF: f64 = 1e-13;

/// a < b; false if either is NaN.
fn below(a: f64, b: f64) -> bool {
    a < b
}

/// What a support costs: its error plus a price for each term.
fn objective(fitted: &Fitted, price: f64) -> f64 {
    fitted.error() + price * fitted.len() as f64
}

/// Adds, drops and swaps terms, the best move first, until no move makes error + price·terms smaller. The number of terms may not exceed `most`.
pub(super) fn polish(problem: &Problem, support: &[usize], price: f64, most: usize) -> Fitted {
    let mut fitted = Fitted::new(problem, support);
    polish_further(problem, &mut fitted, price, most, &Budget::endless());
    fitted
}

/// [`polish`] from where a fit is, as long as the budget lasts.
pub(super) fn polish_further(
    problem: &Problem,
    fitted: &mut Fitted,
    price: f64,
    most: usize,
    budget: &Budget,
) {
    let least = ROUND_OFF * problem.energy();
    while !budget.is_spent() {
        budget.spend(fitted.of_swaps() + 2 * fitted.of_a_move());
        let now = objective(fitted, price);
        let k = fitted.len() as f64;
        let add = fitted
            .best_add()
            .filter(|_| fitted.len() < most)
            .map(|m| (m, m.error + price * (k + 1.0)));
        let drop = fitted.best_drop().map(|m| (m, m.error + price * (k - 1.0)));
        let swap = fitted.best_swap().map(|m| (m, m.error + price * k));
        let best = [add, drop, swap]
            .into_iter()
            .flatten()
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((change, promised)) = best else {
            return;
        };
        // Written so that NaN stops, too.
        if !below(promised, now - least) {
            return;
        }
        // What the formulas promise must hold once the move is made; near collinear columns it may not.
        fitted.make(change);
        if !below(objective(fitted, price), now - least) {
            fitted.take_back(change);
            return;
        }
    }
}

/// Swaps terms until no swap makes the error smaller, as long as the budget lasts; the number of terms stays.
pub(super) fn swap(problem: &Problem, fitted: &mut Fitted, budget: &Budget) {
    let least = ROUND_OFF * problem.energy();
    while !budget.is_spent()
        && let Some(change) = fitted.best_swap()
    {
        budget.spend(fitted.of_swaps() + 2 * fitted.of_a_move());
        let limit = fitted.error() - least;
        if !below(change.error, limit) {
            break;
        }
        if !fitted.make(change) || !below(fitted.error(), limit) {
            fitted.take_back(change);
            break;
        }
    }
}
