//! The error loss: how far predictions are from targets.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, require_len};

/// The error between predictions and targets, averaged over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// Mean over rows and outputs of (prediction − target)².
    MeanSquaredError,
    /// Mean over rows of −log softmax(prediction)\[class\]. The target is one column that holds the class, 0, 1, ….
    CrossEntropy,
    /// The same with a weight for each row, in a second target column: mean over rows of −weight·log softmax(prediction)\[class\].
    WeightedCrossEntropy,
}

impl Loss {
    /// Whether targets are classes.
    fn of_classes(self) -> bool {
        matches!(self, Loss::CrossEntropy | Loss::WeightedCrossEntropy)
    }

    /// Number of target columns for a network of `outputs`.
    pub(crate) fn target_columns(self, outputs: usize) -> usize {
        match self {
            Loss::MeanSquaredError => outputs,
            Loss::CrossEntropy => 1,
            Loss::WeightedCrossEntropy => 2,
        }
    }

    /// Checks that `targets` (column after column of `rows` values) suit a network of `outputs`.
    pub fn check_targets(self, targets: &[f32], rows: usize, outputs: usize) -> Result<()> {
        let columns = self.target_columns(outputs);
        require_len("target values", targets.len(), rows * columns)?;
        if self.of_classes() {
            for (row, &class) in targets.iter().take(rows).enumerate() {
                self.check_class(row, class, outputs)?;
            }
        }
        Ok(())
    }

    pub(crate) fn check_class(self, row: usize, class: f32, outputs: usize) -> Result<()> {
        if self.of_classes() && !(class >= 0.0 && class < outputs as f32 && class.fract() == 0.0) {
            return Err(Error::Data {
                what: "class targets",
                row,
                column: 0,
                value: f64::from(class),
                expected: format!("a class must be a whole number below {outputs}"),
            });
        }
        Ok(())
    }

    /// The loss summed over the given rows, divided by `batch` rows; its gradient by the predictions goes to `d`.
    ///
    /// All matrices stand column after column of `rows` values; targets must have passed [`Loss::check_targets`]. A batch
    /// that is worked on in parts passes the size of the whole as `batch`.
    pub(crate) fn value_and_gradient(
        self,
        predictions: &[f32],
        targets: &[f32],
        rows: usize,
        batch: f64,
        d: &mut [f32],
    ) -> f64 {
        match self {
            Loss::MeanSquaredError => {
                let outputs = predictions.len() / rows.max(1);
                let scale = 1.0 / (batch * outputs as f64);
                let slope = 2.0 * scale as f32;
                let mut total = 0.0;
                for ((d, &prediction), &target) in d.iter_mut().zip(predictions).zip(targets) {
                    let difference = prediction - target;
                    *d = slope * difference;
                    total += f64::from(difference) * f64::from(difference);
                }
                total * scale
            }
            Loss::CrossEntropy | Loss::WeightedCrossEntropy => {
                let classes = predictions.len() / rows.max(1);
                let mut total = 0.0;
                for row in 0..rows {
                    let at = |class: usize| f64::from(predictions[class * rows + row]);
                    let largest = (0..classes).map(at).fold(f64::NEG_INFINITY, f64::max);
                    let partition: f64 = (0..classes).map(|c| (at(c) - largest).exp()).sum();
                    let truth = targets[row] as usize;
                    // Only the weighted loss has a second column.
                    let weight = targets.get(rows + row).map_or(1.0, |w| f64::from(*w));
                    total += weight * (largest + partition.ln() - at(truth));
                    for class in 0..classes {
                        let probability = (at(class) - largest).exp() / partition;
                        let hit = f64::from(class == truth);
                        d[class * rows + row] = (weight * (probability - hit) / batch) as f32;
                    }
                }
                total / batch
            }
        }
    }
}
