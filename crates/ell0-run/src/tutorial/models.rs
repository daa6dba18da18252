//! The models of section 4.1 of Botteghi and Fasel (2024), with their settings and the published figures.

use ell0::{
    features::{Library, Pairs},
    gates::Penalty,
    network::{Activation, GateSpec, MlpConfig, Per},
    training::{Schedule, TrainerConfig},
};
use serde::{Deserialize, Serialize};

use super::data;

/// What is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// The observation after a step.
    Dynamics,
    /// The reward of a step.
    Reward,
}

impl Task {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Task::Dynamics => "dynamics",
            Task::Reward => "reward",
        }
    }
}

/// Candidate terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// Monomials up to degree 3.
    Polynomial,
    /// Sines and cosines, and their products.
    Fourier,
    /// Both of them.
    Both,
}

impl Terms {
    fn name(self) -> &'static str {
        match self {
            Terms::Polynomial => "polynomial",
            Terms::Fourier => "fourier",
            Terms::Both => "polynomial+fourier",
        }
    }

    pub(super) fn library(self) -> Library {
        let polynomial = || Library::polynomial(3);
        let fourier = || Library::Fourier {
            frequencies: 1,
            sin: true,
            cos: true,
            pairs: Pairs::Every,
        };
        match self {
            Terms::Polynomial => polynomial(),
            Terms::Fourier => fourier(),
            Terms::Both => Library::Sum(vec![polynomial(), fourier()]),
        }
    }
}

/// A model of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain network.
    Network,
    /// A network with gates.
    SparseNetwork,
    /// A dictionary by minibatches and sampled gates, as in the paper.
    Sampled(Terms),
    /// The same dictionary by the expectation in closed form, with the choice of the path.
    Exact(Terms),
}

impl Kind {
    /// All models, in the order of the comparison.
    pub const ALL: [Kind; 8] = [
        Kind::Network,
        Kind::SparseNetwork,
        Kind::Sampled(Terms::Polynomial),
        Kind::Sampled(Terms::Fourier),
        Kind::Sampled(Terms::Both),
        Kind::Exact(Terms::Polynomial),
        Kind::Exact(Terms::Fourier),
        Kind::Exact(Terms::Both),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Kind::Network => "network".into(),
            Kind::SparseNetwork => "sparse network".into(),
            Kind::Sampled(terms) => terms.name().into(),
            Kind::Exact(terms) => format!("{}, exact", terms.name()),
        }
    }

    /// The name of its files.
    #[must_use]
    pub fn file(self) -> String {
        self.name().replace(", ", "-").replace([' ', '+'], "-")
    }

    /// The best epoch's errors that the paper's figure shows, train and test.
    #[must_use]
    pub fn published(self, task: Task) -> Option<(f64, f64)> {
        Some(match (self, task) {
            (Kind::Network, Task::Dynamics) => (1.2e-4, 8e-5),
            (Kind::SparseNetwork, Task::Dynamics) => (2.8e-4, 1e-4),
            (Kind::Sampled(Terms::Polynomial), Task::Dynamics) => (2.6e-4, 2.5e-4),
            (Kind::Sampled(Terms::Fourier), Task::Dynamics) => (4.0, 4.5),
            (Kind::Sampled(Terms::Both), Task::Dynamics) => (4.5e-4, 4.5e-4),
            (Kind::Network, Task::Reward) => (2.1e-4, 6e-5),
            (Kind::SparseNetwork, Task::Reward) => (2e-3, 4e-4),
            (Kind::Sampled(Terms::Polynomial), Task::Reward) => (0.095, 0.095),
            (Kind::Sampled(Terms::Fourier), Task::Reward) => (2.0, 2.0),
            (Kind::Sampled(Terms::Both), Task::Reward) => (0.043, 0.043),
            (Kind::Exact(_), _) => return None,
        })
    }

    /// The price of a weight: as published, but for the dynamics with polynomial and Fourier terms: 5e-5 as with polynomial terms alone, where 5e-4 was published. At 5e-4 the error depends much on
    /// the data: 6.7e-4 with seed 0, 3.7e-4 with seed 2, for a published 4.5e-4.
    fn lambda(self, task: Task) -> f64 {
        match (self, task) {
            (Kind::Network | Kind::Exact(_), _) => 0.0,
            (Kind::SparseNetwork, _) => 5e-6,
            (Kind::Sampled(Terms::Fourier), Task::Dynamics) => 5e-3,
            (Kind::Sampled(_), _) => 5e-5,
        }
    }

    /// The network, for the two that are networks: three layers, the hidden ones 128 wide.
    pub(super) fn network(self, inputs: usize, outputs: usize) -> Option<MlpConfig> {
        let plain = MlpConfig::new([inputs, 128, 128, outputs], Activation::Elu);
        match self {
            Kind::Network => Some(plain),
            Kind::SparseNetwork => Some(plain.gated(GateSpec::default())),
            Kind::Sampled(_) | Kind::Exact(_) => None,
        }
    }

    /// Gates of a dictionary: one for each term and target.
    pub(super) fn dictionary_gates() -> GateSpec {
        GateSpec {
            per: Per::Weight,
            ..GateSpec::default()
        }
    }

    /// The settings of training: those published, but that
    ///
    /// - dictionaries see features of unit RMS, for which the published rate of 3e-4 is too slow: they begin with 3e-3 and end with a fiftieth of it;
    /// - the gates of the sparse network learn at 1e-3: at 3e-4 half of them have not made up their mind after 500 epochs.
    pub(super) fn config(
        self,
        task: Task,
        epochs: u64,
        seed: u64,
        lambda_factor: f64,
    ) -> ell0::Result<TrainerConfig> {
        let lambda = self.lambda(task) * lambda_factor;
        let batches = data::STEPS as u64 / BATCH as u64;
        Ok(TrainerConfig {
            penalty: if lambda > 0.0 {
                Penalty::expected_l0(lambda)?
            } else {
                Penalty::none()
            },
            epochs,
            steps_per_epoch: Some(batches),
            batch_size: BATCH,
            learning_rate: match self {
                Kind::Sampled(_) => 3e-3,
                _ => 3e-4,
            },
            gate_learning_rate: match self {
                Kind::SparseNetwork => Some(1e-3),
                _ => None,
            },
            schedule: match self {
                Kind::Sampled(_) => Schedule::Cosine {
                    steps: epochs * batches,
                    last: 0.02,
                },
                _ => Schedule::Constant,
            },
            seed,
            ..TrainerConfig::default()
        })
    }
}

/// Rows of a batch.
const BATCH: usize = 256;
