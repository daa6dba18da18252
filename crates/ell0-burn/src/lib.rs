//! **ell0-burn** gives parameters of [Burn](burn) modules the hard-concrete gates of [`ell0::gates`].
//!
//! ```text
//! module → gates attached → (drawn → trained) … → gates of test time → a smaller plain module
//! ```
//!
//! - [`Gating`] names the parameters that get gates, one for each element, unit or channel ([`Per`]), and what each pays ([`GateSpec`]); it
//!   [attaches](Gating::attach) them and computes the [expected L0](Gating::expected_l0), the [price](Gating::penalty) and [how open they are](Gating::openness).
//! - [`Gates`] is what a parameter then has: Burn's reparameterisation of it, so the module is used as before.
//! - [`draw`] draws the gates of a step from an [`ell0::rng::Stream`]; `module.valid()` leaves those of test time.
//! - [`Chain`] says what follows what, and [`Chain::compact`] gives the smaller layers.
//! - [`distribution`]: the formulas on tensors. [`initialise`]: initial weights from our own stream.
//!
//! Burn is used as it is; where it stands in the way is said in the crate's README.

mod attach;
mod chain;
mod compact;
pub mod distribution;
mod draw;
mod error;
mod gates;
mod gating;
mod initialise;
mod penalty;
mod per;
mod place;
mod spec;
mod summary;

pub use chain::{Chain, Flatten, Select, Size, Stage};
pub use draw::draw;
pub use error::{Error, Result};
pub use gates::Gates;
pub use gating::Gating;
pub use initialise::initialise;
pub use penalty::Price;
pub use per::Per;
pub use spec::GateSpec;
pub use summary::Openness;
