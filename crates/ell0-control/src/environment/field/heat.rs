//! The heat equation, u_t = κ·u_xx + Σ aᵢφᵢ(x): the plainest field. Its mean does not decay by itself.

use ell0::rng::Generator;
use realfft::num_complex::Complex;

use super::{
    config::FieldConfig,
    equation::{Equation, EquationParameter, Unseen, waves},
};
use crate::environment::Values;

pub(super) struct Heat;

impl Equation for Heat {
    fn name(&self) -> &'static str {
        "heat"
    }

    fn about(&self) -> &'static str {
        "even out the temperature of a ring"
    }

    fn parameters(&self) -> &'static [EquationParameter] {
        &[EquationParameter {
            name: "kappa",
            seen: "kappa",
            factor: 1.0,
            size: 0.01,
            least: 0.0,
        }]
    }

    fn defaults(&self) -> FieldConfig {
        FieldConfig {
            length: 1.0,
            points: 64,
            width: 2.0,
            sensors_between: true,
            bound: 1.0,
            frame: 0.05,
            limit: 100,
            test_noise: 0.1,
            sensor_size: 1.0,
            ceiling: 100.0,
            values: vec![Values::List(vec![0.005, 0.01, 0.02])],
            ..FieldConfig::common()
        }
    }

    fn rate(&self, wavenumber: f64, parameters: &[f64]) -> Complex<f64> {
        Complex::from(-parameters[0] * wavenumber.powi(2))
    }

    fn start(&self, config: &FieldConfig, rng: Option<&mut Generator>) -> Vec<f64> {
        match rng {
            None => vec![1.0; config.points],
            Some(rng) => waves(config, rng, true),
        }
    }

    fn draws(&self) -> u64 {
        10
    }

    fn unseen(&self) -> Unseen {
        Unseen {
            inside: vec![vec![0.0075], vec![0.015]],
            outside: vec![vec![0.003], vec![0.03]],
        }
    }
}
