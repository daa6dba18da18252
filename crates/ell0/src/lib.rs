//! **ell0** (ℓ₀) makes parametric models sparse by giving each parameter, or group of them, a gate.
//!
//! A gate z in [0, 1] is drawn from the hard-concrete distribution: it can be exactly zero, and the probability that it is not is a smooth function of the gate's
//! one parameter, log α. So the expected number of parameters in use can be penalised and trained by gradients, along with the weights. What stays open is the model.
//!
//! The way of the data, each stage a module:
//!
//! ```text
//! rows → features → model = gates ⊙ weights → training → equation, or a smaller network
//! ```
//!
//! - [`gates`]: the hard-concrete distribution, penalties, and estimators of gradients through random gates.
//! - [`features`]: the candidate terms of an equation. [`dictionary`]: gates choose among them, on statistics of the data. [`equation`]: what comes out.
//! - [`network`]: multi-layer perceptrons, plain and gated, with gradients derived by hand; compaction.
//! - [`export`]: a finished model as C, Rust, Python, SymPy, LaTeX, MATLAB, ONNX or JSON; [`protobuf`]: what ONNX is written with.
//! - [`training`]: Adam, schedules, the training loop, checkpoints.
//! - [`rng`]: randomness as an explicit, splittable value. The same seed gives the same bits on any number of threads.
//!
//! The formulas follow Louizos, Welling and Kingma, *Learning sparse neural networks through L0 regularization* (2018), and Botteghi and Fasel, *Sparsifying
//! parametric models with L0 regularization* (2024), whose misprints are corrected here: the CDF of the binary concrete is σ(β logit s − log α), and
//! P(z ≠ 0) = σ(log α − β log(−γ/ζ)).
//!
//! This crate reads and writes no files but checkpoints, prints nothing and looks at no clock.

pub mod checkpoint;
pub mod dictionary;
pub mod equation;
pub mod error;
pub mod export;
pub mod features;
pub mod gates;
pub mod network;
pub mod protobuf;
pub mod rng;
mod simd;
#[cfg(test)]
mod testing;
pub mod training;

pub use error::{Error, Result};
