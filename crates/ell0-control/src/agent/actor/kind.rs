//! What the body of a policy is, and its text.

use std::{fmt, str::FromStr};

use ell0::{features::Library, network::NoisePer};

use crate::error::{Error, Result};

/// What the body of a policy is.
///
/// | text | body |
/// | --- | --- |
/// | `network`, `network(256, 256)` | a network with these hidden widths |
/// | `sparse-network(256, 256)` | the same with gates |
/// | any library, such as `polynomial(3)` | a dictionary of its terms |
/// | `tied(polynomial(3))` | the same law for every action, in a world where that makes sense: see [`Tied`](crate::environment::Tied) |
///
/// Whether there are gates, how they are drawn and whether observations are scaled is not part of the text: a dictionary that is read draws its gates for each row, on scaled observations.
#[derive(Clone, Debug, PartialEq)]
pub enum ActorKind {
    /// A plain network with these hidden widths, ReLU.
    Network(Vec<usize>),
    /// The same with gates on every layer.
    SparseNetwork(Vec<usize>),
    /// A linear combination of terms with a gate on each.
    Dictionary {
        /// The terms.
        library: Library,
        /// Whether gates are drawn for each batch or for each row.
        noise: NoisePer,
        /// Whether the terms are of scaled observations.
        scaled: bool,
        /// Whether all actions have the same law.
        tied: bool,
        /// Whether there are gates; without them coefficients are made small by other means.
        gated: bool,
    },
}

impl ActorKind {
    /// A dictionary with gates drawn for each row, on scaled observations.
    #[must_use]
    pub fn dictionary(library: Library) -> Self {
        ActorKind::Dictionary {
            library,
            noise: NoisePer::Row,
            scaled: true,
            tied: false,
            gated: true,
        }
    }

    /// Whether it has something to pay for: gates, or the coefficients of a dictionary.
    #[must_use]
    pub fn pays(&self) -> bool {
        !matches!(self, ActorKind::Network(_))
    }

    /// Whether all actions have the same law.
    #[must_use]
    pub fn is_tied(&self) -> bool {
        matches!(self, ActorKind::Dictionary { tied: true, .. })
    }
}

/// Widths of the hidden layers where the text gives none.
const WIDTHS: &str = "256, 256";

impl FromStr for ActorKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let trimmed = text.trim();
        for (name, sparse) in [("sparse-network", true), ("network", false)] {
            let Some(rest) = trimmed.strip_prefix(name) else {
                continue;
            };
            let wrong = || Error::Text {
                text: text.into(),
                at: name.len(),
                reason: format!(
                    "expected the widths of the hidden layers, each from 1 to 4096, for example {name}(256, 256)"
                ),
            };
            let inside = match rest.trim() {
                "" => WIDTHS,
                rest => rest
                    .strip_prefix('(')
                    .and_then(|r| r.strip_suffix(')'))
                    .ok_or_else(wrong)?,
            };
            let hidden: Vec<usize> = inside
                .split(',')
                .map(|w| w.trim().parse().ok().filter(|w| (1..=4096).contains(w)))
                .collect::<Option<_>>()
                .ok_or_else(wrong)?;
            return Ok(if sparse {
                ActorKind::SparseNetwork(hidden)
            } else {
                ActorKind::Network(hidden)
            });
        }
        let inside = trimmed.strip_prefix("tied").map(str::trim_start);
        let inside = inside.and_then(|t| t.strip_prefix('(')?.strip_suffix(')'));
        let mut kind = ActorKind::dictionary(inside.unwrap_or(trimmed).parse()?);
        if let ActorKind::Dictionary { tied, .. } = &mut kind {
            *tied = inside.is_some();
        }
        Ok(kind)
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let widths = |w: &[usize]| {
            let w: Vec<String> = w.iter().map(ToString::to_string).collect();
            w.join(", ")
        };
        match self {
            ActorKind::Network(hidden) => write!(f, "network({})", widths(hidden)),
            ActorKind::SparseNetwork(hidden) => write!(f, "sparse-network({})", widths(hidden)),
            ActorKind::Dictionary {
                library,
                tied: true,
                ..
            } => write!(f, "tied({library})"),
            ActorKind::Dictionary { library, .. } => library.fmt(f),
        }
    }
}
