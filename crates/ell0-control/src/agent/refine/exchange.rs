//! Terms are exchanged for others that serve better.

use ell0::rng::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{FineTuneConfig, PruneConfig, Refined, fine_tune, prune};
use crate::{
    agent::{Actor, EnvironmentSteps},
    analysis::Pulse,
    environment::Environment,
    error::{Result, require_parameter},
    evaluation::evaluate,
};

/// How terms are exchanged.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `rounds` | 2 | exchanges, one after the other, as long as they help |
/// | `tried` | 5 | terms that are tried in earnest in each: those that promise most |
/// | `probe` | 0.5 | size of the coefficient that a term is looked at with, either sign |
/// | `generations` | 8 | generations of tuning with a term more, and again with one less |
/// | `starts` | 250 | starts that all of it is measured on, at most |
/// | `most` | as many as there are | terms of each law: one that has fewer may gain some |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct ExchangeConfig {
    pub rounds: usize,
    pub tried: usize,
    pub probe: f64,
    pub generations: usize,
    pub starts: u64,
    pub most: Option<usize>,
}

impl Default for ExchangeConfig {
    fn default() -> Self {
        ExchangeConfig {
            rounds: 2,
            tried: 5,
            probe: 0.5,
            generations: 8,
            starts: 250,
            most: None,
        }
    }
}

/// Exchanges terms for others that serve better: every term that is not there is looked at with a small coefficient; with each of those that promise most the law is tuned, loses the term that is missed least, and is tuned
/// again. The best of these replaces the law if it is worth more on its own starts.
pub fn exchange(
    actor: &Actor,
    world: &dyn Environment,
    config: &ExchangeConfig,
    stream: &Stream,
    pulse: Pulse,
) -> Result<Refined> {
    require_parameter(
        "probe",
        config.probe,
        config.probe > 0.0 && config.probe.is_finite(),
        "it must be positive and finite",
    )?;
    let starts = world.training_starts(&stream.split("starts"), config.starts);
    let (mut best, mut steps) = (actor.clone(), EnvironmentSteps::default());
    for round in (0..config.rounds).take_while(|_| pulse()) {
        let Some(coefficients) = best.scaled_coefficients() else {
            break;
        };
        let Some(largest) = best.terms_of_laws().and_then(|t| t.into_iter().max()) else {
            break;
        };
        let most = config.most.unwrap_or(largest);
        let level = evaluate(world, &best, &starts)?;
        steps.tuning += level.steps;
        let probed = |k: usize, value: f64| -> Result<Actor> {
            let mut with = coefficients.clone();
            with[k] = value;
            best.with_coefficients(&with)
        };
        let absent = (0..coefficients.len()).filter(|&k| coefficients[k] == 0.0);
        let looks: Vec<(usize, f64)> = absent
            .flat_map(|k| [(k, config.probe), (k, -config.probe)])
            .collect();
        let mut seen = looks
            .par_iter()
            .map(|&(k, value)| {
                if !pulse() {
                    return Ok((f64::NEG_INFINITY, k, value, 0));
                }
                let result = evaluate(world, &probed(k, value)?, &starts)?;
                Ok((result.mean, k, value, result.steps))
            })
            .collect::<Result<Vec<_>>>()?;
        steps.tuning += seen.iter().map(|s| s.3).sum::<u64>();
        seen.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut tried: Vec<usize> = Vec::new();
        let mut found: Option<(f64, Actor)> = None;
        for (_, k, value, _) in seen {
            if tried.contains(&k) {
                continue;
            }
            if tried.len() == config.tried || !pulse() {
                break;
            }
            tried.push(k);
            let tune = FineTuneConfig {
                generations: config.generations,
                starts: config.starts,
            };
            let fewer = PruneConfig {
                threshold: 0.0,
                starts: config.starts,
                most: Some(most),
                ..PruneConfig::default()
            };
            let own = stream.split("exchange").split(&format!("{round} {k}"));
            let more = fine_tune(&probed(k, value)?, world, &tune, &own, pulse)?;
            let fewer = prune(&more.actor, world, &fewer, &own, pulse)?;
            let tuned = fine_tune(&fewer.actor, world, &tune, &own, pulse)?;
            let result = evaluate(world, &tuned.actor, &starts)?;
            for part in [more.steps, fewer.steps, tuned.steps] {
                steps += part;
            }
            steps.tuning += result.steps;
            if found.as_ref().is_none_or(|(worth, _)| result.mean > *worth) {
                found = Some((result.mean, tuned.actor));
            }
        }
        match found {
            Some((worth, actor)) if worth > level.mean => best = actor,
            _ => break,
        }
    }
    Ok(Refined { actor: best, steps })
}
