//! Reasons for having no proof of a loop of many states.

use serde::{Deserialize, Serialize};

/// Why nothing is proved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum NoProof {
    /// Boxes multiply with the dimension.
    #[error(
        "the world is not linear, and proofs by intervals are out of reach in {states} dimensions; the eigenvalues and the random starts were checked instead"
    )]
    NotLinear {
        /// States of the world.
        states: usize,
    },
    /// What the world says of itself is wrong.
    #[error("the world says that it is linear, but its steps are not those of its derivatives")]
    BrokenPromise,
    /// The state 0 does not stay.
    #[error("without actions the state 0 does not stay as it is")]
    NotAtRest,
    /// What is seen is not linear.
    #[error("what the policy sees is not linear in the state")]
    Observations,
    /// A law of another kind.
    #[error("the law of `{action}` is neither linear nor a number times tanh of what is linear")]
    Law {
        /// The action.
        action: String,
    },
    /// A law that acts at 0.
    #[error("the law of `{action}` has a constant term, so 0 is no equilibrium")]
    Constant {
        /// The action.
        action: String,
    },
    /// An action that cannot be 0.
    #[error("the action `{action}` cannot go to both sides of 0")]
    OneSided {
        /// The action.
        action: String,
    },
    /// There is nothing to prove.
    #[error("the equilibrium 0 is not stable")]
    NotStable,
    /// Corners multiply with the number of actions.
    #[error("{actions} actions are too many; a proof takes at most {most}")]
    TooManyActions {
        /// Actions of the law.
        actions: usize,
        /// What would be allowed.
        most: usize,
    },
    /// The search found nothing that could be verified.
    #[error("no quadratic function could be verified")]
    NotFound,
}
