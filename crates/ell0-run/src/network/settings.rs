//! How a sparse network is trained.

use std::ops::ControlFlow;

use ell0::{
    gates::Penalty,
    network::{
        Activation, Architecture, GateSpec, Gating, Init, Loss, Mlp, MlpConfig, NoisePer, Per,
    },
    rng::Stream,
    training::{Keep, Schedule, TrainerConfig, Warmup},
};
use serde::{Deserialize, Serialize};

use super::{
    ClassWeights, Names, SparseNetwork,
    copies::Copies,
    prepare::{Prepared, Rows},
};
use crate::{
    error::{Error, Result},
    learning::Question,
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

/// How inputs are brought to mean 0 and deviation 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkScaling {
    /// Each by itself.
    Each,
    /// All by the same mean and deviation, as suits the pixels of images.
    Together,
    /// Not at all.
    None,
}

/// How learning rates change over the epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkSchedule {
    /// Not at all.
    Constant,
    /// In a straight line down to a hundredth.
    Linear,
    /// Along half a cosine down to a hundredth.
    Cosine,
    /// Divided by ten after every third of the epochs.
    Step,
}

/// How a sparse network is trained.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `task` | regression | what it gives | |
/// | `classes` | 0 | how many there are to choose from | of a classification ≥ 2 |
/// | `hidden` | 64, 64 | widths of the hidden layers | |
/// | `activation` | relu | of the hidden layers | elu, relu, tanh |
/// | `gates` | unit | where the gates are | |
/// | `noise` | batch | how often gates are drawn: once for each batch, or for each of its rows | |
/// | `lambda` | 0.1 | price of a weight behind an open gate, divided by the number of rows, as Louizos et al. have it; or one for each layer | ≥ 0 |
/// | `warmup` | 0 | epochs over which the price grows from nothing | ≥ 0 |
/// | `decay` | 0 | weight decay inside the gates, divided by the number of rows | ≥ 0 |
/// | `input_noise` | 0 | deviation of the noise that is added to the scaled inputs, anew at every step: what is learned has to bear it, and generalises better | ≥ 0 |
/// | `drop_rate` | 0.2 | the share of gates that are closed at first | (0, 1) |
/// | `init` | he | how weights are drawn at first | he, torch |
/// | `scaling` | each | how inputs, and the targets of a regression, are brought to mean 0 and deviation 1: each by itself, all together, or none | |
/// | `class_weights` | equal | how much the rows of each class count: equal, balanced, or as named (`spam=5,ham=1`) | |
/// | `epochs` | 200 | rounds through the rows | ≥ 1 |
/// | `batch` | 128 | rows of a step, at most a quarter of all | ≥ 1 |
/// | `learning_rate` | 1e-2 | of weights and biases | > 0 |
/// | `gate_rate` | 3e-2 | of the gates; none: as `learning_rate` | > 0 |
/// | `schedule` | cosine | how both change over the epochs | constant, linear, cosine, step |
/// | `averaging` | 0.99 | decay of the average of the parameters that is kept | (0, 1), or none |
/// | `validation` | 0 | share of the rows that is held out; the parameters with the smallest error there, the price of what is open included, are kept; rows with the same inputs are held out together | \[0, 0.9\] |
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
    pub noise: NoisePer,
    pub lambda: Vec<f64>,
    pub warmup: u64,
    pub decay: f64,
    pub input_noise: f64,
    pub drop_rate: f64,
    pub init: Init,
    pub scaling: NetworkScaling,
    #[serde(with = "crate::text")]
    pub class_weights: ClassWeights,
    pub epochs: u64,
    pub batch: usize,
    pub learning_rate: f64,
    pub gate_rate: Option<f64>,
    pub schedule: NetworkSchedule,
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
            noise: NoisePer::Batch,
            lambda: vec![0.1],
            warmup: 0,
            decay: 0.0,
            input_noise: 0.0,
            // Open for the most part: what does nothing closes by and by.
            drop_rate: 0.2,
            init: Init::He,
            scaling: NetworkScaling::Each,
            class_weights: ClassWeights::Equal,
            epochs: 200,
            batch: 128,
            learning_rate: 1e-2,
            gate_rate: Some(3e-2),
            schedule: NetworkSchedule::Cosine,
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
        let count = x.len().checked_div(inputs).unwrap_or(0);
        if count == 0 {
            return Err(Error::NoData);
        }
        self.check()?;
        let targets = match self.task {
            NetworkTask::Regression => (y.len() / count).max(1),
            NetworkTask::Classification => 1,
        };
        let names = Names::plain(inputs, targets, self.classes);
        let rows = Rows {
            x,
            inputs,
            y,
            targets,
        };
        let copies = match self.validation > 0.0 {
            true => Copies::to_keep_together(&rows.all_inputs()),
            false => Copies::none(count),
        };
        let prepared = Prepared::new(self, rows, &copies, &names.classes)?;
        let question = self.question(&prepared, &names)?;
        let task = "epochs";
        let _ = observer.hear(Event::Began {
            task,
            steps: Some(self.epochs),
        });
        let learned = question.answer(
            None,
            observer,
            |_| Ok(()),
            |record| {
                observer.hear(Event::Reached {
                    task,
                    step: record.epoch,
                    note: "",
                })
            },
        );
        let _: ControlFlow<()> = observer.hear(Event::Ended { task, note: "" });
        SparseNetwork::new(self.clone(), names, &learned?.trainer, prepared)
    }

    /// What is to be learned from rows that are prepared.
    pub(super) fn question(&self, prepared: &Prepared, names: &Names) -> Result<Question> {
        let architecture = self.architecture(names.inputs.len(), names.outputs().len())?;
        let stream = Stream::new(self.seed).split("network");
        Ok(Question {
            model: Mlp::random(architecture, self.init, &stream)?,
            config: self.trainer(prepared)?,
            train: prepared.train.clone(),
            test: prepared.held.clone(),
        })
    }

    /// Mistakes are found before anything is done.
    pub(super) fn check(&self) -> Result<()> {
        if !(0.0..=0.9).contains(&self.validation) {
            let expected = "a share of the rows from 0 to 0.9";
            return Err(Error::setting("validation", self.validation, expected));
        }
        if self.patience.is_some() && self.validation == 0.0 {
            let expected = "rows must be held out to tell whether it still improves: give a share of them as `validation`";
            return Err(Error::setting(
                "patience",
                self.patience.unwrap_or_default(),
                expected,
            ));
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
                noise: self.noise,
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

    /// How the rows are learned from.
    fn trainer(&self, prepared: &Prepared) -> Result<TrainerConfig> {
        let rows = prepared.train.rows();
        let penalty = match self.gates {
            NetworkGates::None => Penalty::none(),
            _ => Penalty::expected_l0(self.largest_price() / rows as f64)?,
        };
        let batch = self.batch.min((rows / 4).max(1));
        let per_epoch = (rows / batch.max(1)).max(1) as u64;
        let steps = self.epochs.saturating_mul(per_epoch);
        let last = 0.01;
        Ok(TrainerConfig {
            loss: match (self.task, prepared.weighted) {
                (NetworkTask::Regression, _) => Loss::MeanSquaredError,
                (NetworkTask::Classification, false) => Loss::CrossEntropy,
                (NetworkTask::Classification, true) => Loss::WeightedCrossEntropy,
            },
            penalty: penalty.with_weight_decay(self.decay / rows as f64)?,
            epochs: self.epochs,
            batch_size: batch,
            input_noise: self.input_noise,
            learning_rate: self.learning_rate,
            gate_learning_rate: self.gate_rate,
            schedule: match self.schedule {
                NetworkSchedule::Constant => Schedule::Constant,
                NetworkSchedule::Linear => Schedule::Linear { steps, last },
                NetworkSchedule::Cosine => Schedule::Cosine { steps, last },
                NetworkSchedule::Step => Schedule::Step {
                    every: steps.div_ceil(3),
                    factor: 0.1,
                },
            },
            lambda_warmup: Warmup {
                delay: 0,
                ramp: self.warmup.saturating_mul(per_epoch),
            },
            average: self.averaging,
            patience: self.patience,
            keep: Keep::Cheapest,
            seed: self.seed,
            ..TrainerConfig::default()
        })
    }
}
