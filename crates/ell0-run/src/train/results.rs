//! What training leaves.

use ell0::equation::Model;
use ell0_control::agent::{Actor, EnvironmentSteps, EpisodeRecord};
use serde::{Deserialize, Serialize};

use super::{TrainSettings, job::Finished};
use crate::metrics::Line;

/// A row of the results: an agent with a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentResult {
    /// The name of the agent; empty if it is the only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// What acts.
    pub policy: String,
    /// The seed.
    pub seed: u64,
    /// Price of an open gate; none for what has no terms.
    pub lambda: Option<f64>,
    /// Mean return from the starts that policies are compared on.
    pub return_mean: f64,
    /// Half the width of its 95 % interval.
    pub return_ci95: f64,
    /// What optimal control reaches more; none where nobody knows.
    pub gap: Option<f64>,
    /// Terms of all laws together, one that all actions share counted once; none for a network.
    pub terms: Option<usize>,
    /// Laws with terms of their own: one for each action, or a single one that all share; none for a network.
    pub laws: Option<usize>,
    /// The law, for reading; that of all actions where they share one; none for a network.
    pub equation: Option<String>,
    /// Every step that the environment took, by purpose.
    pub environment_steps: EnvironmentSteps,
    /// Whether the coefficients were tuned after training.
    pub fine_tuned: bool,
    /// How long it took, by the observer's clock.
    pub seconds: f64,
}

/// One episode of one job, in `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricLine {
    /// The job.
    pub run: String,
    /// What acts.
    pub policy: String,
    /// Price of an open gate, as it was set.
    pub lambda: f64,
    /// The seed.
    pub seed: u64,
    /// The episode.
    #[serde(flatten)]
    pub record: EpisodeRecord,
}

impl Line for MetricLine {
    fn job(&self) -> &str {
        &self.run
    }
}

/// A policy that was trained.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainedPolicy {
    /// What its files are named after.
    pub name: String,
    /// The policy.
    pub actor: Actor,
    /// Its closed form; none for a network.
    pub law: Option<Model>,
}

/// A training, finished or under way.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingRun {
    /// What it began with.
    pub settings: TrainSettings,
    /// The rows, if it is finished: for each agent its seeds.
    pub results: Option<Vec<AgentResult>>,
    /// The policies, in the same order; of a run under way those that were saved so far.
    pub policies: Vec<TrainedPolicy>,
    /// All episodes so far, job after job.
    pub metrics: Vec<MetricLine>,
}

impl TrainingRun {
    pub(super) fn new(settings: TrainSettings, done: Vec<Finished>) -> Self {
        let (mut results, mut policies, mut metrics) = (vec![], vec![], vec![]);
        for finished in done {
            results.push(finished.row);
            policies.push(finished.policy);
            metrics.extend(finished.metrics);
        }
        TrainingRun {
            settings,
            results: Some(results),
            policies,
            metrics,
        }
    }

    /// The rows of the results; none while it is under way.
    #[must_use]
    pub fn rows(&self) -> &[AgentResult] {
        self.results.as_deref().unwrap_or_default()
    }
}
