//! The discrete algebraic Riccati equation, by structured doubling.

use faer::Mat;

use super::matrix::{is_finite, of_rows, solve, symmetric, to_rows, transposed};
use crate::{
    analysis::value::Matrix,
    error::{Result, require_finite, require_size},
};

/// h with h = aᵀ·h·(1 + g·h)⁻¹·a + q, the limit of the equation's fixed-point iteration from 0, of which every round does 2ᵏ steps at once; none if it does not converge.
///
/// With g = b·r⁻¹·bᵀ this is the equation of the linear-quadratic regulator, with g = 0 that of Lyapunov, and with g = −b·t⁻¹·bᵀ that of the bounded real lemma.
pub fn doubling(a: &Mat<f64>, g: &Mat<f64>, q: &Mat<f64>) -> Option<Mat<f64>> {
    let n = a.nrows();
    let (mut a, mut g, mut h) = (a.clone(), g.clone(), q.clone());
    let open = (0..n).all(|j| (0..n).all(|i| g[(i, j)] == 0.0));
    for _ in 0..60 {
        // (1 + g·h)⁻¹·(a, g).
        let (first, second) = if open {
            (a.clone(), g.clone())
        } else {
            let unit = Mat::<f64>::identity(n, n);
            let both = Mat::from_fn(n, 2 * n, |i, j| match j.checked_sub(n) {
                None => a[(i, j)],
                Some(k) => g[(i, k)],
            });
            let both = solve(&(unit + &g * &h), &both)?;
            (both.subcols(0, n).to_owned(), both.subcols(n, n).to_owned())
        };
        let more = symmetric(&(a.transpose() * (&h * &first)));
        if !open {
            g = symmetric(&(&g + &a * (second * a.transpose())));
        }
        a = &a * &first;
        let grown = more.norm_l2();
        h = &h + more;
        let size = h.norm_l2();
        if !size.is_finite() || size > 1e100 || !is_finite(&a) {
            return None;
        }
        if grown <= 1e-15 * size {
            return Some(symmetric(&h));
        }
    }
    None
}

/// p with p = aᵀ·p·a + q; none if a is not stable.
pub fn lyapunov(a: &Mat<f64>, q: &Mat<f64>) -> Option<Mat<f64>> {
    let n = a.nrows();
    doubling(a, &Mat::zeros(n, n), q)
}

/// The linear-quadratic regulator of x⁺ = A·x + B·u: the u = −K·x that makes Σ (Σ qᵢ·xᵢ² + Σ rⱼ·uⱼ²) least, which is then xᵀ·P·x.
#[derive(Clone, Debug, PartialEq)]
pub struct Riccati {
    /// The matrix P of the cost to come.
    pub p: Matrix,
    /// The gain K.
    pub gain: Matrix,
}

impl Riccati {
    /// The regulator of rows of A and B with weights q of the states and r > 0 of the actions; none if the plant cannot be stabilised, or the weights do not see what is unstable.
    pub fn new(a: &[Vec<f64>], b: &[Vec<f64>], q: &[f64], r: &[f64]) -> Result<Option<Self>> {
        let (n, m) = (a.len(), r.len());
        require_size("the weights of the states", q.len(), n)?;
        require_size("the rows of B", b.len(), n)?;
        for (rows, width, what) in [(a, n, "a row of A"), (b, m, "a row of B")] {
            for row in rows {
                require_size(what, row.len(), width)?;
                require_finite("an entry of the plant", row)?;
            }
        }
        let positive = |v: &f64| v.is_finite() && *v > 0.0;
        let allowed = |v: &f64| v.is_finite() && *v >= 0.0;
        if !r.iter().all(positive) || !q.iter().all(allowed) {
            return Ok(None);
        }
        let (a, b) = (of_rows(a, n), of_rows(b, m));
        let weighted = Mat::from_fn(n, m, |i, j| b[(i, j)] / r[j]);
        let g = symmetric(&(&weighted * b.transpose()));
        let Some(p) = doubling(&a, &g, &super::matrix::diagonal(q)) else {
            return Ok(None);
        };
        let seen = transposed(&b) * &p;
        let within = Mat::from_fn(m, m, |i, j| if i == j { r[i] } else { 0.0 }) + &seen * &b;
        let Some(gain) = solve(&within, &(&seen * &a)) else {
            return Ok(None);
        };
        // The limit is the regulator only if its loop is stable.
        let rows = to_rows(&(&a - &b * &gain));
        if !crate::analysis::linear::is_stable(&rows) {
            return Ok(None);
        }
        Ok(Some(Riccati {
            p: Matrix::from_rows(to_rows(&p)),
            gain: Matrix::from_rows(to_rows(&gain)),
        }))
    }
}
