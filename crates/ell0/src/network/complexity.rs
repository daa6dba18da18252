//! How many parameters and operations a network has, is expected to have under its gates, and is left with.

use serde::Serialize;

use super::{Architecture, Gating, Mlp, Per};
use crate::{
    error::{Result, require_len},
    gates::HardConcrete,
};

/// The size of a network: as built, in expectation over its gates, and after compaction.
///
/// A FLOP count is for one row: 2 operations for each weight and 1 for each bias; activations are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Complexity {
    /// Weights and biases as built.
    pub parameters: usize,
    /// Expected number of weights behind an active gate (weights without a gate count in full): the expected L0 norm.
    pub expected_l0: f64,
    /// Weights whose test-time gate is open.
    pub active_weights: usize,
    /// Weights and biases of the compacted network that are not exactly zero.
    pub active: usize,
    /// Gates in all.
    pub gates: usize,
    /// Gates open at test time.
    pub open_gates: usize,
    /// Operations of the network as built.
    pub flops: f64,
    /// Expected operations when units with closed gates are left out.
    pub expected_flops: f64,
    /// Operations of the compacted network.
    pub compacted_flops: f64,
}

/// Weights that count, of those behind gates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sparsity {
    /// Expected number of weights behind active gates.
    pub expected_l0: f64,
    /// Weights whose test-time gate is open.
    pub active_weights: usize,
}

impl Architecture {
    /// How many weights count.
    pub(crate) fn sparsity(&self, parameters: &[f32]) -> Result<Sparsity> {
        require_len("parameters", parameters.len(), self.parameter_len())?;
        let mut sparsity = Sparsity::default();
        for (index, layer) in self.layers().iter().enumerate() {
            let log_alphas = &parameters[self.log_alphas(index)];
            match layer.gating {
                Gating::Plain => {
                    sparsity.expected_l0 += (layer.inputs * layer.outputs) as f64;
                    sparsity.active_weights += layer.inputs * layer.outputs;
                }
                Gating::Gated(spec) => {
                    let behind = layer.weights_per_gate();
                    let gate = spec.distribution;
                    let prob = |&a: &f32| gate.prob_active(f64::from(a));
                    sparsity.expected_l0 +=
                        log_alphas.iter().map(prob).sum::<f64>() * behind as f64;
                    sparsity.active_weights += open(gate, log_alphas) * behind;
                }
            }
        }
        Ok(sparsity)
    }
}

impl Architecture {
    /// Inputs of each layer that a test-time gate lets through: all of them where there are none.
    pub(crate) fn open_inputs(&self, parameters: &[f32]) -> Result<Vec<usize>> {
        require_len("parameters", parameters.len(), self.parameter_len())?;
        let count = |(index, layer): (usize, &super::Dense)| {
            let Gating::Gated(spec) = layer.gating else {
                return layer.inputs;
            };
            let log_alphas = &parameters[self.log_alphas(index)];
            let (mut gates, mut slopes) =
                (vec![0.0; log_alphas.len()], vec![0.0; log_alphas.len()]);
            spec.distribution
                .test_slices(log_alphas, &mut gates, &mut slopes);
            let each = layer.gates().checked_div(layer.inputs).unwrap_or(1).max(1);
            let open = |gates: &&[f32]| gates.iter().any(|z| *z > 0.0);
            gates.chunks(each).filter(open).count()
        };
        Ok(self.layers().iter().enumerate().map(count).collect())
    }
}

fn open(gate: HardConcrete, log_alphas: &[f32]) -> usize {
    let (mut gates, mut slopes) = (vec![0.0; log_alphas.len()], vec![0.0; log_alphas.len()]);
    gate.test_slices(log_alphas, &mut gates, &mut slopes);
    gates.iter().filter(|&&z| z > 0.0).count()
}

impl Complexity {
    pub(super) fn of(architecture: &Architecture, parameters: &[f32]) -> Result<Self> {
        let Sparsity {
            expected_l0,
            active_weights,
        } = architecture.sparsity(parameters)?;
        let mut open_gates = 0;
        // Expected number of inputs of each layer that are open.
        let mut open_inputs = Vec::new();
        for (index, layer) in architecture.layers().iter().enumerate() {
            let log_alphas = &parameters[architecture.log_alphas(index)];
            match layer.gating {
                Gating::Plain => open_inputs.push(layer.inputs as f64),
                Gating::Gated(spec) => {
                    open_gates += open(spec.distribution, log_alphas);
                    let per_input = match spec.per {
                        Per::Unit => 1,
                        Per::Weight => layer.outputs.max(1),
                    };
                    // An input is left out if all of its gates, independent of each other, are closed.
                    let closed = |gates: &[f32]| -> f64 {
                        gates
                            .iter()
                            .map(|&a| spec.distribution.prob_zero(f64::from(a)))
                            .product()
                    };
                    open_inputs.push(log_alphas.chunks(per_input).map(|g| 1.0 - closed(g)).sum());
                }
            }
        }
        // Gates of different layers are independent, so the expectation of a product of counts is the product of expectations.
        open_inputs.push(architecture.outputs() as f64);
        let expected_flops = open_inputs
            .windows(2)
            .zip(architecture.layers())
            .map(|(pair, layer)| (2.0 * pair[0] + f64::from(layer.bias)) * pair[1])
            .sum();
        let compact = Mlp::from_parameters(architecture.clone(), parameters.to_vec())?.compact()?;
        let network = compact.network();
        Ok(Complexity {
            parameters: architecture.weights_and_biases().len(),
            expected_l0,
            active_weights,
            active: network.parameters().iter().filter(|&&w| w != 0.0).count(),
            gates: architecture.all_log_alphas().len(),
            open_gates,
            flops: flops(architecture),
            expected_flops,
            compacted_flops: flops(network.architecture()),
        })
    }
}

fn flops(architecture: &Architecture) -> f64 {
    let count = |layer: &super::Dense| (2 * layer.inputs + usize::from(layer.bias)) * layer.outputs;
    architecture.layers().iter().map(count).sum::<usize>() as f64
}
