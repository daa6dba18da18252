//! The Kuramoto–Sivashinsky equation, u_t = −½(u²)ₓ − u_xx − u_xxxx + μ·cos(4πx/L) + Σ aᵢφᵢ(x): flames and thin films, chaotic when they are left alone.

use std::f64::consts::PI;

use ell0::rng::Generator;
use realfft::num_complex::Complex;

use super::{
    config::FieldConfig,
    equation::{Equation, EquationParameter, Unseen},
};
use crate::environment::Values;

pub(super) struct Kuramoto;

impl Equation for Kuramoto {
    fn name(&self) -> &'static str {
        "ks"
    }

    fn about(&self) -> &'static str {
        "calm the chaotic Kuramoto–Sivashinsky equation; published=true repeats the mistakes of the published code"
    }

    fn parameters(&self) -> &'static [EquationParameter] {
        &[EquationParameter {
            name: "mu",
            seen: "mu10",
            factor: 10.0,
            size: 1.0,
            least: f64::NEG_INFINITY,
        }]
    }

    fn defaults(&self) -> FieldConfig {
        FieldConfig {
            length: 22.0,
            points: 64,
            width: 0.8,
            sensors_between: true,
            bound: 1.0,
            frame: 0.1,
            substeps: 15,
            warmup: 1001,
            limit: 999,
            test_noise: 0.25,
            sensor_size: 3.0,
            values: vec![Values::List(vec![
                -0.2, -0.15, -0.1, -0.05, 0.0, 0.05, 0.1, 0.15, 0.2,
            ])],
            ..FieldConfig::common()
        }
    }

    fn rate(&self, wavenumber: f64, _: &[f64]) -> Complex<f64> {
        Complex::from(wavenumber.powi(2) - wavenumber.powi(4))
    }

    fn steepens(&self) -> bool {
        true
    }

    fn force(&self, place: f64, parameters: &[f64]) -> f64 {
        parameters[0] * (4.0 * PI * place).cos()
    }

    fn force_at(&self, place: f64) -> Option<(usize, f64)> {
        Some((0, (4.0 * PI * place).cos()))
    }

    /// ½ at points 4 to 44 of 64.
    fn start(&self, config: &FieldConfig, _: Option<&mut Generator>) -> Vec<f64> {
        let inside = 4 * config.points / 64..=44 * config.points / 64;
        let value = |j| if inside.contains(&j) { 0.5 } else { 0.0 };
        (0..config.points).map(value).collect()
    }

    fn starts_alike(&self) -> bool {
        true
    }

    fn has_mistakes(&self) -> bool {
        true
    }

    fn unseen(&self) -> Unseen {
        let both = |values: &[f64]| values.iter().flat_map(|v| [vec![-v], vec![*v]]).collect();
        Unseen {
            inside: both(&[0.025, 0.075, 0.125, 0.175]),
            outside: both(&[0.225, 0.25]),
        }
    }
}
