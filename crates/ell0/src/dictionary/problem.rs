//! A least-squares problem on the statistics, with features of unit size.

use super::{Statistics, qr, support::COLLINEAR};
use crate::error::{Error, Result, require};

/// The squared error of one target, or of several that share their terms, as a function of coefficients of features scaled to unit RMS:
/// ‖R a − y‖² + rest, everything per row.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Number of features.
    pub(super) p: usize,
    /// Number of targets.
    pub(super) q: usize,
    /// p × p, column after column, each of norm 1 (or 0, for a feature that is zero everywhere).
    pub(super) r: Vec<f64>,
    /// p × q.
    pub(super) y: Vec<f64>,
    /// What no coefficients can explain, summed over the targets.
    pub(super) rest: f64,
    /// Number of rows that count.
    pub(super) n: f64,
    /// RMS of each feature in the user's units.
    pub(super) scale: Vec<f64>,
}

impl Problem {
    /// The problem of the given targets.
    pub fn new(statistics: &Statistics, targets: &[usize]) -> Result<Self> {
        let (p, q, weight) = (
            statistics.features().len(),
            targets.len(),
            statistics.weight(),
        );
        if weight <= 0.0 {
            return Err(Error::Empty { what: "statistics" });
        }
        require(q > 0, "targets", "none", "at least one target")?;
        for &target in targets {
            require(
                target < statistics.targets().len(),
                "target",
                target,
                "there are fewer targets",
            )?;
        }
        let root = weight.sqrt();
        let mut r = vec![0.0; p * p];
        let mut scale = vec![0.0; p];
        for column in 0..p {
            let entry = |row: usize| statistics.r(row, column) / root;
            let norm = (0..=column)
                .map(|row| entry(row).powi(2))
                .sum::<f64>()
                .sqrt();
            scale[column] = norm;
            if norm > 0.0 {
                (0..=column).for_each(|row| r[column * p + row] = entry(row) / norm);
            }
        }
        let y = targets
            .iter()
            .flat_map(|t| (0..p).map(move |row| statistics.r(row, p + t) / root))
            .collect();
        let below = p..p + statistics.targets().len();
        let rest = targets
            .iter()
            .flat_map(|t| {
                below
                    .clone()
                    .map(move |row| statistics.r(row, p + t).powi(2) / weight)
            })
            .sum();
        let problem = Problem {
            p,
            q,
            r,
            y,
            rest,
            n: statistics.effective_rows(),
            scale,
        };
        let finite = problem
            .r
            .iter()
            .chain(&problem.y)
            .chain([&problem.rest])
            .all(|v| v.is_finite());
        require(
            finite,
            "statistics",
            "values beyond all bounds",
            "the sums of squares must be finite: scale the data",
        )?;
        Ok(problem)
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.p
    }

    /// Number of rows that count: fewer than there are, if they have different weights.
    pub fn rows(&self) -> f64 {
        self.n
    }

    /// Mean square of the targets, summed over them: the error without any term.
    pub fn energy(&self) -> f64 {
        self.y.iter().map(|y| y * y).sum::<f64>() + self.rest
    }

    /// Refuses to choose among so many terms with fewer rows than are needed: with as many rows as terms, anything fits.
    pub(super) fn require_rows(&self, terms: usize) -> Result<()> {
        let expected = format!(
            "{terms} terms need at least {} rows, or anything would fit: take more data, a smaller library, or fewer terms",
            terms + 1
        );
        require(self.n > terms as f64, "rows", self.n, &expected)
    }

    pub(super) fn column(&self, j: usize) -> &[f64] {
        &self.r[j * self.p..(j + 1) * self.p]
    }

    /// y − R a, per target, for effective coefficients `a` (p × q).
    pub(super) fn residual(&self, a: &[f64]) -> Vec<f64> {
        let mut residual = self.y.clone();
        for t in 0..self.q {
            for j in 0..self.p {
                let a = a[t * self.p + j];
                if a != 0.0 {
                    let column = &self.column(j)[..=j];
                    residual[t * self.p..]
                        .iter_mut()
                        .zip(column)
                        .for_each(|(r, c)| *r -= a * c);
                }
            }
        }
        residual
    }

    /// The price of a term, in units of this problem's summed error, that amounts to λ in the documented objective
    /// (1/q)·Σ error + λ·Σ P(active)·(coefficients behind the gate), where q counts all targets of the model.
    pub fn price(&self, lambda: f64, all_targets: usize) -> f64 {
        lambda * (all_targets * self.q) as f64
    }

    /// Mean squared error, summed over the targets, for scaled coefficients.
    pub(super) fn error(&self, a: &[f64]) -> f64 {
        self.residual(a).iter().map(|r| r * r).sum::<f64>() + self.rest
    }

    /// Coefficients in the user's units from scaled ones (p × q).
    pub(super) fn unscaled(&self, a: &[f64]) -> Vec<f64> {
        let unit = |(k, a): (usize, &f64)| {
            if *a == 0.0 {
                0.0
            } else {
                a / self.scale[k % self.p]
            }
        };
        a.iter().enumerate().map(unit).collect()
    }

    /// The minimiser of ‖R a − y‖² + Σ (diagonal(j)·a_j)² over coefficients of the given features (p × q); those in the span of others get 0.
    pub(super) fn ridge(&self, features: &[usize], diagonal: impl Fn(usize) -> f64) -> Vec<f64> {
        let (p, q) = (self.p, self.q);
        let used: Vec<usize> = features
            .iter()
            .copied()
            .filter(|&j| self.scale[j] > 0.0)
            .collect();
        let k = used.len();
        let rows = p + k;
        let mut a = vec![0.0; rows * (k + q)];
        for (c, &j) in used.iter().enumerate() {
            a[c * rows..][..p].copy_from_slice(self.column(j));
            a[c * rows + p + c] = diagonal(j);
        }
        for t in 0..q {
            a[(k + t) * rows..][..p].copy_from_slice(&self.y[t * p..][..p]);
        }
        let mut pivots = Vec::new();
        for c in 0..k {
            if qr::reflect(&mut a, rows, pivots.len(), c, COLLINEAR) > COLLINEAR {
                pivots.push(c);
            }
        }
        let mut solution = vec![0.0; p * q];
        for t in 0..q {
            let mut b = a[(k + t) * rows..][..pivots.len()].to_vec();
            for i in (0..pivots.len()).rev() {
                let column = &a[pivots[i] * rows..];
                b[i] /= column[i];
                let value = b[i];
                b[..i]
                    .iter_mut()
                    .zip(column)
                    .for_each(|(b, c)| *b -= value * c);
                solution[t * p + used[pivots[i]]] = value;
            }
        }
        solution
    }
}
