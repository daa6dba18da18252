//! Measurements for `ell0`: tables read in blocks, trajectories, rates of change.
//!
//! - [`table`]: files with named columns, read block by block.
//! - [`derivative`]: rates of change from samples, by finite differences, local polynomials, or not at all (the weak form).
//! - [`series`]: from samples to the statistics of a model.
//! - [`noise`]: how noisy a series is and how fast it moves; what `auto` decides by.

pub mod derivative;
pub mod error;
pub mod noise;
pub mod series;
pub mod table;

pub use error::{Error, Result};
