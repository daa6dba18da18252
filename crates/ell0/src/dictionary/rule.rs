//! The choice of one model of a path.

use serde::{Deserialize, Serialize};

use super::path::{Line, Path};
use crate::error::{Error, Result, require};

/// How one model of the path is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The smallest model whose validation error is within one standard error of the least, or below the error of the targets themselves; by BIC where there are no
    /// validation data, or a single part of them.
    OneStandardError,
    /// The least validation error.
    Validation,
    /// The smallest model whose validation error is at most this share above the least.
    Within(f64),
    /// The least BIC.
    Bic,
    /// The least AICc.
    Aicc,
    /// So many terms (for each target).
    Terms(usize),
    /// The least mean squared error (averaged over the targets that share the terms) + λ·terms.
    Lambda(f64),
    /// The only model, of a path that has no other.
    Only,
}

/// What it costs to have picked so many terms out of so many: 2 ln of the number of laws of that size, −2 ln of the share that each of them has.
#[must_use]
pub fn price_of_choice(choices: usize, terms: usize) -> f64 {
    let all = choices.max(terms) as f64;
    let each = (0..terms).map(|k| ((all - k as f64) / (k as f64 + 1.0)).ln());
    2.0 * each.sum::<f64>()
}

impl Path {
    /// One model of the path.
    pub fn choose(&self, rule: Rule) -> Result<&Line> {
        let Some(last) = self.lines.last() else {
            return Err(Error::Empty { what: "path" });
        };
        let least = |value: &dyn Fn(&Line) -> f64| {
            self.lines
                .iter()
                .min_by(|a, b| value(a).total_cmp(&value(b)))
                .unwrap_or(last)
        };
        let error = |line: &Line| {
            line.validation_error
                .map_or(f64::INFINITY, |e| e.max(self.floor))
        };
        let validated = last.validation_error.is_some();
        Ok(match rule {
            // Without a standard error there is nothing to be within.
            Rule::OneStandardError if last.validation_deviation.is_none() => least(&|l| l.bic),
            Rule::Validation if !validated => {
                return Err(Error::parameter(
                    "rule",
                    "validation",
                    "there are no validation data; choose by BIC, AICc, the number of terms or λ",
                ));
            }
            Rule::Within(share) => {
                let ok = share >= 0.0 && share.is_finite() && validated;
                require(
                    ok,
                    "share",
                    share,
                    "it must be finite and not negative, and there must be validation data",
                )?;
                let best = least(&error);
                let limit = error(best) * (1.0 + share);
                self.lines
                    .iter()
                    .find(|line| error(line) <= limit)
                    .unwrap_or(best)
            }
            Rule::Validation => least(&error),
            Rule::OneStandardError => {
                let best = least(&error);
                let limit = error(best) + best.validation_deviation.unwrap_or(0.0);
                self.lines
                    .iter()
                    .find(|line| error(line) <= limit)
                    .unwrap_or(best)
            }
            Rule::Bic => least(&|l| l.bic),
            Rule::Aicc => least(&|l| l.aicc),
            Rule::Terms(terms) => self
                .lines
                .iter()
                .find(|line| line.terms == terms)
                .ok_or_else(|| {
                    let known: Vec<String> =
                        self.lines.iter().map(|l| l.terms.to_string()).collect();
                    Error::parameter(
                        "terms",
                        terms,
                        format!("the path has models of {} terms", known.join(", ")),
                    )
                })?,
            Rule::Only => {
                let count = self.lines.len();
                require(count == 1, "models", count, "there must be only one")?;
                last
            }
            Rule::Lambda(lambda) => {
                require(
                    lambda >= 0.0 && lambda.is_finite(),
                    "lambda",
                    lambda,
                    "it must be finite and not negative",
                )?;
                least(&|l| l.train_error + lambda * l.terms as f64)
            }
        })
    }
}
