//! A function that learns and is followed by a target.

use ell0::training::{Adam, AdamConfig, AdamMemory, follow};

use super::Memory;
use crate::error::Result;

/// A function with the parameters of its target, its optimizer and its gradient.
#[derive(Clone, Debug)]
pub(super) struct Learner {
    pub parameters: Vec<f32>,
    pub target: Vec<f32>,
    pub adam: Adam,
    pub gradient: Vec<f32>,
}

impl Learner {
    pub fn new(parameters: &[f32]) -> Result<Self> {
        Ok(Learner {
            parameters: parameters.to_vec(),
            target: parameters.to_vec(),
            adam: Adam::new(AdamConfig::default(), parameters.len())?,
            gradient: vec![0.0; parameters.len()],
        })
    }

    /// θ' ← τθ + (1−τ)θ'.
    pub fn follow(&mut self, tau: f64) {
        follow(&mut self.target, &self.parameters, tau);
    }

    /// Adds everything but the gradient, which the next update overwrites.
    pub fn remember(&self, name: &str, memory: &mut Memory) {
        let AdamMemory {
            first,
            second,
            steps,
        } = self.adam.memory();
        for (what, values) in [
            ("parameters", &self.parameters[..]),
            ("target", &self.target),
            ("first", &first),
            ("second", &second),
        ] {
            memory
                .tensors
                .insert(format!("{name}.{what}"), values.to_vec());
        }
        memory.counters.insert(format!("{name}.steps"), steps);
    }

    /// Takes the same over.
    pub fn restore(&mut self, name: &str, memory: &mut Memory) -> Result<()> {
        let size = self.parameters.len();
        let mut read = |what: &str| memory.take(&format!("{name}.{what}"), size);
        let (parameters, target) = (read("parameters")?, read("target")?);
        let (first, second) = (read("first")?.into(), read("second")?.into());
        let steps = memory.count(&format!("{name}.steps"))?;
        let memory = AdamMemory {
            first,
            second,
            steps,
        };
        self.adam = Adam::with_memory(AdamConfig::default(), memory)?;
        (self.parameters, self.target) = (parameters, target);
        Ok(())
    }
}
