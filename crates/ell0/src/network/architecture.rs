//! The layers of a network and where their parameters lie.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Activation;
use crate::{
    error::{Error, Result, require, require_len},
    gates::HardConcrete,
};

/// What a gate multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// One gate for each input unit of the layer: all the weights that leave the unit.
    Unit,
    /// One gate for each weight.
    Weight,
}

/// How often a gate is drawn anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoisePer {
    /// One draw for the whole batch: closed units can be skipped.
    Batch,
    /// One draw for each row: gradients of lower variance, at more work; a unit is skipped where all of its rows are closed.
    Row,
}

/// The gates of a layer.
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `distribution` | β = 2/3, γ = −0.1, ζ = 1.1 | the gates' distribution | see [`HardConcrete`] |
/// | `per` | unit | what a gate multiplies | unit, weight |
/// | `noise` | batch | how often gates are drawn | batch, row |
/// | `drop_rate` | 0.5 | initial d, log α ~ N(log((1−d)/d), 0.01²) | (0, 1) |
/// | `price` | 1 | factor of the penalty's λ in this layer | ≥ 0 |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateSpec {
    /// Distribution of the gates.
    pub distribution: HardConcrete,
    /// What a gate multiplies.
    pub per: Per,
    /// How often gates are drawn.
    pub noise: NoisePer,
    /// Initial drop rate.
    pub drop_rate: f64,
    /// Factor of λ.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub price: f64,
}

fn one() -> f64 {
    1.0
}

fn is_one(price: &f64) -> bool {
    *price == 1.0
}

impl Default for GateSpec {
    fn default() -> Self {
        GateSpec {
            distribution: HardConcrete::default(),
            per: Per::Unit,
            noise: NoisePer::Batch,
            drop_rate: 0.5,
            price: 1.0,
        }
    }
}

/// Whether a layer has gates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Gating {
    /// No gates.
    Plain,
    /// Gates on the inputs or the weights.
    Gated(GateSpec),
}

/// A dense layer: y = f((x ⊙ z) W + b), or y = f(x (z ⊙ W) + b), with W of shape (inputs, outputs).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Number of input units.
    pub inputs: usize,
    /// Number of output units.
    pub outputs: usize,
    /// Function after the linear map.
    pub activation: Activation,
    /// Gates, if any.
    pub gating: Gating,
    /// Whether there is a bias for each output.
    pub bias: bool,
}

impl Dense {
    /// Number of gates.
    pub fn gates(&self) -> usize {
        match self.gating {
            Gating::Plain => 0,
            Gating::Gated(GateSpec { per: Per::Unit, .. }) => self.inputs,
            Gating::Gated(GateSpec {
                per: Per::Weight, ..
            }) => self.inputs * self.outputs,
        }
    }

    /// Number of weights behind one gate.
    pub(crate) fn weights_per_gate(&self) -> usize {
        match self.gating {
            Gating::Gated(GateSpec { per: Per::Unit, .. }) => self.outputs,
            _ => 1,
        }
    }
}

/// The layers of a network and the place of each in the flat parameter vector:
/// weights (row by row) and biases of layer after layer, then the log α of layer after layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Dense>", into = "Vec<Dense>")]
pub struct Architecture {
    layers: Vec<Dense>,
    weights: Vec<Range<usize>>,
    biases: Vec<Range<usize>>,
    log_alphas: Vec<Range<usize>>,
    ungated: usize,
    total: usize,
}

impl TryFrom<Vec<Dense>> for Architecture {
    type Error = Error;

    fn try_from(layers: Vec<Dense>) -> Result<Self> {
        Architecture::new(layers)
    }
}

impl From<Architecture> for Vec<Dense> {
    fn from(architecture: Architecture) -> Self {
        architecture.layers
    }
}

/// No network here has more parameters than this; a larger number is a mistake or a forged file.
const MAX_PARAMETERS: usize = 1 << 28;

/// Nor is any layer wider than this.
const MAX_WIDTH: usize = 1 << 20;

impl Architecture {
    /// Checks that there is a layer, that each layer's inputs are the outputs of the one before, and that the gates' drop rates are in (0, 1).
    /// Hidden layers of width 0 are allowed: compaction makes them.
    pub fn new(layers: Vec<Dense>) -> Result<Self> {
        require(
            !layers.is_empty(),
            "layers",
            0,
            "a network needs at least one layer",
        )?;
        require(
            layers.first().is_some_and(|layer| layer.inputs > 0),
            "inputs",
            0,
            "a network needs at least one input",
        )?;
        require(
            layers.last().is_some_and(|layer| layer.outputs > 0),
            "outputs",
            0,
            "a network needs at least one output",
        )?;
        for width in layers
            .iter()
            .flat_map(|layer| [layer.inputs, layer.outputs])
        {
            require(
                width <= MAX_WIDTH,
                "width of a layer",
                width,
                "at most 2^20",
            )?;
        }
        for (index, pair) in layers.windows(2).enumerate() {
            require_len(
                format!("inputs of layer {}", index + 1),
                pair[1].inputs,
                pair[0].outputs,
            )?;
        }
        let (mut weights, mut biases, mut log_alphas) = (Vec::new(), Vec::new(), Vec::new());
        let mut next = 0usize;
        let mut place = |length: Option<usize>| {
            let end = length
                .and_then(|length| next.checked_add(length))
                .filter(|&end| end <= MAX_PARAMETERS)
                .ok_or_else(|| {
                    Error::parameter("layers", "too large", "at most 2^28 parameters")
                })?;
            Ok::<_, Error>(std::mem::replace(&mut next, end)..end)
        };
        for layer in &layers {
            weights.push(place(layer.inputs.checked_mul(layer.outputs))?);
            biases.push(place(Some(if layer.bias { layer.outputs } else { 0 }))?);
        }
        let ungated = biases.last().map_or(0, |range| range.end);
        for layer in &layers {
            if let Gating::Gated(spec) = layer.gating {
                require(
                    spec.drop_rate > 0.0 && spec.drop_rate < 1.0,
                    "drop_rate",
                    spec.drop_rate,
                    "the initial drop rate must lie strictly between 0 and 1, for example 0.5",
                )?;
                require(
                    spec.price >= 0.0 && spec.price.is_finite(),
                    "price",
                    spec.price,
                    "the factor of λ must be finite and not negative",
                )?;
            }
            log_alphas.push(place(Some(layer.gates()))?);
        }
        let total = log_alphas.last().map_or(0, |range| range.end);
        Ok(Architecture {
            layers,
            weights,
            biases,
            log_alphas,
            ungated,
            total,
        })
    }

    /// The layers.
    pub fn layers(&self) -> &[Dense] {
        &self.layers
    }

    /// Number of inputs of the network.
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of outputs of the network.
    pub fn outputs(&self) -> usize {
        self.layers[self.layers.len() - 1].outputs
    }

    /// Length of the flat parameter vector: weights, biases and log α.
    pub fn parameter_len(&self) -> usize {
        self.total
    }

    /// The part of the parameter vector that holds weights and biases; the log α of all gates follow it.
    pub fn weights_and_biases(&self) -> Range<usize> {
        0..self.ungated
    }

    /// The part of the parameter vector that holds the log α of all gates.
    pub fn all_log_alphas(&self) -> Range<usize> {
        self.ungated..self.total
    }

    /// Place of the weights of a layer, row by row (inputs × outputs).
    pub fn weights(&self, layer: usize) -> Range<usize> {
        self.weights[layer].clone()
    }

    /// Place of the biases of a layer; empty for one without.
    pub fn biases(&self, layer: usize) -> Range<usize> {
        self.biases[layer].clone()
    }

    /// Place of the log α of a layer; empty for a plain one. For gates per weight, row by row as the weights.
    pub fn log_alphas(&self, layer: usize) -> Range<usize> {
        self.log_alphas[layer].clone()
    }

    /// What a parameter is, in words; inputs, units and layers are counted from 1.
    pub(super) fn place(&self, parameter: usize) -> String {
        for (index, layer) in self.layers.iter().enumerate() {
            let width = layer.outputs.max(1);
            let at = |range: &Range<usize>| {
                let own = range.contains(&parameter);
                own.then(|| parameter - range.start)
            };
            let what = if let Some(k) = at(&self.weights[index]) {
                format!(
                    "the weight from input {} to unit {}",
                    k / width + 1,
                    k % width + 1
                )
            } else if let Some(k) = at(&self.biases[index]) {
                format!("the bias of unit {}", k + 1)
            } else if let Some(k) = at(&self.log_alphas[index]) {
                format!("gate {}", k + 1)
            } else {
                continue;
            };
            return format!("{what} of layer {}", index + 1);
        }
        format!("parameter {}", parameter + 1)
    }

    /// Number of uniform numbers that one draw of all per-batch gates takes.
    pub fn shared_noise_len(&self) -> usize {
        self.noise_len(NoisePer::Batch)
    }

    /// Number of uniform numbers that one draw of all per-row gates takes, for a batch of `rows`.
    pub fn row_noise_len(&self, rows: usize) -> usize {
        self.noise_len(NoisePer::Row) * rows
    }

    fn noise_len(&self, per: NoisePer) -> usize {
        self.layers
            .iter()
            .filter(|layer| matches!(layer.gating, Gating::Gated(spec) if spec.noise == per))
            .map(Dense::gates)
            .sum()
    }

    pub(super) fn widest(&self) -> usize {
        self.layers
            .iter()
            .map(|l| l.inputs.max(l.outputs))
            .max()
            .unwrap_or(0)
    }
}
