//! A network that was trained, at work.

use std::{ops::Range, path::Path};

use ell0::{
    checkpoint::{Tensor, from_bytes, to_bytes},
    export::Network,
    input,
    network::{Architecture, Compact, Complexity, Mlp},
    training::{EpochRecord, Trainer},
    wording::{shown, shown_path},
};
use serde::{Deserialize, Serialize};

use super::{
    Names, NetworkSettings, NetworkTask, Quality, Scale, prepare::Prepared, quality::likeliest,
};
use crate::error::{About, Error, Result};

/// A network that was trained, without what its closed gates leave out.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseNetwork {
    /// What it was trained with.
    pub settings: NetworkSettings,
    /// What goes in and what comes out is called.
    pub names: Names,
    /// Its epochs.
    pub history: Vec<EpochRecord>,
    /// The epoch whose parameters these are.
    pub epoch: u64,
    network: Mlp,
    compact: Compact,
    scale_in: Scale,
    scale_out: Scale,
}

/// Rows that are compared at once.
const BLOCK: usize = 1000;

pub(crate) const FORMAT: &str = "ell0-sparse-network";
/// The file of a run's network.
pub(crate) const FILE: &str = "network.safetensors";

const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Header {
    settings: NetworkSettings,
    names: Names,
    history: Vec<EpochRecord>,
    epoch: u64,
    architecture: Architecture,
    scale_in: Scale,
    scale_out: Scale,
}

impl SparseNetwork {
    /// What was learned, as far as it is to be kept.
    pub(super) fn new(
        settings: NetworkSettings,
        names: Names,
        trainer: &Trainer,
        prepared: Prepared,
    ) -> Result<Self> {
        let last = trainer.history().len() as u64;
        SparseNetwork::checked(
            Header {
                settings,
                names,
                history: trainer.history().to_vec(),
                epoch: trainer.best().map_or(last, |best| best.epoch),
                architecture: trainer.model().architecture().clone(),
                scale_in: prepared.scale_in,
                scale_out: prepared.scale_out,
            },
            trainer.best_model(),
        )
    }

    /// Everything must fit together, also in a file that somebody changed.
    fn checked(header: Header, network: Mlp) -> Result<Self> {
        let compact = network.compact()?;
        let (inputs, outputs) = (compact.original_inputs(), network.architecture().outputs());
        for (scale, width) in [(&header.scale_in, inputs), (&header.scale_out, outputs)] {
            let all = || scale.mean.iter().chain(&scale.deviation);
            let whole = all().all(|v| v.is_finite()) && scale.deviation.iter().all(|d| *d > 0.0);
            if !whole || scale.mean.len() != width || scale.deviation.len() != width {
                return Err(Error::Settings("the scales of a network do not fit it"));
            }
        }
        let names = &header.names;
        if names.inputs.len() != inputs
            || names.outputs().len() != outputs
            || names.targets.is_empty()
            || names.classes.is_empty() != (header.settings.task == NetworkTask::Regression)
        {
            return Err(Error::Settings("the names of a network do not fit it"));
        }
        Ok(SparseNetwork {
            settings: header.settings,
            names: header.names,
            history: header.history,
            epoch: header.epoch,
            network,
            compact,
            scale_in: header.scale_in,
            scale_out: header.scale_out,
        })
    }

    /// Outputs for rows, row by row, in the units of the data: targets, or a number for each class, whose softmax are probabilities.
    pub fn predict(&self, rows: &[f64]) -> Result<Vec<f64>> {
        self.predict_placed(rows, &|row| format!("row {} (counted from 0)", row))
    }

    /// The same; `place` says where a row stands, for messages.
    pub(super) fn predict_placed(
        &self,
        rows: &[f64],
        place: &dyn Fn(usize) -> String,
    ) -> Result<Vec<f64>> {
        let inputs: Vec<f32> = self.scale_in.there(rows).collect();
        let names = &self.names.inputs;
        if let Some(at) = inputs.iter().position(|v| !v.is_finite()) {
            return Err(Error::Unsuitable(format!(
                "{}: `{}` = {:?} is too far from what the network was trained on (mean {:.4}, standard deviation {:.4}), which computes in single precision: repair the row or leave it out",
                place(at / names.len()),
                shown(&names[at % names.len()]),
                rows[at],
                self.scale_in.mean[at % names.len()],
                self.scale_in.deviation[at % names.len()],
            )));
        }
        let outputs = self.compact.predict(&inputs)?;
        if let Some(at) = outputs.iter().position(|v| !v.is_finite()) {
            let width = self.network.architecture().outputs();
            return Err(Error::Unsuitable(format!(
                "{}: the network gives no finite number for `{}`; its inputs are too far from those that it was trained on: repair the row or leave it out",
                place(at / width),
                shown(&self.names.outputs()[at % width]),
            )));
        }
        Ok(self.scale_out.back(&outputs))
    }

    /// How good it is on rows of inputs and targets.
    pub fn quality(&self, x: &[f64], y: &[f64]) -> Result<Quality> {
        let (found, outputs) = (self.predict(x)?, self.network.architecture().outputs());
        match self.settings.task {
            NetworkTask::Regression => Quality::of_numbers(&found, y, outputs),
            NetworkTask::Classification => Quality::of_classes(&found, y, outputs),
        }
    }

    /// Whether it says the same of all rows of some tables of inputs: the same class, or the same numbers.
    pub fn says_the_same_of(&self, tables: &[&[f64]]) -> Result<bool> {
        let (inputs, outputs) = (self.names.inputs.len(), self.names.outputs().len());
        let said = |row: &[f64]| match self.settings.task {
            NetworkTask::Classification => vec![likeliest(row) as f64],
            NetworkTask::Regression => row.to_vec(),
        };
        let mut first = None;
        // Most networks are done with the first block.
        for rows in tables.iter().flat_map(|rows| rows.chunks(BLOCK * inputs)) {
            for row in self.predict(rows)?.chunks_exact(outputs) {
                let said = said(row);
                if *first.get_or_insert_with(|| said.clone()) != said {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The same by the network with its gates, as it was trained.
    pub fn predict_gated(&self, rows: &[f64]) -> Result<Vec<f64>> {
        let scaled: Vec<f32> = self.scale_in.there(rows).collect();
        Ok(self.scale_out.back(&self.network.predict(&scaled)?))
    }

    /// Names of the inputs that are still read.
    #[must_use]
    pub fn inputs_read(&self) -> Vec<String> {
        let read = self.compact.inputs().iter();
        // Where nothing is read, compaction keeps one input of zero weights.
        let silent = self.compact.network().architecture().layers()[0].outputs == 0
            || self.widths().contains(&0);
        match silent {
            true => Vec::new(),
            false => read.map(|k| self.names.inputs[*k].clone()).collect(),
        }
    }

    /// How strongly each input is read: the norm of its weights, of standardised inputs.
    #[must_use]
    pub fn input_strengths(&self) -> Vec<f64> {
        let small = self.compact.network();
        let (weights, width) = (
            &small.parameters()[small.architecture().weights(0)],
            small.architecture().layers()[0].outputs.max(1),
        );
        let mut strengths = vec![0.0; self.names.inputs.len()];
        for (own, input) in weights.chunks_exact(width).zip(self.compact.inputs()) {
            let squares: f64 = own.iter().map(|w| f64::from(*w).powi(2)).sum();
            strengths[*input] = squares.sqrt();
        }
        strengths
    }

    /// The network without what its closed gates leave out, of standardised inputs.
    #[must_use]
    pub fn compact(&self) -> &Compact {
        &self.compact
    }

    /// How large it was, and is.
    pub fn complexity(&self) -> Result<Complexity> {
        Ok(self.network.complexity()?)
    }

    /// Units that are left in each layer, inputs first.
    #[must_use]
    pub fn widths(&self) -> Vec<usize> {
        let layers = self.compact.network().architecture().layers();
        let first = layers.first().map(|l| l.inputs);
        first
            .into_iter()
            .chain(layers.iter().map(|l| l.outputs))
            .collect()
    }

    /// The compacted network of inputs as they are: scales have moved into the first and the last layer.
    pub fn unscaled(&self) -> Result<Compact> {
        let (small, inputs) = (self.compact.network(), self.compact.original_inputs());
        let architecture = small.architecture();
        let mut layers = architecture.layers().to_vec();
        let last = layers.len() - 1;
        let mut parameters = Vec::new();
        for (k, layer) in layers.iter_mut().enumerate() {
            let width = layer.outputs;
            let wide =
                |range: Range<usize>| small.parameters()[range].iter().map(|v| f64::from(*v));
            let mut weights: Vec<f64> = wide(architecture.weights(k)).collect();
            let mut biases: Vec<f64> = wide(architecture.biases(k)).collect();
            biases.resize(width, 0.0);
            layer.bias = true;
            if k == 0 {
                let mut all = vec![0.0; inputs * width];
                for (own, &input) in weights
                    .chunks_exact(width.max(1))
                    .zip(self.compact.inputs())
                {
                    let (mean, deviation) =
                        (self.scale_in.mean[input], self.scale_in.deviation[input]);
                    for (o, w) in own.iter().enumerate() {
                        all[input * width + o] = w / deviation;
                        biases[o] -= w * mean / deviation;
                    }
                }
                weights = all;
                layer.inputs = inputs;
            }
            if k == last {
                for (at, w) in weights.iter_mut().enumerate() {
                    *w *= self.scale_out.deviation[at % width];
                }
                for (o, b) in biases.iter_mut().enumerate() {
                    *b = *b * self.scale_out.deviation[o] + self.scale_out.mean[o];
                }
            }
            parameters.extend(weights.iter().chain(&biases).map(|v| *v as f32));
        }
        let whole = Mlp::from_parameters(Architecture::new(layers)?, parameters)?;
        Ok(whole.compact()?)
    }

    /// As something that can be exported, of inputs as they are; of classes it gives a number each, the largest of which is that of the likeliest.
    pub fn exportable(&self) -> Result<Network> {
        let inputs = self.names.inputs.clone();
        Ok(Network::new(
            self.unscaled()?,
            inputs,
            self.names.outputs(),
        )?)
    }

    /// The bytes of a file with everything.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            settings: self.settings.clone(),
            names: self.names.clone(),
            history: self.history.clone(),
            epoch: self.epoch,
            architecture: self.network.architecture().clone(),
            scale_in: self.scale_in.clone(),
            scale_out: self.scale_out.clone(),
        };
        let tensor = Tensor::flat(self.network.parameters());
        Ok(to_bytes(
            FORMAT,
            VERSION,
            &header,
            &[("parameters".into(), tensor)],
        )?)
    }

    /// Of such bytes; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let (header, tensors) = from_bytes::<Header>(FORMAT, VERSION, bytes, path)?;
        let parameters = tensors.take("parameters", &[header.architecture.parameter_len()])?;
        let network = Mlp::from_parameters(header.architecture.clone(), parameters)?;
        let about = || format!("{} cannot be used", shown_path(path));
        network.check_finite().about(about)?;
        SparseNetwork::checked(header, network)
    }

    /// Reads a file, or that of a run's folder.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = match path.is_dir() {
            true => path.join(FILE),
            false => path.to_path_buf(),
        };
        let bytes = input::read(&file, input::MOST_BINARY).map_err(Error::io("read", &file))?;
        SparseNetwork::from_bytes(&bytes, &file)
    }
}

#[cfg(test)]
mod tests {
    use ell0::rng::Stream;

    use super::*;
    use crate::{network::NetworkGates, observer::Silent};

    /// Inputs of different sizes, one of which never changes and one of which says nothing.
    fn rows(n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = Stream::new(5).at(0);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let (a, b, c) = (rng.normal(), rng.normal(), rng.normal());
            x.extend([100.0 + 5.0 * a, 3.0, 1e-3 * b, c]);
            y.extend([1000.0 + 50.0 * a, -2.0 * a + b]);
        }
        (x, y)
    }

    #[test]
    fn scales_move_into_the_network_and_prices_are_those_of_layers() {
        let (x, y) = rows(400);
        let settings = NetworkSettings {
            hidden: vec![16],
            epochs: 600,
            // The inputs cost something, the hidden units nothing.
            lambda: vec![1.0, 0.0],
            ..NetworkSettings::default()
        };
        let network = settings.run_on(&x, 4, &y, &Silent).expect("a network");
        let Quality::Regression { r2, .. } = network.quality(&x, &y).expect("quality") else {
            panic!("numbers");
        };
        assert!(r2.iter().all(|r| *r > 0.9), "{r2:?}");
        assert_eq!(network.compact().inputs(), [0, 2]);
        let exported = network.exportable().expect("a network");
        let single: Vec<f32> = x.iter().map(|v| *v as f32).collect();
        let (there, here) = (
            exported.predict(&single).expect("rows"),
            network.predict(&x).expect("rows"),
        );
        let worst = |k: usize| {
            let both = there.iter().zip(&here).skip(k).step_by(2);
            both.map(|(a, b)| (f64::from(*a) - b).abs())
                .fold(0.0, f64::max)
        };
        // Single precision, of targets with deviations of 50 and 2.
        assert!(
            worst(0) < 1e-2 && worst(1) < 1e-3,
            "{} {}",
            worst(0),
            worst(1)
        );
        let gated = network.predict_gated(&x).expect("rows");
        for (k, (gated, compacted)) in gated.iter().zip(&here).enumerate() {
            let deviation: f64 = [50.0, 2.0][k % 2];
            assert!((gated - compacted).abs() < 1e-6 * deviation.max(gated.abs()));
        }
        let bytes = network.to_bytes().expect("bytes");
        assert_eq!(
            SparseNetwork::from_bytes(&bytes, "x").expect("the same"),
            network
        );
        // A file that is whole, and holds what no training leaves.
        for value in [f32::NAN, f32::INFINITY] {
            let mut corrupted = network.clone();
            corrupted.network.parameters_mut()[1] = value;
            let bytes = corrupted.to_bytes().expect("bytes");
            let said = SparseNetwork::from_bytes(&bytes, "n.safetensors").expect_err("refused");
            let said = said.to_string();
            let place = "the weight from input 1 to unit 2 of layer 1 must be finite";
            assert!(
                said.contains("n.safetensors") && said.contains(place),
                "{said}"
            );
        }
        // Dear hidden units close, too.
        let dear = NetworkSettings {
            lambda: vec![1.0, 10.0],
            ..settings.clone()
        };
        let dear = dear.run_on(&x, 4, &y, &Silent).expect("a network");
        assert!(
            dear.widths()[1] < network.widths()[1],
            "{:?}",
            dear.widths()
        );
        let size = network.complexity().expect("sizes");
        assert!(size.compacted_flops < size.flops);
        for (lambda, words) in [(vec![1.0, 2.0, 3.0], "3 prices"), (vec![-1.0], "-1")] {
            let wrong = NetworkSettings {
                lambda,
                ..settings.clone()
            };
            let said = wrong.run_on(&x, 4, &y, &Silent).expect_err("refused");
            assert!(said.to_string().contains(words), "{said}");
        }
        let plain = NetworkSettings {
            gates: NetworkGates::None,
            epochs: 2,
            ..settings
        };
        let plain = plain.run_on(&x, 4, &y, &Silent).expect("a network");
        assert_eq!(plain.widths(), [4, 16, 2]);
    }
}
