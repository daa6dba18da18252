//! Standard errors of the coefficients of a law.

use super::{Problem, Statistics, support::Fitted};
use crate::error::{Error, Result};

/// The standard errors of the coefficients of some terms, by least squares: σ²(ΦᵀΦ)⁻¹, with σ² from what the terms leave per degree of freedom. They hold if rows have independent errors of one size. In the order of the terms; infinite for one that the
/// others say already.
pub fn standard_errors(
    statistics: &Statistics,
    target: usize,
    support: &[usize],
) -> Result<Vec<f64>> {
    let problem = Problem::new(statistics, &[target])?;
    if let Some(j) = support.iter().find(|j| **j >= problem.p) {
        return Err(Error::parameter("support", j, "there are fewer features"));
    }
    problem.require_rows(support.len())?;
    let fitted = Fitted::new(&problem, support);
    let freedom = problem.n - fitted.len() as f64;
    let removals = fitted.removals();
    let error = |j: &usize| {
        let place = fitted.support.iter().position(|k| k == j);
        place.map_or(f64::INFINITY, |place| {
            // The squared distance of a column of norm 1 from the span of the others is 1/h, h being the diagonal of the inverse.
            let (_, distance) = removals[place];
            (fitted.error() / freedom / distance).sqrt() / problem.scale[*j]
        })
    };
    Ok(support.iter().map(error).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// Coefficients are as far off as their standard errors say: the mean square of what is off in standard errors is 1, within 4 standard errors of its own.
    #[test]
    fn errors_are_as_large_as_they_say() {
        let (rows, sets) = (60, 400);
        let names = vec!["1".to_string(), "x".into(), "x^2".into()];
        let truth = [0.5, -2.0, 0.7];
        let mut squares = [0.0; 3];
        for set in 0..sets {
            let mut rng = Stream::new(7).at(set);
            let x: Vec<f64> = (0..rows).map(|_| 3.0 * rng.uniform()).collect();
            let mut phi = vec![1.0; rows];
            phi.extend_from_slice(&x);
            phi.extend(x.iter().map(|x| x * x));
            let y: Vec<f64> = x
                .iter()
                .map(|x| truth[0] + truth[1] * x + truth[2] * x * x + 0.3 * rng.normal())
                .collect();
            let mut statistics = Statistics::new(names.clone(), vec!["y".into()]).unwrap();
            statistics.push(&phi, &y, rows).unwrap();
            let config = super::super::PathConfig::default();
            let all = vec![vec![0, 1, 2]];
            let path =
                super::super::Path::of_supports(&statistics, &[0], &[], &config, all).unwrap();
            let found = &path.lines()[0].coefficients;
            let errors = standard_errors(&statistics, 0, &[0, 1, 2]).unwrap();
            for k in 0..3 {
                squares[k] += ((found[k] - truth[k]) / errors[k]).powi(2) / sets as f64;
            }
        }
        // Student's t with 57 degrees of freedom has the variance 57/55.
        for square in squares {
            let bound = 4.0 * (2.0 / sets as f64).sqrt() * 1.1;
            assert!((square - 57.0 / 55.0).abs() < bound, "{squares:?}");
        }
    }
}
