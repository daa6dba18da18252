//! The training loop.

use std::{ops::ControlFlow, sync::Arc};

use super::{
    Adam, Dataset, EpochRecord, Keep, Observer, Outcome, TrainerConfig,
    evaluate::evaluate_checked,
    snapshot::Snapshot,
    step::{SHARD_ROWS, Shard, Streams},
};
use crate::{
    error::{Error, Result},
    network::{Mlp, Sparsity},
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
    pub(super) snapshot: Option<Snapshot>,
    pub(super) streams: Streams,
    pub(super) shards: Vec<Shard>,
    pub(super) indices: Vec<usize>,
    pub(super) pool: Option<rayon::ThreadPool>,
}

/// Most numbers that the gradients of all shards of a step may hold together: 2 GiB.
const MAX_GRADIENTS: usize = 1 << 29;

/// The epoch that patience counts from, and what was best until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct Improvement {
    epoch: u64,
    merit: Option<f64>,
}

/// The best parameters so far, as [`Keep`] has it, not counting epochs during which λ was still warming up.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The epoch after which it was measured.
    pub epoch: u64,
    /// The test error.
    pub test_error: f64,
    /// What was compared: the test error, or with the price of what is open.
    pub(super) merit: f64,
    /// The parameters: the averaged ones, if averaging is on.
    pub parameters: Vec<f32>,
}

/// Sums over the steps of the epoch that is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub(super) struct EpochSums {
    pub steps: u64,
    pub error: f64,
    pub penalty: f64,
    pub gradient_norm: f64,
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
        if config.input_noise > 0.0 && train.gather_space(1).is_some() {
            return Err(Error::parameter(
                "input_noise",
                config.input_noise,
                "the inputs are features that are computed on the way, which do not vary by themselves: it must be 0",
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
        let started = self.improved.merit.is_some();
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
        let merit = match (test_error, self.config.keep) {
            (Some(error), Keep::Cheapest) => Some(error + self.price(parameters)?),
            (error, Keep::MostAccurate) => error,
            (None, _) => None,
        };
        // Before the full penalty is on, a small error is no merit: every gate may still be open.
        if let Some(merit) = merit.filter(|_| lambda_factor == 1.0) {
            if self.best.as_ref().is_none_or(|best| merit < best.merit) {
                self.best = Some(Best {
                    epoch,
                    test_error: test_error.unwrap_or(merit),
                    merit,
                    parameters: parameters.to_vec(),
                });
            }
            let threshold = self.improved.merit.unwrap_or(f64::INFINITY);
            if merit < threshold * (1.0 - self.config.min_improvement) {
                self.improved = Improvement {
                    epoch,
                    merit: Some(merit),
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
            open_inputs: self.model.architecture().open_inputs(parameters)?,
        };
        self.history.push(record.clone());
        Ok(record)
    }

    /// What parameters cost under the full penalty.
    fn price(&self, parameters: &[f32]) -> Result<f64> {
        let mut unused = vec![0.0; parameters.len()];
        let architecture = self.model.architecture();
        architecture.penalise(parameters, &self.config.penalty, &mut unused)
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
