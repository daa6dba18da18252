//! Paths and the choice on them.

use super::*;

/// The law θ̇' = θ̇ + 0.05 (1.5 g sin θ + 3 u) is on the path, and no other three terms do better: all 6,545 triples are tried.
#[test]
fn the_pendulum_law_is_the_best_of_all_triples() {
    let data = pendulum(1000, 1);
    let stats = statistics(
        "polynomial(3)",
        &PENDULUM_INPUTS,
        &data.inputs,
        &["c", "s", "v"],
        &data.next,
        data.rows,
    );
    let path = Path::new(&stats, &[2], &[], &PathConfig::default()).unwrap();
    let three = path.choose(Rule::Terms(3)).unwrap();
    let names: Vec<&str> = three
        .support
        .iter()
        .map(|&j| stats.features()[j].as_str())
        .collect();
    assert_eq!(names, ["sin_theta", "theta_dot", "u"]);
    for (j, want) in three.support.iter().zip([0.73575, 1.0, 0.15]) {
        assert!(
            (three.coefficients[*j] / want - 1.0).abs() < 0.01,
            "{}",
            three.coefficients[*j]
        );
    }
    let problem = Problem::new(&stats, &[2]).unwrap();
    let mut triples = 0;
    for a in 0..35 {
        for b in a + 1..35 {
            for c in b + 1..35 {
                triples += 1;
                let error = Fitted::new(&problem, &[a, b, c]).error();
                assert!(error >= three.train_error * (1.0 - 1e-9), "{a} {b} {c}");
            }
        }
    }
    assert_eq!(triples, 6545);
    // More terms never hurt the training error, and every size has its line up to the rank: 30 of 35.
    assert!(
        path.lines()
            .windows(2)
            .all(|w| w[1].train_error <= w[0].train_error * (1.0 + 1e-12))
    );
    assert_eq!(path.lines().last().unwrap().terms, 30);
}

#[test]
fn every_method_finds_a_plain_law_and_every_rule_chooses_it() {
    let train = small(0.1, 1, 400);
    let validation: Vec<Statistics> = (2..7).map(|seed| small(0.1, seed, 80)).collect();
    for method in [Method::Exact, Method::Stlsq, Method::Lasso] {
        let config = PathConfig {
            method,
            ..PathConfig::default()
        };
        let path = Path::new(&train, &[0], &validation, &config).unwrap();
        for rule in [
            Rule::OneStandardError,
            Rule::Bic,
            Rule::Terms(2),
            Rule::Lambda(0.1),
        ] {
            let line = path.choose(rule).unwrap();
            let names: Vec<&str> = line
                .support
                .iter()
                .map(|&j| train.features()[j].as_str())
                .collect();
            assert_eq!(names, ["x", "x z"], "{method} {rule:?}");
            assert!((line.coefficients[line.support[0]] - 2.0).abs() < 0.05);
            assert!((line.coefficients[line.support[1]] + 3.0).abs() < 0.05);
        }
        assert!(path.choose(Rule::Validation).unwrap().terms >= 2);
        assert!(path.choose(Rule::Aicc).unwrap().terms >= 2);
    }
    let ols = Path::new(
        &train,
        &[0],
        &[],
        &PathConfig {
            method: Method::Ols,
            ..PathConfig::default()
        },
    )
    .unwrap();
    assert_eq!(ols.lines().len(), 1);
    assert_eq!(ols.choose(Rule::OneStandardError).unwrap().terms, 10);
    // Without a refit the lasso's coefficients are shrunken, as textbooks say.
    let lasso = PathConfig {
        method: Method::Lasso,
        refit: false,
        ..PathConfig::default()
    };
    let path = Path::new(&train, &[0], &[], &lasso).unwrap();
    let shrunken = path.choose(Rule::Terms(2)).unwrap();
    let refitted = Path::new(
        &train,
        &[0],
        &[],
        &PathConfig {
            refit: true,
            ..lasso
        },
    )
    .unwrap();
    let refitted = refitted.choose(Rule::Terms(2)).unwrap();
    for &j in &shrunken.support {
        assert!(shrunken.coefficients[j].abs() < refitted.coefficients[j].abs());
    }
    // λ of a line is the price at which it starts to pay.
    let path = Path::new(&train, &[0], &[], &PathConfig::default()).unwrap();
    for pair in path
        .lines()
        .windows(2)
        .filter(|w| w[1].lambda < w[0].lambda * 0.99)
        .take(3)
    {
        assert!(
            path.choose(Rule::Lambda(pair[1].lambda * 1.001))
                .unwrap()
                .terms
                < pair[1].terms
        );
        assert!(
            path.choose(Rule::Lambda(pair[1].lambda * 0.999))
                .unwrap()
                .terms
                >= pair[1].terms
        );
    }
}

#[test]
fn targets_can_share_their_terms() {
    let mut rng = Stream::new(6).at(0);
    let rows = 300;
    let x: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let mut y: Vec<f64> = (0..rows).map(|r| x[r] + 0.05 * rng.normal()).collect();
    y.extend(
        (0..rows).map(|r| 0.3 * x[r] - 2.0 * x[rows + r] * x[2 * rows + r] + 0.05 * rng.normal()),
    );
    let stats = statistics("polynomial(2)", &["x", "y", "z"], &x, &["a", "b"], &y, rows);
    let path = Path::new(&stats, &[0, 1], &[], &PathConfig::default()).unwrap();
    let line = path.choose(Rule::Terms(2)).unwrap();
    let names: Vec<&str> = line
        .support
        .iter()
        .map(|&j| stats.features()[j].as_str())
        .collect();
    assert_eq!(names, ["x", "y z"]);
    let at = |target: usize, k: usize| line.coefficients[target * 10 + line.support[k]];
    assert!((at(0, 0) - 1.0).abs() < 0.02 && at(0, 1).abs() < 0.02);
    assert!((at(1, 0) - 0.3).abs() < 0.02 && (at(1, 1) + 2.0).abs() < 0.02);
    let problem = Problem::new(&stats, &[0, 1]).unwrap();
    let gated = train_exact(&problem, &HardConcrete::default(), 0.05).unwrap();
    assert_eq!(gated.support(&HardConcrete::default()), line.support);
}

#[test]
fn a_target_that_is_zero_has_no_terms() {
    let mut rng = Stream::new(5).at(0);
    let x: Vec<f64> = (0..100).map(|_| rng.normal()).collect();
    let stats = statistics("polynomial(2)", &["a", "b"], &x, &["y"], &[0.0; 50], 50);
    let path = Path::new(&stats, &[0], &[], &PathConfig::default()).unwrap();
    assert_eq!(path.choose(Rule::OneStandardError).unwrap().terms, 0);
    let problem = Problem::new(&stats, &[0]).unwrap();
    assert_eq!(
        inclusion_probabilities(&problem, 0.3, &Stream::new(0)).unwrap(),
        [0.3; 6]
    );
    assert!(
        train_exact(&problem, &HardConcrete::default(), 0.1)
            .unwrap()
            .objective
            .is_finite()
    );
    let few = statistics(
        "polynomial(2)",
        &["a", "b"],
        &x[..8],
        &["y"],
        &[0.0, 1.0, 2.0, 0.5],
        4,
    );
    let few = Problem::new(&few, &[0]).unwrap();
    assert!(
        inclusion_probabilities(&few, 0.3, &Stream::new(0))
            .unwrap_err()
            .to_string()
            .contains("rows, or anything would fit")
    );
}

/// A path that ends where its rule has nothing more to gain has the law that the whole path has, and reaches what is asked for.
#[test]
fn a_path_that_ends_early_loses_no_law() {
    let rows = 600;
    for (noise, terms) in [(0.0, 3), (0.05, 3), (1.0, 5)] {
        let mut rng = Stream::new(9).split("ending").at(terms);
        let inputs = ["a", "b", "c", "d", "e", "f"];
        let draw = |rng: &mut Generator| -> Statistics {
            let x: Vec<f64> = (0..6 * rows).map(|_| rng.normal()).collect();
            let at = |column: usize, row: usize| x[column * rows + row];
            let y: Vec<f64> = (0..rows)
                .map(|r| {
                    let law = 2.0 * at(0, r) - 3.0 * at(1, r) * at(2, r) + at(3, r).powi(3);
                    law + noise * rng.normal()
                })
                .collect();
            statistics("polynomial(3)", &inputs, &x, &["t"], &y, rows)
        };
        let train = draw(&mut rng);
        let validation: Vec<Statistics> = (0..3).map(|_| draw(&mut rng)).collect();
        let path = |rule: Option<Rule>| {
            let config = PathConfig {
                floor: 1e-10,
                rule,
                ..PathConfig::default()
            };
            Path::new(&train, &[0], &validation, &config).unwrap()
        };
        let whole = path(None);
        assert_eq!(whole.lines().last().unwrap().terms, 84);
        for rule in [
            Rule::OneStandardError,
            Rule::Bic,
            Rule::Terms(7),
            Rule::Terms(40),
            Rule::Lambda(0.01),
            Rule::Lambda(1.0),
        ] {
            let short = path(Some(rule));
            assert!(short.lines().len() < 84, "{rule:?}");
            let (a, b) = (short.choose(rule).unwrap(), whole.choose(rule).unwrap());
            assert_eq!(a.terms, b.terms, "{noise} {rule:?}");
            if a.terms <= 7 {
                assert_eq!(a.support, b.support, "{noise} {rule:?}");
            }
            assert!(a.train_error <= b.train_error * 1.01 + 1e-12);
        }
        // Small libraries have no need to be short.
        let small = small(0.1, 1, 100);
        let config = PathConfig {
            rule: Some(Rule::Bic),
            ..PathConfig::default()
        };
        let path = Path::new(&small, &[0], &[], &config).unwrap();
        assert_eq!(path.lines().last().unwrap().terms, 10);
    }
}

/// A path of bounded work ends with the laws that it found, and says so.
#[test]
fn a_path_ends_at_its_bound() {
    let mut rng = Stream::new(5).split("bound").at(0);
    let inputs: Vec<String> = (0..30).map(|k| format!("x{k}")).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let rows = 600;
    let x: Vec<f64> = (0..30 * rows).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| x[r] - x[rows + r] + rng.normal())
        .collect();
    let stats = statistics("polynomial(2)", &inputs, &x, &["t"], &y, rows);
    let path = |most_work: u64| {
        let config = PathConfig {
            most_work,
            ..PathConfig::default()
        };
        Path::new(&stats, &[0], &[], &config).unwrap()
    };
    let short = path(20_000_000);
    assert!(short.ended() && !short.lines().is_empty());
    let two = short
        .lines()
        .iter()
        .find(|line| line.terms == 2)
        .expect("a law");
    assert_eq!(two.support.len(), 2);
    assert_eq!(path(20_000_000).lines(), short.lines());
    assert!(
        !Path::new(&small(0.1, 1, 100), &[0], &[], &PathConfig::default())
            .unwrap()
            .ended()
    );
}

/// A path that is told to stop ends with what it has.
#[test]
fn a_path_can_be_stopped() {
    let stats = small(0.1, 1, 100);
    let asked = std::cell::Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 3
    };
    let path = Path::watched(&stats, &[0], &[], &PathConfig::default(), &go_on).unwrap();
    assert!(path.lines().len() < 11 && asked.get() >= 3);
}
