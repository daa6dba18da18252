use std::{
    fs,
    ops::ControlFlow,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use proptest::prelude::*;

use super::*;
use crate::{
    error::Error,
    gates::Penalty,
    network::{Activation, GateSpec, Loss, Mlp, MlpConfig, NoisePer, Per},
    rng::Stream,
};

/// y = (sin x₀ + x₁, x₁ x₂): something to learn, with an input that does not matter.
fn data(rows: usize, seed: u64) -> Arc<Dataset> {
    let mut rng = Stream::new(seed).split("test data").at(0);
    let x: Vec<f32> = (0..rows * 4).map(|_| rng.normal() as f32).collect();
    let y: Vec<f32> = x
        .chunks(4)
        .flat_map(|r| [r[0].sin() + r[1], r[1] * r[2]])
        .collect();
    Dataset::new(&x, 4, &y, 2).unwrap().into()
}

fn model(gates: Option<GateSpec>) -> Mlp {
    let config = MlpConfig {
        gates,
        ..MlpConfig::new([4, 16, 16, 2], Activation::Elu)
    };
    Mlp::new(&config, &Stream::new(11)).unwrap()
}

/// Everything at once: gates, warm-up, schedule, clipping, averaging, several samples and parts.
fn config() -> TrainerConfig {
    TrainerConfig {
        penalty: Penalty::expected_l0(1e-4)
            .unwrap()
            .with_weight_decay(1e-4)
            .unwrap(),
        epochs: 4,
        batch_size: 600,
        samples: 2,
        steps_per_epoch: Some(5),
        learning_rate: 3e-3,
        gate_learning_rate: Some(1e-2),
        schedule: Schedule::Cosine {
            steps: 20,
            last: 0.1,
        },
        lambda_warmup: Warmup { delay: 3, ramp: 6 },
        clip_norm: Some(0.5),
        average: Some(0.9),
        seed: 5,
        ..TrainerConfig::default()
    }
}

/// Every kind of gates a run can have.
fn gatings() -> Vec<Option<GateSpec>> {
    let spec = GateSpec::default();
    vec![
        None,
        Some(spec),
        Some(GateSpec {
            noise: NoisePer::Row,
            ..spec
        }),
        Some(GateSpec {
            per: Per::Weight,
            ..spec
        }),
        Some(GateSpec {
            per: Per::Weight,
            noise: NoisePer::Row,
            ..spec
        }),
    ]
}

struct StopAt(u64);

impl Observer for StopAt {
    fn step(&mut self, record: &StepRecord) -> ControlFlow<()> {
        if record.step == self.0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

#[test]
fn one_thread_or_two_give_the_same_bits() {
    let (train, test) = (data(3000, 1), data(700, 2));
    for gates in gatings() {
        let run = |threads| {
            let config = TrainerConfig {
                threads,
                ..config()
            };
            let mut trainer =
                Trainer::new(model(gates), config, train.clone(), Some(test.clone())).unwrap();
            trainer.fit(&mut Silent).unwrap();
            trainer.set_threads(1).unwrap();
            trainer.to_bytes().unwrap()
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(3));
    }
}

/// Interrupted at every step in turn, saved, loaded and gone on: the same bytes in the end, optimizer, average, best and history included.
#[test]
fn resumed_is_bit_identical_to_uninterrupted() {
    let (train, test) = (data(3000, 1), data(700, 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    for gates in gatings() {
        let mut whole =
            Trainer::new(model(gates), config(), train.clone(), Some(test.clone())).unwrap();
        assert_eq!(whole.fit(&mut Silent).unwrap(), Outcome::Finished);
        let whole = whole.to_bytes().unwrap();
        for stop in (1..=20).step_by(if gates.is_none() { 1 } else { 3 }) {
            let mut first =
                Trainer::new(model(gates), config(), train.clone(), Some(test.clone())).unwrap();
            assert_eq!(first.fit(&mut StopAt(stop)).unwrap(), Outcome::Interrupted);
            first.save(&path).unwrap();
            drop(first);
            let mut second = Trainer::resume(&path, train.clone(), Some(test.clone())).unwrap();
            assert_eq!(second.steps(), stop);
            assert_eq!(second.fit(&mut Silent).unwrap(), Outcome::Finished);
            assert_eq!(second.to_bytes().unwrap(), whole, "stopped at {stop}");
        }
    }
}

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

#[test]
fn a_checkpoint_gives_its_network_without_the_data() {
    let (train, test) = (data(500, 1), data(200, 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    for (average, test) in [(None, None), (Some(0.9), None), (Some(0.9), Some(test))] {
        let config = TrainerConfig {
            epochs: 2,
            batch_size: 50,
            average,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(
            model(Some(GateSpec::default())),
            config,
            train.clone(),
            test,
        )
        .unwrap();
        trainer.fit(&mut Silent).unwrap();
        trainer.save(&path).unwrap();
        assert_eq!(Mlp::from_checkpoint(&path).unwrap(), trainer.best_model());
    }
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

/// A checkpoint of a short run, and the data it belongs to.
fn saved() -> (Arc<Dataset>, Vec<u8>) {
    let train = data(100, 1);
    let config = TrainerConfig {
        batch_size: 32,
        average: Some(0.9),
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(
        model(Some(GateSpec::default())),
        config,
        train.clone(),
        None,
    )
    .unwrap();
    trainer.fit(&mut StopAt(2)).unwrap();
    let bytes = trainer.to_bytes().unwrap();
    (train, bytes)
}

fn load(bytes: &[u8], train: &Arc<Dataset>) -> crate::Result<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    fs::write(&path, bytes).unwrap();
    Trainer::resume(&path, train.clone(), None).map(|trainer| trainer.steps())
}

#[test]
fn foreign_and_damaged_checkpoints_are_refused() {
    let (train, bytes) = saved();
    assert_eq!(load(&bytes, &train).unwrap(), 2);
    let refuse = |bytes: &[u8], words: &str| {
        let error = load(bytes, &train).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    for cut in [0, 5, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        refuse(&bytes[..cut], "truncated");
    }
    refuse(
        b"PK\x03\x04 this is a zip file, not a checkpoint",
        "safetensors",
    );
    let mut damaged = bytes.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 1;
    refuse(&damaged, "checksum");
    // A digit of the header: as bad as one of the tensors.
    let mut damaged = bytes.clone();
    let place = damaged
        .windows(12)
        .position(|w| w == br#"\"steps\":2,"#)
        .unwrap();
    damaged[place + 10] = b'3';
    refuse(&damaged, "checksum");
    let empty = safetensors::serialize(
        Vec::<(String, safetensors::tensor::TensorView)>::new(),
        None,
    )
    .unwrap();
    refuse(&empty, "without an `ell0` header");
    let mut newer = bytes.clone();
    let place = newer
        .windows(13)
        .position(|w| w == br#"\"version\":2"#)
        .unwrap();
    newer[place + 12] = b'7';
    refuse(&newer, "format version 7; this program reads version 2");

    let other = data(100, 9);
    let error = load(&bytes, &other).unwrap_err().to_string();
    assert!(error.contains("other training data"), "{error}");
    let missing = Trainer::resume("no/such/file", train.clone(), None).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_old_one() {
    let (train, bytes) = saved();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    fs::write(&path, &bytes).unwrap();
    let trainer = Trainer::resume(&path, train.clone(), None).unwrap();
    let error = trainer
        .save(folder.path().join("missing/run.safetensors"))
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot write"), "{error}");
    // A folder in the file's place: the rename fails, and no scrap is left behind.
    fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(trainer.save(folder.path().join("taken")).is_err());
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["run.safetensors", "taken"]);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any change to the bytes is found or harmless; nothing panics.
    #[test]
    fn corrupted_checkpoints_never_panic(place: prop::sample::Index, value: u8, cut: prop::sample::Index) {
        let (train, bytes) = saved();
        let mut changed = bytes.clone();
        let at = place.index(changed.len());
        changed[at] = value;
        let _ = load(&changed, &train);
        let _ = load(&bytes[..cut.index(bytes.len())], &train);
    }

    #[test]
    fn random_bytes_are_not_a_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let train = data(10, 1);
        prop_assert!(load(&bytes, &train).is_err());
    }
}

/// Set for the child process of the test below: where to write checkpoints, over and over.
const WRITER: &str = "ELL0_TEST_CHECKPOINT_WRITER";

/// A process that does nothing but write checkpoints is killed at many moments; what is on the disk can always be resumed.
#[test]
fn killed_at_any_moment_leaves_a_readable_checkpoint() {
    let train = data(500, 1);
    if let Some(path) = std::env::var_os(WRITER) {
        let config = TrainerConfig {
            batch_size: 32,
            epochs: 1_000_000,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(
            model(Some(GateSpec::default())),
            config,
            train.clone(),
            None,
        )
        .unwrap();
        // Should the parent die first, the child still ends.
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            trainer.step().unwrap();
            trainer.save(PathBuf::from(&path)).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let written = || fs::metadata(&path).and_then(|m| m.modified()).ok();
    for round in 0..12 {
        let before = written();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "training::tests::killed_at_any_moment_leaves_a_readable_checkpoint",
            ])
            .env(WRITER, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while written() == before {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the writer wrote nothing"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        // Spread over the cycle of a step, a write, a sync and a rename over the file of the round before.
        std::thread::sleep(Duration::from_micros(1_000 + 777 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let trainer = Trainer::resume(&path, train.clone(), None).unwrap();
        assert!(trainer.steps() >= 1);
    }
}
