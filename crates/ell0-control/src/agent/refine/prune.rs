//! Terms that do nothing are dropped, or those that are missed least.

use ell0::rng::Stream;
use serde::{Deserialize, Serialize};

use super::{Refined, untouched};
use crate::{
    agent::{Actor, EnvironmentSteps},
    analysis::Pulse,
    environment::Environment,
    error::{Result, require_parameter},
    evaluation::{Return, evaluate},
};

/// How terms are dropped.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `threshold` | 0.1 | only terms whose coefficient is below this share of the largest are tried |
/// | `tolerance` | 0 | share of its size by which the mean return may fall |
/// | `starts` | 250 | random starts that it is measured on, at most |
/// | `most` | none | terms of each law: while a law has more, the one whose loss costs least goes, whatever it costs |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct PruneConfig {
    pub threshold: f64,
    pub tolerance: f64,
    pub starts: u64,
    pub most: Option<usize>,
}

impl Default for PruneConfig {
    fn default() -> Self {
        PruneConfig {
            threshold: 0.1,
            tolerance: 0.0,
            starts: 250,
            most: None,
        }
    }
}

/// Drops terms one after the other, the least important first, as long as the mean return from random starts of `stream` does not fall by more than the tolerance. The starts are the same for all candidates, and
/// not those that policies are compared on.
pub fn prune(
    actor: &Actor,
    world: &dyn Environment,
    config: &PruneConfig,
    stream: &Stream,
    pulse: Pulse,
) -> Result<Refined> {
    let PruneConfig {
        threshold,
        tolerance,
        starts,
        most,
    } = *config;
    let share = "it must be finite and not negative";
    for (name, value) in [("threshold", threshold), ("tolerance", tolerance)] {
        require_parameter(name, value, value >= 0.0 && value.is_finite(), share)?;
    }
    let starts = world.training_starts(stream, starts);
    let mut pruning = 0;
    let mut worth = |actor: &Actor| -> Result<f64> {
        let Return { mean, steps, .. } = evaluate(world, actor, &starts)?;
        pruning += steps;
        Ok(mean)
    };
    let Some(mut coefficients) = actor.scaled_coefficients() else {
        return Ok(untouched(actor));
    };
    let mut best = actor.with_coefficients(&coefficients)?;
    if let Some(most) = most {
        let laws = best.laws();
        while pulse()
            && let Some(k) = least_missed(&best, &coefficients, laws, most, &mut worth)?
        {
            coefficients[k] = 0.0;
            best = best.with_coefficients(&coefficients)?;
        }
    }
    let mut level = worth(&best)?;
    let largest = coefficients.iter().fold(0f64, |m, c| m.max(c.abs()));
    let mut order: Vec<usize> = (0..coefficients.len())
        .filter(|&k| coefficients[k] != 0.0 && coefficients[k].abs() <= threshold * largest)
        .collect();
    order.sort_by(|a, b| coefficients[*a].abs().total_cmp(&coefficients[*b].abs()));
    for k in order.into_iter().take_while(|_| pulse()) {
        let kept = std::mem::replace(&mut coefficients[k], 0.0);
        let candidate = best.with_coefficients(&coefficients)?;
        let value = worth(&candidate)?;
        if value >= level - tolerance * level.abs() {
            (best, level) = (candidate, level.max(value));
        } else {
            coefficients[k] = kept;
        }
    }
    Ok(Refined {
        actor: best,
        steps: EnvironmentSteps {
            pruning,
            ..EnvironmentSteps::default()
        },
    })
}

/// Which term is missed least, of the laws that have more than so many.
fn least_missed(
    actor: &Actor,
    coefficients: &[f64],
    laws: usize,
    most: usize,
    worth: &mut dyn FnMut(&Actor) -> Result<f64>,
) -> Result<Option<usize>> {
    let terms = coefficients.len() / laws.max(1);
    let mut least: Option<(f64, usize)> = None;
    for (law, values) in coefficients.chunks_exact(terms).enumerate() {
        if values.iter().filter(|c| **c != 0.0).count() <= most {
            continue;
        }
        for k in (0..terms).filter(|k| values[*k] != 0.0) {
            let mut without = coefficients.to_vec();
            without[law * terms + k] = 0.0;
            let value = worth(&actor.with_coefficients(&without)?)?;
            if least.is_none_or(|(best, _)| value > best) {
                least = Some((value, law * terms + k));
            }
        }
    }
    Ok(least.map(|(_, k)| k))
}
