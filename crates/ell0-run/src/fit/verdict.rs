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
    rule::{Along, Doubt, NEXT_TO_NOTHING, Standing},
};
use crate::error::Result;

/// What is left is the noise up to this factor between deviations: both are estimates, and those from few rows are rough.
const ALIKE: f64 = 1.25;
const ROUGH: f64 = 2.0;

/// If less than this share of the noise is left, it was no noise.
const MOVEMENT: f64 = 0.5;

/// Held-out windows that are enough to compare what is missed in them with what is left in the others.
const ENOUGH: usize = 10;

/// A law that leaves so large a share of a state's deviation, or misses held-out windows with so small an R², may have left the measurements.
const LOST: f64 = 0.7;
const LOST_R2: f64 = 0.3;

/// A law that leaves so large a share has, unless that is noise.
const ASTRAY: f64 = 0.5;

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

/// A law held against the states, and whether it has left them altogether.
pub(super) struct HeldAgainst {
    pub judgement: Judgement,
    pub astray: bool,
}

/// How far a law explains the states.
pub(super) fn judge(
    measured: &Measured,
    beginning: &FromPath,
    found: &Grown,
) -> Result<HeldAgainst> {
    let n = measured.states;
    let names = beginning.features.names();
    let residuals = measured.residuals(found.law, found.windows);
    let values = n * residuals.first().map_or(0, Vec::len).max(1);
    // Starts have taken their share of the residuals.
    let freedom = (found.law.freedom / values as f64).max(0.1);
    let (mut equations, mut astray) = (Vec::new(), false);
    for (i, residuals) in residuals.iter().enumerate() {
        let state = State::new(measured, found, i, residuals, freedom);
        let standing = state.standing();
        astray |= state.is_astray(&standing);
        let (verdict, doubt) = standing.verdict();
        let equation = &found.law.equations[i];
        let name = |j: Option<usize>| j.map(|j| names[j].clone());
        let alternatives = equation.alternatives.iter().map(|a| Alternative {
            without: name(a.dropped),
            with: name(a.added),
            odds: a.odds,
        });
        equations.push(Judged {
            noise_left: standing.left,
            noise_measured: standing.noise,
            r2: standing.r2,
            verdict,
            doubt,
            pattern: None,
            caution: None,
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
    Ok(HeldAgainst {
        judgement: Judgement {
            windows: found.windows.len(),
            rows: found.windows.iter().map(Window::rows).max().unwrap_or(0),
            outliers: found.measuring.left_out,
            left_out: found.measuring.outliers.clone(),
            equations,
        },
        astray,
    })
}

/// A state beside its law.
struct State<'a> {
    found: &'a Grown<'a>,
    /// Deviations: what is left, the noise that differences show, the state's own.
    left: f64,
    noise: f64,
    scale: f64,
    /// Whether the noise is more than a bound.
    known: bool,
    r2: Option<f64>,
    /// Measurements that count, their degrees of freedom, and how residuals of neighbours go along.
    count: f64,
    freedom: f64,
    along: Along,
}

impl<'a> State<'a> {
    fn new(
        measured: &Measured,
        found: &'a Grown,
        i: usize,
        residuals: &[Residual],
        freedom: f64,
    ) -> Self {
        let (noise, scale) = (measured.noise[i], measured.scales[i]);
        let (mut squares, mut count) = (0.0, 0.0);
        for residual in residuals.iter().filter(|r| r.counts) {
            squares += residual.left.powi(2);
            count += 1.0;
        }
        let left = (squares / f64::max(count, 1.0) / freedom).sqrt();
        State {
            found,
            left,
            noise,
            scale,
            // What a law leaves is a measure of the noise, too, and if it is far less, the other one was movement.
            known: measured.known[i] && noise > FINEST * scale && left > MOVEMENT * noise,
            r2: found.r2.as_ref().map(|r2| r2[i]),
            count,
            freedom: count * freedom,
            along: neighbours(residuals, found.windows),
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            left: self.left / self.scale,
            noise: self.known.then_some(self.noise / self.scale),
            r2: self.r2,
            comparable: self.found.parts >= ENOUGH,
            freedom: self.freedom,
            doubt: self.doubt(),
        }
    }

    /// Whether the residual is more than noise, by the noise or by the residuals of neighbours; or by windows that are long.
    fn doubt(&self) -> Option<Doubt> {
        let alike = ALIKE + ROUGH / self.count.max(1.0).sqrt();
        // Nothing but the law itself comes so near; chaos does not let it be followed for long all the same.
        let exact = self.left <= FINEST * self.scale;
        match self.known {
            true if self.left > alike * self.noise => Some(Doubt::MoreThanNoise),
            false if self.left > NEXT_TO_NOTHING * self.scale && !self.is_white() => {
                Some(Doubt::Correlated {
                    lag: 1,
                    correlation: self.along.correlation(),
                })
            }
            _ => (!self.found.grown && !exact).then_some(Doubt::MoreThanNoise),
        }
    }

    /// Whether residuals of neighbours are independent, as those of noise are: what a wrong law leaves goes together.
    fn is_white(&self) -> bool {
        self.along.is_there() && self.along.correlation() <= self.along.limit()
    }

    /// Whether the law has left the measurements of this state, so that what it is fitted to is an accident.
    fn is_astray(&self, standing: &Standing) -> bool {
        let lost = standing.left > LOST || self.r2.is_some_and(|r2| r2 < LOST_R2);
        let noisy = standing.noise.is_some_and(|noise| noise >= ASTRAY);
        let noise_alone = self.known && standing.doubt.is_none() && !standing.is_by_heart();
        lost && !noise_alone && standing.left > ASTRAY && !noisy
    }
}

/// How residuals of neighbours go along with each other.
fn neighbours(residuals: &[Residual], windows: &[Window]) -> Along {
    let mut along = Along::default();
    let mut rest = residuals;
    for window in windows {
        let (own, others) = rest.split_at(window.rows().min(rest.len()));
        rest = others;
        for pair in own.windows(2).filter(|p| p[0].counts && p[1].counts) {
            along.push(pair[0].left, pair[1].left);
        }
    }
    along
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
