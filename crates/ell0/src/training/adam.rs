//! Adam with PyTorch's semantics.

use std::{borrow::Cow, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result, require, require_len},
    simd,
};

/// The constants of Adam.
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `beta1` | 0.9 | decay of the mean gradient | [0, 1) |
/// | `beta2` | 0.999 | decay of the mean squared gradient | [0, 1) |
/// | `eps` | 1e-8 | added to the root, after its bias correction | 1e-30 to 1e30 |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the mean gradient.
    pub beta1: f64,
    /// Decay of the mean squared gradient.
    pub beta2: f64,
    /// Added to the root, after its bias correction.
    pub eps: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        AdamConfig {
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
        }
    }
}

impl AdamConfig {
    pub(crate) fn check(&self) -> Result<()> {
        let decay = "it must lie in [0, 1)";
        require((0.0..1.0).contains(&self.beta1), "beta1", self.beta1, decay)?;
        require((0.0..1.0).contains(&self.beta2), "beta2", self.beta2, decay)?;
        // Smaller ones vanish in single precision, and 0/0 is not a step.
        let ok = (1e-30..=1e30).contains(&self.eps);
        require(
            ok,
            "eps",
            self.eps,
            "it must lie in [1e-30, 1e30], for example 1e-8",
        )
    }
}

/// The optimizer of Kingma and Ba (2015), as PyTorch computes it:
/// m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², p ← p − η/(1−β₁ᵗ) · m / (√v/√(1−β₂ᵗ) + ε).
#[derive(Clone, Debug)]
pub struct Adam {
    config: AdamConfig,
    pub(super) first: Vec<f32>,
    pub(super) second: Vec<f32>,
    pub(super) steps: u64,
}

/// Parameters that learn at one rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Their place among all parameters.
    pub range: Range<usize>,
    /// Their learning rate η.
    pub learning_rate: f64,
}

/// All that an optimizer remembers from step to step.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamMemory<'a> {
    /// The running mean m of the gradient.
    pub first: Cow<'a, [f32]>,
    /// The running mean v of its square.
    pub second: Cow<'a, [f32]>,
    /// The number t of steps.
    pub steps: u64,
}

/// The means of units that are closed shrink from step to step until they are subnormal, where they would stay, and where arithmetic is many times slower. What is that small moves no parameter: it counts as nothing.
#[inline(always)]
fn without_dust(x: f32) -> f32 {
    const LEAST: f32 = 1e-36;
    if x.abs() < LEAST { 0.0 } else { x }
}

impl Adam {
    /// An optimizer for `len` parameters.
    pub fn new(config: AdamConfig, len: usize) -> Result<Self> {
        config.check()?;
        Ok(Adam {
            config,
            first: vec![0.0; len],
            second: vec![0.0; len],
            steps: 0,
        })
    }

    /// What it remembers.
    #[must_use]
    pub fn memory(&self) -> AdamMemory<'_> {
        AdamMemory {
            first: Cow::Borrowed(&self.first),
            second: Cow::Borrowed(&self.second),
            steps: self.steps,
        }
    }

    /// An optimizer with the memory of another.
    pub fn with_memory(config: AdamConfig, memory: AdamMemory<'_>) -> Result<Self> {
        config.check()?;
        let AdamMemory {
            first,
            second,
            steps,
        } = memory;
        require_len("second moments", second.len(), first.len())?;
        let (first, second) = (first.into_owned(), second.into_owned());
        Ok(Adam {
            config,
            first,
            second,
            steps,
        })
    }

    /// One step of all groups together. The gradient is multiplied by `scale` on the way (clipping).
    pub fn step(
        &mut self,
        parameters: &mut [f32],
        gradient: &[f32],
        scale: f32,
        groups: &[Group],
    ) -> Result<()> {
        require_len("parameters", parameters.len(), self.first.len())?;
        require_len("gradient", gradient.len(), self.first.len())?;
        for Group { range, .. } in groups {
            if range.start > range.end || range.end > self.first.len() {
                let expected = format!("it must lie within the {} parameters", self.first.len());
                return Err(Error::parameter("group", format!("{range:?}"), expected));
            }
        }
        self.steps += 1;
        let AdamConfig { beta1, beta2, eps } = self.config;
        let t = self.steps as f64;
        let first_correction = 1.0 - beta1.powf(t);
        let root_correction = (1.0 - beta2.powf(t)).sqrt();
        let (keep1, add1) = (beta1 as f32, (1.0 - beta1) as f32);
        let (keep2, add2) = (beta2 as f32, (1.0 - beta2) as f32);
        let (unroot, eps) = ((1.0 / root_correction) as f32, eps as f32);
        for Group {
            range,
            learning_rate,
        } in groups
        {
            let rate = (learning_rate / first_correction) as f32;
            let (p, g) = (&mut parameters[range.clone()], &gradient[range.clone()]);
            let (m, v) = (
                &mut self.first[range.clone()],
                &mut self.second[range.clone()],
            );
            simd::vectorised(
                #[inline(always)]
                || {
                    for (((p, &g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
                        let g = g * scale;
                        *m = without_dust(keep1.mul_add(*m, add1 * g));
                        *v = without_dust(keep2.mul_add(*v, add2 * g * g));
                        *p -= rate * *m / v.sqrt().mul_add(unroot, eps);
                    }
                },
            );
        }
        Ok(())
    }
}
