//! The training loop.

use std::{ops::ControlFlow, sync::Arc};

use rayon::prelude::*;

use super::{
    Adam, Dataset, EpochRecord, Group, Observer, Outcome, StepRecord, TrainerConfig,
    evaluate::evaluate_checked,
    step::{SHARD_ROWS, Shard, Streams},
};
use crate::{
    error::{Error, Result},
    network::{Mlp, Sparsity},
    simd,
};

/// Trains a network on a dataset.
#[derive(Debug)]
pub struct Trainer {
    pub(super) config: TrainerConfig,
    pub(super) train: Arc<Dataset>,
    pub(super) test: Option<Arc<Dataset>>,
    pub(super) model: Mlp,
    pub(super) adam: Adam,
    pub(super) average: Option<Vec<f32>>,
    pub(super) best: Option<Best>,
    pub(super) improved: Improvement,
    pub(super) history: Vec<EpochRecord>,
    pub(super) sums: EpochSums,
    snapshot: Option<Snapshot>,
    streams: Streams,
    shards: Vec<Shard>,
    indices: Vec<usize>,
    pool: Option<rayon::ThreadPool>,
}

/// A state whose loss is known to be finite. From it, the few steps to the last good state can be run again to the same bits, which costs far
/// less than a copy before every step.
#[derive(Debug)]
struct Snapshot {
    parameters: Vec<f32>,
    adam: Adam,
    average: Option<Vec<f32>>,
    sums: EpochSums,
    epochs: usize,
}

/// Steps between two snapshots of an epoch.
const SNAPSHOT_EVERY: u64 = 16;

/// Largest norm of a gradient whose square Adam can hold in single precision.
const LARGEST_NORM: f64 = 1e18;

/// Most numbers that the gradients of all shards of a step may hold together: 2 GiB.
const MAX_GRADIENTS: usize = 1 << 29;

/// The epoch and test error that patience counts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Improvement {
    epoch: u64,
    test_error: Option<f64>,
}

/// The parameters with the smallest test error so far, not counting epochs during which λ was still warming up.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The epoch after which it was measured.
    pub epoch: u64,
    /// The test error.
    pub test_error: f64,
    /// The parameters: the averaged ones, if averaging is on.
    pub parameters: Vec<f32>,
}

/// Sums over the steps of the epoch that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct EpochSums {
    steps: u64,
    error: f64,
    penalty: f64,
    gradient_norm: f64,
}

impl Trainer {
    /// Checks the configuration and that the data suit the network.
    pub fn new(
        model: Mlp,
        config: TrainerConfig,
        train: impl Into<Arc<Dataset>>,
        test: Option<Arc<Dataset>>,
    ) -> Result<Self> {
        let train = train.into();
        config.check()?;
        if config.patience.is_some() && test.is_none() {
            return Err(Error::parameter(
                "patience",
                config.patience.unwrap_or_default(),
                "early stopping needs test data",
            ));
        }
        let architecture = model.architecture();
        for data in [Some(&train), test.as_ref()].into_iter().flatten() {
            data.check(architecture.inputs(), architecture.outputs(), config.loss)?;
        }
        let shards = config.batch_size.div_ceil(SHARD_ROWS) * config.samples;
        if shards.saturating_mul(model.parameters().len()) > MAX_GRADIENTS {
            return Err(Error::parameter(
                "batch_size",
                config.batch_size,
                "with this network and so many samples the gradients of its shards need more than 2 GiB: take a smaller batch",
            ));
        }
        let adam = Adam::new(config.adam, model.parameters().len())?;
        let mut trainer = Trainer {
            adam,
            average: config.average.map(|_| model.parameters().to_vec()),
            best: None,
            improved: Improvement::default(),
            history: Vec::new(),
            sums: EpochSums::default(),
            snapshot: None,
            streams: Streams::new(config.seed),
            shards: Shard::all(architecture, &config, &train),
            indices: vec![0; config.batch_size],
            pool: None,
            train,
            test,
            model,
            config,
        };
        trainer.set_threads(trainer.config.threads)?;
        Ok(trainer)
    }

    /// Changes the number of threads; the results stay the same to the bit.
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.config.threads = threads;
        self.config.check()?;
        self.pool = if threads > 1 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(pool.map_err(|e| Error::parameter("threads", threads, e.to_string()))?)
        } else {
            None
        };
        Ok(())
    }

    /// Changes the number of epochs, to go on after the end of a run.
    pub fn set_epochs(&mut self, epochs: u64) -> Result<()> {
        self.config.epochs = epochs;
        self.config.check()
    }

    /// The configuration.
    pub fn config(&self) -> &TrainerConfig {
        &self.config
    }

    /// The network with its present parameters.
    pub fn model(&self) -> &Mlp {
        &self.model
    }

    /// The network with the exponential average of its parameters, if averaging is on.
    pub fn averaged_model(&self) -> Option<Mlp> {
        let average = self.average.as_ref()?;
        Mlp::from_parameters(self.model.architecture().clone(), average.clone()).ok()
    }

    /// The best parameters so far, if there are test data.
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The network with the best parameters so far; without test data, with the averaged or the present ones.
    pub fn best_model(&self) -> Mlp {
        let best = self.best.as_ref().map(|best| best.parameters.clone());
        best.and_then(|p| Mlp::from_parameters(self.model.architecture().clone(), p).ok())
            .or_else(|| self.averaged_model())
            .unwrap_or_else(|| self.model.clone())
    }

    /// A record for each epoch so far.
    pub fn history(&self) -> &[EpochRecord] {
        &self.history
    }

    /// Steps done so far.
    pub fn steps(&self) -> u64 {
        self.adam.steps
    }

    /// Steps of a whole epoch.
    pub fn steps_per_epoch(&self) -> u64 {
        self.config.steps_per_epoch(self.train.rows())
    }

    /// One update: draw a batch and gates, compute the gradient, clip it, move the parameters.
    ///
    /// If the loss or the gradient is not finite, the error says at which step, and the trainer is back in the last state whose loss was finite.
    pub fn step(&mut self) -> Result<StepRecord> {
        let step = self.steps();
        self.streams
            .draw_batch(step, self.train.rows(), &mut self.indices);
        let error = self.run_shards(step)?;

        let warmth = self.config.lambda_warmup.factor(step);
        let penalty = self.config.penalty.warmed(warmth);
        let architecture = self.model.architecture();
        let gradient = &mut self.shards[0].gradient;
        let penalty = architecture.penalise(self.model.parameters(), &penalty, gradient)?;
        let gradient_norm = simd::squared_norm(gradient).sqrt();
        let scale = self
            .config
            .clip_norm
            .map_or(1.0, |clip| (clip / gradient_norm).min(1.0));
        for (quantity, value, bad) in [
            ("loss", error, !error.is_finite()),
            ("penalty", penalty, !penalty.is_finite()),
            (
                "norm of the gradient",
                gradient_norm,
                !gradient_norm.is_finite(),
            ),
            // Finite, but its square is not: Adam would stand still for ever.
            (
                "norm of the gradient",
                gradient_norm,
                scale * gradient_norm > LARGEST_NORM,
            ),
        ] {
            if bad {
                return Err(self.roll_back(step + 1, quantity, value));
            }
        }
        // This state is good; now and then it is kept.
        if self.sums.steps.is_multiple_of(SNAPSHOT_EVERY) {
            self.take_snapshot();
        }

        let factor = self.config.schedule.factor(step);
        let learning_rate = self.config.learning_rate * factor;
        let gate_rate = self
            .config
            .gate_learning_rate
            .map_or(learning_rate, |r| r * factor);
        let architecture = self.model.architecture();
        let groups = [
            Group {
                range: architecture.weights_and_biases(),
                learning_rate,
            },
            Group {
                range: architecture.all_log_alphas(),
                learning_rate: gate_rate,
            },
        ];
        let gradient = &self.shards[0].gradient;
        self.adam
            .step(self.model.parameters_mut(), gradient, scale as f32, &groups)?;
        if let (Some(average), Some(decay)) = (&mut self.average, self.config.average) {
            let (decay, parameters) = (decay as f32, self.model.parameters());
            simd::vectorised(
                #[inline(always)]
                || {
                    for (average, &p) in average.iter_mut().zip(parameters) {
                        *average = decay.mul_add(*average - p, p);
                    }
                },
            );
        }
        self.sums.steps += 1;
        self.sums.error += error;
        self.sums.penalty += penalty;
        self.sums.gradient_norm += gradient_norm;
        Ok(StepRecord {
            step: step + 1,
            error,
            penalty,
            gradient_norm,
            learning_rate,
        })
    }

    fn take_snapshot(&mut self) {
        let (parameters, average) = (self.model.parameters(), self.average.as_deref());
        let epochs = self.history.len();
        match &mut self.snapshot {
            None => {
                self.snapshot = Some(Snapshot {
                    parameters: parameters.to_vec(),
                    adam: self.adam.clone(),
                    average: self.average.clone(),
                    sums: self.sums,
                    epochs,
                });
            }
            Some(snapshot) => {
                snapshot.parameters.copy_from_slice(parameters);
                snapshot.adam.first.copy_from_slice(&self.adam.first);
                snapshot.adam.second.copy_from_slice(&self.adam.second);
                snapshot.adam.steps = self.adam.steps;
                if let (Some(kept), Some(average)) = (&mut snapshot.average, average) {
                    kept.copy_from_slice(average);
                }
                snapshot.sums = self.sums;
                snapshot.epochs = epochs;
            }
        }
    }

    /// Back to the last state whose loss was finite, one step before the present one. The error tells which step went wrong.
    fn roll_back(&mut self, step: u64, quantity: &'static str, value: f64) -> Error {
        let bad = self.steps();
        let error = |kept| Error::NotFinite {
            step,
            quantity,
            value,
            kept,
        };
        let Some(snapshot) = self.snapshot.take() else {
            // The very first loss, or the first after a resume: there is no better state to go back to.
            return error(bad);
        };
        self.model
            .parameters_mut()
            .copy_from_slice(&snapshot.parameters);
        self.adam = snapshot.adam;
        self.average = snapshot.average;
        self.sums = snapshot.sums;
        self.history.truncate(snapshot.epochs);
        while self.steps() + 1 < bad {
            if self.step().is_err() {
                break;
            }
        }
        error(self.steps())
    }

    /// Runs all shards, on the pool if there is one, and sums them in order into the first.
    fn run_shards(&mut self, step: u64) -> Result<f64> {
        let Trainer {
            shards,
            model,
            train,
            indices,
            streams,
            config,
            pool,
            ..
        } = self;
        let run = |shard: &mut Shard| {
            shard.run(
                model.parameters(),
                train,
                indices,
                config.loss,
                config.samples,
                streams,
                step,
            )
        };
        match pool {
            Some(pool) if shards.len() > 1 => {
                pool.install(|| shards.par_iter_mut().try_for_each(run))?
            }
            _ => shards.iter_mut().try_for_each(run)?,
        }
        let (first, others) = shards
            .split_first_mut()
            .expect("a batch has at least one shard");
        let mut error = first.error;
        for shard in others {
            simd::add_assign(&mut first.gradient, &shard.gradient);
            error += shard.error;
        }
        Ok(error)
    }

    /// Trains until all epochs are done, the patience is at an end, or the observer breaks off. Called again, it goes on.
    pub fn fit(&mut self, observer: &mut impl Observer) -> Result<Outcome> {
        let per_epoch = self.steps_per_epoch();
        loop {
            if self.out_of_patience() {
                return Ok(Outcome::StoppedEarly);
            }
            let epoch = self.history.len() as u64;
            if epoch >= self.config.epochs {
                return Ok(Outcome::Finished);
            }
            let done = self.history.last().map_or(0, |record| record.step);
            while self.steps() < (done / per_epoch + 1) * per_epoch {
                let record = self.step()?;
                if observer.step(&record) == ControlFlow::Break(()) {
                    return Ok(Outcome::Interrupted);
                }
            }
            let record = self.end_epoch(epoch + 1)?;
            if observer.epoch(&record) == ControlFlow::Break(()) {
                return Ok(Outcome::Interrupted);
            }
        }
    }

    fn out_of_patience(&self) -> bool {
        let since = (self.history.len() as u64).saturating_sub(self.improved.epoch);
        let started = self.improved.test_error.is_some();
        started
            && self
                .config
                .patience
                .is_some_and(|patience| since >= patience)
    }

    /// Evaluates, keeps the best, and writes the epoch into the history.
    fn end_epoch(&mut self, epoch: u64) -> Result<EpochRecord> {
        let test_error = self
            .test
            .as_deref()
            .map(|data| self.evaluate(data))
            .transpose()?;
        let evaluate_train = self.config.evaluate_train.then_some(&*self.train);
        let train_error_at_test_time =
            evaluate_train.map(|data| self.evaluate(data)).transpose()?;
        for (quantity, error) in [
            ("test error", test_error),
            ("training error", train_error_at_test_time),
        ] {
            if let Some(value) = error.filter(|error| !error.is_finite()) {
                return Err(self.roll_back(self.steps(), quantity, value));
            }
        }
        let last = self.steps().saturating_sub(1);
        let lambda_factor = self.config.lambda_warmup.factor(last);
        let parameters = self.average.as_deref().unwrap_or(self.model.parameters());
        // Before the full penalty is on, a small error is no merit: every gate may still be open.
        if let Some(error) = test_error.filter(|_| lambda_factor == 1.0) {
            if self
                .best
                .as_ref()
                .is_none_or(|best| error < best.test_error)
            {
                self.best = Some(Best {
                    epoch,
                    test_error: error,
                    parameters: parameters.to_vec(),
                });
            }
            let threshold = self.improved.test_error.unwrap_or(f64::INFINITY);
            if error < threshold * (1.0 - self.config.min_improvement) {
                self.improved = Improvement {
                    epoch,
                    test_error: Some(error),
                };
            }
        }
        let Sparsity {
            expected_l0,
            active_weights,
        } = self.model.architecture().sparsity(parameters)?;
        let sums = std::mem::take(&mut self.sums);
        let n = sums.steps.max(1) as f64;
        let record = EpochRecord {
            epoch,
            step: self.steps(),
            train_error: sums.error / n,
            train_error_at_test_time,
            test_error,
            penalty: sums.penalty / n,
            gradient_norm: sums.gradient_norm / n,
            learning_rate: self.config.learning_rate * self.config.schedule.factor(last),
            lambda_factor,
            expected_l0,
            active_weights,
        };
        self.history.push(record);
        Ok(record)
    }

    /// The error on other data with the gates of test time, of the averaged parameters if averaging is on.
    pub fn evaluate(&self, data: &Dataset) -> Result<f64> {
        let architecture = self.model.architecture();
        data.check(
            architecture.inputs(),
            architecture.outputs(),
            self.config.loss,
        )?;
        let parameters = self.average.as_deref().unwrap_or(self.model.parameters());
        let parallel = self.pool.is_some();
        let run = || evaluate_checked(architecture, parameters, data, self.config.loss, parallel);
        match &self.pool {
            Some(pool) => pool.install(run),
            None => run(),
        }
    }
}
