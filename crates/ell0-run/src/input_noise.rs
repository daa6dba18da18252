//! Errors with which inputs were measured.

use std::collections::BTreeMap;

use ell0::wording::{meant, shown};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub(crate) const ROWS_ARE_CORRECTED: &str = "errors of inputs were given, but coefficients are corrected by the rows themselves, which statistics do not have: fit the measurements, or leave the errors out";

/// Standard deviations of the errors with which inputs were measured, in the units of their columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InputNoise {
    /// The same for all of them.
    All(f64),
    /// Of each; those that are not named have none.
    Each(BTreeMap<String, f64>),
}

impl Default for InputNoise {
    fn default() -> Self {
        InputNoise::Each(BTreeMap::new())
    }
}

impl InputNoise {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_unsaid(&self) -> bool {
        matches!(self, InputNoise::Each(each) if each.is_empty())
    }

    /// That of each input.
    pub(crate) fn of(&self, inputs: &[String]) -> Result<Vec<f64>> {
        let each = match self {
            InputNoise::All(noise) => inputs.iter().map(|name| (name, *noise)).collect(),
            InputNoise::Each(each) => each.iter().map(|(name, noise)| (name, *noise)).collect(),
        };
        let each: Vec<(&String, f64)> = each;
        let mut all = vec![0.0; inputs.len()];
        for (name, noise) in each {
            let Some(place) = inputs.iter().position(|input| input == name) else {
                return Err(Error::Unsuitable(format!(
                    "errors of the input `{}` were given, and there is none{}",
                    shown(name),
                    meant(name, "inputs", inputs)
                )));
            };
            if !(noise >= 0.0 && noise.is_finite()) {
                return Err(Error::setting(
                    "input-noise",
                    format!("{}={noise}", shown(name)),
                    "a standard deviation is finite and not negative",
                ));
            }
            all[place] = noise;
        }
        Ok(all)
    }
}
