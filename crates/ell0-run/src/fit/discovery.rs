//! What a fit found.

use std::path::Path;

use ell0::{
    dictionary::{Diagnostics, Rule, Statistics},
    equation::{Dynamics, Model, TermRecord},
};
use ell0_data::evidence::Evidence;
use serde::{Deserialize, Serialize};

use super::judgement::Judgement;
use crate::{error::Result, files};

/// The law behind measurements, and how it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Discovery {
    /// The data it was found in.
    pub data: DataSummary,
    /// The equations, one for each target.
    pub equations: Vec<DiscoveredEquation>,
    /// What was chosen, over all equations.
    pub selected: Selected,
    /// How one law of the path was chosen.
    pub rule: Rule,
    /// The best law of every size of each target, target after target.
    pub path: Vec<PathLine>,
    /// How far the law explains the measurements themselves; none where it was not held against them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// Terms that these data cannot tell apart.
    pub indistinct: Diagnostics,
    /// The law.
    pub model: Model,
}

/// What a fit saw of its data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Rows of measurements.
    pub rows: u64,
    /// Trajectories they belong to.
    pub trajectories: usize,
    /// Rows left out because of missing cells.
    pub dropped: u64,
    /// Gaps within trajectories, over which nothing was joined.
    pub gaps: u64,
    /// Trajectories left out because they are too short, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// What the law gives.
    pub dynamics: Dynamics,
    /// The largest noise on a state, relative to the state's deviation; none where there are no states over time.
    pub noise: Option<f64>,
    /// How rates of change were found, in the parts of the data; empty where there are none.
    pub derivatives: Vec<String>,
    /// Rows of the linear problem that the coefficients are from: all of them, those held out for the choice included.
    pub fitted_rows: u64,
}

/// One equation as it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoveredEquation {
    /// What it gives.
    pub target: String,
    /// The equation, for reading.
    pub text: String,
    /// Its terms.
    pub terms: Vec<TermRecord>,
    /// Why there are no probabilities of the terms, if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_probabilities: Option<String>,
}

/// What was chosen, over all equations.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// The smallest price at which a chosen law is the best; none if that is infinite.
    pub lambda: Option<f64>,
    /// Terms of all equations together.
    pub terms: usize,
}

/// A law of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathLine {
    /// What it gives.
    pub target: String,
    /// The largest price of a term at which it beats all smaller laws; none if that is infinite.
    pub lambda: Option<f64>,
    /// Number of terms.
    pub terms: usize,
    /// Mean squared error on the training rows.
    pub train_mse: f64,
    /// Mean squared error on the held-out rows.
    pub validation_mse: Option<f64>,
    /// Its standard error.
    pub validation_deviation: Option<f64>,
    /// Bayesian information criterion.
    pub bic: f64,
    /// Akaike's criterion, corrected for few rows.
    pub aicc: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

impl DataSummary {
    pub(super) fn new(evidence: &[Evidence], all: &Statistics) -> Self {
        let surveys = || evidence.iter().map(|e| &e.survey);
        let dynamics = evidence[0].dynamics;
        let mut derivatives: Vec<String> = Vec::new();
        if dynamics == Dynamics::Continuous {
            derivatives.extend(evidence.iter().map(|e| e.derivative.to_string()));
            derivatives.dedup();
        }
        let noise = surveys().map(|s| s.relative_noise).fold(0.0, f64::max);
        DataSummary {
            rows: surveys().map(|s| s.rows).sum(),
            trajectories: surveys().map(|s| s.trajectories).sum(),
            dropped: surveys().map(|s| s.dropped).sum(),
            gaps: evidence.iter().map(|e| e.gaps).sum(),
            short: Some(evidence.iter().map(|e| e.short).sum()).filter(|short| *short > 0),
            dynamics,
            noise: (dynamics == Dynamics::Continuous).then_some(noise),
            derivatives,
            fitted_rows: all.rows(),
        }
    }
}

impl Discovery {
    /// Reads what the folder of a fit holds.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        files::read_json(&folder.as_ref().join(super::folder::RESULT))
    }

    /// Whether the law was chosen by the likelihood of the measurements.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.judgement.as_ref().is_some_and(|j| j.windows > 0)
    }

    /// Names of the targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.equations.iter().map(|e| e.target.as_str())
    }

    /// The best laws of every size of a target, by increasing size.
    pub fn path_of<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a PathLine> {
        self.path.iter().filter(move |line| line.target == target)
    }
}
