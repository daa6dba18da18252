//! What can go wrong with environments and experience.

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with environments and experience.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that names no environment or policy.
    #[error("cannot read `{text}`: {reason}\n  {text}\n  {}^", " ".repeat(*at))]
    Text {
        /// The text.
        text: String,
        /// Where it went wrong.
        at: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A parameter out of its range.
    #[error("{name} = {value} is not allowed: {expected}")]
    Parameter {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A vector of the wrong size.
    #[error("{what} has {found} values, but {expected} are needed")]
    Size {
        /// Which vector.
        what: &'static str,
        /// Its size.
        found: usize,
        /// The right one.
        expected: usize,
    },
    /// A number that is not finite.
    #[error("{what} is {value}: it must be finite")]
    NotFinite {
        /// What it is.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A world that breaks down.
    #[error(
        "{environment} gave the reward {reward} or an observation that is not finite, in step {step} of episode {episode}; training is as it was before this episode"
    )]
    World {
        /// Its text.
        environment: String,
        /// Episode, counted from 1.
        episode: u64,
        /// Step, counted from 1.
        step: u64,
        /// The reward.
        reward: f64,
    },
    /// A model that does not suit an environment.
    #[error(
        "this model does not suit the environment: {what} `{name}` is not there; there are {expected}"
    )]
    Mismatch {
        /// Input or action.
        what: &'static str,
        /// Its name.
        name: String,
        /// What there is.
        expected: String,
    },
    /// Something that cannot be analysed.
    #[error("{0}")]
    Analysis(String),
    /// A checkpoint that cannot be used.
    #[error("this is not a checkpoint to go on with: {reason}")]
    Checkpoint {
        /// Why.
        reason: String,
    },
    /// An error of the method itself.
    #[error(transparent)]
    Method(#[from] ell0::Error),
}

pub(crate) fn require_size(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(Error::Size {
            what,
            found,
            expected,
        })
    }
}

pub(crate) fn require_finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        None => Ok(()),
        Some(&value) => Err(Error::NotFinite { what, value }),
    }
}
