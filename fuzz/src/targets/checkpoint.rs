//! Files of tensors: policies, trainings to go on with, networks.

use ell0::{
    checkpoint::{Tensor, format_of, from_bytes, to_bytes},
    training::Trainer,
};
use ell0_control::{
    agent::{POLICY_FORMAT, Saver, TRAINING_FORMAT, TrainConfig, Training},
    environment::make,
};
use ell0_run::{ExportSettings, Exportable};
use serde_json::Value;

use super::{Target, samples};
use crate::{
    desk::Desk,
    dice::Dice,
    mutate::{bytes, tree},
    verdict::{Outcome, Verdict, error},
};

pub struct Checkpoint {
    desk: Desk,
    /// Experience and episodes that belong to the states of the two trainings.
    beside: [Vec<(String, Vec<u8>)>; 2],
    exports: Desk,
}

/// The version of a training's state.
const TRAINING: u32 = 4;

/// The formats and their versions.
const FORMATS: [(&str, u32); 3] = [
    (TRAINING_FORMAT, TRAINING),
    (POLICY_FORMAT, 2),
    ("ell0-checkpoint", 2),
];

const WORDS: [&str; 16] = [
    "policy",
    "polynomial(2)",
    "polynomial(3)",
    "network(4)",
    "sparse-network(3, 3)",
    "row",
    "batch",
    "config",
    "observation",
    "action",
    "architecture",
    "layers",
    "pendulum(g=9.81, limit=10)",
    "replay",
    "elu",
    "name",
];

/// The state's name; the other files of a training have the same stem.
const NAME: &str = "case.safetensors";

/// What is trained.
const POLICIES: [&str; 2] = ["polynomial(2)", "sparse-network(3)"];

/// The files of a training beside its state.
fn beside(policy: &str) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let made = Desk::new()?;
    let stem = made.file("case");
    let _ = samples::train(policy, &stem)?;
    let mut beside = Vec::new();
    for path in Saver::files(&stem) {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if path.exists() && name != NAME {
            beside.push((name, std::fs::read(&path)?));
        }
    }
    Ok(beside)
}

impl Checkpoint {
    pub fn new() -> anyhow::Result<Self> {
        Ok(Checkpoint {
            desk: Desk::new()?,
            beside: [beside(POLICIES[0])?, beside(POLICIES[1])?],
            exports: Desk::new()?,
        })
    }

    /// Goes on with a training, with the settings that its state names.
    fn resume(&self, bytes: &[u8]) -> Verdict {
        let found = from_bytes::<Value>(TRAINING_FORMAT, TRAINING, bytes, NAME);
        let config = found.ok().and_then(|(header, _)| {
            let config = header.get("config")?.clone();
            serde_json::from_value::<TrainConfig>(config).ok()
        });
        let config = config.unwrap_or_else(|| samples::training_settings("polynomial(2)"));
        let network = usize::from(config.policy == POLICIES[1]);
        for (name, content) in &self.beside[network] {
            self.desk.put(name, content);
        }
        let world = match make(&config.environment) {
            Ok(world) => world,
            Err(e) => return error(e),
        };
        match Training::resume(self.desk.file("case"), config, world) {
            Err(e) => error(e),
            Ok((training, _)) => {
                let _ = (training.actor(), training.history().len());
                Ok(Outcome::Valid)
            }
        }
    }
}

impl Target for Checkpoint {
    fn extension(&self) -> &'static str {
        "safetensors"
    }

    fn seeds(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        let desk = Desk::new()?;
        let mut seeds = vec![samples::network()?];
        for policy in POLICIES {
            let stem = desk.file("case");
            let training = samples::train(policy, &stem)?;
            seeds.push(std::fs::read(desk.file(NAME))?);
            seeds.push(training.actor().to_bytes()?);
        }
        Ok(seeds)
    }

    fn mutate(&self, dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
        let (seed, other) = (dice.pick(seeds), dice.pick(seeds));
        if !dice.one_in(3)
            && let Some(out) = rebuilt(dice, seed)
        {
            return out;
        }
        let mut out = seed.clone();
        for _ in 0..dice.size(4) {
            match dice.below(3) {
                0 => bytes::mutate_near(dice, &mut out, 0, 9),
                1 => bytes::mutate_near(dice, &mut out, 8, 400),
                _ => bytes::mutate(dice, &mut out, other),
            }
        }
        out
    }

    fn run(&mut self, bytes: &[u8]) -> Verdict {
        let file = self.desk.put(NAME, bytes);
        let mut last = match Exportable::read(&file) {
            Ok(what) => {
                let settings = ExportSettings {
                    replace: true,
                    ..ExportSettings::default()
                };
                match settings.run(&what, self.exports.path()) {
                    Ok(_) => Ok(Outcome::Valid),
                    Err(e) => error(e),
                }
            }
            Err(e) => error(e),
        };
        last.as_ref().map_err(Clone::clone)?;
        let format = format_of(bytes, NAME);
        if matches!(format.as_deref(), Ok(TRAINING_FORMAT)) {
            last = self.resume(bytes);
            last.as_ref().map_err(Clone::clone)?;
        } else if let Ok(data) = samples::dataset() {
            last = match Trainer::resume(&file, data, None) {
                Ok(_) => Ok(Outcome::Valid),
                Err(e) => error(e).and(last),
            };
            last.as_ref().map_err(Clone::clone)?;
        }
        let beside = self.beside.iter().flatten();
        let beside: Vec<&str> = beside.map(|(n, _)| n.as_str()).collect();
        self.desk.check(NAME, bytes, &beside)?;
        last
    }
}

/// The same file with another header or other tensors, and a checksum that is right again.
fn rebuilt(dice: &mut Dice, seed: &[u8]) -> Option<Vec<u8>> {
    let format = format_of(seed, NAME).ok()?;
    let (format, version) = *FORMATS.iter().find(|(f, _)| *f == format)?;
    let (mut header, tensors) = from_bytes::<Value>(format, version, seed, NAME).ok()?;
    let mut named: Vec<(String, Vec<f32>)> = Vec::new();
    for name in tensors.names() {
        named.push((name.to_string(), tensors.take_flat(name).ok()?));
    }
    for _ in 0..dice.size(4) {
        if named.is_empty() || !dice.one_in(4) {
            tree::mutate(dice, &mut header, &WORDS);
            continue;
        }
        let at = dice.below(named.len());
        let (name, values) = &mut named[at];
        let place = dice.below(values.len().max(1));
        match dice.below(5) {
            0 => name.push('x'),
            1 => values.truncate(place),
            2 => values.extend(std::iter::repeat_n(1.0, dice.size(100))),
            3 if place < values.len() => {
                values[place] = *dice.pick(&[f32::NAN, f32::INFINITY, f32::MAX, 0.0, -1e30]);
            }
            _ => {
                named.remove(at);
            }
        }
    }
    // Shapes: as they were where the length is, else in a row.
    let mut out = Vec::new();
    for (name, values) in named {
        let before = shape(&header, &name, values.len());
        out.push((name, Tensor::new(before, values)));
    }
    to_bytes(format, version, &header, &out).ok()
}

/// The shape that a tensor of a network has by its architecture; others are flat.
fn shape(header: &Value, name: &str, length: usize) -> Vec<usize> {
    let known = || {
        let rest = name.strip_prefix("layers.")?;
        let (index, what) = rest.split_once('.')?;
        let layers = header.get("architecture")?;
        let layer = layers.get(index.parse::<usize>().ok()?)?;
        let size = |key: &str| Some(layer.get(key)?.as_u64()? as usize);
        let (inputs, outputs) = (size("inputs")?, size("outputs")?);
        let both = inputs.checked_mul(outputs)?;
        (what != "bias" && both == length).then(|| vec![inputs, outputs])
    };
    known().unwrap_or_else(|| vec![length])
}
