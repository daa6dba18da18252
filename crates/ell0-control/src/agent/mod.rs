//! Agents: what learns to act.
//!
//! - [`Actor`]: a policy with parameters, a network or a dictionary; it knows nothing of how it is trained.
//! - [`Training`]: the loop of episodes and updates.
//! - [`Td3`]: one update of twin delayed deep deterministic policy gradients; DDPG by its switches.

mod actor;
mod checkpoint;
mod config;
mod export;
mod refine;
mod td3;
mod training;

pub use actor::{Actor, ActorKind, ActorPass};
pub use config::Td3Config;
pub use refine::{Refined, fine_tune, prune};
pub use td3::{Noise, Td3, UpdateRecord};
pub use training::{EpisodeRecord, PolicyText, TrainConfig, Training};

#[cfg(test)]
mod tests;
