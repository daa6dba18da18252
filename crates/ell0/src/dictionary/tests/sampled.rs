//! Sampled gates against the closed form.

use super::*;

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
