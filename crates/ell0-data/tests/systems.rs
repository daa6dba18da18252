//! Known systems, simulated, identified from their samples alone.

use ell0::{
    dictionary::{Path, PathConfig, Rule},
    equation::Dynamics,
    features::Library,
    rng::Stream,
};
use ell0_data::{
    derivative::{Derivative, Wanted},
    noise::{decorrelation_lag, deviation, noise_deviation},
    series::{Collector, HoldOut},
};

struct System {
    name: &'static str,
    states: usize,
    names: &'static [&'static str],
    start: &'static [f64],
    dt: f64,
    rows: usize,
    rate: fn(&[f64], f64) -> Vec<f64>,
    control: fn(f64) -> f64,
    truth: &'static [&'static [(&'static str, f64)]],
}

fn systems() -> Vec<System> {
    vec![
        System {
            name: "lorenz",
            states: 3,
            names: &["x", "y", "z"],
            start: &[-8.0, 8.0, 27.0],
            dt: 0.002,
            rows: 20_000,
            rate: |s, _| {
                vec![
                    10.0 * (s[1] - s[0]),
                    s[0] * (28.0 - s[2]) - s[1],
                    s[0] * s[1] - 8.0 / 3.0 * s[2],
                ]
            },
            control: |_| 0.0,
            truth: &[
                &[("x", -10.0), ("y", 10.0)],
                &[("x", 28.0), ("y", -1.0), ("x z", -1.0)],
                &[("z", -8.0 / 3.0), ("x y", 1.0)],
            ],
        },
        System {
            name: "roessler",
            states: 3,
            names: &["x", "y", "z"],
            start: &[1.0, 1.0, 0.5],
            dt: 0.01,
            rows: 40_000,
            rate: |s, _| vec![-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)],
            control: |_| 0.0,
            truth: &[
                &[("y", -1.0), ("z", -1.0)],
                &[("x", 1.0), ("y", 0.2)],
                &[("1", 0.2), ("z", -5.7), ("x z", 1.0)],
            ],
        },
        System {
            name: "van der pol",
            states: 2,
            names: &["x", "y"],
            start: &[1.0, 0.0],
            dt: 0.005,
            rows: 20_000,
            rate: |s, _| vec![s[1], 1.5 * (1.0 - s[0] * s[0]) * s[1] - s[0]],
            control: |_| 0.0,
            truth: &[&[("y", 1.0)], &[("x", -1.0), ("y", 1.5), ("x^2 y", -1.5)]],
        },
        System {
            name: "lotka-volterra",
            states: 2,
            names: &["prey", "predator"],
            start: &[1.0, 0.5],
            dt: 0.005,
            rows: 20_000,
            rate: |s, _| vec![s[0] - 1.2 * s[0] * s[1], -0.8 * s[1] + s[0] * s[1]],
            control: |_| 0.0,
            truth: &[
                &[("prey", 1.0), ("prey predator", -1.2)],
                &[("predator", -0.8), ("prey predator", 1.0)],
            ],
        },
        System {
            name: "duffing",
            states: 2,
            names: &["x", "v", "u"],
            start: &[0.5, 0.0],
            dt: 0.005,
            rows: 40_000,
            rate: |s, u| vec![s[1], s[0] - s[0].powi(3) - 0.3 * s[1] + u],
            control: |t| 0.5 * (1.2 * t).cos(),
            truth: &[
                &[("v", 1.0)],
                &[("x", 1.0), ("v", -0.3), ("u", 1.0), ("x^3", -1.0)],
            ],
        },
    ]
}

/// Samples: time, states and, if there is one, the control; noise relative to each state's deviation.
fn simulate(system: &System, noise: f64, seed: u64) -> Vec<Vec<f64>> {
    let substeps = 4;
    let h = system.dt / f64::from(substeps);
    let mut state = system.start.to_vec();
    let mut columns = vec![Vec::new(); 1 + system.names.len()];
    let mut t = 0.0;
    let step = |s: &[f64], t: f64| {
        let f = |s: &[f64], t: f64| (system.rate)(s, (system.control)(t));
        let add = |a: &[f64], k: &[f64], c: f64| -> Vec<f64> {
            a.iter().zip(k).map(|(a, k)| a + c * k).collect()
        };
        let k1 = f(s, t);
        let k2 = f(&add(s, &k1, h / 2.0), t + h / 2.0);
        let k3 = f(&add(s, &k2, h / 2.0), t + h / 2.0);
        let k4 = f(&add(s, &k3, h), t + h);
        (0..s.len())
            .map(|i| s[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]))
            .collect::<Vec<f64>>()
    };
    for _ in 0..system.rows {
        columns[0].push(t);
        (0..system.states).for_each(|k| columns[1 + k].push(state[k]));
        if system.names.len() > system.states {
            columns[1 + system.states].push((system.control)(t));
        }
        for _ in 0..substeps {
            state = step(&state, t);
            t += h;
        }
    }
    let mut rng = Stream::new(seed).at(0);
    for column in &mut columns[1..=system.states] {
        let size = noise * deviation(column);
        column.iter_mut().for_each(|x| *x += size * rng.normal());
    }
    columns
}

/// The chosen terms of each state.
fn identify(system: &System, columns: &[Vec<f64>]) -> (Derivative, Vec<Vec<(String, f64)>>) {
    let states = &columns[1..=system.states];
    let relative = states
        .iter()
        .map(|s| noise_deviation(s) / deviation(s))
        .fold(0.0, f64::max);
    let lag = states
        .iter()
        .map(|s| decorrelation_lag(s, noise_deviation(s)))
        .min()
        .unwrap_or(1);
    let derivative = Wanted::Auto.decide(relative, lag);
    let noise: Vec<f64> = states.iter().map(|s| noise_deviation(s)).collect();
    let features = Library::polynomial(3)
        .features(system.names)
        .expect("a library");
    let targets: Vec<String> = system.names[..system.states]
        .iter()
        .map(|s| s.to_string())
        .collect();
    let hold_out = HoldOut::Blocks(system.rows / 25);
    let mut collector = Collector::new(
        &features,
        system.states,
        &targets,
        Dynamics::Continuous,
        derivative,
        noise,
        hold_out,
    )
    .expect("a collector");
    for row in 0..system.rows {
        collector
            .push(columns.iter().map(|c| c[row]))
            .expect("finite");
    }
    collector.end_trajectory().expect("finite");
    let (train, validation, floors) = collector.finish();
    let equations = (0..system.states).map(|target| {
        let config = PathConfig {
            floor: floors[target],
            ..PathConfig::default()
        };
        let path = Path::new(&train, &[target], &validation, &config).expect("a path");
        let line = path.choose(Rule::OneStandardError).expect("a choice");
        line.support
            .iter()
            .map(|&j| (features.names()[j].clone(), line.coefficients[j]))
            .collect()
    });
    (derivative, equations.collect())
}

fn check(noise: f64, tolerance: f64, seeds: std::ops::Range<u64>) {
    let mut wrong = Vec::new();
    for system in systems() {
        for seed in seeds.clone() {
            let columns = simulate(&system, noise, seed);
            let (derivative, equations) = identify(&system, &columns);
            for (equation, truth) in equations.iter().zip(system.truth) {
                let right = |((name, c), (want, value)): (&(String, f64), &(&str, f64))| {
                    name == want && (c / value - 1.0).abs() < tolerance
                };
                if equation.len() != truth.len() || !equation.iter().zip(*truth).all(right) {
                    wrong.push(format!(
                        "{} ({derivative}, seed {seed}): {equation:?}, expected {truth:?}",
                        system.name
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn laws_are_found_without_noise() {
    check(0.0, 0.01, 0..1);
}

#[test]
fn laws_are_found_at_one_per_cent_noise() {
    check(0.01, 0.05, 7..11);
}

/// x' = 1 − 1.4 x² + y, y' = 0.3 x: a discrete map, without noise and with it.
#[test]
fn the_henon_map_is_found() {
    for (noise, tolerance) in [(0.0, 0.01), (0.01, 0.05)] {
        let mut rng = Stream::new(3).at(0);
        let features = Library::polynomial(3)
            .features(&["x", "y"])
            .expect("a library");
        let targets = ["x", "y"].map(String::from);
        let rows = 2000;
        let (mut x, mut y) = (0.1, 0.1);
        let mut series = [Vec::new(), Vec::new()];
        for _ in 0..rows {
            (x, y) = (1.0 - 1.4 * x * x + y, 0.3 * x);
            series[0].push(x);
            series[1].push(y);
        }
        let sizes = series.clone().map(|s| noise * deviation(&s));
        series
            .iter_mut()
            .zip(sizes)
            .for_each(|(s, size)| s.iter_mut().for_each(|v| *v += size * rng.normal()));
        let hold_out = HoldOut::Blocks(rows / 25);
        let mut collector = Collector::new(
            &features,
            2,
            &targets,
            Dynamics::Discrete,
            Derivative::Fd2,
            vec![0.0; 2],
            hold_out,
        )
        .expect("a collector");
        for row in 0..rows {
            collector
                .push([row as f64, series[0][row], series[1][row]])
                .expect("finite");
        }
        collector.end_trajectory().expect("finite");
        let (train, validation, _) = collector.finish();
        assert_eq!(
            train.rows() + validation.iter().map(|v| v.rows()).sum::<u64>(),
            rows as u64 - 1
        );
        for (target, truth) in [
            vec![("1", 1.0), ("y", 1.0), ("x^2", -1.4)],
            vec![("x", 0.3)],
        ]
        .iter()
        .enumerate()
        {
            let path =
                Path::new(&train, &[target], &validation, &PathConfig::default()).expect("a path");
            let line = path.choose(Rule::OneStandardError).expect("a choice");
            let found: Vec<(&str, f64)> = line
                .support
                .iter()
                .map(|&j| (features.names()[j].as_str(), line.coefficients[j]))
                .collect();
            let right = found.len() == truth.len()
                && found
                    .iter()
                    .zip(truth)
                    .all(|(f, t)| f.0 == t.0 && (f.1 / t.1 - 1.0).abs() < tolerance);
            assert!(right, "noise {noise}: {found:?}, expected {truth:?}");
        }
    }
}

/// Pieces that arrive one sample at a time, in trajectories of any length, give the rows that the whole gives: nothing is differenced across ends.
#[test]
fn trajectories_are_kept_apart() {
    let features = Library::polynomial(1).features(&["x"]).expect("a library");
    for derivative in [
        Derivative::Fd2,
        Derivative::Fd4,
        Derivative::SavGol { half: 5 },
    ] {
        let mut collector = Collector::new(
            &features,
            1,
            &["x".into()],
            Dynamics::Continuous,
            derivative,
            vec![0.0],
            HoldOut::Blocks(1 << 40),
        )
        .expect("a collector");
        let mut expected = 0;
        // Lines of slope 2 and −3, of lengths around the block size.
        for (slope, rows) in [(2.0, 5000usize), (-3.0, 4097), (2.0, 30), (-3.0, 12)] {
            for row in 0..rows {
                let t = row as f64 * 0.1;
                collector.push([t, slope * t]).expect("finite");
            }
            collector.end_trajectory().expect("finite");
            expected += rows - 2 * derivative.halo();
        }
        let (train, _, _) = collector.finish();
        assert_eq!(train.rows(), expected as u64, "{derivative}");
        // Every rate is 2 or −3: the mean square says that none was taken across an end.
        let energy = train.mean_squared_error(0, &[0.0, 0.0]).expect("rows");
        let share =
            (5000 - 2 * derivative.halo() + 30 - 2 * derivative.halo()) as f64 / expected as f64;
        assert!(
            (energy - (4.0 * share + 9.0 * (1.0 - share))).abs() < 1e-6,
            "{derivative}: {energy}"
        );
    }
}
