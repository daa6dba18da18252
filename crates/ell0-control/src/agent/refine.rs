//! After training: terms that do nothing are dropped, the coefficients of the others may be tuned on rollouts, and terms exchanged for others that serve better. A pulse that asks to stop leaves the best so far.

use ell0::rng::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Actor;
use crate::{
    analysis::Pulse,
    environment::Environment,
    error::{Result, require_parameter},
    evaluation::{Return, evaluate},
};

/// A policy after refinement, and what it cost.
#[derive(Clone, Debug)]
pub struct Refined {
    /// The policy.
    pub actor: Actor,
    /// Steps of the environment that were spent on it.
    pub env_steps: u64,
}

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

/// How coefficients are tuned.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `generations` | 30 | generations of candidates |
/// | `starts` | 250 | random starts that they are measured on |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct FineTuneConfig {
    pub generations: usize,
    pub starts: u64,
}

impl Default for FineTuneConfig {
    fn default() -> Self {
        FineTuneConfig {
            generations: 30,
            starts: 250,
        }
    }
}

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
    let (mut best, mut env_steps) = (actor.clone(), 0);
    for round in (0..config.rounds).take_while(|_| pulse()) {
        let Some(coefficients) = best.scaled_coefficients() else {
            break;
        };
        let Some(largest) = best.terms_of_laws().and_then(|t| t.into_iter().max()) else {
            break;
        };
        let most = config.most.unwrap_or(largest);
        let level = evaluate(world, &best, &starts)?;
        env_steps += level.steps;
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
        env_steps += seen.iter().map(|s| s.3).sum::<u64>();
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
            env_steps += more.env_steps + fewer.env_steps + tuned.env_steps + result.steps;
            if found.as_ref().is_none_or(|(worth, _)| result.mean > *worth) {
                found = Some((result.mean, tuned.actor));
            }
        }
        match found {
            Some((worth, actor)) if worth > level.mean => best = actor,
            _ => break,
        }
    }
    Ok(Refined {
        actor: best,
        env_steps,
    })
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
    let mut env_steps = 0;
    let mut worth = |actor: &Actor| -> Result<f64> {
        let Return { mean, steps, .. } = evaluate(world, actor, &starts)?;
        env_steps += steps;
        Ok(mean)
    };
    let Some(mut coefficients) = actor.scaled_coefficients() else {
        return Ok(Refined {
            actor: actor.clone(),
            env_steps: 0,
        });
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
        env_steps,
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

/// Tunes the coefficients that are not zero for the mean return from random starts of `stream`: generations of `2·terms + 8` candidates around a mean, which moves to the
/// average of the best quarter (the cross-entropy method, with a deviation for each coefficient). What it gives is never worse than what it began with, on its own starts.
pub fn fine_tune(
    actor: &Actor,
    world: &dyn Environment,
    config: &FineTuneConfig,
    stream: &Stream,
    pulse: Pulse,
) -> Result<Refined> {
    let Some(start) = actor.scaled_coefficients() else {
        return Ok(Refined {
            actor: actor.clone(),
            env_steps: 0,
        });
    };
    let open: Vec<usize> = (0..start.len()).filter(|&k| start[k] != 0.0).collect();
    if open.is_empty() {
        return Ok(Refined {
            actor: actor.clone(),
            env_steps: 0,
        });
    }
    let starts = world.training_starts(&stream.split("starts"), config.starts);
    let mut mean: Vec<f64> = open.iter().map(|&k| start[k]).collect();
    let mut deviation: Vec<f64> = mean.iter().map(|c| 0.2 * c.abs() + 0.05).collect();
    let with = |values: &[f64]| {
        let mut all = vec![0.0; start.len()];
        open.iter().zip(values).for_each(|(&k, v)| all[k] = *v);
        actor.with_coefficients(&all)
    };
    let first = with(&mean)?;
    let begin = evaluate(world, &first, &starts)?;
    let (mut best, mut env_steps) = ((begin.mean, mean.clone()), begin.steps);
    let candidates = 2 * open.len() + 8;
    for generation in (0..config.generations).take_while(|_| pulse()) {
        let tries: Vec<(f64, Vec<f64>, u64)> = (0..candidates)
            .into_par_iter()
            .map(|k| {
                let index = (generation * candidates + k) as u64;
                let mut rng = stream.split("candidates").at(index);
                let values: Vec<f64> = mean
                    .iter()
                    .zip(&deviation)
                    .map(|(m, d)| m + d * rng.normal())
                    .collect();
                let result = evaluate(world, &with(&values)?, &starts)?;
                Ok((result.mean, values, result.steps))
            })
            .collect::<Result<_>>()?;
        env_steps += tries.iter().map(|t| t.2).sum::<u64>();
        let mut ranked: Vec<&(f64, Vec<f64>, u64)> = tries.iter().collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        let elite = &ranked[..candidates.div_ceil(4)];
        if elite[0].0 > best.0 {
            best = (elite[0].0, elite[0].1.clone());
        }
        for k in 0..mean.len() {
            let n = elite.len() as f64;
            let centre = elite.iter().map(|e| e.1[k]).sum::<f64>() / n;
            let spread = elite.iter().map(|e| (e.1[k] - centre).powi(2)).sum::<f64>() / n;
            mean[k] = centre;
            // A little of the old deviation stays: a small elite underestimates it.
            deviation[k] = 0.7 * spread.sqrt() + 0.3 * deviation[k];
        }
    }
    Ok(Refined {
        actor: with(&best.1)?,
        env_steps,
    })
}
