//! The choice of a law: its size on held-out rows, its coefficients from all of them.

use ell0::{
    dictionary::{
        Diagnostics, Path, PathConfig, Problem, Statistics, inclusion_probabilities,
        sampled_supports,
    },
    equation::{DictionaryTarget, Dynamics, Model},
    rng::Stream,
    wording::shown,
};
use ell0_data::evidence::{Evidence, Split, TrainingRows};

use super::likelihood::Measured;
use super::{
    Choice, DataSummary, DiscoveredEquation, Discovery, FitSettings, Judgement, Material, PathLine,
    Selected,
};
use crate::{
    error::{About, Error, Result},
    observer::{Observer, Task},
};

/// A law that leaves less than this share of a target's mean square unexplained needs no more terms: digits cut off in a file, or an inexact simulation, are no law.
const NEGLIGIBLE: f64 = 1e-10;

/// Prices that sampled gates are trained at.
const PRICES: u64 = 13;

/// A column that never changes says nothing of anything.
fn refuse_constants(evidence: &[Evidence]) -> Result<()> {
    let names = evidence[0].inputs.iter().chain(&evidence[0].targets);
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
fn refuse_vanishing(evidence: &Evidence, all: &Statistics) -> Result<()> {
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
    fn new(evidence: &[Evidence]) -> Result<Self> {
        let split = Evidence::split(evidence)?;
        let all = split.all()?;
        let Split {
            train,
            validation,
            floors,
        } = split;
        Ok(Material {
            features: evidence[0].features()?,
            train,
            validation,
            all,
            floors,
        })
    }

    /// Says what would be enough.
    fn too_few_rows(&self, evidence: &[Evidence], target: &str) -> Error {
        let first = &evidence[0];
        Error::TooFewRows {
            target: target.into(),
            data: evidence.iter().map(|e| e.survey.rows).sum(),
            left: self.train.rows(),
            terms: self.features.len(),
            derivative: (first.dynamics == Dynamics::Continuous).then_some(first.derivative),
        }
    }

    /// The path of a target.
    fn path(
        &self,
        target: usize,
        method: Choice,
        supports: Option<&Vec<Vec<Vec<usize>>>>,
    ) -> Result<Path> {
        let (train, validation) = (&self.train, &self.validation);
        let nothing = train.mean_squared_error(target, &vec![0.0; self.features.len()])?;
        let mut config = PathConfig {
            floor: self.floors[target].max(NEGLIGIBLE * nothing),
            ..PathConfig::default()
        };
        Ok(match (method, supports) {
            (Choice::Sampled, Some(supports)) => {
                let supports = supports[target].clone();
                Path::of_supports(train, &[target], validation, &config, supports)?
            }
            (Choice::Sampled, None) => {
                return Err(Error::Settings("sampled gates need the rows themselves"));
            }
            (Choice::ByStatistics(method), _) => {
                config.method = method;
                Path::new(train, &[target], validation, &config)?
            }
        })
    }

    /// Least squares on all rows with the terms that were chosen.
    fn coefficients(&self, target: usize, support: &[usize]) -> Result<Vec<f64>> {
        let supports = vec![support.to_vec()];
        let config = PathConfig::default();
        let path = Path::of_supports(&self.all, &[target], &[], &config, supports)?;
        let line = path.lines().last();
        line.map(|line| line.coefficients.clone())
            .ok_or(Error::Settings("there is no law"))
    }
}

/// The laws of all targets.
pub(super) fn discover(
    settings: &FitSettings,
    evidence: Vec<Evidence>,
    rows: Option<TrainingRows>,
    measured: Option<&Measured>,
    observer: &dyn Observer,
) -> Result<Discovery> {
    refuse_constants(&evidence)?;
    let (targets, library) = (&evidence[0].targets, &evidence[0].library);
    let material = Material::new(&evidence)?;
    refuse_vanishing(&evidence[0], &material.all)?;
    let supports = match rows {
        None => None,
        Some(rows) => {
            let training = Task::begin(observer, "training at prices", Some(PRICES));
            let supports = sampled_supports(
                &material.train,
                &rows.features,
                &rows.targets,
                settings.seed,
                |_, _| training.advance(1),
            )?;
            training.go_on()?;
            Some(supports)
        }
    };
    let solving = Task::begin(
        observer,
        "choosing terms, equations:",
        Some(targets.len() as u64),
    );
    let rule = settings.rule();
    let (mut path, mut laws, mut reasons, mut chosen) = (vec![], vec![], vec![], vec![]);
    let mut paths = vec![];
    for (index, target) in targets.iter().enumerate() {
        let lines = match material.path(index, settings.method, supports.as_ref()) {
            Err(Error::Method(ell0::Error::Parameter { name: "rows", .. })) => {
                return Err(material.too_few_rows(&evidence, target));
            }
            lines => lines.about(|| format!("no law for `{}`", shown(target)))?,
        };
        let line = lines.choose(rule)?.clone();
        path.extend(lines.lines().iter().map(|l| PathLine {
            target: target.clone(),
            terms: l.terms,
            lambda: finite(l.lambda),
            train_mse: l.train_error,
            validation_mse: l.validation_error,
            validation_deviation: l.validation_deviation,
            bic: l.bic,
            aicc: l.aicc,
            chosen: l.terms == line.terms,
        }));
        let (probabilities, reason) = match probabilities(settings, &material.all, index) {
            Ok(probabilities) => (Some(probabilities), None),
            // The law stands without them; why there are none is said.
            Err(error) => (None, Some(error.to_string())),
        };
        laws.push(DictionaryTarget {
            target: target.clone(),
            coefficients: material.coefficients(index, &line.support)?,
            probabilities,
            errors: None,
        });
        reasons.push(reason);
        chosen.push(line);
        paths.push(lines);
        solving.advance(1);
        solving.go_on()?;
    }
    drop(solving);
    let mut judgement = None;
    if let Some(measured) = measured {
        let judging = Task::begin(observer, "judging by the measurements", None);
        judgement = Some(Judgement::no_law(targets.len()));
        if let Some(found) = measured.law(&material.features, &paths, &chosen)? {
            for (law, equation) in laws.iter_mut().zip(&found.law.equations) {
                law.coefficients.fill(0.0);
                let mut errors = vec![0.0; law.coefficients.len()];
                let terms = equation.support.iter().zip(&equation.coefficients);
                for ((j, c), error) in terms.zip(&equation.errors) {
                    law.coefficients[*j] = *c;
                    errors[*j] = *error;
                }
                law.errors = Some(errors);
                let size = equation.support.len();
                for line in path.iter_mut().filter(|l| l.target == law.target) {
                    line.chosen = line.terms == size;
                }
            }
            judgement = Some(found.judgement);
        }
        judging.end()?;
    }
    let digits = laws.iter().enumerate();
    let digits = digits.map(|(index, law)| material.all.digits(index, &law.coefficients));
    let digits = digits.collect::<ell0::Result<Vec<_>>>()?;
    let dynamics = evidence[0].dynamics;
    let model =
        Model::dictionary(&material.features, library, &laws, dynamics)?.with_digits(digits);
    let text = model.text(6);
    let equations = model.equations().iter().zip(text.lines()).zip(reasons);
    let equations = equations
        .map(|((equation, text), no_probabilities)| DiscoveredEquation {
            target: equation.target.clone(),
            text: text.to_string(),
            terms: equation.terms.clone(),
            no_probabilities,
        })
        .collect();
    let smallest = path
        .iter()
        .filter(|l| l.chosen)
        .map(|l| l.lambda.unwrap_or(f64::INFINITY))
        .fold(f64::INFINITY, f64::min);
    let terms = model.equations().iter().map(|e| e.terms.len()).sum();
    Ok(Discovery {
        data: DataSummary::new(&evidence, &material.all),
        equations,
        selected: Selected {
            lambda: finite(smallest),
            terms,
        },
        rule,
        path,
        judgement,
        indistinct: Diagnostics::new(&material.all)?,
        model,
    })
}

fn probabilities(
    settings: &FitSettings,
    all: &Statistics,
    target: usize,
) -> ell0::Result<Vec<f64>> {
    let problem = Problem::new(all, &[target])?;
    inclusion_probabilities(&problem, settings.prior, &Stream::new(settings.seed))
}

/// JSON and CSV have no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
