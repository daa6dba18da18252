mod inclusion;
mod input;
mod optimum;
mod path;
mod restricted;
mod sampled;
mod statistics;

use super::{
    polish::polish,
    support::{Fitted, refit},
    *,
};
use crate::{
    features::Library,
    gates::{HardConcrete, Penalty},
    network::{Draw, GateSpec, Loss, Noise, Pass, Per},
    rng::{Generator, Stream},
    testing::proptest_config,
    training::{Dataset, Silent, TrainerConfig},
};
use proptest::prelude::*;

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

/// y = 2 x − 3 x z + noise on polynomial(2) of three inputs.
fn small(noise: f64, seed: u64, rows: usize) -> Statistics {
    let mut rng = Stream::new(seed).split("small").at(0);
    let x: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| 2.0 * x[r] - 3.0 * x[r] * x[2 * rows + r] + noise * rng.normal())
        .collect();
    statistics("polynomial(2)", &["x", "y", "z"], &x, &["t"], &y, rows)
}
