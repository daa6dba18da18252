use proptest::prelude::*;

use super::{polish::polish, support::Fitted, *};
use crate::{
    features::Library,
    gates::HardConcrete,
    rng::{Generator, Stream},
};

/// Random-policy pendulum transitions: inputs (cos θ, sin θ, θ̇, u); targets (cos θ', sin θ', θ̇') and the reward.
pub(super) struct Pendulum {
    pub inputs: Vec<f64>,
    pub next: Vec<f64>,
    pub reward: Vec<f64>,
    pub rows: usize,
}

pub(super) const PENDULUM_INPUTS: [&str; 4] = ["cos_theta", "sin_theta", "theta_dot", "u"];

pub(super) fn pendulum(episodes: usize, seed: u64) -> Pendulum {
    let rows = episodes * 200;
    let mut data = Pendulum {
        inputs: vec![0.0; rows * 4],
        next: vec![0.0; rows * 3],
        reward: vec![0.0; rows],
        rows,
    };
    let mut rng = Stream::new(seed).split("pendulum").at(0);
    let mut uniform = |low: f64, high: f64| low + (high - low) * rng.uniform();
    for episode in 0..episodes {
        let (mut theta, mut speed) = (
            uniform(-std::f64::consts::PI, std::f64::consts::PI),
            uniform(-1.0, 1.0),
        );
        for step in 0..200 {
            let row = episode * 200 + step;
            let u = uniform(-2.0, 2.0);
            for (column, value) in [theta.cos(), theta.sin(), speed, u].into_iter().enumerate() {
                data.inputs[column * rows + row] = value;
            }
            let angle = (theta + std::f64::consts::PI).rem_euclid(2.0 * std::f64::consts::PI)
                - std::f64::consts::PI;
            data.reward[row] = -(angle * angle + 0.1 * speed * speed + 0.001 * u * u);
            speed = (speed + 0.05 * (1.5 * 9.81 * theta.sin() + 3.0 * u)).clamp(-8.0, 8.0);
            theta += 0.05 * speed;
            for (column, value) in [theta.cos(), theta.sin(), speed].into_iter().enumerate() {
                data.next[column * rows + row] = value;
            }
        }
    }
    data
}

pub(super) fn statistics(
    library: &str,
    inputs: &[&str],
    x: &[f64],
    targets: &[&str],
    y: &[f64],
    rows: usize,
) -> Statistics {
    let features = library
        .parse::<Library>()
        .unwrap()
        .features(inputs)
        .unwrap();
    let mut accumulator =
        Accumulator::new(features, targets.iter().map(|t| t.to_string()).collect()).unwrap();
    accumulator.push(x, y, None, rows).unwrap();
    accumulator.finish()
}

/// A random design with collinear columns and a sparse truth, as a problem.
pub(super) fn random_problem(
    rng: &mut Generator,
    p: usize,
    rows: usize,
    terms: usize,
    noise: f64,
) -> (Problem, Vec<usize>) {
    let names: Vec<String> = (0..p).map(|j| format!("f{j}")).collect();
    let features = "polynomial(1, no-bias)"
        .parse::<Library>()
        .unwrap()
        .features(&names)
        .unwrap();
    let mut x = vec![0.0; rows * p];
    for j in 0..p {
        // Some columns are near-copies of others.
        let copied = (j > 0 && rng.uniform() < 0.3).then(|| rng.index(j));
        for row in 0..rows {
            let base = copied.map_or(0.0, |c| x[c * rows + row]);
            x[j * rows + row] = base + if copied.is_some() { 0.3 } else { 1.0 } * rng.normal();
        }
    }
    let mut truth: Vec<usize> = Vec::new();
    while truth.len() < terms {
        let j = rng.index(p);
        if !truth.contains(&j) {
            truth.push(j);
        }
    }
    let coefficients: Vec<f64> = truth.iter().map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|row| {
            truth
                .iter()
                .zip(&coefficients)
                .map(|(j, c)| c * x[j * rows + row])
                .sum::<f64>()
                + noise * rng.normal()
        })
        .collect();
    let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
    accumulator.push(&x, &y, None, rows).unwrap();
    truth.sort_unstable();
    (Problem::new(&accumulator.finish(), &[0]).unwrap(), truth)
}

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
    let (train, test) = (stats(&train), stats(&test));
    let problem = Problem::new(&train, &[0]).unwrap();
    let full = Fitted::new(&problem, &(0..problem.features()).collect::<Vec<_>>());
    let coefficients = problem.unscaled(&full.coefficients());
    let error = test.mean_squared_error(0, &coefficients).unwrap();
    assert!((0.0050..0.0064).contains(&error), "{error}");
}

/// p ≤ 12 here by brute force over all supports; the full range is in `tests/optimum.rs`.
fn enumerate(problem: &Problem, price: f64) -> f64 {
    let p = problem.features();
    (0..1usize << p)
        .map(|mask| {
            let support: Vec<usize> = (0..p).filter(|j| mask >> j & 1 == 1).collect();
            Fitted::new(problem, &support).error() + price * support.len() as f64
        })
        .fold(f64::INFINITY, f64::min)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Adding, dropping and swapping promise what a fresh fit delivers.
    #[test]
    fn moves_keep_their_promise(seed: u64, p in 3..14usize) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 60, 2, 0.3);
        let support: Vec<usize> = (0..p).filter(|_| rng.uniform() < 0.4).collect();
        let fitted = Fitted::new(&problem, &support);
        for change in [fitted.best_add(), fitted.best_drop(), fitted.best_swap()].into_iter().flatten() {
            let after = Fitted::new(&problem, &fitted.moved(change));
            prop_assert!((after.error() - change.error).abs() < 1e-9 * problem.energy(), "{:?}", change);
        }
        // And the coefficients are the least-squares solution: the error agrees.
        prop_assert!((problem.error(&fitted.coefficients()) - fitted.error()).abs() < 1e-9 * problem.energy());
    }

    /// Branch and bound ends at the optimum that enumeration finds, proved.
    #[test]
    fn branch_and_bound_finds_the_optimum(seed: u64, p in 2..12usize, terms in 1..4usize, exponent in -4.0..-0.5f64) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 50, terms.min(p), 0.5);
        let price = problem.energy() * 10f64.powf(exponent);
        let best = branch_and_bound(&problem, price, p, 100_000).unwrap();
        prop_assert!(best.proved && best.gap() == 0.0);
        let want = enumerate(&problem, price);
        prop_assert!((best.objective - want).abs() < 1e-10 * problem.energy(), "{} {}", best.objective, want);
        prop_assert!(polish(&problem, &[], price, p).error() >= 0.0);
    }

    /// The exact trainer's objective is what the closed form says of its gates and weights, and no worse than the best support's.
    #[test]
    fn exact_ends_at_what_it_says(seed: u64, p in 2..12usize, exponent in -4.0..-0.5f64) {
        let mut rng = Stream::new(seed).at(0);
        let (problem, _) = random_problem(&mut rng, p, 50, 2.min(p), 0.5);
        let price = problem.energy() * 10f64.powf(exponent);
        let gate = HardConcrete::default();
        let gated = train_exact(&problem, &gate, price).unwrap();
        let closed = expected_objective(&problem, &gate, price, &gated.log_alpha, &gated.weights);
        prop_assert!((gated.objective - closed).abs() < 1e-9 * problem.energy(), "{} {}", gated.objective, closed);
        // Gates that are nearly open cost next to nothing more than binary ones.
        let polished = polish(&problem, &[], price, p);
        let binary = polished.error() + price * polished.len() as f64;
        prop_assert!(gated.objective <= binary + 1e-5 * problem.energy(), "{} {}", gated.objective, binary);
    }
}
