//! The whole path: the best model of every size.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    Problem, Rule, Statistics, baselines,
    budget::Budget,
    ending::Ending,
    sizes::best_of_each_size,
    support::{Fitted, refit},
};
use crate::{
    error::{Error, Result, require},
    gates::HardConcrete,
};

/// How supports are found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Gates trained on the expectation in closed form, along a falling price, and polished by adding, dropping and swapping.
    Exact,
    /// All terms: ordinary least squares.
    Ols,
    /// Sequentially thresholded least squares, as PySINDy's `STLSQ`, for many thresholds.
    Stlsq,
    /// The L1 path.
    Lasso,
}

impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exact" => Ok(Method::Exact),
            "ols" => Ok(Method::Ols),
            "stlsq" => Ok(Method::Stlsq),
            "lasso" => Ok(Method::Lasso),
            _ => Err(Error::Unknown {
                kind: "method",
                name: name.into(),
                expected: "exact, ols, stlsq, lasso",
            }),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Method::Exact => "exact",
            Method::Ols => "ols",
            Method::Stlsq => "stlsq",
            Method::Lasso => "lasso",
        })
    }
}

/// One model of the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Number of terms.
    pub terms: usize,
    /// The terms, by their index.
    pub support: Vec<usize>,
    /// The largest price λ of a term at which this model beats all smaller ones; infinite for the smallest.
    #[serde(with = "endless")]
    pub lambda: f64,
    /// Mean squared error on the training data, averaged over the targets that share the terms.
    pub train_error: f64,
    /// Mean squared error on the validation data and its standard error over their parts.
    pub validation_error: Option<f64>,
    /// Standard error of the validation error; none for a single part.
    pub validation_deviation: Option<f64>,
    /// N ln(error) + terms·ln N.
    pub bic: f64,
    /// N ln(error) + 2·terms + 2·terms(terms + 1)/(N − terms − 1).
    pub aicc: f64,
    /// Coefficients of all features in the user's units, target after target.
    pub coefficients: Vec<f64>,
}

/// A number that may be infinite, which JSON has no word for: nothing stands for it.
mod endless {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.unwrap_or(f64::INFINITY))
    }
}

/// What a path is made of.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `method` | exact | how supports are found |
/// | `gate` | β = 2/3, γ = −0.1, ζ = 1.1 | distribution of the gates |
/// | `most_terms` | all | largest number of terms |
/// | `floor` | 0 | mean squared error of the targets themselves: a model that is no worse than that needs no more terms |
/// | `rule` | none | how a model will be chosen: with the exact method and a large library, the path ends some sizes after this rule has no more to gain; none: the whole path |
/// | `refit` | yes | least squares on each support; no: the shrunken coefficients of the lasso as they are (what gates give without a refit is [`Gated::coefficients`](super::Gated::coefficients)) |
/// | `most_work` | without bound | with the exact method: about so many operations, after which the path ends with what was found |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathConfig {
    /// How supports are found.
    pub method: Method,
    /// Distribution of the gates.
    pub gate: HardConcrete,
    /// Largest number of terms.
    pub most_terms: Option<usize>,
    /// Mean squared error of the targets themselves, by measurement or differentiation.
    pub floor: f64,
    /// How a model will be chosen.
    pub rule: Option<Rule>,
    /// Whether each support is refitted by least squares.
    pub refit: bool,
    /// Operations after which the path ends.
    pub most_work: u64,
}

impl Default for PathConfig {
    fn default() -> Self {
        PathConfig {
            method: Method::Exact,
            gate: HardConcrete::default(),
            most_terms: None,
            floor: 0.0,
            rule: None,
            refit: true,
            most_work: u64::MAX,
        }
    }
}

/// The best model of every size, for one target or for several that share their terms. Shared terms are chosen by the sum of the targets' squared errors: bring targets of
/// very different size to one scale first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    pub(super) lines: Vec<Line>,
    /// Errors below this are those of the targets themselves, or round-off: models that reach it are equally good.
    pub(super) floor: f64,
    /// Whether larger, or better, models were not looked for because the work was done that may be done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) ended: bool,
}

impl Path {
    /// The path of the given targets of the training statistics, validated on parts of other data.
    pub fn new(
        train: &Statistics,
        targets: &[usize],
        validation: &[Statistics],
        config: &PathConfig,
    ) -> Result<Self> {
        Path::watched(train, targets, validation, config, &|| true)
    }

    /// A path that asks from time to time whether to go on; if not, it ends with what it has.
    pub fn watched(
        train: &Statistics,
        targets: &[usize],
        validation: &[Statistics],
        config: &PathConfig,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Self> {
        let problem = Problem::new(train, targets)?;
        for part in validation {
            require(
                part.features() == train.features() && part.targets() == train.targets(),
                "validation",
                "other columns",
                "training and validation data must have the same features and targets",
            )?;
        }
        let most = config.most_terms.unwrap_or(usize::MAX).min(problem.p);
        let largest = if config.method == Method::Exact {
            most
        } else {
            problem.p
        };
        problem.require_rows(largest)?;
        let budget = Budget::new(config.most_work);
        let candidates: Vec<(Vec<usize>, Option<Vec<f64>>)> = match config.method {
            Method::Exact => {
                let everything: Vec<usize> = (0..problem.p).collect();
                let full = Fitted::new(&problem, &everything);
                let least_error = full.error() / problem.q as f64;
                let floor = floor(&problem, config);
                let mut ending = Ending::new(&problem, config.rule, floor, least_error);
                let note = |ending: &mut Ending, fitted: &Fitted| {
                    if ending.watches() {
                        let (support, error) = (fitted.support.clone(), fitted.error());
                        let scaled = fitted.coefficients();
                        ending.note(&line(
                            &problem, targets, validation, support, error, &scaled,
                        )?);
                    }
                    Ok(go_on())
                };
                let gate = &config.gate;
                best_of_each_size(&problem, full, gate, most, &budget, &mut ending, note)?
                    .into_iter()
                    .map(|s| (s, None))
                    .collect()
            }
            Method::Ols => vec![((0..problem.p).collect(), None)],
            Method::Stlsq => baselines::stlsq_path(&problem)
                .into_iter()
                .map(|s| (s, None))
                .collect(),
            Method::Lasso => baselines::lasso_path(&problem)
                .into_iter()
                .map(|a| (nonzero(&a, problem.p), (!config.refit).then_some(a)))
                .collect(),
        };
        let most = if config.method == Method::Ols {
            problem.p
        } else {
            most
        };
        let path = Path::assemble(&problem, targets, validation, config, candidates, most)?;
        Ok(Path {
            ended: budget.is_spent(),
            ..path
        })
    }

    /// The path of supports that were found in another way, by sampled gates for example: the best of each size, refitted.
    pub fn of_supports(
        train: &Statistics,
        targets: &[usize],
        validation: &[Statistics],
        config: &PathConfig,
        supports: Vec<Vec<usize>>,
    ) -> Result<Self> {
        let problem = Problem::new(train, targets)?;
        for part in validation {
            require(
                part.features() == train.features() && part.targets() == train.targets(),
                "validation",
                "other columns",
                "training and validation data must have the same features and targets",
            )?;
        }
        let longest = supports.iter().map(Vec::len).max().unwrap_or(0);
        problem.require_rows(longest)?;
        if let Some(j) = supports.iter().flatten().find(|j| **j >= problem.p) {
            return Err(Error::parameter("support", j, "there are fewer features"));
        }
        let candidates = supports.into_iter().map(|s| (s, None)).collect();
        Path::assemble(&problem, targets, validation, config, candidates, problem.p)
    }

    fn assemble(
        problem: &Problem,
        targets: &[usize],
        validation: &[Statistics],
        config: &PathConfig,
        candidates: Vec<(Vec<usize>, Option<Vec<f64>>)>,
        most: usize,
    ) -> Result<Self> {
        let mut lines: Vec<Option<Line>> = vec![None; problem.p + 1];
        for (support, coefficients) in candidates {
            let (mut support, error, scaled) = match coefficients {
                Some(a) => (support, problem.error(&a), a),
                None => {
                    let fit = refit(problem, &support);
                    (fit.support, fit.error, fit.coefficients)
                }
            };
            let terms = support.len();
            if terms > most {
                continue;
            }
            let better = lines[terms]
                .as_ref()
                .is_none_or(|line| error < line.train_error * problem.q as f64);
            if better {
                support.sort_unstable();
                lines[terms] = Some(line(problem, targets, validation, support, error, &scaled)?);
            }
        }
        let ok = config.floor >= 0.0 && config.floor.is_finite();
        require(
            ok,
            "floor",
            config.floor,
            "it must be finite and not negative",
        )?;
        let mut path = Path {
            lines: lines.into_iter().flatten().collect(),
            floor: floor(problem, config),
            ended: false,
        };
        path.set_prices();
        Ok(path)
    }

    /// The same path among more features: those that it is of stand at `places` of so many. What was found on [some features](Statistics::of_features) is told in terms of all.
    pub fn among(mut self, places: &[usize], features: usize) -> Result<Self> {
        if let Some(j) = places.iter().find(|j| **j >= features) {
            return Err(Error::parameter("place", j, "there are fewer features"));
        }
        for line in &mut self.lines {
            let ok = line.coefficients.len().is_multiple_of(places.len().max(1))
                && line.support.iter().all(|j| *j < places.len());
            require(
                ok,
                "places",
                places.len(),
                "as many as the path has features",
            )?;
            let targets = line.coefficients.chunks_exact(places.len().max(1));
            line.coefficients = targets
                .flat_map(|own| {
                    let mut all = vec![0.0; features];
                    places.iter().zip(own).for_each(|(j, c)| all[*j] = *c);
                    all
                })
                .collect();
            line.support.iter_mut().for_each(|j| *j = places[*j]);
            line.support.sort_unstable();
        }
        Ok(self)
    }

    /// Whether the search was ended by its bound: there may be better models than those that were found, and larger ones.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The models, by increasing number of terms.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    fn set_prices(&mut self) {
        for k in 0..self.lines.len() {
            let this = &self.lines[k];
            let price = self.lines[..k]
                .iter()
                .map(|smaller| {
                    (smaller.train_error - this.train_error) / (this.terms - smaller.terms) as f64
                })
                .fold(f64::INFINITY, f64::min);
            // The smallest model of all is best at any price, however high.
            self.lines[k].lambda = price.max(0.0);
        }
    }
}

/// Errors below this are those of the targets themselves, or round-off.
fn floor(problem: &Problem, config: &PathConfig) -> f64 {
    let round_off = 1e-24 * problem.energy() / problem.q as f64;
    config.floor.max(round_off)
}

fn nonzero(a: &[f64], p: usize) -> Vec<usize> {
    (0..p)
        .filter(|&j| a.iter().skip(j).step_by(p).any(|&a| a != 0.0))
        .collect()
}

fn line(
    problem: &Problem,
    targets: &[usize],
    validation: &[Statistics],
    support: Vec<usize>,
    error: f64,
    scaled: &[f64],
) -> Result<Line> {
    let q = problem.q as f64;
    let train_error = error / q;
    let coefficients = problem.unscaled(scaled);
    let mut parts = Vec::with_capacity(validation.len());
    for part in validation {
        let mut total = 0.0;
        for (t, &target) in targets.iter().enumerate() {
            total +=
                part.mean_squared_error(target, &coefficients[t * problem.p..][..problem.p])?;
        }
        parts.push((part.weight(), total / q));
    }
    let weight: f64 = parts.iter().map(|p| p.0).sum();
    let mean = parts.iter().map(|(w, e)| w * e).sum::<f64>() / weight;
    let m = parts.len() as f64;
    let spread: f64 = parts
        .iter()
        .map(|(w, e)| (w * m / weight).powi(2) * (e - mean).powi(2))
        .sum();
    let deviation = if parts.len() > 1 {
        (spread / (m * (m - 1.0))).sqrt()
    } else {
        0.0
    };
    let (n, k) = (problem.n, support.len() as f64);
    let floored = train_error
        .max(1e-24 * problem.energy() / q)
        .max(f64::MIN_POSITIVE);
    let likelihood = n * floored.ln();
    let validated = !parts.is_empty();
    Ok(Line {
        terms: support.len(),
        support,
        lambda: 0.0,
        train_error,
        validation_error: validated.then_some(mean),
        validation_deviation: (parts.len() > 1).then_some(deviation),
        bic: likelihood + k * n.ln(),
        aicc: likelihood + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0).max(1.0),
        coefficients,
    })
}
