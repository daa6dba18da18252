//! Bad input and values at the edge.

use super::*;

#[test]
fn bad_input_is_named() {
    let features = || {
        "polynomial(1) + functions(log)"
            .parse::<Library>()
            .unwrap()
            .features(&["a"])
            .unwrap()
    };
    let accumulate = |x: &[f64], y: &[f64], weights: Option<&[f64]>| {
        let mut accumulator = Accumulator::new(features(), vec!["y".into()]).unwrap();
        accumulator
            .push(x, y, weights, x.len())
            .map(|()| accumulator.finish())
    };
    let message = |result: crate::Result<Statistics>| result.unwrap_err().to_string();
    assert!(
        message(accumulate(&[1.0, f64::NAN], &[0.0; 2], None))
            .contains("column `a`, row 1 (counted from 0) holds NaN")
    );
    assert!(
        message(accumulate(&[1.0, 2.0, -1.0], &[0.0; 3], None)).contains("column `log(a)`, row 2")
    );
    assert!(
        message(accumulate(&[1.0], &[f64::INFINITY], None))
            .contains("column `y`, row 0 (counted from 0) holds inf")
    );
    assert!(
        message(accumulate(&[1.0, 2.0], &[0.0], None)).contains("target values: got 1, expected 2")
    );
    assert!(message(accumulate(&[1.0], &[0.0], Some(&[-1.0]))).contains("column `weight`, row 0"));
    let empty = accumulate(&[], &[], None).unwrap();
    assert!(
        Problem::new(&empty, &[0])
            .unwrap_err()
            .to_string()
            .contains("empty")
    );
    let few = accumulate(&[1.0, 2.0], &[0.0; 2], None).unwrap();
    assert!(
        Path::new(&few, &[0], &[], &PathConfig::default())
            .unwrap_err()
            .to_string()
            .contains("rows, or anything would fit")
    );
    let train = small(0.1, 1, 100);
    let problem = Problem::new(&train, &[0]).unwrap();
    assert!(
        train_exact(&problem, &HardConcrete::default(), -1.0)
            .unwrap_err()
            .to_string()
            .contains("lambda = -1")
    );
    assert!(branch_and_bound(&problem, f64::NAN, 3, 10).is_err());
    assert!(
        polish_support(&problem, &[99], 0.1).is_err()
            && polish_support(&problem, &[1, 1], 0.1).is_err()
    );
    let polished = polish_support(&problem, &[5, 0], 0.1).unwrap();
    assert_eq!(
        polished.support,
        branch_and_bound(&problem, 0.1, 10, 1000).unwrap().support
    );
    assert!(
        (train.mean_squared_error(0, &polished.coefficients).unwrap() - polished.error).abs()
            < 1e-12
    );
    assert!(inclusion_probabilities(&problem, 1.0, &Stream::new(0)).is_err());
    let path = Path::new(&train, &[0], &[], &PathConfig::default()).unwrap();
    assert!(
        path.choose(Rule::Lambda(-1.0))
            .unwrap_err()
            .to_string()
            .contains("lambda = -1")
    );
    assert!(
        path.choose(Rule::Terms(99))
            .unwrap_err()
            .to_string()
            .contains("the path has models of 0, 1, 2")
    );
    assert!(Problem::new(&train, &[1]).is_err() && Problem::new(&train, &[]).is_err());
    assert!(train.mean_squared_error(0, &[0.0; 3]).is_err());
    assert!(
        "sindy"
            .parse::<Method>()
            .unwrap_err()
            .to_string()
            .contains("exact, ols, stlsq, lasso")
    );
    for text in [
        "{}",
        "[]",
        r#"{"format":"ell0-statistics","version":1,"features":["a"],"targets":["y"],"rows":1,"weight":1,"triangle":[[1],[1]],"constant":[null]}"#,
    ] {
        assert!(serde_json::from_str::<Statistics>(text).is_err());
    }
    let data = Dataset::new(&[-1.0, 1.0], 1, &[0.0; 2], 1).unwrap();
    assert!(
        data.lifted(features(), &[1.0; 3])
            .unwrap_err()
            .to_string()
            .contains("column `log(a)`, row 0")
    );
}

#[test]
fn values_beyond_all_bounds_are_refused_and_never_hang() {
    let features = || {
        "functions(exp)"
            .parse::<Library>()
            .unwrap()
            .features(&["a"])
            .unwrap()
    };
    let mut accumulator = Accumulator::new(features(), vec!["y".into()]).unwrap();
    let error = accumulator
        .push(&[1.0, 400.0], &[0.0; 2], None, 2)
        .unwrap_err()
        .to_string();
    assert!(error.contains("column `exp(a)`, row 1"), "{error}");
    // The largest values that are taken do not overflow, however often they are merged.
    let mut stats = {
        let mut a = Accumulator::new(
            Library::polynomial(1).features(&["a"]).unwrap(),
            vec!["y".into()],
        )
        .unwrap();
        a.push(&[1.0, 2.0, 3.0], &[1e99; 3], None, 3).unwrap();
        a.finish()
    };
    let copy = stats.clone();
    (0..20).for_each(|_| stats.merge(&copy).unwrap());
    assert!(Path::new(&stats, &[0], &[], &PathConfig::default()).is_ok());
}
