//! One module for each command, or for a few that belong together.

pub mod analyze;
pub mod collect;
pub mod control;
pub mod export;
pub mod fit;
mod fit_print;
pub mod gates;
pub mod model;
pub mod network;
pub mod report;
pub mod score;
pub mod shell;
pub mod simulate;
pub mod stats;
pub mod train;
pub mod tutorial;
pub mod watch;
