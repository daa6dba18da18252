//! Rows of inputs and targets.

use crate::{
    error::{Error, Result, require, require_len},
    features::{Features, Lift, LiftSpace},
    network::Loss,
    rng::fnv1a,
};

/// Columns of a batch that are filled together: so few that they stay in the nearest cache until all rows are there.
const BLOCK: usize = 32;

/// Rows of inputs and targets in single precision, all of them finite.
///
/// The network may see features of the inputs instead of the inputs themselves ([`Dataset::lifted`]): they are computed for each batch, so that the table stays small.
#[derive(Clone, Debug)]
pub struct Dataset {
    inputs: usize,
    targets: usize,
    rows: usize,
    lift: Option<Lift>,
    /// Row by row, inputs before targets: a random row is one or two cache lines.
    values: Vec<f32>,
}

impl Dataset {
    /// Rows given as two matrices, row by row.
    pub fn new(x: &[f32], inputs: usize, y: &[f32], targets: usize) -> Result<Self> {
        let rows = x.len().checked_div(inputs).unwrap_or(0);
        require_len("input values", x.len(), rows * inputs)?;
        require_len("target values", y.len(), rows * targets)?;
        check_finite("inputs", x, inputs)?;
        check_finite("targets", y, targets)?;
        let mut values = Vec::with_capacity(x.len() + y.len());
        for (x, y) in x.chunks_exact(inputs).zip(y.chunks_exact(targets)) {
            values.extend_from_slice(x);
            values.extend_from_slice(y);
        }
        Dataset::of_rows(values, inputs, targets)
    }

    /// Rows one after the other, the inputs of each before its targets; nothing is copied.
    pub fn of_rows(values: Vec<f32>, inputs: usize, targets: usize) -> Result<Self> {
        require(inputs > 0, "inputs", inputs, "at least one input column")?;
        require(
            targets > 0,
            "targets",
            targets,
            "at least one target column",
        )?;
        let rows = values.len() / (inputs + targets);
        require_len("values of rows", values.len(), rows * (inputs + targets))?;
        if rows == 0 {
            return Err(Error::Empty { what: "dataset" });
        }
        check_finite("inputs and targets", &values, inputs + targets)?;
        Ok(Dataset {
            inputs,
            targets,
            rows,
            lift: None,
            values,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The same rows, of which a network sees the given features, each divided by its scale.
    pub fn lifted(self, features: Features, scales: &[f64]) -> Result<Self> {
        self.with_lift(Lift::to_scaled_features(features, scales)?)
    }

    /// The same rows, of which a network sees what the lift makes of the inputs.
    pub fn with_lift(mut self, lift: Lift) -> Result<Self> {
        let features = lift.features();
        require_len(
            "inputs of the features",
            features.inputs().len(),
            self.inputs,
        )?;
        // Every row once, so that a feature that is not finite is found now and not in the midst of training.
        let mut space = lift.workspace(256);
        for start in (0..self.rows).step_by(256) {
            let n = 256.min(self.rows - start);
            self.fill(start..start + n, &mut space)?;
            let values = lift.evaluate(n, &mut space)?;
            let place = (0..values.len()).find(|&at| !lift.seen(at / n, values[at]).is_finite());
            if let Some(at) = place {
                return Err(Error::Value {
                    column: features.names()[at / n].clone(),
                    row: (start + at % n) as u64,
                    value: values[at],
                    expected:
                        "every feature must be finite, also divided by its scale in single precision: leave the row out or choose another function"
                            .into(),
                });
            }
        }
        self.lift = Some(lift);
        Ok(self)
    }

    /// Number of columns that a network sees: features if there are such, else inputs.
    pub fn inputs(&self) -> usize {
        self.lift
            .as_ref()
            .map_or(self.inputs, |lift| lift.features().len())
    }

    /// Room for gathering batches of at most `rows` rows.
    pub(super) fn gather_space(&self, rows: usize) -> Option<LiftSpace> {
        self.lift.as_ref().map(|lift| lift.workspace(rows))
    }

    /// The inputs of some rows, in the room for them.
    fn fill(
        &self,
        rows: impl ExactSizeIterator<Item = usize>,
        space: &mut LiftSpace,
    ) -> Result<()> {
        let (n, width) = (rows.len(), self.inputs + self.targets);
        let room = space.inputs(n, self.inputs)?;
        for (row, index) in rows.enumerate() {
            let values = &self.values[index * width..][..self.inputs];
            for (column, &value) in values.iter().enumerate() {
                room[column * n + row] = f64::from(value);
            }
        }
        Ok(())
    }

    /// Number of target columns.
    pub fn targets(&self) -> usize {
        self.targets
    }

    /// Checks that the data suit a network and a loss.
    pub(super) fn check(&self, inputs: usize, outputs: usize, loss: Loss) -> Result<()> {
        require_len("input columns of the data", self.inputs(), inputs)?;
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

    /// Copies the given rows, or their features, to matrices that stand column after column.
    pub(super) fn gather(
        &self,
        rows: impl ExactSizeIterator<Item = usize> + Clone,
        x: &mut [f32],
        y: &mut [f32],
        space: Option<&mut LiftSpace>,
    ) -> Result<()> {
        let (n, width) = (rows.len(), self.inputs + self.targets);
        for (row, index) in rows.clone().enumerate() {
            let targets = &self.values[index * width..][self.inputs..width];
            for (column, &value) in targets.iter().enumerate() {
                y[column * n + row] = value;
            }
        }
        if self.lift.is_none() {
            for from in (0..self.inputs).step_by(BLOCK) {
                let columns = from..self.inputs.min(from + BLOCK);
                for (row, index) in rows.clone().enumerate() {
                    let values = &self.values[index * width..][columns.clone()];
                    for (column, &value) in columns.clone().zip(values) {
                        x[column * n + row] = value;
                    }
                }
            }
        }
        if let (Some(lift), Some(space)) = (&self.lift, space) {
            self.fill(rows, space)?;
            lift.evaluate(n, space)?;
            lift.round(n, x, space);
        }
        Ok(())
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
