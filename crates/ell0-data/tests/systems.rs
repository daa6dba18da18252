//! Known systems, simulated, identified from their samples alone.

use ell0::{
    dictionary::{Path, PathConfig, Rule, Statistics},
    equation::Dynamics,
    features::Library,
    rng::Stream,
};
use ell0_data::{
    derivative::{Derivative, Wanted},
    evidence::{Evidence, Question, Split},
    frame::Frame,
    noise::deviation,
    runs::{Roles, Runs},
    survey::Survey,
    table::ReadOptions,
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

/// Terms and coefficients of an equation.
type Terms = Vec<(String, f64)>;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|s| s.to_string()).collect()
}

/// Trajectories in memory, each with its time and the named columns.
fn runs(names: &[&str], data: &[Vec<Vec<f64>>]) -> Runs {
    let frame = |columns: &Vec<Vec<f64>>| {
        let names = std::iter::once("t").chain(names.iter().copied());
        Frame::new(names.zip(columns.iter().cloned()))
    };
    let frames: Vec<Frame> = data.iter().map(frame).collect();
    let roles = Roles {
        inputs: strings(names),
        time: Some("t".into()),
        ..Roles::default()
    };
    Runs::of_frames(&frames, roles, ReadOptions::default()).expect("trajectories")
}

/// Statistics of trajectories, with the derivative that suits them.
fn gather(names: &[&str], states: usize, dynamics: Dynamics, data: &[Vec<Vec<f64>>]) -> Evidence {
    let survey = Survey::new(runs(names, data), states, |_| ()).expect("readable");
    let question = Question {
        library: Library::polynomial(3),
        libraries: vec![],
        inputs: strings(names),
        targets: strings(&names[..states]),
        dynamics,
        derivative: Wanted::Auto.decide(&survey, 20).expect("a way"),
    };
    Evidence::gather(runs(names, data), &question, survey, |_| ()).expect("finite")
}

/// The chosen terms of each target.
fn choose(parts: &[Evidence]) -> Vec<Terms> {
    let Split {
        train,
        validation,
        floors,
    } = Evidence::split(parts).expect("rows");
    let equation = |target: usize| {
        let config = PathConfig {
            floor: floors[target],
            ..PathConfig::default()
        };
        let path = Path::new(&train, &[target], &validation, &config).expect("a path");
        let line = path.choose(Rule::OneStandardError).expect("a choice");
        let term = |&j: &usize| (train.features()[j].clone(), line.coefficients[j]);
        line.support.iter().map(term).collect()
    };
    (0..floors.len()).map(equation).collect()
}

fn identify(system: &System, columns: &[Vec<f64>]) -> (Derivative, Vec<Terms>) {
    let data = [columns.to_vec()];
    let part = gather(system.names, system.states, Dynamics::Continuous, &data);
    (part.derivative, choose(&[part]))
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
        let clock = (0..rows).map(f64::from).collect();
        let [x, y] = series;
        let part = gather(&["x", "y"], 2, Dynamics::Discrete, &[vec![clock, x, y]]);
        let split = Evidence::split(std::slice::from_ref(&part)).expect("rows");
        let held_out: u64 = split.validation.iter().map(Statistics::rows).sum();
        assert_eq!(split.train.rows() + held_out, rows as u64 - 1);
        let truth = [
            vec![("1", 1.0), ("y", 1.0), ("x^2", -1.4)],
            vec![("x", 0.3)],
        ];
        for (found, truth) in choose(&[part]).iter().zip(truth) {
            let right = found.len() == truth.len()
                && found
                    .iter()
                    .zip(&truth)
                    .all(|(f, t)| f.0 == t.0 && (f.1 / t.1 - 1.0).abs() < tolerance);
            assert!(right, "noise {noise}: {found:?}, expected {truth:?}");
        }
    }
}

/// Trajectories of any length, around that of the blocks too, give the rows that each alone gives: nothing is differenced across ends.
#[test]
fn trajectories_are_kept_apart() {
    for derivative in [
        Derivative::Fd2,
        Derivative::Fd4,
        Derivative::SavGol { half: 5 },
        Derivative::Weak { half: 5 },
    ] {
        // Lines of slope 2 and −3.
        let lengths = [(2.0, 5000u32), (-3.0, 2049), (2.0, 30), (-3.0, 12)];
        let line = |(slope, rows): (f64, u32)| -> Vec<Vec<f64>> {
            let time: Vec<f64> = (0..rows).map(|row| f64::from(row) * 0.1).collect();
            let x = time.iter().map(|t| slope * t).collect();
            vec![time, x]
        };
        let data = lengths.map(line).to_vec();
        let survey = Survey::new(runs(&["x"], &data), 1, |_| ()).expect("readable");
        assert_eq!((survey.rows, survey.shortest), (7091, 12));
        let question = Question {
            library: Library::polynomial(1),
            libraries: vec![],
            inputs: strings(&["x"]),
            targets: strings(&["x"]),
            dynamics: Dynamics::Continuous,
            derivative,
        };
        let runs = runs(&["x"], &data);
        let evidence = Evidence::gather(runs, &question, survey, |_| ()).expect("finite");
        let split = Evidence::split(&[evidence]).expect("rows");
        let whole = split.all().expect("the same columns");
        let rows = |(_, n): (f64, u32)| n as usize - 2 * derivative.halo();
        let all: usize = lengths.map(rows).iter().sum();
        let up: usize = rows(lengths[0]) + rows(lengths[2]);
        assert_eq!(whole.rows(), all as u64, "{derivative}");
        let held_out: u64 = split.validation.iter().map(Statistics::rows).sum();
        assert!(held_out > 0 && split.train.rows() + held_out == whole.rows());
        // Every rate is 2 or −3: the mean square says that none was taken across an end.
        let energy = whole.mean_squared_error(0, &[0.0, 0.0]).expect("rows");
        let share = up as f64 / all as f64;
        // A bump over eleven points integrates to within a thousandth or so.
        let tolerance = match derivative {
            Derivative::Weak { .. } => 0.03,
            _ => 1e-6,
        };
        assert!(
            (energy - (4.0 * share + 9.0 * (1.0 - share))).abs() < tolerance,
            "{derivative}: {energy}"
        );
    }
}

/// Statistics made of files apart and brought together split the rows as one pass over all files does, and give the same law; saved and read back they are the same.
#[test]
fn parts_make_the_whole() {
    let system = &systems()[2];
    let long = simulate(system, 0.0, 1);
    let piece = |k: usize| -> Vec<Vec<f64>> {
        long.iter()
            .map(|c| c[2000 * k..2000 * (k + 1)].to_vec())
            .collect()
    };
    // Two, eight and nine trajectories: with few, blocks of time are held out; with many, whole trajectories.
    for parts in [vec![1, 1], vec![1, 2, 5], vec![6, 3]] {
        let count: usize = parts.iter().sum();
        let all: Vec<_> = (0..count).map(piece).collect();
        let gather = |data: &[Vec<Vec<f64>>]| gather(system.names, 2, Dynamics::Continuous, data);
        let whole = gather(&all);
        let mut rest = &all[..];
        let mut apart = Vec::new();
        for n in parts {
            let part = gather(&rest[..n]);
            let saved = part.to_json();
            assert!(Evidence::looks_like(saved.as_bytes()));
            assert_eq!(Evidence::from_json(&saved).expect("readable"), part);
            apart.push(part);
            rest = &rest[n..];
        }
        let (one, many) = (
            Evidence::split(std::slice::from_ref(&whole)).expect("rows"),
            Evidence::split(&apart).expect("rows"),
        );
        assert_eq!(one.train.rows(), many.train.rows());
        let rows = |s: &Split| {
            s.validation
                .iter()
                .map(Statistics::rows)
                .collect::<Vec<_>>()
        };
        assert_eq!(rows(&one), rows(&many));
        for (a, b) in choose(&[whole]).iter().zip(choose(&apart)) {
            assert_eq!(a.len(), b.len());
            for ((name, value), (other, same)) in a.iter().zip(b) {
                assert!(
                    *name == other && (value / same - 1.0).abs() < 1e-9,
                    "{name} {value} {same}"
                );
            }
        }
    }
}

/// The bits do not depend on the number of threads.
#[test]
fn threads_do_not_matter() {
    let system = &systems()[0];
    let columns = simulate(system, 0.01, 1);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let data = [columns.clone()];
        pool.install(|| gather(system.names, 3, Dynamics::Continuous, &data).to_json())
    };
    assert_eq!(with(1), with(3));
}

/// Saved evidence that is not what it says is told apart by its type of error.
#[test]
fn evidence_of_something_else_is_refused() {
    let time: Vec<f64> = (0..100).map(|k| f64::from(k) * 0.1).collect();
    let x = time.iter().map(|t| t.sin()).collect();
    let evidence = gather(&["x"], 1, Dynamics::Continuous, &[vec![time, x]]);
    let text = evidence.to_json();
    let error = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} is not in {text}");
        Evidence::from_json(&text.replacen(from, to, 1)).expect_err("refused")
    };
    use ell0_data::evidence::EvidenceError as E;
    assert!(matches!(error("{", ""), E::Json(_)));
    assert!(matches!(error("ell0-part", "other"), E::Format(f) if f == "other"));
    assert!(matches!(
        error("\"version\":1", "\"version\":9"),
        E::Version(9)
    ));
    assert!(matches!(
        error("polynomial(3)", "polynomial(2)"),
        E::Columns
    ));
    assert!(matches!(error("polynomial(3)", "polynomial("), E::Json(_)));
    assert!(matches!(
        error("\"errors\":[", "\"errors\":[-1,"),
        E::Errors
    ));
    assert!(matches!(
        error("\"groups\":[[0", "\"groups\":[[25"),
        E::Groups
    ));
}
