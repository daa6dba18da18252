//! Some of the features only, and one law of a threshold.

use super::*;
use crate::dictionary::stlsq_support;

/// y = 2 a − 0.05 b + 0.3 a², and z = b.
fn data(library: &str) -> Statistics {
    let rows = 60;
    let mut rng = Stream::new(3).at(0);
    let x: Vec<f64> = (0..2 * rows).map(|_| rng.normal()).collect();
    let (a, b) = x.split_at(rows);
    let pairs = || a.iter().zip(b);
    let y = pairs().map(|(a, b)| 2.0 * a - 0.05 * b + 0.3 * a * a + 1e-3 * a * b);
    let y: Vec<f64> = y.chain(b.iter().copied()).collect();
    statistics(library, &["a", "b"], &x, &["y", "z"], &y, rows)
}

#[test]
fn statistics_of_some_features_are_those_of_a_smaller_library() {
    let (all, few) = (data("polynomial(3)"), data("polynomial(2)[a]"));
    let place = |name: &String| all.features().iter().position(|n| n == name);
    let places: Vec<usize> = few.features().iter().filter_map(place).collect();
    assert_eq!(places.len(), 3);
    let part = all.of_features(&places).unwrap();
    assert_eq!(part.features(), few.features());
    assert_eq!((part.rows(), part.weight()), (few.rows(), few.weight()));
    assert_eq!(part.constant(), few.constant());
    let coefficients = [0.1, 1.5, -2.0];
    for target in 0..2 {
        let [got, want] = [&part, &few].map(|s| s.mean_squared_error(target, &coefficients));
        let (got, want) = (got.unwrap(), want.unwrap());
        assert!((got / want - 1.0).abs() < 1e-12, "{got} {want}");
    }
    // The path is the same, and stands among all features.
    let path = |s: &Statistics| Path::new(s, &[0], &[], &PathConfig::default()).unwrap();
    let (own, among) = (path(&few), path(&part).among(&places, all.features().len()));
    let among = among.unwrap();
    assert_eq!(own.lines().len(), among.lines().len());
    for (own, line) in own.lines().iter().zip(among.lines()) {
        let support: Vec<usize> = own.support.iter().map(|&j| places[j]).collect();
        assert_eq!(support, line.support);
        assert_eq!(line.coefficients.len(), all.features().len());
        let error = all.mean_squared_error(0, &line.coefficients).unwrap();
        assert!((error - line.train_error).abs() <= 1e-9 * error.max(1e-12));
    }
    assert!(all.of_features(&[99]).is_err());
    assert!(all.of_features(&[]).is_err());
    assert!(path(&part).among(&[0, 1], 5).is_err());
    assert!(path(&part).among(&places, 2).is_err());
}

#[test]
fn a_threshold_is_in_the_units_of_the_data() {
    let statistics = data("polynomial(2)");
    let problem = Problem::new(&statistics, &[0]).unwrap();
    let terms = |threshold: f64| -> Vec<&str> {
        let support = stlsq_support(&problem, threshold).unwrap();
        let names = statistics.features();
        support.iter().map(|&j| names[j].as_str()).collect()
    };
    assert_eq!(terms(0.02), ["a", "b", "a^2"]);
    assert_eq!(terms(0.1), ["a", "a^2"]);
    assert_eq!(terms(1.0), ["a"]);
    assert!(terms(10.0).is_empty());
    assert_eq!(terms(0.0).len(), 6);
    for wrong in [-0.1, f64::NAN, f64::INFINITY] {
        let said = stlsq_support(&problem, wrong).unwrap_err().to_string();
        assert!(said.contains("threshold"), "{said}");
    }
    let one = vec![stlsq_support(&problem, 0.1).unwrap()];
    let config = PathConfig::default();
    let path = Path::of_supports(&statistics, &[0], &[], &config, one).unwrap();
    assert_eq!(path.choose(Rule::Only).unwrap().terms, 2);
    let several = Path::new(&statistics, &[0], &[], &config).unwrap();
    assert!(several.choose(Rule::Only).is_err());
}
