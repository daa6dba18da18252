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
    fn plant(&self) -> Result<Plant> {
        self.plant_within(&[])
    }

    /// The step as it really runs: θ̇⁺ = clip(θ̇ + Δt·(a·sin θ + b·u)), θ⁺ = θ + Δt·θ̇⁺, with a = 3g/(2l) and b = 3/(ml²).
    fn plant_within(&self, ranges: &[(String, Range)]) -> Result<Plant> {
        let (number, dt) = (Node::Number, || Node::Number(Self::DT));
        let mut plant = Plant::builder()
            .angle(STATES[0], Range::symmetric(PI), 2.0 * PI)
            .state(STATES[1], Range::symmetric(Self::MAX_SPEED));
        for (name, range) in ranges {
            // Worlds at both ends exist, so all between them do.
            for end in [range.low, range.high] {
                self.with_parameter(name, end)?;
            }
            plant = plant.parameter(name, *range);
        }
        let uncertain = |name: &str| ranges.iter().position(|(n, _)| n == name);
        let parameter = |name: &str, value: f64| match uncertain(name) {
            Some(k) => Node::Variable(2 + k),
            None => number(value),
        };
        let (mut gravity, mut gain) = {
            let (gravity, gain) = self.coefficients();
            (number(gravity), number(gain))
        };
        if !ranges.is_empty() {
            let PendulumConfig { g, mass, length } = self.config;
            let length = parameter("length", length);
            gravity = Node::product([
                number(1.5),
                parameter("g", g),
                Node::power(length.clone(), -1.0),
            ]);
            gain = Node::product([
                number(3.0),
                Node::power(parameter("mass", mass), -1.0),
                Node::power(length, -2.0),
            ]);
        }
        let (theta, theta_dot) = (Node::Variable(0), Node::Variable(1));
        let torque = 2 + ranges.len();
        let sin = Node::call(Function::Sin, theta.clone());
        let speed = Node::sum([
            theta_dot.clone(),
            Node::product([dt(), gravity, sin.clone()]),
            Node::product([dt(), gain, Node::Variable(torque)]),
        ]);
        // The value after the torque is the new speed.
        let angle = Node::sum([
            theta.clone(),
            Node::product([dt(), Node::Variable(torque + 1)]),
        ]);
        let limit = Range::symmetric(Self::MAX_SPEED);
        plant
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
