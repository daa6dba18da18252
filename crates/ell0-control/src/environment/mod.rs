//! Worlds that can be reset and stepped.

mod pendulum;
mod text;
mod time_limit;

pub use pendulum::{Pendulum, PendulumConfig};
pub use text::{make, pendulum};
pub use time_limit::TimeLimit;

use ell0::rng::Generator;

use crate::{
    analysis::Plant,
    error::{Error, Result},
};

/// What happened in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Reward.
    pub reward: f64,
    /// Whether the episode is over because of the state it reached: nothing comes after it.
    pub terminated: bool,
    /// Whether the episode was cut off although it could go on, by a time limit for example: what comes after is worth as much as ever.
    pub truncated: bool,
}

/// A range for each component of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    /// Names of the components.
    pub names: Vec<String>,
    /// Least value of each.
    pub low: Vec<f64>,
    /// Greatest value of each.
    pub high: Vec<f64>,
}

impl Space {
    /// Components that lie between ± a bound.
    pub fn symmetric(components: &[(&str, f64)]) -> Self {
        Space {
            names: components.iter().map(|c| c.0.to_string()).collect(),
            low: components.iter().map(|c| -c.1).collect(),
            high: components.iter().map(|c| c.1).collect(),
        }
    }

    /// Number of components.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is no component.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// A world.
pub trait Environment: Send {
    /// The text that makes an environment just like this one.
    fn text(&self) -> String;

    /// What a policy sees.
    fn observation_space(&self) -> &Space;

    /// What a policy chooses; values beyond it are brought back into it.
    fn action_space(&self) -> &Space;

    /// Names of the components of the state.
    fn state_names(&self) -> &[&'static str];

    /// Steps after which an episode is truncated, if it is.
    fn time_limit(&self) -> Option<u32> {
        None
    }

    /// Initial states that policies are compared on.
    fn evaluation_grid(&self) -> Vec<Vec<f64>>;

    /// The world in closed form, for analysis, if it has one.
    fn plant(&self) -> Option<Plant> {
        None
    }

    /// Names and values of its parameters.
    fn parameters(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The same world with another value of a parameter.
    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        Err(Error::Parameter {
            name: name.into(),
            value,
            expected: "this environment has no such parameter",
        })
    }

    /// Begins an episode in a random state.
    fn reset(&mut self, rng: &mut Generator);

    /// Begins an episode in the given state.
    fn reset_to(&mut self, state: &[f64]) -> Result<()>;

    /// The state.
    fn state(&self) -> &[f64];

    /// The observation of the present state, in single precision as Gymnasium gives it.
    fn observe(&self, observation: &mut [f32]);

    /// Acts for one step.
    fn step(&mut self, action: &[f64]) -> Result<Step>;
}

impl<E: Environment + ?Sized> Environment for Box<E> {
    fn text(&self) -> String {
        (**self).text()
    }

    fn observation_space(&self) -> &Space {
        (**self).observation_space()
    }

    fn action_space(&self) -> &Space {
        (**self).action_space()
    }

    fn state_names(&self) -> &[&'static str] {
        (**self).state_names()
    }

    fn time_limit(&self) -> Option<u32> {
        (**self).time_limit()
    }

    fn evaluation_grid(&self) -> Vec<Vec<f64>> {
        (**self).evaluation_grid()
    }

    fn plant(&self) -> Option<Plant> {
        (**self).plant()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        (**self).parameters()
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        (**self).with_parameter(name, value)
    }

    fn reset(&mut self, rng: &mut Generator) {
        (**self).reset(rng);
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        (**self).reset_to(state)
    }

    fn state(&self) -> &[f64] {
        (**self).state()
    }

    fn observe(&self, observation: &mut [f32]) {
        (**self).observe(observation);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        (**self).step(action)
    }
}
