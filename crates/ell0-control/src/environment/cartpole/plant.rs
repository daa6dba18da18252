//! The cart and its pole in closed form.

use std::f64::consts::PI;

use super::{CartPole, CartPoleConfig, typical_speeds};
use crate::{
    analysis::{Plant, Range},
    environment::{ClosedForm, Environment, Parameter},
    error::{Error, Result},
};

/// Names of the states.
pub(super) const STATES: [&str; 4] = ["x", "x_dot", "theta", "theta_dot"];

impl ClosedForm for CartPole {
    /// The step as it really runs: the four stages of the Runge–Kutta method one after the other, then the ends of the track. Only where the step leads exactly to an end it differs: the mean of both is taken, for the sign of 0 is 0.
    fn plant(&self) -> Result<Plant> {
        let CartPoleConfig {
            cart_mass,
            pole_mass,
            half_length,
            g,
            cart_friction,
            pole_friction,
            track,
            force,
            dt,
        } = self.config;
        let (total, lever) = (cart_mass + pole_mass, pole_mass * half_length);
        let [fast, fast_turn] = typical_speeds(&self.config);
        let mut plant = Plant::builder()
            .state(STATES[0], Range::symmetric(track))
            // Twice what is typical is enough to look for equilibria and loops.
            .state(STATES[1], Range::symmetric(2.0 * fast))
            .angle(STATES[2], Range::symmetric(PI), 2.0 * PI)
            .state(STATES[3], Range::symmetric(2.0 * fast_turn))
            .observation("x", "x")
            .observation("x_dot", "x_dot")
            .observation("cos_theta", "cos(theta)")
            .observation("sin_theta", "sin(theta)")
            .observation("theta_dot", "theta_dot")
            .action("force", Range::symmetric(force));
        // Speed, angle and turning of each stage; the acceleration does not depend on where the cart is.
        let name = |what: &str, k: usize| match (what, k) {
            ("speed", 1) => "x_dot".into(),
            ("angle", 1) => "theta".into(),
            ("turn", 1) => "theta_dot".into(),
            _ => format!("{what}{k}"),
        };
        for (k, time) in [(1, 0.0), (2, 0.5 * dt), (3, 0.5 * dt), (4, dt)] {
            if k > 1 {
                for (what, state, rate) in [
                    ("speed", "x_dot", name("faster", k - 1)),
                    ("angle", "theta", name("turn", k - 1)),
                    ("turn", "theta_dot", name("turning", k - 1)),
                ] {
                    plant = plant.assign(name(what, k), format!("{state} + {time}*{rate}"));
                }
            }
            let [speed, angle, turn] = ["speed", "angle", "turn"].map(|what| name(what, k));
            let (push, turning) = (name("push", k), name("turning", k));
            plant = plant
                .assign(
                    push.clone(),
                    format!("force - {cart_friction}*{speed} + {lever}*{turn}^2*sin({angle})"),
                )
                .assign(
                    turning.clone(),
                    format!(
                        "({g}*sin({angle}) - cos({angle})*{push}/{total} - {}*{turn})/({half_length}*({} - {}*cos({angle})^2))",
                        pole_friction / lever,
                        4.0 / 3.0,
                        pole_mass / total
                    ),
                )
                .assign(
                    name("faster", k),
                    format!("({push} - {lever}*{turning}*cos({angle}))/{total}"),
                );
        }
        // The pole on a cart that is held at an end, after the blow.
        let lose = 0.75 / half_length;
        plant = plant.assign("held_turn1", format!("theta_dot + {lose}*cos(theta)*x_dot"));
        plant = plant.assign("held_angle1", "theta");
        for (k, time) in [(1, 0.0), (2, 0.5 * dt), (3, 0.5 * dt), (4, dt)] {
            let before = k - 1;
            if k > 1 {
                plant = plant
                    .assign(
                        format!("held_angle{k}"),
                        format!("theta + {time}*held_turn{before}"),
                    )
                    .assign(
                        format!("held_turn{k}"),
                        format!("held_turn1 + {time}*held_turning{before}"),
                    );
            }
            plant = plant.assign(
                format!("held_turning{k}"),
                format!(
                    "{lose}*({g}*sin(held_angle{k}) - {}*held_turn{k})",
                    pole_friction / lever
                ),
            );
        }
        let mean = |state: &str, [a, b, c, d]: [String; 4]| {
            format!("{state} + {}*({a} + 2*{b} + 2*{c} + {d})", dt / 6.0)
        };
        let stages = |what: &str| [1, 2, 3, 4].map(|k| name(what, k));
        let held = |what: &str| [1, 2, 3, 4].map(|k| format!("held_{what}{k}"));
        plant
            .assign("place", mean("x", stages("speed")))
            .assign("speed", mean("x_dot", stages("faster")))
            .assign("angle", mean("theta", stages("turn")))
            .assign("turn", mean("theta_dot", stages("turning")))
            .assign("held_angle", mean("theta", held("turn")))
            .assign("held_turn", mean("held_turn1", held("turning")))
            // 1 on the track, 0 beyond its ends. A square, not a distance, has no corner in the middle of the track.
            .assign(
                "free",
                format!("0.5 + 0.5*sign({} - place^2)", track * track),
            )
            .assign_within("stopped", "place", Range::symmetric(track))
            .next(STATES[0], "stopped")
            .next(STATES[1], "free*speed")
            .next(STATES[2], "free*angle + (1 - free)*held_angle")
            .next(STATES[3], "free*turn + (1 - free)*held_turn")
            .build()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut config = self.config;
        let parameters = config.by_name();
        parameters
            .map(|(name, value)| Parameter::new(name, *value))
            .into()
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        let mut config = self.config;
        let slot = config.by_name().into_iter().find(|(n, _)| *n == name);
        let (_, slot) = slot.ok_or_else(|| Error::Parameter {
            name: name.into(),
            value,
            expected: "the cart and its pole have cart_mass, pole_mass, half_length, g, cart_friction, pole_friction, track, force and dt",
        })?;
        *slot = value;
        Ok(Box::new(CartPole::new(config)?))
    }
}
