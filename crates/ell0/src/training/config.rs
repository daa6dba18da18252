//! Every choice of a training run.

use serde::{Deserialize, Serialize};

use super::{AdamConfig, Schedule, Warmup};
use crate::{
    error::{Result, require},
    gates::Penalty,
    network::Loss,
};

/// Which parameters of a run are the best, by what is measured after each epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Those with the smallest test error.
    #[default]
    MostAccurate,
    /// Those with the smallest test error plus penalty: before gates have closed, a small error is bought dearly.
    Cheapest,
}

/// Every choice of a training run, checked once by [`Trainer::new`](super::Trainer::new).
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `loss` | mean-squared error | the error loss | see [`Loss`] |
/// | `penalty` | none | the complexity loss | see [`Penalty`] |
/// | `epochs` | 1 | rounds between two evaluations | ≥ 1 |
/// | `steps_per_epoch` | ⌊rows/batch⌋, at least 1 | steps of a round | ≥ 1 |
/// | `batch_size` | 256 | rows of a step, drawn uniformly with replacement | 1 to 2²⁰ |
/// | `samples` | 1 | draws L of the gates for each batch | 1 to 1024 |
/// | `input_noise` | 0 | deviation of what is added to every input, anew at every step: what is learned has to bear it | \[0, 1e6\], 0 for features that are computed on the way |
/// | `learning_rate` | 3e-4 | of weights and biases | (0, 1e6] |
/// | `gate_learning_rate` | as `learning_rate` | of log α | (0, 1e6] |
/// | `adam` | as PyTorch | constants of Adam | see [`AdamConfig`] |
/// | `schedule` | constant | factor of both learning rates | see [`Schedule`] |
/// | `lambda_warmup` | none | factor of λ | see [`Warmup`] |
/// | `clip_norm` | none | largest norm of the whole gradient | (0, 1e6] |
/// | `average` | none | decay of an exponential average of all parameters; if set, it is what is evaluated and kept as best | (0, 1) |
/// | `patience` | none | stop after so many epochs without a better test error, counted from the end of the warm-up | ≥ 1 |
/// | `keep` | most accurate | which parameters are best, if there are test data | see [`Keep`] |
/// | `min_improvement` | 0 | relative improvement that counts as better | \[0, 1) |
/// | `evaluate_train` | no | whether each epoch ends with the error on all training data, too | |
/// | `seed` | 0 | of batches and gates | any |
/// | `threads` | 1 | threads for large batches, several samples and evaluation; the bits do not depend on it | ≥ 1 |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TrainerConfig {
    pub loss: Loss,
    pub penalty: Penalty,
    pub epochs: u64,
    pub steps_per_epoch: Option<u64>,
    pub batch_size: usize,
    pub samples: usize,
    pub input_noise: f64,
    pub learning_rate: f64,
    pub gate_learning_rate: Option<f64>,
    pub adam: AdamConfig,
    pub schedule: Schedule,
    pub lambda_warmup: Warmup,
    pub clip_norm: Option<f64>,
    pub average: Option<f64>,
    pub patience: Option<u64>,
    pub keep: Keep,
    pub min_improvement: f64,
    pub evaluate_train: bool,
    pub seed: u64,
    pub threads: usize,
}

impl Default for TrainerConfig {
    fn default() -> Self {
        TrainerConfig {
            loss: Loss::MeanSquaredError,
            penalty: Penalty::none(),
            epochs: 1,
            steps_per_epoch: None,
            batch_size: 256,
            samples: 1,
            input_noise: 0.0,
            learning_rate: 3e-4,
            gate_learning_rate: None,
            adam: AdamConfig::default(),
            schedule: Schedule::Constant,
            lambda_warmup: Warmup::default(),
            clip_norm: None,
            average: None,
            patience: None,
            keep: Keep::default(),
            min_improvement: 0.0,
            evaluate_train: false,
            seed: 0,
            threads: 1,
        }
    }
}

impl TrainerConfig {
    pub(super) fn check(&self) -> Result<()> {
        let positive = |name, value: f64| {
            let ok = value > 0.0 && value <= 1e6;
            require(ok, name, value, "it must be positive, at most 1e6")
        };
        let one = "it must be at least 1";
        require(self.batch_size >= 1, "batch_size", self.batch_size, one)?;
        require(
            self.batch_size <= 1 << 20,
            "batch_size",
            self.batch_size,
            "at most 2^20 rows",
        )?;
        require(self.samples >= 1, "samples", self.samples, one)?;
        require(
            self.samples <= 1024,
            "samples",
            self.samples,
            "at most 1024 draws",
        )?;
        require(
            (0.0..=1e6).contains(&self.input_noise),
            "input_noise",
            self.input_noise,
            "it must lie in [0, 1e6]",
        )?;
        require(self.epochs >= 1, "epochs", self.epochs, one)?;
        require(self.steps_per_epoch != Some(0), "steps_per_epoch", 0, one)?;
        require(self.patience != Some(0), "patience", 0, one)?;
        require(
            (1..=1024).contains(&self.threads),
            "threads",
            self.threads,
            "it must lie in 1..=1024",
        )?;
        positive("learning_rate", self.learning_rate)?;
        if let Some(rate) = self.gate_learning_rate {
            positive("gate_learning_rate", rate)?;
        }
        if let Some(norm) = self.clip_norm {
            positive("clip_norm", norm)?;
        }
        if let Some(decay) = self.average {
            let ok = decay > 0.0 && decay < 1.0;
            require(
                ok,
                "average",
                decay,
                "the decay must lie strictly between 0 and 1",
            )?;
        }
        let ok = (0.0..1.0).contains(&self.min_improvement);
        require(
            ok,
            "min_improvement",
            self.min_improvement,
            "it must lie in [0, 1)",
        )?;
        self.adam.check()?;
        self.schedule.check()
    }

    pub(super) fn steps_per_epoch(&self, rows: usize) -> u64 {
        self.steps_per_epoch
            .unwrap_or((rows / self.batch_size).max(1) as u64)
    }
}
