//! Episodes that are cut off after some steps.

use ell0::rng::Generator;

use super::{Environment, Space, Step};
use crate::{analysis::Plant, error::Result};

/// An environment whose episodes are truncated, not terminated, after a number of steps.
#[derive(Clone, Debug)]
pub struct TimeLimit<E> {
    inner: E,
    limit: u32,
    steps: u32,
}

impl<E: Environment> TimeLimit<E> {
    /// Cuts episodes off after `limit` steps.
    pub fn new(inner: E, limit: u32) -> Self {
        TimeLimit {
            inner,
            limit,
            steps: 0,
        }
    }

    /// The environment itself.
    pub fn inner(&self) -> &E {
        &self.inner
    }
}

impl<E: Environment> Environment for TimeLimit<E> {
    fn text(&self) -> String {
        let text = self.inner.text();
        match text.strip_suffix(')') {
            Some(open) => format!("{open}, limit={})", self.limit),
            None => format!("{text}(limit={})", self.limit),
        }
    }

    fn observation_space(&self) -> &Space {
        self.inner.observation_space()
    }

    fn action_space(&self) -> &Space {
        self.inner.action_space()
    }

    fn state_names(&self) -> &[&'static str] {
        self.inner.state_names()
    }

    fn time_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn evaluation_grid(&self) -> Vec<Vec<f64>> {
        self.inner.evaluation_grid()
    }

    fn plant(&self) -> Option<Plant> {
        self.inner.plant()
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        self.inner.parameters()
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        let inner = self.inner.with_parameter(name, value)?;
        Ok(Box::new(TimeLimit::new(inner, self.limit)))
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.steps = 0;
        self.inner.reset(rng);
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        self.steps = 0;
        self.inner.reset_to(state)
    }

    fn state(&self) -> &[f64] {
        self.inner.state()
    }

    fn observe(&self, observation: &mut [f32]) {
        self.inner.observe(observation);
    }

    #[inline]
    fn step(&mut self, action: &[f64]) -> Result<Step> {
        let step = self.inner.step(action)?;
        self.steps += 1;
        Ok(Step {
            truncated: step.truncated || self.steps >= self.limit,
            ..step
        })
    }
}
