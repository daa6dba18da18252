//! From rows in memory to what a network learns from.

use std::sync::Arc;

use ell0::{rng::Stream, training::Dataset};

use super::{
    NetworkScaling, NetworkSettings, NetworkTask, Scale,
    copies::{Copies, Split},
};
use crate::error::{Error, Result};

/// Rows of inputs and targets, row by row; of classes there is one target, 0, 1, ….
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub x: &'a [f64],
    pub inputs: usize,
    pub y: &'a [f64],
    pub targets: usize,
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.x.len().checked_div(self.inputs).unwrap_or(0)
    }

    /// The inputs of each.
    pub fn all_inputs(&self) -> Vec<&'a [f64]> {
        self.x.chunks_exact(self.inputs.max(1)).collect()
    }

    fn input(&self, row: usize) -> &'a [f64] {
        &self.x[row * self.inputs..][..self.inputs]
    }

    fn target(&self, row: usize) -> &'a [f64] {
        &self.y[row * self.targets..][..self.targets]
    }

    /// The same with only some of the rows.
    pub fn copied(&self, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
        (
            rows.iter().flat_map(|k| self.input(*k)).copied().collect(),
            rows.iter().flat_map(|k| self.target(*k)).copied().collect(),
        )
    }

    /// Errors name the rows as they were given.
    fn check(&self) -> Result<()> {
        let sides = [
            ("inputs", self.x, self.inputs),
            ("targets", self.y, self.targets),
        ];
        for (what, values, columns) in sides {
            if let Some(place) = values.iter().position(|v| !(*v as f32).is_finite()) {
                return Err(ell0::Error::Data {
                    what,
                    row: place / columns,
                    column: place % columns,
                    value: values[place],
                    expected:
                        "every value must be finite, also in single precision: repair the row or leave it out"
                            .into(),
                }
                .into());
            }
        }
        let expected = self.len() * self.targets;
        if self.x.len() != self.len() * self.inputs || self.y.len() != expected {
            return Err(ell0::Error::Shape {
                what: "target values".into(),
                got: self.y.len(),
                expected,
            }
            .into());
        }
        Ok(())
    }
}

/// What a network learns from: scaled, the held-out rows apart.
pub(super) struct Prepared {
    pub train: Arc<Dataset>,
    pub held: Option<Arc<Dataset>>,
    /// The rows that are held out, as they were given.
    pub held_rows: Vec<usize>,
    pub scale_in: Scale,
    pub scale_out: Scale,
    /// Whether rows have weights.
    pub weighted: bool,
}

impl NetworkSettings {
    /// Which rows are held out to choose an epoch or a price by.
    pub(super) fn hold_out(&self, copies: &Copies) -> Split {
        let rows = copies.rows();
        let held = (self.validation * rows as f64).round() as usize;
        let stream = Stream::new(self.seed).split("held out");
        copies.split(held.min(rows.saturating_sub(1)), &stream)
    }
}

/// A share of the rows that is none of them.
pub(super) fn none_held_out(settings: &NetworkSettings, rows: usize) -> Error {
    let expected =
        format!("of {rows} rows that is none, or all have the same inputs: hold out more of them");
    Error::setting("validation", settings.validation, expected)
}

impl Prepared {
    /// Of rows of which some may be copies of others.
    pub fn new(
        settings: &NetworkSettings,
        rows: Rows,
        copies: &Copies,
        classes: &[String],
    ) -> Result<Self> {
        rows.check()?;
        let Split { kept, aside: held } = settings.hold_out(copies);
        if held.is_empty() && settings.patience.is_some() {
            return Err(none_held_out(settings, rows.len()));
        }
        let inputs = kept.iter().map(|k| rows.input(*k));
        let scale_in = match settings.scaling {
            NetworkScaling::Each => Scale::of(inputs, rows.inputs),
            NetworkScaling::Together => Scale::together(inputs, rows.inputs),
            NetworkScaling::None => Scale::none(rows.inputs),
        };
        let classification = settings.task == NetworkTask::Classification;
        let scale_out = match (classification, settings.scaling) {
            (true, _) => Scale::none(classes.len()),
            (false, NetworkScaling::None) => Scale::none(rows.targets),
            // Targets are quantities of their own, whatever inputs are.
            (false, _) => Scale::of(kept.iter().map(|k| rows.target(*k)), rows.targets),
        };
        let weights = match classification {
            true => {
                let mut counts = vec![0; classes.len()];
                for row in &kept {
                    if let Some(count) = counts.get_mut(rows.y[*row] as usize) {
                        *count += 1;
                    }
                }
                settings.class_weights.of(classes, &counts)?
            }
            false => None,
        };
        let columns = rows.targets + usize::from(weights.is_some());
        let data = |places: &[usize]| {
            let mut values = Vec::with_capacity(places.len() * (rows.inputs + columns));
            for &row in places {
                values.extend(scale_in.there(rows.input(row)));
                match classification {
                    true => values.extend(rows.target(row).iter().map(|c| *c as f32)),
                    false => values.extend(scale_out.there(rows.target(row))),
                }
                if let Some(weights) = &weights {
                    let class = rows.y[row] as usize;
                    values.push(weights.get(class).map_or(1.0, |w| *w as f32));
                }
            }
            Dataset::of_rows(values, rows.inputs, columns)
        };
        let test = match held.is_empty() {
            true => None,
            false => Some(Arc::new(data(&held)?)),
        };
        Ok(Prepared {
            train: Arc::new(data(&kept)?),
            held: test,
            held_rows: held,
            scale_in,
            scale_out,
            weighted: weights.is_some(),
        })
    }
}
