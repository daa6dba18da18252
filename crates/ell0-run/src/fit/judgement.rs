//! How far a law explains the measurements, in numbers and in words.

use serde::{Deserialize, Serialize};

/// A law held against the measurements themselves: its trajectories through windows of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Windows of measurements that the law was followed through.
    pub windows: usize,
    /// Rows of the longest of them.
    pub rows: usize,
    /// Measurements so far off that they were left out.
    pub outliers: usize,
    /// For each equation.
    pub equations: Vec<Judged>,
}

/// How far one equation explains its state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Deviation of what is left, relative to the state's own.
    pub noise_left: f64,
    /// The noise as the measurements have it by themselves, relative to the state's deviation; none where that cannot be told.
    pub noise_measured: Option<f64>,
    /// Share of the state's variance that the law's trajectories explain.
    pub explained: f64,
    /// In a word.
    pub verdict: Verdict,
}

/// Whether a law is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What is left is the noise.
    Explained,
    /// More is left than the noise: the library may lack a term.
    Partly,
    /// No law of the library could be followed through the measurements.
    NoLaw,
}

impl Judgement {
    /// No law could be followed through the measurements of so many states.
    pub(super) fn no_law(states: usize) -> Self {
        let judged = Judged {
            noise_left: 1.0,
            noise_measured: None,
            explained: 0.0,
            verdict: Verdict::NoLaw,
        };
        Judgement {
            windows: 0,
            rows: 0,
            outliers: 0,
            equations: vec![judged; states],
        }
    }
}

impl Judged {
    /// The verdict in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.verdict {
            Verdict::NoLaw => {
                "no law of this library can be followed through the measurements; this one is the choice of held-out rates of change".into()
            }
            Verdict::Explained => match self.noise_measured {
                Some(noise) => format!(
                    "explained to the noise: {} of the state is left, the noise is {}",
                    percent(self.noise_left),
                    percent(noise)
                ),
                None => format!(
                    "explained: {} of the state is left",
                    percent(self.noise_left)
                ),
            },
            Verdict::Partly => {
                let measured = self.noise_measured.map_or(String::new(), |noise| {
                    format!(", the noise is {}", percent(noise))
                });
                format!(
                    "explained to {}: {} of the state is left{measured}; the library may lack a term",
                    percent(self.explained.max(0.0)),
                    percent(self.noise_left)
                )
            }
        }
    }
}

/// A share in per cent, with two digits that count.
fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value.abs() >= 99.95 || value == 0.0 {
        0
    } else if value > 90.0 {
        2
    } else {
        (1.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize
    };
    format!("{value:.digits$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_sentences() {
        let judged = Judged {
            noise_left: 0.034,
            noise_measured: Some(0.01),
            explained: 0.9988,
            verdict: Verdict::Partly,
        };
        assert_eq!(
            judged.words(),
            "explained to 99.88 %: 3.4 % of the state is left, the noise is 1.0 %; the library may lack a term"
        );
    }
}
