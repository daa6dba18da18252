//! What analysis needs of a world beyond acting in it: its step in closed form, and its parameters.

use serde::{Deserialize, Serialize};

use super::Environment;
use crate::{
    analysis::{Plant, Range},
    error::{Error, Result},
};

/// A parameter of a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

impl Parameter {
    /// A parameter.
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Parameter {
            name: name.into(),
            value,
        }
    }
}

/// A world whose step is known in closed form.
pub trait ClosedForm {
    /// The step as expressions.
    fn plant(&self) -> Result<Plant>;

    /// The step with parameters that are only known to lie in ranges, by name: the same value at all times, somewhere in it.
    fn plant_within(&self, ranges: &[(String, Range)]) -> Result<Plant> {
        match ranges.first() {
            None => self.plant(),
            Some((name, range)) => Err(Error::Parameter {
                name: name.clone(),
                value: range.at(0.5),
                expected: "the closed form of this world takes numbers, not ranges",
            }),
        }
    }

    /// Names and values of its parameters.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// The same world with another value of a parameter.
    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        Err(Error::Parameter {
            name: name.into(),
            value,
            expected: "this world has no such parameter",
        })
    }
}
