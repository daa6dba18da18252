//! What a run tells while it goes on, and what it leaves behind.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

/// One step of training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRecord {
    /// Number of the step, counted from 1.
    pub step: u64,
    /// Error loss of the batch, mean over the samples of the gates.
    pub error: f64,
    /// Complexity loss.
    pub penalty: f64,
    /// Norm of the whole gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate of the weights.
    pub learning_rate: f64,
}

/// One epoch of training and the evaluation after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Number of the epoch, counted from 1.
    pub epoch: u64,
    /// Steps so far.
    pub step: u64,
    /// Error loss, mean over the batches of the epoch with the gates as drawn.
    pub train_error: f64,
    /// Error loss on all training data with the gates of test time, if asked for.
    pub train_error_at_test_time: Option<f64>,
    /// Error loss on the test data with the gates of test time.
    pub test_error: Option<f64>,
    /// Complexity loss, mean over the epoch.
    pub penalty: f64,
    /// Norm of the gradient, mean over the epoch.
    pub gradient_norm: f64,
    /// Learning rate of the weights at the last step.
    pub learning_rate: f64,
    /// Factor of λ at the last step.
    pub lambda_factor: f64,
    /// Expected number of weights behind active gates.
    pub expected_l0: f64,
    /// Weights whose test-time gate is open.
    pub active_weights: usize,
    /// Inputs of each layer that a test-time gate lets through.
    pub open_inputs: Vec<usize>,
}

/// Sees progress as it happens. `Break` stops the run after the step, in a state that can be saved and resumed.
pub trait Observer {
    /// After each step.
    fn step(&mut self, record: &StepRecord) -> ControlFlow<()> {
        let _ = record;
        ControlFlow::Continue(())
    }

    /// After each epoch and its evaluation.
    fn epoch(&mut self, record: &EpochRecord) -> ControlFlow<()> {
        let _ = record;
        ControlFlow::Continue(())
    }
}

/// An observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All epochs are done.
    Finished,
    /// The test error has not improved for as many epochs as the patience allows.
    StoppedEarly,
    /// The observer asked to stop.
    Interrupted,
}
