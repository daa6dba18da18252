//! What a fit works on: statistics of training, validation and all rows, and what can be said of one target by them.

use std::borrow::Cow;

use ell0::{
    dictionary::{
        Neighbour, Path, PathConfig, Problem, Rule, Statistics, inclusion_probabilities,
        neighbours, sampled_supports, stlsq_support,
    },
    equation::Dynamics,
    features::Features,
    rng::Stream,
    wording::shown,
};
use ell0_data::{
    derivative::Derivative,
    evidence::{Evidence, Split, TrainingRows},
};

use super::{Choice, Criterion, FitSettings};
use crate::{
    error::{Error, Result},
    observer::{Observer, Task},
};

/// What a fit works on: statistics of training, validation and all rows.
pub(super) struct Material {
    pub features: Features,
    /// The terms that the law of each target may have, by their place among the features.
    pub allowed: Vec<Vec<usize>>,
    pub train: Statistics,
    pub validation: Vec<Statistics>,
    pub all: Statistics,
    pub floors: Vec<f64>,
}

/// A law that leaves less than this share of a target's mean square unexplained needs no more terms: digits cut off in a file, or an inexact simulation, are no law.
pub(super) const NEGLIGIBLE: f64 = 1e-10;

/// About so many operations are done for the paths of all targets together: where there are many states and terms, the whole paths would take hours.
const MOST_WORK: u64 = 40_000_000_000;

/// Prices that sampled gates are trained at.
const PRICES: u64 = 13;

/// For each target, the supports along a falling price.
pub(super) type Supports = Vec<Vec<Vec<usize>>>;

/// A column that never changes says nothing of anything.
pub(super) fn refuse_constants(evidence: &[Evidence]) -> Result<()> {
    // A rate of change that is a column may well be constant.
    let columns = match evidence[0].dynamics {
        Dynamics::Regression => &evidence[0].targets[..],
        _ => &[],
    };
    let names = evidence[0].inputs.iter().chain(columns);
    for (k, name) in names.enumerate() {
        let value = |part: &Evidence| part.survey.constant.get(k).copied().flatten();
        if let Some(first) = value(&evidence[0])
            && evidence.iter().all(|part| value(part) == Some(first))
        {
            return Err(Error::Unsuitable(format!(
                "column `{}` is {first} in every row: nothing can be learned from it or of it; leave it out, or take data in which it varies",
                shown(name)
            )));
        }
    }
    Ok(())
}

/// Squares of smaller numbers vanish: what depends on them would be lost without a word.
const SMALLEST: f64 = 1e-150;

/// A column that varies, but with values too small to be squared and summed, would look as if it were 0.
pub(super) fn refuse_vanishing(evidence: &Evidence, all: &Statistics) -> Result<()> {
    let (features, constant) = (all.features(), all.constant());
    let width = features.len() + all.targets().len();
    let size = |column: usize| {
        let sum: f64 = (0..width).map(|row| all.r(row, column).powi(2)).sum();
        (sum / all.weight()).sqrt()
    };
    let vanishing = |name: &str, what: &str| {
        Err(Error::Unsuitable(format!(
            "{what} `{}` is so small that its squares vanish (below {SMALLEST:.0e}): choose other units",
            shown(name)
        )))
    };
    for name in &evidence.inputs {
        let column = features.iter().position(|f| f == name);
        if column.is_some_and(|c| !constant.contains(&c) && size(c) < SMALLEST) {
            return vanishing(name, "column");
        }
    }
    for (k, name) in all.targets().iter().enumerate() {
        if size(features.len() + k) < SMALLEST {
            return vanishing(name, "what is to be explained of");
        }
    }
    Ok(())
}

impl Material {
    pub fn new(evidence: &[Evidence]) -> Result<Self> {
        let split = Evidence::split(evidence)?;
        let all = split.all()?;
        let Split {
            train,
            validation,
            floors,
        } = split;
        Ok(Material {
            features: evidence[0].features()?,
            allowed: evidence[0].allowed()?,
            train,
            validation,
            all,
            floors,
        })
    }

    /// Says what would be enough.
    pub fn too_few_rows(&self, evidence: &[Evidence], target: usize) -> Error {
        let first = &evidence[0];
        let found = first.dynamics == Dynamics::Continuous && first.derivative != Derivative::Given;
        Error::TooFewRows {
            target: first.targets[target].clone(),
            data: evidence.iter().map(|e| e.survey.rows).sum(),
            left: self.train.rows(),
            terms: self.allowed[target].len(),
            derivative: found.then_some(first.derivative),
        }
    }

    /// Statistics with the terms that the law of a target may have.
    fn of_target<'a>(&self, target: usize, all: &'a Statistics) -> Result<Cow<'a, Statistics>> {
        let allowed = &self.allowed[target];
        Ok(match allowed.len() == self.features.len() {
            true => Cow::Borrowed(all),
            false => Cow::Owned(all.of_features(allowed)?),
        })
    }

    /// The path of a target, as far as its rule needs it.
    pub fn path(
        &self,
        target: usize,
        settings: &FitSettings,
        rule: Rule,
        supports: Option<&Supports>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Path> {
        // BIC needs no rows that are held out.
        let (train, validation) = match settings.criterion() {
            Criterion::Bic => (&self.all, &[][..]),
            _ => (&self.train, &self.validation[..]),
        };
        let train = self.of_target(target, train)?;
        let terms = train.features().len();
        let whole = terms == self.features.len();
        let validation = match whole {
            true => Cow::Borrowed(validation),
            false => {
                let parts = validation.iter();
                let parts = parts.map(|part| part.of_features(&self.allowed[target]));
                Cow::Owned(parts.collect::<ell0::Result<Vec<_>>>()?)
            }
        };
        let nothing = train.mean_squared_error(target, &vec![0.0; terms])?;
        let rows = train.effective_rows() as usize;
        let mut config = PathConfig {
            floor: self.floors[target].max(NEGLIGIBLE * nothing),
            // With as many terms as rows anything fits; with half as many there is still something to be told.
            most_terms: (rows <= terms + 1).then_some((rows / 2).max(1)),
            rule: Some(rule),
            // Each target has its share, so that the bits do not depend on the order.
            most_work: MOST_WORK / self.allowed.len().max(1) as u64,
            ..PathConfig::default()
        };
        let of_supports = |supports: Vec<Vec<usize>>| {
            Path::of_supports(&train, &[target], &validation, &config, supports)
        };
        let path = match (settings.method, supports, settings.threshold) {
            (Choice::Sampled, Some(supports), _) => of_supports(supports[target].clone())?,
            (Choice::Sampled, None, _) => {
                return Err(Error::Settings("sampled gates need the rows themselves"));
            }
            (Choice::ByStatistics(_), _, Some(threshold)) => {
                let all = self.of_target(target, &self.all)?;
                of_supports(vec![stlsq_support(
                    &Problem::new(&all, &[target])?,
                    threshold,
                )?])?
            }
            (Choice::ByStatistics(method), _, None) => {
                config.method = method;
                Path::watched(&train, &[target], &validation, &config, go_on)?
            }
        };
        Ok(match whole {
            true => path,
            false => path.among(&self.allowed[target], self.features.len())?,
        })
    }

    /// The supports that sampled gates find for each target, among the terms that its law may have.
    pub fn sampled(
        &self,
        rows: &TrainingRows,
        seed: u64,
        observer: &dyn Observer,
    ) -> Result<Supports> {
        let mut kinds: Vec<&Vec<usize>> = self.allowed.iter().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let prices = PRICES * kinds.len() as u64;
        let training = Task::begin(observer, "training at prices", Some(prices));
        let mut supports = vec![Vec::new(); self.allowed.len()];
        for allowed in kinds {
            let of = |target: &usize| self.allowed[*target] == *allowed;
            let targets: Vec<usize> = (0..self.allowed.len()).filter(of).collect();
            let train = self.of_target(targets[0], &self.train)?;
            let features = match allowed.len() == self.features.len() {
                true => Cow::Borrowed(&rows.features),
                false => {
                    let rows = rows.features.chunks_exact(self.features.len());
                    Cow::Owned(rows.flat_map(|r| allowed.iter().map(|&j| r[j])).collect())
                }
            };
            let progress = |_, _| training.advance(1);
            let found = sampled_supports(&train, &features, &rows.targets, seed, progress)?;
            training.go_on()?;
            for target in targets {
                supports[target].clone_from(&found[target]);
            }
        }
        Ok(supports)
    }

    /// The laws one change away from a target's, among the terms that it may have.
    pub fn neighbours(&self, target: usize, support: &[usize]) -> Result<Vec<Neighbour>> {
        let (all, allowed) = (self.of_target(target, &self.all)?, &self.allowed[target]);
        let own = support.iter().filter_map(|j| allowed.binary_search(j).ok());
        let own: Vec<usize> = own.collect();
        let near = neighbours(&all, target, &own)?.into_iter();
        let term = |j: Option<usize>| j.map(|j| allowed[j]);
        Ok(near
            .map(|change| Neighbour {
                dropped: term(change.dropped),
                added: term(change.added),
                ..change
            })
            .collect())
    }

    /// How sure the data are of each term of a target's law; not at all of those that it may not have.
    pub fn probabilities(&self, settings: &FitSettings, target: usize) -> Result<Vec<f64>> {
        let all = self.of_target(target, &self.all)?;
        let problem = Problem::new(&all, &[target])?;
        let stream = Stream::new(settings.seed);
        let own = inclusion_probabilities(&problem, settings.prior, &stream)?;
        let mut probabilities = vec![0.0; self.features.len()];
        for (j, probability) in self.allowed[target].iter().zip(own) {
            probabilities[*j] = probability;
        }
        Ok(probabilities)
    }

    /// Least squares on all rows with the terms that were chosen.
    pub fn coefficients(&self, target: usize, support: &[usize]) -> Result<Vec<f64>> {
        let supports = vec![support.to_vec()];
        let config = PathConfig::default();
        let path = Path::of_supports(&self.all, &[target], &[], &config, supports)?;
        let line = path.lines().last();
        line.map(|line| line.coefficients.clone())
            .ok_or(Error::Settings("there is no law"))
    }
}
