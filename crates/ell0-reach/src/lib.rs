//! Proof that every trajectory of a closed loop, from a part of the state space, arrives in a set that it does not leave again.
//!
//! - [`Question`]: what is asked, and [`Question::prove`].
//! - [`Basin`]: what is proved; [`Basin::certificate`] writes it down for a checker that shares nothing with this crate but interval arithmetic.
//! - [`prove_invariant`]: a box that is never left.
//! - [`Flow`], [`Enclosure`], [`Tree`], [`Shear`]: images of sets as zonotopes by affine arithmetic, and the cells.

mod affine;
mod attempt;
mod basin;
mod certificate;
mod ellipsoid;
mod enclosure;
mod error;
mod inside;
mod invariant;
mod limits;
mod parity;
mod prover;
mod question;
mod rounding;
mod shear;
mod tree;
mod turns;

pub use attempt::Patience;
pub use basin::{Basin, Cells};
pub use enclosure::{Enclosure, Flow, Room, Steps};
pub use error::NoBasin;
pub use invariant::{Invariance, prove_invariant};
pub use parity::is_odd;
pub use prover::{Budget, Progress};
pub use question::{MOST_STATES, Question};
pub use shear::Shear;
pub use tree::{Arrival, Cell, Tree};
