//! What tells one partial differential equation from another.

use ell0::rng::Generator;
use realfft::num_complex::Complex;

use super::config::FieldConfig;

/// A parameter of an equation.
#[derive(Clone, Copy, Debug)]
pub(super) struct EquationParameter {
    /// Its name.
    pub name: &'static str,
    /// The name under which it is seen, and what it is multiplied by for that.
    pub seen: &'static str,
    pub factor: f64,
    /// Its typical size, as it is seen.
    pub size: f64,
    /// The least value it may have.
    pub least: f64,
}

/// Values of parameters that were not trained on.
#[derive(Clone, Debug, Default)]
pub(super) struct Unseen {
    pub inside: Vec<Vec<f64>>,
    pub outside: Vec<Vec<f64>>,
}

/// u_t = −½(u²)ₓ (if it `steepens`) + L u + a known force + Σ aᵢφᵢ(x) on a ring.
pub(super) trait Equation: Send + Sync {
    /// Its name in the registry.
    fn name(&self) -> &'static str;

    /// A line about it.
    fn about(&self) -> &'static str;

    /// Its parameters, in the order in which they are seen.
    fn parameters(&self) -> &'static [EquationParameter];

    /// The problem as it stands without further words.
    fn defaults(&self) -> FieldConfig;

    /// The growth rate of a mode: what L is for e^{ikx}.
    fn rate(&self, wavenumber: f64, parameters: &[f64]) -> Complex<f64>;

    /// Whether it has the term −½(u²)ₓ; its growth rates must be real then.
    fn steepens(&self) -> bool {
        false
    }

    /// Whether actions are added to the field after each frame, instead of pushing it all the time.
    fn kicks(&self) -> bool {
        false
    }

    /// The known force at a place, which runs from 0 to 1 around the ring.
    fn force(&self, _place: f64, _parameters: &[f64]) -> f64 {
        0.0
    }

    /// The known force as what is seen of its parameter, times a function of the place: what a law at this place needs to know of it. Which parameter, and the function.
    fn force_at(&self, _place: f64) -> Option<(usize, f64)> {
        None
    }

    /// Where the field is before it is left alone for some time: without a generator, as policies are compared on it.
    fn start(&self, config: &FieldConfig, rng: Option<&mut Generator>) -> Vec<f64>;

    /// Random starts for each set of parameters that policies are compared on; 0: the one without a generator.
    fn draws(&self) -> u64 {
        0
    }

    /// Whether every episode begins alike.
    fn starts_alike(&self) -> bool {
        false
    }

    /// Whether its published code has mistakes that can be repeated.
    fn has_mistakes(&self) -> bool {
        false
    }

    /// Parameters that were not trained on, if the values are those of `defaults`.
    fn unseen(&self) -> Unseen {
        Unseen::default()
    }
}

/// A smooth random field: three waves of random size and phase, and, if wanted, a mean.
pub(super) fn waves(config: &FieldConfig, rng: &mut Generator, mean: bool) -> Vec<f64> {
    let mut field = vec![if mean { rng.normal() } else { 0.0 }; config.points];
    for wave in 1..=3 {
        let (size, phase) = (rng.normal(), rng.uniform());
        for (j, u) in field.iter_mut().enumerate() {
            let place = j as f64 / config.points as f64;
            *u += size * (std::f64::consts::TAU * (f64::from(wave) * place + phase)).cos();
        }
    }
    field
}
