//! The values that a parameter of a world may have, of which one is drawn for each episode.

use std::{fmt, str::FromStr};

use ell0::rng::Generator;
use serde::{Deserialize, Serialize};

/// The values that a parameter may have: `0.1`, one of `[0.1, 0.2, 0.5]`, or anything in `0.1..0.5`.
///
/// ```
/// use ell0_control::environment::Values;
/// assert_eq!("[0.1, 0.2]".parse(), Ok(Values::List(vec![0.1, 0.2])));
/// assert_eq!("-1..1".parse::<Values>().map(|v| v.to_string()), Ok("-1..1".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// One of these, all alike.
    List(Vec<f64>),
    /// Uniform between these two.
    Between(f64, f64),
}

/// Values of a range that stand for all of them.
const SPREAD: usize = 5;

/// Most values of a list.
const MOST: usize = 1000;

impl Values {
    /// Draws one.
    pub fn draw(&self, rng: &mut Generator) -> f64 {
        match self {
            Values::List(values) => values[rng.index(values.len())],
            Values::Between(low, high) => low + (high - low) * rng.uniform(),
        }
    }

    /// All of them; of a range some that are spread evenly.
    #[must_use]
    pub fn all(&self) -> Vec<f64> {
        match self {
            Values::List(values) => values.clone(),
            Values::Between(low, high) => (0..SPREAD)
                .map(|k| low + (high - low) * k as f64 / (SPREAD - 1) as f64)
                .collect(),
        }
    }

    /// The one in the middle.
    #[must_use]
    pub fn middle(&self) -> f64 {
        let mut all = self.all();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    }

    /// Whether there is a value, every one is finite, and a range has its ends in order.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Values::List(values) => {
                (1..=MOST).contains(&values.len()) && values.iter().all(|v| v.is_finite())
            }
            Values::Between(low, high) => low.is_finite() && high.is_finite() && low < high,
        }
    }
}

impl From<f64> for Values {
    fn from(value: f64) -> Self {
        Values::List(vec![value])
    }
}

impl FromStr for Values {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |t: &str| t.trim().parse::<f64>().ok();
        let text = text.trim();
        let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let values = if let Some(list) = inside {
            list.split(',')
                .map(number)
                .collect::<Option<_>>()
                .map(Values::List)
        } else if let Some((low, high)) = text.split_once("..") {
            let ends = number(low).zip(number(high));
            ends.map(|(low, high)| Values::Between(low, high))
        } else {
            number(text).map(Values::from)
        };
        values
            .filter(Values::is_sound)
            .ok_or("expected a number, a list such as [0.1, 0.2], or a range such as 0.1..0.2")
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Values::List(values) if values.len() == 1 => write!(f, "{}", values[0]),
            Values::List(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", values.join(", "))
            }
            Values::Between(low, high) => write!(f, "{low}..{high}"),
        }
    }
}
