//! Steps that the environment takes, by what they are for.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Steps of the environment, by purpose. Every step that a training asks for is one of these; of a run that was interrupted, those that its result rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvironmentSteps {
    /// Experience to learn from, random actions included.
    pub learning: u64,
    /// Measuring policies during training, and the one that it ends with.
    pub evaluation: u64,
    /// Dropping terms.
    pub pruning: u64,
    /// Tuning coefficients, exchanging and simplifying terms.
    pub tuning: u64,
}

impl EnvironmentSteps {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_purpose().iter().map(|(_, steps)| steps).sum()
    }

    /// Each purpose, and its steps.
    #[must_use]
    pub fn by_purpose(&self) -> [(&'static str, u64); 4] {
        [
            ("learning", self.learning),
            ("evaluation", self.evaluation),
            ("pruning", self.pruning),
            ("tuning", self.tuning),
        ]
    }
}

impl AddAssign for EnvironmentSteps {
    fn add_assign(&mut self, other: Self) {
        self.learning += other.learning;
        self.evaluation += other.evaluation;
        self.pruning += other.pruning;
        self.tuning += other.tuning;
    }
}
