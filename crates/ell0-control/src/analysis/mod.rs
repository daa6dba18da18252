//! A-posteriori analysis of what was learned: equilibria, stability that is proved, margins, robustness.
//!
//! - [`Plant`] and [`Map`]: what is to be controlled and the discrete map that really runs, in closed form with exact derivatives.
//! - [`equilibria()`], [`gain_margin`], [`tolerated_delay`]: what linearisation tells.
//! - [`proved_region`] and [`prove`]: where stability is proved, by interval branch and bound; [`Basin`]: where it is only seen.
//! - [`Robustness`]: what the return bears.
//! - [`FieldLoop`] and what takes it: loops of many states, known by their steps and derivatives.
//! - [`Law`]: laws of states on their own.

mod equilibria;
mod field;
mod law;
mod linear;
mod map;
mod margins;
mod not_proved;
mod plant;
mod proof;
mod pulse;
mod region;
mod robustness;
mod value;

pub use equilibria::{Equilibrium, MOST_EQUILIBRIA, equilibria};
pub use field::{
    Behaviour, Crossing, Ending, FieldDelay, FieldEquilibrium, FieldLoop, GainReach, Move, NoProof,
    ParameterReach, ProvedSet, Reach, Reaching, Regulator, Riccati, Settled, equilibrium,
    field_delay, field_gain_margin, parameter_reach, prove_saturated, reaching, settle,
};
pub use law::{FixedPoint, Law, STARTS};
pub use map::{Assignment, Map, Values};
pub use margins::{gain_margin, tolerated_delay};
pub use not_proved::NotProved;
pub use plant::{
    Action, Disturbance, Formula, ModelPlant, Observation, Plant, PlantBuilder, State, Uncertain,
};
pub use proof::{Claim, Verdict, prove};
pub use pulse::{Pulse, on};
pub use region::{Basin, ProvedRegion, proved_region, short};
pub use robustness::{ParameterRange, Robustness, TermEffect, spread};
pub use value::{Complex, Matrix, Range, Stability};

#[cfg(test)]
mod tests;
