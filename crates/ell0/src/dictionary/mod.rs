//! Dictionary models: gates choose the terms of an equation.
//!
//! ŷ = Φ(x)(z ⊙ w) is linear in its coefficients, so all that the squared error needs to know of the data is a triangle:
//!
//! - [`Accumulator`], [`Statistics`]: one pass over the rows, in blocks; parts merge.
//! - [`Problem`]: one target's error on features scaled to unit RMS.
//! - [`train_exact`]: gates and weights by the expectation in closed form. No sampling, no learning rate, cost independent of the number of rows.
//! - [`sampled_trainer`]: the same objective by minibatches and sampled gates, as published.
//! - [`Path`]: the best model of every size, and a [`Rule`] to choose one; [`Method`] has ordinary least squares, STLSQ and the lasso beside the gates. [`stlsq_support`]: STLSQ at one threshold.
//! - [`polish_support`]: add, drop and swap moves until none improves.
//! - [`branch_and_bound`]: the best support with a proof, or the gap that is left.
//! - [`CorrectedSums`]: coefficients where inputs were measured with errors.
//! - [`neighbours`]: laws one change away. [`inclusion_probabilities`]: how sure the data are of each term. [`Diagnostics`]: columns that cannot be told apart; [`relations`]: those that are combinations of others up to the noise.

mod baselines;
mod bound;
mod budget;
mod corrected;
mod curve;
mod diagnostics;
mod ending;
mod errors;
mod exact;
mod inclusion;
mod neighbours;
mod path;
mod polish;
mod problem;
mod qr;
mod relations;
mod rule;
mod sampled;
mod sizes;
mod statistics;
mod support;

pub use baselines::stlsq_support;
pub use bound::{Optimum, branch_and_bound};
pub use corrected::{CorrectedLaw, CorrectedSums};
pub use diagnostics::Diagnostics;
pub use errors::standard_errors;
pub use exact::{Gated, expected_objective, train_exact};
pub use inclusion::inclusion_probabilities;
pub use neighbours::{Neighbour, neighbours};
pub use path::{Line, Method, Path, PathConfig};
pub use polish::{Polished, polish_support};
pub use problem::Problem;
pub use relations::{Relating, Relation, relations};
pub use rule::{Rule, price_of_choice};
pub use sampled::{GatesAndWeights, Sampled, SampledTrainer, sampled_supports, sampled_trainer};
pub use statistics::{Accumulator, Statistics};

#[cfg(test)]
mod tests;
