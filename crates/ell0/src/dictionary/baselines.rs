//! What others do, on the same statistics: thresholded least squares and the lasso.

use super::{Problem, support::refit};
use crate::error::{Result, require};

/// PySINDy's default ridge of `STLSQ`.
const STLSQ_RIDGE: f64 = 0.05;
const STLSQ_ITERATIONS: usize = 20;

/// Sequentially thresholded least squares: ridge regression, drop the coefficients below the threshold (in the user's units), repeat.
/// Returns the terms that are left; PySINDy then refits them without ridge, as the path does.
pub(super) fn stlsq(problem: &Problem, threshold: f64, ridge: f64) -> Vec<usize> {
    let p = problem.p;
    let mut support: Vec<usize> = (0..p).filter(|&j| problem.scale[j] > 0.0).collect();
    for _ in 0..STLSQ_ITERATIONS {
        // ridge·w² in the user's units, per row.
        let scaled = problem.ridge(&support, |j| (ridge / problem.n).sqrt() / problem.scale[j]);
        let coefficients = problem.unscaled(&scaled);
        let large = |&j: &usize| {
            coefficients
                .iter()
                .skip(j)
                .step_by(p)
                .any(|c| c.abs() >= threshold)
        };
        let kept: Vec<usize> = support.iter().copied().filter(large).collect();
        if kept.len() == support.len() {
            break;
        }
        support = kept;
    }
    support
}

/// The terms that sequentially thresholded least squares leaves at one threshold, as PySINDy's `STLSQ(threshold)` with its usual ridge: coefficients below the threshold, in the user's units, are cut, the others fitted again, until none is below it.
pub fn stlsq_support(problem: &Problem, threshold: f64) -> Result<Vec<usize>> {
    require(
        threshold >= 0.0 && threshold.is_finite(),
        "threshold",
        threshold,
        "it must be finite and not negative",
    )?;
    problem.require_rows(problem.p)?;
    Ok(stlsq(problem, threshold, STLSQ_RIDGE))
}

/// Supports of STLSQ for thresholds from none to one that leaves nothing.
pub(super) fn stlsq_path(problem: &Problem) -> Vec<Vec<usize>> {
    let full = stlsq(problem, 0.0, STLSQ_RIDGE);
    let coefficients = problem.unscaled(&refit(problem, &full).coefficients);
    let sizes = || coefficients.iter().map(|c| c.abs()).filter(|c| *c > 0.0);
    let (least, most) = (
        sizes().fold(f64::INFINITY, f64::min),
        sizes().fold(0.0, f64::max),
    );
    let mut supports = vec![full];
    if most > 0.0 {
        let (low, high) = (least.max(most * 1e-10).ln(), (most * 1.01).ln());
        let thresholds = (0..=100).map(|i| (low + (high - low) * f64::from(i) / 100.0).exp());
        supports.extend(thresholds.map(|threshold| stlsq(problem, threshold, STLSQ_RIDGE)));
    }
    supports
}

/// Scaled coefficients (p × q) of ½‖R a − y‖² + μ Σ_j ‖a_j‖ for falling μ, by coordinate descent; with several targets the group lasso.
pub(super) fn lasso_path(problem: &Problem) -> Vec<Vec<f64>> {
    let (p, q) = (problem.p, problem.q);
    let mut a = vec![0.0; p * q];
    let mut residual = problem.y.clone();
    let correlation = |residual: &[f64], j: usize, t: usize| -> f64 {
        problem.column(j)[..=j]
            .iter()
            .zip(&residual[t * p..])
            .map(|(c, r)| c * r)
            .sum()
    };
    let largest = (0..p)
        .map(|j| {
            (0..q)
                .map(|t| correlation(&residual, j, t).powi(2))
                .sum::<f64>()
                .sqrt()
        })
        .fold(0.0, f64::max);
    let tolerance = 1e-9 * problem.energy().sqrt();
    let mut path = vec![a.clone()];
    for step in 1..=100 {
        let mu = largest * 10f64.powf(-6.0 * f64::from(step) / 100.0);
        for _ in 0..1000 {
            let mut change = 0f64;
            for j in (0..p).filter(|&j| problem.scale[j] > 0.0) {
                let z: Vec<f64> = (0..q)
                    .map(|t| a[t * p + j] + correlation(&residual, j, t))
                    .collect();
                let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
                let shrink = if norm > mu { 1.0 - mu / norm } else { 0.0 };
                for (t, z) in z.iter().enumerate() {
                    let delta = z * shrink - a[t * p + j];
                    if delta != 0.0 {
                        a[t * p + j] = z * shrink;
                        residual[t * p..]
                            .iter_mut()
                            .zip(&problem.column(j)[..=j])
                            .for_each(|(r, c)| *r -= delta * c);
                        change = change.max(delta.abs());
                    }
                }
            }
            if change <= tolerance {
                break;
            }
        }
        path.push(a.clone());
    }
    path
}
