//! The smaller plain network that a gated one amounts to.

use super::{Architecture, Dense, Gating, Mlp, Per};
use crate::error::{Result, require_len};

/// A compacted network and which of the original inputs it reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Compact {
    inputs: Vec<usize>,
    original_inputs: usize,
    network: Mlp,
}

impl Compact {
    /// The original inputs that are read, in order. A network that depends on no input keeps the first, with zero weights.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Number of inputs of the original network.
    pub fn original_inputs(&self) -> usize {
        self.original_inputs
    }

    /// The plain network on those inputs.
    pub fn network(&self) -> &Mlp {
        &self.network
    }

    /// Predictions for rows of all the original inputs, row by row.
    pub fn predict(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let whole = rows.len() / self.original_inputs * self.original_inputs;
        require_len(
            format!("values of rows of {}", self.original_inputs),
            rows.len(),
            whole,
        )?;
        let selected: Vec<f32> = rows
            .chunks_exact(self.original_inputs)
            .flat_map(|row| self.inputs.iter().map(|&i| row[i]))
            .collect();
        self.network.predict(&selected)
    }
}

/// The effective weights of a layer and the units that are left.
struct Pruned {
    weights: Vec<f32>,
    biases: Vec<f32>,
    outputs: usize,
    open_inputs: Vec<usize>,
}

impl Mlp {
    /// The plain network with the gates of test time folded into the weights and everything without effect removed.
    ///
    /// An input of a layer goes if all of its effective weights are zero, and with it the hidden unit that feeds it. A hidden unit that reads nothing is a constant and
    /// moves into the biases of the next layer. Outputs stay the same to round-off.
    pub fn compact(&self) -> Result<Compact> {
        let architecture = self.architecture();
        let mut layers: Vec<Pruned> = (0..architecture.layers().len())
            .map(|index| self.pruned(index))
            .collect();
        // Backwards: a hidden unit that no one reads is not computed.
        for index in (0..layers.len() - 1).rev() {
            let keep = std::mem::take(&mut layers[index + 1].open_inputs);
            let next = &mut layers[index + 1];
            let outputs = next.outputs;
            next.weights = keep
                .iter()
                .flat_map(|&i| next.weights[i * outputs..][..outputs].to_vec())
                .collect();
            next.open_inputs = (0..keep.len()).collect();
            layers[index].keep_outputs(&keep);
        }
        // Forwards: a hidden unit that reads nothing is a constant.
        for index in 0..layers.len() - 1 {
            let activation = architecture.layers()[index].activation;
            let (before, after) = layers.split_at_mut(index + 1);
            let (layer, next) = (&mut before[index], &mut after[0]);
            let (varying, constant): (Vec<usize>, Vec<usize>) =
                (0..layer.outputs).partition(|&o| layer.reads_something(o));
            for o in constant {
                let value = activation.apply(layer.biases[o]);
                let row = &next.weights[o * next.outputs..][..next.outputs];
                for (bias, &w) in next.biases.iter_mut().zip(row) {
                    *bias += value * w;
                }
            }
            let outputs = next.outputs;
            next.weights = varying
                .iter()
                .flat_map(|&i| next.weights[i * outputs..][..outputs].to_vec())
                .collect();
            layer.keep_outputs(&varying);
        }
        let first = &mut layers[0];
        let mut inputs: Vec<usize> = (0..architecture.inputs())
            .filter(|&i| {
                first.weights[i * first.outputs..][..first.outputs]
                    .iter()
                    .any(|&w| w != 0.0)
            })
            .collect();
        if inputs.is_empty() {
            inputs.push(0);
        }
        first.weights = inputs
            .iter()
            .flat_map(|&i| first.weights[i * first.outputs..][..first.outputs].to_vec())
            .collect();

        let mut width = inputs.len();
        let mut dense = Vec::new();
        let mut parameters = Vec::new();
        for (layer, original) in layers.into_iter().zip(architecture.layers()) {
            // A unit that turned out constant may have moved into biases that were not there.
            let bias = original.bias || layer.biases.iter().any(|&b| b != 0.0);
            dense.push(Dense {
                inputs: width,
                outputs: layer.outputs,
                activation: original.activation,
                gating: Gating::Plain,
                bias,
            });
            width = layer.outputs;
            parameters.extend(layer.weights);
            parameters.extend(layer.biases.iter().filter(|_| bias));
        }
        Ok(Compact {
            inputs,
            original_inputs: architecture.inputs(),
            network: Mlp::from_parameters(Architecture::new(dense)?, parameters)?,
        })
    }

    /// A layer with its gates folded in, and the inputs it still reads.
    fn pruned(&self, index: usize) -> Pruned {
        let architecture = self.architecture();
        let layer = &architecture.layers()[index];
        let mut weights = self.parameters()[architecture.weights(index)].to_vec();
        if let Gating::Gated(spec) = layer.gating {
            let log_alphas = &self.parameters()[architecture.log_alphas(index)];
            let mut gates = vec![0.0; log_alphas.len()];
            let mut slopes = vec![0.0; log_alphas.len()];
            spec.distribution
                .test_slices(log_alphas, &mut gates, &mut slopes);
            for (k, weight) in weights.iter_mut().enumerate() {
                *weight *= match spec.per {
                    Per::Unit => gates[k / layer.outputs],
                    Per::Weight => gates[k],
                };
            }
        }
        let open_inputs = (0..layer.inputs)
            .filter(|i| {
                weights[i * layer.outputs..][..layer.outputs]
                    .iter()
                    .any(|&w| w != 0.0)
            })
            .collect();
        Pruned {
            weights,
            biases: if layer.bias {
                self.parameters()[architecture.biases(index)].to_vec()
            } else {
                vec![0.0; layer.outputs]
            },
            outputs: layer.outputs,
            open_inputs,
        }
    }
}

impl Pruned {
    fn keep_outputs(&mut self, keep: &[usize]) {
        let inputs = self.weights.len().checked_div(self.outputs).unwrap_or(0);
        self.weights = (0..inputs)
            .flat_map(|i| keep.iter().map(move |&o| (i, o)))
            .map(|(i, o)| self.weights[i * self.outputs + o])
            .collect();
        self.biases = keep.iter().map(|&o| self.biases[o]).collect();
        self.outputs = keep.len();
        // Inputs may have lost their last reader.
        self.open_inputs = (0..inputs)
            .filter(|i| {
                self.weights[i * keep.len()..][..keep.len()]
                    .iter()
                    .any(|&w| w != 0.0)
            })
            .collect();
    }

    fn reads_something(&self, output: usize) -> bool {
        self.weights
            .iter()
            .skip(output)
            .step_by(self.outputs)
            .any(|&w| w != 0.0)
    }
}
