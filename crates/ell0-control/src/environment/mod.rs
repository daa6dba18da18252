//! Worlds that can be reset and stepped.
//!
//! A world is a value that implements [`Environment`]. [`make`] gives those that have a name, such as `pendulum(g=9.81)` or `cartpole-swingup`; a [`Registry`] holds more. A world of your own needs no name in a
//! registry: everything in this crate takes the value.

mod cartpole;
mod check;
mod closed_form;
mod field;
mod pendulum;
mod registry;
mod situation;
mod smooth;
mod space;
mod start;
mod tied;
mod time_limit;
mod values;

pub use cartpole::{CartPole, CartPoleConfig};
pub use check::check;
pub(crate) use check::look;
pub use closed_form::{ClosedForm, Parameter};
pub use field::{Field, FieldConfig, Pde};
pub use pendulum::{Pendulum, PendulumConfig};
pub use registry::{Call, Maker, Registry, Slot, make};
pub use situation::Situation;
pub use smooth::{Rows, Slopes, SmoothStep};
pub use space::{Component, Space};
pub use start::Start;
pub use tied::Tied;
pub use time_limit::TimeLimit;
pub use values::Values;

use ell0::rng::{Generator, Stream};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    evaluation::Return,
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

impl Step {
    /// A step after which the episode goes on.
    #[must_use]
    pub fn goes_on(reward: f64) -> Self {
        Step {
            reward,
            terminated: false,
            truncated: false,
        }
    }

    /// The same, with the episode over if `terminated`.
    #[must_use]
    pub fn ends_if(self, terminated: bool) -> Self {
        Step { terminated, ..self }
    }

    /// Whether the episode is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}

/// How finely optimal control is computed: see [`Environment::optimum`].
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `points` | 401 | points of the grid along each state |
/// | `actions` | 5 | actions tried at first; finer ones are tried around the best of them |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct GridConfig {
    pub points: usize,
    pub actions: usize,
}

impl Default for GridConfig {
    fn default() -> Self {
        GridConfig {
            points: 401,
            actions: 5,
        }
    }
}

/// How the return of optimal control was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimumMethod {
    /// By dynamic programming on a grid over the states.
    Grid,
    /// By the Riccati equation: the linear-quadratic regulator that sees the whole state, its actions clipped to their range. Where nothing is clipped nothing is better.
    Riccati,
}

/// What optimal control reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// Its mean return.
    pub worth: Return,
    /// How it was found.
    pub method: OptimumMethod,
}

/// Random starts that policies are compared on in a world that names no others.
pub const EVALUATION_SEEDS: u64 = 200;

/// A world. What has no default is what every world needs; the rest can be given where there is something to say.
pub trait Environment: Send + Sync {
    /// Its name, for people and files. For a world of a [`Registry`], the text that makes another just like it.
    fn text(&self) -> String;

    /// What a policy sees.
    fn observation_space(&self) -> &Space;

    /// What a policy chooses; the world brings values beyond it back into it.
    fn action_space(&self) -> &Space;

    /// Begins an episode in a random state.
    fn reset(&mut self, rng: &mut Generator);

    /// Writes the observation of the present state, in single precision as Gymnasium gives it.
    fn observe(&self, observation: &mut [f32]);

    /// Acts for one step.
    fn step(&mut self, action: &[f64]) -> Result<Step>;

    /// Another world just like it, in the same state: many are stepped side by side.
    fn copy(&self) -> Box<dyn Environment>;

    /// Names of the components of the state; none for a world whose state cannot be seen.
    fn state_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The state, in the order of its names.
    fn state(&self) -> &[f64] {
        &[]
    }

    /// Begins an episode in the given state.
    fn reset_to(&mut self, _state: &[f64]) -> Result<()> {
        Err(Error::NoState {
            environment: self.text(),
        })
    }

    /// Steps after which an episode is truncated, if it is.
    fn time_limit(&self) -> Option<u32> {
        None
    }

    /// Where the episodes begin that policies are compared on.
    fn evaluation_starts(&self) -> Vec<Start> {
        Start::seeds(EVALUATION_SEEDS)
    }

    /// Where a single episode begins that nobody said more about: in the state that the world is in, or, where it cannot be seen, in the first random one.
    fn usual_start(&self) -> Start {
        match self.state() {
            [] => Start::Seed(0),
            state => Start::State(state.to_vec()),
        }
    }

    /// At most so many starts that a policy is refined on after training: not those that policies are compared on, unless there are no others.
    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        Start::drawn(stream, count)
    }

    /// Where policies are compared, beginning with what they were trained on: other parameters of the world, noise on what is seen. By default only the starts of evaluation.
    fn evaluation_grid(&self) -> Vec<Situation> {
        vec![Situation {
            name: "training".into(),
            noise: 0.0,
            world: self.copy(),
            starts: self.evaluation_starts(),
        }]
    }

    /// The inputs of a law that all actions can share, in a world that looks the same from each of them.
    fn tied(&self) -> Option<Tied> {
        None
    }

    /// Its step in closed form, for analysis, if that is known.
    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        None
    }

    /// Its step with its derivatives, for analysis, where a closed form would be too large.
    fn smooth(&self) -> Option<&dyn SmoothStep> {
        None
    }

    /// The mean return of optimal control over so many steps from the given starts; none where nobody knows it.
    fn optimum(
        &self,
        _steps: u32,
        _starts: &[Start],
        _grid: GridConfig,
    ) -> Result<Option<Optimum>> {
        Ok(None)
    }
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

    fn reset(&mut self, rng: &mut Generator) {
        (**self).reset(rng);
    }

    fn observe(&self, observation: &mut [f32]) {
        (**self).observe(observation);
    }

    #[inline]
    fn step(&mut self, action: &[f64]) -> Result<Step> {
        (**self).step(action)
    }

    fn copy(&self) -> Box<dyn Environment> {
        (**self).copy()
    }

    fn state_names(&self) -> Vec<String> {
        (**self).state_names()
    }

    fn state(&self) -> &[f64] {
        (**self).state()
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        (**self).reset_to(state)
    }

    fn time_limit(&self) -> Option<u32> {
        (**self).time_limit()
    }

    fn evaluation_starts(&self) -> Vec<Start> {
        (**self).evaluation_starts()
    }

    fn usual_start(&self) -> Start {
        (**self).usual_start()
    }

    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        (**self).training_starts(stream, count)
    }

    fn evaluation_grid(&self) -> Vec<Situation> {
        (**self).evaluation_grid()
    }

    fn tied(&self) -> Option<Tied> {
        (**self).tied()
    }

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        (**self).closed_form()
    }

    fn smooth(&self) -> Option<&dyn SmoothStep> {
        (**self).smooth()
    }

    fn optimum(&self, steps: u32, starts: &[Start], grid: GridConfig) -> Result<Option<Optimum>> {
        (**self).optimum(steps, starts, grid)
    }
}
