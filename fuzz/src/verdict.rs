//! What came of a case: a valid result, an error that says what is wrong, or a fault of the program.

use serde::{Deserialize, Serialize};

/// What a parser may answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result, whose promises were checked.
    Valid,
    /// An error, with its message.
    Error(String),
}

/// The answer, or what is wrong with it.
pub type Verdict = Result<Outcome, Fault>;

/// What kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It panicked.
    Panic,
    /// It took longer than it may.
    Slow,
    /// It needed more memory than it may.
    Memory,
    /// The process died: a stack overflow, an abort.
    Died,
    /// A message that is empty, endless, or full of control characters.
    Message,
    /// A result that breaks a promise.
    Wrong,
    /// The input is not what it was.
    Touched,
    /// Something is left behind.
    Left,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Panic => "panic",
            Kind::Slow => "slow",
            Kind::Memory => "memory",
            Kind::Died => "died",
            Kind::Message => "message",
            Kind::Wrong => "wrong",
            Kind::Touched => "touched",
            Kind::Left => "left",
        }
    }
}

/// A fault of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What kind.
    pub kind: Kind,
    /// Where, or in which words: faults of the same kind and place are one.
    pub place: String,
    /// What happened.
    pub what: String,
}

impl Fault {
    /// A fault.
    pub fn new(kind: Kind, place: impl Into<String>, what: impl Into<String>) -> Self {
        Fault {
            kind,
            place: place.into(),
            what: what.into(),
        }
    }

    /// A promise that is broken; the name of the promise is the place.
    pub fn wrong(promise: &str, what: impl Into<String>) -> Self {
        Fault::new(Kind::Wrong, promise, what)
    }

    /// What makes two faults the same.
    #[must_use]
    pub fn signature(&self) -> String {
        format!("{} {}", self.kind.name(), self.place)
    }
}

/// Characters that a message has at most.
pub const LONGEST_MESSAGE: usize = 2000;

/// Checks what every message promises: it says something, in so many words, and no character that would command a terminal.
pub fn check_message(message: &str) -> Result<(), Fault> {
    let fault = |place: &str, what: String| Err(Fault::new(Kind::Message, place, what));
    let count = message.chars().count();
    let head: String = message.chars().take(300).collect();
    if message.trim().is_empty() {
        return fault("empty", "the message is empty".into());
    }
    if let Some(c) = message.chars().find(|c| c.is_control() && *c != '\n') {
        return fault("control character", format!("{c:?} in {head:?}"));
    }
    if count >= LONGEST_MESSAGE {
        return fault("too long", format!("{count} characters: {head:?} …"));
    }
    Ok(())
}

/// The answer of a parser as a verdict: an error's message is held to its promises.
pub fn error(message: impl ToString) -> Verdict {
    let message = message.to_string();
    check_message(&message)?;
    Ok(Outcome::Error(message))
}
