//! Worlds in which all actions can have the same law.

use serde::{Deserialize, Serialize};

use super::Space;
use crate::error::{Error, Result, require_finite, require_size};

/// The inputs of a law that is the same for every action: what is seen, counted from the place of the action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tied {
    /// Names of the inputs.
    pub names: Vec<String>,
    /// For each action, each input: an observation and what it is multiplied by.
    pub inputs: Vec<Vec<(usize, f64)>>,
}

impl Tied {
    /// Whether it fits what is seen and what is chosen: actions with the same range, inputs of the same kind.
    pub(crate) fn check(&self, observation: &Space, action: &Space) -> Result<()> {
        require_size(
            "the actions that share a law",
            self.inputs.len(),
            action.len(),
        )?;
        for (k, inputs) in self.inputs.iter().enumerate() {
            require_size("the inputs of a shared law", inputs.len(), self.names.len())?;
            if (action.low(k), action.high(k)) != (action.low(0), action.high(0)) {
                return Err(Error::Space {
                    component: action.names()[k].clone(),
                    low: action.low(k),
                    high: action.high(k),
                    expected: "actions that share a law have the same range",
                });
            }
            for (place, weight) in inputs {
                require_finite("a weight of a shared law", &[*weight])?;
                if *place >= observation.len() {
                    return Err(Error::Size {
                        what: "the observations of a shared law",
                        found: observation.len(),
                        expected: place + 1,
                    });
                }
            }
        }
        if self.inputs.is_empty() || self.names.is_empty() {
            return Err(Error::NotTied);
        }
        Ok(())
    }

    /// The inputs of all actions for rows of observations, both column after column; the rows of one action stand after those of another.
    pub(crate) fn gather(&self, observation: &[f32], rows: usize, inputs: &mut [f32]) {
        let columns = inputs.chunks_exact_mut(rows * self.inputs.len());
        for (k, column) in columns.enumerate() {
            for (rows_of, action) in column.chunks_exact_mut(rows).zip(&self.inputs) {
                let (place, weight) = action[k];
                let seen = &observation[place * rows..][..rows];
                for (to, from) in rows_of.iter_mut().zip(seen) {
                    *to = weight as f32 * from;
                }
            }
        }
    }
}
