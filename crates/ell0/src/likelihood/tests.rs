use super::*;
use crate::{
    equation::{Dynamics, Expression, Model},
    features::{Features, Library},
    rng::Stream,
};

/// Measurements of a law with noise: windows of so many rows.
struct Measured {
    features: Features,
    windows: Vec<Window>,
}

/// A law, sampled with noise relative to the deviations of its states.
struct Sampling<'a> {
    names: &'a [&'a str],
    laws: &'a [&'a str],
    initial: &'a [f64],
    dt: f64,
    rows: usize,
    noise: f64,
    library: &'a str,
}

/// In windows of 25 rows.
fn measured(sampling: &Sampling) -> Measured {
    let Sampling {
        names,
        laws,
        initial,
        dt,
        rows,
        noise,
        library,
    } = *sampling;
    let library: Library = library.parse().unwrap();
    let inputs: Vec<String> = names.iter().map(ToString::to_string).collect();
    let equations = names
        .iter()
        .zip(laws)
        .map(|(name, law)| (name.to_string(), Expression::parse(law, names).unwrap()));
    let model = Model::new(inputs.clone(), equations.collect(), Dynamics::Continuous).unwrap();
    let time: Vec<f64> = (0..rows).map(|k| k as f64 * dt).collect();
    let run = model.simulate(initial, &time, |_, _| ()).unwrap();
    let n = names.len();
    let mut rng = Stream::new(3).split("noise").at(0);
    let deviations: Vec<f64> = (0..n)
        .map(|i| {
            let mean = run.states.iter().map(|s| s[i]).sum::<f64>() / rows as f64;
            let square = run
                .states
                .iter()
                .map(|s| (s[i] - mean).powi(2))
                .sum::<f64>();
            (square / rows as f64).sqrt()
        })
        .collect();
    let mut states = Vec::new();
    for row in &run.states {
        for (x, d) in row.iter().zip(&deviations) {
            states.push(x + noise * d * rng.normal());
        }
    }
    let sigma: Vec<f64> = deviations.iter().map(|d| d * noise.max(1e-7)).collect();
    let sigma: Vec<f64> = (0..rows).flat_map(|_| sigma.clone()).collect();
    let whole = Window::new(time, states, Vec::new(), &sigma).unwrap();
    Measured {
        features: library.features(&inputs).unwrap(),
        windows: whole.parts(25),
    }
}

fn names(measured: &Measured, law: &LikelyLaw) -> Vec<Vec<String>> {
    let name = |j: &usize| measured.features.names()[*j].clone();
    let equation = |e: &LikelyEquation| e.support.iter().map(name).collect();
    law.equations.iter().map(equation).collect()
}

const LORENZ: [&str; 3] = ["10*(y - x)", "x*(28 - z) - y", "x*y - 2.6666666666666667*z"];

fn near(measured: &Measured, terms: &[&[(&str, f64)]]) -> Vec<Vec<(usize, f64)>> {
    let place = |name: &str| {
        measured
            .features
            .names()
            .iter()
            .position(|n| n == name)
            .unwrap()
    };
    terms
        .iter()
        .map(|e| e.iter().map(|(n, c)| (place(n), *c)).collect())
        .collect()
}

/// A start without −y and with a term too many ends at the law, with coefficients within three of their errors.
#[test]
fn lorenz_is_found_in_noise() {
    for noise in [0.01, 0.05, 0.1] {
        let data = measured(&Sampling {
            names: &["x", "y", "z"],
            laws: &LORENZ,
            initial: &[-8.0, 7.0, 27.0],
            dt: 0.01,
            rows: 2000,
            noise,
            library: "polynomial(2)",
        });
        let start = near(
            &data,
            &[
                &[("x", -9.5), ("y", 9.6)],
                &[("x", 24.0), ("x z", -0.9)],
                &[("1", 1.0), ("z", -2.6), ("x y", 0.98)],
            ],
        );
        let law = likely_law(
            &data.features,
            &data.windows,
            &Candidates::every(&data.features, start.len()),
            &Beginning::with(start.clone()),
            &LikelihoodConfig::default(),
        )
        .unwrap();
        assert_eq!(
            names(&data, &law),
            [vec!["x", "y"], vec!["x", "y", "x z"], vec!["z", "x y"]],
            "at {noise}: {law:?}"
        );
        let truth = [
            vec![-10.0, 10.0],
            vec![28.0, -1.0, -1.0],
            vec![-8.0 / 3.0, 1.0],
        ];
        for (equation, truth) in law.equations.iter().zip(truth) {
            for ((c, e), t) in equation
                .coefficients
                .iter()
                .zip(&equation.errors)
                .zip(truth)
            {
                assert!((c - t).abs() < 3.5 * e, "at {noise}: {c} ± {e} for {t}");
            }
        }
        assert!((0.9..1.1).contains(&law.misfit) && law.lost == 0, "{law:?}");
    }
}

/// A search that may do little ends with the best law so far and says so; one that may do nothing says that, too.
#[test]
fn a_search_ends_at_its_bound() {
    let data = measured(&Sampling {
        names: &["x", "y", "z"],
        laws: &LORENZ,
        initial: &[-8.0, 7.0, 27.0],
        dt: 0.01,
        rows: 1000,
        noise: 0.01,
        library: "polynomial(2)",
    });
    // Terms are missing, and others are too many.
    let start = near(
        &data,
        &[
            &[("x", -9.5), ("y", 9.6)],
            &[("x", 24.0)],
            &[("1", 1.0), ("z", -2.6)],
        ],
    );
    let search = |most_work: u64, go_on: &dyn Fn(u64) -> bool| {
        let config = LikelihoodConfig {
            most_work,
            ..LikelihoodConfig::default()
        };
        let candidates = Candidates::every(&data.features, start.len());
        let beginning = Beginning::with(start.clone());
        likely_law_watched(
            &data.features,
            &data.windows,
            &candidates,
            &beginning,
            &config,
            go_on,
        )
        .unwrap()
    };
    let whole = search(u64::MAX, &|_| true);
    assert!(!whole.ended && whole.lost == 0);
    for share in [3, 10, 30] {
        let most = whole.work / share;
        let told = std::cell::Cell::new(0);
        let law = search(most, &|work| {
            told.set(work);
            true
        });
        assert!(law.ended, "{share}");
        // What is begun is ended: a little more than the bound, and not much.
        assert!(law.work <= most + most / 2, "{} of {most}", law.work);
        assert!(told.get() <= law.work);
        assert!(law.score.is_nan() || law.score >= whole.score - 1e-9 || law.lost > 0);
        // The same bound gives the same law.
        assert_eq!(search(most, &|_| true), law);
    }
    let nothing = search(1, &|_| true);
    assert!(nothing.ended && nothing.lost == data.windows.len());
    let stopped = search(u64::MAX, &|work| work < whole.work / 10);
    assert!(stopped.work < whole.work / 2);
}

/// Without noise, coarse samples are no obstacle, and no term mends the integrator.
#[test]
fn coarse_samples_without_noise_are_exact() {
    let laws = ["1.1*x - 0.4*x*y", "0.1*x*y - 0.4*y"];
    let data = measured(&Sampling {
        names: &["x", "y"],
        laws: &laws,
        initial: &[10.0, 5.0],
        dt: 0.4,
        rows: 100,
        noise: 0.0,
        library: "polynomial(3)",
    });
    let start = near(
        &data,
        &[
            &[("x", 1.0), ("x y", -0.35)],
            &[("y", -0.35), ("x y", 0.09)],
        ],
    );
    let law = likely_law(
        &data.features,
        &data.windows,
        &Candidates::every(&data.features, start.len()),
        &Beginning::with(start.clone()),
        &LikelihoodConfig::default(),
    )
    .unwrap();
    assert_eq!(names(&data, &law), [["x", "x y"], ["y", "x y"]], "{law:?}");
    for (equation, truth) in law.equations.iter().zip([[1.1, -0.4], [-0.4, 0.1]]) {
        for (c, t) in equation.coefficients.iter().zip(truth) {
            assert!((c / t - 1.0).abs() < 1e-6, "{c} for {t}");
        }
    }
}

/// Derivatives of the sum of squares by starts and coefficients, against differences; uneven times, inputs from outside, and a term that is not there (0 times).
#[test]
fn slopes_are_those_of_differences() {
    let features = "polynomial(2)"
        .parse::<Library>()
        .unwrap()
        .features(&["x".to_string(), "v".to_string(), "u".to_string()])
        .unwrap();
    let rows = 12;
    let time: Vec<f64> = (0..rows)
        .map(|k| 0.1 * f64::from(k) + 0.03 * f64::from(k % 3))
        .collect();
    let states: Vec<f64> = time.iter().flat_map(|t| [t.cos(), -t.sin()]).collect();
    let controls: Vec<f64> = time.iter().map(|t| (3.0 * t).sin()).collect();
    let deviations = vec![0.1; states.len()];
    let window = Window::new(time, states, controls, &deviations).unwrap();
    let place = |name: &str| features.names().iter().position(|n| n == name).unwrap();
    let supports = vec![
        vec![place("v"), place("x v")],
        vec![place("1"), place("x"), place("u"), place("x^2")],
    ];
    let flow = flow::Flow::new(features.terms(), 3, &supports, vec![1e-9; 2]);
    let coefficients = [1.1, 0.3, 0.2, -0.8, 0.5, 0.0];
    let start = [0.9, 0.1];
    let every: Vec<usize> = (0..6).collect();
    let sums = flow
        .sums(&window, &start, &coefficients, &every, u64::MAX)
        .unwrap();
    let squares = |shift: usize, by: f64| {
        let (mut start, mut coefficients) = (start, coefficients);
        match shift {
            0 | 1 => start[shift] += by,
            _ => coefficients[shift - 2] += by,
        }
        flow.sums(&window, &start, &coefficients, &[], u64::MAX)
            .unwrap()
            .squares
    };
    for k in 0..8 {
        let h = 1e-5;
        let difference = (squares(k, h) - squares(k, -h)) / (2.0 * h);
        let slope = -2.0 * sums.gradient[k];
        assert!(
            (difference - slope).abs() < 1e-4 * difference.abs().max(1.0),
            "{k}: {slope} for {difference}"
        );
        let own = sums.normal[k * 8 + k];
        assert!((own - sums.diagonal[k]).abs() < 1e-9 * own, "{k}");
    }
}

/// What has no law gets none, or a small one: not a panic where no term is left.
#[test]
fn noise_alone_has_no_law() {
    let mut rng = Stream::new(11).at(0);
    let time: Vec<f64> = (0..200).map(|k| 0.1 * f64::from(k)).collect();
    let states: Vec<f64> = time.iter().flat_map(|_| [rng.normal(), 5.0]).collect();
    let whole = Window::new(time, states, Vec::new(), &[1.0; 400]).unwrap();
    let features = "polynomial(2)"
        .parse::<Library>()
        .unwrap()
        .features(&["x".to_string(), "y".to_string()])
        .unwrap();
    let windows = whole.parts(25);
    for near in [
        vec![vec![], vec![]],
        vec![vec![(0, 0.1)], vec![(1, 0.1), (2, -0.1)]],
    ] {
        let law = likely_law(
            &features,
            &windows,
            &Candidates::every(&features, near.len()),
            &Beginning::with(near.clone()),
            &LikelihoodConfig::default(),
        )
        .unwrap();
        let terms: usize = law.equations.iter().map(|e| e.support.len()).sum();
        assert!(terms <= 2 && law.misfit < 1.5, "{law:?}");
    }
}

/// Two columns that say the same of the measurements share their probability, and one is named as what would do as well; a term that matters has all of it.
#[test]
fn near_copies_share_their_probability() {
    let data = measured(&Sampling {
        names: &["x"],
        laws: &["-0.5*x"],
        initial: &[0.08],
        dt: 0.05,
        rows: 200,
        noise: 0.02,
        library: "polynomial(1) + fourier(1)",
    });
    let start = near(&data, &[&[("x", -0.5)]]);
    let law = likely_law(
        &data.features,
        &data.windows,
        &Candidates::every(&data.features, 1),
        &Beginning::with(start),
        &LikelihoodConfig::default(),
    )
    .unwrap();
    let equation = &law.equations[0];
    let probability = |name: &str| {
        let place = data
            .features
            .names()
            .iter()
            .position(|n| n == name)
            .unwrap();
        equation.probabilities[place]
    };
    // sin x is x up to a thousandth here.
    let (line, sine) = (probability("x"), probability("sin(1 x)"));
    assert!((line + sine - 1.0).abs() < 0.1, "{line} {sine}");
    assert!((0.35..0.65).contains(&line), "{line} {sine}");
    assert_eq!(equation.support.len(), 1);
    let other = &equation.alternatives[0];
    assert!(
        other.odds > 0.5 && other.dropped.is_some() && other.added.is_some(),
        "{other:?}"
    );
}

/// What a change is said to do to the sum of squares is what a fit with it does.
#[test]
fn changes_are_foretold() {
    use super::{choose::judge_as_it_is, neighbours::changes};
    let data = measured(&Sampling {
        names: &["x", "y", "z"],
        laws: &LORENZ,
        initial: &[-8.0, 7.0, 27.0],
        dt: 0.01,
        rows: 500,
        noise: 0.02,
        library: "polynomial(2)",
    });
    let start = near(
        &data,
        &[
            &[("x", -10.0), ("y", 10.0)],
            &[("x", 28.0), ("y", -1.0), ("x z", -1.0)],
            &[("z", -2.67), ("x y", 1.0)],
        ],
    );
    let candidates = Candidates::every(&data.features, 3);
    let config = LikelihoodConfig::default();
    let fitted = |law: &[Terms]| {
        let beginning = Beginning::with(law.to_vec());
        let (judge, now) = judge_as_it_is(
            &data.features,
            &data.windows,
            &candidates,
            &beginning,
            &config,
            &|_| true,
        )
        .unwrap();
        let squares = now.fitted.squares;
        (changes(&judge, &now).unwrap(), squares)
    };
    let (around, before) = fitted(&start);
    let mut tried = 0;
    // Large changes bend the quadratic form; small ones must be told to a tenth.
    for change in around.iter().filter(|c| c.rise.abs() < 30.0).step_by(4) {
        let mut law = start.clone();
        let own = &mut law[change.equation];
        own.retain(|(j, _)| Some(*j) != change.dropped);
        own.extend(change.added.map(|j| (j, 0.0)));
        let (_, after) = fitted(&law);
        let rise = after - before;
        assert!(
            (rise - change.rise).abs() < 0.1 * rise.abs() + 0.1,
            "{change:?}: {rise}"
        );
        tried += 1;
    }
    assert!(tried >= 5, "{tried}");
}
