//! What errors of the inputs would do to the coefficients of a regression: nobody said how large they are.
//!
//! Least squares takes its inputs as exact. If they are not, coefficients come out too small or wrong, and nothing in the residual says so. What can be said is how large errors would have to be to leave as much as the law leaves, and where the coefficients would be then.

use ell0::{
    dictionary::{CorrectedLaw, CorrectedSums},
    equation::Dynamics,
    features::{Features, Term},
    wording::shown,
};
use ell0_data::{
    evidence::Evidence,
    noise::{PiecesNoise, deviation},
};
use serde::{Deserialize, Serialize};

use super::{
    judgement::percent,
    rows::SampledRows,
    rule::{Doubt, Standing},
};

/// Rows that are looked at, and inputs; laws with more terms are not.
const ROWS: usize = 400;
const MOST_INPUTS: usize = 5;
const MOST_TERMS: usize = 12;

/// A coefficient that moves by less than this share, or by less than its interval reaches, is not told.
const MATTERS: f64 = 0.02;
const INTERVAL: f64 = 1.96;

/// A residual of a smaller share leaves coefficients as they are.
const LEAST: f64 = 0.05;

/// What is left beyond errors that leave as much.
const SAME: f64 = 0.2;

/// Steps towards errors that leave as much.
const WIDENED: usize = 6;
const HALVED: usize = 8;

/// What errors of an input would do to a coefficient.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputCaution {
    /// The input.
    pub input: String,
    /// Standard deviation of its errors, in its units and relative to its own.
    pub noise: f64,
    /// Relative to the input's own standard deviation.
    pub share: f64,
    /// Whether the noise is what neighbouring rows show; otherwise it is the one that would leave as much as the law does.
    pub measured: bool,
    /// The term whose coefficient would change most.
    pub term: String,
    /// Its coefficient as it is.
    pub now: f64,
    /// And as it would be.
    pub then: f64,
}

impl InputCaution {
    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let InputCaution { now, then, .. } = self;
        let noise = rounded(self.noise);
        let (input, term) = (shown(&self.input), shown(&self.term));
        let share = percent(self.share);
        match self.measured {
            true => format!(
                "{input} is measured with noise of about {noise} ({share} of its standard deviation), which pulls coefficients away: allowing for it, that of {term} would be about {then:.4} instead of {now:.4}; say how large the errors of inputs are to have this corrected"
            ),
            false => format!(
                "inputs count as exact; if {input} was measured with errors of {noise} ({share} of its standard deviation), these alone would leave as much, and the coefficient of {term} would be about {then:.4} instead of {now:.4}; say how large the errors of inputs are to have this corrected"
            ),
        }
    }
}

/// A size to two digits.
fn rounded(size: f64) -> f64 {
    format!("{size:.1e}").parse().unwrap_or(size)
}

/// A law of rows that stand by themselves, looked at for errors of its inputs.
pub(super) struct Suspect<'a> {
    pub evidence: &'a [Evidence],
    pub sampled: &'a SampledRows,
    pub features: &'a Features,
    pub target: usize,
    pub coefficients: &'a [f64],
    pub errors: &'a [f64],
}

impl Suspect<'_> {
    /// The coefficient that errors of an input would change most; none if they would change little, or the residual says that they are not what is left.
    pub fn caution(&self, standing: &Standing) -> Option<InputCaution> {
        let correlated = matches!(standing.doubt, Some(Doubt::Correlated { correlation, .. }) if correlation < 0.0);
        let next = self.evidence[0].dynamics == Dynamics::Discrete;
        // Noise of the states makes residuals of neighbours go against each other.
        let small = standing.left < LEAST || self.support().len() > MOST_TERMS;
        if small || next && !correlated {
            return None;
        }
        let measured = match self.evidence[0].dynamics {
            Dynamics::Regression => None,
            _ => self.measured(),
        };
        match measured {
            Some(noise) => self.shift(&noise, true),
            None if next => None,
            None => {
                let inputs = (0..self.features.inputs().len()).filter(|input| self.has(*input));
                let cautions = inputs
                    .take(MOST_INPUTS)
                    .filter_map(|input| self.shift(&self.enough(input)?, false));
                let size = |c: &InputCaution| ((c.then - c.now) / c.now).abs();
                cautions.max_by(|a, b| size(a).total_cmp(&size(b)))
            }
        }
    }

    /// The noise of the states by the differences of neighbouring rows, where these are in the order of time.
    fn measured(&self) -> Option<Vec<f64>> {
        let first = &self.evidence[0];
        if first.survey.noise.is_empty() {
            return None;
        }
        let pieces: Vec<_> = self
            .evidence
            .iter()
            .flat_map(|e| e.samples.iter().cloned())
            .collect();
        let mut all = vec![0.0; first.inputs.len()];
        for state in 0..first.targets.len().min(all.len()) {
            let noise = PiecesNoise::of(&pieces, state);
            if !noise.is_known {
                return None;
            }
            all[state] = noise.deviation;
        }
        Some(all)
    }

    /// The terms of the law.
    fn support(&self) -> Vec<usize> {
        let places = 0..self.coefficients.len();
        places.filter(|j| self.coefficients[*j] != 0.0).collect()
    }

    /// The law fitted to some of the rows, allowing for errors.
    fn corrected(&self, noise: &[f64]) -> Option<CorrectedLaw> {
        let support = self.support();
        let terms: Vec<Term> = support
            .iter()
            .map(|j| self.features.terms()[*j].clone())
            .collect();
        let every: Vec<usize> = (0..terms.len()).collect();
        let step = self.sampled.len().div_ceil(ROWS).max(1);
        let mut sums = CorrectedSums::new(terms, noise, ROWS as u64, 1).ok()?;
        for k in (0..self.sampled.len()).step_by(step) {
            let mut row = self.sampled.row(k);
            sums.push(&mut row, self.sampled.targets[self.target][k])
                .ok()?;
        }
        sums.law(&every, every.len(), false).ok()
    }

    /// Whether the law depends on an input.
    fn has(&self, input: usize) -> bool {
        let terms = self
            .support()
            .into_iter()
            .map(|j| &self.features.terms()[j]);
        let mut factors = terms.flat_map(Term::factors);
        factors.any(|f| f.input() == input)
    }

    /// Errors of an input that would leave as much as the law does, if there are any that could be corrected.
    fn enough(&self, input: usize) -> Option<Vec<f64>> {
        let inputs = self.features.inputs().len();
        let of = |noise: f64| {
            let mut all = vec![0.0; inputs];
            all[input] = noise;
            all
        };
        let leaves = |noise: f64| {
            self.corrected(&of(noise))
                .is_some_and(|law| law.error > 0.0)
        };
        let own = deviation(&self.sampled.inputs[input]);
        let (mut low, mut high) = (0.0, 0.02 * own);
        for _ in 0..WIDENED {
            if !leaves(high) {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..HALVED {
            let middle = 0.5 * (low + high);
            match leaves(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
        // Where nothing could be corrected before that, errors of this size are not what is left.
        let (before, after) = (self.corrected(&of(0.0))?, self.corrected(&of(low))?);
        (after.error < SAME * before.error).then(|| of(low))
    }

    /// What errors do to the coefficient that they change most.
    fn shift(&self, noise: &[f64], measured: bool) -> Option<InputCaution> {
        let (before, after) = (
            self.corrected(&vec![0.0; noise.len()])?,
            self.corrected(noise)?,
        );
        // Noise that would leave more than there is was movement.
        if measured && after.error <= 0.0 {
            return None;
        }
        let moved = after.coefficients.iter().zip(&before.coefficients);
        let moved = self.support().into_iter().zip(moved.map(|(a, b)| a - b));
        let telling = moved.filter(|(j, by)| {
            let now = self.coefficients[*j].abs();
            by.abs() > MATTERS * now && by.abs() > INTERVAL * self.errors[*j]
        });
        let size = |(j, by): &(usize, f64)| (by / self.coefficients[*j]).abs();
        let (j, by) = telling.max_by(|a, b| size(a).total_cmp(&size(b)))?;
        let relative = |input: usize| noise[input] / deviation(&self.sampled.inputs[input]);
        let worst = (0..noise.len()).filter(|i| noise[*i] > 0.0);
        let worst = worst.max_by(|a, b| relative(*a).total_cmp(&relative(*b)))?;
        Some(InputCaution {
            input: self.features.inputs()[worst].clone(),
            noise: noise[worst],
            share: relative(worst),
            measured,
            term: self.features.names()[j].clone(),
            now: self.coefficients[j],
            then: self.coefficients[j] + by,
        })
    }
}
