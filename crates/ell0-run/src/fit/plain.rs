//! Laws of rows that stand by themselves (regressions, laws of the next row, rates of change that are columns) by the Gaussian likelihood of their targets.

use ell0::{
    dictionary::{Path, PathConfig, Statistics, neighbours, price_of_choice, standard_errors},
    equation::{DictionaryTarget, Dynamics},
    features::{Features, Term},
    likelihood::{Change, alternatives, probabilities},
};
use ell0_data::{derivative::Derivative, evidence::Evidence};

use super::{
    Judgement, Material,
    caution::Suspect,
    judgement::{Alternative, Judged, Pattern, Verdict},
    laws::Laws,
    material::NEGLIGIBLE,
    outside::{LARGEST, others},
    rows::SampledRows,
    rule::{Doubt, NEXT_TO_NOTHING, Standing, correlated},
};
use crate::error::{Error, Result};

/// Rows of which enough are held out to compare what is missed in them with what is left of the others.
const COMPARABLE: f64 = 50.0;

/// A pattern must raise the evidence by so much to be told.
const TELLING: f64 = 10.0;

/// Whether the rows of evidence stand by themselves.
pub(super) fn is_for(evidence: &Evidence) -> bool {
    evidence.dynamics != Dynamics::Continuous || evidence.derivative == Derivative::Given
}

/// Chooses among the laws of each path, and finds errors and verdicts.
pub(super) fn judge(
    laws: &mut Laws,
    evidence: &[Evidence],
    material: &Material,
    paths: &[Path],
    search: bool,
) -> Result<Judgement> {
    let mut plain = Plain {
        evidence,
        material,
        rows: SampledRows::of(evidence),
        samples: None,
    };
    let mut equations = Vec::new();
    for (target, (law, path)) in laws.laws.iter_mut().zip(paths).enumerate() {
        let scoring = Scoring::new(material, target)?;
        if search {
            law.coefficients = scoring.best(path)?;
        }
        equations.push(plain.judged(law, path, &scoring)?);
    }
    Ok(Judgement {
        windows: 0,
        rows: 0,
        outliers: 0,
        left_out: Vec::new(),
        equations,
    })
}

/// Rows that stand by themselves.
struct Plain<'a> {
    evidence: &'a [Evidence],
    material: &'a Material,
    rows: SampledRows,
    /// With terms outside of the library: only laws that leave something are looked at for what they lack.
    samples: Option<Rows>,
}

impl Plain<'_> {
    /// Finds the errors and probabilities of a law, and what is to be said of it.
    fn judged(
        &mut self,
        law: &mut DictionaryTarget,
        path: &Path,
        scoring: &Scoring,
    ) -> Result<Judged> {
        let (all, features) = (&self.material.all, &self.material.features);
        let (target, terms) = (scoring.target, features.len());
        let support: Vec<usize> = (0..terms).filter(|j| law.coefficients[*j] != 0.0).collect();
        // With too few rows there are none.
        law.errors = standard_errors(all, target, &support).ok().map(|own| {
            let mut errors = vec![0.0; terms];
            support.iter().zip(own).for_each(|(j, e)| errors[*j] = e);
            errors
        });
        let changes = scoring.changes(&law.coefficients, &support)?;
        law.probabilities =
            (!changes.is_empty()).then(|| probabilities(&changes, target, &support, terms));
        let name = |j: Option<usize>| j.map(|j| features.names()[j].clone());
        let others = alternatives(&changes, target).into_iter();
        let others = others.map(|a| Alternative {
            without: name(a.dropped),
            with: name(a.added),
            odds: a.odds,
        });
        let alternatives = others.collect();
        let mut standing = standing(all, law, path, target)?;
        let pattern = self.doubt(&mut standing, law, target, &support)?;
        let (verdict, doubt) = standing.verdict();
        let suspect = law.errors.as_ref().filter(|_| verdict != Verdict::NoLaw);
        let suspect = suspect.map(|errors| Suspect {
            evidence: self.evidence,
            sampled: &self.rows,
            features: &self.material.features,
            target,
            coefficients: &law.coefficients,
            errors,
        });
        Ok(Judged {
            noise_left: standing.left,
            noise_measured: None,
            r2: standing.r2,
            verdict,
            doubt,
            pattern,
            caution: suspect.and_then(|suspect| suspect.caution(&standing)),
            alternatives,
        })
    }

    /// What says that the residual is more than noise: a term outside of the library, or residuals of neighbours.
    fn doubt(
        &mut self,
        standing: &mut Standing,
        law: &DictionaryTarget,
        target: usize,
        support: &[usize],
    ) -> Result<Option<Pattern>> {
        if standing.left <= NEXT_TO_NOTHING {
            return Ok(None);
        }
        let features = &self.material.features;
        let samples = match self.samples.take() {
            Some(samples) => samples,
            None => Rows::new(self.evidence, &self.rows, features)?,
        };
        let pattern = self.samples.insert(samples).pattern(target, support)?;
        let residuals = self.rows.residuals(features, &law.coefficients, target);
        let runs = self.rows.runs.iter();
        let along = correlated(runs.map(|(from, to)| &residuals[*from..*to]));
        // Noise of the states, or of derivatives that were differenced, makes residuals of neighbours go against each other; terms then look as if they were missing that are not.
        let opposed =
            matches!(along, Some(Doubt::Correlated { correlation, .. }) if correlation < 0.0);
        let pattern = pattern.filter(|_| !opposed);
        standing.doubt = match pattern {
            Some(_) => Some(Doubt::LacksTerm),
            None => along,
        };
        Ok(pattern)
    }
}

/// How much a law leaves, here and on held-out rows.
fn standing(
    all: &Statistics,
    law: &DictionaryTarget,
    path: &Path,
    target: usize,
) -> Result<Standing> {
    let spread = spread(all, target)?;
    let places = 0..law.coefficients.len();
    let support: Vec<usize> = places.filter(|j| law.coefficients[*j] != 0.0).collect();
    let left = all.mean_squared_error(target, &law.coefficients)?;
    let validated = path.lines().iter().find(|l| l.support == support);
    let held_out = validated.and_then(|l| l.validation_error);
    let rows = all.effective_rows();
    let freedom = rows - support.len() as f64;
    // Per degree of freedom: with few rows a law leaves less than there is.
    let share = match support.is_empty() {
        true => 1.0,
        false => (rows - 1.0) / freedom.max(1.0),
    };
    Ok(Standing {
        left: (share * left / spread.max(f64::MIN_POSITIVE)).sqrt(),
        noise: None,
        r2: held_out.filter(|_| spread > 0.0).map(|e| 1.0 - e / spread),
        comparable: rows >= COMPARABLE,
        freedom,
        doubt: None,
    })
}

/// What the laws of a target are worth.
struct Scoring<'a> {
    material: &'a Material,
    target: usize,
    /// Mean square of the target.
    nothing: f64,
}

impl<'a> Scoring<'a> {
    fn new(material: &'a Material, target: usize) -> Result<Self> {
        let zeros = vec![0.0; material.features.len()];
        Ok(Scoring {
            material,
            target,
            nothing: material.all.mean_squared_error(target, &zeros)?,
        })
    }

    /// The less, the more evidence.
    fn score(&self, error: f64, terms: usize) -> f64 {
        let rows = self.material.all.effective_rows();
        let choices = self.material.allowed[self.target].len();
        let error = error.max(NEGLIGIBLE * self.nothing).max(f64::MIN_POSITIVE);
        rows * error.ln() + terms as f64 * rows.ln() + price_of_choice(choices, terms)
    }

    /// The coefficients of the law of a path, fitted to all rows, with the most evidence.
    fn best(&self, path: &Path) -> Result<Vec<f64>> {
        let supports = path.lines().iter().map(|l| l.support.clone()).collect();
        let config = PathConfig::default();
        let lines = Path::of_supports(&self.material.all, &[self.target], &[], &config, supports)?;
        let best = lines.lines().iter().min_by(|a, b| {
            let of = |l: &ell0::dictionary::Line| self.score(l.train_error, l.terms);
            of(a).total_cmp(&of(b))
        });
        let best = best.ok_or(Error::Settings("there is no law"))?;
        Ok(best.coefficients.clone())
    }

    /// The laws one change away; none with too few rows.
    fn changes(&self, coefficients: &[f64], support: &[usize]) -> Result<Vec<Change>> {
        let all = &self.material.all;
        let left = all.mean_squared_error(self.target, coefficients)?;
        let now = self.score(left, support.len());
        let near = self.material.neighbours(self.target, support);
        let changes = near.unwrap_or_default().into_iter().map(|change| {
            let terms = support.len() + usize::from(change.added.is_some())
                - usize::from(change.dropped.is_some());
            Change {
                equation: self.target,
                dropped: change.dropped,
                added: change.added,
                worse: self.score(change.error, terms) - now,
                rise: all.effective_rows() * (change.error - left),
            }
        });
        Ok(changes.collect())
    }
}

/// Mean square of a target about its mean; about 0, if the library has no constant.
pub(super) fn spread(all: &Statistics, target: usize) -> Result<f64> {
    let constant = all.features().iter().position(|name| name == "1");
    error_of(all, target, &constant.into_iter().collect::<Vec<_>>())
}

/// Mean squared error of the law of a target with these terms.
fn error_of(statistics: &Statistics, target: usize, support: &[usize]) -> Result<f64> {
    let (config, supports) = (PathConfig::default(), vec![support.to_vec()]);
    let path = Path::of_supports(statistics, &[target], &[], &config, supports)?;
    let line = path.lines().last();
    Ok(line.map_or(0.0, |line| line.train_error))
}

/// Terms outside of the library that are looked at: what they cost grows with the square of their number, and many inputs have many functions and products.
const OTHERS: usize = 200;

/// Rows of the samples: the terms of the library and others, and the targets.
struct Rows {
    statistics: Statistics,
    /// Names of the others, which come after those of the library.
    library: usize,
}

impl Rows {
    fn new(evidence: &[Evidence], sampled: &SampledRows, features: &Features) -> Result<Self> {
        let (n, rows) = (sampled.inputs.len(), sampled.len());
        // More than are wanted, since some of them may be huge or have no value somewhere.
        let terms: Vec<Term> = others(features, n)?.into_iter().take(2 * OTHERS).collect();
        let library = features.len();
        let terms = features.terms().iter().cloned().chain(terms).collect();
        let extended = Features::from_terms(features.inputs().to_vec(), terms)?;
        let mut phi = match rows {
            0 => Vec::new(),
            _ => extended.evaluate(&sampled.inputs.concat())?,
        };
        let sound = |j: &usize| {
            let column = phi.get(j * rows..(j + 1) * rows).unwrap_or_default();
            column.iter().all(|value| value.abs() < LARGEST)
        };
        let sound: Vec<usize> = (library..extended.len())
            .filter(sound)
            .take(OTHERS)
            .collect();
        for (place, j) in sound.iter().enumerate() {
            phi.copy_within(j * rows..(j + 1) * rows, (library + place) * rows);
        }
        phi.truncate((library + sound.len()) * rows);
        let kept = (0..library).chain(sound);
        let names = kept.map(|j| extended.names()[j].clone()).collect();
        let mut statistics = Statistics::new(names, evidence[0].targets.clone())?;
        if rows > 0 {
            statistics.push(&phi, &sampled.targets.concat(), rows)?;
        }
        Ok(Rows {
            statistics,
            library,
        })
    }

    /// The term outside of the library that would take away most of what a law leaves, if the evidence says that it takes something.
    fn pattern(&self, target: usize, support: &[usize]) -> Result<Option<Pattern>> {
        let names = self.statistics.features();
        let rows = self.statistics.effective_rows();
        if rows <= support.len() as f64 + 2.0 {
            return Ok(None);
        }
        let before = error_of(&self.statistics, target, support)?;
        if before <= 0.0 {
            return Ok(None);
        }
        let mut best: Option<Pattern> = None;
        // With too few rows there are none.
        for change in neighbours(&self.statistics, target, support).unwrap_or_default() {
            let (Some(j), None) = (change.added, change.dropped) else {
                continue;
            };
            if j < self.library {
                continue;
            }
            let after = change.error;
            let share = 1.0 - after / before;
            let gain = -rows * (after / before).max(1e-300).ln();
            let price = rows.ln() + 2.0 * ((names.len() - self.library) as f64).ln();
            let telling = gain > price + TELLING;
            if telling && best.as_ref().is_none_or(|b| share > b.share) {
                best = Some(Pattern {
                    term: names[j].clone(),
                    share,
                });
            }
        }
        Ok(best)
    }
}
