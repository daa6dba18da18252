//! Burgers' equation with a force, u_t = −½(u²)ₓ + ν·u_xx + force·sin(2πx/L) + Σ aᵢφᵢ(x): waves that steepen until viscosity stops them.

use std::f64::consts::TAU;

use ell0::rng::Generator;
use realfft::num_complex::Complex;

use super::{
    config::FieldConfig,
    equation::{Equation, EquationParameter, Unseen, waves},
};
use crate::environment::Values;

pub(super) struct Burgers;

impl Equation for Burgers {
    fn name(&self) -> &'static str {
        "burgers"
    }

    fn about(&self) -> &'static str {
        "bring a forced Burgers flow to rest"
    }

    fn parameters(&self) -> &'static [EquationParameter] {
        &[
            EquationParameter {
                name: "nu",
                seen: "nu",
                factor: 1.0,
                size: 0.1,
                least: 0.0,
            },
            EquationParameter {
                name: "force",
                seen: "force",
                factor: 1.0,
                size: 0.3,
                least: f64::NEG_INFINITY,
            },
        ]
    }

    fn defaults(&self) -> FieldConfig {
        FieldConfig {
            length: TAU,
            points: 64,
            width: 2.0,
            sensors_between: true,
            bound: 1.0,
            frame: 0.1,
            substeps: 10,
            warmup: 20,
            limit: 200,
            test_noise: 0.1,
            sensor_size: 1.0,
            values: vec![
                Values::List(vec![0.1, 0.15, 0.2]),
                Values::List(vec![-0.2, 0.0, 0.2]),
            ],
            ..FieldConfig::common()
        }
    }

    fn rate(&self, wavenumber: f64, parameters: &[f64]) -> Complex<f64> {
        Complex::from(-parameters[0] * wavenumber.powi(2))
    }

    fn steepens(&self) -> bool {
        true
    }

    fn force(&self, place: f64, parameters: &[f64]) -> f64 {
        parameters[1] * (TAU * place).sin()
    }

    fn force_at(&self, place: f64) -> Option<(usize, f64)> {
        Some((1, (TAU * place).sin()))
    }

    fn start(&self, config: &FieldConfig, rng: Option<&mut Generator>) -> Vec<f64> {
        let place = |j| TAU * j as f64 / config.points as f64;
        match rng {
            None => (0..config.points).map(|j| f64::sin(place(j))).collect(),
            Some(rng) => waves(config, rng, false).iter().map(|u| 0.5 * u).collect(),
        }
    }

    fn draws(&self) -> u64 {
        3
    }

    fn unseen(&self) -> Unseen {
        let pairs = |nu: [f64; 2], force: [f64; 2]| {
            nu.iter()
                .flat_map(|nu| force.map(|force| vec![*nu, force]))
                .collect()
        };
        Unseen {
            inside: pairs([0.125, 0.175], [-0.1, 0.1]),
            outside: pairs([0.08, 0.25], [-0.25, 0.25]),
        }
    }
}
