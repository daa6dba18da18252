//! Laws that are one change away: a term dropped, added, or put in another's place.
//!
//! Near the most likely coefficients the sum of squares is a quadratic form, so one pass over the windows with the derivatives by the coefficients of all candidates tells what each of these laws would leave. With M the information of the
//! terms that are there, c their coefficients and v the diagonal of M⁻¹, the sum rises by cⱼ²/vⱼ without term j. With term k it falls by g²/r, where g is its gradient and r its information, both less what the others say of it;
//! in the place of j it has g + bⱼcⱼ/vⱼ and r + bⱼ²/vⱼ, b being M⁻¹ times its information with the others.

use super::{
    evidence::{Judge, Judged},
    fit::{Reduced, information, of_equations},
    law::Alternative,
    linear::Factored,
};

/// A change of one equation, and by how much the evidence would fall.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The equation.
    pub equation: usize,
    /// The term that goes, if one does, by its index in the library.
    pub dropped: Option<usize>,
    /// The term that comes, if one does.
    pub added: Option<usize>,
    /// By how much the score would grow: less evidence is a larger score.
    pub worse: f64,
    /// By how much the sum of squares would.
    pub rise: f64,
}

/// What the others say of a term already, up to this share, cannot be added.
const COPY: f64 = 1e-9;

/// Alternatives that are told: down to these odds, and so many for an equation.
const ODDS: f64 = 0.05;
const MOST_TOLD: usize = 3;

/// All single changes of a law; none if the measurements say nothing of some of its terms.
pub(super) fn changes(judge: &Judge, now: &Judged) -> Option<Vec<Change>> {
    let n = now.supports.len();
    // Columns: the candidates of each equation, with the terms that are there.
    let columns: Vec<Vec<usize>> = (0..n)
        .map(|i| {
            let mut all = judge.candidates.terms[i].clone();
            all.extend(&now.supports[i]);
            all.sort_unstable();
            all.dedup();
            all
        })
        .collect();
    let width = columns.iter().map(Vec::len).sum();
    let mut coefficients = vec![0.0; width];
    let mut there = Vec::new();
    let mut known = now.fitted.coefficients.iter();
    let mut first = 0;
    for (support, columns) in now.supports.iter().zip(&columns) {
        for j in support {
            let at = first + columns.binary_search(j).ok()?;
            coefficients[at] = *known.next()?;
            there.push(at);
        }
        first += columns.len();
    }
    let p = there.len();
    let flow = judge.flow(&columns);
    // Each candidate is held against the terms that are there.
    let beside = (width * p * (p + 4)) as u64;
    if !now.fitted.begun || !judge.affords(of_equations(&flow, judge.windows, p) + beside) {
        return None;
    }
    let (starts, left) = (&now.fitted.starts, judge.left());
    let Reduced {
        information,
        diagonal,
        gradient,
        ..
    } = information(&flow, judge.windows, starts, &coefficients, &there, left);
    flow.note(beside);
    judge.done(&flow);
    let own: Vec<f64> = (0..p)
        .flat_map(|a| there.iter().map(move |b| (a, *b)))
        .map(|(a, b)| information[a * width + b])
        .collect();
    let factored = Factored::new(&own, p, 0.0)?;
    let inverse = factored.inverse_diagonal();
    let mut pull: Vec<f64> = there.iter().map(|a| gradient[*a]).collect();
    factored.solve(&mut pull);
    let best = |a: usize| coefficients[there[a]] + pull[a];
    let worse = |rise: f64| judge.worse(&now.fitted, rise);
    let mut changes = Vec::new();
    let (mut first, mut place) = (0, 0);
    for (equation, (support, columns)) in now.supports.iter().zip(&columns).enumerate() {
        let size = support.len();
        let price = |terms: usize| judge.price_of(equation, terms);
        let change = |dropped, added, rise: f64, terms: usize| Change {
            equation,
            dropped,
            added,
            worse: worse(rise) + price(terms) - price(size),
            rise,
        };
        for (k, j) in support.iter().enumerate() {
            let a = place + k;
            let rise = best(a).powi(2) / inverse[a];
            changes.push(change(Some(*j), None, rise, size - 1));
        }
        for (k, j) in columns.iter().enumerate() {
            let c = first + k;
            if support.binary_search(j).is_ok() {
                continue;
            }
            let across: Vec<f64> = (0..p).map(|a| information[a * width + c]).collect();
            let mut b = across.clone();
            factored.solve(&mut b);
            let said: f64 = across.iter().zip(&b).map(|(a, b)| a * b).sum();
            let rest = diagonal[c] - said;
            let left = gradient[c] - across.iter().zip(&pull).map(|(a, x)| a * x).sum::<f64>();
            let news = |rest: f64| rest > COPY * diagonal[c];
            if news(rest) {
                let fall = left * left / rest;
                changes.push(change(None, Some(*j), -fall, size + 1));
            }
            for (k, out) in support.iter().enumerate() {
                let a = place + k;
                let (v, c) = (inverse[a], best(a));
                let rest = rest + b[a] * b[a] / v;
                if news(rest) {
                    let left = left + b[a] * c / v;
                    let rise = c * c / v - left * left / rest;
                    changes.push(change(Some(*out), Some(*j), rise, size));
                }
            }
        }
        first += columns.len();
        place += size;
    }
    Some(changes)
}

/// The probability of every term of the library among a law, whose terms are these, and those one change away.
#[must_use]
pub fn probabilities(
    changes: &[Change],
    equation: usize,
    support: &[usize],
    terms: usize,
) -> Vec<f64> {
    // The law as it is has weight 1.
    let mut total = 1.0;
    let mut absent = vec![0.0; terms];
    let mut present = vec![0.0; terms];
    for change in changes.iter().filter(|c| c.equation == equation) {
        let weight = odds(change);
        total += weight;
        if let Some(j) = change.dropped {
            absent[j] += weight;
        }
        if let Some(j) = change.added {
            present[j] += weight;
        }
    }
    support.iter().for_each(|&j| present[j] = total - absent[j]);
    present
        .iter()
        .map(|w| (w / total).clamp(0.0, 1.0))
        .collect()
}

/// How likely the changed law is beside the one that was chosen. The choice was made with the sums as they are, not by the quadratic form: so no other is more likely.
fn odds(change: &Change) -> f64 {
    (-0.5 * change.worse).exp().min(1.0)
}

/// What would do almost as well as a law, the likeliest first.
#[must_use]
pub fn alternatives(changes: &[Change], equation: usize) -> Vec<Alternative> {
    let near = changes.iter().filter(|c| c.equation == equation);
    let mut near: Vec<Alternative> = near
        .map(|change| Alternative {
            dropped: change.dropped,
            added: change.added,
            odds: odds(change),
        })
        .filter(|a| a.odds >= ODDS)
        .collect();
    near.sort_by(|a, b| b.odds.total_cmp(&a.odds));
    near.truncate(MOST_TOLD);
    near
}
