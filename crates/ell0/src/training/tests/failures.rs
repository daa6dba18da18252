//! What goes wrong is named, and the last good state kept.

use super::*;

#[test]
fn a_loss_that_is_not_finite_stops_with_the_step_and_keeps_the_last_good_state() {
    let x = vec![1e30f32; 40];
    let y = vec![-1e30f32; 20];
    let huge = Dataset::new(&x, 4, &y, 2).unwrap();
    let network = Mlp::new(
        &MlpConfig::new([4, 8, 2], Activation::Relu),
        &Stream::new(0),
    )
    .unwrap();
    let before = network.parameters().to_vec();
    let mut trainer = Trainer::new(
        network,
        TrainerConfig {
            batch_size: 4,
            ..TrainerConfig::default()
        },
        huge,
        None,
    )
    .unwrap();
    let error = trainer.fit(&mut Silent).unwrap_err();
    assert!(matches!(error, Error::NotFinite { step: 1, .. }), "{error}");
    assert_eq!(trainer.model().parameters(), before);

    // And after some good steps: the trainer is back in the last state whose loss was finite, whatever it takes.
    let train = data(500, 1);
    for (learning_rate, average) in [(1e6, None), (1e5, Some(0.5))] {
        let network = MlpConfig::new([4, 16, 16, 16, 16, 2], Activation::Relu);
        let network = || Mlp::new(&network, &Stream::new(11)).unwrap();
        let config = TrainerConfig {
            batch_size: 64,
            learning_rate,
            average,
            epochs: 1000,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(network(), config.clone(), train.clone(), None).unwrap();
        let mut states = vec![trainer.to_bytes().unwrap()];
        let error = loop {
            match trainer.step() {
                Ok(_) => states.push(trainer.to_bytes().unwrap()),
                Err(error) => break error,
            }
            assert!(states.len() < 2000, "this was to diverge");
        };
        let Error::NotFinite { step, kept, .. } = error else {
            panic!("{error}")
        };
        // The state before the failing step had no finite loss; the one before that had.
        assert_eq!((step, kept), (states.len() as u64, states.len() as u64 - 2));
        assert!(trainer.to_bytes().unwrap() == states[kept as usize]);
        assert!(
            error
                .to_string()
                .contains(&format!("stopped at step {step}"))
        );
        // The same through `fit`.
        let mut trainer = Trainer::new(network(), config, train.clone(), None).unwrap();
        assert!(trainer.fit(&mut Silent).is_err());
        assert_eq!(trainer.steps(), kept);
    }
}

#[test]
fn a_test_error_that_is_not_finite_goes_back_too() {
    let train = data(500, 1);
    let test = Dataset::new(&[f32::MAX; 8], 4, &[0.0; 4], 2).unwrap();
    let network = Mlp::new(
        &MlpConfig::new([4, 64, 2], Activation::Relu),
        &Stream::new(0),
    )
    .unwrap();
    let before = network.parameters().to_vec();
    let config = TrainerConfig {
        steps_per_epoch: Some(1),
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(network, config, train.clone(), Some(test.into())).unwrap();
    let error = trainer.fit(&mut Silent).unwrap_err();
    assert!(
        matches!(
            error,
            Error::NotFinite {
                step: 1,
                quantity: "test error",
                kept: 0,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(trainer.model().parameters(), before);
}

/// A gradient whose square is beyond single precision would stop Adam for ever without a word.
#[test]
fn a_gradient_too_large_for_single_precision_is_an_error() {
    let huge = Dataset::new(&[1e3; 8], 4, &[1e25; 4], 2).unwrap();
    let config = || TrainerConfig {
        batch_size: 2,
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(model(None), config(), huge.clone(), None).unwrap();
    assert!(matches!(
        trainer.step().unwrap_err(),
        Error::NotFinite { step: 1, .. }
    ));
    let clipped = TrainerConfig {
        clip_norm: Some(1.0),
        ..config()
    };
    assert!(
        Trainer::new(model(None), clipped, huge.clone(), None)
            .unwrap()
            .step()
            .is_ok()
    );
}

#[test]
fn bad_input_is_named() {
    let message = |error: Error| error.to_string();
    let good = data(10, 1);
    let nan = [1.0, 2.0, 3.0, f32::NAN];
    assert!(
        message(Dataset::new(&nan, 2, &[0.0; 2], 1).unwrap_err())
            .contains("inputs: row 1, column 1 (counted from 0) holds NaN")
    );
    assert!(
        message(Dataset::new(&[0.0; 2], 2, &[f32::INFINITY], 1).unwrap_err())
            .contains("targets: row 0")
    );
    assert!(message(Dataset::new(&[], 2, &[], 1).unwrap_err()).contains("empty"));
    assert!(Dataset::new(&[0.0; 3], 2, &[0.0; 2], 1).is_err());
    assert!(Dataset::new(&[0.0; 4], 2, &[0.0; 3], 1).is_err());
    assert!(Dataset::new(&[0.0; 4], 0, &[0.0; 3], 1).is_err());
    let attempt = |config: TrainerConfig| {
        message(Trainer::new(model(None), config, good.clone(), None).unwrap_err())
    };
    let base = TrainerConfig::default;
    assert!(
        attempt(TrainerConfig {
            batch_size: 0,
            ..base()
        })
        .contains("batch_size = 0")
    );
    assert!(
        attempt(TrainerConfig {
            samples: 0,
            ..base()
        })
        .contains("samples = 0")
    );
    assert!(
        attempt(TrainerConfig {
            input_noise: f64::NAN,
            ..base()
        })
        .contains("input_noise = NaN")
    );
    assert!(
        attempt(TrainerConfig {
            epochs: 0,
            ..base()
        })
        .contains("epochs = 0")
    );
    assert!(
        attempt(TrainerConfig {
            steps_per_epoch: Some(0),
            ..base()
        })
        .contains("steps_per_epoch = 0")
    );
    assert!(
        attempt(TrainerConfig {
            threads: 0,
            ..base()
        })
        .contains("threads = 0")
    );
    assert!(
        attempt(TrainerConfig {
            learning_rate: -1.0,
            ..base()
        })
        .contains("learning_rate = -1")
    );
    assert!(
        attempt(TrainerConfig {
            gate_learning_rate: Some(f64::NAN),
            ..base()
        })
        .contains("gate_learning_rate = NaN")
    );
    assert!(
        attempt(TrainerConfig {
            clip_norm: Some(0.0),
            ..base()
        })
        .contains("clip_norm = 0")
    );
    assert!(
        attempt(TrainerConfig {
            average: Some(1.0),
            ..base()
        })
        .contains("average = 1")
    );
    assert!(
        attempt(TrainerConfig {
            patience: Some(2),
            ..base()
        })
        .contains("needs test data")
    );
    assert!(
        attempt(TrainerConfig {
            adam: AdamConfig {
                beta1: 1.0,
                ..AdamConfig::default()
            },
            ..base()
        })
        .contains("beta1 = 1")
    );
    assert!(
        attempt(TrainerConfig {
            loss: Loss::CrossEntropy,
            ..base()
        })
        .contains("target columns of the data: got 2, expected 1")
    );
    let narrow = Dataset::new(&[0.0; 3], 3, &[0.0; 2], 2).unwrap();
    assert!(
        message(Trainer::new(model(None), base(), narrow.clone(), None).unwrap_err())
            .contains("input columns of the data: got 3, expected 4")
    );
    let classes = Dataset::new(&[0.0; 4], 4, &[1.5], 1).unwrap();
    let config = TrainerConfig {
        loss: Loss::CrossEntropy,
        ..base()
    };
    assert!(
        message(Trainer::new(model(None), config, classes.clone(), None).unwrap_err())
            .contains("holds 1.5")
    );
}
