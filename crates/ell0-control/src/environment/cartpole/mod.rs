//! The swing-up of a pole on a cart.

mod plant;
#[cfg(test)]
mod tests;

use std::f64::consts::PI;

use ell0::rng::Generator;
use serde::{Deserialize, Serialize};

use super::{ClosedForm, Environment, Maker, Space, Step, TimeLimit};
use crate::error::{Result, require_finite, require_parameter, require_size};

/// The parameters of a cart and its pole. Masses, length, gravity and the bounds must be positive.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `cart_mass` | 1 | mass M of the cart |
/// | `pole_mass` | 0.1 | mass m of the pole, a uniform rod |
/// | `half_length` | 0.5 | l, from the hinge to the middle of the pole |
/// | `g` | 9.81 | gravity |
/// | `cart_friction` | 0 | force against the cart's motion, for each unit of its speed; not negative |
/// | `pole_friction` | 0 | torque against the pole's turning, for each unit of its speed; not negative |
/// | `track` | 2.4 | the cart moves in ± this |
/// | `force` | 10 | the force on the cart lies in ± this |
/// | `dt` | 0.02 | time Δt between two steps; at most 0.1 |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct CartPoleConfig {
    pub cart_mass: f64,
    pub pole_mass: f64,
    pub half_length: f64,
    pub g: f64,
    pub cart_friction: f64,
    pub pole_friction: f64,
    pub track: f64,
    pub force: f64,
    pub dt: f64,
}

impl Default for CartPoleConfig {
    fn default() -> Self {
        CartPoleConfig {
            cart_mass: 1.0,
            pole_mass: 0.1,
            half_length: 0.5,
            g: 9.81,
            cart_friction: 0.0,
            pole_friction: 0.0,
            track: 2.4,
            force: 10.0,
            dt: 0.02,
        }
    }
}

impl CartPoleConfig {
    /// The parameters by name, in the order in which they are written.
    fn by_name(&mut self) -> [(&'static str, &mut f64); 9] {
        [
            ("cart_mass", &mut self.cart_mass),
            ("pole_mass", &mut self.pole_mass),
            ("half_length", &mut self.half_length),
            ("g", &mut self.g),
            ("cart_friction", &mut self.cart_friction),
            ("pole_friction", &mut self.pole_friction),
            ("track", &mut self.track),
            ("force", &mut self.force),
            ("dt", &mut self.dt),
        ]
    }

    fn check(mut self) -> Result<()> {
        for (name, value) in self.by_name() {
            let (ok, expected) = match name {
                "cart_friction" | "pole_friction" => {
                    (*value >= 0.0, "it must be finite and not negative")
                }
                "dt" => (
                    *value > 0.0 && *value <= 0.1,
                    "it must be positive and at most 0.1",
                ),
                _ => (*value > 0.0, "it must be positive and finite"),
            };
            require_parameter(name, *value, ok && value.is_finite(), expected)?;
        }
        Ok(())
    }
}

/// A pole that hangs from a cart on a track and is to be swung up and held by a force on the cart.
///
/// State (x, ẋ, θ, θ̇), θ = 0 upright, positive to the right; with the force u clipped to its bound (Barto, Sutton and Anderson 1983 as corrected by Florian 2007, friction proportional to speeds),
///
/// θ̈ = (g·sin θ − cos θ·(u − cart_friction·ẋ + ml·θ̇²·sin θ)/(M + m) − pole_friction·θ̇/(ml)) / (l·(4/3 − m·cos²θ/(M + m))),
///
/// ẍ = (u − cart_friction·ẋ + ml·(θ̇²·sin θ − θ̈·cos θ))/(M + m),
///
/// followed through Δt by one step of the classical Runge–Kutta method. That is exact enough that nothing but the force and friction changes the energy, and still a closed form of some forty short lines.
///
/// An episode does not end at the ends of the track: as in the swing-up of dm_control, the cart is stopped there. In a step that would lead beyond an end it loses its speed at once, and the pole swings on, for the blow goes through the hinge: θ̇ ← θ̇ + 3/(4l)·cos θ·ẋ. Through the rest of the step the cart is held, and the pole
/// is a pendulum, θ̈ = 3/(4l)·(g·sin θ − pole_friction·θ̇/(ml)), whatever the force that presses the cart against the end.
///
/// The reward of a step is −((1 − cos θ) + 0.1·(x/track)² + 0.1·q/(1 + q) + 0.01·(u/force)²) of the state before, where q = ẋ²/v² + θ̇²/w² are the speeds beside typical ones: v² = 2·track·force/(M + m), reached by the force on half of the track, and w² = 3g/l, reached by a fall from the top. It is
/// smooth, and lies between −2.21 and 0.
#[derive(Clone, Debug)]
pub struct CartPole {
    config: CartPoleConfig,
    state: [f64; 4],
    observations: Space,
    actions: Space,
}

impl CartPole {
    /// A cart in the middle of its track, with the pole hanging at rest.
    pub fn new(config: CartPoleConfig) -> Result<Self> {
        config.check()?;
        let [fast, fast_turn] = typical_speeds(&config);
        // Finite parameters can have quotients that are not.
        require_finite("the speeds of the cart and its pole", &[fast, fast_turn])?;
        Ok(CartPole {
            state: [0.0, 0.0, PI, 0.0],
            observations: Space::symmetric(&[("x", config.track)])
                .unbounded("x_dot")
                .sized(fast)
                .with("cos_theta", -1.0, 1.0)
                .with("sin_theta", -1.0, 1.0)
                .unbounded("theta_dot")
                .sized(fast_turn),
            actions: Space::symmetric(&[("force", config.force)]),
            config,
        })
    }

    /// The parameters.
    pub fn config(&self) -> &CartPoleConfig {
        &self.config
    }

    /// The energy of a state: that of motion, and the pole's height times its weight.
    pub fn energy(&self, [_, speed, theta, turn]: [f64; 4]) -> f64 {
        let CartPoleConfig {
            cart_mass,
            pole_mass,
            half_length,
            g,
            ..
        } = self.config;
        let lever = pole_mass * half_length;
        0.5 * (cart_mass + pole_mass) * speed.powi(2)
            + lever * theta.cos() * speed * turn
            + 2.0 / 3.0 * lever * half_length * turn.powi(2)
            + lever * g * theta.cos()
    }

    /// How fast the state changes under a force.
    #[inline]
    fn rates(&self, [_, speed, theta, turn]: [f64; 4], force: f64) -> [f64; 4] {
        let CartPoleConfig {
            cart_mass,
            pole_mass,
            half_length,
            g,
            cart_friction,
            pole_friction,
            ..
        } = self.config;
        let (sin, cos) = theta.sin_cos();
        let (total, lever) = (cart_mass + pole_mass, pole_mass * half_length);
        let push = force - cart_friction * speed + lever * turn * turn * sin;
        let turning = (g * sin - cos * push / total - pole_friction * turn / lever)
            / (half_length * (4.0 / 3.0 - pole_mass / total * cos * cos));
        let faster = (push - lever * turning * cos) / total;
        [speed, faster, turn, turning]
    }

    /// How fast the pole turns, and turns faster, on a cart that is held.
    fn hanging_rates(&self, [theta, turn]: [f64; 2]) -> [f64; 2] {
        let CartPoleConfig {
            pole_mass,
            half_length,
            g,
            pole_friction,
            ..
        } = self.config;
        let turning = g * theta.sin() - pole_friction * turn / (pole_mass * half_length);
        [turn, 0.75 / half_length * turning]
    }

    /// The state after a step with a force, and the reward.
    #[inline]
    pub fn next(&self, state: [f64; 4], force: f64) -> ([f64; 4], f64) {
        let CartPoleConfig {
            track,
            force: bound,
            dt,
            half_length,
            ..
        } = self.config;
        let force = force.clamp(-bound, bound);
        let [x, speed, theta, turn] = runge_kutta(state, dt, |s| self.rates(s, force));
        // By squares, as in the closed form.
        let next = if track * track - x * x < 0.0 {
            let [_, speed, theta, turn] = state;
            let turn = turn + 0.75 / half_length * theta.cos() * speed;
            let [theta, turn] = runge_kutta([theta, turn], dt, |s| self.hanging_rates(s));
            [x.clamp(-track, track), 0.0, theta, turn]
        } else {
            [x, speed, theta, turn]
        };
        (next, self.reward(state, force))
    }

    fn reward(&self, [x, speed, theta, turn]: [f64; 4], force: f64) -> f64 {
        let [fast, fast_turn] = typical_speeds(&self.config);
        let q = (speed / fast).powi(2) + (turn / fast_turn).powi(2);
        let cost = (1.0 - theta.cos())
            + 0.1 * (x / self.config.track).powi(2)
            // q/(1 + q), also where q is more than a number can hold.
            + 0.1 * (1.0 - 1.0 / (1.0 + q))
            + 0.01 * (force / self.config.force).powi(2);
        -cost
    }
}

/// One step of the classical Runge–Kutta method.
#[inline]
fn runge_kutta<const N: usize>(
    state: [f64; N],
    dt: f64,
    rates: impl Fn([f64; N]) -> [f64; N],
) -> [f64; N] {
    let along = |rates: [f64; N], time: f64| std::array::from_fn(|k| state[k] + time * rates[k]);
    let a = rates(state);
    let b = rates(along(a, 0.5 * dt));
    let c = rates(along(b, 0.5 * dt));
    let d = rates(along(c, dt));
    let mean = std::array::from_fn(|k| (a[k] + 2.0 * b[k] + 2.0 * c[k] + d[k]) / 6.0);
    along(mean, dt)
}

/// Speeds of cart and pole beside which others are small or large.
fn typical_speeds(config: &CartPoleConfig) -> [f64; 2] {
    let total = config.cart_mass + config.pole_mass;
    let fast = 2.0 * config.track * config.force / total;
    [fast, 3.0 * config.g / config.half_length].map(f64::sqrt)
}

/// Steps of an episode: ten seconds.
const LIMIT: u32 = 500;

/// The cart and its pole in the registry.
pub(super) fn maker() -> Maker {
    Maker::new(
        &["cartpole-swingup"],
        "cartpole-swingup(cart_mass=1, pole_mass=0.1, half_length=0.5, g=9.81, cart_friction=0, pole_friction=0, track=2.4, force=10, dt=0.02, limit=500): swing up a pole by a force on its cart",
        |call| {
            let mut config = CartPoleConfig::default();
            let limit = call.read_with_limit(&mut config.by_name(), LIMIT)?;
            Ok(Box::new(TimeLimit::new(CartPole::new(config)?, limit)))
        },
    )
}

impl Environment for CartPole {
    fn text(&self) -> String {
        let mut config = self.config;
        let parameters = config
            .by_name()
            .map(|(name, value)| format!("{name}={value}"));
        format!("cartpole-swingup({})", parameters.join(", "))
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

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        Some(self)
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    /// Nearly at rest, in the middle, hanging: x uniform in ±0.05·track, ẋ in ±0.05, θ in π ± 0.1, θ̇ in ±0.05.
    fn reset(&mut self, rng: &mut Generator) {
        let spread = [0.05 * self.config.track, 0.05, 0.1, 0.05];
        self.state = spread.map(|bound| bound * (2.0 * rng.uniform() - 1.0));
        self.state[2] += PI;
    }

    fn reset_to(&mut self, state: &[f64]) -> Result<()> {
        require_size("a state of the cart and its pole", state.len(), 4)?;
        require_finite("the state", state)?;
        let on_track = state[0].abs() <= self.config.track;
        require_parameter("x", state[0], on_track, "it must lie on the track")?;
        self.state.copy_from_slice(state);
        Ok(())
    }

    fn state(&self) -> &[f64] {
        &self.state
    }

    fn observe(&self, observation: &mut [f32]) {
        let [x, speed, theta, turn] = self.state;
        let (sin, cos) = theta.sin_cos();
        let values = [x, speed, cos, sin, turn].map(|v| v as f32);
        observation.iter_mut().zip(values).for_each(|(o, v)| *o = v);
    }

    #[inline]
    fn step(&mut self, action: &[f64]) -> Result<Step> {
        require_size("an action of the cart", action.len(), 1)?;
        require_finite("the force", action)?;
        let (state, reward) = self.next(self.state, action[0]);
        self.state = state;
        Ok(Step::goes_on(reward))
    }
}
