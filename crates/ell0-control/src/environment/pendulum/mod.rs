//! The swing-up of a pendulum, as Gymnasium's Pendulum-v1.

mod optimum;
mod plant;

use std::f64::consts::PI;

use ell0::rng::Generator;
use serde::{Deserialize, Serialize};

use super::{
    ClosedForm, Environment, GridConfig, Maker, Optimum, OptimumMethod, Space, Start, Step,
    TimeLimit,
};
use crate::{
    error::{Error, Result, require_finite, require_size},
    evaluation::midpoints,
};

/// The parameters of a pendulum.
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `g` | 10 | gravity; the experiments of Botteghi and Fasel (2024) use 9.81 | finite |
/// | `mass` | 1 | mass of the rod | > 0 |
/// | `length` | 1 | its length | > 0 |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct PendulumConfig {
    pub g: f64,
    pub mass: f64,
    pub length: f64,
}

impl Default for PendulumConfig {
    fn default() -> Self {
        PendulumConfig {
            g: 10.0,
            mass: 1.0,
            length: 1.0,
        }
    }
}

/// A rod on a hinge, driven by a torque that is too weak to lift it at once.
///
/// State (θ, θ̇), θ = 0 upright; with Δt = 0.05 and u clipped to ±2,
///
/// θ̇ ← clip(θ̇ + Δt·(3g/(2l)·sin θ + 3/(ml²)·u), ±8), then θ ← θ + Δt·θ̇; reward −(θ² + 0.1·θ̇² + 0.001·u²) of the state before, θ brought to ±π.
#[derive(Clone, Debug)]
pub struct Pendulum {
    config: PendulumConfig,
    /// 3g/(2l) and 3/(ml²).
    gravity: f64,
    gain: f64,
    state: [f64; 2],
    observations: Space,
    actions: Space,
}

impl Pendulum {
    /// Time between two steps.
    pub const DT: f64 = 0.05;
    /// Greatest speed.
    pub const MAX_SPEED: f64 = 8.0;
    /// Greatest torque.
    pub const MAX_TORQUE: f64 = 2.0;

    /// A pendulum that hangs at rest.
    pub fn new(config: PendulumConfig) -> Result<Self> {
        let PendulumConfig { g, mass, length } = config;
        require_finite("g of the pendulum", &[g])?;
        for (name, value) in [("mass", mass), ("length", length)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::Parameter {
                    name: name.into(),
                    value,
                    expected: "it must be positive and finite",
                });
            }
        }
        Ok(Pendulum {
            config,
            gravity: 3.0 * g / (2.0 * length),
            gain: 3.0 / (mass * length.powi(2)),
            state: [PI, 0.0],
            observations: Space::symmetric(&[
                ("cos_theta", 1.0),
                ("sin_theta", 1.0),
                ("theta_dot", Self::MAX_SPEED),
            ]),
            actions: Space::symmetric(&[("torque", Self::MAX_TORQUE)]),
        })
    }

    /// The parameters.
    pub fn config(&self) -> &PendulumConfig {
        &self.config
    }

    /// How strongly gravity and the torque accelerate it: 3g/(2l) and 3/(ml²).
    pub fn coefficients(&self) -> (f64, f64) {
        (self.gravity, self.gain)
    }

    /// The state after a step with a torque, and the reward.
    #[inline]
    pub fn next(&self, state: [f64; 2], torque: f64) -> ([f64; 2], f64) {
        self.next_of(state)(torque)
    }

    /// The same as a function of the torque: what does not depend on it is computed once.
    #[inline]
    pub fn next_of(&self, [theta, speed]: [f64; 2]) -> impl Fn(f64) -> ([f64; 2], f64) {
        let pull = self.gravity * theta.sin();
        let cost = normalise(theta).powi(2) + 0.1 * speed.powi(2);
        let gain = self.gain;
        move |torque| {
            let u = torque.clamp(-Self::MAX_TORQUE, Self::MAX_TORQUE);
            let speed = speed + (pull + gain * u) * Self::DT;
            let speed = speed.clamp(-Self::MAX_SPEED, Self::MAX_SPEED);
            let cost = cost + 0.001 * u.powi(2);
            ([theta + speed * Self::DT, speed], -cost)
        }
    }
}

/// Steps of an episode of Pendulum-v1.
const LIMIT: u32 = 200;

/// The pendulum in the registry.
pub(super) fn maker() -> Maker {
    Maker::new(
        &["pendulum", "Pendulum-v1"],
        "pendulum(g=10, mass=1, length=1, limit=200): swing up a rod with a weak torque",
        |call| {
            let mut config = PendulumConfig::default();
            let limit = call.read_with_limit(
                &mut [
                    ("g", &mut config.g),
                    ("mass", &mut config.mass),
                    ("length", &mut config.length),
                ],
                LIMIT,
            )?;
            Ok(Box::new(TimeLimit::new(Pendulum::new(config)?, limit)))
        },
    )
}

/// An angle brought to [−π, π), as Gymnasium does: the remainder has the sign of the divisor.
#[inline]
fn normalise(angle: f64) -> f64 {
    // Most angles are near: the remainder is slow.
    if (-PI..PI).contains(&angle) {
        let shifted = angle + PI;
        return if shifted < 2.0 * PI {
            shifted - PI
        } else {
            -PI
        };
    }
    (angle + PI).rem_euclid(2.0 * PI) - PI
}

impl Environment for Pendulum {
    fn text(&self) -> String {
        let PendulumConfig { g, mass, length } = self.config;
        format!("pendulum(g={g}, mass={mass}, length={length})")
    }

    fn observation_space(&self) -> &Space {
        &self.observations
    }

    fn action_space(&self) -> &Space {
        &self.actions
    }

    fn state_names(&self) -> Vec<String> {
        plant::STATES.map(String::from).into()
    }

    /// The midpoints of 200 × 10 cells over θ in ±π and θ̇ in ±1.
    fn evaluation_starts(&self) -> Vec<Start> {
        Start::states(midpoints(&[(-PI, PI, 200), (-1.0, 1.0, 10)]))
    }

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        Some(self)
    }

    fn optimum(&self, steps: u32, starts: &[Start], grid: GridConfig) -> Result<Option<Optimum>> {
        let worth = optimum::optimum(self, steps, starts, grid)?;
        let method = OptimumMethod::Grid;
        Ok(Some(Optimum { worth, method }))
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    /// θ uniform in ±π, θ̇ in ±1.
    fn reset(&mut self, rng: &mut Generator) {
        self.state = [PI, 1.0].map(|bound| bound * (2.0 * rng.uniform() - 1.0));
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        require_size("a state of the pendulum", state.len(), 2)?;
        require_finite("the state", state)?;
        self.state = [state[0], state[1]];
        Ok(())
    }

    fn state(&self) -> &[f64] {
        &self.state
    }

    fn observe(&self, observation: &mut [f32]) {
        let (sin, cos) = self.state[0].sin_cos();
        let values = [cos as f32, sin as f32, self.state[1] as f32];
        observation.iter_mut().zip(values).for_each(|(o, v)| *o = v);
    }

    #[inline]
    fn step(&mut self, action: &[f64]) -> Result<Step> {
        require_size("an action of the pendulum", action.len(), 1)?;
        require_finite("the torque", action)?;
        let (state, reward) = self.next(self.state, action[0]);
        self.state = state;
        Ok(Step::goes_on(reward))
    }
}
