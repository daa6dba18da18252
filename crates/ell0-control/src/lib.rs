//! Acting in a world: environments, policies, experience.

pub mod agent;
pub mod analysis;
pub mod environment;
pub mod episode;
pub mod error;
pub mod evaluation;
pub mod policy;
pub mod published;
pub mod replay;
pub mod rollout;

pub use error::{Error, Result};
