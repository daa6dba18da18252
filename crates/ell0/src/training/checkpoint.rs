//! Checkpoints: one safetensors file, with everything that is not a tensor as JSON in its header.
//!
//! The file is written beside its place and renamed, so that a kill at any moment leaves the old checkpoint or the new one. The random streams are functions
//! of the seed and the number of the step, so both being in the file, a resumed run goes on to the same bits.

use std::{borrow::Cow, collections::HashMap, fs, io::Write, path::Path};

use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::{
    Best, Dataset, EpochRecord, FitConfig, Trainer,
    trainer::{EpochSums, Improvement},
};
use crate::{
    error::{Error, Result},
    network::{Architecture, Mlp},
    rng::fnv1a,
};

const FORMAT: &str = "ell0-checkpoint";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    architecture: Architecture,
    config: FitConfig,
    steps: u64,
    sums: EpochSums,
    best: Option<BestHeader>,
    improved: Improvement,
    history: Vec<EpochRecord>,
    train_data: String,
    test_data: Option<String>,
    checksum: String,
}

#[derive(Serialize, Deserialize)]
struct BestHeader {
    epoch: u64,
    test_error: f64,
}

/// A tensor ready to be written.
struct Tensor {
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    fn new(values: &[f32], shape: Vec<usize>) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Tensor { shape, bytes }
    }

    fn flat(values: &[f32]) -> Self {
        Tensor::new(values, vec![values.len()])
    }
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
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

/// A checksum over the header without its checksum, and all tensors in the order of their names.
fn checksum<'a>(
    header: &Header,
    tensors: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<String, serde_json::Error> {
    let mut sums: Vec<(&str, u64)> = tensors.map(|(name, bytes)| (name, fnv1a(bytes))).collect();
    sums.sort_unstable();
    let mut text = serde_json::to_string(header)?;
    text.extend(sums.iter().map(|(name, sum)| format!("{name}:{sum:016x};")));
    Ok(format!("{:016x}", fnv1a(text.as_bytes())))
}

fn fingerprint(data: &Dataset) -> String {
    format!("{:016x}", data.fingerprint())
}

impl<'a> Trainer<'a> {
    /// The state of the run as the bytes of a checkpoint.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let architecture = self.model.architecture();
        let parameters = self.model.parameters();
        let mut tensors: Vec<(String, Tensor)> = parameter_tensors(architecture)
            .into_iter()
            .map(|(name, shape, range)| (name, Tensor::new(&parameters[range], shape)))
            .collect();
        tensors.push(("adam.first_moment".into(), Tensor::flat(&self.adam.first)));
        tensors.push(("adam.second_moment".into(), Tensor::flat(&self.adam.second)));
        if let Some(average) = &self.average {
            tensors.push(("average".into(), Tensor::flat(average)));
        }
        if let Some(best) = &self.best {
            tensors.push(("best".into(), Tensor::flat(&best.parameters)));
        }
        let mut header = Header {
            format: FORMAT.into(),
            version: VERSION,
            architecture: architecture.clone(),
            config: self.config.clone(),
            steps: self.steps(),
            sums: self.sums,
            best: self.best.as_ref().map(|best| BestHeader {
                epoch: best.epoch,
                test_error: best.test_error,
            }),
            improved: self.improved,
            history: self.history.clone(),
            train_data: fingerprint(self.train),
            test_data: self.test.map(fingerprint),
            checksum: String::new(),
        };
        let unwritable = |reason: String| Error::Checkpoint {
            path: "(memory)".into(),
            reason,
        };
        let bytes = tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor.bytes.as_slice()));
        header.checksum = checksum(&header, bytes).map_err(|e| unwritable(e.to_string()))?;
        let json = serde_json::to_string(&header).map_err(|e| unwritable(e.to_string()))?;
        let metadata = HashMap::from([("ell0".to_string(), json)]);
        safetensors::serialize(
            tensors.iter().map(|(name, tensor)| (name, tensor)),
            Some(metadata),
        )
        .map_err(|e| unwritable(e.to_string()))
    }

    /// Writes a checkpoint, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        write_whole(path.as_ref(), &self.to_bytes()?)
    }

    /// Goes on from a checkpoint, with the data of the interrupted run.
    pub fn resume(
        path: impl AsRef<Path>,
        train: &'a Dataset,
        test: Option<&'a Dataset>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read_file(path)?;
        Trainer::from_bytes(&bytes, path, train, test)
    }
}

impl Header {
    /// The header and the tensors of a file, if it is whole and ours.
    fn read<'b>(bytes: &'b [u8], path: &Path) -> Result<(Header, SafeTensors<'b>)> {
        let wrong = |reason: String| Error::Checkpoint {
            path: path.into(),
            reason,
        };
        let foreign = |what: &str| foreign(path, what);
        let (_, metadata) = SafeTensors::read_metadata(bytes)
            .map_err(|e| foreign(&format!("truncated, or not a safetensors file ({e})")))?;
        let tensors = SafeTensors::deserialize(bytes)
            .map_err(|e| foreign(&format!("truncated or damaged ({e})")))?;
        let json = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get("ell0"))
            .ok_or_else(|| foreign("a safetensors file without an `ell0` header"))?;
        // The version first: a file of another version may have other fields.
        let version = serde_json::from_str::<serde_json::Value>(json)
            .ok()
            .and_then(|header| header.get("version")?.as_u64())
            .ok_or_else(|| foreign("its header is not that of a checkpoint"))?;
        if version != u64::from(VERSION) {
            return Err(wrong(format!(
                "it has format version {version}; this program reads version {VERSION}"
            )));
        }
        let mut header: Header = serde_json::from_str(json)
            .map_err(|e| foreign(&format!("its header is damaged ({e})")))?;
        if header.format != FORMAT {
            return Err(foreign(&format!(
                "its format is `{}`, not `{FORMAT}`",
                header.format
            )));
        }
        let written = std::mem::take(&mut header.checksum);
        let views = tensors.iter().map(|(name, view)| (name, view.data()));
        if checksum(&header, views).ok() != Some(written) {
            return Err(wrong(
                "its contents do not match their checksum: the file is damaged".into(),
            ));
        }
        Ok((header, tensors))
    }
}

impl<'a> Trainer<'a> {
    fn from_bytes(
        bytes: &[u8],
        path: &Path,
        train: &'a Dataset,
        test: Option<&'a Dataset>,
    ) -> Result<Self> {
        let wrong = |reason: String| Error::Checkpoint {
            path: path.into(),
            reason,
        };
        let (header, tensors) = Header::read(bytes, path)?;
        for (which, saved, given) in [
            (
                "training",
                Some(header.train_data.clone()),
                Some(fingerprint(train)),
            ),
            ("test", header.test_data.clone(), test.map(fingerprint)),
        ] {
            if saved != given {
                return Err(wrong(format!(
                    "it was made with other {which} data (fingerprint {}, now {}): resume with the same data",
                    saved.as_deref().unwrap_or("none"),
                    given.as_deref().unwrap_or("none")
                )));
            }
        }

        let read = |name: &str, shape: &[usize]| read_tensor(&tensors, name, shape, path);
        let model = read_model(&header, &tensors, path)?;
        let flat = [model.parameters().len()];
        let averaging = header.config.average.is_some();
        let mut trainer = Trainer::new(model, header.config, train, test)?;
        trainer.adam.first = read("adam.first_moment", &flat)?;
        trainer.adam.second = read("adam.second_moment", &flat)?;
        trainer.adam.steps = header.steps;
        if averaging {
            trainer.average = Some(read("average", &flat)?);
        }
        if let Some(best) = header.best {
            trainer.best = Some(Best {
                epoch: best.epoch,
                test_error: best.test_error,
                parameters: read("best", &flat)?,
            });
        }
        trainer.history = header.history;
        trainer.improved = header.improved;
        trainer.sums = header.sums;
        Ok(trainer)
    }
}

/// The error of a file that is not one of ours.
fn foreign(path: &Path, what: &str) -> Error {
    let reason = format!("{what}; expected a file written by `Trainer::save` of this version");
    Error::Checkpoint {
        path: path.into(),
        reason,
    }
}

fn read_tensor(
    tensors: &SafeTensors,
    name: &str,
    shape: &[usize],
    path: &Path,
) -> Result<Vec<f32>> {
    let missing = || foreign(path, &format!("tensor `{name}` is missing"));
    let view = tensors.tensor(name).map_err(|_| missing())?;
    if view.dtype() != Dtype::F32 || view.shape() != shape {
        let (dtype, found) = (view.dtype(), view.shape());
        let what =
            format!("tensor `{name}` is {dtype:?} of shape {found:?}, not F32 of shape {shape:?}");
        return Err(foreign(path, &what));
    }
    let (words, _) = view.data().as_chunks::<4>();
    Ok(words
        .iter()
        .map(|&bytes| f32::from_le_bytes(bytes))
        .collect())
}

/// The network with its present parameters.
fn read_model(header: &Header, tensors: &SafeTensors, path: &Path) -> Result<Mlp> {
    let architecture = &header.architecture;
    let (mut parameters, mut log_alphas) = (Vec::new(), Vec::new());
    for (name, shape, range) in parameter_tensors(architecture) {
        let values = read_tensor(tensors, &name, &shape, path)?;
        let gates = range.start >= architecture.weights_and_biases().end && !range.is_empty();
        if gates {
            &mut log_alphas
        } else {
            &mut parameters
        }
        .extend(values);
    }
    parameters.extend(log_alphas);
    Mlp::from_parameters(architecture.clone(), parameters)
}

impl Mlp {
    /// The network of a checkpoint, without the data it was trained on: with its best parameters if there are such, else with the averaged, else with the present ones.
    pub fn from_checkpoint(path: impl AsRef<Path>) -> Result<Mlp> {
        let path = path.as_ref();
        let bytes = read_file(path)?;
        let (header, tensors) = Header::read(&bytes, path)?;
        let model = read_model(&header, &tensors, path)?;
        for name in ["best", "average"] {
            if tensors.tensor(name).is_ok() {
                let parameters = read_tensor(&tensors, name, &[model.parameters().len()], path)?;
                return Mlp::from_parameters(header.architecture, parameters);
            }
        }
        Ok(model)
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::Io {
        action: "read checkpoint",
        path: path.into(),
        source,
    })
}

/// Writes a file beside its place, makes sure it is on the disk, and renames it.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |source: std::io::Error| Error::Io {
        action: "write",
        path: path.into(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ell0-");
    // As any new file, not private as temporary ones usually are.
    #[cfg(unix)]
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(mode);
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    // The rename itself is durable once the folder is; not every system can sync a folder.
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}
