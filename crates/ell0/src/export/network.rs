//! A compacted network as it is written: dense layers on the inputs that are read, and a head behind each output.

use crate::{
    error::{Result, require, require_len},
    network::{Activation, Compact, Head},
};

/// A compacted network with names, ready to be written.
///
/// ```
/// use ell0::{export::Network, network::{Activation, Mlp, MlpConfig}, rng::Stream};
/// let mlp = Mlp::new(&MlpConfig::new([2, 8, 1], Activation::Elu), &Stream::new(1))?;
/// let network = Network::new(mlp.compact()?, vec!["a".into(), "b".into()], vec!["y".into()])?;
/// assert_eq!(network.predict(&[0.5, -0.5])?, mlp.predict(&[0.5, -0.5])?);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    compact: Compact,
    inputs: Vec<String>,
    outputs: Vec<String>,
    heads: Vec<Head>,
    layers: Vec<Layer>,
}

/// The heads of all outputs, where they are of one kind.
pub(super) enum Heads {
    Identity,
    Tanh {
        halves: Vec<f32>,
        /// None if all are zero.
        centres: Option<Vec<f32>>,
    },
    Scaled(Vec<f32>),
    Mixed,
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
    /// A network with names of all the original inputs and of the outputs, which stand as they are; see [`Network::with_heads`].
    pub fn new(compact: Compact, inputs: Vec<String>, outputs: Vec<String>) -> Result<Self> {
        let mlp = compact.network();
        let architecture = mlp.architecture();
        require_len("names of inputs", inputs.len(), compact.original_inputs())?;
        require_len("names of outputs", outputs.len(), architecture.outputs())?;
        for value in mlp.parameters() {
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
            heads: vec![Head::Identity; outputs.len()],
            outputs,
            layers,
        })
    }

    /// The same network with a head behind each output.
    pub fn with_heads(mut self, heads: Vec<Head>) -> Result<Self> {
        require_len("heads of the outputs", heads.len(), self.outputs.len())?;
        heads.iter().try_for_each(Head::check)?;
        self.heads = heads;
        Ok(self)
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
        for row in values.chunks_exact_mut(self.heads.len()) {
            for (value, head) in row.iter_mut().zip(&self.heads) {
                *value = head.apply(*value);
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

    /// What stands behind each output.
    pub(super) fn heads(&self) -> &[Head] {
        &self.heads
    }

    /// The heads of all outputs at once, for languages that work on whole rows.
    pub(super) fn heads_at_once(&self) -> Heads {
        let all = |value: fn(&Head) -> Option<f32>| self.heads.iter().map(value).collect();
        let half = |head: &Head| match *head {
            Head::Tanh { half, .. } => Some(half),
            _ => None,
        };
        let centre = |head: &Head| match *head {
            Head::Tanh { centre, .. } => Some(centre),
            _ => None,
        };
        let factor = |head: &Head| match *head {
            Head::Scaled(factor) => Some(factor),
            _ => None,
        };
        let (halves, centres): (Option<Vec<f32>>, Option<Vec<f32>>) = (all(half), all(centre));
        if self.heads.iter().all(|head| *head == Head::Identity) {
            Heads::Identity
        } else if let (Some(halves), Some(centres)) = (halves, centres) {
            let centred = centres.iter().any(|centre| *centre != 0.0);
            Heads::Tanh {
                halves,
                centres: centred.then_some(centres),
            }
        } else if let Some(factors) = all(factor) {
            Heads::Scaled(factors)
        } else {
            Heads::Mixed
        }
    }

    /// Whether a layer, or a head, uses an activation.
    pub(super) fn uses(&self, activation: Activation) -> bool {
        let bounded = |head: &Head| matches!(head, Head::Tanh { .. });
        self.layers.iter().any(|l| l.activation == activation)
            || activation == Activation::Tanh && self.heads.iter().any(bounded)
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
        for (value, head) in state.iter_mut().zip(&self.heads) {
            *value = head.apply_double(*value);
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
