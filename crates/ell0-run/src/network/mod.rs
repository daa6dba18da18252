//! Sparse networks for rows of inputs and targets in memory: trained with gates, then compacted.
//!
//! ```
//! use ell0_run::{NetworkSettings, NetworkTask, Silent};
//! // Whether a point lies above the line; the second input says nothing.
//! let x: Vec<f64> = (0..400).flat_map(|k| [f64::from(k) / 200.0 - 1.0, f64::from(k % 7)]).collect();
//! let y: Vec<f64> = (0..400).map(|k| f64::from(u8::from(k >= 200))).collect();
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

mod quality;
mod scale;
mod trained;

use std::{ops::ControlFlow, sync::Arc};

use ell0::{
    gates::Penalty,
    network::{Activation, Architecture, GateSpec, Gating, Init, Loss, Mlp, MlpConfig, Per},
    rng::Stream,
    training::{Dataset, EpochRecord, Outcome, Schedule, Trainer, TrainerConfig},
};
pub use quality::{Calibration, Quality};
pub use scale::Scale;
use serde::{Deserialize, Serialize};
pub use trained::SparseNetwork;

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
/// | `lambda` | 0.1 | price of a weight behind an open gate, divided by the number of rows, as Louizos et al. have it; or one for each layer | ≥ 0 |
/// | `decay` | 0 | weight decay inside the gates | ≥ 0 |
/// | `drop_rate` | 0.2 | the share of gates that are closed at first | (0, 1) |
/// | `standardise` | yes | whether inputs, and the targets of a regression, are brought to mean 0 and deviation 1 | |
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
    pub lambda: Vec<f64>,
    pub decay: f64,
    pub drop_rate: f64,
    pub standardise: bool,
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
            lambda: vec![0.1],
            decay: 0.0,
            // Open for the most part: what does nothing closes by and by.
            drop_rate: 0.2,
            standardise: true,
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

impl NetworkSettings {
    /// Trains on rows of inputs and targets, both row by row; of classes there is one target, 0, 1, ….
    pub fn run_on(
        &self,
        x: &[f64],
        inputs: usize,
        y: &[f64],
        observer: &dyn Observer,
    ) -> Result<SparseNetwork> {
        let rows = x.len().checked_div(inputs).unwrap_or(0);
        if rows == 0 {
            return Err(Error::NoData);
        }
        let targets = match self.task {
            NetworkTask::Regression => (y.len() / rows).max(1),
            NetworkTask::Classification => 1,
        };
        self.check()?;
        let outputs = match self.task {
            NetworkTask::Regression => targets,
            NetworkTask::Classification => self.classes,
        };
        let (kept, held) = self.split(rows);
        let of = |values: &[f64], width: usize, places: &[usize]| -> Vec<f64> {
            let row = |&k: &usize| values.get(k * width..(k + 1) * width).unwrap_or_default();
            places.iter().flat_map(row).copied().collect()
        };
        // Errors name the rows as they were given.
        let single = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        Dataset::new(&single(x), inputs, &single(y), targets)?;
        let own = of(x, inputs, &kept);
        let scale_in = match self.standardise {
            true => Scale::of(&own, inputs),
            false => Scale::none(inputs),
        };
        let scale_out = match (self.task, self.standardise) {
            (NetworkTask::Regression, true) => Scale::of(&of(y, targets, &kept), targets),
            _ => Scale::none(outputs),
        };
        let data = |places: &[usize]| {
            let y = of(y, targets, places);
            let y = match self.task {
                NetworkTask::Regression => scale_out.there(&y),
                NetworkTask::Classification => single(&y),
            };
            let x = scale_in.there(&of(x, inputs, places));
            Dataset::new(&x, inputs, &y, targets)
        };
        let test = match held.is_empty() {
            true => None,
            false => Some(Arc::new(data(&held)?)),
        };
        let train = data(&kept)?;
        let stream = Stream::new(self.seed).split("network");
        let network = Mlp::random(self.architecture(inputs, outputs)?, Init::He, &stream)?;
        let config = self.trainer(train.rows(), test.is_some())?;
        let mut trainer = Trainer::new(network, config, train, test)?;
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
        let history = trainer.history().to_vec();
        SparseNetwork::new(
            self.clone(),
            history,
            trainer.best_model(),
            scale_in,
            scale_out,
        )
    }

    /// Mistakes are found before anything is done.
    fn check(&self) -> Result<()> {
        if !(0.0..=0.9).contains(&self.validation) {
            let expected = "a share of the rows from 0 to 0.9";
            return Err(Error::setting("validation", self.validation, expected));
        }
        if let Some(lambda) = self.lambda.iter().find(|l| !(**l >= 0.0 && l.is_finite())) {
            let expected = "it must be finite and not negative";
            return Err(Error::setting("lambda", lambda, expected));
        }
        let layers = self.hidden.len() + 1;
        if self.lambda.len() > 1 && self.lambda.len() != layers {
            let expected = format!("one for all layers, or one for each of the {layers}");
            let count = format!("{} prices", self.lambda.len());
            return Err(Error::setting("lambda", count, expected));
        }
        if self.task == NetworkTask::Classification && self.classes < 2 {
            let expected = "there must be at least two to choose from";
            return Err(Error::setting("classes", self.classes, expected));
        }
        Ok(())
    }

    /// The layers, each with its gates and their price relative to the largest.
    fn architecture(&self, inputs: usize, outputs: usize) -> Result<Architecture> {
        let mut dims = vec![inputs];
        dims.extend_from_slice(&self.hidden);
        dims.push(outputs);
        let plain = MlpConfig::new(dims, self.activation).architecture()?;
        let per = match self.gates {
            NetworkGates::Unit => Per::Unit,
            NetworkGates::Weight => Per::Weight,
            NetworkGates::None => return Ok(plain),
        };
        let largest = self.largest_price();
        let mut layers = Vec::from(plain);
        for (k, layer) in layers.iter_mut().enumerate() {
            let own = match self.lambda.as_slice() {
                several @ [_, _, ..] if largest > 0.0 => several[k] / largest,
                _ => 1.0,
            };
            layer.gating = Gating::Gated(GateSpec {
                per,
                drop_rate: self.drop_rate,
                price: own,
                ..GateSpec::default()
            });
        }
        Ok(Architecture::new(layers)?)
    }

    fn largest_price(&self) -> f64 {
        self.lambda.iter().copied().fold(0.0, f64::max)
    }

    /// How so many rows are learned from.
    fn trainer(&self, rows: usize, tested: bool) -> Result<TrainerConfig> {
        let penalty = match self.gates {
            NetworkGates::None => Penalty::none(),
            _ => Penalty::expected_l0(self.largest_price() / rows as f64)?,
        };
        let batch = self.batch.min((rows / 4).max(1));
        let steps = self
            .epochs
            .saturating_mul((rows / batch.max(1)).max(1) as u64);
        Ok(TrainerConfig {
            loss: match self.task {
                NetworkTask::Regression => Loss::MeanSquaredError,
                NetworkTask::Classification => Loss::CrossEntropy,
            },
            penalty: penalty.with_weight_decay(self.decay / rows as f64)?,
            epochs: self.epochs,
            batch_size: batch,
            learning_rate: self.learning_rate,
            gate_learning_rate: self.gate_rate,
            schedule: Schedule::Cosine { steps, last: 0.01 },
            average: self.averaging,
            patience: self.patience.filter(|_| tested),
            seed: self.seed,
            ..TrainerConfig::default()
        })
    }

    /// Rows to learn from, and those that are held out.
    fn split(&self, rows: usize) -> (Vec<usize>, Vec<usize>) {
        let held = (self.validation * rows as f64).round() as usize;
        let held = held.min(rows.saturating_sub(1));
        let mut order: Vec<usize> = (0..rows).collect();
        if held == 0 {
            return (order, Vec::new());
        }
        let mut rng = Stream::new(self.seed).split("held out").at(0);
        for k in (1..rows).rev() {
            order.swap(k, rng.index(k + 1));
        }
        let train = order.split_off(held);
        (train, order)
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
