//! The way back to the last good state.

use super::{Adam, Trainer, trainer::EpochSums};
use crate::error::Error;

/// A state whose loss is known to be finite. From it, the few steps to the last good state can be run again to the same bits, which costs far
/// less than a copy before every step.
#[derive(Debug)]
pub(super) struct Snapshot {
    parameters: Vec<f32>,
    adam: Adam,
    average: Option<Vec<f32>>,
    sums: EpochSums,
    epochs: usize,
}

/// Steps between two snapshots of an epoch.
pub(super) const SNAPSHOT_EVERY: u64 = 16;

impl Trainer {
    pub(super) fn take_snapshot(&mut self) {
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
    pub(super) fn roll_back(&mut self, step: u64, quantity: &'static str, value: f64) -> Error {
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
}
