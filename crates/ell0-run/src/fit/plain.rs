//! Laws of rows that stand by themselves (regressions, laws of the next row, rates of change that are columns) by the Gaussian likelihood of their targets.

use ell0::{
    dictionary::{Path, PathConfig, Statistics, neighbours, price_of_choice, standard_errors},
    equation::Dynamics,
    features::{Features, Term},
    likelihood::{Change, alternatives, probabilities},
};
use ell0_data::{derivative::Derivative, evidence::Evidence, windows::Piece};

use super::{
    Judgement, Material,
    judgement::{Alternative, Judged, Pattern, Verdict},
    laws::Laws,
    material::NEGLIGIBLE,
    outside::{LARGEST, others},
};
use crate::error::{Error, Result};

/// A law that leaves so small a share of a target's deviation explains all there is.
const ALL: f64 = 1e-3;

/// A law with a smaller R² is none.
const NOTHING: f64 = 0.3;

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
    let (all, features) = (&material.all, &material.features);
    // Only laws that leave something are looked at for what they lack.
    let mut samples: Option<Rows> = None;
    let mut judgement = Judgement {
        windows: 0,
        rows: 0,
        outliers: 0,
        left_out: Vec::new(),
        equations: Vec::new(),
    };
    for (target, (law, path)) in laws.laws.iter_mut().zip(paths).enumerate() {
        let spread = spread(all, target)?;
        let rows = all.effective_rows();
        let choices = material.allowed[target].len();
        let nothing = all.mean_squared_error(target, &vec![0.0; features.len()])?;
        let score = |error: f64, terms: usize| {
            let error = error.max(NEGLIGIBLE * nothing).max(f64::MIN_POSITIVE);
            rows * error.ln() + terms as f64 * rows.ln() + price_of_choice(choices, terms)
        };
        if search {
            let supports = path.lines().iter().map(|l| l.support.clone()).collect();
            let config = PathConfig::default();
            let lines = Path::of_supports(all, &[target], &[], &config, supports)?;
            let best = lines.lines().iter().min_by(|a, b| {
                let of = |l: &ell0::dictionary::Line| score(l.train_error, l.terms);
                of(a).total_cmp(&of(b))
            });
            let best = best.ok_or(Error::Settings("there is no law"))?;
            law.coefficients.clone_from(&best.coefficients);
        }
        let support: Vec<usize> = (0..features.len())
            .filter(|j| law.coefficients[*j] != 0.0)
            .collect();
        // With too few rows there are none.
        law.errors = standard_errors(all, target, &support).ok().map(|own| {
            let mut errors = vec![0.0; features.len()];
            support.iter().zip(own).for_each(|(j, e)| errors[*j] = e);
            errors
        });
        let left = all.mean_squared_error(target, &law.coefficients)?;
        let now = score(left, support.len());
        let changes = material.neighbours(target, &support).map(|near| {
            let each = near.into_iter().map(|change| {
                let terms = support.len() + usize::from(change.added.is_some())
                    - usize::from(change.dropped.is_some());
                Change {
                    equation: target,
                    dropped: change.dropped,
                    added: change.added,
                    worse: score(change.error, terms) - now,
                    rise: rows * (change.error - left),
                }
            });
            each.collect::<Vec<Change>>()
        });
        // With too few rows there are none.
        let changes = changes.unwrap_or_default();
        law.probabilities = (!changes.is_empty())
            .then(|| probabilities(&changes, target, &support, features.len()));
        let names = features.names();
        let name = |j: Option<usize>| j.map(|j| names[j].clone());
        let others = alternatives(&changes, target).into_iter();
        let others = others.map(|a| Alternative {
            without: name(a.dropped),
            with: name(a.added),
            odds: a.odds,
        });
        let validated = path.lines().iter().find(|l| l.support == support);
        let held_out = validated.and_then(|l| l.validation_error);
        let r2 = held_out.filter(|_| spread > 0.0).map(|e| 1.0 - e / spread);
        let noise_left = (left / spread.max(f64::MIN_POSITIVE)).sqrt();
        let pattern = match noise_left > ALL {
            true => {
                if samples.is_none() {
                    samples = Some(Rows::new(evidence, features)?);
                }
                let samples = samples.as_ref().map(|s| s.pattern(target, &support));
                samples.transpose()?.flatten()
            }
            false => None,
        };
        judgement.equations.push(Judged {
            noise_left,
            noise_measured: None,
            r2,
            verdict: match &pattern {
                _ if noise_left.powi(2) > 1.0 - NOTHING => Verdict::NoLaw,
                Some(_) => Verdict::Partly,
                None => Verdict::Explained,
            },
            pattern,
            alternatives: others.collect(),
        });
    }
    Ok(judgement)
}

/// Mean square of a target about its mean; about 0, if the library has no constant.
fn spread(all: &Statistics, target: usize) -> Result<f64> {
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
    fn new(evidence: &[Evidence], features: &Features) -> Result<Self> {
        let first = &evidence[0];
        let (n, targets) = (first.inputs.len(), first.targets.len());
        let pieces: Vec<&Piece> = evidence.iter().flat_map(|e| &e.samples).collect();
        let next = first.dynamics == Dynamics::Discrete;
        // Column after column: inputs and targets of each row.
        let (mut x, mut y) = (vec![Vec::new(); n], vec![Vec::new(); targets]);
        for piece in pieces {
            let width = piece.width();
            let rows = piece.rows() - usize::from(next);
            for row in 0..rows {
                let values = &piece.values[row * width..][..width];
                let after = match next {
                    true => &piece.values[(row + 1) * width..][..targets],
                    false => &values[n..],
                };
                x.iter_mut().zip(values).for_each(|(x, v)| x.push(*v));
                y.iter_mut().zip(after).for_each(|(y, v)| y.push(*v));
            }
        }
        // More than are wanted, since some of them may be huge or have no value somewhere.
        let terms: Vec<Term> = others(features, n)?.into_iter().take(2 * OTHERS).collect();
        let library = features.len();
        let terms = features.terms().iter().cloned().chain(terms).collect();
        let extended = Features::from_terms(features.inputs().to_vec(), terms)?;
        let rows = x.first().map_or(0, Vec::len);
        let mut phi = match rows {
            0 => Vec::new(),
            _ => extended.evaluate(&x.concat())?,
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
        let mut statistics = Statistics::new(names, first.targets.clone())?;
        if rows > 0 {
            statistics.push(&phi, &y.concat(), rows)?;
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
