//! Episodes that are cut off after some steps.

use ell0::rng::{Generator, Stream};

use super::{
    ClosedForm, Environment, GridConfig, Optimum, Parameter, Situation, SmoothStep, Space, Start,
    Step, Tied,
};
use crate::{
    analysis::{Plant, Range},
    error::{Error, Result},
};

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

    fn state_names(&self) -> Vec<String> {
        self.inner.state_names()
    }

    fn time_limit(&self) -> Option<u32> {
        Some(self.limit)
    }

    fn evaluation_starts(&self) -> Vec<Start> {
        self.inner.evaluation_starts()
    }

    fn usual_start(&self) -> Start {
        self.inner.usual_start()
    }

    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        self.inner.training_starts(stream, count)
    }

    fn evaluation_grid(&self) -> Vec<Situation> {
        let limited = |situation: Situation| Situation {
            world: Box::new(TimeLimit::new(situation.world, self.limit)),
            ..situation
        };
        self.inner
            .evaluation_grid()
            .into_iter()
            .map(limited)
            .collect()
    }

    fn tied(&self) -> Option<Tied> {
        self.inner.tied()
    }

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        self.inner.closed_form().map(|_| self as &dyn ClosedForm)
    }

    fn smooth(&self) -> Option<&dyn SmoothStep> {
        self.inner.smooth()
    }

    fn optimum(&self, steps: u32, starts: &[Start], grid: GridConfig) -> Result<Option<Optimum>> {
        self.inner.optimum(steps, starts, grid)
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(TimeLimit {
            inner: self.inner.copy(),
            limit: self.limit,
            steps: self.steps,
        })
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

/// The closed form of the world inside; what is made of it has the same limit.
impl<E: Environment> ClosedForm for TimeLimit<E> {
    fn plant(&self) -> Result<Plant> {
        let form = self
            .inner
            .closed_form()
            .ok_or_else(|| Error::NoClosedForm {
                environment: self.text(),
            })?;
        form.plant()
    }

    fn plant_within(&self, ranges: &[(String, Range)]) -> Result<Plant> {
        match self.inner.closed_form() {
            Some(form) => form.plant_within(ranges),
            None => self.plant(),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        let form = self.inner.closed_form();
        form.map_or_else(Vec::new, |f| f.parameters())
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        let form = self
            .inner
            .closed_form()
            .ok_or_else(|| Error::NoClosedForm {
                environment: self.text(),
            })?;
        let inner = form.with_parameter(name, value)?;
        Ok(Box::new(TimeLimit::new(inner, self.limit)))
    }
}
