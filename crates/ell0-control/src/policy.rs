//! What chooses actions.

use ell0::rng::Generator;

use crate::environment::Space;

/// Chooses actions.
pub trait Policy {
    /// The action for an observation.
    fn act(&mut self, observation: &[f32], space: &Space, rng: &mut Generator, action: &mut [f64]);
}

/// Actions uniform over the action space, in single precision as Gymnasium draws them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Random;

impl Policy for Random {
    fn act(&mut self, _: &[f32], space: &Space, rng: &mut Generator, action: &mut [f64]) {
        for (a, (low, high)) in action.iter_mut().zip(space.low.iter().zip(&space.high)) {
            *a = f64::from((low + (high - low) * rng.uniform()) as f32);
        }
    }
}
