//! A compacted network as it is written: dense layers on the inputs that are read, and for a policy max·tanh of the last.

use crate::{
    error::{Result, require, require_len},
    network::{Activation, Compact},
};

/// A compacted network with names, ready to be written.
///
/// ```
/// use ell0::{export::Network, network::{Activation, Mlp, MlpConfig}, rng::Stream};
/// let mlp = Mlp::new(&MlpConfig::new([2, 8, 1], Activation::Elu), &Stream::new(1))?;
/// let network = Network::new(mlp.compact()?, vec!["a".into(), "b".into()], vec!["y".into()], None)?;
/// assert_eq!(network.predict(&[0.5, -0.5])?, mlp.predict(&[0.5, -0.5])?);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    compact: Compact,
    inputs: Vec<String>,
    outputs: Vec<String>,
    saturation: Option<Vec<f32>>,
    layers: Vec<Layer>,
}

/// y = f(x W + b), W of shape (inputs, outputs) row by row.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub inputs: usize,
    pub outputs: usize,
    pub activation: Activation,
    pub weights: Vec<f32>,
    pub biases: Vec<f32>,
}

impl Network {
    /// A network with names of all the original inputs and of the outputs; with a saturation, the outputs are max·tanh of the network's.
    pub fn new(
        compact: Compact,
        inputs: Vec<String>,
        outputs: Vec<String>,
        saturation: Option<Vec<f32>>,
    ) -> Result<Self> {
        let mlp = compact.network();
        let architecture = mlp.architecture();
        require_len("names of inputs", inputs.len(), compact.original_inputs())?;
        require_len("names of outputs", outputs.len(), architecture.outputs())?;
        if let Some(saturation) = &saturation {
            require_len("greatest outputs", saturation.len(), outputs.len())?;
        }
        let limits = saturation.iter().flatten();
        for value in mlp.parameters().iter().chain(limits) {
            require(
                value.is_finite(),
                "parameter of a network",
                value,
                "only finite numbers can be written; take an earlier checkpoint",
            )?;
        }
        let layer = |index: usize| {
            let dense = architecture.layers()[index];
            Layer {
                inputs: dense.inputs,
                outputs: dense.outputs,
                activation: dense.activation,
                weights: mlp.parameters()[architecture.weights(index)].to_vec(),
                biases: if dense.bias {
                    mlp.parameters()[architecture.biases(index)].to_vec()
                } else {
                    vec![0.0; dense.outputs]
                },
            }
        };
        let mut layers: Vec<Layer> = (0..architecture.layers().len()).map(layer).collect();
        // Compaction moves constants into the biases: where a hidden layer is empty, the last biases are all there is.
        if let Some(last) = layers.pop() {
            layers = if layers.iter().any(|l| l.outputs == 0) {
                let inputs = architecture.inputs();
                vec![Layer {
                    inputs,
                    weights: vec![0.0; inputs * last.outputs],
                    ..last
                }]
            } else {
                layers.into_iter().chain([last]).collect()
            };
        }
        Ok(Network {
            compact,
            inputs,
            outputs,
            saturation,
            layers,
        })
    }

    /// Names of all the original inputs.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// Names of the outputs.
    pub fn outputs(&self) -> &[String] {
        &self.outputs
    }

    /// Predictions for rows of all the original inputs, row by row, in single precision.
    pub fn predict(&self, rows: &[f32]) -> Result<Vec<f32>> {
        let mut values = self.compact.predict(rows)?;
        if let Some(saturation) = &self.saturation {
            for row in values.chunks_exact_mut(saturation.len()) {
                for (value, max) in row.iter_mut().zip(saturation) {
                    *value = max * value.tanh();
                }
            }
        }
        Ok(values)
    }

    /// The original inputs that are read.
    pub(super) fn read(&self) -> &[usize] {
        self.compact.inputs()
    }

    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Greatest absolute value of each output, for a policy.
    pub(super) fn saturation(&self) -> Option<&[f32]> {
        self.saturation.as_deref()
    }

    /// Whether a layer, or the saturation, uses an activation.
    pub(super) fn uses(&self, activation: Activation) -> bool {
        self.layers.iter().any(|l| l.activation == activation)
            || activation == Activation::Tanh && self.saturation.is_some()
    }

    /// The outputs for one row in double precision: what the written code computes.
    pub(super) fn evaluate(&self, row: &[f64]) -> Vec<f64> {
        let mut state: Vec<f64> = self.read().iter().map(|&i| row[i]).collect();
        for layer in &self.layers {
            let unit = |o: usize| {
                let column = layer.weights.iter().skip(o).step_by(layer.outputs);
                let sum = state
                    .iter()
                    .zip(column)
                    .fold(f64::from(layer.biases[o]), |sum, (x, w)| {
                        sum + f64::from(*w) * x
                    });
                match layer.activation {
                    Activation::Elu if sum < 0.0 => sum.exp_m1(),
                    Activation::Relu if sum < 0.0 => 0.0,
                    Activation::Tanh => sum.tanh(),
                    _ => sum,
                }
            };
            state = (0..layer.outputs).map(unit).collect();
        }
        if let Some(saturation) = &self.saturation {
            for (value, max) in state.iter_mut().zip(saturation) {
                *value = f64::from(*max) * value.tanh();
            }
        }
        state
    }
}

impl Layer {
    /// Weights with those of one output side by side, as code that computes one output after the other reads them.
    pub(super) fn transposed(&self) -> impl Iterator<Item = f32> {
        (0..self.outputs).flat_map(|o| self.weights.iter().skip(o).step_by(self.outputs).copied())
    }
}
