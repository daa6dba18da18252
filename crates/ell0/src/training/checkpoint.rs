//! Checkpoints of training, as [`checkpoint`](crate::checkpoint) writes them.
//!
//! The random streams are functions of the seed and the number of the step, so both being in the file, a resumed run goes on to the same bits.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    Best, Dataset, EpochRecord, Trainer, TrainerConfig,
    trainer::{EpochSums, Improvement},
};
use crate::{
    checkpoint::{self, Tensor, Tensors, write_whole},
    error::{Error, Result},
    input,
    network::{Architecture, Mlp},
};

const FORMAT: &str = "ell0-checkpoint";
const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Header {
    architecture: Architecture,
    config: TrainerConfig,
    steps: u64,
    sums: EpochSums,
    best: Option<BestHeader>,
    improved: Improvement,
    history: Vec<EpochRecord>,
    train_data: String,
    test_data: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct BestHeader {
    epoch: u64,
    test_error: f64,
    merit: f64,
}

/// Name, shape and place of each parameter tensor.
fn parameter_tensors(
    architecture: &Architecture,
) -> Vec<(String, Vec<usize>, std::ops::Range<usize>)> {
    let mut tensors = Vec::new();
    for (index, layer) in architecture.layers().iter().enumerate() {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let name = |what: &str| format!("layers.{index}.{what}");
        tensors.push((
            name("weight"),
            vec![inputs, outputs],
            architecture.weights(index),
        ));
        if layer.bias {
            tensors.push((name("bias"), vec![outputs], architecture.biases(index)));
        }
        let gates = architecture.log_alphas(index);
        if !gates.is_empty() {
            let shape = if gates.len() == inputs {
                vec![inputs]
            } else {
                vec![inputs, outputs]
            };
            tensors.push((name("log_alpha"), shape, gates));
        }
    }
    tensors
}

fn fingerprint(data: &Dataset) -> String {
    format!("{:016x}", data.fingerprint())
}

impl Trainer {
    /// The state of the run as the bytes of a checkpoint.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let architecture = self.model.architecture();
        let parameters = self.model.parameters();
        let mut tensors: Vec<(String, Tensor<'_>)> = parameter_tensors(architecture)
            .into_iter()
            .map(|(name, shape, range)| (name, Tensor::new(shape, &parameters[range])))
            .collect();
        tensors.push((
            "adam.first_moment".into(),
            Tensor::flat(&self.adam.first[..]),
        ));
        tensors.push((
            "adam.second_moment".into(),
            Tensor::flat(&self.adam.second[..]),
        ));
        if let Some(average) = &self.average {
            tensors.push(("average".into(), Tensor::flat(&average[..])));
        }
        if let Some(best) = &self.best {
            tensors.push(("best".into(), Tensor::flat(&best.parameters[..])));
        }
        let header = Header {
            architecture: architecture.clone(),
            config: self.config.clone(),
            steps: self.steps(),
            sums: self.sums,
            best: self.best.as_ref().map(|best| BestHeader {
                epoch: best.epoch,
                test_error: best.test_error,
                merit: best.merit,
            }),
            improved: self.improved,
            history: self.history.clone(),
            train_data: fingerprint(&self.train),
            test_data: self.test.as_deref().map(fingerprint),
        };
        checkpoint::to_bytes(FORMAT, VERSION, &header, &tensors)
    }

    /// Writes a checkpoint, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), &self.to_bytes()?)
    }

    /// Goes on from a checkpoint, with the data of the interrupted run.
    pub fn resume(
        path: impl AsRef<Path>,
        train: impl Into<Arc<Dataset>>,
        test: Option<Arc<Dataset>>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_file(path)?;
        Trainer::from_bytes(&bytes, path, train.into(), test)
    }
}

fn read<'b>(bytes: &'b [u8], path: &Path) -> Result<(Header, Tensors<'b>)> {
    checkpoint::from_bytes(FORMAT, VERSION, bytes, path)
}

impl Trainer {
    fn from_bytes(
        bytes: &[u8],
        path: &Path,
        train: Arc<Dataset>,
        test: Option<Arc<Dataset>>,
    ) -> Result<Self> {
        let wrong = |reason: String| Error::Checkpoint {
            path: path.into(),
            reason,
        };
        let (header, tensors) = read(bytes, path)?;
        for (which, saved, given) in [
            (
                "training",
                Some(header.train_data.clone()),
                Some(fingerprint(&train)),
            ),
            (
                "test",
                header.test_data.clone(),
                test.as_deref().map(fingerprint),
            ),
        ] {
            if saved != given {
                return Err(wrong(format!(
                    "it was made with other {which} data (fingerprint {}, now {}): resume with the same data",
                    saved.as_deref().unwrap_or("none"),
                    given.as_deref().unwrap_or("none")
                )));
            }
        }

        let model = read_model(&header, &tensors)?;
        let flat = [model.parameters().len()];
        let averaging = header.config.average.is_some();
        let mut trainer = Trainer::new(model, header.config, train, test)?;
        trainer.adam.first = tensors.take("adam.first_moment", &flat)?;
        trainer.adam.second = tensors.take("adam.second_moment", &flat)?;
        trainer.adam.steps = header.steps;
        if averaging {
            trainer.average = Some(tensors.take("average", &flat)?);
        }
        if let Some(best) = header.best {
            trainer.best = Some(Best {
                epoch: best.epoch,
                test_error: best.test_error,
                merit: best.merit,
                parameters: tensors.take("best", &flat)?,
            });
        }
        trainer.history = header.history;
        trainer.improved = header.improved;
        trainer.sums = header.sums;
        Ok(trainer)
    }
}

/// The network with its present parameters.
fn read_model(header: &Header, tensors: &Tensors<'_>) -> Result<Mlp> {
    let architecture = &header.architecture;
    let (mut parameters, mut log_alphas) = (Vec::new(), Vec::new());
    for (name, shape, range) in parameter_tensors(architecture) {
        let values = tensors.take(&name, &shape)?;
        let gates = range.start >= architecture.weights_and_biases().end && !range.is_empty();
        if gates {
            &mut log_alphas
        } else {
            &mut parameters
        }
        .extend(values);
    }
    parameters.extend(log_alphas);
    sound(architecture.clone(), parameters)
}

/// A network with finite parameters.
fn sound(architecture: Architecture, parameters: Vec<f32>) -> Result<Mlp> {
    let model = Mlp::from_parameters(architecture, parameters)?;
    model.check_finite()?;
    Ok(model)
}

impl Mlp {
    /// The network of a checkpoint, without the data it was trained on: with its best parameters if there are such, else with the averaged, else with the present ones.
    pub fn from_checkpoint(path: impl AsRef<Path>) -> Result<Mlp> {
        let path = path.as_ref();
        let bytes = read_file(path)?;
        let (header, tensors) = read(&bytes, path)?;
        let model = read_model(&header, &tensors)?;
        for name in ["best", "average"] {
            if tensors.contains(name) {
                let parameters = tensors.take(name, &[model.parameters().len()])?;
                return sound(header.architecture, parameters);
            }
        }
        Ok(model)
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    input::read(path, input::MOST_BINARY).map_err(|source| Error::Io {
        action: "read checkpoint",
        path: path.into(),
        source,
    })
}
