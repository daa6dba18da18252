//! How open the gates of a module are.

use burn::{module::Module, tensor::Tensor};

use crate::{
    Gating, distribution,
    error::{Error, Result},
};

/// How open the gates of one parameter are.
#[derive(Clone, Debug, PartialEq)]
pub struct Openness {
    /// Path of the parameter.
    pub path: String,
    /// Number of gates.
    pub gates: usize,
    /// Elements behind each.
    pub behind_each: usize,
    /// Gates that are not 0 at test time.
    pub open: usize,
    /// Σ P(gate active).
    pub expected_open: f64,
}

impl Gating {
    /// How open the gates of the module are, parameter by parameter.
    pub fn openness<M: Module>(&self, module: &M) -> Result<Vec<Openness>> {
        let mut rows = Vec::new();
        for found in self.found(module)? {
            let (Some(spec), Some(log_alpha), Some(prob)) =
                (&found.rule.gates, &found.log_alpha, found.prob_active())
            else {
                continue;
            };
            let gates = distribution::test_gate(&spec.distribution, log_alpha.clone());
            rows.push(Openness {
                path: found.rule.path.clone(),
                gates: found.expected,
                behind_each: found.elements.unwrap_or(0) / found.expected,
                open: read("gates", gates)?.iter().filter(|&&z| z != 0.0).count(),
                expected_open: read("probabilities", prob)?.iter().sum(),
            });
        }
        Ok(rows)
    }
}

/// The numbers of a tensor, row by row.
pub(crate) fn read<const D: usize>(what: &str, tensor: Tensor<D>) -> Result<Vec<f64>> {
    let data = tensor.try_into_data().map_err(|error| Error::Device {
        what: what.into(),
        reason: format!("{error:?}"),
    })?;
    Ok(data.iter::<f64>().collect())
}
