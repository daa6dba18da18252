//! Convection, diffusion and reaction, u_t = ν·u_xx − c·u_x + r·u + control: linear and unstable. Frames are exact, and actions are added after each.

use ell0::rng::Generator;
use realfft::num_complex::Complex;

use super::{
    config::FieldConfig,
    equation::{Equation, EquationParameter, Unseen},
};
use crate::environment::Values;

pub(super) struct Convection;

impl Equation for Convection {
    fn name(&self) -> &'static str {
        "cdr"
    }

    fn about(&self) -> &'static str {
        "hold down what convection carries, diffusion spreads and reaction lets grow"
    }

    fn parameters(&self) -> &'static [EquationParameter] {
        const fn parameter(name: &'static str, size: f64, least: f64) -> EquationParameter {
            EquationParameter {
                name,
                seen: name,
                factor: 1.0,
                size,
                least,
            }
        }
        &const {
            [
                parameter("nu", 0.004, 0.0),
                parameter("c", 0.15, f64::NEG_INFINITY),
                parameter("r", 0.15, f64::NEG_INFINITY),
            ]
        }
    }

    fn defaults(&self) -> FieldConfig {
        let steps = vec![0.1, 0.125, 0.15, 0.175, 0.2];
        FieldConfig {
            length: 1.0,
            points: 200,
            width: 2.5,
            bound: 0.25,
            frame: 0.1,
            warmup: 50,
            limit: 50,
            test_noise: 0.05,
            sensor_size: 1.0,
            ceiling: 1000.0,
            values: vec![
                Values::List((1..=7).map(|k| f64::from(k) / 1000.0).collect()),
                Values::List(steps.clone()),
                Values::List(steps),
            ],
            ..FieldConfig::common()
        }
    }

    fn rate(&self, wavenumber: f64, parameters: &[f64]) -> Complex<f64> {
        let [nu, c, r] = [parameters[0], parameters[1], parameters[2]];
        Complex::new(r - nu * wavenumber.powi(2), -c * wavenumber)
    }

    fn kicks(&self) -> bool {
        true
    }

    /// A/cosh((x − ½)/s) with A = 1 ± 0.1 and s = 0.05 ± 0.01.
    fn start(&self, config: &FieldConfig, rng: Option<&mut Generator>) -> Vec<f64> {
        let (height, spread) = match rng {
            None => (1.0, 0.05),
            Some(rng) => {
                let mut around = |middle, width| middle + width * (2.0 * rng.uniform() - 1.0);
                (around(1.0, 0.1), around(0.05, 0.01))
            }
        };
        let value = |j| height / ((j as f64 / config.points as f64 - 0.5) / spread).cosh();
        (0..config.points).map(value).collect()
    }

    /// The published examples, beside values between those of training and beyond them.
    fn unseen(&self) -> Unseen {
        let mut inside = vec![vec![0.006, 0.191, 0.179]];
        let mut outside = vec![vec![0.008, 0.313, 0.303]];
        for nu in [0.0015, 0.0065] {
            for c in [0.1125, 0.1875] {
                inside.extend([0.1125, 0.1875].map(|r| vec![nu, c, r]));
            }
        }
        for nu in [0.0005, 0.009] {
            for c in [0.05, 0.25] {
                outside.extend([0.05, 0.25].map(|r| vec![nu, c, r]));
            }
        }
        Unseen { inside, outside }
    }
}
