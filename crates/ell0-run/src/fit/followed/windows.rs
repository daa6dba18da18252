//! The longest windows through which a law stays near to the measurements, and the starts from which it does.

use std::ops::Range;

use super::{law::Law, seen::Rows, slopes::Slopes};

/// A law that leaves less than this share of the variance, or less than twice the noise's, is near.
const NEAR: f64 = 0.1;

/// A single window may leave so many times as much.
const WORST: f64 = 4.0;

/// A start is good enough if the law leaves no more than this many times the noise's variance, or this share of the variance.
const AS_THE_NOISE: f64 = 1.5;
pub(super) const NEGLIGIBLE: f64 = 1e-8;

/// Attempts at a better start.
const ATTEMPTS: usize = 3;

/// States beyond which starts are as measured.
pub(super) const MOST_STATES: usize = 8;

/// How the windows of a length went.
pub(super) struct Level {
    pub rows: usize,
    /// For each run and window.
    pub starts: Vec<Vec<Vec<f64>>>,
    /// For each run and row, the states in deviations; none where the law was lost.
    pub states: Vec<Vec<Option<Vec<f64>>>>,
}

pub(super) fn windows(run: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..run).step_by(rows).map(move |k| k..(k + rows).min(run))
}

/// Measurements in deviations of their targets.
pub(super) struct Scaled<'a> {
    pub runs: &'a [Rows],
    /// For each run and row.
    pub measured: Vec<Vec<Vec<f64>>>,
    /// The variance of the noise, where it is known.
    pub noise: Vec<Option<f64>>,
}

impl Scaled<'_> {
    /// What may be left of a row, on all targets together.
    fn usual(&self) -> f64 {
        let of = |noise: &Option<f64>| noise.map_or(NEGLIGIBLE, |v| AS_THE_NOISE * v);
        self.noise.iter().map(of).sum()
    }

    /// What may be left of a target's variance if a law is near.
    fn near(&self, target: usize) -> f64 {
        NEAR.max(2.0 * self.noise[target].unwrap_or(0.0))
    }

    /// The law's states through a window from a start, row after row, as far as it goes.
    pub fn course(&self, law: &Law, run: usize, window: Range<usize>, start: &[f64]) -> Vec<f64> {
        let coefficients = law.coefficients.clone();
        let mut states = Vec::with_capacity(start.len() * window.len());
        let rows = &self.runs[run];
        law.follow(rows, window, start, &coefficients, |_, x| {
            states.extend_from_slice(x);
            true
        });
        states
    }

    /// The squared distance of states from what was measured, summed over as much of a window as the law goes through.
    fn distance(&self, run: usize, window: Range<usize>, states: &[f64]) -> f64 {
        let measured = self.measured[run][window].iter().flatten();
        measured.zip(states).map(|(m, x)| (m - x).powi(2)).sum()
    }

    /// How the law's states in a window move with each state of its start, by differences; none if it is lost.
    pub fn slopes(
        &self,
        law: &Law,
        run: usize,
        window: Range<usize>,
        start: &[f64],
        states: &[f64],
    ) -> Option<Slopes> {
        const STEP: f64 = 1e-3;
        let mut columns = Vec::with_capacity(start.len());
        for k in 0..start.len() {
            let mut moved = start.to_vec();
            moved[k] += STEP;
            let mut course = self.course(law, run, window.clone(), &moved);
            if course.len() < states.len() {
                return None;
            }
            let pairs = course.iter_mut().zip(states);
            pairs.for_each(|(moved, x)| *moved = (*moved - x) / STEP);
            columns.push(course);
        }
        Slopes::new(columns)
    }

    /// A better start of a window by the method of Gauss and Newton.
    fn improved(
        &self,
        law: &Law,
        run: usize,
        window: Range<usize>,
        start: &[f64],
        states: &[f64],
    ) -> Option<Vec<f64>> {
        let slopes = self.slopes(law, run, window.clone(), start, states)?;
        let measured = self.measured[run][window].iter().flatten();
        let residuals: Vec<f64> = measured.zip(states).map(|(m, x)| m - x).collect();
        let by = slopes.nearest(&residuals);
        Some(start.iter().zip(&by).map(|(x, d)| x + d).collect())
    }

    /// The start of a window from which the law comes near, and its states from there.
    fn start(
        &self,
        law: &Law,
        run: usize,
        window: Range<usize>,
        guess: Vec<f64>,
    ) -> (Vec<f64>, Vec<f64>) {
        let n = guess.len();
        let enough = self.usual() * window.len() as f64;
        // A law that has left the measurements altogether has no better start.
        let lost = 2.0 * (n * window.len()) as f64;
        let mut states = self.course(law, run, window.clone(), &guess);
        let mut start = guess;
        let mut distance = self.distance(run, window.clone(), &states);
        for _ in 0..ATTEMPTS {
            let followed = states.len() == n * window.len() && distance < lost;
            if !followed || distance <= enough || window.len() < 2 || n > MOST_STATES {
                break;
            }
            let better = self.improved(law, run, window.clone(), &start, &states);
            let Some(better) = better else { break };
            let course = self.course(law, run, window.clone(), &better);
            let now = match course.len() == states.len() {
                true => self.distance(run, window.clone(), &course),
                false => f64::INFINITY,
            };
            // NaN is no improvement either.
            if now.is_nan() || now >= distance {
                break;
            }
            let little = now > 0.95 * distance;
            (start, states, distance) = (better, course, now);
            if little {
                break;
            }
        }
        (start, states)
    }

    /// The law through windows of so many rows, with starts from windows of half as many, if there were such. None as soon as it is not near any more.
    fn level(&self, law: &Law, rows: usize, before: Option<&Level>) -> Option<Level> {
        let n = self.noise.len();
        let total: usize = self.runs.iter().map(Rows::len).sum();
        let mut level = Level {
            rows,
            starts: Vec::new(),
            states: Vec::new(),
        };
        let mut squares = vec![0.0; n];
        for (run, all) in self.runs.iter().enumerate() {
            let (mut starts, mut states) = (Vec::new(), vec![None; all.len()]);
            for window in windows(all.len(), rows) {
                let guess = before.and_then(|b| b.starts[run].get(window.start / b.rows));
                let guess = guess.unwrap_or(&self.measured[run][window.start]).clone();
                let (start, course) = self.start(law, run, window.clone(), guess);
                for (state, x) in states[window.clone()]
                    .iter_mut()
                    .zip(course.chunks_exact(n))
                {
                    *state = Some(x.to_vec());
                }
                let mut own = vec![0.0; n];
                for k in window.clone() {
                    let measured = &self.measured[run][k];
                    for (i, square) in own.iter_mut().enumerate() {
                        // What is lost is as far off as can be.
                        *square += match &states[k] {
                            Some(x) => (measured[i] - x[i]).powi(2),
                            None => 4.0,
                        };
                    }
                }
                squares
                    .iter_mut()
                    .zip(&own)
                    .for_each(|(all, own)| *all += own);
                // Over all windows, and in none of them much worse.
                let far = |i: usize| {
                    let near = self.near(i);
                    squares[i] > near * total as f64 || own[i] > WORST * near * window.len() as f64
                };
                if before.is_some() && ((0..n).any(far) || !law.may_go_on()) {
                    return None;
                }
                starts.push(start);
            }
            level.starts.push(starts);
            level.states.push(states);
        }
        Some(level)
    }

    /// The longest windows through which the law stays near.
    pub fn longest(&self, law: &Law, first: usize) -> Option<Level> {
        let longest = self.runs.iter().map(Rows::len).max()?;
        let mut level = self.level(law, first.min(longest), None)?;
        while level.rows < longest && law.may_go_on() {
            // The last doubling is to the whole run.
            let rows = match 2 * level.rows {
                rows if rows >= longest => longest,
                rows => rows,
            };
            match self.level(law, rows, Some(&level)) {
                Some(longer) => level = longer,
                None => break,
            }
        }
        Some(level)
    }
}
