//! The four agents of the paper, in its world and at its budget.

use ell0_control::agent::TrainConfig;

use super::data::ENVIRONMENT;
use crate::{
    error::Result,
    train::{AgentSettings, TrainSettings},
};

/// What the four policies of the paper are trained with.
///
/// | setting | default | meaning | range |
/// | --- | --- | --- | --- |
/// | `episodes` | 250 | episodes | ≥ 1 |
/// | `quick` | no | 140 episodes and dearer gates: under a minute | |
/// | `reference` | no | the settings of the published code and what it gets wrong, for comparison | |
/// | `seeds` | 1 | seeds of each agent | 1 to 1000 |
/// | `seed` | 0 | the first of them | |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct PolicySettings {
    pub episodes: u64,
    pub quick: bool,
    pub reference: bool,
    pub seeds: u64,
    pub seed: u64,
}

impl Default for PolicySettings {
    fn default() -> Self {
        PolicySettings {
            episodes: 250,
            quick: false,
            reference: false,
            seeds: 1,
            seed: 0,
        }
    }
}

/// Name, policy, and the published final evaluation return, read off a figure.
const AGENTS: [(&str, &str, &str); 4] = [
    ("network", "network(64, 64)", "about -150"),
    ("polynomial", "polynomial(3)", "about -150"),
    ("fourier", "fourier(1, interactions)", "about -1100"),
    (
        "polynomial-fourier",
        "polynomial(3) + fourier(1, interactions)",
        "about -150",
    ),
];

/// The published return of the agent of this name, if it is one of the paper's.
#[must_use]
pub fn published_return(agent: &str) -> Option<&'static str> {
    AGENTS.iter().find(|a| a.0 == agent).map(|a| a.2)
}

/// Episodes of a quick run.
const QUICK: u64 = 140;

impl PolicySettings {
    /// The words that begin such a run.
    pub(crate) const COMMAND: &str = "tutorial policy";

    /// The training of all four.
    pub fn training(&self) -> Result<TrainSettings> {
        let agent = |(name, policy, _): (&str, &str, &str)| -> Result<AgentSettings> {
            let mut training = TrainConfig {
                environment: ENVIRONMENT.into(),
                policy: policy.into(),
                episodes: self.episodes,
                seed: self.seed,
                ..TrainConfig::default()
            };
            if self.quick {
                training = TrainConfig {
                    episodes: QUICK,
                    random_episodes: 10,
                    updates_after: 20,
                    lambda_from: 70,
                    lambda_full: 90,
                    // There is less time for gates to close: they are dearer.
                    lambda: 3.0 * training.lambda,
                    ..training
                };
            }
            if self.reference {
                if name == "network" {
                    training.policy = "network(256, 256)".into();
                }
                training = training.published()?;
            }
            Ok(AgentSettings {
                name: name.into(),
                tuned: true,
                training,
            })
        };
        Ok(TrainSettings {
            command: Self::COMMAND.into(),
            seeds: self.seeds,
            prune: !self.reference,
            fine_tune: false,
            optimum: true,
            as_published: self.reference,
            agents: AGENTS.into_iter().map(agent).collect::<Result<_>>()?,
            ..TrainSettings::default()
        })
    }
}
