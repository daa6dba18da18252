//! One module for each command, or for a few that belong together.

pub mod collect;
pub mod fit;
pub mod gates;
pub mod model;
pub mod stats;
pub mod tutorial;
