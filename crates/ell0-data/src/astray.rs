//! Rows that stand by themselves and are astray: far off all that the library can say of them, while rows with much the same inputs are not.
//!
//! One −999 among the targets of a regression pulls every coefficient away. A least-squares fit with all terms to a sample of the rows, made again without what is far off until nothing changes, tells how far usual rows are off. What is many times as far off, in the sample or
//! outside of it, is left out, unless rows like it are, too: that is no accident, but something that the library lacks.

use ell0::{
    dictionary::{Path, PathConfig, Statistics},
    features::Features,
};

use crate::{
    blemishes::{ACCIDENTS, Spike},
    error::Result,
    evidence::{Evidence, Question},
    runs::Runs,
    windows::Piece,
};

/// A row is far off if it is so many deviations of usual rows off.
const FAR: f64 = 6.0;

/// And this share of the target's spread: what is less does no harm.
const HARMFUL: f64 = 1e-3;

/// Rows like one: so many with the nearest inputs. If most of them are so many deviations off, too, it is no accident.
const LIKE: usize = 8;
const TOO: f64 = 3.0;

/// Fits that are made, at most.
const ROUNDS: usize = 8;

/// With more terms than this, or fewer rows for each of them, rows are not looked at: the fits would take too long, or would say nothing.
const MOST_TERMS: usize = 300;
const ROWS_FOR_EACH: usize = 3;
const FEWEST: usize = 20;

/// All rows together are off by so many times the mean square of the usual ones if there is something among them that the sample has not.
const EXCEEDS: f64 = 1.5;

/// What usual rows are like.
#[derive(Debug)]
pub struct Screen {
    features: Features,
    targets: Vec<Usual>,
    /// Inputs of the sample, row after row, each divided by its spread.
    near: Vec<f64>,
    spreads: Vec<f64>,
    /// Errors of each input, which move what is expected of a row.
    noise: Vec<f64>,
    /// Whether a row of the sample is far off.
    found: bool,
}

/// A target in usual rows.
#[derive(Debug)]
struct Usual {
    coefficients: Vec<f64>,
    /// A row that is further off than this is far off.
    limit: f64,
    deviation: f64,
    mean_square: f64,
    /// How far each row of the sample is off, in deviations.
    off: Vec<f64>,
}

impl Screen {
    /// Looks at a sample of rows, whose inputs have errors of these standard deviations; none if they cannot tell.
    pub fn new(pieces: &[Piece], question: &Question, noise: &[f64]) -> Result<Option<Self>> {
        let features = question.features()?;
        let (n, targets) = (question.inputs.len(), question.targets.len());
        let width = n + targets;
        let values = || pieces.iter().flat_map(|p| p.values.chunks_exact(width));
        let rows = values().count();
        let terms = features.len();
        let enough = (ROWS_FOR_EACH * terms).max(FEWEST);
        let fits = pieces.iter().all(|p| p.width() == width);
        if !fits || terms > MOST_TERMS || rows < enough {
            return Ok(None);
        }
        let column = |k: usize| {
            let mut column = Vec::with_capacity(rows);
            for piece in pieces {
                column.extend(piece.values.chunks_exact(width).map(|row| row[k]));
            }
            column
        };
        let inputs: Vec<Vec<f64>> = (0..n).map(column).collect();
        let phi = features.evaluate(&inputs.concat())?;
        if phi.iter().any(|v| !v.is_finite()) {
            return Ok(None);
        }
        let allowed = question.allowed()?;
        let mut found = Vec::new();
        // The first fits are to all rows: one pass over them serves all targets.
        let mut whole = Statistics::new(features.names().to_vec(), question.targets.clone())?;
        whole.push(&phi, &(n..width).flat_map(column).collect::<Vec<_>>(), rows)?;
        for (k, allowed) in allowed.iter().enumerate() {
            match Usual::new(&whole, k, &phi, column(n + k), allowed)? {
                Some(usual) => found.push(usual),
                None => return Ok(None),
            }
        }
        let spreads: Vec<f64> = inputs.iter().map(|x| spread(x)).collect();
        let mut near = Vec::with_capacity(rows * n);
        for row in values() {
            near.extend(row.iter().zip(&spreads).map(|(x, spread)| x / spread));
        }
        let mut screen = Screen {
            near,
            spreads,
            features,
            targets: found,
            noise: noise.to_vec(),
            found: false,
        };
        screen.found = values().enumerate().any(|(row, values)| {
            let far = |usual: &Usual| usual.off[row] * usual.deviation > usual.limit;
            let mut far = screen.targets.iter().filter(|u| far(u));
            far.any(|usual| screen.is_alone(usual, &values[..n]))
        });
        Ok(Some(screen))
    }

    /// Whether there may be rows that are astray: some of the sample are, or all rows together are off by more than usual ones.
    pub fn suspects(&self, evidence: &Evidence) -> Result<bool> {
        let all = Evidence::split(std::slice::from_ref(evidence))?.all()?;
        let mut exceeds = self.found;
        for (target, usual) in self.targets.iter().enumerate() {
            let square = all.mean_squared_error(target, &usual.coefficients)?;
            exceeds |= square > EXCEEDS * usual.mean_square.max((usual.limit / FAR).powi(2));
        }
        Ok(exceeds)
    }

    /// Whether errors of the inputs, and the usual one of the target, move what is expected as far.
    fn is_moved(&self, usual: &Usual, inputs: &[f64], off: f64) -> bool {
        if self.noise.iter().all(|noise| *noise == 0.0) {
            return false;
        }
        let said = |row: &[f64]| -> f64 {
            let terms = self.features.terms().iter().zip(&usual.coefficients);
            let terms = terms.filter(|(_, c)| **c != 0.0);
            terms.map(|(term, c)| c * term.apply(row)).sum()
        };
        let mut square = usual.deviation.powi(2);
        let mut row = inputs.to_vec();
        for (input, noise) in self.noise.iter().enumerate() {
            let mut at = |by: f64| {
                row[input] = inputs[input] + by;
                said(&row)
            };
            let moved = (at(*noise) - at(-noise)) / 2.0;
            row[input] = inputs[input];
            square += moved * moved;
        }
        off.abs() <= FAR * square.sqrt()
    }

    /// Whether rows with much the same inputs are not far off.
    fn is_alone(&self, usual: &Usual, inputs: &[f64]) -> bool {
        let n = inputs.len();
        let rows = self.near.chunks_exact(n).zip(&usual.off);
        let mut like: Vec<(f64, f64)> = rows
            .map(|(row, off)| {
                let sides = row.iter().zip(inputs).zip(&self.spreads);
                let distance = sides.map(|((a, b), spread)| (a - b / spread).powi(2));
                (distance.sum(), *off)
            })
            .collect();
        // The nearest of them is the row itself, if it is in the sample.
        let count = (LIKE + 1).min(like.len());
        like.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0));
        let off = like[..count].iter().filter(|(_, off)| *off > TOO).count();
        2 * off <= count
    }

    /// The rows that are astray, in their order; none if they are too many to be accidents.
    pub fn astray(&self, mut runs: Runs, rows: u64) -> Result<Vec<Spike>> {
        let (n, terms) = (self.spreads.len(), self.features.len());
        let most = ACCIDENTS * rows as f64;
        let mut astray: Vec<Spike> = Vec::new();
        while let Some(run) = runs.next_run()? {
            let count = run.columns[0].len();
            let inputs = run.columns[1..=n].concat();
            let phi = self.features.evaluate(&inputs)?;
            for row in 0..count {
                let term = |j: usize| phi[j * count + row];
                let far = self.targets.iter().enumerate().find_map(|(k, usual)| {
                    let value = run.columns[1 + n + k][row];
                    let expected: f64 = (0..terms).map(|j| usual.coefficients[j] * term(j)).sum();
                    let is_far = (value - expected).abs() > usual.limit;
                    is_far.then_some((k, value, expected))
                });
                let Some((state, value, expected)) = far else {
                    continue;
                };
                let own: Vec<f64> = run.columns[1..=n].iter().map(|c| c[row]).collect();
                if self.is_moved(&self.targets[state], &own, value - expected) {
                    continue;
                }
                if !self.is_alone(&self.targets[state], &own) {
                    continue;
                }
                astray.push(Spike {
                    row: run.row + row as u64,
                    state,
                    place: run.spot.place(run.places[row]),
                    value,
                    expected,
                });
                if astray.len() as f64 > most.max(1.0) {
                    return Ok(Vec::new());
                }
            }
        }
        Ok(astray)
    }
}

impl Usual {
    /// A fit to the rows of a sample that those far off do not pull away; none if there is no such fit.
    fn new(
        whole: &Statistics,
        index: usize,
        phi: &[f64],
        target: Vec<f64>,
        allowed: &[usize],
    ) -> Result<Option<Self>> {
        let rows = target.len();
        let least = HARMFUL * spread(&target);
        let mut kept: Vec<usize> = (0..rows).collect();
        for _ in 0..ROUNDS {
            let config = PathConfig::default();
            let supports = vec![allowed.to_vec()];
            let path = if kept.len() == rows {
                Path::of_supports(whole, &[index], &[], &config, supports)
            } else {
                let column = |values: &[f64]| kept.iter().map(|k| values[*k]).collect::<Vec<f64>>();
                let own: Vec<f64> = phi.chunks_exact(rows).flat_map(column).collect();
                let names = whole.features().to_vec();
                let mut statistics = Statistics::new(names, vec!["y".into()])?;
                statistics.push(&own, &column(&target), kept.len())?;
                Path::of_supports(&statistics, &[0], &[], &config, supports)
            };
            let Ok(path) = path else {
                return Ok(None);
            };
            let Some(line) = path.lines().last() else {
                return Ok(None);
            };
            let coefficients = line.coefficients.clone();
            let mut off = target.clone();
            for (column, c) in phi.chunks_exact(rows).zip(&coefficients) {
                off.iter_mut().zip(column).for_each(|(r, v)| *r -= c * v);
            }
            off.iter_mut().for_each(|r| *r = r.abs());
            let share = rows as f64 / (rows - allowed.len()) as f64;
            let deviation = middle(off.clone()) / 0.6745 * share.sqrt();
            let limit = (FAR * deviation).max(least);
            let stays: Vec<usize> = (0..rows).filter(|k| off[*k] <= limit).collect();
            if stays == kept || stays.len() < allowed.len() + 1 {
                let squares = kept.iter().map(|k| off[*k].powi(2)).sum::<f64>();
                let deviation = limit / FAR;
                off.iter_mut().for_each(|r| *r /= deviation);
                return Ok(Some(Usual {
                    coefficients,
                    limit,
                    deviation,
                    mean_square: squares / kept.len().max(1) as f64,
                    off,
                }));
            }
            kept = stays;
        }
        Ok(None)
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    let at = values.len() / 2;
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// How far values spread, whatever a few of them are.
fn spread(values: &[f64]) -> f64 {
    let centre = middle(values.to_vec());
    let off = middle(values.iter().map(|v| (v - centre).abs()).collect()) / 0.6745;
    let all = || values.iter().map(|v| (v - centre).abs());
    // Where most values are the same, by all of them.
    let mean = || all().sum::<f64>() / values.len() as f64;
    [off, mean(), 1.0]
        .into_iter()
        .find(|s| *s > 0.0)
        .unwrap_or(1.0)
}
