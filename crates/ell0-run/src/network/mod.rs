//! Sparse networks for rows of inputs and targets in memory: trained with gates, then compacted.
//!
//! ```
//! use ell0_run::{NetworkSettings, NetworkTask, Silent};
//! // Whether a point lies above the line; the second input says nothing.
//! let x: Vec<f32> = (0..400).flat_map(|k| [(k as f32 / 200.0) - 1.0, (k % 7) as f32 / 7.0]).collect();
//! let y: Vec<f32> = (0..400).map(|k| f32::from(u8::from(k >= 200))).collect();
//! let settings = NetworkSettings {
//!     task: NetworkTask::Classification,
//!     classes: 2,
//!     hidden: vec![8],
//!     epochs: 60,
//!     learning_rate: 0.01,
//!     ..NetworkSettings::default()
//! };
//! let network = settings.run_on(&x, 2, &y, &Silent)?;
//! let logits = network.predict(&[0.9, 0.0, -0.9, 0.0])?;
//! assert!(logits[1] > logits[0] && logits[2] > logits[3]);
//! # Ok::<(), ell0_run::Error>(())
//! ```

use std::{ops::ControlFlow, sync::Arc};

use ell0::{
    checkpoint::{Tensor, from_bytes, to_bytes},
    export::Network,
    gates::Penalty,
    network::{Activation, Architecture, Compact, GateSpec, Init, Loss, Mlp, MlpConfig, Per},
    rng::Stream,
    training::{Dataset, EpochRecord, Outcome, Schedule, Trainer, TrainerConfig},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    observer::{Event, Observer},
};

/// What a network is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkTask {
    /// Numbers.
    Regression,
    /// One of some classes; the network gives a number for each, whose softmax are probabilities.
    Classification,
}

/// Where the gates are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkGates {
    /// On the inputs and the hidden units: closed ones make the network smaller.
    Unit,
    /// On every weight.
    Weight,
    /// Nowhere: a plain network.
    None,
}

/// Everything that a sparse network depends on.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `task` | regression | what it gives | |
/// | `classes` | 0 | how many there are to choose from | of a classification ≥ 2 |
/// | `hidden` | 64, 64 | widths of the hidden layers | |
/// | `activation` | relu | of the hidden layers | elu, relu, tanh |
/// | `gates` | unit | where the gates are | |
/// | `lambda` | 0.1 | price of a weight behind an open gate, divided by the number of rows, as Louizos et al. have it | ≥ 0 |
/// | `epochs` | 200 | rounds through the rows | ≥ 1 |
/// | `batch` | 128 | rows of a step, at most a quarter of all | ≥ 1 |
/// | `learning_rate` | 1e-2 | of weights and biases; falls by a cosine to a hundredth | > 0 |
/// | `gate_rate` | 3e-2 | of the gates; none: as `learning_rate` | > 0 |
/// | `averaging` | 0.99 | decay of the average of the parameters that is kept | (0, 1), or none |
/// | `validation` | 0 | share of the rows that is held out; the parameters that do best on them are kept | \[0, 0.9\] |
/// | `patience` | none | epochs without improvement on held-out rows after which training ends | ≥ 1 |
/// | `seed` | 0 | of everything random | |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct NetworkSettings {
    pub task: NetworkTask,
    pub classes: usize,
    pub hidden: Vec<usize>,
    pub activation: Activation,
    pub gates: NetworkGates,
    pub lambda: f64,
    pub epochs: u64,
    pub batch: usize,
    pub learning_rate: f64,
    pub gate_rate: Option<f64>,
    pub averaging: Option<f64>,
    pub validation: f64,
    pub patience: Option<u64>,
    pub seed: u64,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        NetworkSettings {
            task: NetworkTask::Regression,
            classes: 0,
            hidden: vec![64, 64],
            activation: Activation::Relu,
            gates: NetworkGates::Unit,
            lambda: 0.1,
            epochs: 200,
            batch: 128,
            learning_rate: 1e-2,
            gate_rate: Some(3e-2),
            averaging: Some(0.99),
            validation: 0.0,
            patience: None,
            seed: 0,
        }
    }
}

/// A network that was trained, without what its closed gates leave out.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseNetwork {
    /// What it was trained with.
    pub settings: NetworkSettings,
    /// Its epochs.
    pub history: Vec<EpochRecord>,
    network: Mlp,
    compact: Compact,
}

const FORMAT: &str = "ell0-sparse-network";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    settings: NetworkSettings,
    history: Vec<EpochRecord>,
    architecture: Architecture,
}

impl NetworkSettings {
    /// Trains on rows of inputs and targets, both row by row; of classes there is one target, 0, 1, ….
    pub fn run_on(
        &self,
        x: &[f32],
        inputs: usize,
        y: &[f32],
        observer: &dyn Observer,
    ) -> Result<SparseNetwork> {
        let rows = x.len().checked_div(inputs).unwrap_or(0);
        if !(0.0..=0.9).contains(&self.validation) {
            let expected = "a share of the rows from 0 to 0.9";
            return Err(Error::setting("validation", self.validation, expected));
        }
        if !(self.lambda >= 0.0 && self.lambda.is_finite()) {
            let expected = "it must be finite and not negative";
            return Err(Error::setting("lambda", self.lambda, expected));
        }
        if rows == 0 {
            return Err(Error::NoData);
        }
        let (targets, outputs, loss) = match self.task {
            NetworkTask::Regression => {
                let targets = y.len() / rows;
                (targets, targets, Loss::MeanSquaredError)
            }
            NetworkTask::Classification if self.classes < 2 => {
                let expected = "there must be at least two to choose from";
                return Err(Error::setting("classes", self.classes, expected));
            }
            NetworkTask::Classification => (1, self.classes, Loss::CrossEntropy),
        };
        let (train, test) = self.split(x, inputs, y, targets.max(1), rows)?;
        let stream = Stream::new(self.seed).split("network");
        let mut dims = vec![inputs];
        dims.extend_from_slice(&self.hidden);
        dims.push(outputs);
        let mut config = MlpConfig {
            init: Init::He,
            ..MlpConfig::new(dims, self.activation)
        };
        let gate = |per: Per| GateSpec {
            per,
            // Open for the most part: what does nothing closes by and by.
            drop_rate: 0.2,
            ..GateSpec::default()
        };
        match self.gates {
            NetworkGates::Unit => config = config.gated(gate(Per::Unit)),
            NetworkGates::Weight => config = config.gated(gate(Per::Weight)),
            NetworkGates::None => {}
        }
        let network = Mlp::new(&config, &stream)?;
        let penalty = match self.gates {
            NetworkGates::None => Penalty::none(),
            _ => Penalty::expected_l0(self.lambda / train.rows() as f64)?,
        };
        let batch = self.batch.min((train.rows() / 4).max(1));
        let trainer = TrainerConfig {
            loss,
            penalty,
            epochs: self.epochs,
            batch_size: batch,
            learning_rate: self.learning_rate,
            gate_learning_rate: self.gate_rate,
            schedule: Schedule::Cosine {
                steps: self
                    .epochs
                    .saturating_mul((train.rows() / batch).max(1) as u64),
                last: 0.01,
            },
            average: self.averaging,
            patience: self.patience.filter(|_| test.is_some()),
            seed: self.seed,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(network, trainer, train, test)?;
        let mut watch = Watch {
            observer,
            task: "epochs",
        };
        let _ = observer.hear(Event::Began {
            task: watch.task,
            steps: Some(self.epochs),
        });
        let outcome = trainer.fit(&mut watch)?;
        let _ = observer.hear(Event::Ended {
            task: watch.task,
            note: "",
        });
        if outcome == Outcome::Interrupted {
            return Err(Error::Stopped { folder: None });
        }
        let network = trainer.best_model();
        Ok(SparseNetwork {
            settings: self.clone(),
            history: trainer.history().to_vec(),
            compact: network.compact()?,
            network,
        })
    }

    /// Rows to learn from, and those that are held out.
    fn split(
        &self,
        x: &[f32],
        inputs: usize,
        y: &[f32],
        targets: usize,
        rows: usize,
    ) -> Result<(Dataset, Option<Arc<Dataset>>)> {
        let held = (self.validation * rows as f64).round() as usize;
        let held = held.min(rows.saturating_sub(1));
        if held == 0 {
            return Ok((Dataset::new(x, inputs, y, targets)?, None));
        }
        // Errors name the rows as they were given.
        Dataset::new(x, inputs, y, targets)?;
        let mut order: Vec<usize> = (0..rows).collect();
        let mut rng = Stream::new(self.seed).split("held out").at(0);
        for k in (1..rows).rev() {
            order.swap(k, rng.index(k + 1));
        }
        let of = |places: &[usize]| {
            let gather = |values: &[f32], width: usize| -> Vec<f32> {
                let row = |&k: &usize| values[k * width..][..width].iter().copied();
                places.iter().flat_map(row).collect()
            };
            Dataset::new(&gather(x, inputs), inputs, &gather(y, targets), targets)
        };
        let (test, train) = order.split_at(held);
        Ok((of(train)?, Some(Arc::new(of(test)?))))
    }
}

/// Hands epochs on.
struct Watch<'a> {
    observer: &'a dyn Observer,
    task: &'a str,
}

impl ell0::training::Observer for Watch<'_> {
    fn epoch(&mut self, record: &EpochRecord) -> ControlFlow<()> {
        self.observer.hear(Event::Reached {
            task: self.task,
            step: record.epoch,
            note: "",
        })
    }
}

impl SparseNetwork {
    /// Outputs for rows, row by row.
    pub fn predict(&self, rows: &[f32]) -> Result<Vec<f32>> {
        Ok(self.compact.predict(rows)?)
    }

    /// The network without what its closed gates leave out.
    #[must_use]
    pub fn compact(&self) -> &Compact {
        &self.compact
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

    /// As something that can be exported: inputs x0, x1, …, outputs y0, y1, ….
    pub fn exportable(&self) -> Result<Network> {
        let names = |letter: &str, n: usize| (0..n).map(|k| format!("{letter}{k}")).collect();
        let outputs = self.compact.network().architecture().outputs();
        let inputs = names("x", self.compact.original_inputs());
        Ok(Network::new(
            self.compact.clone(),
            inputs,
            names("y", outputs),
        )?)
    }

    /// The bytes of a file with everything.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            settings: self.settings.clone(),
            history: self.history.clone(),
            architecture: self.network.architecture().clone(),
        };
        let values = self.network.parameters();
        let tensor = Tensor {
            shape: vec![values.len()],
            values: values.into(),
        };
        Ok(to_bytes(
            FORMAT,
            VERSION,
            &header,
            &[("parameters".into(), tensor)],
        )?)
    }

    /// Of such bytes; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: &str) -> Result<Self> {
        let (header, tensors) = from_bytes::<Header>(FORMAT, VERSION, bytes, path)?;
        let Header {
            settings,
            history,
            architecture,
        } = header;
        let parameters = tensors.take("parameters", &[architecture.parameter_len()])?;
        let network = Mlp::from_parameters(architecture, parameters)?;
        Ok(SparseNetwork {
            settings,
            history,
            compact: network.compact()?,
            network,
        })
    }
}
