//! What is said of a law, and of the data it was found in, is so: explained, related, held, measured with errors.

use std::collections::BTreeMap;

use ell0::rng::{Generator, Stream};
use ell0_data::frame::Frame;
use ell0_run::{
    DataSettings, Discovery, Doubt, FitSettings, InputNoise, Judged, Kind, Silent, Verdict,
};

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| name.to_string()).collect()
}

fn fit(data: DataSettings, columns: Vec<(&str, Vec<f64>)>) -> Discovery {
    tried(data, columns).expect("a law")
}

fn tried(data: DataSettings, columns: Vec<(&str, Vec<f64>)>) -> ell0_run::Result<Discovery> {
    let settings = FitSettings {
        data,
        ..FitSettings::default()
    };
    settings.run_on(&[Frame::new(columns)], &Silent)
}

fn states(all: &[&str], library: &str) -> DataSettings {
    DataSettings {
        states: names(all),
        library: library.parse().expect("a library"),
        ..DataSettings::default()
    }
}

fn regression(inputs: &[&str], library: &str) -> DataSettings {
    DataSettings {
        inputs: names(inputs),
        targets: names(&["y"]),
        library: library.parse().expect("a library"),
        ..DataSettings::default()
    }
}

fn judged(found: &Discovery) -> &[Judged] {
    &found.judgement.as_ref().expect("a judgement").equations
}

fn rng(seed: u64) -> Generator {
    Stream::new(seed).at(0)
}

/// `rows` draws of a normal variable.
fn normal(rng: &mut Generator, rows: usize) -> Vec<f64> {
    (0..rows).map(|_| rng.normal()).collect()
}

/// x[k+1] = 0.99 x[k], measured with noise of 10 to 50 %: the word is never "explained" while most is left, or noise of a sensor is.
#[test]
fn maps_of_noisy_sensors_are_not_explained() {
    let data = DataSettings {
        dynamics: Kind::Discrete,
        ..states(&["x"], "polynomial(3)")
    };
    for rows in [200, 1000] {
        for noise in [0.1, 0.3, 0.5] {
            let mut rng = rng(rows as u64);
            let clean: Vec<f64> = (0..rows).map(|k| 0.99f64.powi(k)).collect();
            let size = noise * ell0_data::noise::deviation(&clean);
            let x = clean.iter().map(|x| x + size * rng.normal()).collect();
            let found = fit(data.clone(), vec![("x", x)]);
            let judged = &judged(&found)[0];
            let words = judged.words();
            assert_ne!(
                judged.verdict,
                Verdict::Explained,
                "{rows} {noise}: {words}"
            );
            assert!(!words.starts_with("explained:"), "{words}");
        }
    }
    // Without noise it is.
    let clean = (0..200).map(|k| 0.99f64.powi(k)).collect();
    let found = fit(data, vec![("x", clean)]);
    assert_eq!(judged(&found)[0].verdict, Verdict::Explained);
}

/// Rates that the user differenced: their noise is that of the states, and correlated.
#[test]
fn differenced_rates_are_not_explained() {
    let (rows, dt) = (1000, 0.02);
    for noise in [0.01, 0.03, 0.05] {
        let mut rng = rng(3);
        let t: Vec<f64> = (0..rows).map(|k| k as f64 * dt).collect();
        let x: Vec<f64> = t
            .iter()
            .map(|t| t.cos() + 0.7 * noise * rng.normal())
            .collect();
        let v: Vec<f64> = t
            .iter()
            .map(|t| -t.sin() + 0.7 * noise * rng.normal())
            .collect();
        // As numpy.gradient does it.
        let gradient = |x: &[f64]| -> Vec<f64> {
            let at = |k: usize| {
                let (from, to) = (k.saturating_sub(1), (k + 1).min(rows - 1));
                (x[to] - x[from]) / ((to - from) as f64 * dt)
            };
            (0..rows).map(at).collect()
        };
        let (dx, dv) = (gradient(&x), gradient(&v));
        let data = DataSettings {
            rates: names(&["dx", "dv"]),
            ..states(&["x", "v"], "polynomial(2)")
        };
        let columns = vec![("t", t), ("x", x), ("v", v), ("dx", dx), ("dv", dv)];
        let found = fit(data, columns);
        for judged in judged(&found) {
            let words = judged.words();
            assert_ne!(judged.verdict, Verdict::Explained, "{noise}: {words}");
            if judged.noise_left > 0.71 {
                assert_eq!(judged.verdict, Verdict::NoLaw, "{words}");
            } else {
                let lag = matches!(judged.doubt, Some(Doubt::Correlated { lag: 2, .. }));
                assert!(lag, "{words}");
            }
        }
    }
}

/// Six rows of noise about a line explain nothing, whatever the law is of.
#[test]
fn six_rows_explain_nothing() {
    for seed in 0..8 {
        let mut rng = rng(seed);
        let t: Vec<f64> = (0..6).map(|k| 0.1 * f64::from(k)).collect();
        let x: Vec<f64> = t.iter().map(|t| (-t).exp() + 0.1 * rng.normal()).collect();
        let map = DataSettings {
            dynamics: Kind::Discrete,
            ..states(&["x"], "polynomial(3)")
        };
        let regression = DataSettings {
            inputs: names(&["t"]),
            targets: names(&["x"]),
            ..DataSettings::default()
        };
        for data in [states(&["x"], "polynomial(3)"), map, regression] {
            let found = fit(data, vec![("t", t.clone()), ("x", x.clone())]);
            let judged = &judged(&found)[0];
            let (left, words) = (judged.noise_left, judged.words());
            if left > 0.1 {
                assert_ne!(judged.verdict, Verdict::Explained, "{seed}: {words}");
            }
            // Only a law of derivatives can be followed, or not.
            assert!(
                !found.data.derivatives.is_empty() || !words.contains("followed"),
                "{words}"
            );
        }
    }
}

/// A regression is explained if little is left; if much is and nobody knows the noise, that is said.
#[test]
fn regressions_are_explained_as_far_as_can_be_told() {
    let rows = 1500;
    for (noise, verdict) in [
        (0.05, Verdict::Explained),
        (0.2, Verdict::Explained),
        (0.5, Verdict::Partly),
    ] {
        let mut rng = rng(7);
        let (a, b) = (normal(&mut rng, rows), normal(&mut rng, rows));
        let y = a
            .iter()
            .zip(&b)
            .map(|(a, b)| a + 0.5 * b + noise * rng.normal())
            .collect();
        let found = fit(
            regression(&["a", "b"], "polynomial(2)"),
            vec![("a", a), ("b", b), ("y", y)],
        );
        let judged = &judged(&found)[0];
        assert_eq!(judged.verdict, verdict, "{noise}: {}", judged.words());
        let unknown = judged.doubt == Some(Doubt::NoiseUnknown);
        assert_eq!(unknown, verdict == Verdict::Partly);
    }
}

/// A mass that is held by u = −3x − 2v from several beginnings, in steps of a hundredth, with noise of the states.
fn held_mass(noise: f64, digits: Option<f64>) -> Vec<(&'static str, Vec<f64>)> {
    let mut rng = rng(11);
    let mut columns = vec![Vec::new(); 5];
    for run in 0..5 {
        let (mut x, mut v) = (rng.normal(), rng.normal());
        for k in 0..400 {
            let u = -3.0 * x - 2.0 * v;
            let row = [
                run as f64,
                k as f64 * 0.01,
                x + noise * rng.normal(),
                v + noise * rng.normal(),
                u,
            ];
            for (column, value) in columns.iter_mut().zip(row) {
                let rounded = digits.map_or(value, |d| (value * d).round() / d);
                column.push(rounded);
            }
            for _ in 0..10 {
                let h = 1e-3;
                let a = -x + u;
                (x, v) = (x + h * v + 0.5 * h * h * a, v + h * a);
            }
        }
    }
    ["run", "t", "x", "v", "u"]
        .into_iter()
        .zip(columns)
        .collect()
}

fn probability(found: &Discovery, equation: usize, name: &str) -> f64 {
    let equation = &found.equations[equation];
    let inside = equation.terms.iter().find(|t| t.feature == name);
    let outside = equation.left_out.iter().find(|t| t.feature == name);
    let inside = inside.map(|t| t.probability.expect("a probability"));
    inside.or(outside.map(|t| t.probability)).unwrap_or(0.0)
}

#[test]
fn a_feedback_is_named_and_its_terms_share_their_probability() {
    let data = DataSettings {
        controls: names(&["u"]),
        trajectory: Some("run".into()),
        ..states(&["x", "v"], "polynomial(1)")
    };
    for (noise, digits) in [(0.0, None), (0.005, None), (0.0, Some(1e4))] {
        let found = fit(data.clone(), held_mass(noise, digits));
        let said = found.relations_told();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("u = -")
                && said[0].contains("the coefficients of u, x and v cannot be told apart"),
            "{said:?}"
        );
        let relation = &found.relations[0];
        for ((_, c), truth) in relation.of.iter().zip([-3.0, -2.0]) {
            assert!((c - truth).abs() < 0.05, "{relation:?}");
        }
        // v' = u − x, or −4x − 2v, or one of u and v.
        for term in found.equations[1].terms.iter().filter(|t| t.feature != "1") {
            let p = probability(&found, 1, &term.feature);
            assert!(
                (0.3..0.8).contains(&p),
                "{noise} {digits:?} {}: {p}",
                term.feature
            );
        }
    }
}

#[test]
fn a_circle_and_a_sum_are_named() {
    let t: Vec<f64> = (0..1500).map(|k| 0.02 * f64::from(k)).collect();
    for noise in [0.0, 0.01] {
        let mut rng = rng(5);
        let x = t.iter().map(|t| t.cos() + noise * rng.normal()).collect();
        let v = t.iter().map(|t| -t.sin() + noise * rng.normal()).collect();
        let found = fit(
            states(&["x", "v"], "polynomial(2)"),
            vec![("t", t.clone()), ("x", x), ("v", v)],
        );
        let said = found.relations_told();
        assert!(said.len() == 1 && said[0].starts_with("v^2 = "), "{said:?}");
        // No column is a combination of others, and with these terms none is.
        let mut rng = self::rng(5);
        let x = t.iter().map(|t| t.cos() + noise * rng.normal()).collect();
        let v = t.iter().map(|t| -t.sin() + noise * rng.normal()).collect();
        let found = fit(
            states(&["x", "v"], "polynomial(1)"),
            vec![("t", t.clone()), ("x", x), ("v", v)],
        );
        assert_eq!(found.relations, []);
    }
    for round in [f64::INFINITY, 100.0] {
        let mut rng = rng(6);
        let (a, b) = (normal(&mut rng, 500), normal(&mut rng, 500));
        let y = a
            .iter()
            .zip(&b)
            .map(|(a, b)| 2.0 * a + b + 0.05 * rng.normal())
            .collect();
        let sum = |(a, b): (&f64, &f64)| match round.is_finite() {
            true => ((a + b) * round).round() / round,
            false => a + b,
        };
        let total = a.iter().zip(&b).map(sum).collect();
        let columns = vec![("a", a), ("b", b), ("total", total), ("y", y)];
        let found = fit(regression(&["a", "b", "total"], "polynomial(1)"), columns);
        let said = found.relations_told();
        assert!(
            said.len() == 1 && said[0].starts_with("total = a + b on these data"),
            "{said:?}"
        );
        assert_eq!(
            said[0].contains("cannot be told apart"),
            round.is_infinite()
        );
    }
}

/// Values that were held instead of measured are named; a clean oscillator and the example are left in peace.
#[test]
fn held_values_are_named_and_healthy_data_are_not() {
    let t: Vec<f64> = (0..2000).map(|k| 0.02 * f64::from(k)).collect();
    let noisy = |seed: u64, of: fn(f64) -> f64| -> Vec<f64> {
        let mut rng = rng(seed);
        t.iter().map(|t| of(*t) + 0.01 * rng.normal()).collect()
    };
    let v = noisy(2, |t| -t.sin());
    let all = noisy(1, f64::cos);
    let held: Vec<f64> = (0..2000).map(|k| all[k - k % 2]).collect();
    let mut frozen = all.clone();
    for k in (30..2000).step_by(9) {
        frozen[k] = frozen[k - 1];
    }
    let of = |x: Vec<f64>| {
        let columns = vec![("t", t.clone()), ("x", x), ("v", v.clone())];
        fit(states(&["x", "v"], "polynomial(1)"), columns)
    };
    let said = of(held).cautions_told();
    assert!(
        said[0].contains("1000 of 1999 rows") && said[0].contains("sampled and held"),
        "{said:?}"
    );
    let said = of(frozen).cautions_told();
    assert!(
        said[0].contains("219 of 1999 rows") && said[0].contains("logger"),
        "{said:?}"
    );
    assert_eq!(of(all).cautions_told(), Vec::<String>::new());
    let lorenz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lorenz.csv");
    for library in ["polynomial(2)", "polynomial(3)"] {
        let settings = FitSettings {
            data: DataSettings {
                files: vec![lorenz.into()],
                ..states(&["x", "y", "z"], library)
            },
            ..FitSettings::default()
        };
        let found = settings.run(&Silent).expect("a law");
        assert_eq!(found.cautions_told(), Vec::<String>::new());
        assert!(
            judged(&found)
                .iter()
                .all(|j| j.verdict == Verdict::Explained && j.caution.is_none())
        );
    }
}

/// y = 1 + 2a − 0.5a³ with errors of a, and a second input that says nothing.
fn with_errors(seed: u64, noise: f64) -> Vec<(&'static str, Vec<f64>)> {
    let rows = 2000;
    let mut rng = rng(seed);
    let true_a = normal(&mut rng, rows);
    let b = normal(&mut rng, rows);
    let y = true_a
        .iter()
        .map(|a| 1.0 + 2.0 * a - 0.5 * a.powi(3) + 0.1 * rng.normal())
        .collect();
    let a = true_a.iter().map(|a| a + noise * rng.normal()).collect();
    vec![("a", a), ("b", b), ("y", y)]
}

fn with_noise(data: DataSettings, noise: InputNoise) -> DataSettings {
    DataSettings {
        input_noise: noise,
        ..data
    }
}

fn each(name: &str, noise: f64) -> InputNoise {
    InputNoise::Each(BTreeMap::from([(name.to_string(), noise)]))
}

/// Coefficients that were corrected are right within their intervals, and nothing else is in the law.
#[test]
fn errors_of_inputs_that_are_said_are_corrected() {
    let data = regression(&["a", "b"], "polynomial(3)");
    for noise in [0.05, 0.2, 0.3] {
        let (mut inside, mut all) = (0, 0);
        for seed in 0..12 {
            let found = fit(
                with_noise(data.clone(), each("a", noise)),
                with_errors(seed, noise),
            );
            for (name, truth) in [("1", 1.0), ("a", 2.0), ("a^3", -0.5)] {
                let term = found.equations[0].terms.iter().find(|t| t.feature == name);
                let term =
                    term.unwrap_or_else(|| panic!("{noise} {seed}: {}", found.model.text(4)));
                let error = term.error.expect("an error");
                inside += usize::from((term.coefficient - truth).abs() < 1.96 * error);
                all += 1;
            }
            assert_eq!(found.equations[0].terms.len(), 3, "{}", found.model.text(4));
            assert_eq!(found.data.input_noise["a"], noise);
            assert!(judged(&found)[0].caution.is_none());
        }
        // 95 % but for four standard errors, of 36.
        assert!(inside * 100 >= all * 80, "{noise}: {inside} of {all}");
    }
    // Least squares is far off, and warns.
    let found = fit(data, with_errors(1, 0.2));
    let caution = judged(&found)[0].caution.as_ref().expect("a caution");
    assert_eq!((caution.input.as_str(), caution.measured), ("a", false));
    // Of 400 rows, and of a law with a term that is not in the true one.
    assert!((caution.noise / 0.2 - 1.0).abs() < 0.25, "{caution:?}");
    assert!(
        caution.words().contains("if a was measured with errors"),
        "{}",
        caution.words()
    );
}

/// Errors of 0 change nothing at all; a regression whose target is exact to little has no caution.
#[test]
fn exact_inputs_are_left_alone() {
    let data = regression(&["a", "b"], "polynomial(3)");
    let plain = fit(data.clone(), with_errors(4, 0.0));
    assert!(judged(&plain)[0].caution.is_none(), "{plain:?}");
    for noise in [InputNoise::All(0.0), each("b", 0.0)] {
        assert_eq!(
            fit(with_noise(data.clone(), noise), with_errors(4, 0.0)),
            plain
        );
    }
}

/// A map whose states are measured with noise: with the noise said, the law is right.
#[test]
fn noise_of_a_map_is_corrected() {
    let mut rng = rng(9);
    let mut x = vec![0.3];
    for k in 0..3000 {
        // The logistic map, which never settles.
        x.push(3.7 * x[k] * (1.0 - x[k]));
    }
    let noise = 0.03;
    let measured: Vec<f64> = x.iter().map(|x| x + noise * rng.normal()).collect();
    let data = DataSettings {
        dynamics: Kind::Discrete,
        ..states(&["x"], "polynomial(2)")
    };
    let plain = fit(data.clone(), vec![("x", measured.clone())]);
    let found = fit(
        with_noise(data, InputNoise::All(noise)),
        vec![("x", measured)],
    );
    let of = |found: &Discovery, name: &str| {
        let term = found.equations[0].terms.iter().find(|t| t.feature == name);
        term.map_or((0.0, 1.0), |t| (t.coefficient, t.error.expect("an error")))
    };
    for (name, truth) in [("x", 3.7), ("x^2", -3.7)] {
        let ((c, error), (before, _)) = (of(&found, name), of(&plain, name));
        assert!(
            (c - truth).abs() < 3.0 * error && error < 0.1,
            "{}",
            found.model.text(4)
        );
        assert!(
            (before - truth).abs() > 2.0 * (c - truth).abs(),
            "{}",
            plain.model.text(4)
        );
    }
    // What is left is the noise of the sensor, before and after the step.
    let words = judged(&found)[0].words();
    assert!(words.starts_with("explained to the noise"), "{words}");
}

#[test]
fn errors_that_cannot_be_used_are_refused() {
    let refused = |data: DataSettings, columns: Vec<(&str, Vec<f64>)>, why: &str| {
        let settings = FitSettings {
            data,
            ..FitSettings::default()
        };
        let error = settings.run_on(&[Frame::new(columns)], &Silent);
        let error = error.expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    };
    let data = regression(&["a", "b"], "polynomial(3)");
    let with = |noise| with_noise(data.clone(), noise);
    refused(with(each("c", 0.1)), with_errors(1, 0.1), "the input `c`");
    refused(
        with(each("a", -0.1)),
        with_errors(1, 0.1),
        "input-noise = a=-0.1",
    );
    refused(
        with(InputNoise::All(f64::NAN)),
        with_errors(1, 0.1),
        "not negative",
    );
    refused(
        with(each("a", 5.0)),
        with_errors(1, 0.1),
        "nearly all that tells",
    );
    let states = with_noise(states(&["a", "b"], "polynomial(1)"), InputNoise::All(0.1));
    let timed = DataSettings {
        dt: Some(0.1),
        ..states
    };
    refused(timed, with_errors(1, 0.1), "leave the errors out");
}

/// Errors that leave nothing of a law, or that contradict the data.
#[test]
fn errors_beyond_the_data_end_with_no_law_or_a_word() {
    let mut rng = rng(3);
    let a = normal(&mut rng, 1500);
    let data = regression(&["a"], "polynomial(1)");
    let y: Vec<f64> = a.iter().map(|a| 0.15 * a + rng.normal()).collect();
    for noise in [0.5, 0.8, 0.95] {
        let settings = with_noise(data.clone(), each("a", noise));
        match tried(settings, vec![("a", a.clone()), ("y", y.clone())]) {
            Ok(found) => assert_ne!(judged(&found)[0].verdict, Verdict::Explained),
            Err(error) => assert!(error.to_string().contains("errors"), "{error}"),
        }
    }
    let y = a
        .iter()
        .map(|a| 1.0 + 2.0 * a + 0.3 * rng.normal())
        .collect();
    let refused = tried(with_noise(data, each("a", 0.7)), vec![("a", a), ("y", y)]);
    let error = refused.expect_err("refused").to_string();
    assert!(
        error.contains("would leave more than the law leaves"),
        "{error}"
    );
}

/// Prey and predators as they were measured: 1000 rows, with noise relative to their values.
fn populations(noise: f64, digits: Option<i32>, seed: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut rng = rng(seed);
    let (mut x, mut y) = (1.0f64, 0.5f64);
    let (mut xs, mut ys, mut ts) = (Vec::new(), Vec::new(), Vec::new());
    let shown = |value: f64| match digits {
        Some(digits) => {
            let unit = 10f64.powi(value.abs().log10().floor() as i32 + 1 - digits);
            (value / unit).round() * unit
        }
        None => value,
    };
    for k in 0..20_000 {
        if k % 20 == 0 {
            ts.push(f64::from(k) * 0.001);
            xs.push(shown(1000.0 * x * (1.0 + noise * rng.normal())));
            ys.push(shown(1000.0 * y * (1.0 + noise * rng.normal())));
        }
        (x, y) = (x + 0.001 * (x - x * y), y + 0.001 * (x * y - y));
    }
    vec![("t", ts), ("x", xs), ("y", ys)]
}

/// Nothing is said of relations or repeats where there are none.
#[test]
fn healthy_data_have_no_relations_and_no_repeats() {
    for seed in 0..3 {
        for noise in [0.005, 0.01, 0.02, 0.05] {
            let found = fit(
                states(&["x", "y"], "polynomial(3)"),
                populations(noise, None, seed),
            );
            assert_eq!(found.relations, [], "{noise} {seed}");
            for digits in [3, 4, 5] {
                let columns = populations(noise, Some(digits), seed);
                let found = fit(states(&["x", "y"], "polynomial(2)"), columns);
                assert!(
                    found.data.repeats.is_empty(),
                    "{noise} {digits}: {:?}",
                    found.data.repeats
                );
            }
        }
    }
}
