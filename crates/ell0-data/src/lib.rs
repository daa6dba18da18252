//! Measurements for `ell0`: tables read in blocks, trajectories, rates of change.
//!
//! - [`table`]: files with named columns, read block by block. [`mod@write`]: tables written block by block.
//! - [`derivative`]: rates of change from samples, by finite differences, local polynomials, or not at all (the weak form).
//! - [`frame`]: named columns in memory, which are read as files are. [`runs`]: both as trajectories. [`survey`]: a first look at them. [`blemishes`]: values that are no measurements. [`repeats`]: values that were held instead of measured. [`astray`]: rows that stand by themselves and are far off the others. [`windows`]: a bounded sample. [`short`]: those that are too short.
//! - [`series`]: from samples to the rows of a linear problem. [`evidence`]: the statistics of some files, which merge with those of others.
//! - [`noise`]: how noisy a series is and how fast it moves; what `auto` decides by.

pub mod astray;
pub mod blemishes;
pub mod derivative;
pub mod error;
pub mod evidence;
pub mod frame;
mod mending;
pub mod noise;
pub mod repeats;
pub mod runs;
pub mod series;
pub mod short;
pub mod survey;
pub mod table;
#[cfg(test)]
mod testing;
pub mod windows;
pub mod write;

pub use error::{Error, Result};
