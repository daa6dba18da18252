//! Where a loop of many states rests, by Newton's method, and what happens near it.

use super::{
    closed::FieldLoop,
    conserved::Conserved,
    matrix::{column, length, of_rows, solve},
    settle::{Behaviour, Settled},
};
use crate::analysis::{
    linear,
    value::{Complex, Stability},
};

/// A state that a loop does not leave.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldEquilibrium {
    /// Where.
    pub state: Vec<f64>,
    /// The length of F(x) − x there.
    pub residual: f64,
    /// Eigenvalues of the derivatives, the largest first. Those of quantities that the world conserves are left out.
    pub eigenvalues: Vec<Complex>,
    /// What they tell: of states with the same conserved quantities, if there are any.
    pub stability: Stability,
    /// Quantities that the world keeps whatever is done, such as the mean of a field.
    pub conserved: usize,
    pub(super) kept: Conserved,
}

impl FieldEquilibrium {
    /// Whether it is stable for sure.
    #[must_use]
    pub fn is_stable(&self) -> bool {
        self.stability == Stability::Stable
    }
}

/// A residual of this, relative to 1 + |x|, is an equilibrium.
const RESIDUAL: f64 = 1e-10;

/// F(x) = x by Newton's method with damped steps, from a start; none if it leads nowhere.
pub(super) fn newton(found: &FieldLoop, kept: &Conserved, start: &[f64]) -> Option<Vec<f64>> {
    let mut x = start.to_vec();
    let n = x.len();
    let off = |x: &[f64]| -> f64 { length(&super::matrix::difference(&found.next(x), x)) };
    let mut size = off(&x);
    for _ in 0..40 {
        if !size.is_finite() {
            return None;
        }
        let goal = RESIDUAL * (1.0 + length(&x));
        if size <= 1e-4 * goal {
            break;
        }
        let (next, mut jacobian) = found.jacobian(&x);
        // 1 − J + Σ w·wᵀ is regular, and its steps keep what is conserved.
        kept.without(&mut jacobian);
        for (k, row) in jacobian.iter_mut().enumerate() {
            row.iter_mut().for_each(|v| *v = -*v);
            row[k] += 1.0;
        }
        if jacobian.iter().flatten().any(|v| !v.is_finite()) {
            return None;
        }
        let residual = super::matrix::difference(&next, &x);
        let step = solve(&of_rows(&jacobian, n), &column(&residual));
        let Some(step) = step else { break };
        let tried = (0..12).map(|k| 0.5f64.powi(k)).find_map(|share| {
            let moved: Vec<f64> = (0..n).map(|i| x[i] + share * step[(i, 0)]).collect();
            let left = off(&moved);
            (left <= (1.0 - 0.1 * share) * size).then_some((moved, left))
        });
        // Nothing is closer: rounding, or a dead end.
        let Some((moved, left)) = tried else { break };
        (x, size) = (moved, left);
    }
    (size <= RESIDUAL * (1.0 + length(&x))).then_some(x)
}

/// Eigenvalues at a state, without those of what is conserved, the largest first.
pub(super) fn spectrum(found: &FieldLoop, kept: &Conserved, state: &[f64]) -> Option<Vec<Complex>> {
    let (_, mut jacobian) = found.jacobian(state);
    kept.without(&mut jacobian);
    linear::eigenvalues(&jacobian)
}

/// What eigenvalues tell.
pub(super) fn stability(eigenvalues: &[Complex]) -> Stability {
    match eigenvalues.first().map_or(0.0, |z| z.abs()) {
        size if size < 1.0 - 1e-9 => Stability::Stable,
        size if size > 1.0 + 1e-9 => Stability::Unstable,
        _ => Stability::Undecided,
    }
}

/// The equilibrium that a run comes to, by Newton's method from its last state; of a loop that does not settle the one near its mean, which it does not reach. None if Newton's method does not converge to a residual of 1e-10.
#[must_use]
pub fn equilibrium(found: &FieldLoop, run: &Settled) -> Option<FieldEquilibrium> {
    let rests = run.behaviour == Behaviour::Settles;
    let rest = vec![0.0; found.states()];
    let starts: Vec<&[f64]> = match run.behaviour {
        _ if rests => vec![&run.state],
        Behaviour::Diverges { .. } => vec![&rest],
        _ => vec![&run.mean, &run.state, &rest],
    };
    starts.into_iter().find_map(|start| {
        let kept = Conserved::of(found, start);
        let state = newton(found, &kept, start)?;
        // What is 0 up to rounding is 0.
        let tidy: Vec<f64> = state
            .iter()
            .map(|v| if v.abs() < 1e-11 { 0.0 } else { *v })
            .collect();
        let off = |x: &[f64]| length(&super::matrix::difference(&found.next(x), x));
        let state = if off(&tidy) <= off(&state) {
            tidy
        } else {
            state
        };
        let mut eigenvalues = spectrum(found, &kept, &state)?;
        // What is conserved stands among them as 0.
        for _ in 0..kept.count() {
            eigenvalues.pop();
        }
        Some(FieldEquilibrium {
            residual: off(&state),
            stability: if found.is_smooth(&state) {
                stability(&eigenvalues)
            } else {
                Stability::Undecided
            },
            conserved: kept.count(),
            state,
            eigenvalues,
            kept,
        })
    })
}
