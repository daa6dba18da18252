//! After training: terms that do nothing are dropped, the coefficients of the others may be tuned on rollouts, and terms exchanged for others that serve better, or as well and are simpler. A pulse that asks to stop leaves the best so far.

mod exchange;
mod prune;
mod simplify;
mod tune;

pub use exchange::{ExchangeConfig, exchange};
pub use prune::{PruneConfig, prune};
pub use simplify::{SimplifyConfig, simplify};
pub use tune::{FineTuneConfig, fine_tune};

use super::{Actor, EnvironmentSteps};

/// A policy after refinement, and what it cost.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The policy.
    pub actor: Actor,
    /// Steps of the environment that were spent on it.
    pub steps: EnvironmentSteps,
}

/// A policy as it was: nothing could be done, and nothing was spent.
fn untouched(actor: &Actor) -> Refined {
    Refined {
        actor: actor.clone(),
        steps: EnvironmentSteps::default(),
    }
}
