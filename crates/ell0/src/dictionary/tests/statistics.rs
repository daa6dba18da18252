//! Statistics of rows: exact, mergeable, readable; and what is wrong with columns.

use super::*;

#[test]
fn statistics_give_the_error_of_any_coefficients() {
    let data = pendulum(5, 1);
    let library = "polynomial(2)";
    let features = library
        .parse::<Library>()
        .unwrap()
        .features(&PENDULUM_INPUTS)
        .unwrap();
    let whole = statistics(
        library,
        &PENDULUM_INPUTS,
        &data.inputs,
        &["c", "s", "v"],
        &data.next,
        data.rows,
    );
    let phi = features.evaluate(&data.inputs).unwrap();
    let mut rng = Stream::new(2).at(0);
    for target in 0..3 {
        let w: Vec<f64> = (0..features.len()).map(|_| rng.normal()).collect();
        let direct: f64 = (0..data.rows)
            .map(|row| {
                let prediction: f64 = (0..w.len()).map(|j| phi[j * data.rows + row] * w[j]).sum();
                (prediction - data.next[target * data.rows + row]).powi(2)
            })
            .sum::<f64>()
            / data.rows as f64;
        let got = whole.mean_squared_error(target, &w).unwrap();
        assert!((got / direct - 1.0).abs() < 1e-12, "{got} {direct}");
    }
}

#[test]
fn parts_merge_to_the_whole_and_weights_repeat_rows() {
    let data = pendulum(4, 1);
    let n = data.rows;
    let part = |from: usize, to: usize, weights: Option<&[f64]>| {
        let pick = |all: &[f64]| -> Vec<f64> {
            all.chunks(n).flat_map(|c| c[from..to].to_vec()).collect()
        };
        let features = Library::polynomial(2).features(&PENDULUM_INPUTS).unwrap();
        let mut a = Accumulator::new(features, vec!["r".into()]).unwrap();
        a.push(&pick(&data.inputs), &pick(&data.reward), weights, to - from)
            .unwrap();
        a.finish()
    };
    let whole = part(0, n, None);
    let mut merged = part(0, 123, None);
    merged.merge(&part(123, 500, None)).unwrap();
    merged.merge(&part(500, n, None)).unwrap();
    assert_eq!(merged.rows(), whole.rows());
    let error = |s: &Statistics| {
        let problem = Problem::new(s, &[0]).unwrap();
        Fitted::new(&problem, &(0..problem.features()).collect::<Vec<_>>()).error()
    };
    assert!((error(&merged) / error(&whole) - 1.0).abs() < 1e-10);
    // A weight of 2 is a row that occurs twice.
    let mut twice = part(0, n, None);
    twice.merge(&part(0, 100, None)).unwrap();
    let weights: Vec<f64> = (0..n)
        .map(|row| if row < 100 { 2.0 } else { 1.0 })
        .collect();
    let weighted = part(0, n, Some(&weights));
    assert!((error(&weighted) / error(&twice) - 1.0).abs() < 1e-10);
    assert_eq!(weighted.weight(), twice.weight());
    // Saved and loaded, to the bit.
    let text = serde_json::to_string(&whole).unwrap();
    assert_eq!(serde_json::from_str::<Statistics>(&text).unwrap(), whole);
    let other = statistics(
        "polynomial(1)",
        &PENDULUM_INPUTS,
        &data.inputs,
        &["r"],
        &data.reward,
        n,
    );
    assert!(
        merged
            .merge(&other)
            .unwrap_err()
            .to_string()
            .contains("statistics merge only if their features are the same")
    );
}

/// Through the triangle the full polynomial+Fourier fit of the reward reaches its floor; normal equations, solved in the same precision, miss it.
#[test]
fn the_triangle_reaches_the_floor_that_normal_equations_miss() {
    let (train, test) = (pendulum(1000, 1), pendulum(100, 2));
    let library = "polynomial(3) + fourier(1, interactions)";
    let stats = |d: &Pendulum| {
        statistics(
            library,
            &PENDULUM_INPUTS,
            &d.inputs,
            &["r"],
            &d.reward,
            d.rows,
        )
    };
    let (train_stats, test_stats) = (stats(&train), stats(&test));
    let problem = Problem::new(&train_stats, &[0]).unwrap();
    let full = Fitted::new(&problem, &(0..problem.features()).collect::<Vec<_>>());
    let coefficients = problem.unscaled(&full.coefficients());
    let error = test_stats.mean_squared_error(0, &coefficients).unwrap();
    assert!((0.0055..0.0060).contains(&full.error()), "{}", full.error());
    assert!((0.0050..0.0066).contains(&error), "{error}");

    // ΦᵀΦ w = Φᵀy by eigenvalues, leaving out those that round-off cannot tell from zero, as a pseudo-inverse does: ΦᵀΦ has the square of the condition number, and
    // directions that matter go with the ones that do not.
    let features = library
        .parse::<Library>()
        .unwrap()
        .features(&PENDULUM_INPUTS)
        .unwrap();
    let (p, n) = (features.len(), train.rows);
    let phi = features.evaluate(&train.inputs).unwrap();
    let phi = faer::MatRef::from_column_major_slice(&phi, n, p);
    let y = faer::MatRef::from_column_major_slice(&train.reward, n, 1);
    let eigen = (phi.transpose() * phi)
        .self_adjoint_eigen(faer::Side::Lower)
        .unwrap();
    let moment = phi.transpose() * y;
    let largest = (0..p).map(|k| eigen.S()[k]).fold(0.0, f64::max);
    let mut coefficients = vec![0.0; p];
    for k in (0..p).filter(|&k| eigen.S()[k] > 1e-15 * largest) {
        let along: f64 = (0..p)
            .map(|j| eigen.U()[(j, k)] * moment[(j, 0)])
            .sum::<f64>()
            / eigen.S()[k];
        (0..p).for_each(|j| coefficients[j] += along * eigen.U()[(j, k)]);
    }
    let normal = test_stats.mean_squared_error(0, &coefficients).unwrap();
    println!(
        "train {:.5}, test {error:.5}; by normal equations {normal:.5}",
        full.error()
    );
    assert!(normal > 1.5 * error, "{normal} {error}");
}

#[test]
fn columns_that_cannot_be_told_apart_are_reported() {
    let mut rng = Stream::new(1).at(0);
    let rows = 50;
    let a: Vec<f64> = (0..rows).map(|_| rng.normal()).collect();
    let mut x = a.clone();
    x.extend(a.iter().map(|a| -2.0 * a));
    x.extend(vec![3.0; rows]);
    x.extend(vec![0.0; rows]);
    let y: Vec<f64> = a.iter().map(|a| a * a).collect();
    let stats = statistics(
        "polynomial(1) + fourier(1)[a] + fourier(1, interactions)[a]",
        &["a", "b", "c", "zero"],
        &x,
        &["y"],
        &y,
        rows,
    );
    let found = Diagnostics::new(&stats).unwrap();
    assert_eq!(found.zero, ["zero"]);
    assert_eq!(found.constant, ["c"]);
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(found.duplicate, [pair("b", "a"), pair("c", "1")]);
    assert!(found.collinear.is_empty() && !found.is_clean());
    assert_eq!(found.rank, 2 + 3);
    // cos² + sin² = 1.
    let theta: Vec<f64> = (0..rows).map(|_| rng.normal()).collect();
    let circle: Vec<f64> = theta
        .iter()
        .map(|t| t.cos())
        .chain(theta.iter().map(|t| t.sin()))
        .collect();
    let stats = statistics("polynomial(2)", &["c", "s"], &circle, &["y"], &y, rows);
    let found = Diagnostics::new(&stats).unwrap();
    assert_eq!(
        found.collinear,
        [("s^2".to_string(), vec!["1".to_string(), "c^2".to_string()])]
    );
    assert_eq!(found.rank, 5);
}

proptest! {
    #![proptest_config(proptest_config(256))]

    #[test]
    fn any_statistics_file_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120), at: prop::sample::Index, byte: u8) {
        let _ = serde_json::from_slice::<Statistics>(&bytes);
        let mut text = serde_json::to_vec(&small(0.1, 1, 20)).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        if let Ok(mut changed) = serde_json::from_slice::<Statistics>(&text) {
            let _ = changed.merge(&small(0.1, 2, 20));
            let _ = Path::new(&changed, &[0], &[], &PathConfig::default());
        }
    }
}

/// Coefficients that cancel are printed with as many digits as the law needs.
#[test]
fn digits_suffice_for_the_law() {
    let library: Library = "polynomial(1) + functions(sin)".parse().expect("a library");
    let features = library.features(&["x"]).expect("features");
    let x: Vec<f64> = (0..500).map(|k| 0.0002 * f64::from(k)).collect();
    let law = |x: f64| 1234567.8 * x - 1234512.3 * x.sin();
    let y: Vec<f64> = x
        .iter()
        .map(|&x| law(x))
        .chain(x.iter().map(|x| 2.0 * x))
        .collect();
    let names = ["y", "z"].map(String::from).to_vec();
    let mut accumulator = Accumulator::new(features.clone(), names).expect("columns");
    accumulator.push(&x, &y, None, x.len()).expect("rows");
    let statistics = accumulator.finish();
    // 1, x, sin x.
    assert_eq!(features.len(), 3);
    let mut coefficients = vec![0.0; features.len()];
    coefficients[1] = 1234567.8;
    coefficients[2] = -1234512.3;
    let digits = statistics.digits(0, &coefficients).expect("digits");
    assert!((7..=10).contains(&digits), "{digits}");
    let mut plain = vec![0.0; features.len()];
    plain[1] = 2.0;
    assert_eq!(statistics.digits(1, &plain).expect("digits"), 5);
    let targets = [("y", coefficients), ("z", plain)].map(|(target, coefficients)| {
        crate::equation::DictionaryTarget {
            target: target.into(),
            coefficients,
            probabilities: None,
            errors: None,
        }
    });
    let dynamics = crate::equation::Dynamics::Regression;
    let model = crate::equation::Model::dictionary(&features, &library, &targets, dynamics);
    let model = model.expect("a model").with_digits([digits, 5]);
    let text = model.text(3);
    assert!(
        text.contains("1234567") && text.ends_with("z = 2*x"),
        "{text}"
    );
    // One more than usual counts, too.
    let six = model.clone().with_digits([6, 5]).text(5);
    assert!(
        six.contains("1.23457e6") || six.contains("1234570"),
        "{six}"
    );
    // Kept with the model.
    let read = crate::equation::Model::from_json(&model.to_json()).expect("a model");
    assert_eq!(read.text(3), text);
}

/// A path, its lines and what is wrong with columns are read back as they were, the infinite price of the smallest model, too.
#[test]
fn paths_and_diagnostics_are_read_back() {
    let statistics = small(0.1, 1, 50);
    let path = Path::new(&statistics, &[0], &[], &PathConfig::default()).unwrap();
    assert_eq!(path.lines()[0].lambda, f64::INFINITY);
    let json = serde_json::to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<Path>(&json).unwrap(), path);
    let found = Diagnostics {
        duplicate: vec![("x".into(), "y".into())],
        rank: 3,
        ..Diagnostics::default()
    };
    let json = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Diagnostics>(&json).unwrap(), found);
}
