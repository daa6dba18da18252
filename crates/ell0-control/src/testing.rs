//! What tests of several modules share.

use ell0::rng::Generator;
use proptest::test_runner::{Config, RngSeed};

use crate::{
    environment::{Environment, Space, Step},
    error::Result,
};

/// Property tests that are the same every time; PROPTEST_CASES says how many cases they have.
pub fn cases() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(14),
        failure_persistence: None,
        ..Config::default()
    }
}

/// A cart between two walls, as a caller might write it: three observations of which one has no bounds, two actions with ranges of their own, an end for good at the walls. It cannot be put into a state.
#[derive(Clone, Debug)]
pub struct Cart {
    pub position: f64,
    pub speed: f64,
    pub steps: u32,
    observations: Space,
    actions: Space,
}

impl Cart {
    /// Where the walls are.
    pub const WALLS: (f64, f64) = (-1.0, 2.0);
    /// Steps of an episode.
    pub const LIMIT: u32 = 25;

    pub fn new() -> Self {
        Cart {
            position: 0.0,
            speed: 0.0,
            steps: 0,
            observations: Space::default()
                .with("position", Self::WALLS.0, Self::WALLS.1)
                .unbounded("speed")
                .sized(3.0)
                .with("clock", 0.0, 1.0),
            actions: Space::default()
                .with("push", -1.0, 3.0)
                .with("brake", 0.0, 0.5),
        }
    }
}

impl Environment for Cart {
    fn text(&self) -> String {
        "cart of the tests".into()
    }

    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.position = 0.5 + rng.uniform();
        self.speed = 2.0 * rng.normal();
        self.steps = 0;
    }

    fn observe(&self, observation: &mut [f32]) {
        let clock = f64::from(self.steps) / f64::from(Self::LIMIT);
        let seen = [self.position, self.speed, clock];
        observation
            .iter_mut()
            .zip(seen)
            .for_each(|(o, s)| *o = s as f32);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        let push = self.actions.clamp(0, action[0]);
        let brake = self.actions.clamp(1, action[1]);
        self.speed += 0.1 * (push - 1.0) - brake * self.speed;
        self.position += 0.1 * self.speed;
        self.steps += 1;
        let crash = !(Self::WALLS.0..=Self::WALLS.1).contains(&self.position);
        Ok(Step {
            reward: if crash {
                -5.0
            } else {
                1.0 - self.position.powi(2) - 0.1 * brake
            },
            terminated: crash,
            truncated: false,
        })
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn time_limit(&self) -> Option<u32> {
        Some(Self::LIMIT)
    }
}
