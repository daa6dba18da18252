//! A law held against windows that its coefficients were not fitted to.

use super::{
    Beginning, Candidates, LikelihoodConfig, Window,
    choose::{likely_law, tolerances},
    fit::starts,
    flow::Flow,
};
use crate::{error::Result, features::Features};

/// Every so many windows one is held out.
const EVERY: usize = 5;

/// R² of each state over windows that are held out: the coefficients of a law are fitted to the others, the starts of the held-out windows to these. None if there are too few windows, or one cannot be followed, or a state does not
/// move in them.
pub fn held_out_r2(
    features: &Features,
    windows: &[Window],
    law: &Beginning,
    config: &LikelihoodConfig,
) -> Result<Option<Vec<f64>>> {
    let held = |k: &usize| k % EVERY == EVERY / 2;
    let of = |wanted: bool| -> Vec<Window> {
        let chosen = (0..windows.len()).filter(|k| held(k) == wanted);
        chosen.map(|k| windows[k].clone()).collect()
    };
    let near = |wanted: bool| -> Option<Vec<Vec<f64>>> {
        let chosen = (0..windows.len()).filter(|k| held(k) == wanted);
        chosen
            .map(|k| law.starts.as_ref()?.get(k).cloned())
            .collect()
    };
    let (others, own) = (of(false), of(true));
    if own.is_empty() || others.is_empty() {
        return Ok(None);
    }
    let n = law.law.len();
    let config = config.as_it_is();
    let nothing_else = Candidates {
        terms: vec![Vec::new(); n],
        choices: vec![0; n],
    };
    let beginning = Beginning {
        starts: near(false),
        ..Beginning::with(law.law.clone())
    };
    let fitted = likely_law(features, &others, &nothing_else, &beginning, &config)?;
    if fitted.lost > 0 {
        return Ok(None);
    }
    let supports: Vec<Vec<usize>> = fitted.equations.iter().map(|e| e.support.clone()).collect();
    let coefficients: Vec<f64> = fitted.terms().concat().iter().map(|(_, c)| *c).collect();
    let inputs = features.inputs().len();
    let tolerance = tolerances(windows, config.tolerance);
    let flow = Flow::new(features.terms(), inputs, &supports, tolerance);
    let left = config.most_work.saturating_sub(fitted.work);
    let begun = starts(&flow, &own, near(true), &coefficients, left);
    let (mut missed, mut sum, mut square, mut count) =
        (vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    for (window, start) in own.iter().zip(begun) {
        let Some(start) = start else { return Ok(None) };
        let states = flow.states(window, &start, &coefficients);
        for (k, row) in states.chunks_exact(n).enumerate() {
            for (i, said) in row.iter().enumerate() {
                if window.weights(k)[i] > 0.0 {
                    let value = window.state(k)[i];
                    missed[i] += (value - said).powi(2);
                    sum[i] += value;
                    square[i] += value * value;
                    count[i] += 1.0;
                }
            }
        }
    }
    let r2 = |i: usize| {
        let spread = square[i] - sum[i] * sum[i] / f64::max(count[i], 1.0);
        (spread > 0.0).then(|| 1.0 - missed[i] / spread)
    };
    Ok((0..n).map(r2).collect())
}
