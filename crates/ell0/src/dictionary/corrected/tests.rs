//! Coefficients that were corrected, on data whose truth is known.

use super::*;
use crate::{
    dictionary::{Path, PathConfig, Statistics, standard_errors},
    features::{Factor, Function, Library},
    rng::Stream,
};

/// The law of a data set: y of x and b, x measured with errors.
fn law(
    seed: u64,
    noise: f64,
    library: &str,
    y: impl Fn(f64, f64) -> f64,
    terms: &[&str],
) -> CorrectedLaw {
    let rows = 2000;
    let library: Library = library.parse().unwrap();
    let features = library.features(&["x", "b"]).unwrap();
    let names = features.names().iter();
    let own = names
        .zip(features.terms())
        .filter(|(n, _)| terms.contains(&n.as_str()));
    let own: Vec<Term> = own.map(|(_, t)| t.clone()).collect();
    let mut sums = CorrectedSums::new(own, &[noise, 0.0], rows, 1).unwrap();
    let mut rng = Stream::new(seed).at(0);
    for _ in 0..rows {
        let (x, b) = (rng.normal(), 2.0 * rng.uniform());
        let target = y(x, b) + 0.1 * rng.normal();
        sums.push(&mut [x + noise * rng.normal(), b], target)
            .unwrap();
    }
    let every: Vec<usize> = (0..terms.len()).collect();
    sums.law(&every, every.len(), false).unwrap()
}

/// Over many data sets the truth is in the intervals as often as they say, for polynomials and for other functions.
#[test]
fn coefficients_are_right_within_their_intervals() {
    let sets = 60;
    let cubic = |x: f64, b: f64| 1.0 + 2.0 * x - 0.5 * x.powi(3) + 0.7 * x * b;
    let wave = |x: f64, b: f64| 0.5 + 3.0 * x.sin() - 1.2 * b * b;
    type Of = fn(f64, f64) -> f64;
    type Case<'a> = (&'a str, &'a [&'a str], Of, &'a [f64], f64);
    let cases: [Case; 3] = [
        (
            "polynomial(3)",
            &["1", "x", "x b", "x^3"],
            cubic,
            &[1.0, 2.0, 0.7, -0.5],
            0.2,
        ),
        (
            "polynomial(3)",
            &["1", "x", "x b", "x^3"],
            cubic,
            &[1.0, 2.0, 0.7, -0.5],
            0.4,
        ),
        (
            "polynomial(2) + fourier(1)",
            &["1", "b^2", "sin(1 x)"],
            wave,
            &[0.5, -1.2, 3.0],
            0.3,
        ),
    ];
    for (library, terms, of, truth, noise) in cases {
        let (mut inside, mut all) = (0, 0);
        for seed in 0..sets {
            let found = law(seed, noise, library, of, terms);
            for ((c, error), truth) in found.coefficients.iter().zip(&found.errors).zip(truth) {
                inside += usize::from((c - truth).abs() < 1.96 * error);
                all += 1;
            }
        }
        let share = inside as f64 / all as f64;
        // Four standard errors of 95 %, and a little less for the rough variances.
        let bound = 0.94 - 4.0 * (0.95f64 * 0.05 / all as f64).sqrt();
        assert!(share > bound, "{terms:?} with {noise}: {share}");
    }
}

/// Without errors they are those of least squares.
#[test]
fn nothing_is_touched_without_errors() {
    let of = |x: f64, b: f64| 1.0 + 2.0 * x * b;
    let found = law(3, 0.0, "polynomial(2)", of, &["1", "x b"]);
    let rows = 2000;
    let mut rng = Stream::new(3).at(0);
    let (mut phi, mut y) = (vec![1.0; rows], Vec::new());
    for _ in 0..rows {
        let (x, b) = (rng.normal(), 2.0 * rng.uniform());
        y.push(of(x, b) + 0.1 * rng.normal());
        rng.normal();
        phi.push(x * b);
    }
    let names = vec!["1".to_string(), "x b".into()];
    let mut statistics = Statistics::new(names, vec!["y".into()]).unwrap();
    statistics.push(&phi, &y, rows).unwrap();
    let config = PathConfig::default();
    let path = Path::of_supports(&statistics, &[0], &[], &config, vec![vec![0, 1]]);
    let path = path.unwrap();
    for (a, b) in found.coefficients.iter().zip(&path.lines()[0].coefficients) {
        assert!((a - b).abs() < 1e-10, "{found:?}");
    }
    let errors = standard_errors(&statistics, 0, &[0, 1]).unwrap();
    for (a, b) in found.errors.iter().zip(&errors) {
        assert!((a / b - 1.0).abs() < 0.15, "{found:?} {errors:?}");
    }
}

/// What errors alone would explain is refused, not divided by.
#[test]
fn errors_that_are_all_there_is_are_refused() {
    let mut sums = CorrectedSums::new(
        vec![Term::of(Factor::Power {
            input: 0,
            exponent: 1,
        })],
        &[1.0],
        500,
        1,
    )
    .unwrap();
    let mut rng = Stream::new(1).at(0);
    for _ in 0..500 {
        sums.push(&mut [rng.normal()], 1.0).unwrap();
    }
    assert!(sums.law(&[0], 1, false).is_err());
    // A logarithm has no value below 0.
    let log = Term::of(Factor::Call {
        function: Function::Log,
        frequency: 1,
        input: 0,
    });
    let mut sums = CorrectedSums::new(vec![log], &[1.0], 1, 1).unwrap();
    assert!(sums.push(&mut [0.5], 1.0).is_err());
    assert!(CorrectedSums::new(vec![Term::one()], &[f64::NAN], 1, 1).is_err());
}
