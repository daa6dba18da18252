//! Multi-layer perceptrons, plain and gated, with gradients derived by hand.
//!
//! - [`Architecture`]: the layers and where their parameters lie in one flat vector.
//! - [`Mlp`]: an architecture with its parameters.
//! - [`Pass`]: forward and backward through a batch. It computes nothing for units whose gate is exactly zero.
//! - [`Loss`]: mean-squared error and softmax cross-entropy.
//! - [`Mlp::compact`]: the smaller plain network that a gated one amounts to; [`Complexity`]: how much smaller.
//!
//! Matrices hold one column for each unit and one row for each sample, column after column: what is done to a unit runs over contiguous memory, and leaving
//! out a unit means leaving out a column.

mod activation;
mod architecture;
mod compact;
mod complexity;
mod head;
mod layer_backward;
mod layer_pass;
mod loss;
mod mlp;
mod pass;
mod penalise;

pub use activation::Activation;
pub use architecture::{Architecture, Dense, GateSpec, Gating, NoisePer, Per};
pub use compact::Compact;
pub use complexity::Complexity;
pub(crate) use complexity::Sparsity;
pub use head::Head;
pub use loss::Loss;
pub use mlp::{Init, Mlp, MlpConfig};
pub use pass::{Draw, Noise, Pass};

#[cfg(test)]
mod tests;
