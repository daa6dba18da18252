//! Checkpoints of training: one safetensors file with everything that is not a tensor as JSON in its header. Random streams are functions of the seed and of counters, so a resumed
//! run goes on to the same bits.

use std::{borrow::Cow, collections::HashMap};

use ell0::training::{Adam, AdamConfig};
use safetensors::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::{EpisodeRecord, TrainConfig, Training};
use crate::error::{Error, Result};

const FORMAT: &str = "ell0-training";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    version: u32,
    config: TrainConfig,
    episode: u64,
    env_steps: u64,
    q_scale: f64,
    steering: f64,
    updates: u64,
    /// Steps of each optimizer.
    adam_steps: Vec<u64>,
    replay_next: usize,
    history: Vec<EpisodeRecord>,
    checksum: String,
}

/// Numbers ready to be written.
struct Tensor(Vec<u8>, Vec<usize>);

impl Tensor {
    fn new(values: impl ExactSizeIterator<Item = f32>) -> Self {
        let shape = vec![values.len()];
        Tensor(values.flat_map(f32::to_le_bytes).collect(), shape)
    }
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.1
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.0)
    }

    fn data_len(&self) -> usize {
        self.0.len()
    }
}

fn wrong(reason: impl std::fmt::Display) -> Error {
    Error::Checkpoint {
        reason: reason.to_string(),
    }
}

/// FNV-1a over the header without its checksum and all tensors in the order of their names.
fn checksum<'a>(
    header: &Header,
    tensors: impl Iterator<Item = (&'a str, &'a [u8])>,
) -> Result<String> {
    let mut tensors: Vec<_> = tensors.collect();
    tensors.sort_unstable();
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    add(serde_json::to_string(header).map_err(wrong)?.as_bytes());
    for (name, bytes) in tensors {
        add(name.as_bytes());
        add(bytes);
    }
    Ok(format!("{sum:016x}"))
}

impl Training {
    /// The whole state.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let learners = self.agent.learners();
        let (values, terminated, truncated, next) = self.replay.contents();
        let flags = |flags: &[bool]| Tensor::new(flags.iter().map(|f| f32::from(u8::from(*f))));
        let mut tensors = vec![
            (
                "replay.values".to_string(),
                Tensor::new(values.iter().copied()),
            ),
            ("replay.terminated".to_string(), flags(terminated)),
            ("replay.truncated".to_string(), flags(truncated)),
        ];
        let mut adam_steps = Vec::new();
        for (name, learner) in &learners {
            let (first, second, steps) = learner.adam.memory();
            adam_steps.push(steps);
            for (what, values) in [
                ("parameters", &learner.parameters[..]),
                ("target", &learner.target),
                ("first", first),
                ("second", second),
            ] {
                let tensor = Tensor::new(values.iter().copied());
                tensors.push((format!("{name}.{what}"), tensor));
            }
        }
        let mut header = Header {
            format: FORMAT.into(),
            version: VERSION,
            config: self.config.clone(),
            episode: self.episode,
            env_steps: self.env_steps,
            q_scale: self.q_scale,
            steering: self.steering,
            updates: self.agent.updates(),
            adam_steps,
            replay_next: next,
            history: self.history.clone(),
            checksum: String::new(),
        };
        let bytes = tensors.iter().map(|(name, t)| (name.as_str(), &t.0[..]));
        header.checksum = checksum(&header, bytes)?;
        let json = serde_json::to_string(&header).map_err(wrong)?;
        let metadata = HashMap::from([("ell0".to_string(), json)]);
        safetensors::serialize(tensors.iter().map(|(n, t)| (n, t)), Some(metadata)).map_err(wrong)
    }

    /// Goes on from a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let damaged = |e: &dyn std::fmt::Display| wrong(format!("truncated or damaged ({e})"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(&e))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e))?;
        let json = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get("ell0"))
            .ok_or_else(|| wrong("a safetensors file of something else"))?;
        let mut header: Header = serde_json::from_str(json).map_err(|e| damaged(&e))?;
        if header.format != FORMAT || header.version != VERSION {
            return Err(wrong(format!(
                "it is {} {}; this program reads {FORMAT} {VERSION}",
                header.format, header.version
            )));
        }
        let written = std::mem::take(&mut header.checksum);
        let views = tensors.iter().map(|(name, view)| (name, view.data()));
        if checksum(&header, views)? != written {
            return Err(wrong("its contents do not match their checksum"));
        }
        let numbers = |name: &str| -> Result<Vec<f32>> {
            let view = tensors.tensor(name).map_err(|e| damaged(&e))?;
            let chunks = view.data().chunks_exact(4);
            Ok(chunks
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect())
        };
        let mut training = Training::new(header.config)?;
        let mut steps = header.adam_steps.iter();
        for (name, learner) in training.agent.learners_mut() {
            let size = learner.parameters.len();
            let read = |what: &str| -> Result<Vec<f32>> {
                let values = numbers(&format!("{name}.{what}"))?;
                if values.len() != size {
                    return Err(wrong(format!(
                        "{name}.{what} has {} numbers, not {size}",
                        values.len()
                    )));
                }
                Ok(values)
            };
            learner.parameters = read("parameters")?;
            learner.target = read("target")?;
            let steps = *steps
                .next()
                .ok_or_else(|| wrong("an optimizer is missing"))?;
            learner.adam = Adam::with_memory(
                AdamConfig::default(),
                read("first")?,
                read("second")?,
                steps,
            )?;
        }
        training.agent.updates = header.updates;
        let flags = |name: &str| -> Result<Vec<bool>> {
            Ok(numbers(name)?.iter().map(|v| *v != 0.0).collect())
        };
        training.replay = training
            .replay
            .restored(
                numbers("replay.values")?,
                flags("replay.terminated")?,
                flags("replay.truncated")?,
                header.replay_next,
            )
            .ok_or_else(|| wrong("its experience does not fit its environment"))?;
        training.episode = header.episode;
        training.env_steps = header.env_steps;
        training.q_scale = header.q_scale;
        training.steering = header.steering;
        training.history = header.history;
        Ok(training)
    }
}
