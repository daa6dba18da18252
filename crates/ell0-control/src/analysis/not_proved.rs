//! Reasons for having no proof.

use serde::{Deserialize, Serialize};

/// Why nothing could be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotProved {
    /// There is nothing to prove.
    #[error("the equilibrium is not stable")]
    NotStable,
    /// No quadratic function falls near the equilibrium.
    #[error("the Lyapunov equation has no solution")]
    NoSolution,
    /// The matrix has no inverse.
    #[error("the matrix is singular")]
    Singular,
    /// Every level that was tried has a counter-example.
    #[error("a state refutes every level")]
    Refuted,
    /// The claim makes no sense.
    #[error("the matrix is not positive definite and symmetric")]
    NotDefinite,
    /// The claim makes no sense.
    #[error("the level is not positive")]
    NoLevel,
    /// The set is too large for the numbers.
    #[error("no box around the set can be verified")]
    NoBox,
    /// The equilibrium itself cannot be enclosed.
    #[error("no neighbourhood of the equilibrium can be proved")]
    NoNeighbourhood,
    /// It would take too long.
    #[error("it would take too many boxes")]
    TooManyBoxes,
    /// Boxes do not help any more.
    #[error("a box is too small to divide")]
    TooSmall,
    /// What stopped it is said elsewhere.
    #[error("another part failed")]
    Stopped,
}
