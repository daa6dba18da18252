use proptest::prelude::*;

use super::{polish::polish, support::Fitted, *};
use crate::{
    features::Library,
    gates::{HardConcrete, Penalty},
    network::{Draw, GateSpec, Loss, Noise, Pass, Per},
    rng::{Generator, Stream},
    training::{Dataset, Silent, TrainerConfig},
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
        let closed = expected_objective(&problem, &gate, price, &gated.log_alpha, &gated.weights).unwrap();
        prop_assert!((gated.objective - closed).abs() < 1e-9 * problem.energy(), "{} {}", gated.objective, closed);
        // Gates that are nearly open cost next to nothing more than binary ones.
        let polished = polish(&problem, &[], price, p);
        let binary = polished.error() + price * polished.len() as f64;
        prop_assert!(gated.objective <= binary + 1e-5 * problem.energy(), "{} {}", gated.objective, binary);
    }
}

/// Smallest error + price·terms over all supports, by depth-first enumeration with one Gram–Schmidt step a node: independent of the code under test, and fast
/// enough for 2²⁰ supports.
fn enumerate_all(problem: &Problem, price: f64) -> f64 {
    fn descend(columns: &[Vec<f64>], y: &[f64], paid: f64, price: f64, best: &mut f64) {
        *best = best.min(y.iter().map(|y| y * y).sum::<f64>() + paid);
        for j in 0..columns.len() {
            let norm = columns[j].iter().map(|v| v * v).sum::<f64>().sqrt();
            if norm < 1e-9 {
                continue;
            }
            let q: Vec<f64> = columns[j].iter().map(|v| v / norm).collect();
            let project = |c: &[f64]| -> Vec<f64> {
                let along: f64 = c.iter().zip(&q).map(|(c, q)| c * q).sum();
                c.iter().zip(&q).map(|(c, q)| c - along * q).collect()
            };
            let rest: Vec<Vec<f64>> = columns[j + 1..].iter().map(|c| project(c)).collect();
            descend(&rest, &project(y), paid + price, price, best);
        }
    }
    let columns: Vec<Vec<f64>> = (0..problem.p).map(|j| problem.column(j).to_vec()).collect();
    let mut best = f64::INFINITY;
    descend(&columns, &problem.y, problem.rest, price, &mut best);
    best
}

#[test]
fn twenty_collinear_terms_are_searched_to_the_optimum() {
    for (seed, p) in [(1, 20), (2, 17), (3, 14), (4, 13), (5, 15)] {
        let mut rng = Stream::new(seed).split("optimum").at(0);
        let (problem, _) = random_problem(&mut rng, p, 80, 4, 1.0);
        let price = problem.energy() * 3e-3;
        let best = branch_and_bound(&problem, price, p, 1_000_000).unwrap();
        let want = enumerate_all(&problem, price);
        assert!(best.proved);
        assert!(
            (best.objective - want).abs() < 1e-10 * problem.energy(),
            "{} {want}",
            best.objective
        );
    }
}

#[test]
fn a_search_that_is_cut_short_reports_its_gap() {
    let mut rng = Stream::new(8).at(0);
    let (problem, _) = random_problem(&mut rng, 18, 40, 6, 2.0);
    let price = problem.energy() * 1e-3;
    let whole = branch_and_bound(&problem, price, 18, 1_000_000).unwrap();
    let cut = branch_and_bound(&problem, price, 18, 3).unwrap();
    assert!(whole.proved && !cut.proved && cut.gap() > 0.0);
    assert!(cut.bound <= whole.objective && whole.objective <= cut.objective);
}

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

/// At the same λ the exact trainer ends at an expected objective no worse than the sampled one's, for all libraries and both tasks.
#[test]
fn exact_ends_no_worse_than_sampled() {
    let data = pendulum(100, 1);
    let gate = HardConcrete::default();
    for (task, lambdas) in [
        ("dynamics", [5e-5, 5e-3, 5e-4]),
        ("reward", [5e-5, 5e-5, 5e-5]),
    ] {
        let (targets, y): (&[&str], &[f64]) = if task == "dynamics" {
            (&["c", "s", "v"], &data.next)
        } else {
            (&["r"], &data.reward)
        };
        let q = targets.len();
        let libraries = [
            "polynomial(3)",
            "fourier(1, interactions)",
            "polynomial(3) + fourier(1, interactions)",
        ];
        for (library, lambda) in libraries.iter().zip(lambdas) {
            let stats = statistics(
                library,
                &PENDULUM_INPUTS,
                &data.inputs,
                targets,
                y,
                data.rows,
            );
            let features = library
                .parse::<Library>()
                .unwrap()
                .features(&PENDULUM_INPUTS)
                .unwrap();
            let by_row = |v: &[f64], width: usize| -> Vec<f32> {
                (0..data.rows)
                    .flat_map(|r| (0..width).map(move |c| v[c * data.rows + r] as f32))
                    .collect()
            };
            let set = Dataset::new(&by_row(&data.inputs, 4), 4, &by_row(y, q), q).unwrap();
            let set = set.for_dictionary(&features, &stats).unwrap();
            let config = TrainerConfig {
                epochs: 1,
                steps_per_epoch: Some(6000),
                learning_rate: 3e-3,
                penalty: Penalty::expected_l0(lambda).unwrap(),
                ..TrainerConfig::default()
            };
            let spec = GateSpec {
                per: Per::Weight,
                ..GateSpec::default()
            };
            let SampledTrainer {
                dictionary,
                mut trainer,
            } = sampled_trainer(&stats, spec, config, set, None).unwrap();
            trainer.fit(&mut Silent).unwrap();
            let GatesAndWeights {
                log_alphas,
                weights,
            } = dictionary.gates_and_weights(trainer.model()).unwrap();
            let p = features.len();
            let (mut exact_total, mut sampled_total) = (0.0, 0.0);
            for t in 0..q {
                let problem = Problem::new(&stats, &[t]).unwrap();
                let price = problem.price(lambda, q);
                exact_total += train_exact(&problem, &gate, price).unwrap().objective;
                sampled_total += expected_objective(
                    &problem,
                    &gate,
                    price,
                    &log_alphas[t * p..][..p],
                    &weights[t * p..][..p],
                )
                .unwrap();
            }
            assert!(
                exact_total <= sampled_total,
                "{task}, {library}: exact {exact_total}, sampled {sampled_total}"
            );
            // The sampled one did learn: the comparison is not with a straw man.
            let nothing: f64 = (0..q)
                .map(|t| Problem::new(&stats, &[t]).unwrap().energy())
                .sum();
            assert!(
                sampled_total < 0.95 * nothing,
                "{task}, {library}: {sampled_total} of {nothing}"
            );
            println!("{task}, {library}: exact {exact_total:.5}, sampled {sampled_total:.5}");
        }
    }
}

/// The mean of the sampled loss over many draws of the gates agrees with the closed form within five of its standard errors, for gates per weight and shared ones.
#[test]
fn the_closed_form_is_the_mean_over_gate_samples() {
    let data = pendulum(2, 3);
    let gate = HardConcrete::default();
    let stats = statistics(
        "polynomial(2)",
        &PENDULUM_INPUTS,
        &data.inputs,
        &["c", "s", "v"],
        &data.next,
        data.rows,
    );
    let features = Library::polynomial(2).features(&PENDULUM_INPUTS).unwrap();
    let p = features.len();
    for per in [Per::Weight, Per::Unit] {
        let spec = GateSpec {
            per,
            ..GateSpec::default()
        };
        let sampled = Sampled::new(&stats).unwrap();
        let model = sampled.network(spec, &Stream::new(3)).unwrap();
        let GatesAndWeights {
            log_alphas,
            weights,
        } = sampled.gates_and_weights(&model).unwrap();
        let closed: f64 = (0..3)
            .map(|t| {
                let problem = Problem::new(&stats, &[t]).unwrap();
                let gates = if per == Per::Weight {
                    &log_alphas[t * p..][..p]
                } else {
                    &log_alphas[..]
                };
                expected_objective(&problem, &gate, 0.0, gates, &weights[t * p..][..p]).unwrap()
            })
            .sum::<f64>()
            / 3.0;
        let phi = features.evaluate(&data.inputs).unwrap();
        let x: Vec<f32> = phi
            .chunks(data.rows)
            .zip(sampled.scales())
            .flat_map(|(c, s)| c.iter().map(move |v| (v / s) as f32))
            .collect();
        let y: Vec<f32> = data.next.iter().map(|&v| v as f32).collect();
        let mut pass = Pass::new(model.architecture(), data.rows);
        let mut rng = Stream::new(4).at(0);
        let mut noise = vec![0.0; model.architecture().shared_noise_len()];
        let draws = 4000;
        let losses: Vec<f64> = (0..draws)
            .map(|_| {
                rng.fill_uniform(&mut noise);
                pass.forward(
                    model.parameters(),
                    &x,
                    Draw::Sampled(Noise {
                        shared: &noise,
                        rows: &[],
                    }),
                )
                .unwrap();
                pass.loss(Loss::MeanSquaredError, &y, data.rows).unwrap()
            })
            .collect();
        let mean = losses.iter().sum::<f64>() / f64::from(draws);
        let error = (losses.iter().map(|l| (l - mean).powi(2)).sum::<f64>()
            / f64::from(draws)
            / f64::from(draws - 1))
        .sqrt();
        assert!(
            (mean - closed).abs() < 5.0 * error,
            "{per:?}: {mean} ± {error}, closed form {closed}"
        );
    }
}

/// Reported probability against the share of true terms, over random designs.
pub(super) fn reliability(designs: u64, correlated: bool) -> Vec<(f64, f64, usize)> {
    let edges = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-12];
    let mut bins = vec![(0.0, 0.0, 0usize); edges.len() - 1];
    for design in 0..designs {
        let mut rng = Stream::new(77).split("reliability").at(design);
        let p = 20;
        let terms = (0..p).filter(|_| rng.uniform() < 0.2).count();
        let (problem, truth) = if correlated {
            random_problem(&mut rng, p, 100, terms, 1.5)
        } else {
            independent_problem(&mut rng, p, 100, terms, 1.5)
        };
        let probabilities = inclusion_probabilities(&problem, 0.2, &Stream::new(design)).unwrap();
        for (j, &probability) in probabilities.iter().enumerate() {
            let bin = edges[1..].iter().position(|&e| probability < e).unwrap();
            bins[bin].0 += probability;
            bins[bin].1 += f64::from(truth.contains(&j));
            bins[bin].2 += 1;
        }
    }
    bins.iter()
        .map(|&(p, t, n)| (p / n.max(1) as f64, t / n.max(1) as f64, n))
        .collect()
}

fn independent_problem(
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
    let x: Vec<f64> = (0..rows * p).map(|_| rng.normal()).collect();
    let mut order: Vec<usize> = (0..p).collect();
    (0..terms).for_each(|k| order.swap(k, k + rng.index(p - k)));
    let mut truth = order[..terms].to_vec();
    truth.sort_unstable();
    let w: Vec<f64> = truth.iter().map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| {
            truth
                .iter()
                .zip(&w)
                .map(|(j, w)| w * x[j * rows + r])
                .sum::<f64>()
                + noise * rng.normal()
        })
        .collect();
    let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
    accumulator.push(&x, &y, None, rows).unwrap();
    (Problem::new(&accumulator.finish(), &[0]).unwrap(), truth)
}

/// In every bin the share of true terms is within three standard errors, and three hundredths, of the reported probability; for independent
/// columns and for near-copies. `cargo test -p ell0 calibrated -- --nocapture` prints the table of the documentation.
#[test]
fn inclusion_probabilities_are_calibrated() {
    for correlated in [false, true] {
        println!("correlated: {correlated}\n| reported | true | terms |\n| --- | --- | --- |");
        for (reported, share, count) in reliability(200, correlated) {
            println!("| {reported:.3} | {share:.3} | {count} |");
            let error = (reported * (1.0 - reported) / count.max(1) as f64).sqrt();
            assert!(
                (share - reported).abs() < 3.0 * error + 0.03,
                "{reported} {share} {count}"
            );
        }
    }
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

/// y = 2 x − 3 x z + noise on polynomial(2) of three inputs.
fn small(noise: f64, seed: u64, rows: usize) -> Statistics {
    let mut rng = Stream::new(seed).split("small").at(0);
    let x: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| 2.0 * x[r] - 3.0 * x[r] * x[2 * rows + r] + noise * rng.normal())
        .collect();
    statistics("polynomial(2)", &["x", "y", "z"], &x, &["t"], &y, rows)
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
    // Without a refit the lasso's coefficients are shrunken, as seed and textbooks say.
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

/// Sampled training with shared gates ends at the same law, coefficients in the user's units.
#[test]
fn sampled_training_finds_the_law_too() {
    let mut rng = Stream::new(9).at(0);
    let rows = 2000;
    // A feature of RMS 100 and one of RMS 0.01: the scaling inside must not show outside.
    let x: Vec<f64> = (0..2 * rows)
        .map(|k| if k < rows { 100.0 } else { 0.01 } * rng.normal())
        .collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| 0.02 * x[r] - 150.0 * x[rows + r])
        .collect();
    let stats = statistics("polynomial(2, no-bias)", &["a", "b"], &x, &["y"], &y, rows);
    let features = "polynomial(2, no-bias)"
        .parse::<Library>()
        .unwrap()
        .features(&["a", "b"])
        .unwrap();
    let by_row: Vec<f32> = (0..rows)
        .flat_map(|r| [x[r] as f32, x[rows + r] as f32])
        .collect();
    let targets: Vec<f32> = y.iter().map(|&y| y as f32).collect();
    let data = Dataset::new(&by_row, 2, &targets, 1)
        .unwrap()
        .for_dictionary(&features, &stats)
        .unwrap();
    for per in [Per::Weight, Per::Unit] {
        let config = TrainerConfig {
            epochs: 1,
            steps_per_epoch: Some(4000),
            learning_rate: 1e-2,
            penalty: Penalty::expected_l0(0.02).unwrap(),
            ..TrainerConfig::default()
        };
        let SampledTrainer {
            dictionary,
            mut trainer,
        } = sampled_trainer(
            &stats,
            GateSpec {
                per,
                ..GateSpec::default()
            },
            config,
            data.clone(),
            None,
        )
        .unwrap();
        trainer.fit(&mut Silent).unwrap();
        let coefficients = dictionary.coefficients(trainer.model()).unwrap();
        assert!(
            (coefficients[0] / 0.02 - 1.0).abs() < 0.02,
            "{coefficients:?}"
        );
        assert!(
            (coefficients[1] / -150.0 - 1.0).abs() < 0.02,
            "{coefficients:?}"
        );
        assert!(
            coefficients[2..].iter().all(|&c| c == 0.0),
            "{coefficients:?}"
        );
    }
}

#[test]
fn bad_input_is_named() {
    let features = || {
        "polynomial(1) + functions(log)"
            .parse::<Library>()
            .unwrap()
            .features(&["a"])
            .unwrap()
    };
    let accumulate = |x: &[f64], y: &[f64], weights: Option<&[f64]>| {
        let mut accumulator = Accumulator::new(features(), vec!["y".into()]).unwrap();
        accumulator
            .push(x, y, weights, x.len())
            .map(|()| accumulator.finish())
    };
    let message = |result: crate::Result<Statistics>| result.unwrap_err().to_string();
    assert!(
        message(accumulate(&[1.0, f64::NAN], &[0.0; 2], None))
            .contains("column `a`, row 1 (counted from 0) holds NaN")
    );
    assert!(
        message(accumulate(&[1.0, 2.0, -1.0], &[0.0; 3], None)).contains("column `log(a)`, row 2")
    );
    assert!(
        message(accumulate(&[1.0], &[f64::INFINITY], None))
            .contains("column `y`, row 0 (counted from 0) holds inf")
    );
    assert!(
        message(accumulate(&[1.0, 2.0], &[0.0], None)).contains("target values: got 1, expected 2")
    );
    assert!(message(accumulate(&[1.0], &[0.0], Some(&[-1.0]))).contains("column `weight`, row 0"));
    let empty = accumulate(&[], &[], None).unwrap();
    assert!(
        Problem::new(&empty, &[0])
            .unwrap_err()
            .to_string()
            .contains("empty")
    );
    let few = accumulate(&[1.0, 2.0], &[0.0; 2], None).unwrap();
    assert!(
        Path::new(&few, &[0], &[], &PathConfig::default())
            .unwrap_err()
            .to_string()
            .contains("more rows than terms")
    );
    let train = small(0.1, 1, 100);
    let problem = Problem::new(&train, &[0]).unwrap();
    assert!(
        train_exact(&problem, &HardConcrete::default(), -1.0)
            .unwrap_err()
            .to_string()
            .contains("lambda = -1")
    );
    assert!(branch_and_bound(&problem, f64::NAN, 3, 10).is_err());
    assert!(
        polish_support(&problem, &[99], 0.1).is_err()
            && polish_support(&problem, &[1, 1], 0.1).is_err()
    );
    let polished = polish_support(&problem, &[5, 0], 0.1).unwrap();
    assert_eq!(
        polished.support,
        branch_and_bound(&problem, 0.1, 10, 1000).unwrap().support
    );
    assert!(
        (train.mean_squared_error(0, &polished.coefficients).unwrap() - polished.error).abs()
            < 1e-12
    );
    assert!(inclusion_probabilities(&problem, 1.0, &Stream::new(0)).is_err());
    let path = Path::new(&train, &[0], &[], &PathConfig::default()).unwrap();
    assert!(
        path.choose(Rule::Lambda(-1.0))
            .unwrap_err()
            .to_string()
            .contains("lambda = -1")
    );
    assert!(
        path.choose(Rule::Terms(99))
            .unwrap_err()
            .to_string()
            .contains("the path has models of 0, 1, 2")
    );
    assert!(Problem::new(&train, &[1]).is_err() && Problem::new(&train, &[]).is_err());
    assert!(train.mean_squared_error(0, &[0.0; 3]).is_err());
    assert!(
        "sindy"
            .parse::<Method>()
            .unwrap_err()
            .to_string()
            .contains("exact, ols, stlsq, lasso")
    );
    for text in [
        "{}",
        "[]",
        r#"{"format":"ell0-statistics","version":1,"features":["a"],"targets":["y"],"rows":1,"weight":1,"triangle":[[1],[1]],"constant":[null]}"#,
    ] {
        assert!(serde_json::from_str::<Statistics>(text).is_err());
    }
    let data = Dataset::new(&[-1.0, 1.0], 1, &[0.0; 2], 1).unwrap();
    assert!(
        data.lifted(features(), &[1.0; 3])
            .unwrap_err()
            .to_string()
            .contains("column `log(a)`, row 0")
    );
}

/// Columns that are exact small-integer combinations of a few others: any of several supports may be best, and a column without a coefficient may stand in for
/// one that has one.
fn combined_problem(rng: &mut Generator, p: usize) -> Problem {
    let (rows, base) = (40, 3 + rng.index(3));
    let names: Vec<String> = (0..p).map(|j| format!("f{j}")).collect();
    let features = "polynomial(1, no-bias)"
        .parse::<Library>()
        .unwrap()
        .features(&names)
        .unwrap();
    let mut x = vec![0.0; rows * p];
    for j in 0..p {
        let mix: Vec<f64> = (0..base).map(|_| rng.index(3) as f64 - 1.0).collect();
        for row in 0..rows {
            x[j * rows + row] = if j < base {
                rng.normal()
            } else {
                (0..base).map(|b| mix[b] * x[b * rows + row]).sum()
            };
        }
    }
    let order: Vec<usize> = (0..3).map(|_| rng.index(p)).collect();
    let y: Vec<f64> = (0..rows)
        .map(|r| order.iter().map(|j| x[j * rows + r]).sum::<f64>() + 0.05 * rng.normal())
        .collect();
    let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
    accumulator.push(&x, &y, None, rows).unwrap();
    Problem::new(&accumulator.finish(), &[0]).unwrap()
}

#[test]
fn exactly_collinear_terms_are_searched_to_the_optimum() {
    for design in 0..300 {
        let mut rng = Stream::new(21).split("combined").at(design);
        let problem = combined_problem(&mut rng, 9);
        for price in [0.003, 0.1] {
            let price = price * problem.energy().min(1.0);
            let best = branch_and_bound(&problem, price, 9, 100_000).unwrap();
            let want = enumerate_all(&problem, price);
            assert!(
                best.proved && best.objective <= want + 1e-9 * problem.energy(),
                "{design}: {} {want}",
                best.objective
            );
        }
    }
}

#[test]
fn values_beyond_all_bounds_are_refused_and_never_hang() {
    let features = || {
        "functions(exp)"
            .parse::<Library>()
            .unwrap()
            .features(&["a"])
            .unwrap()
    };
    let mut accumulator = Accumulator::new(features(), vec!["y".into()]).unwrap();
    let error = accumulator
        .push(&[1.0, 400.0], &[0.0; 2], None, 2)
        .unwrap_err()
        .to_string();
    assert!(error.contains("column `exp(a)`, row 1"), "{error}");
    // Through merging, the sums themselves can overflow: that is found where they are used.
    let mut stats = {
        let mut a = Accumulator::new(
            Library::polynomial(1).features(&["a"]).unwrap(),
            vec!["y".into()],
        )
        .unwrap();
        a.push(&[1.0, 2.0, 3.0], &[1e99; 3], None, 3).unwrap();
        a.finish()
    };
    let copy = stats.clone();
    (0..20).for_each(|_| stats.merge(&copy).unwrap());
    assert!(Path::new(&stats, &[0], &[], &PathConfig::default()).is_ok());
}

#[test]
fn the_scale_of_weights_does_not_matter() {
    let mut rng = Stream::new(5).at(0);
    let rows = 60;
    let x: Vec<f64> = (0..3 * rows).map(|_| rng.normal()).collect();
    let y: Vec<f64> = (0..rows).map(|r| x[r] + rng.normal()).collect();
    let probabilities = |weight: f64| {
        let features = "polynomial(1, no-bias)"
            .parse::<Library>()
            .unwrap()
            .features(&["a", "b", "c"])
            .unwrap();
        let mut accumulator = Accumulator::new(features, vec!["y".into()]).unwrap();
        accumulator
            .push(&x, &y, Some(&vec![weight; rows]), rows)
            .unwrap();
        let stats = accumulator.finish();
        assert!((stats.effective_rows() - rows as f64).abs() < 1e-9);
        let bic = Path::new(&stats, &[0], &[], &PathConfig::default())
            .unwrap()
            .choose(Rule::Bic)
            .unwrap()
            .terms;
        (
            inclusion_probabilities(&Problem::new(&stats, &[0]).unwrap(), 0.1, &Stream::new(0))
                .unwrap(),
            bic,
        )
    };
    let (one, hundred, little) = (
        probabilities(1.0),
        probabilities(100.0),
        probabilities(1.0 / 60.0),
    );
    for other in [hundred, little] {
        assert_eq!(one.1, other.1);
        assert!(
            one.0
                .iter()
                .zip(&other.0)
                .all(|(a, b)| (a - b).abs() < 1e-6),
            "{:?} {:?}",
            one.0,
            other.0
        );
    }
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
            .contains("more rows than terms")
    );
}

proptest! {
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
