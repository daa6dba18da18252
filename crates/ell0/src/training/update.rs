//! One update of the parameters.

use rayon::prelude::*;

use super::{Group, StepRecord, Trainer, snapshot::SNAPSHOT_EVERY, step::Shard};
use crate::{error::Result, simd};

/// Largest norm of a gradient whose square Adam can hold in single precision.
const LARGEST_NORM: f64 = 1e18;

impl Trainer {
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
            shard.run(model.parameters(), train, indices, config, streams, step)
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
}
