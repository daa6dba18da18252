//! The choice of a law: its terms on the path and by the measurements, its coefficients, what is to be said of it.

use std::cell::Cell;

use ell0::{
    dictionary::{Diagnostics, Path},
    equation::{DictionaryTarget, Model},
};
use ell0_data::evidence::{Evidence, TrainingRows};

use super::{
    Criterion, DataSummary, DiscoveredEquation, DiscoveredTerm, Discovery, FitSettings, LeftOut,
    Material, PathLine, Seen, Selected, Unfollowed,
    corrected::Correction,
    laws::Laws,
    likelihood::most_work,
    material::{refuse_constants, refuse_vanishing},
    related::related,
    targets::choose_all,
};
use crate::{
    data::Prepared,
    error::{Error, Result},
    observer::{Observer, Task},
};

/// Terms that were left out are told if they are at least so likely, and so many of them.
const POSSIBLE: f64 = 0.01;
const MOST_LEFT_OUT: usize = 20;

/// The laws of all targets.
pub(super) fn discover(
    settings: &FitSettings,
    evidence: Vec<Evidence>,
    rows: Option<TrainingRows>,
    prepared: Option<&Prepared>,
    seen: Option<Seen>,
    observer: &dyn Observer,
) -> Result<(Discovery, Option<Unfollowed>)> {
    refuse_constants(&evidence)?;
    let (targets, library) = (&evidence[0].targets, &evidence[0].library);
    let rules = settings.rules(targets)?;
    let material = Material::new(&evidence)?;
    refuse_vanishing(&evidence[0], &material.all)?;
    let supports = match rows {
        None => None,
        Some(rows) => Some(material.sampled(&rows, settings.seed, observer)?),
    };
    let no_samples = evidence.iter().any(|e| e.samples.is_empty());
    let criterion = match settings.criterion() {
        Criterion::Likelihood if no_samples && settings.criterion.is_some() => {
            return Err(Error::Settings(
                "the likelihood needs measurements, and these statistics were made without samples of them: leave the criterion out, or make them with samples",
            ));
        }
        Criterion::Likelihood if no_samples => Criterion::Validation,
        criterion => criterion,
    };
    let solving = Task::begin(
        observer,
        "choosing terms, equations:",
        Some(targets.len() as u64),
    );
    let found = choose_all(
        settings,
        &material,
        &rules,
        supports.as_ref(),
        // Those of the likelihood are its own.
        criterion != Criterion::Likelihood,
        |target| material.too_few_rows(&evidence, target),
        &solving,
    )?;
    let (mut path, mut laws, mut reasons, mut chosen) = (vec![], vec![], vec![], vec![]);
    let (mut paths, names) = (vec![], material.features.names());
    for found in found {
        path.extend(found.path.lines().iter().map(|l| PathLine {
            target: found.law.target.clone(),
            terms: l.terms,
            features: l.support.iter().map(|&j| names[j].clone()).collect(),
            coefficients: l.support.iter().map(|&j| l.coefficients[j]).collect(),
            lambda: finite(l.lambda),
            train_mse: l.train_error,
            validation_mse: l.validation_error,
            validation_deviation: l.validation_deviation,
            bic: l.bic,
            aicc: l.aicc,
            chosen: l.terms == found.line.terms,
        }));
        laws.push(found.law);
        reasons.push(found.no_probabilities);
        chosen.push(found.line);
        paths.push(found.path);
    }
    drop(solving);
    let mut laws = Laws {
        laws,
        judgement: None,
        covariance: None,
        ended: paths.iter().any(Path::ended),
    };
    if criterion == Criterion::Likelihood {
        let judging = Task::begin(
            observer,
            "judging by the measurements, % of its bound:",
            Some(100),
        );
        let told = Cell::new(0);
        let go_on = |work: u64| {
            let percent = 100 * work / most_work();
            if percent > told.replace(percent) {
                judging.reach(percent.min(100), "");
            }
            judging.goes_on()
        };
        laws.judge(settings, &evidence, &material, &paths, &chosen, &go_on)?;
        judging.end()?;
    }
    if let Some(prepared) = prepared.filter(|p| p.input_noise.iter().any(|n| *n > 0.0)) {
        let correction = Correction {
            prepared,
            evidence: &evidence,
            material: &material,
            noise: &prepared.input_noise,
            dropping: criterion == Criterion::Likelihood && settings.is_free(),
        };
        correction.apply(&mut laws)?;
    }
    if !settings.data.input_noise.is_unsaid()
        && let Some(judgement) = &mut laws.judgement
    {
        // Whoever said how exact the inputs are need not be told to.
        let equations = judgement.equations.iter_mut();
        equations.for_each(|judged| judged.caution = None);
    }
    let relations = related(&evidence, &material.features)?;
    laws.share(&relations, &material);
    laws.mark(&mut path);
    let Laws {
        laws,
        judgement,
        covariance,
        ended,
    } = laws;
    let digits = laws.iter().enumerate();
    let digits = digits.map(|(index, law)| material.all.digits(index, &law.coefficients));
    let digits = digits.collect::<ell0::Result<Vec<_>>>()?;
    let dynamics = evidence[0].dynamics;
    let model =
        Model::dictionary(&material.features, library, &laws, dynamics)?.with_digits(digits);
    let text = model.text(6);
    let equations = model.equations().iter().enumerate();
    let equations = equations
        .zip(text.lines())
        .zip(reasons)
        .zip(material.allowed.iter().zip(&laws))
        .map(
            |((((index, equation), text), no_probabilities), (allowed, law))| DiscoveredEquation {
                target: equation.target.clone(),
                text: text.to_string(),
                candidates: allowed.len(),
                terms: DiscoveredTerm::all(equation, index, &material.all),
                no_probabilities: no_probabilities.filter(|_| law.probabilities.is_none()),
                left_out: left_out(law, names),
            },
        )
        .collect();
    let smallest = path
        .iter()
        .filter(|l| l.chosen)
        .map(|l| l.lambda.unwrap_or(f64::INFINITY))
        .fold(f64::INFINITY, f64::min);
    let terms = model.equations().iter().map(|e| e.terms.len()).sum();
    let mut data = DataSummary::new(&evidence, &material.all);
    if let Some(judgement) = &judgement {
        data.correct(judgement);
    }
    if let Some(prepared) = prepared {
        let said = evidence[0].inputs.iter().zip(&prepared.input_noise);
        let said = said.filter(|(_, noise)| **noise > 0.0);
        data.input_noise = said.map(|(name, noise)| (name.clone(), *noise)).collect();
    }
    let found = Discovery {
        data,
        equations,
        selected: Selected {
            lambda: finite(smallest),
            terms,
        },
        rules,
        threshold: settings.threshold,
        path,
        criterion,
        no_samples: no_samples && settings.criterion() == Criterion::Likelihood,
        ended,
        judgement,
        followed: None,
        indistinct: Diagnostics::new(&material.all)?,
        relations,
        model,
    };
    let unfollowed = seen.map(|seen| Unfollowed {
        seen,
        features: material.features,
        laws,
        covariance,
    });
    Ok((found, unfollowed))
}

/// Terms that were left out and may belong all the same, the likeliest first.
fn left_out(law: &DictionaryTarget, names: &[String]) -> Vec<LeftOut> {
    let Some(probabilities) = &law.probabilities else {
        return Vec::new();
    };
    let terms = law.coefficients.iter().zip(probabilities).zip(names);
    let absent = terms.filter(|((c, p), _)| **c == 0.0 && **p >= POSSIBLE);
    let mut absent: Vec<LeftOut> = absent
        .map(|((_, probability), name)| LeftOut {
            feature: name.clone(),
            probability: *probability,
        })
        .collect();
    absent.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    absent.truncate(MOST_LEFT_OUT);
    absent
}

/// JSON and CSV have no infinity.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
