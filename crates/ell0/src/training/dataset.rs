//! Rows of inputs and targets.

use crate::{
    error::{Error, Result, require, require_len},
    network::Loss,
    rng::fnv1a,
};

/// Rows of inputs and targets in single precision, all of them finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    inputs: usize,
    targets: usize,
    rows: usize,
    /// Row by row, inputs before targets: a random row is one or two cache lines.
    values: Vec<f32>,
}

impl Dataset {
    /// Rows given as two matrices, row by row.
    pub fn new(x: &[f32], inputs: usize, y: &[f32], targets: usize) -> Result<Self> {
        require(inputs > 0, "inputs", inputs, "at least one input column")?;
        require(
            targets > 0,
            "targets",
            targets,
            "at least one target column",
        )?;
        let rows = x.len() / inputs;
        require_len("input values", x.len(), rows * inputs)?;
        require_len("target values", y.len(), rows * targets)?;
        if rows == 0 {
            return Err(Error::Empty { what: "dataset" });
        }
        check_finite("inputs", x, inputs)?;
        check_finite("targets", y, targets)?;
        let mut values = Vec::with_capacity(x.len() + y.len());
        for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact(targets)) {
            values.extend_from_slice(x);
            values.extend_from_slice(y);
        }
        Ok(Dataset {
            inputs,
            targets,
            rows,
            values,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of input columns.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of target columns.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// Checks that the data suit a network and a loss.
    pub(super) fn check(&self, inputs: usize, outputs: usize, loss: Loss) -> Result<()> {
        require_len("input columns of the data", self.inputs, inputs)?;
        let columns = loss.target_columns(outputs);
        require_len("target columns of the data", self.targets, columns)?;
        for (row, values) in self
            .values
            .chunks_exact(self.inputs + self.targets)
            .enumerate()
        {
            loss.check_class(row, values[self.inputs], outputs)?;
        }
        Ok(())
    }

    /// Copies the given rows to matrices that stand column after column.
    pub(super) fn gather(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        x: &mut [f32],
        y: &mut [f32],
    ) {
        let (n, width) = (rows.len(), self.inputs + self.targets);
        for (row, index) in rows.enumerate() {
            let values = &self.values[index * width..][..width];
            let (inputs, targets) = values.split_at(self.inputs);
            for (column, &value) in inputs.iter().enumerate() {
                x[column * n + row] = value;
            }
            for (column, &value) in targets.iter().enumerate() {
                y[column * n + row] = value;
            }
        }
    }

    /// A number that tells these data from others: a resumed run must go on with the same.
    pub(super) fn fingerprint(&self) -> u64 {
        let shape = [self.inputs as u64, self.targets as u64].map(u64::to_le_bytes);
        self.values
            .iter()
            .fold(fnv1a(shape.as_flattened()), |hash, value| {
                // Words instead of bytes: a quarter of the multiplications. The rotation lets high bits reach low ones.
                (hash ^ u64::from(value.to_bits()))
                    .wrapping_mul(0x0000_0100_0000_01b3)
                    .rotate_left(23)
            })
    }
}

fn check_finite(what: &'static str, values: &[f32], columns: usize) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(place) => Err(Error::Data {
            what,
            row: place / columns,
            column: place % columns,
            value: f64::from(values[place]),
            expected: "every value must be finite: repair the row or leave it out".into(),
        }),
    }
}
