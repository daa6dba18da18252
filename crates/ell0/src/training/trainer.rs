//! The training loop.

use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::{
    Adam, Dataset, EpochRecord, FitConfig, Observer, Outcome, StepRecord,
    evaluate::evaluate_checked,
    step::{Part, Streams},
};
use crate::{
    error::{Error, Result},
    network::Mlp,
    simd,
};

/// Trains a network on a dataset.
#[derive(Debug)]
pub struct Trainer<'a> {
    pub(super) config: FitConfig,
    pub(super) train: &'a Dataset,
    pub(super) test: Option<&'a Dataset>,
    pub(super) model: Mlp,
    pub(super) adam: Adam,
    pub(super) average: Option<Vec<f32>>,
    pub(super) best: Option<Best>,
    pub(super) history: Vec<EpochRecord>,
    pub(super) sums: EpochSums,
    streams: Streams,
    parts: Vec<Part>,
    indices: Vec<usize>,
    pool: Option<rayon::ThreadPool>,
}

/// The parameters with the smallest test error so far.
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
    error: f64,
    penalty: f64,
    gradient_norm: f64,
}

impl<'a> Trainer<'a> {
    /// Checks the configuration and that the data suit the network.
    pub fn new(
        model: Mlp,
        config: FitConfig,
        train: &'a Dataset,
        test: Option<&'a Dataset>,
    ) -> Result<Self> {
        config.check()?;
        if config.patience.is_some() && test.is_none() {
            return Err(Error::parameter(
                "patience",
                config.patience.unwrap_or_default(),
                "early stopping needs test data",
            ));
        }
        let architecture = model.architecture();
        for data in [Some(train), test].into_iter().flatten() {
            data.check(architecture.inputs(), architecture.outputs(), config.loss)?;
        }
        let adam = Adam::new(config.adam, model.parameters().len())?;
        let mut trainer = Trainer {
            train,
            test,
            adam,
            average: config.average.map(|_| model.parameters().to_vec()),
            best: None,
            history: Vec::new(),
            sums: EpochSums::default(),
            streams: Streams::new(config.seed),
            parts: Part::all(architecture, &config, train),
            indices: vec![0; config.batch_size],
            pool: None,
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
    pub fn config(&self) -> &FitConfig {
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
    /// If the loss or the gradient is not finite, nothing has changed and the error says at which step.
    pub fn step(&mut self) -> Result<StepRecord> {
        let step = self.steps();
        self.streams
            .draw_batch(step, self.train.rows(), &mut self.indices);
        let error = self.run_parts(step)?;

        let warmth = self.config.lambda_warmup.factor(step);
        let penalty = self.config.penalty.warmed(warmth);
        let gradient = &mut self.parts[0].gradient;
        let architecture = self.model.architecture();
        let penalty = architecture.penalise(self.model.parameters(), &penalty, gradient);
        let gradient_norm = simd::squared_norm(gradient).sqrt();
        for (quantity, value) in [
            ("loss", error),
            ("penalty", penalty),
            ("norm of the gradient", gradient_norm),
        ] {
            if !value.is_finite() {
                return Err(Error::NotFinite {
                    step: step + 1,
                    quantity,
                    value,
                });
            }
        }

        let factor = self.config.schedule.factor(step);
        let learning_rate = self.config.learning_rate * factor;
        let gate_rate = self
            .config
            .gate_learning_rate
            .map_or(learning_rate, |r| r * factor);
        let scale = self
            .config
            .clip_norm
            .map_or(1.0, |clip| (clip / gradient_norm).min(1.0));
        let groups: [(Range<usize>, f64); 2] = [
            (architecture.weights_and_biases(), learning_rate),
            (architecture.all_log_alphas(), gate_rate),
        ];
        self.adam
            .step(self.model.parameters_mut(), gradient, scale as f32, &groups);
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

    /// Runs all parts, on the pool if there is one, and sums them in order into the first.
    fn run_parts(&mut self, step: u64) -> Result<f64> {
        let Trainer {
            parts,
            model,
            train,
            indices,
            streams,
            config,
            pool,
            ..
        } = self;
        let run = |part: &mut Part| {
            part.run(
                model.architecture(),
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
            Some(pool) if parts.len() > 1 => {
                pool.install(|| parts.par_iter_mut().try_for_each(run))?
            }
            _ => parts.iter_mut().try_for_each(run)?,
        }
        let (first, others) = parts
            .split_first_mut()
            .expect("a batch has at least one part");
        let mut error = first.error;
        for part in others {
            simd::add_assign(&mut first.gradient, &part.gradient);
            error += part.error;
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
            while self.steps() < (epoch + 1) * per_epoch {
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
        match (self.config.patience, &self.best) {
            (Some(patience), Some(best)) => {
                (self.history.len() as u64).saturating_sub(best.epoch) >= patience
            }
            _ => false,
        }
    }

    /// Evaluates, keeps the best, and writes the epoch into the history.
    fn end_epoch(&mut self, epoch: u64) -> Result<EpochRecord> {
        let test_error = self.test.map(|data| self.evaluate(data)).transpose()?;
        if let Some(value) = test_error.filter(|error| !error.is_finite()) {
            return Err(Error::NotFinite {
                step: self.steps(),
                quantity: "test error",
                value,
            });
        }
        let parameters = self.average.as_deref().unwrap_or(self.model.parameters());
        if let Some(error) = test_error {
            let threshold = self.best.as_ref().map_or(f64::INFINITY, |best| {
                best.test_error * (1.0 - self.config.min_improvement)
            });
            if error < threshold {
                let parameters = parameters.to_vec();
                self.best = Some(Best {
                    epoch,
                    test_error: error,
                    parameters,
                });
            }
        }
        let parameters = self.average.as_deref().unwrap_or(self.model.parameters());
        let (expected_l0, active_weights) = self.model.architecture().sparsity(parameters);
        let last = self.steps() - 1;
        let n = self.steps_per_epoch() as f64;
        let sums = std::mem::take(&mut self.sums);
        let record = EpochRecord {
            epoch,
            step: self.steps(),
            train_error: sums.error / n,
            test_error,
            penalty: sums.penalty / n,
            gradient_norm: sums.gradient_norm / n,
            learning_rate: self.config.learning_rate * self.config.schedule.factor(last),
            lambda_factor: self.config.lambda_warmup.factor(last),
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
