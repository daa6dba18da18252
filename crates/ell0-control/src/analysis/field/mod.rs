//! Loops of many states: worlds whose step is known with its derivatives ([`SmoothStep`](crate::environment::SmoothStep)) where a closed form would be too large.
//!
//! - [`FieldLoop`]: the step with a law in its loop, and its derivatives.
//! - [`settle`] and [`equilibrium`]: where it comes to rest, if it does.
//! - [`field_gain_margin`], [`field_delay`], [`parameter_reach`]: what the equilibrium bears.
//! - [`reaching`]: how many random starts end there.
//! - [`Riccati`] and [`Regulator`]: the linear-quadratic regulator, for comparison.
//! - [`prove_saturated`]: stability that is proved, of linear plants with bounded linear laws.

mod closed;
mod conserved;
mod continuation;
mod definite;
mod equilibrium;
mod margins;
mod matrix;
mod no_proof;
mod proof;
mod regulator;
mod riccati;
mod saturated;
mod sector;
mod settle;
mod starts;

pub use closed::FieldLoop;
pub use continuation::{Crossing, Ending, ParameterReach, Reach, parameter_reach};
pub use equilibrium::{FieldEquilibrium, equilibrium};
pub use margins::{FieldDelay, GainReach, field_delay, field_gain_margin};
pub use no_proof::NoProof;
pub use proof::{ProvedSet, prove_saturated};
pub use regulator::{Move, Regulator};
pub use riccati::Riccati;
pub use settle::{Behaviour, Settled, settle};
pub use starts::{Reaching, reaching};

#[cfg(test)]
mod tests;
