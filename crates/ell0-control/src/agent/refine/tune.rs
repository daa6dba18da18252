//! The coefficients of the terms that are left are tuned on rollouts.

use ell0::rng::Stream;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Refined, untouched};
use crate::{
    agent::{Actor, EnvironmentSteps},
    analysis::Pulse,
    environment::Environment,
    error::Result,
    evaluation::evaluate,
};

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
        return Ok(untouched(actor));
    };
    let open: Vec<usize> = (0..start.len()).filter(|&k| start[k] != 0.0).collect();
    if open.is_empty() {
        return Ok(untouched(actor));
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
    let (mut best, mut tuning) = ((begin.mean, mean.clone()), begin.steps);
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
        tuning += tries.iter().map(|t| t.2).sum::<u64>();
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
        steps: EnvironmentSteps {
            tuning,
            ..EnvironmentSteps::default()
        },
    })
}
