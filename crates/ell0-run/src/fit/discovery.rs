//! What a fit found.

use std::{collections::BTreeMap, path::Path};

use ell0::{
    dictionary::{Diagnostics, Relation, Rule, Statistics},
    equation::{Dynamics, Equation, Model},
};
use ell0_data::{blemishes::Blemishes, evidence::Evidence, repeats::Repeats};
use serde::{Deserialize, Serialize};

use super::{
    Criterion,
    followed::{self, Followed},
    judgement::{Judged, Judgement, Verdict},
};
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
    /// How one law of the path of each equation was chosen.
    pub rules: Vec<Rule>,
    /// The threshold that left the only law of each equation, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The best law of every size of each target, target after target.
    pub path: Vec<PathLine>,
    /// What the law was chosen by, where neither a number nor a price of terms was asked for.
    pub criterion: Criterion,
    /// Whether it was chosen without the measurements themselves because the statistics had no samples of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_samples: bool,
    /// Whether the search for it was ended by its bound of work before it was done: the law is the best so far, and a better one may be there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// How far the law explains the measurements themselves; none where it was not held against them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judgement: Option<Judgement>,
    /// The law beside some of the measurements; none where there are only statistics of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
    /// Terms that these data cannot tell apart.
    pub indistinct: Diagnostics,
    /// Columns that are combinations of others on these data, or terms, where no columns are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
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
    /// Values that are no measurements: far off their neighbours, or of states that stand still; they were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blemishes: Option<Blemishes>,
    /// States that repeat values although they are noisy: values that were held, not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeats>,
    /// Standard deviations of the errors of inputs that coefficients were corrected for, in the units of the columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_noise: BTreeMap<String, f64>,
    /// Trajectories left out because they are too short, if any are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// What the law gives.
    pub dynamics: Dynamics,
    /// The largest noise on a state, relative to the state's deviation; none where there are no states over time, or rates of change were given and time was not.
    pub noise: Option<f64>,
    /// Whether the states move so fast from row to row that the noise cannot be told from their movement.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coarse: bool,
    /// The deviation of the noise on each state, in its own units; the largest of the parts of the data. Empty where there is no noise to be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_of_states: Vec<f64>,
    /// How rates of change were found, in the parts of the data, or `given`; empty where there are none.
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
    /// How many terms there were to choose from.
    pub candidates: usize,
    /// Its terms.
    pub terms: Vec<DiscoveredTerm>,
    /// Why there are no probabilities of the terms, if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_probabilities: Option<String>,
    /// Terms that were left out and may belong all the same, the likeliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

/// A term that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub feature: String,
    /// How likely it is that it belongs.
    pub probability: f64,
}

/// One term of an equation as it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoveredTerm {
    /// Its name.
    pub feature: String,
    /// Its coefficient.
    pub coefficient: f64,
    /// How sure the data are that it belongs, where that was computed.
    #[serde(default)]
    pub probability: Option<f64>,
    /// The standard error of the coefficient, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The root mean square of coefficient × term, relative to that of the target, over all rows.
    pub contribution: f64,
}

impl DiscoveredTerm {
    /// The terms of the equation of a target; `all` are the statistics of all rows.
    pub(super) fn all(equation: &Equation, target: usize, all: &Statistics) -> Vec<Self> {
        let names = all.features();
        // The columns of R have the lengths of those of the data.
        let size = |column: usize| {
            let rows = 0..names.len() + all.targets().len();
            let squares = rows.map(|row| all.r(row, column).powi(2));
            squares.sum::<f64>().sqrt()
        };
        let whole = size(names.len() + target);
        let contribution = |feature: &str, coefficient: f64| {
            let column = names.iter().position(|name| name == feature);
            let part = column.map_or(0.0, |column| coefficient.abs() * size(column));
            if whole > 0.0 { part / whole } else { 0.0 }
        };
        let term = |term: &ell0::equation::TermRecord| DiscoveredTerm {
            feature: term.feature.clone(),
            coefficient: term.coefficient,
            probability: term.probability,
            error: term.error,
            contribution: contribution(&term.feature, term.coefficient),
        };
        equation.terms.iter().map(term).collect()
    }
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
    /// The terms.
    pub features: Vec<String>,
    /// Their coefficients, by the training rows, to which the errors belong; those of the law itself are from all rows.
    pub coefficients: Vec<f64>,
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
        let timed = surveys().any(|s| !s.noise.is_empty());
        let coarse = surveys().any(|s| s.coarse);
        let mut noise_of_states = Vec::new();
        if dynamics == Dynamics::Continuous && timed && !coarse {
            let of = |k: usize| surveys().filter_map(move |s| s.noise.get(k).copied());
            let states = 0..evidence[0].targets.len();
            noise_of_states = states.map(|k| of(k).fold(0.0, f64::max)).collect();
        }
        let noise = surveys().map(|s| s.relative_noise).fold(0.0, f64::max);
        DataSummary {
            rows: surveys().map(|s| s.rows).sum(),
            trajectories: surveys().map(|s| s.trajectories).sum(),
            dropped: surveys().map(|s| s.dropped).sum(),
            gaps: evidence.iter().map(|e| e.gaps).sum(),
            blemishes: surveys()
                .map(|s| s.blemishes.clone())
                .reduce(Blemishes::and)
                .filter(|b| !b.is_empty()),
            repeats: surveys()
                .map(|s| s.repeats.clone())
                .reduce(Repeats::merged)
                .unwrap_or_default(),
            input_noise: BTreeMap::new(),
            short: Some(evidence.iter().map(|e| e.short).sum()).filter(|short| *short > 0),
            dynamics,
            noise: (dynamics == Dynamics::Continuous && timed && !coarse).then_some(noise),
            noise_of_states,
            coarse: dynamics == Dynamics::Continuous && coarse,
            derivatives,
            fitted_rows: all.rows(),
        }
    }
}

impl DataSummary {
    /// What a law leaves that explains the measurements is a better measure of the noise than differences of neighbours, which leave movement, too.
    pub(super) fn correct(&mut self, judgement: &Judgement) {
        let explained = |e: &Judged| e.verdict == Verdict::Explained;
        if self.dynamics == Dynamics::Continuous
            && judgement.windows > 0
            && judgement.equations.iter().all(explained)
        {
            let left = judgement.equations.iter().map(|e| e.noise_left);
            self.noise = Some(left.fold(0.0, f64::max));
            self.coarse = false;
        }
    }
}

impl Discovery {
    /// Reads what the folder of a fit holds.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let mut found: Discovery = files::read_json(&folder.join(super::folder::RESULT))?;
        if let Some(followed) = &mut found.followed {
            followed.read_runs(&folder.join(followed::FILE))?;
        }
        Ok(found)
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
