//! x
pub mod error;
pub mod gates;
pub mod network;
pub mod rng;
mod simd;
pub mod training;
pub use error::{Error, Result};
