mod checkpoints;
mod determinism;
mod failures;
mod learning;

use super::*;
use crate::{
    error::Error,
    gates::Penalty,
    network::{Activation, GateSpec, Loss, Mlp, MlpConfig, NoisePer, Per},
    rng::Stream,
    testing::proptest_config,
};
use proptest::prelude::*;
use std::{
    fs,
    ops::ControlFlow,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
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

/// Everything at once: gates, warm-up, schedule, clipping, averaging, noise on inputs, several samples and parts.
fn config() -> TrainerConfig {
    TrainerConfig {
        penalty: Penalty::expected_l0(1e-4)
            .unwrap()
            .with_weight_decay(1e-4)
            .unwrap(),
        epochs: 4,
        batch_size: 600,
        samples: 2,
        input_noise: 0.1,
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
