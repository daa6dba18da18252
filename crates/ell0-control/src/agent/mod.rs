//! Agents: what learns to act.
//!
//! - [`Actor`]: a policy with parameters, a network or a dictionary; it knows nothing of how it is trained.
//! - [`Training`]: the loop of episodes and updates; [`Saver`] and [`Training::resume`]: the same over interruptions.
//! - [`Algorithm`]: how a policy learns from a batch; [`Td3`] (DDPG by its switches).
//! - [`prune`], [`fine_tune`] and [`exchange`]: what can be done after training.

mod actor;
mod algorithm;
mod checkpoint;
mod config;
mod exploring;
mod head;
mod record;
mod refine;
mod selection;
mod steps;
mod training;

pub use actor::{Actor, ActorKind, ActorPass, POLICY_FORMAT, PolicyFile, TermName, TrainedIn};
pub use algorithm::{
    Algorithm, AlgorithmConfig, Memory, Noise, Price, Td3, Td3Config, UpdateRecord,
};
pub use checkpoint::{Saver, TRAINING_FORMAT};
pub use config::{PenaltyKind, TrainConfig};
pub use record::EpisodeRecord;
pub use refine::{
    ExchangeConfig, FineTuneConfig, PruneConfig, Refined, SimplifyConfig, exchange, fine_tune,
    prune, simplify,
};
pub use steps::EnvironmentSteps;
pub use training::Training;

#[cfg(test)]
mod tests;
