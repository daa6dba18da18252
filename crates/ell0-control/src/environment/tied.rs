//! Worlds in which all actions can have the same law.

use serde::{Deserialize, Serialize};

/// The inputs of a law that is the same for every action: what is seen, counted from the place of the action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tied {
    /// Names of the inputs.
    pub names: Vec<String>,
    /// For each action, each input: an observation and what it is multiplied by.
    pub inputs: Vec<Vec<(usize, f64)>>,
}
