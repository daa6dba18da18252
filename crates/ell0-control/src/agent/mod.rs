//! Agents: what learns to act.
//!
//! - [`Actor`]: a policy with parameters, a network or a dictionary; it knows nothing of how it is trained.
//! - [`Td3`]: one update of twin delayed deep deterministic policy gradients; DDPG by its switches.

mod actor;
mod td3;

pub use actor::{Actor, ActorKind, ActorPass};
pub use td3::{Noise, Td3, Td3Config, UpdateRecord};

#[cfg(test)]
mod tests;
