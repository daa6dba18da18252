//! Whether a matrix is positive definite, with the rounding of the computer counted in.

use faer::{Mat, Side};

use super::matrix::is_finite;

/// The unit roundoff of double precision.
pub const ROUNDOFF: f64 = 0.5 * f64::EPSILON;

/// Whether every symmetric matrix within a spectral distance of `error` from m is positive definite, proved by a Cholesky factorisation in floating point.
///
/// If the factorisation of m − τ·1 runs to its end, m is positive definite for τ ≥ (n+1)·u/(1 − (n+1)·u)·trace(m), where u is the unit roundoff (S. Rump, Verification of positive definiteness, BIT 46, 2006; Higham, theorem 10.3: it holds for every order of the sums).
/// Four times as much is subtracted, which covers the rounding of the subtraction and of reciprocals of pivots, too.
pub fn is_definite(m: &Mat<f64>, error: f64) -> bool {
    let n = m.nrows();
    if !is_finite(m) || !error.is_finite() {
        return false;
    }
    let trace: f64 = (0..n).map(|i| m[(i, i)].max(0.0)).sum();
    let shift = error + 4.0 * (n as f64 + 4.0) * ROUNDOFF * (trace + error);
    let mut lowered = m.clone();
    for i in 0..n {
        lowered[(i, i)] -= shift;
        if lowered[(i, i)] <= 0.0 {
            return false;
        }
    }
    lowered.llt(Side::Lower).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounding_could_have_made_is_not_definite() {
        let unit = Mat::<f64>::identity(50, 50);
        assert!(is_definite(&unit, 0.5));
        assert!(!is_definite(&unit, 1.0));
        // Singular: ones everywhere, and a little more on the diagonal.
        let ones = |more: f64| Mat::from_fn(50, 50, |i, j| if i == j { 1.0 + more } else { 1.0 });
        assert!(!is_definite(&ones(0.0), 0.0));
        assert!(!is_definite(&ones(1e-15), 0.0));
        assert!(is_definite(&ones(1e-9), 0.0));
        assert!(!is_definite(&ones(1e-9), 1e-8));
        assert!(!is_definite(&ones(f64::NAN), 0.0));
        assert!(!is_definite(
            &Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { -2.0 }),
            0.0
        ));
    }
}
