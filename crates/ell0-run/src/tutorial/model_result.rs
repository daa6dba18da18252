//! What a comparison says of one model.

use serde::{Deserialize, Serialize};

use super::models::Task;

/// A row of the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelResult {
    /// What was learned.
    pub task: Task,
    /// The name of the model.
    pub model: String,
    /// Errors of the last epoch: on the training data the mean over its batches, with gates as drawn.
    pub train_mse: f64,
    /// The same on the test data.
    pub test_mse: f64,
    /// The least of all epochs, each by itself, as the paper's figure shows them.
    pub best_train_mse: f64,
    /// The same on the test data.
    pub best_test_mse: f64,
    /// Parameters in all.
    pub parameters: usize,
    /// Parameters that are left when closed gates are removed.
    pub active: usize,
    /// Operations for one row after closed gates are removed: 2 for a weight, 1 for a bias, and those that the terms of a dictionary take.
    pub flops: f64,
    /// How long it took, by the observer's clock.
    pub seconds: f64,
    /// The equations, of a dictionary.
    pub equations: Option<String>,
    /// Of an exact dictionary: the test error of least squares with all of its terms.
    pub all_terms_test_mse: Option<f64>,
}
