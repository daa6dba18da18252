//! A network: an architecture with its parameters.

use serde::{Deserialize, Serialize};

use super::{Activation, Architecture, Complexity, Dense, Draw, GateSpec, Gating, Pass};
use crate::{
    error::{Error, Result, require, require_len},
    rng::{Generator, Stream},
};

/// How weights are drawn at first; biases start at zero.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Init {
    /// N(0, 2/inputs): He et al., right for ELU and ReLU. (What the published code calls fan-out, its weights being stored as (inputs, outputs).)
    He,
    /// Uniform in ±1/√inputs, biases too: PyTorch's linear layer.
    Torch,
    /// N(0, deviation²).
    Normal(f64),
}

/// What a network is made of.
///
/// | parameter | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `dims` | – | inputs, widths of the hidden layers, outputs | at least two, each ≥ 1 |
/// | `hidden` | – | activation of the hidden layers | elu, relu, tanh, identity |
/// | `output` | identity | activation of the last layer | the same |
/// | `gates` | none | gates on every layer | see [`GateSpec`] |
/// | `init` | He | how weights are drawn | see [`Init`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MlpConfig {
    /// Inputs, widths of the hidden layers, outputs.
    pub dims: Vec<usize>,
    /// Activation of the hidden layers.
    pub hidden: Activation,
    /// Activation of the last layer.
    #[serde(default = "identity")]
    pub output: Activation,
    /// Gates on every layer, if any.
    #[serde(default)]
    pub gates: Option<GateSpec>,
    /// How weights are drawn.
    #[serde(default = "he")]
    pub init: Init,
}

fn identity() -> Activation {
    Activation::Identity
}

fn he() -> Init {
    Init::He
}

impl MlpConfig {
    /// A plain network with the given widths.
    pub fn new(dims: impl Into<Vec<usize>>, hidden: Activation) -> Self {
        MlpConfig {
            dims: dims.into(),
            hidden,
            output: Activation::Identity,
            gates: None,
            init: Init::He,
        }
    }

    /// The same with gates on every layer.
    #[must_use]
    pub fn gated(mut self, gates: GateSpec) -> Self {
        self.gates = Some(gates);
        self
    }

    /// The layers this describes.
    pub fn architecture(&self) -> Result<Architecture> {
        require(
            self.dims.len() >= 2 && !self.dims.contains(&0),
            "dims",
            format!("{:?}", self.dims),
            "inputs, hidden widths and outputs: at least two numbers, none of them 0",
        )?;
        let last = self.dims.len() - 2;
        let layers = self.dims.windows(2).enumerate().map(|(index, pair)| Dense {
            inputs: pair[0],
            outputs: pair[1],
            activation: if index == last {
                self.output
            } else {
                self.hidden
            },
            gating: self.gates.map_or(Gating::Plain, Gating::Gated),
            bias: true,
        });
        Architecture::new(layers.collect())
    }
}

/// A multi-layer perceptron.
///
/// ```
/// use ell0::{network::{Activation, GateSpec, Mlp, MlpConfig}, rng::Stream};
/// let config = MlpConfig::new([4, 128, 128, 3], Activation::Elu).gated(GateSpec::default());
/// let model = Mlp::new(&config, &Stream::new(1))?;
/// let row = [0.5, -0.5, 1.0, 0.0];
/// let full = model.predict(&row)?;
/// let compact = model.compact()?.predict(&row)?;
/// assert!(full.iter().zip(&compact).all(|(a, b)| (a - b).abs() < 1e-4));
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    architecture: Architecture,
    parameters: Vec<f32>,
}

impl Mlp {
    /// A network with random weights.
    pub fn new(config: &MlpConfig, stream: &Stream) -> Result<Self> {
        Mlp::random(config.architecture()?, config.init, stream)
    }

    /// A network of the given layers with random weights.
    pub fn random(architecture: Architecture, init: Init, stream: &Stream) -> Result<Self> {
        if let Init::Normal(deviation) = init {
            require(
                deviation >= 0.0 && deviation.is_finite(),
                "standard deviation of the initial weights",
                deviation,
                "it must be finite and not negative",
            )?;
        }
        let mut parameters = vec![0f32; architecture.parameter_len()];
        for (index, layer) in architecture.layers().iter().enumerate() {
            let mut rng = stream.split("initial weights").at(index as u64);
            let fan_in = layer.inputs.max(1) as f64;
            let weight = |rng: &mut Generator| match init {
                Init::He => rng.normal() * (2.0 / fan_in).sqrt(),
                Init::Torch => (2.0 * rng.uniform() - 1.0) / fan_in.sqrt(),
                Init::Normal(deviation) => rng.normal() * deviation,
            };
            for value in &mut parameters[architecture.weights(index)] {
                *value = weight(&mut rng) as f32;
            }
            if init == Init::Torch {
                for value in &mut parameters[architecture.biases(index)] {
                    *value = weight(&mut rng) as f32;
                }
            }
            if let Gating::Gated(spec) = layer.gating {
                let centre = ((1.0 - spec.drop_rate) / spec.drop_rate).ln();
                let mut rng = stream.split("initial gates").at(index as u64);
                for value in &mut parameters[architecture.log_alphas(index)] {
                    *value = (centre + 0.01 * rng.normal()) as f32;
                }
            }
        }
        Ok(Mlp {
            architecture,
            parameters,
        })
    }

    /// A network with given parameters, in the order that [`Architecture`] says.
    pub fn from_parameters(architecture: Architecture, parameters: Vec<f32>) -> Result<Self> {
        require_len("parameters", parameters.len(), architecture.parameter_len())?;
        Ok(Mlp {
            architecture,
            parameters,
        })
    }

    /// Refuses parameters that are no numbers, as a file that somebody changed may hold: every prediction would be none either. Gates may be infinitely closed or open.
    pub fn check_finite(&self) -> Result<()> {
        let gates = self.architecture.weights_and_biases().end;
        let sound = |(place, value): (usize, &f32)| match place < gates {
            true => value.is_finite(),
            false => !value.is_nan(),
        };
        let parameters = self.parameters.iter().enumerate();
        match parameters.into_iter().find(|p| !sound(*p)) {
            None => Ok(()),
            Some((place, value)) => Err(Error::parameter(
                "parameter of a network",
                value,
                format!("{} must be finite", self.architecture.place(place)),
            )),
        }
    }

    /// The layers.
    pub fn architecture(&self) -> &Architecture {
        &self.architecture
    }

    /// All parameters, in the order that [`Architecture`] says.
    pub fn parameters(&self) -> &[f32] {
        &self.parameters
    }

    /// All parameters, to be changed in place.
    pub fn parameters_mut(&mut self) -> &mut [f32] {
        &mut self.parameters
    }

    /// Predictions with the gates of test time; rows and predictions stand row by row.
    pub fn predict(&self, rows: &[f32]) -> Result<Vec<f32>> {
        predict(&self.architecture, &self.parameters, rows)
    }

    /// How large the network is, was, and will be.
    pub fn complexity(&self) -> Result<Complexity> {
        Complexity::of(&self.architecture, &self.parameters)
    }
}

/// Rows that are worked on together: enough to keep the matrix products efficient, few enough to stay in the cache.
const BLOCK: usize = 256;

fn predict(architecture: &Architecture, parameters: &[f32], rows: &[f32]) -> Result<Vec<f32>> {
    let (inputs, outputs) = (architecture.inputs(), architecture.outputs());
    let count = rows.len() / inputs;
    require_len(
        format!("values of rows of {inputs}"),
        rows.len(),
        count * inputs,
    )?;
    let mut pass = Pass::new(architecture, BLOCK.min(count));
    let mut columns = vec![0.0; BLOCK * inputs];
    let mut predictions = vec![0.0; count * outputs];
    let blocks = rows
        .chunks(BLOCK * inputs)
        .zip(predictions.chunks_mut(BLOCK * outputs));
    for (block, predictions) in blocks {
        let n = block.len() / inputs;
        for (row, values) in block.chunks_exact(inputs).enumerate() {
            for (column, &value) in values.iter().enumerate() {
                columns[column * n + row] = value;
            }
        }
        let y = pass.forward(parameters, &columns[..n * inputs], Draw::TestTime)?;
        for (row, values) in predictions.chunks_exact_mut(outputs).enumerate() {
            for (column, value) in values.iter_mut().enumerate() {
                *value = y[column * n + row];
            }
        }
    }
    Ok(predictions)
}
