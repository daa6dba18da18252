//! What analysis needs of a world whose step is too large to be written down: the step and its derivatives, at any state.

use ell0::rng::Generator;

use super::Parameter;
use crate::error::{Error, Result};

/// A matrix, row by row.
pub type Rows = Vec<Vec<f64>>;

/// The derivatives of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Slopes {
    /// By the state: a row for each next state.
    pub state: Rows,
    /// By the action: a row for each next state.
    pub action: Rows,
}

/// A world whose step is a smooth function of state and action, known in double precision at every state: a field on many points, for example. Its parameters are fixed, and no part of the state.
pub trait SmoothStep: Send + Sync {
    /// Names of the components of the state.
    fn states(&self) -> Vec<String>;

    /// The least and the greatest value of each action.
    fn actions(&self) -> Vec<(String, [f64; 2])>;

    /// The state after a step with an action that lies in its range.
    fn next(&self, state: &[f64], action: &[f64]) -> Vec<f64>;

    /// The derivatives of the same.
    fn slopes(&self, state: &[f64], action: &[f64]) -> Slopes;

    /// Names of what a policy sees.
    fn observations(&self) -> Vec<String>;

    /// What a policy sees in a state, without noise.
    fn observe(&self, state: &[f64]) -> Vec<f64>;

    /// The derivatives of what it sees by the state: a row for each observation.
    fn observation_slopes(&self, state: &[f64]) -> Rows;

    /// The cost of a step, minus its reward, as a quadratic form, if it is one: the weights of the squares of states and actions, by component.
    fn quadratic_cost(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// Whether the step is linear in state and action, and what is seen linear in the state or constant, so that what is proved of the derivatives is proved of the world.
    fn is_linear(&self) -> bool {
        false
    }

    /// A random state of the kind that the world is in before it is controlled.
    fn typical_state(&self, rng: &mut Generator) -> Vec<f64>;

    /// Names and values of its parameters.
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    /// The same with another value of a parameter.
    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn SmoothStep>> {
        Err(Error::Parameter {
            name: name.into(),
            value,
            expected: "this world has no such parameter",
        })
    }
}
