//! A model as a program for block after block of rows.

use super::{Evaluator, Model};
use crate::error::{Result, require_len};

/// A model as a program. Made once by [`Model::compiled`]; predicting allocates nothing.
///
/// ```
/// use ell0::equation::{Dynamics, Expression, Model};
/// let law = Expression::parse("-2*x + y", &["x", "y"])?;
/// let model = Model::new(vec!["x".into(), "y".into()], vec![("z".into(), law)], Dynamics::Regression)?;
/// let mut program = model.compiled();
/// let mut z = [0.0; 2];
/// for block in [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]] {
///     program.predict_into(&block, 2, &mut z)?;
/// }
/// assert_eq!(z, [-3.0, -4.0]);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CompiledModel {
    inputs: usize,
    laws: Vec<Evaluator>,
}

impl CompiledModel {
    pub(super) fn new(model: &Model) -> Self {
        CompiledModel {
            inputs: model.inputs().len(),
            laws: model.expressions().map(|e| e.evaluator()).collect(),
        }
    }

    /// Number of targets.
    #[must_use]
    pub fn targets(&self) -> usize {
        self.laws.len()
    }

    /// The targets for some rows; columns of inputs and of targets stand one after the other.
    pub fn predict_into(&mut self, columns: &[f64], rows: usize, out: &mut [f64]) -> Result<()> {
        require_len(
            "values of the inputs",
            columns.len(),
            rows.saturating_mul(self.inputs),
        )?;
        let size = rows.saturating_mul(self.laws.len());
        require_len("room for the targets", out.len(), size)?;
        if rows > 0 {
            for (law, out) in self.laws.iter_mut().zip(out.chunks_exact_mut(rows)) {
                law.evaluate_into(columns, rows, out)?;
            }
        }
        Ok(())
    }
}
