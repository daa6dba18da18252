//! How far a law explains the measurements, in numbers and in words.

use serde::{Deserialize, Serialize};

use super::{caution::InputCaution, rule::Doubt};

/// A law held against the measurements themselves: its trajectories through windows of them, or its values for their rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// Windows of measurements that the law was followed through; 0 where rows were compared one by one, or no law could be followed.
    pub windows: usize,
    /// Rows of the longest of them.
    pub rows: usize,
    /// Measurements so far off that they were left out.
    pub outliers: usize,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Outlier>,
    /// For each equation.
    pub equations: Vec<Judged>,
}

/// A measurement that was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlier {
    /// Where it stands.
    pub place: String,
    /// Which state.
    pub state: String,
    /// What was measured.
    pub value: f64,
    /// What the law, or its neighbours, say.
    pub expected: f64,
}

/// How far one equation explains its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Deviation of what is left, relative to the target's own.
    pub noise_left: f64,
    /// The noise as the measurements have it by themselves, relative to the target's deviation; none where that cannot be told.
    pub noise_measured: Option<f64>,
    /// R² on data that the coefficients were not fitted to; none where there is too little to hold out.
    pub r2: Option<f64>,
    /// In a word.
    pub verdict: Verdict,
    /// What speaks against a better one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// What is left goes along with this most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// What errors of an input would do to the coefficients, where they could matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caution: Option<InputCaution>,
    /// Other terms that would do almost as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
}

/// What a law leaves, and what it goes along with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pattern {
    /// A term outside of the library, or time.
    pub term: String,
    /// The share of what is left that it would explain.
    pub share: f64,
}

/// Another law of an equation, one change away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// The term that goes, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// The term that comes, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<String>,
    /// How likely this law is beside the one that was chosen: at most 1.
    pub odds: f64,
}

/// Whether a law is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// What is left is noise, as far as can be told.
    Explained,
    /// More is left than noise, or it cannot be told: the [`Doubt`] says why.
    Partly,
    /// No law was found: most of the movement is left, or nearly all is noise.
    NoLaw,
    /// Nobody knows: the search was ended by its bound before a law was held against the measurements.
    Unjudged,
}

impl Judgement {
    /// No law could be followed through the measurements of so many states.
    pub(super) fn no_law(states: usize) -> Self {
        let judged = Judged {
            noise_left: 1.0,
            noise_measured: None,
            r2: None,
            verdict: Verdict::NoLaw,
            doubt: Some(Doubt::NotFollowed),
            pattern: None,
            caution: None,
            alternatives: Vec::new(),
        };
        Judgement {
            windows: 0,
            rows: 0,
            outliers: 0,
            left_out: Vec::new(),
            equations: vec![judged; states],
        }
    }

    /// No law was held against the measurements of so many states: the search was ended by its bound before.
    pub(super) fn unjudged(states: usize) -> Self {
        let mut judgement = Judgement::no_law(states);
        let equations = judgement.equations.iter_mut();
        equations.for_each(|judged| judged.verdict = Verdict::Unjudged);
        judgement
    }
}

impl Judged {
    /// The verdict in words.
    #[must_use]
    pub fn words(&self) -> String {
        let left = percent(self.noise_left);
        let r2 = self.r2.map_or(String::new(), |r2| {
            format!("; R² on held-out data {}", share(r2))
        });
        let noise = self.noise_measured.map(percent);
        match self.verdict {
            Verdict::Unjudged => {
                "not judged: no law was followed through the measurements before the search was ended; the one above is the best for their rates of change".into()
            }
            Verdict::NoLaw if self.doubt == Some(Doubt::NotFollowed) => {
                "no law found: none of this library can be followed through the measurements; the one above is the best for their rates of change".into()
            }
            Verdict::NoLaw => match (noise, self.r2) {
                (Some(noise), _) if self.noise_measured > Some(0.7) => {
                    format!("no law found: nearly all of it is noise ({noise} of its deviation)")
                }
                (_, Some(held_out)) if self.noise_left <= 0.5 => format!(
                    "no law found: R² on held-out data is only {} ({left} of its deviation is left where the law was fitted)",
                    share(held_out)
                ),
                _ => format!("no law found: {left} of its deviation is left{r2}"),
            },
            Verdict::Explained => match noise {
                Some(noise) => {
                    format!("explained to the noise: {left} of its deviation is left, the noise is {noise}{r2}")
                }
                None => format!("explained: {left} of its deviation is left{r2}"),
            },
            Verdict::Partly => {
                let noise = noise.map_or(String::new(), |noise| format!(", the noise is {noise}"));
                let explained = 1.0 - self.noise_left.min(1.0).powi(2);
                let explained = percent(self.r2.map_or(explained, |r2| explained.min(r2.max(0.0))));
                let why = self.why();
                format!(
                    "explained to {explained}: {left} of its deviation is left{noise}{r2}; {why}"
                )
            }
        }
    }

    /// Why what is left is not taken for noise.
    fn why(&self) -> String {
        let pattern = self.pattern.as_ref().map_or(String::new(), |p| {
            format!(" (what is left goes along with {})", p.term)
        });
        match self.doubt {
            Some(Doubt::Correlated { lag, correlation }) => {
                let correlated =
                    format!("residuals {lag} apart are correlated ({correlation:.2})");
                match correlation < 0.0 {
                    true => correlated + ", as noise of the states, or of derivatives that were differenced, makes them",
                    false => correlated + ": the library may lack a term" + &pattern,
                }
            }
            Some(Doubt::FewRows) => "there are too few rows to tell whether that is noise".into(),
            Some(Doubt::NoiseUnknown) => {
                "the noise is not known, so that this may be noise, errors of the inputs, or something that the library lacks".into()
            }
            Some(Doubt::HeldOut) => {
                "held-out data are missed by more than those it was fitted to: the law may have too many terms".into()
            }
            _ => format!("the library may lack a term{pattern}"),
        }
    }
}

impl Alternative {
    /// What is changed, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let odds = format!("1 : {:.0}", (1.0 / self.odds).max(1.0));
        match (&self.without, &self.with) {
            (Some(out), Some(into)) => format!("{into} in the place of {out} ({odds})"),
            (Some(out), None) => format!("without {out} ({odds})"),
            (None, Some(into)) => format!("with {into}, too ({odds})"),
            (None, None) => String::new(),
        }
    }
}

/// R² with as many digits as tell it from 1.
fn share(r2: f64) -> String {
    let missing = (1.0 - r2).abs();
    if missing >= 0.01 {
        format!("{r2:.2}")
    } else {
        let digits = (-missing.max(1e-9).log10().floor()) as usize + 1;
        format!("{r2:.digits$}")
    }
}

/// A share in per cent, with two digits that count.
pub(super) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = if value.abs() >= 100.0 || value == 0.0 {
        0
    } else if value > 90.0 {
        // What is nearly all is not all.
        (1.0 - (100.0 - value).log10().floor()).clamp(2.0, 10.0) as usize
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
        let mut judged = Judged {
            noise_left: 0.034,
            noise_measured: Some(0.01),
            r2: Some(0.99874),
            verdict: Verdict::Partly,
            doubt: Some(Doubt::MoreThanNoise),
            pattern: Some(Pattern {
                term: "sin(theta)".into(),
                share: 0.9,
            }),
            caution: None,
            alternatives: Vec::new(),
        };
        assert_eq!(
            judged.words(),
            "explained to 99.87 %: 3.4 % of its deviation is left, the noise is 1.0 %; R² on held-out data 0.9987; the library may lack a term (what is left goes along with sin(theta))"
        );
        judged.verdict = Verdict::Explained;
        judged.noise_left = 0.0101;
        assert_eq!(
            judged.words(),
            "explained to the noise: 1.0 % of its deviation is left, the noise is 1.0 %; R² on held-out data 0.9987"
        );
        assert_eq!(percent(0.99979), "99.979 %");
        assert_eq!(percent(1.0), "100 %");
        let other = Alternative {
            without: Some("x".into()),
            with: Some("sin(x)".into()),
            odds: 0.24,
        };
        assert_eq!(other.words(), "sin(x) in the place of x (1 : 4)");
    }
}
