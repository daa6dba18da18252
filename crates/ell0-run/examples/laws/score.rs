//! A fit, and how good what it found is.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Instant,
};

use ell0::{
    equation::{Dynamics, Expression, Model},
    features::{Factor, Features, Library, Term},
};
use ell0_run::{DataSettings, Discovery, FitSettings, Silent, Verdict};
use serde::Serialize;

use crate::{
    Failure,
    data::{FOUND, Measured, Run, simulate},
    options::Options,
    study::{Case, Noise, Study},
    systems::{Coefficients, Group, Half},
};

/// A law is right on a run if its R² is above this.
pub const GOOD: f64 = 0.9;

/// What came of one case; `pysindy_laws.py` writes the same fields.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub tool: &'static str,
    /// How the law was chosen.
    pub method: String,
    pub study: Study,
    pub system: String,
    pub group: Group,
    pub half: Half,
    /// Whether the library has all terms of the law.
    pub inside: bool,
    pub variant: String,
    pub rows: usize,
    pub runs: usize,
    pub noise: Noise,
    pub seed: u64,
    pub library: String,
    /// Whether every equation has exactly the right terms; none where the library lacks some.
    pub exact: Option<bool>,
    /// The largest relative error of a coefficient, where the terms are right.
    pub coefficient_error: Option<f64>,
    /// Mean over the states of R², each at least −1, of the law's own run from the true first state against the clean run; none if it cannot be followed to the end.
    pub r2: Option<f64>,
    /// The same from the second initial state.
    pub r2_second: Option<f64>,
    /// Intervals of 95 % of the coefficients, where the terms are right, and how many of them have the truth in them.
    pub intervals: usize,
    pub covered: usize,
    /// Verdicts on the equations; empty where there are none.
    pub verdicts: Vec<Verdict>,
    /// What is left of each state, and the noise by itself.
    pub left: Vec<(f64, Option<f64>)>,
    /// Why there is no law at all.
    pub error: Option<String>,
    /// The law, in the system's own units.
    pub law: Option<String>,
    pub seconds: f64,
}

impl Outcome {
    pub fn on_run(&self) -> bool {
        self.r2.is_some_and(|r2| r2 > GOOD)
    }

    pub fn on_second(&self) -> bool {
        self.r2_second.is_some_and(|r2| r2 > GOOD)
    }
}

/// Fits a case and scores what was found.
pub fn run(case: &Case, measured: &Measured, options: &Options) -> Result<Outcome, Failure> {
    let criterion = options.criterion;
    let system = case.system;
    let features = system.features(&case.library)?;
    let truth = system.truth(&features)?;
    let settings = FitSettings {
        criterion,
        data: DataSettings {
            states: system.states.clone(),
            library: case.library.clone(),
            libraries: match (&truth, options.true_terms) {
                (Some(truth), true) => true_terms(case, &features, truth),
                _ => BTreeMap::new(),
            },
            ..DataSettings::default()
        },
        ..FitSettings::default()
    };
    let mut outcome = Outcome {
        tool: "ell0",
        method: match criterion {
            _ if options.true_terms => "true terms".into(),
            Some(criterion) => criterion.to_string(),
            None => "default".into(),
        },
        study: case.study,
        system: system.name.clone(),
        group: system.group,
        half: system.half,
        inside: truth.is_some(),
        variant: case.variant.clone(),
        rows: case.rows,
        runs: case.starts.len(),
        noise: case.noise,
        seed: case.seed,
        library: case.library.to_string(),
        exact: None,
        coefficient_error: None,
        r2: None,
        r2_second: None,
        intervals: 0,
        covered: 0,
        verdicts: Vec::new(),
        left: Vec::new(),
        error: None,
        law: None,
        seconds: 0.0,
    };
    let began = Instant::now();
    let found = catch_unwind(AssertUnwindSafe(|| {
        settings.run_on(&measured.frames, &Silent)
    }));
    outcome.seconds = began.elapsed().as_secs_f64();
    let found = match found {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            outcome.error = Some(error.to_string());
            return Ok(outcome);
        }
        Err(_) => {
            outcome.error = Some("it panicked; the message is on stderr".into());
            return Ok(outcome);
        }
    };
    if let Some(judgement) = &found.judgement {
        let equations = judgement.equations.iter();
        outcome.verdicts = equations.clone().map(|e| e.verdict).collect();
        outcome.left = equations
            .map(|e| (e.noise_left, e.noise_measured))
            .collect();
    }
    let errors = errors(&found, &features, &case.units);
    let found = coefficients(&found, &features, &case.units)?;
    let model = model(&found, &features)?;
    if let Some(truth) = &truth {
        let error = largest_error(&found, truth);
        outcome.exact = Some(error.is_some());
        if error.is_some() {
            let pairs = found.iter().zip(truth).zip(&errors);
            for ((found, truth), errors) in pairs {
                let truth: BTreeMap<_, _> = truth.iter().copied().collect();
                for (k, value) in found {
                    if let (Some(truth), Some(error)) = (truth.get(k), errors.get(k)) {
                        outcome.intervals += 1;
                        outcome.covered += usize::from((value - truth).abs() <= 1.96 * error);
                    }
                }
            }
        }
        outcome.coefficient_error = error;
    }
    let follows = |clean: &Run| {
        let own = simulate(&model, FOUND, &clean[0], &measured.time).ok()?;
        Some(mean_r2(&own, clean))
    };
    outcome.r2 = follows(&measured.clean);
    outcome.r2_second = follows(&measured.second);
    outcome.law = Some(model.text(4).replace('\n', "; "));
    Ok(outcome)
}

/// For each state a library of the terms of its true law alone, as one would have it who knows them.
fn true_terms(case: &Case, features: &Features, truth: &Coefficients) -> BTreeMap<String, Library> {
    let states = case.system.states.iter().zip(truth);
    states
        .filter(|(_, law)| !law.is_empty())
        .map(|(state, law)| {
            let names = law.iter().map(|(k, _)| features.names()[*k].clone());
            let own = Library::Only(Box::new(case.library.clone()), names.collect());
            (state.clone(), own)
        })
        .collect()
}

/// What was found, by the number of the term, in the system's own units.
///
/// With y = u x, y′ᵢ = Σ c Π yᵉ becomes x′ᵢ = Σ (c Π uᵉ / uᵢ) Π xᵉ.
fn coefficients(
    found: &Discovery,
    features: &Features,
    units: &[f64],
) -> Result<Coefficients, Failure> {
    let number: BTreeMap<&str, usize> = features
        .names()
        .iter()
        .enumerate()
        .map(|(k, name)| (name.as_str(), k))
        .collect();
    let mut laws = Vec::new();
    for (equation, unit) in found.equations.iter().zip(units) {
        let mut law = Vec::new();
        for term in &equation.terms {
            let name = term.feature.as_str();
            let k = *number
                .get(name)
                .ok_or_else(|| format!("the law has a term {name} that its library has not"))?;
            law.push((
                k,
                term.coefficient * scale(&features.terms()[k], units) / unit,
            ));
        }
        law.sort_unstable_by_key(|(k, _)| *k);
        laws.push(law);
    }
    Ok(laws)
}

/// The standard errors of coefficients, by the number of the term, in the system's own units.
fn errors(found: &Discovery, features: &Features, units: &[f64]) -> Vec<BTreeMap<usize, f64>> {
    let number = |name: &str| features.names().iter().position(|n| n == name);
    let equations = found.equations.iter().zip(units);
    equations
        .map(|(equation, unit)| {
            let terms = equation.terms.iter();
            terms
                .filter_map(|term| {
                    let k = number(&term.feature)?;
                    let scale = scale(&features.terms()[k], units) / unit;
                    Some((k, term.error? * scale.abs()))
                })
                .collect()
        })
        .collect()
}

/// Π uᵉ: how much a term grows when each input is multiplied by its unit. Only powers do so; other functions are left alone, and have the unit 1.
pub fn scale(term: &Term, units: &[f64]) -> f64 {
    let grow = |factor: &Factor| match *factor {
        Factor::Power { input, exponent } => units[input].powi(exponent),
        Factor::Call { .. } => 1.0,
    };
    term.factors().iter().map(grow).product()
}

fn model(laws: &Coefficients, features: &Features) -> Result<Model, Failure> {
    let states = features.inputs().to_vec();
    let mut equations = Vec::new();
    for (state, law) in states.iter().zip(laws) {
        let terms = law.iter().map(|(k, c)| (*c, &features.terms()[*k]));
        equations.push((state.clone(), Expression::linear(states.clone(), terms)?));
    }
    Ok(Model::new(states, equations, Dynamics::Continuous)?)
}

/// The largest relative error of a coefficient; none unless the terms are exactly the right ones.
fn largest_error(found: &Coefficients, truth: &Coefficients) -> Option<f64> {
    let mut largest = 0.0f64;
    for (found, truth) in found.iter().zip(truth) {
        let found: BTreeMap<_, _> = found.iter().copied().collect();
        let truth: BTreeMap<_, _> = truth.iter().copied().collect();
        if !found.keys().eq(truth.keys()) {
            return None;
        }
        for (found, truth) in found.values().zip(truth.values()) {
            largest = largest.max((found / truth - 1.0).abs());
        }
    }
    Some(largest)
}

/// Mean over the states of R², each at least −1. A state that stands still says nothing and is left out.
fn mean_r2(own: &Run, clean: &Run) -> f64 {
    let r2 = |k: usize| {
        let mean = clean.iter().map(|x| x[k]).sum::<f64>() / clean.len() as f64;
        let total: f64 = clean.iter().map(|x| (x[k] - mean).powi(2)).sum();
        let missed: f64 = clean
            .iter()
            .zip(own)
            .map(|(x, y)| (x[k] - y[k]).powi(2))
            .sum();
        (total > 0.0).then(|| (1.0 - missed / total).max(-1.0))
    };
    let each: Vec<f64> = (0..clean[0].len()).filter_map(r2).collect();
    each.iter().sum::<f64>() / each.len() as f64
}
