//! The pendulum in closed form.

use std::f64::consts::PI;

use ell0::{equation::Node, features::Function};

use super::{Pendulum, PendulumConfig};
use crate::{
    analysis::{Plant, Range},
    environment::{ClosedForm, Environment, Parameter},
    error::{Error, Result},
};

/// Names of the states.
pub(super) const STATES: [&str; 2] = ["theta", "theta_dot"];

impl ClosedForm for Pendulum {
    /// The step as it really runs: θ̇⁺ = clip(θ̇ + Δt·(a·sin θ + b·u)), θ⁺ = θ + Δt·θ̇⁺.
    fn plant(&self) -> Result<Plant> {
        let (gravity, gain) = self.coefficients();
        let (theta, theta_dot, torque) = (Node::Variable(0), Node::Variable(1), Node::Variable(2));
        let (number, sin) = (Node::Number, Node::call(Function::Sin, theta.clone()));
        let dt = || number(Self::DT);
        let speed = Node::sum([
            theta_dot.clone(),
            Node::product([dt(), number(gravity), sin.clone()]),
            Node::product([dt(), number(gain), torque]),
        ]);
        // The fourth value is the new speed.
        let angle = Node::sum([theta.clone(), Node::product([dt(), Node::Variable(3)])]);
        let limit = Range::symmetric(Self::MAX_SPEED);
        Plant::builder()
            .angle(STATES[0], Range::symmetric(PI), 2.0 * PI)
            .state(STATES[1], limit)
            .observation("cos_theta", Node::call(Function::Cos, theta))
            .observation("sin_theta", sin)
            .observation("theta_dot", theta_dot)
            .action("torque", Range::symmetric(Self::MAX_TORQUE))
            .assign_within("speed", speed, limit)
            .assign("angle", angle)
            .next(STATES[0], "angle")
            .next(STATES[1], "speed")
            .build()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let PendulumConfig { g, mass, length } = self.config;
        vec![
            Parameter::new("g", g),
            Parameter::new("mass", mass),
            Parameter::new("length", length),
        ]
    }

    fn with_parameter(&self, name: &str, value: f64) -> Result<Box<dyn Environment>> {
        let mut config = self.config;
        match name {
            "g" => config.g = value,
            "mass" => config.mass = value,
            "length" => config.length = value,
            _ => {
                return Err(Error::Parameter {
                    name: name.into(),
                    value,
                    expected: "the pendulum has g, mass and length",
                });
            }
        }
        Ok(Box::new(Pendulum::new(config)?))
    }
}
