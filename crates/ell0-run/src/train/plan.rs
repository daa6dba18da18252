//! What is usually said of a training, and the settings that follow from it.

use std::collections::BTreeMap;

use ell0_control::{
    agent::{ActorKind, AlgorithmConfig, PenaltyKind, TrainConfig},
    environment::Environment,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AgentSettings, TrainSettings, file_word, finer::finer};
use crate::error::Result;

/// A training in the words of a user; everything else follows from the world.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `policies` | polynomial(3) | what acts; several are trained side by side |
/// | `algorithm` | td3 | how it learns: td3 or ddpg |
/// | `episodes` | 250; 120 where all actions can share a law | episodes |
/// | `worlds` | 1; 4 to 16 there | worlds stepped side by side |
/// | `updates` | 200; a quarter of the steps there; 100 as published | updates after each episode |
/// | `seeds`, `seed` | 1, 0 | number of seeds, and the first |
/// | `lambda` | 0.001; 0.0003 with `terms`, but for fields | prices of an open gate, relative to the size of Q: one agent each |
/// | `penalty` | l0 | what is paid for: open gates, or the sizes of coefficients |
/// | `terms` | none | number of terms of each action |
/// | `fine_tune`, `exchange` | no | what is done after training |
/// | `optimum` | no | whether policies are compared with optimal control where that is known |
/// | `reference` | no | the settings of the published code, and what it gets wrong |
/// | `finer` | none | other settings of [`TrainConfig`] by their names, as `hold` or `agent.discount` |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct TrainPlan {
    pub policies: Vec<String>,
    pub algorithm: String,
    pub episodes: Option<u64>,
    pub worlds: Option<usize>,
    pub updates: Option<u64>,
    pub seeds: u64,
    pub seed: u64,
    pub lambda: Vec<f64>,
    pub penalty: PenaltyKind,
    pub terms: Option<usize>,
    pub fine_tune: bool,
    pub exchange: bool,
    pub optimum: bool,
    pub reference: bool,
    pub finer: BTreeMap<String, Value>,
}

/// The penalty that steering towards a number of terms begins with: it rises as long as there are too many.
const LAMBDA_WITH_TERMS: f64 = 3e-4;

impl Default for TrainPlan {
    fn default() -> Self {
        TrainPlan {
            policies: vec!["polynomial(3)".into()],
            algorithm: "td3".into(),
            episodes: None,
            worlds: None,
            updates: None,
            seeds: 1,
            seed: 0,
            lambda: Vec::new(),
            penalty: PenaltyKind::L0,
            terms: None,
            fine_tune: false,
            exchange: false,
            optimum: false,
            reference: false,
            finer: BTreeMap::new(),
        }
    }
}

impl TrainPlan {
    /// The settings for a world of this name.
    pub fn settings(&self, environment: &str, world: &dyn Environment) -> Result<TrainSettings> {
        let mut agents = Vec::new();
        let suited = TrainConfig::suited_to(world);
        for policy in &self.policies {
            let mut training = TrainConfig {
                environment: environment.into(),
                policy: policy.clone(),
                // A network has no terms; beside a dictionary it may be asked for all the same.
                terms: self
                    .terms
                    .filter(|_| self.policies.len() == 1 || !is_network(policy)),
                seed: self.seed,
                penalty: self.penalty,
                agent: AlgorithmConfig::named(&self.algorithm)?,
                ..suited.clone()
            };
            if training.terms.is_some() && world.tied().is_none() {
                training.lambda = LAMBDA_WITH_TERMS;
            }
            if let Some(episodes) = self.episodes {
                training = training.with_episodes(episodes);
            }
            if let Some(worlds) = self.worlds {
                training.worlds = worlds;
            }
            if self.reference {
                training = training.published()?;
            }
            if let Some(updates) = self.updates {
                training.updates = updates;
            }
            training = finer(training, &self.finer)?;
            // A network without gates pays no price: it is trained once.
            let gated = policy.parse::<ActorKind>()?.pays();
            let prices = match self.lambda.as_slice() {
                prices @ [_, ..] if gated => prices.to_vec(),
                _ => vec![training.lambda],
            };
            for &lambda in &prices {
                let mut name = Vec::new();
                if self.policies.len() > 1 {
                    name.push(file_word(policy));
                }
                if prices.len() > 1 {
                    name.push(format!("lambda{lambda}"));
                }
                agents.push(AgentSettings {
                    name: name.join("-"),
                    tuned: true,
                    training: TrainConfig {
                        lambda,
                        ..training.clone()
                    },
                });
            }
        }
        Ok(TrainSettings {
            seeds: self.seeds,
            prune: !self.reference,
            fine_tune: self.fine_tune,
            exchange: self.exchange,
            optimum: self.optimum,
            as_published: self.reference,
            agents,
            ..TrainSettings::default()
        })
    }
}

/// Whether a policy is a network of some kind.
fn is_network(policy: &str) -> bool {
    let kind = policy.parse::<ActorKind>();
    kind.is_ok_and(|kind| !matches!(kind, ActorKind::Dictionary { .. }))
}
