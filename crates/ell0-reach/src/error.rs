//! Reasons for having no proof of arrival.

use crate::question::MOST_STATES;

/// Why nothing could be asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoBasin {
    /// Cells multiply with the dimension.
    #[error(
        "there are {states} states, and cells multiply with their number: at most {MOST_STATES} can be covered"
    )]
    TooManyStates {
        /// Their number.
        states: usize,
    },
    /// The loop and the target do not belong together.
    #[error("the loop and the target must both be of {states} states")]
    OtherStates {
        /// Of the question.
        states: usize,
    },
    /// An angle that is looked at only in part.
    #[error(
        "the bounds of {state} must be as wide as its period, {period}: trajectories come round"
    )]
    NotAround {
        /// The angle.
        state: String,
        /// Its period.
        period: f64,
    },
    /// A limit of something else.
    #[error("there is no state `{name}`; there are {}", states.join(", "))]
    NoState {
        /// What was named.
        name: String,
        /// What there is.
        states: Vec<String>,
    },
    /// Two ranges of the same state.
    #[error("`{name}` has two ranges: give one")]
    Twice {
        /// The state.
        name: String,
    },
    /// The loop does not treat x and x + p alike.
    #[error(
        "that the loop is the same after {period} of {state} does not follow from the form of its expressions"
    )]
    NotPeriodic {
        /// The angle.
        state: String,
        /// Its period.
        period: f64,
    },
    /// A limit that allows nothing.
    #[error("the range of `{name}` goes from the least to the greatest")]
    Empty {
        /// The state.
        name: String,
    },
    /// No level set around the equilibrium is within the limits.
    #[error("no neighbourhood of the equilibrium is within the limits")]
    TargetForbidden,
}
