//! Dictionary models: features, the pass over the data, the exact path, and a sampled step.
//!
//! `cargo bench --bench dictionary` prints criterion's figures, then the ratios, measured turn by turn.

use std::{hint::black_box, time::Instant};

use criterion::Criterion;
use ell0::{
    dictionary::{
        Accumulator, Path, PathConfig, Problem, Rule, Statistics, inclusion_probabilities,
        sampled_trainer,
    },
    features::{Features, Library},
    gates::Penalty,
    network::{GateSpec, Per},
    rng::Stream,
    training::{Dataset, TrainerConfig},
};
use faer::{Accum, Mat, MatRef, Par, linalg::matmul::matmul};

const INPUTS: [&str; 4] = ["cos_theta", "sin_theta", "theta_dot", "u"];

/// Random-policy pendulum transitions: columns of inputs and of next observations.
fn pendulum(rows: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y) = (vec![0.0; rows * 4], vec![0.0; rows * 3]);
    let mut rng = Stream::new(1).at(0);
    let mut uniform = |bound: f64| bound * (2.0 * rng.uniform() - 1.0);
    let (mut theta, mut speed) = (0.0f64, 0.0f64);
    for row in 0..rows {
        if row % 200 == 0 {
            (theta, speed) = (uniform(std::f64::consts::PI), uniform(1.0));
        }
        let u = uniform(2.0);
        for (column, value) in [theta.cos(), theta.sin(), speed, u].into_iter().enumerate() {
            x[column * rows + row] = value;
        }
        speed = (speed + 0.05 * (1.5 * 9.81 * theta.sin() + 3.0 * u)).clamp(-8.0, 8.0);
        theta += 0.05 * speed;
        for (column, value) in [theta.cos(), theta.sin(), speed].into_iter().enumerate() {
            y[column * rows + row] = value;
        }
    }
    (x, y)
}

fn features() -> Features {
    Library::polynomial(3)
        .features(&INPUTS)
        .expect("a valid library")
}

fn pass(x: &[f64], y: &[f64], rows: usize) -> Statistics {
    let targets = ["cos", "sin", "speed"].map(String::from).to_vec();
    let mut accumulator = Accumulator::new(features(), targets).expect("valid columns");
    accumulator.push(x, y, None, rows).expect("finite data");
    accumulator.finish()
}

fn paths(statistics: &Statistics) -> usize {
    (0..3)
        .map(|target| {
            let path =
                Path::new(statistics, &[target], &[], &PathConfig::default()).expect("a path");
            path.choose(Rule::Bic).expect("a choice").terms
        })
        .sum()
}

/// A state of the ring x_i' = (x_{i+1} − x_{i−2}) x_{i−1} − x_i + 8, for its rates of change.
fn ring(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    (0..n)
        .map(|i| (x[(i + 1) % n] - x[(i + n - 2) % n]) * x[(i + n - 1) % n] - x[i] + 8.0)
        .collect()
}

/// Two van der Pol oscillators, coupled.
fn oscillators(x: &[f64]) -> Vec<f64> {
    let (a, b, c, d) = (x[0], x[1], x[2], x[3]);
    vec![
        b,
        (1.0 - a * a) * b - a + 0.3 * c,
        d,
        1.7 * (1.0 - c * c) * d - 1.3 * c + 0.2 * a,
    ]
}

/// Statistics of states against their rates of change with 1 % of noise, along a trajectory.
fn trajectory(
    rates: impl Fn(&[f64]) -> Vec<f64>,
    mut state: Vec<f64>,
    library: &str,
    rows: usize,
) -> Statistics {
    let n = state.len();
    let (mut x, mut y) = (vec![0.0; rows * n], vec![0.0; rows * n]);
    let mut rng = Stream::new(2).at(0);
    for row in 0..rows {
        for (k, rate) in rates(&state).into_iter().enumerate() {
            x[k * rows + row] = state[k];
            y[k * rows + row] = rate * (1.0 + 0.01 * rng.normal());
        }
        // Midpoint steps, far finer than the rows.
        for _ in 0..20 {
            let shifted = |by: &[f64], step: f64| -> Vec<f64> {
                state.iter().zip(by).map(|(x, r)| x + step * r).collect()
            };
            let middle = shifted(&rates(&state), 0.0005);
            state = shifted(&rates(&middle), 0.001);
        }
    }
    let names: Vec<String> = (0..n).map(|k| format!("x{k}")).collect();
    let library: Library = library.parse().expect("a valid library");
    let features = library.features(&names).expect("features");
    let mut accumulator = Accumulator::new(features, names).expect("valid columns");
    accumulator.push(&x, &y, None, rows).expect("finite data");
    accumulator.finish()
}

/// What a fit does for each of the first so many targets: the path as far as it is needed, and the probabilities.
fn laws(statistics: &Statistics, targets: usize) -> usize {
    let config = PathConfig {
        rule: Some(Rule::Bic),
        ..PathConfig::default()
    };
    (0..targets)
        .map(|target| {
            let path = Path::new(statistics, &[target], &[], &config).expect("a path");
            let problem = Problem::new(statistics, &[target]).expect("a problem");
            let sure =
                inclusion_probabilities(&problem, 0.1, &Stream::new(0)).expect("enough rows");
            black_box(sure);
            path.choose(Rule::Bic).expect("a choice").terms
        })
        .sum()
}

/// Least seconds of several calls.
fn seconds(calls: usize, mut work: impl FnMut()) -> f64 {
    work();
    (0..calls)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// ΦᵀΦ of p columns, block by block of rows that fit the cache: what normal equations would cost, features not included.
fn bare_gram(phi: &[f64], block: usize, p: usize, blocks: usize, gram: &mut Mat<f64>) {
    for _ in 0..blocks {
        let phi = MatRef::from_column_major_slice(phi, block, p);
        matmul(
            gram.as_mut(),
            Accum::Add,
            phi.transpose(),
            phi,
            1.0,
            Par::Seq,
        );
    }
    black_box(&gram);
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let quick = std::env::args().any(|a| a == "--test");
    let rows = if quick { 2_000 } else { 200_000 };
    let (x, y) = pendulum(rows);
    let statistics = pass(&x, &y, rows);

    criterion.bench_function("one pass, 10,000 rows, polynomial(3), 3 targets", |b| {
        let n = 10_000.min(rows);
        let cut =
            |v: &[f64]| -> Vec<f64> { v.chunks(rows).flat_map(|c| c[..n].to_vec()).collect() };
        let (x, y) = (cut(&x), cut(&y));
        b.iter(|| pass(&x, &y, n));
    });
    criterion.bench_function("exact path of 3 targets on the statistics", |b| {
        b.iter(|| paths(&statistics))
    });

    // Large libraries; a test of the benchmark takes one target of each.
    let start = (0..10).map(|k| 8.0 + (k as f64).sin()).collect();
    let large = trajectory(
        ring,
        start,
        "polynomial(3)",
        if quick { 400 } else { 5_000 },
    );
    assert_eq!(large.features().len(), 286);
    criterion.bench_function("path and probabilities, 286 terms x 10 targets", |b| {
        b.iter(|| laws(&large, if quick { 1 } else { 10 }));
    });
    let library = "polynomial(6) + polynomial(2) * fourier(5) + functions(exp, tanh, abs)";
    let start = vec![1.0, 0.3, -0.5, 0.8];
    let large = trajectory(oscillators, start, library, if quick { 900 } else { 5_000 });
    assert_eq!(large.features().len(), 822);
    let mut group = criterion.benchmark_group("large");
    group.sample_size(10);
    group.bench_function("path and probabilities, 822 terms x 4 targets", |b| {
        b.iter(|| laws(&large, if quick { 1 } else { 4 }));
    });
    group.finish();

    let f32s = |v: &[f64], width: usize| -> Vec<f32> {
        (0..rows)
            .flat_map(|r| (0..width).map(move |c| v[c * rows + r] as f32))
            .collect()
    };
    let data = Dataset::new(&f32s(&x, 4), 4, &f32s(&y, 3), 3).expect("valid data");
    let data = data
        .for_dictionary(&features(), &statistics)
        .expect("finite features");
    let gates = GateSpec {
        per: Per::Weight,
        ..GateSpec::default()
    };
    let config = TrainerConfig {
        penalty: Penalty::expected_l0(5e-5).expect("a valid penalty"),
        ..TrainerConfig::default()
    };
    let mut trainer = sampled_trainer(&statistics, gates, config, data, None)
        .expect("a trainer")
        .trainer;
    criterion.bench_function("sampled step, batch 256, features on the fly", |b| {
        b.iter(|| trainer.step().expect("a finite loss"));
    });
    if quick {
        return;
    }

    println!("\nOne core.");
    let block = 256;
    let features = features();
    let inputs: Vec<f64> = x.chunks(rows).flat_map(|c| c[..block].to_vec()).collect();
    let mut phi = vec![0.0; block * features.len()];
    let mut workspace = features.workspace(block);
    let calls = 20_000;
    let time = seconds(5, || {
        for _ in 0..calls {
            features
                .evaluate_into(&inputs, block, &mut phi, &mut workspace)
                .expect("room");
            black_box(&phi);
        }
    });
    println!(
        "features: {:.0} million rows·terms/s",
        (block * features.len() * calls) as f64 / time / 1e6
    );

    for rows in [200_000, 2_000_000] {
        let (x, y) = pendulum(rows);
        let statistics = pass(&x, &y, rows);
        let mut gram = Mat::zeros(features.len(), features.len());
        let (mut one_pass, mut bare) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..5 {
            one_pass = one_pass.min(seconds(1, || drop(black_box(pass(&x, &y, rows)))));
            bare = bare.min(seconds(1, || {
                bare_gram(&phi, block, features.len(), rows / block, &mut gram)
            }));
        }
        let fit = seconds(5, || {
            black_box(paths(&statistics));
        });
        println!(
            "{rows} rows: one pass {:.1} ms = {:.2}× the bare ΦᵀΦ ({:.1} ms); whole path of 3 targets {:.1} ms; both {:.1} ms",
            one_pass * 1e3,
            one_pass / bare,
            bare * 1e3,
            fit * 1e3,
            (one_pass + fit) * 1e3
        );
    }
    let step = seconds(20, || (0..500).for_each(|_| drop(trainer.step()))) / 500.0;
    println!(
        "sampled step: {:.1} µs = 1/{:.0} of 6.5 ms",
        step * 1e6,
        6.5e-3 / step
    );
}
