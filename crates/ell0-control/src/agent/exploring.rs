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
        let Some(deviation) = self.noise else {
            for (row, rng) in rng.iter_mut().enumerate() {
                (0..space.len()).for_each(|k| action[k * rows + row] = space.draw(k, rng));
            }
            return Ok(());
        };
        let chosen = self
            .pass
            .forward(self.parameters, observation, rows, Draw::TestTime)?;
        for (row, rng) in rng.iter_mut().enumerate() {
            for k in 0..space.len() {
                let noise = deviation * space.half(k) * rng.normal();
                let at = k * rows + row;
                action[at] = space.clamp(k, f64::from(chosen[at]) + noise);
            }
        }
        Ok(())
    }
}
