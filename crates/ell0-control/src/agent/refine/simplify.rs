//! Terms give way to simpler ones that serve nearly as well: products of high degree grow fast outside of what a law was trained on.

use std::collections::HashMap;

use ell0::{
    features::{Factor, Term},
    rng::Stream,
};
use serde::{Deserialize, Serialize};

use super::{FineTuneConfig, Refined, fine_tune, untouched};
use crate::{
    agent::{Actor, EnvironmentSteps},
    analysis::Pulse,
    environment::Environment,
    error::{Result, require_parameter},
    evaluation::evaluate,
};

/// How terms give way to simpler ones.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `tolerance` | 0.02 | share of its size by which the mean return may fall, for all terms together |
/// | `generations` | 8 | generations of tuning with the simpler term |
/// | `starts` | 250 | starts that all of it is measured on, at most |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct SimplifyConfig {
    pub tolerance: f64,
    pub generations: usize,
    pub starts: u64,
}

impl Default for SimplifyConfig {
    fn default() -> Self {
        SimplifyConfig {
            tolerance: 0.02,
            generations: 8,
            starts: 250,
        }
    }
}

/// Shares of the old coefficient, either sign, that a simpler term is looked at with before it is tuned.
const SHARES: [f64; 6] = [1.0, 0.5, 0.25, -0.25, -0.5, -1.0];

/// Replaces terms, those of the highest degree first, by products of fewer of their own factors (x³ by x or x²; x·y² by x·y, y², x, y or 1), the simplest that will do, as long as the mean return from the
/// starts does not fall below that of the law it began with by more than the tolerance. The number of terms stays the same.
pub fn simplify(
    actor: &Actor,
    world: &dyn Environment,
    config: &SimplifyConfig,
    stream: &Stream,
    pulse: Pulse,
) -> Result<Refined> {
    let tolerance = config.tolerance;
    require_parameter(
        "tolerance",
        tolerance,
        tolerance >= 0.0 && tolerance.is_finite(),
        "it must be finite and not negative",
    )?;
    let (Some(features), Some(_)) = (actor.features(), actor.scaled_coefficients()) else {
        return Ok(untouched(actor));
    };
    let terms = features.terms();
    let places: HashMap<Vec<Factor>, usize> = (0..terms.len())
        .map(|k| (sorted(terms[k].factors()), k))
        .collect();
    let starts = world.training_starts(&stream.split("starts"), config.starts);
    let begin = evaluate(world, actor, &starts)?;
    let least = begin.mean - tolerance * begin.mean.abs();
    let mut best = actor.clone();
    let mut steps = EnvironmentSteps {
        tuning: begin.steps,
        ..EnvironmentSteps::default()
    };
    let tune = FineTuneConfig {
        generations: config.generations,
        starts: config.starts,
    };
    // Terms that nothing simpler can replace.
    let mut settled: Vec<usize> = Vec::new();
    while pulse()
        && let Some(coefficients) = best.scaled_coefficients()
        && let Some(at) = highest(&coefficients, terms, &settled)
    {
        let law = at / terms.len() * terms.len();
        let mut simpler: Vec<usize> = divisors(&terms[at - law])
            .into_iter()
            .filter_map(|factors| places.get(&sorted(&factors)).map(|k| law + k))
            .filter(|&k| coefficients[k] == 0.0)
            .collect();
        simpler.sort_by_key(|&k| (degree(&terms[k - law]), k));
        let mut found = None;
        for k in simpler.into_iter().take_while(|_| pulse()) {
            let mut look: Option<(f64, Actor)> = None;
            for share in SHARES {
                let mut with = coefficients.clone();
                with[k] = share * std::mem::take(&mut with[at]);
                let candidate = best.with_coefficients(&with)?;
                let result = evaluate(world, &candidate, &starts)?;
                steps.tuning += result.steps;
                if look.as_ref().is_none_or(|(worth, _)| result.mean > *worth) {
                    look = Some((result.mean, candidate));
                }
            }
            let Some((_, candidate)) = look else { break };
            let own = stream.split("simplify").split(&format!("{at} {k}"));
            let tuned = fine_tune(&candidate, world, &tune, &own, pulse)?;
            let result = evaluate(world, &tuned.actor, &starts)?;
            steps += tuned.steps;
            steps.tuning += result.steps;
            if result.mean >= least {
                found = Some(tuned.actor);
                break;
            }
        }
        match found {
            Some(actor) => best = actor,
            None => settled.push(at),
        }
    }
    Ok(Refined { actor: best, steps })
}

/// The open term of the highest degree, above 1, that is not settled.
fn highest(coefficients: &[f64], terms: &[Term], settled: &[usize]) -> Option<usize> {
    let degree = |k: usize| degree(&terms[k % terms.len()]);
    let open = (0..coefficients.len()).filter(|k| coefficients[*k] != 0.0);
    let open = open.filter(|k| degree(*k) > 1 && !settled.contains(k));
    open.max_by_key(|&k| (degree(k), std::cmp::Reverse(k)))
}

/// Sizes of the exponents together, a function counted as one.
fn degree(term: &Term) -> u32 {
    let of = |factor: &Factor| match factor {
        Factor::Power { exponent, .. } => exponent.unsigned_abs(),
        Factor::Call { .. } => 1,
    };
    term.factors().iter().map(of).sum()
}

/// Products of fewer of the factors.
fn divisors(term: &Term) -> Vec<Vec<Factor>> {
    let mut all = vec![Vec::new()];
    for factor in term.factors() {
        let parts: Vec<Factor> = match *factor {
            Factor::Power { input, exponent } => (1..=exponent.abs())
                .map(|size| Factor::Power {
                    input,
                    exponent: size * exponent.signum(),
                })
                .collect(),
            call @ Factor::Call { .. } => vec![call],
        };
        let with = |(before, part): (&Vec<Factor>, &Factor)| {
            before.iter().chain([part]).copied().collect::<Vec<_>>()
        };
        let more: Vec<Vec<Factor>> = all
            .iter()
            .flat_map(|before| parts.iter().map(move |part| (before, part)))
            .map(with)
            .collect();
        all.extend(more);
    }
    let whole = sorted(term.factors());
    all.retain(|factors| sorted(factors) != whole);
    all
}

fn sorted(factors: &[Factor]) -> Vec<Factor> {
    let mut factors = factors.to_vec();
    factors.sort_unstable();
    factors
}
