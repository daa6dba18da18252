//! A-posteriori analysis of what was learned: equilibria, stability that is proved, margins, robustness.
//!
//! - [`Map`] and [`Plant`]: the discrete map that really runs, in closed form with exact derivatives.
//! - [`equilibria()`], [`gain_margin`], [`tolerated_delay`]: what linearisation tells.
//! - [`proved_region`] and [`prove`]: where stability is proved, by interval branch and bound; [`Basin`]: where it is only seen.
//! - [`Bench`]: what the return bears.
//! - [`Law`]: laws of states on their own.

mod equilibria;
mod law;
pub mod linear;
mod map;
mod margins;
mod proof;
mod region;
mod robustness;

pub use equilibria::{Equilibrium, MOST_EQUILIBRIA, equilibria};
pub use law::{FixedPoint, Law};
pub use map::{Map, Plant};
pub use margins::{gain_margin, tolerated_delay};
pub use proof::{Claim, Verdict, prove};
pub use region::{Basin, ProvedRegion, proved_region};
pub use robustness::{Bench, ParameterRange, TermEffect};

#[cfg(test)]
mod tests;
