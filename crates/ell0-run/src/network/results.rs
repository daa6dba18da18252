//! What a run of networks leaves.

use ell0::training::EpochRecord;
use serde::{Deserialize, Serialize};

use super::{NetworkRunSettings, Quality, SparseNetwork};
use crate::{error::Result, metrics::Line};

/// The rows that a network was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredOn {
    /// Rows that nothing was learned from or chosen by.
    Test,
    /// Rows that only the choice of an epoch or a price saw.
    Validation,
    /// The rows that it learned from: it may do worse on others.
    Training,
}

/// One network of a run, and how good it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkResult {
    /// What its files are named after.
    pub name: String,
    /// The price of a weight, or that of each layer.
    pub lambda: Vec<f64>,
    /// Its seed.
    pub seed: u64,
    /// How good it is.
    #[serde(flatten)]
    pub quality: Quality,
    /// On which rows.
    pub measured_on: MeasuredOn,
    /// Rows that have the inputs of an earlier one. All of them stand on one side, where some rows are put aside or held out, unless the inputs are categories.
    pub copies: usize,
    /// Whether the inputs are categories: few combinations of few values, of which each has many rows.
    pub categories: bool,
    /// Rows of the files to test on that were left out, because rows to learn from have the same inputs.
    pub left_out: usize,
    /// Whether it says the same of every row that it learned from or was measured on: the same class, or the same numbers.
    pub same_for_all: bool,
    /// How good it is to say the same of every row: the commonest class, or the mean.
    pub baseline: f64,
    /// Share of wrong classes, or mean squared error, on held-out rows.
    pub validation_error: Option<f64>,
    /// Units of each layer as built, inputs first.
    pub units_before: Vec<usize>,
    /// Units that are left in each layer, inputs first.
    pub units: Vec<usize>,
    /// The inputs that are still read.
    pub inputs_read: Vec<String>,
    /// Weights and biases as built.
    pub parameters_before: usize,
    /// Weights and biases that are left and not zero.
    pub parameters: usize,
    /// Operations for a row as built: two for each weight, one for each bias.
    pub operations_before: f64,
    /// The same of the compacted network.
    pub operations: f64,
    /// Epochs that were trained.
    pub epochs: u64,
    /// The epoch whose parameters were kept.
    pub epoch: u64,
    /// Largest difference of outputs between the gated and the compacted network, relative to the largest output.
    pub compaction_error: f64,
    /// Seconds of training.
    pub seconds: f64,
    /// Whether it is the one that was chosen.
    pub chosen: bool,
}

impl NetworkResult {
    /// Share of wrong classes, or mean squared error.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.quality.error()
    }

    /// 784-300-100, say: units without the outputs.
    #[must_use]
    pub fn shape(units: &[usize]) -> String {
        let inner = units.split_last().map_or(&[][..], |(_, inner)| inner);
        let each: Vec<String> = inner.iter().map(usize::to_string).collect();
        each.join("-")
    }
}

/// One epoch of one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkEpoch {
    /// The network.
    pub run: String,
    /// The epoch.
    #[serde(flatten)]
    pub record: EpochRecord,
}

impl Line for NetworkEpoch {
    fn job(&self) -> &str {
        &self.run
    }
}

/// What a run of networks leaves, finished or under way.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkRun {
    /// What it was run with.
    pub settings: NetworkRunSettings,
    /// The results; none before it is finished.
    pub results: Option<Vec<NetworkResult>>,
    /// The networks that are finished, in the order of the results.
    pub networks: Vec<SparseNetwork>,
    /// The epochs of all networks.
    pub metrics: Vec<NetworkEpoch>,
}

impl NetworkRun {
    /// The results; none before it is finished.
    #[must_use]
    pub fn rows(&self) -> &[NetworkResult] {
        self.results.as_deref().unwrap_or_default()
    }

    /// The network that was chosen, and its results.
    #[must_use]
    pub fn chosen(&self) -> Option<(&NetworkResult, &SparseNetwork)> {
        let mut both = self.rows().iter().zip(&self.networks);
        both.find(|(result, _)| result.chosen)
    }
}

/// The place of the network to choose: the smallest whose error on held-out rows is within one standard error of the least.
pub(super) fn choose(qualities: &[Quality], sizes: &[usize]) -> Result<usize> {
    let least = qualities
        .iter()
        .min_by(|a, b| a.error().total_cmp(&b.error()));
    let most = least.map_or(f64::INFINITY, |q| q.error() + q.standard_error());
    let near = (0..qualities.len()).filter(|k| qualities[*k].error() <= most);
    Ok(near.min_by_key(|k| sizes[*k]).unwrap_or(0))
}
