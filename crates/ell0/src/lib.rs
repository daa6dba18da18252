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
//! From rows to code that runs elsewhere, in one walk: the cooling of a cup, T' = −0.5 (T − 20), out of twenty measurements of its rate.
//!
//! ```
//! use ell0::{
//!     dictionary::{Accumulator, Path, PathConfig, Rule},
//!     equation::{DictionaryTarget, Dynamics, Model},
//!     export::{Format, Options, export},
//!     features::Library,
//! };
//! // Rows: temperatures, and how fast they change.
//! let temperature: Vec<f64> = (0..20).map(|k| 90.0 - 3.0 * f64::from(k)).collect();
//! let noise = |k: usize| 0.01 * (7.0 * k as f64).sin();
//! let rate: Vec<f64> = temperature.iter().enumerate().map(|(k, t)| -0.5 * (t - 20.0) + noise(k)).collect();
//!
//! // Candidate terms 1, T, T², T³, and statistics of them in one pass.
//! let library: Library = "polynomial(3)".parse()?;
//! let features = library.features(&["T"])?;
//! let mut accumulator = Accumulator::new(features.clone(), vec!["T".into()])?;
//! accumulator.push(&temperature, &rate, None, 20)?;
//!
//! // The best model of every size, found by gates; the one that an information criterion prefers.
//! let path = Path::new(&accumulator.finish(), &[0], &[], &PathConfig::default())?;
//! let coefficients = path.choose(Rule::Bic)?.coefficients.clone();
//!
//! // The equation.
//! let target = DictionaryTarget { target: "T".into(), coefficients, probabilities: None, errors: None };
//! let model = Model::dictionary(&features, &library, &[target], Dynamics::Continuous)?;
//! assert_eq!(model.text(2), "T' = 10 - 0.5*T");
//!
//! // What happens next, and the same law as C.
//! let cooled = model.simulate(&[90.0], &[0.0, 10.0], |_, _| {})?;
//! assert!((cooled.states[1][0] - 20.5).abs() < 0.1);
//! let files = export(&model, Format::C, &Options::default())?;
//! assert_eq!(files[1].name, "model.c");
//! # Ok::<(), ell0::Error>(())
//! ```
//!
//! - [`gates`]: the hard-concrete distribution, penalties, and estimators of gradients through random gates.
//! - [`features`]: the candidate terms of an equation. [`dictionary`]: gates choose among them, on statistics of the data. [`equation`]: what comes out.
//! - [`network`]: multi-layer perceptrons, plain and gated, with gradients derived by hand; compaction.
//! - [`export`]: a finished model as C, Rust, Python, SymPy, LaTeX, MATLAB, ONNX or JSON; [`protobuf`]: what ONNX is written with.
//! - [`training`]: Adam, schedules, the training loop. [`checkpoint`]: states on the disk, whole or not at all.
//! - [`rng`]: randomness as an explicit, splittable value. The same seed gives the same bits on any number of threads.
//! - [`input`]: files that somebody named, opened only if they are files and not too large. [`wording`]: text that others wrote, in messages.
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
pub mod input;
pub mod likelihood;
pub mod network;
pub mod protobuf;
pub mod rng;
mod simd;
#[cfg(test)]
mod testing;
pub mod training;
pub mod wording;

pub use error::{Error, Result};
