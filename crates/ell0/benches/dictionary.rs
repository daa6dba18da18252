//! Dictionary models: features, the pass over the data, the exact path, and a sampled step.
//!
//! `cargo bench --bench dictionary` prints criterion's figures, then the ratios, measured turn by turn.

use std::{hint::black_box, time::Instant};

use criterion::Criterion;
use ell0::{
    dictionary::{Accumulator, Path, PathConfig, Rule, Statistics, sampled_trainer},
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
