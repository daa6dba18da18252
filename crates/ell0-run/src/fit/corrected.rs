//! Laws of rows that stand by themselves, corrected for errors of the inputs that were said.

use ell0::{dictionary::CorrectedSums, equation::Dynamics, features::Term, wording::shown};
use ell0_data::{evidence::Evidence, runs::Run};

use super::{
    Material,
    judgement::{Alternative, Judged},
    laws::Laws,
    plain::spread,
    rows::SampledRows,
    rule::{Standing, correlated},
};
use crate::{
    data::Prepared,
    error::{About, Error, Result},
};

/// Rows in time are kept together in at most so many, and in so many blocks at least if they can be.
const TOGETHER: u64 = 10;
const BLOCKS: u64 = 40;

/// What is left is the errors of the inputs up to this factor between standard deviations.
const ALIKE: f64 = 1.25;

/// A squared error is below what errors leave if it is so many standard errors below.
const BELOW: f64 = 4.0;

/// Alternatives that are told: down to these odds.
const ODDS: f64 = 0.05;

/// What a correction is made from.
pub(super) struct Correction<'a> {
    pub prepared: &'a Prepared<'a>,
    pub evidence: &'a [Evidence],
    pub material: &'a Material,
    /// Of each input.
    pub noise: &'a [f64],
    /// Whether terms that are not worth their price go.
    pub dropping: bool,
}

impl Correction<'_> {
    /// Corrects the coefficients of all laws, and what is said of them.
    pub fn apply(&self, laws: &mut Laws) -> Result<()> {
        let features = &self.material.features;
        let rows = self.prepared.survey.rows;
        let together = match self.evidence[0].dynamics {
            Dynamics::Regression => 1,
            _ => (rows / BLOCKS).clamp(1, TOGETHER),
        };
        let supports = laws.laws.iter().map(|law| -> Vec<usize> {
            let places = 0..law.coefficients.len();
            places.filter(|j| law.coefficients[*j] != 0.0).collect()
        });
        let supports: Vec<Vec<usize>> = supports.collect();
        let mut sums = Vec::new();
        for support in &supports {
            let terms: Vec<Term> = support
                .iter()
                .map(|j| features.terms()[*j].clone())
                .collect();
            let own =
                (!terms.is_empty()).then(|| CorrectedSums::new(terms, self.noise, rows, together));
            sums.push(own.transpose()?);
        }
        self.read(&mut sums)?;
        for (target, (support, sums)) in supports.iter().zip(&sums).enumerate() {
            if let Some(sums) = sums {
                self.correct(laws, target, support, sums)?;
            }
        }
        Ok(())
    }

    /// Sums over all rows.
    fn read(&self, sums: &mut [Option<CorrectedSums>]) -> Result<()> {
        let (n, targets) = (self.noise.len(), sums.len());
        let next = self.evidence[0].dynamics == Dynamics::Discrete;
        let mut runs = self.prepared.runs()?;
        let mut row = vec![0.0; n];
        // The inputs of the row before, if the next one belongs to it.
        let mut before: Option<Vec<f64>> = None;
        while let Some(run) = runs.next_run()? {
            if run.begins || run.gap {
                before = None;
            }
            for k in 0..run.columns[0].len() {
                let now = |column: usize| run.columns[1 + column][k];
                if next {
                    let inputs = before.replace((0..n).map(now).collect());
                    let Some(inputs) = inputs else { continue };
                    row.copy_from_slice(&inputs);
                } else {
                    row.iter_mut().enumerate().for_each(|(i, x)| *x = now(i));
                }
                let first = if next { 0 } else { n };
                for (target, sums) in sums.iter_mut().enumerate().take(targets) {
                    let Some(sums) = sums else { continue };
                    let place = || place(&run, k);
                    sums.push(&mut row, now(first + target)).about(place)?;
                }
            }
        }
        Ok(())
    }

    fn correct(
        &self,
        laws: &mut Laws,
        target: usize,
        support: &[usize],
        sums: &CorrectedSums,
    ) -> Result<()> {
        let features = &self.material.features;
        let every: Vec<usize> = (0..support.len()).collect();
        let choices = self.material.allowed[target].len();
        let law = &mut laws.laws[target];
        let found = sums.law(&every, choices, self.dropping);
        let found = found.about(|| format!("no law for `{}`", shown(&law.target)))?;
        // The next value of a state is measured by the same sensor.
        let own = match self.evidence[0].dynamics {
            Dynamics::Discrete => self.noise[target].powi(2),
            _ => 0.0,
        };
        if found.error - own < -BELOW * found.error_deviation {
            return Err(Error::Unsuitable(format!(
                "`{}`: errors of the inputs as large as was said would leave more than the law leaves ({:.2e} instead of {:.2e}, standard deviations): they must be smaller",
                shown(&law.target),
                (found.measured_error - found.error + own).sqrt(),
                found.measured_error.max(0.0).sqrt(),
            )));
        }
        law.coefficients.fill(0.0);
        let mut errors = vec![0.0; features.len()];
        let mut sure = vec![0.0; features.len()];
        // Among laws that lack one of the terms, and the law itself.
        let odds: Vec<f64> = found
            .worth
            .iter()
            .map(|w| (-0.5 * w).exp().min(1.0))
            .collect();
        let total = 1.0 + odds.iter().sum::<f64>();
        for (at, place) in found.support.iter().enumerate() {
            let j = support[*place];
            law.coefficients[j] = found.coefficients[at];
            errors[j] = found.errors[at];
            sure[j] = 1.0 - odds[at] / total;
        }
        law.errors = Some(errors);
        law.probabilities = Some(sure);
        let Some(judged) = laws
            .judgement
            .as_mut()
            .and_then(|j| j.equations.get_mut(target))
        else {
            return Ok(());
        };
        let spread = spread(&self.material.all, target)?.max(f64::MIN_POSITIVE);
        let of = |square: f64| (square.max(0.0) / spread).sqrt();
        let left = of(found.measured_error);
        let made = of(found.measured_error - found.error + own);
        let standing = Standing {
            left,
            noise: (left <= ALIKE * made).then_some(made),
            r2: found.held_out_error.map(|e| 1.0 - e / spread),
            comparable: false,
            freedom: self.material.all.effective_rows() - found.support.len() as f64,
            doubt: match self.evidence[0].dynamics {
                Dynamics::Regression => {
                    let sampled = SampledRows::of(self.evidence);
                    let residuals = sampled.residuals(features, &law.coefficients, target);
                    let runs = sampled.runs.iter();
                    correlated(runs.map(|(from, to)| &residuals[*from..*to]))
                }
                // Each row has the error of its input and that of the target before: neighbours go along with each other.
                _ => None,
            },
        };
        let (verdict, doubt) = standing.verdict();
        let names = features.names();
        let others = found
            .support
            .iter()
            .zip(&odds)
            .filter(|(_, odds)| **odds >= ODDS);
        *judged = Judged {
            noise_left: left,
            noise_measured: standing.noise,
            r2: standing.r2,
            verdict,
            doubt,
            pattern: None,
            caution: None,
            alternatives: others
                .map(|(place, odds)| Alternative {
                    without: Some(names[support[*place]].clone()),
                    with: None,
                    odds: *odds,
                })
                .collect(),
        };
        Ok(())
    }
}

/// Where a row stands.
fn place(run: &Run, row: usize) -> String {
    run.spot.place(run.places.get(row).copied().unwrap_or(0))
}
