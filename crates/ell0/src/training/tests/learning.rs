//! What training does to error, gates and parameters.

use super::*;

/// Gates find the inputs that matter, the error falls, and the compacted network is smaller and agrees.
#[test]
fn training_learns_and_prunes() {
    let (train, test) = (data(4000, 1), data(1000, 2));
    let config = TrainerConfig {
        penalty: Penalty::expected_l0(4e-4).unwrap(),
        epochs: 60,
        batch_size: 128,
        learning_rate: 5e-3,
        gate_learning_rate: Some(5e-2),
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(
        model(Some(GateSpec::default())),
        config,
        train.clone(),
        Some(test.clone()),
    )
    .unwrap();
    let before = trainer.evaluate(&test).unwrap();
    trainer.fit(&mut Silent).unwrap();
    let after = trainer.evaluate(&test).unwrap();
    assert!(after < 0.05 * before, "{before} → {after}");
    let history = trainer.history();
    assert_eq!(history.len(), 60);
    assert!(history[59].expected_l0 < 0.9 * history[0].expected_l0);
    let compact = trainer.model().compact().unwrap();
    assert!(
        !compact.inputs().contains(&3),
        "the input that does not matter is still read"
    );
    let size = trainer.model().complexity().unwrap();
    assert!(size.compacted_flops < 0.8 * size.flops);
    let best = trainer.best().unwrap();
    let smallest = history
        .iter()
        .map(|r| r.test_error.unwrap())
        .fold(f64::INFINITY, f64::min);
    assert_eq!(best.test_error, smallest);
    assert_eq!(
        evaluate(
            trainer.model().architecture(),
            &best.parameters,
            &test,
            Loss::MeanSquaredError
        )
        .unwrap(),
        smallest
    );
}

#[test]
fn classification_learns() {
    let mut rng = Stream::new(3).at(0);
    let x: Vec<f32> = (0..4000).map(|_| rng.normal() as f32).collect();
    let class = |r: &[f32]| {
        if r[0] > 0.5 {
            2.0
        } else if r[0] * r[1] > 0.0 {
            1.0
        } else {
            0.0
        }
    };
    let y: Vec<f32> = x.chunks(2).map(class).collect();
    let data = Dataset::new(&x, 2, &y, 1).unwrap();
    let network = Mlp::new(
        &MlpConfig::new([2, 32, 3], Activation::Relu),
        &Stream::new(1),
    )
    .unwrap();
    let config = TrainerConfig {
        loss: Loss::CrossEntropy,
        epochs: 60,
        batch_size: 64,
        learning_rate: 1e-2,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(network, config, data.clone(), None).unwrap();
    trainer.fit(&mut Silent).unwrap();
    let scores = trainer.model().predict(&x).unwrap();
    let hits = scores
        .chunks(3)
        .zip(&y)
        .filter(|(s, y)| (0..3).max_by(|&a, &b| s[a].total_cmp(&s[b])) == Some(**y as usize))
        .count();
    assert!(hits > 1900, "{hits} of 2000");
}

#[test]
fn early_stopping_waits_for_its_patience_and_keeps_the_best() {
    let (train, test) = (data(500, 1), data(200, 2));
    // Nothing improves by 99.9 % an epoch: the first evaluation stays the best.
    let config = TrainerConfig {
        epochs: 50,
        batch_size: 50,
        patience: Some(3),
        min_improvement: 0.999,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model(None), config, train.clone(), Some(test.clone())).unwrap();
    assert_eq!(trainer.fit(&mut Silent).unwrap(), Outcome::StoppedEarly);
    assert_eq!(trainer.history().len(), 4);
    assert_eq!(
        trainer.best_model().parameters(),
        trainer.best().unwrap().parameters
    );
    assert_eq!(trainer.fit(&mut Silent).unwrap(), Outcome::StoppedEarly);
}

#[test]
fn clipping_bounds_the_gradient_that_adam_sees() {
    let train = data(500, 1);
    let run = |clip_norm| {
        let config = TrainerConfig {
            clip_norm,
            batch_size: 64,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(model(None), config, train.clone(), None).unwrap();
        let norm = trainer.step().unwrap().gradient_norm;
        // After one step the first moment is (1 − β₁) times the gradient.
        (
            norm,
            trainer
                .adam
                .first
                .iter()
                .map(|&m| f64::from(m).powi(2))
                .sum::<f64>()
                .sqrt()
                / 0.1,
        )
    };
    let (norm, free) = run(None);
    assert!((free / norm - 1.0).abs() < 1e-5);
    assert!((run(Some(norm / 4.0)).1 / norm - 0.25).abs() < 1e-5);
    assert!((run(Some(norm * 4.0)).1 / norm - 1.0).abs() < 1e-5);
}

#[test]
fn averaging_follows_its_recurrence() {
    let train = data(500, 1);
    let config = TrainerConfig {
        average: Some(0.75),
        batch_size: 64,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model(None), config, train.clone(), None).unwrap();
    let mut want: Vec<f64> = trainer
        .model()
        .parameters()
        .iter()
        .map(|&p| f64::from(p))
        .collect();
    for _ in 0..10 {
        trainer.step().unwrap();
        for (want, &p) in want.iter_mut().zip(trainer.model().parameters()) {
            *want = 0.75 * *want + 0.25 * f64::from(p);
        }
    }
    for (got, want) in trainer
        .averaged_model()
        .unwrap()
        .parameters()
        .iter()
        .zip(want)
    {
        assert!((f64::from(*got) - want).abs() < 1e-6);
    }
}

/// Many samples of the gates estimate the same gradient as one, with less noise: their mean error loss agrees within its standard error.
#[test]
fn several_samples_average_the_loss_over_gates() {
    let train = data(256, 1);
    let mean_error = |samples, steps| {
        let config = TrainerConfig {
            samples,
            batch_size: 256,
            learning_rate: 1e-12,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(
            model(Some(GateSpec::default())),
            config,
            train.clone(),
            None,
        )
        .unwrap();
        let errors: Vec<f64> = (0..steps).map(|_| trainer.step().unwrap().error).collect();
        let mean = errors.iter().sum::<f64>() / f64::from(steps);
        let variance =
            errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / f64::from(steps - 1);
        (mean, variance, (variance / f64::from(steps)).sqrt())
    };
    let (one, many) = (mean_error(1, 1000), mean_error(8, 300));
    assert!((one.0 - many.0).abs() < 5.0 * (one.2.powi(2) + many.2.powi(2)).sqrt());
    assert!(many.1 < 0.5 * one.1);
}

#[test]
fn epochs_after_single_steps_still_report_means_over_their_own_steps() {
    let train = data(500, 1);
    let config = TrainerConfig {
        steps_per_epoch: Some(10),
        epochs: 3,
        learning_rate: 1e-6,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model(None), config, train.clone(), None).unwrap();
    for _ in 0..25 {
        trainer.step().unwrap();
    }
    trainer.fit(&mut Silent).unwrap();
    let history = trainer.history();
    assert_eq!(
        history.iter().map(|r| r.step).collect::<Vec<_>>(),
        [25, 30, 40]
    );
    // Nothing is learned at this rate: all means are alike.
    let errors: Vec<f64> = history.iter().map(|r| r.train_error).collect();
    assert!(
        errors.iter().all(|e| (e / errors[0] - 1.0).abs() < 0.5),
        "{errors:?}"
    );
}

#[test]
fn best_is_the_smallest_error_and_waits_for_the_warm_up() {
    let (train, test) = (data(500, 1), data(200, 2));
    let config = TrainerConfig {
        epochs: 30,
        batch_size: 50,
        learning_rate: 1e-2,
        min_improvement: 0.5,
        evaluate_train: true,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(
        model(None),
        config.clone(),
        train.clone(),
        Some(test.clone()),
    )
    .unwrap();
    trainer.fit(&mut Silent).unwrap();
    let smallest = trainer
        .history()
        .iter()
        .map(|r| r.test_error.unwrap())
        .fold(f64::INFINITY, f64::min);
    assert_eq!(trainer.best().unwrap().test_error, smallest);
    let last = trainer.history().last().unwrap();
    assert_eq!(
        last.train_error_at_test_time,
        Some(trainer.evaluate(&train).unwrap())
    );
    let config = TrainerConfig {
        lambda_warmup: Warmup { delay: 55, ramp: 0 },
        epochs: 6,
        ..config
    };
    let mut trainer = Trainer::new(model(None), config, train.clone(), Some(test.clone())).unwrap();
    trainer.fit(&mut Silent).unwrap();
    assert_eq!(trainer.best().unwrap().epoch, 6);
}

/// Noise on the inputs is ridge regression: the best slope of y = x is E[x²]/(E[x²] + σ²), and rows of test are looked at as they are.
#[test]
fn noise_on_inputs_shrinks_what_is_learned() {
    let mut rng = Stream::new(8).split("test data").at(0);
    let x: Vec<f32> = (0..4096).map(|_| rng.normal() as f32).collect();
    let data: Arc<Dataset> = Dataset::new(&x, 1, &x, 1).unwrap().into();
    let square = x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / x.len() as f64;
    for input_noise in [0.0, 0.5, 1.0] {
        let line = Mlp::new(
            &MlpConfig::new([1, 1], Activation::Identity),
            &Stream::new(11),
        );
        let config = TrainerConfig {
            input_noise,
            learning_rate: 1e-2,
            epochs: 100,
            average: Some(0.99),
            seed: 3,
            ..TrainerConfig::default()
        };
        let mut trainer =
            Trainer::new(line.unwrap(), config, data.clone(), Some(data.clone())).unwrap();
        trainer.fit(&mut Silent).unwrap();
        let slope = f64::from(trainer.averaged_model().unwrap().parameters()[0]);
        let want = square / (square + input_noise * input_noise);
        assert!(
            (slope - want).abs() < 0.02,
            "{input_noise}: {slope}, not {want}"
        );
        let error = trainer.history().last().unwrap().test_error.unwrap();
        let want = square * (1.0 - slope).powi(2);
        assert!(
            (error - want).abs() < 0.02,
            "{input_noise}: error {error}, not {want}"
        );
    }
}
