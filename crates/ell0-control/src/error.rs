//! What can go wrong with worlds, policies and experience.

use std::path::PathBuf;

use ell0::wording::{listed, marked, shown, shown_path, told};

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with worlds, policies and experience.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that names no environment or policy.
    #[error("cannot read `{}`: {}\n{}", shown(text), told(reason), marked(text, *at, 2))]
    Text {
        /// The text.
        text: String,
        /// Where it went wrong, in characters.
        at: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A parameter out of its range.
    #[error("{} = {value} is not allowed: {expected}", shown(name))]
    Parameter {
        /// Its name.
        name: String,
        /// Its value.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// A component of a space that cannot be worked with.
    #[error(
        "the component `{}` between {low:?} and {high:?} is not allowed: {expected}",
        shown(component)
    )]
    Space {
        /// Its name.
        component: String,
        /// Its least value.
        low: f64,
        /// Its greatest value.
        high: f64,
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
        "{} gave {} {value} in step {step} of episode {episode}: it must be given, and finite; nothing of this episode is kept",
        told(environment),
        told(what)
    )]
    World {
        /// Its text.
        environment: String,
        /// Episode, counted from 1.
        episode: u64,
        /// Step, counted from 1; 0 is the beginning of the episode.
        step: u64,
        /// What it gave.
        what: String,
        /// Its value.
        value: f64,
    },
    /// A world from elsewhere that failed, for example one that is written in another language.
    #[error(
        "{} failed: {}; nothing of this episode is kept",
        told(environment),
        told(reason)
    )]
    Outside {
        /// Its text.
        environment: String,
        /// What it said.
        reason: String,
    },
    /// A field that grows beyond all bounds.
    #[error(
        "the field of {} grew beyond all bounds: take more substeps, a shorter frame or gentler parameters; nothing of this episode is kept",
        told(environment)
    )]
    Diverged {
        /// Its text.
        environment: String,
    },
    /// A policy that breaks down.
    #[error(
        "the policy chose {value} for the action `{}` in step {step} of episode {episode}: it must be finite",
        shown(action)
    )]
    Action {
        /// Name of the action.
        action: String,
        /// Episode, counted from 1.
        episode: u64,
        /// Step, counted from 1.
        step: u64,
        /// What was chosen.
        value: f64,
    },
    /// A world that cannot be put into a state.
    #[error(
        "{} cannot be put into a given state: begin at random, or give the world a `reset_to`",
        told(environment)
    )]
    NoState {
        /// Its text.
        environment: String,
    },
    /// A world whose step is not known in closed form.
    #[error(
        "{} is not known in closed form: it cannot be analysed",
        told(environment)
    )]
    NoClosedForm {
        /// Its text.
        environment: String,
    },
    /// A network where a law is needed.
    #[error("{kind} is no closed form: save it as .safetensors")]
    NoLaw {
        /// The text of its kind.
        kind: String,
    },
    /// A file that is no policy.
    #[error("{} is no policy: {}", shown_path(path), told(reason))]
    PolicyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A law that all actions are to share in a world where they do not look alike.
    #[error(
        "a law for all actions needs a world that looks the same from each of them, as `ks` does: leave `tied(…)` out"
    )]
    NotTied,
    /// A copy of a world that is not like it.
    #[error(
        "a copy of {} differs from it in its text, spaces, states or time limit",
        told(environment)
    )]
    Copy {
        /// Its text.
        environment: String,
    },
    /// A model that does not suit an environment.
    #[error(
        "this model does not suit the environment: {what} `{}` is not there; there are {}",
        shown(name),
        told(expected)
    )]
    Mismatch {
        /// Input or action.
        what: &'static str,
        /// Its name.
        name: String,
        /// What there is.
        expected: String,
    },
    /// A disturbance of something else.
    #[error(
        "there is no observation or action `{}` to disturb; there are {}",
        shown(name),
        told(&known.join(", "))
    )]
    NothingToDisturb {
        /// What was named.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A plant that does not fit together.
    #[error(
        "this plant does not fit together: {what} `{}`: {expected}",
        shown(name)
    )]
    Plant {
        /// What is wrong.
        what: &'static str,
        /// Its name.
        name: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A law of rates of change where a map is needed.
    #[error("a law of rates of change is no map: it gives no next state")]
    NotAMap,
    /// A target that is no next value of an input.
    #[error(
        "the model gives `{}`, which is not the next value of one of its inputs {}; a transition model is a discrete law, or has targets such as next_{}",
        shown(target),
        listed(inputs),
        shown(inputs.first().map_or("x", String::as_str))
    )]
    NotATransition {
        /// The target.
        target: String,
        /// The inputs.
        inputs: Vec<String>,
    },
    /// A model that is no law of states on its own.
    #[error("this model is no law of states: it does not say how its inputs change")]
    NotALaw,
    /// Whoever watched asked to stop.
    #[error("stopped")]
    Stopped,
    /// A law of too many states to be analysed.
    #[error("the law has {states} states; an analysis takes at most {most}")]
    TooManyStates {
        /// Its states.
        states: usize,
        /// What would be allowed.
        most: usize,
    },
    /// A law whose target is not one of its inputs.
    #[error("the target `{}` is not one of the inputs", shown(target))]
    NotAState {
        /// The target.
        target: String,
    },
    /// Something that a checkpoint should hold.
    #[error(
        "`{}` is missing in the checkpoint: it belongs to something else",
        shown(name)
    )]
    Missing {
        /// Its name.
        name: String,
    },
    /// Files of training that cannot be gone on with.
    #[error("{}: {}", shown_path(path), told(reason))]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", shown_path(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
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

pub(crate) fn require_parameter(
    name: &str,
    value: f64,
    ok: bool,
    expected: &'static str,
) -> Result<()> {
    if ok {
        Ok(())
    } else {
        Err(Error::Parameter {
            name: name.into(),
            value,
            expected,
        })
    }
}
