//! Whether what a law leaves is noise.

use ell0::{
    features::Features,
    likelihood::{Beginning, LikelihoodConfig, LikelyLaw, Window, wanted_terms},
};

use super::{
    judgement::{Alternative, Judged, Judgement, Pattern, Verdict},
    likelihood::FromPath,
    measured::{FINEST, Measured, Measuring, Residual},
    outside::Outside,
};
use crate::error::Result;

/// What is left is the noise up to this factor between deviations: both are estimates, and those from few rows are rough.
const ALIKE: f64 = 1.25;
const ROUGH: f64 = 2.0;

/// If less than this share of the noise is left, it was no noise.
const MOVEMENT: f64 = 0.5;

/// A law that leaves less than this share of a state's deviation explains all there is, where the noise itself is not known.
const ALL: f64 = 1e-3;

/// Residuals of neighbours go together by less than this, and by less than so many standard errors, if they are noise.
const WHITE: f64 = 0.1;
const ERRORS: f64 = 3.0;

/// A law that explains to the noise misses held-out windows by no more than so many times what it leaves in those it was fitted to, where there are enough of them: one that has learned the noise by heart misses more.
const BY_HEART: f64 = 3.0;
const ENOUGH: usize = 10;

/// A state of which so large a share of its deviation is left, or is noise, has no law.
const NOTHING: f64 = 0.7;

/// A pattern must raise the evidence by so much to be told.
const TELLING: f64 = 10.0;

/// A law that has been followed as far as it can be.
pub(super) struct Grown<'a> {
    pub law: &'a LikelyLaw,
    pub windows: &'a [Window],
    pub measuring: &'a Measuring,
    /// Whether it was followed through windows that are long.
    pub grown: bool,
    /// Of each state on held-out windows, of so many.
    pub r2: Option<Vec<f64>>,
    pub parts: usize,
    pub config: LikelihoodConfig,
}

/// How far a law explains the states.
pub(super) fn judge(measured: &Measured, beginning: &FromPath, found: &Grown) -> Result<Judgement> {
    let n = measured.states;
    let names = beginning.features.names();
    let residuals = measured.residuals(found.law, found.windows);
    let values = n * residuals.first().map_or(0, Vec::len).max(1);
    // Starts have taken their share of the residuals.
    let freedom = (found.law.freedom / values as f64).max(0.1);
    let mut equations = Vec::new();
    for (i, residuals) in residuals.iter().enumerate() {
        let (noise, scale) = (measured.noise[i], measured.scales[i]);
        let (mut squares, mut count) = (0.0, 0usize);
        for residual in residuals.iter().filter(|r| r.counts) {
            squares += residual.left.powi(2);
            count += 1;
        }
        let left = (squares / count.max(1) as f64 / freedom).sqrt();
        let alike = ALIKE + ROUGH / (count.max(1) as f64).sqrt();
        // What a law leaves is a measure of the noise, too, and if it is far less, the other one was movement.
        let known = measured.known[i] && noise > FINEST * scale && left > MOVEMENT * noise;
        let noise_alone = match known {
            true => left <= alike * noise,
            false => left <= ALL * scale || is_white(residuals, found.windows),
        };
        let r2 = found.r2.as_ref().map(|r2| r2[i]);
        let missed = r2.map_or(0.0, |r2| (1.0 - r2).max(0.0).sqrt());
        let by_heart = found.parts >= ENOUGH && missed > BY_HEART * (left / scale).max(ALL);
        // Nothing but the law itself comes so near; chaos does not let it be followed for long all the same.
        let exact = left <= FINEST * scale;
        let only_noise = known && noise > NOTHING * scale;
        let lost = left > NOTHING * scale || r2.is_some_and(|r2| r2 < 1.0 - NOTHING);
        // Samples too few to tell movement from noise make any law look as if it left noise alone.
        let nothing = only_noise || lost && !known;
        let equation = &found.law.equations[i];
        let name = |j: Option<usize>| j.map(|j| names[j].clone());
        let alternatives = equation.alternatives.iter().map(|a| Alternative {
            without: name(a.dropped),
            with: name(a.added),
            odds: a.odds,
        });
        equations.push(Judged {
            noise_left: left / scale,
            noise_measured: known.then_some(noise / scale),
            r2,
            verdict: match noise_alone && (found.grown || exact) && !by_heart {
                _ if nothing => Verdict::NoLaw,
                true => Verdict::Explained,
                false if lost => Verdict::NoLaw,
                false => Verdict::Partly,
            },
            pattern: None,
            alternatives: alternatives.collect(),
        });
    }
    if equations.iter().any(|e| e.verdict == Verdict::Partly) {
        let patterns = patterns(measured, beginning.features, found)?;
        for (judged, pattern) in equations.iter_mut().zip(patterns) {
            if judged.verdict == Verdict::Partly {
                judged.pattern = pattern;
            }
        }
    }
    Ok(Judgement {
        windows: found.windows.len(),
        rows: found.windows.iter().map(Window::rows).max().unwrap_or(0),
        outliers: found.measuring.left_out,
        left_out: found.measuring.outliers.clone(),
        equations,
    })
}

/// Whether residuals of neighbours are independent, as those of noise are: what a wrong law leaves goes together.
fn is_white(residuals: &[Residual], windows: &[Window]) -> bool {
    let (mut along, mut squares, mut pairs) = (0.0, 0.0, 0.0);
    let mut rest = residuals;
    for window in windows {
        let (own, others) = rest.split_at(window.rows().min(rest.len()));
        rest = others;
        for pair in own.windows(2).filter(|p| p[0].counts && p[1].counts) {
            along += pair[0].left * pair[1].left;
            squares += (pair[0].left.powi(2) + pair[1].left.powi(2)) / 2.0;
            pairs += 1.0;
        }
    }
    let limit = WHITE + ERRORS / f64::sqrt(f64::max(pairs, 1.0));
    pairs > 0.0 && along <= limit * squares
}

/// For each equation, the term outside of the library that what is left goes along with most.
fn patterns(
    measured: &Measured,
    features: &Features,
    found: &Grown,
) -> Result<Vec<Option<Pattern>>> {
    let rows = found.windows.iter().map(Window::rows).max().unwrap_or(0);
    let windows = measured.windows(rows, &found.measuring.deviations, true)?;
    let outside = Outside::new(features, measured)?;
    let wanted = wanted_terms(
        &outside.features,
        &windows,
        &outside.candidates,
        &Beginning::with(found.law.terms()),
        &found.config,
    )?;
    let named = wanted.into_iter().map(|wanted| {
        let wanted = wanted.filter(|w| w.gain > TELLING)?;
        Some(Pattern {
            term: outside.features.names()[wanted.term].clone(),
            share: wanted.share,
        })
    });
    Ok(named.collect())
}
