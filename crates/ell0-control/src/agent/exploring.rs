//! The policy of training: random at first, then the actor with noise.

use ell0::{network::Draw, rng::Generator};

use super::ActorPass;
use crate::{environment::Space, error::Result, policy::Act};

/// How actions are chosen in an episode of training.
pub(super) struct Exploring<'a> {
    pub pass: &'a mut ActorPass,
    pub parameters: &'a [f32],
    pub space: &'a Space,
    /// Deviation of the noise, relative to half the range of an action; none: random actions.
    pub noise: Option<f64>,
    /// Steps for which what was drawn stays the same.
    pub hold: u64,
    /// Steps so far.
    pub time: u64,
    /// What was drawn: noise, or actions, column after column.
    pub drawn: Vec<f64>,
}

impl Act for Exploring<'_> {
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        rng: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()> {
        let space = self.space;
        if self.time.is_multiple_of(self.hold) {
            self.drawn.resize(rows * space.len(), 0.0);
            for (row, rng) in rng.iter_mut().enumerate() {
                for k in 0..space.len() {
                    self.drawn[k * rows + row] = match self.noise {
                        None => space.draw(k, rng),
                        Some(deviation) => deviation * space.half(k) * rng.normal(),
                    };
                }
            }
        }
        self.time += 1;
        if self.noise.is_none() {
            action[..self.drawn.len()].copy_from_slice(&self.drawn);
            return Ok(());
        }
        let chosen = self
            .pass
            .forward(self.parameters, observation, rows, Draw::TestTime)?;
        for (at, action) in action.iter_mut().enumerate() {
            *action = space.clamp(at / rows, f64::from(chosen[at]) + self.drawn[at]);
        }
        Ok(())
    }
}
