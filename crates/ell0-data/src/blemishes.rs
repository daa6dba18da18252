//! Values that are no measurements: single ones far off their neighbours, and stretches in which a state stands still while it should not.
//!
//! A glitch of one row says nothing of the law and spoils everything that is summed: its square, cube and products with others. It is found while the data are looked at first, by a fit to the rows around it that a few others of its kind cannot pull away, and the value of
//! that fit is put in its place where sums are made. Where measurements are weighed it does not count.

use ell0::wording::shown;
use serde::{Deserialize, Serialize};

use crate::runs::{Run, Spot};

/// A value far off its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spike {
    /// Number of its row among all rows.
    #[serde(skip)]
    pub row: u64,
    /// Which state.
    pub state: usize,
    /// Where it stands, in words: a line or row of a file.
    pub place: String,
    /// What was measured.
    pub value: f64,
    /// What its neighbours say.
    pub expected: f64,
}

/// Rows in which a state keeps exactly one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Still {
    /// Number of the first row among all rows.
    #[serde(skip)]
    pub row: u64,
    /// How many rows.
    pub rows: u64,
    /// Which state.
    pub state: usize,
    /// Where the first row stands.
    pub place: String,
    /// The value.
    pub value: f64,
}

/// What is no measurement, in the order of the rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blemishes {
    /// Number of values far off their neighbours, and of rows in which a state stands still.
    pub values: u64,
    /// The first values far off.
    pub spikes: Vec<Spike>,
    /// The first stretches.
    pub still: Vec<Still>,
}

/// Rows on either side that a value is compared with.
const REACH: usize = 8;

/// Rows on either side that must be there for a row to be looked at.
const MARGIN: usize = 5;

/// A value is looked at closely if it is so many times as far off its neighbours as most of them are off theirs.
const ODD: f64 = 10.0;

/// It is a spike if it is so many times as far off the fit to its neighbours as these are.
const FAR: f64 = 8.0;

/// And so many deviations of the noise.
const NOISY: f64 = 6.0;

/// And this share of the state's spread: smaller ones do no harm.
const HARMFUL: f64 = 1e-3;

/// Where a state moves by more than this share of its spread from row to row, its own turns look like spikes: then only what is so many times its spread away from all is one.
const FAST: f64 = 0.15;
const GROSS: f64 = 10.0;

/// More than this share of all rows are no accidents, but what the data are.
const ACCIDENTS: f64 = 0.05;

/// Rows that a state must stand still for.
const STILL: usize = 10;

/// Places of spikes and stretches that are told.
const TOLD: usize = 100;

impl Blemishes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spikes.is_empty() && self.still.is_empty()
    }

    /// Those of two parts of the data.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.values += other.values;
        self.spikes.extend(other.spikes);
        self.still.extend(other.still);
        self
    }

    /// The first of them.
    pub(crate) fn told(&self) -> Self {
        Blemishes {
            values: self.values,
            spikes: self.spikes.iter().take(TOLD).cloned().collect(),
            still: self.still.iter().take(TOLD).cloned().collect(),
        }
    }
}

/// What is known of a state once all rows were seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Deviation of the noise.
    pub noise: f64,
    /// How far the values spread.
    pub spread: f64,
    /// A usual difference between neighbours.
    pub step: f64,
    /// The value in the middle.
    pub middle: f64,
}

/// Looks at runs as they go by.
#[derive(Debug)]
pub(crate) struct Scanner {
    /// The rows that were seen last, without a gap: time, then states.
    columns: Vec<Vec<f64>>,
    places: Vec<u64>,
    spot: Spot,
    /// Number of the first of these among all rows, and how many of them were judged.
    first: u64,
    judged: usize,
    rows: u64,
    spikes: Vec<Spike>,
    quiet: Vec<Quiet>,
    still: Vec<(Still, f64)>,
    /// How far each value is off its neighbours: room.
    off: Vec<f64>,
}

/// A state as long as it keeps its value.
#[derive(Clone, Debug, Default)]
struct Quiet {
    /// Rows that have the value of the one before.
    rows: u64,
    /// Where the first row of that value stands.
    place: String,
    /// Pairs of equal neighbours outside of long stretches.
    pairs: u64,
}

impl Scanner {
    pub fn new(states: usize) -> Self {
        Scanner {
            columns: vec![Vec::new(); 1 + states],
            places: Vec::new(),
            spot: Spot::default(),
            first: 0,
            judged: 0,
            rows: 0,
            spikes: Vec::new(),
            quiet: vec![Quiet::default(); states],
            still: Vec::new(),
            off: Vec::new(),
        }
    }

    pub fn push(&mut self, run: &Run) {
        if run.begins || run.gap || self.columns[0].is_empty() {
            self.flush();
            self.first = run.row;
            self.spot = run.spot.clone();
        }
        let old = self.columns[0].len();
        for (column, more) in self.columns.iter_mut().zip(&run.columns) {
            column.extend_from_slice(more);
        }
        self.places.extend_from_slice(&run.places);
        self.rows += run.columns[0].len() as u64;
        self.stand(old);
        let ready = self.columns[0].len().saturating_sub(2 * REACH);
        self.judge(ready, false);
        let gone = self.judged.saturating_sub(2 * REACH);
        self.columns.iter_mut().for_each(|c| drop(c.drain(..gone)));
        self.places.drain(..gone);
        (self.first, self.judged) = (self.first + gone as u64, self.judged - gone);
    }

    /// The rows that were seen last are followed by others that do not belong to them.
    fn flush(&mut self) {
        self.judge(self.columns[0].len(), true);
        for state in 0..self.quiet.len() {
            self.moves(state, self.columns[0].len(), 0.0);
        }
        self.columns.iter_mut().for_each(Vec::clear);
        self.places.clear();
        self.judged = 0;
    }

    fn place(&self, row: usize) -> String {
        let number = self.places.get(row).copied().unwrap_or(0);
        let Spot { word, .. } = self.spot;
        format!("{word} {number} of {}", shown(&self.spot.file_name()))
    }

    /// Counts how long states keep their values, from a row on.
    fn stand(&mut self, from: usize) {
        for state in 0..self.quiet.len() {
            let rows = self.columns[0].len();
            for k in from.max(1)..rows {
                let column = &self.columns[1 + state];
                let (before, now) = (column[k - 1], column[k]);
                if now == before {
                    if self.quiet[state].rows == 0 {
                        self.quiet[state].place = self.place(k - 1);
                    }
                    self.quiet[state].rows += 1;
                } else if self.quiet[state].rows > 0 {
                    self.moves(state, k, (now - before).abs());
                }
            }
        }
    }

    /// A state that kept its value moves again, at a row, by so much.
    fn moves(&mut self, state: usize, row: usize, jump: f64) {
        let equal = std::mem::take(&mut self.quiet[state].rows);
        if (equal as usize) + 1 < STILL {
            self.quiet[state].pairs += equal;
            return;
        }
        let rows = equal + 1;
        let still = Still {
            row: self.first + row as u64 - rows,
            rows,
            state,
            place: self.quiet[state].place.clone(),
            value: self.columns[1 + state][row - 1],
        };
        self.still.push((still, jump));
    }

    /// Judges the rows before one.
    fn judge(&mut self, until: usize, ends: bool) {
        let rows = self.columns[0].len();
        if rows < 2 * MARGIN {
            self.judged = until.max(self.judged);
            return;
        }
        for state in 0..self.quiet.len() {
            let column = &self.columns[1 + state];
            // How far a value is off the cubic through two neighbours on either side.
            let off = |k: usize| {
                let near = column[k - 1] + column[k + 1];
                let far = column[k - 2] + column[k + 2];
                (column[k] - (4.0 * near - far) / 6.0).abs()
            };
            let from = self.judged.saturating_sub(5).max(2);
            self.off.clear();
            self.off.extend((from..rows - 2).map(off));
            let mut found = Vec::new();
            for k in self.judged..until {
                let inner = k >= from + 5 && k + 7 < rows;
                let odd = if inner {
                    let at = k - from;
                    let own = self.off[at];
                    let others = [at - 5, at - 4, at - 3, at + 3, at + 4, at + 5];
                    own > 0.0 && others.iter().filter(|o| own > ODD * self.off[**o]).count() >= 4
                } else {
                    (ends || k < 7) && odd_at_edge(column, k)
                };
                if odd
                    && let Some(around) = Around::new(&self.columns[0], column, k)
                    && around.is_far(column[k])
                    && stands_apart(column, k, around.expected)
                {
                    found.push((k, around.expected));
                }
            }
            for (k, expected) in found {
                self.spikes.push(Spike {
                    row: self.first + k as u64,
                    state,
                    place: self.place(k),
                    value: self.columns[1 + state][k],
                    expected,
                });
            }
        }
        self.judged = until.max(self.judged);
    }

    /// What is no measurement, now that it is known how noisy the states are and how far they spread.
    pub fn finish(mut self, scales: &[Scale]) -> Blemishes {
        self.flush();
        let harmful = |spike: &Spike| {
            let scale = &scales[spike.state];
            let off = (spike.value - spike.expected).abs();
            let fast = scale.step > FAST * scale.spread;
            let gross = (spike.value - scale.middle).abs() > GROSS * scale.spread;
            off > NOISY * scale.noise && off > HARMFUL * scale.spread && (gross || !fast)
        };
        self.spikes.retain(harmful);
        self.spikes.sort_by_key(|s| (s.row, s.state));
        let quiet = &self.quiet;
        let rows = self.rows;
        // Where states often keep their values, as rounded ones do, a longer time of that says nothing; where there is no noise, a state may be at rest.
        let stuck = |(still, jump): &(Still, f64)| {
            let scale = &scales[still.state];
            let rare = quiet[still.state].pairs < rows / 50;
            rare && (scale.noise > 1e-6 * scale.spread || *jump > 3.0 * scale.step)
        };
        self.still.retain(stuck);
        let mut still: Vec<Still> = self.still.into_iter().map(|(still, _)| still).collect();
        still.sort_by_key(|s| (s.row, s.state));
        // Within a stretch nothing is a spike.
        let within = |spike: &Spike| {
            let own = |s: &&Still| (s.row..s.row + s.rows).contains(&spike.row);
            still.iter().any(|s| own(&s))
        };
        self.spikes.retain(|spike| !within(spike));
        let limit = ACCIDENTS * rows as f64;
        if self.spikes.len() as f64 > limit {
            self.spikes.clear();
        }
        if still.iter().map(|s| s.rows).sum::<u64>() as f64 > 0.5 * rows as f64 {
            still.clear();
        }
        Blemishes {
            values: self.spikes.len() as u64 + still.iter().map(|s| s.rows).sum::<u64>(),
            spikes: self.spikes,
            still,
        }
    }
}

/// Whether a value at the beginning or the end is far off the next one, by what the next ones are off each other.
fn odd_at_edge(column: &[f64], k: usize) -> bool {
    let rows = column.len();
    let step = |a: usize, b: usize| (column[a] - column[b]).abs();
    let inward = if k < rows / 2 { k + 1 } else { k - 1 };
    let steps: Vec<f64> = if k < rows / 2 {
        (k + 1..(k + 8).min(rows - 1))
            .map(|i| step(i, i + 1))
            .collect()
    } else {
        (k.saturating_sub(8).max(1)..k)
            .map(|i| step(i, i - 1))
            .collect()
    };
    let own = step(k, inward);
    own > 0.0 && 2 * steps.iter().filter(|s| own > ODD * **s).count() > steps.len()
}

/// Whether a value is off most of its nearest neighbours, and not only off those on one side, as where a state jumps.
fn stands_apart(column: &[f64], k: usize, expected: f64) -> bool {
    let off = column[k] - expected;
    let near = (k.saturating_sub(2)..(k + 3).min(column.len())).filter(|i| *i != k);
    let (mut apart, mut all) = (0, 0);
    for i in near {
        all += 1;
        // On the same side, and by half of it at least.
        apart += usize::from((column[k] - column[i]) * off.signum() > 0.5 * off.abs());
    }
    apart + 1 >= all
}

/// The rows around one.
struct Around {
    expected: f64,
    /// How far they are off the fit themselves.
    scale: f64,
}

impl Around {
    /// A cubic through the rows around one that has the least sum of distances, so that a few others far off cannot pull it away.
    fn new(time: &[f64], column: &[f64], k: usize) -> Option<Self> {
        let (from, to) = (k.saturating_sub(REACH), (k + REACH + 1).min(time.len()));
        let rows: Vec<usize> = (from..to).filter(|i| *i != k).collect();
        if rows.len() < REACH {
            return None;
        }
        let width = (time[to - 1] - time[k]).max(time[k] - time[from]);
        let s = |i: usize| (time[i] - time[k]) / width;
        let (mut weights, mut cubic) = (vec![1.0; rows.len()], [0.0; 4]);
        for _ in 0..20 {
            let (mut a, mut b) = ([[0.0; 4]; 4], [0.0; 4]);
            for (i, w) in rows.iter().zip(&weights) {
                let powers = [1.0, s(*i), s(*i).powi(2), s(*i).powi(3)];
                for (r, p) in powers.iter().enumerate() {
                    b[r] += w * p * column[*i];
                    for (c, q) in powers.iter().enumerate() {
                        a[r][c] += w * p * q;
                    }
                }
            }
            cubic = solve(a, b)?;
            let residual = |i: usize| (column[i] - at(&cubic, s(i))).abs();
            let sizes: Vec<f64> = rows.iter().map(|i| residual(*i)).collect();
            let finest = 1e-3 * median(&sizes) + f64::MIN_POSITIVE;
            weights = sizes.iter().map(|r| 1.0 / r.max(finest)).collect();
            let largest = weights.iter().copied().fold(0.0, f64::max);
            weights.iter_mut().for_each(|w| *w /= largest);
        }
        let sizes: Vec<f64> = rows
            .iter()
            .map(|i| (column[*i] - at(&cubic, s(*i))).abs())
            .collect();
        let share = rows.len() as f64 / (rows.len() as f64 - 4.0);
        Some(Around {
            expected: cubic[0],
            scale: median(&sizes) / 0.6745 * share.sqrt(),
        })
    }

    fn is_far(&self, value: f64) -> bool {
        let rounding = 1e-12 * (value.abs() + self.expected.abs());
        (value - self.expected).abs() > FAR * self.scale + rounding
    }
}

fn at(cubic: &[f64; 4], s: f64) -> f64 {
    cubic[0] + s * (cubic[1] + s * (cubic[2] + s * cubic[3]))
}

fn median(sizes: &[f64]) -> f64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Four linear equations, by elimination.
fn solve(mut a: [[f64; 4]; 4], mut b: [f64; 4]) -> Option<[f64; 4]> {
    for k in 0..4 {
        let pivot = (k..4).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()))?;
        a.swap(k, pivot);
        b.swap(k, pivot);
        if a[k][k].abs() < 1e-300 {
            return None;
        }
        for i in k + 1..4 {
            let share = a[i][k] / a[k][k];
            let above = a[k];
            a[i].iter_mut()
                .zip(above)
                .for_each(|(x, y)| *x -= share * y);
            b[i] -= share * b[k];
        }
    }
    for k in (0..4).rev() {
        let sum: f64 = (k + 1..4).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k][k];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        frame::Frame,
        runs::{Roles, Runs},
        survey::Look,
        table::ReadOptions,
    };
    use ell0::rng::Stream;

    fn look(x: Vec<f64>, dt: f64) -> Look {
        let t: Vec<f64> = (0..x.len()).map(|k| k as f64 * dt).collect();
        let roles = Roles {
            inputs: vec!["x".into()],
            time: Some("t".into()),
            ..Roles::default()
        };
        let frames = [Frame::new([("t", t), ("x", x)])];
        let runs = Runs::of_frames(&frames, roles, ReadOptions::default()).unwrap();
        Look::new(runs, 1, true, |_| ()).unwrap()
    }

    fn wave(rows: usize, noise: f64, seed: u64) -> Vec<f64> {
        let mut rng = Stream::new(seed).at(0);
        let value = |k: usize| (0.05 * k as f64).sin() + noise * rng.normal();
        (0..rows).map(value).collect()
    }

    #[test]
    fn one_value_far_off_is_found_wherever_it_stands() {
        for noise in [0.0, 0.01, 0.1] {
            for place in [0, 3, 500, 8190, 8193, 8999] {
                let mut x = wave(9000, noise, 3);
                let truth = x[place];
                x[place] = -999.0;
                let Blemishes { spikes, still, .. } = look(x, 0.01).blemishes;
                assert_eq!(
                    (spikes.len(), still.len()),
                    (1, 0),
                    "{noise} {place}: {spikes:?}"
                );
                let Spike {
                    row,
                    value,
                    expected,
                    ..
                } = spikes[0].clone();
                assert_eq!((row, value), (place as u64, -999.0));
                assert!(
                    (expected - truth).abs() < 0.05 + 6.0 * noise,
                    "{expected} {truth}"
                );
            }
        }
    }

    #[test]
    fn one_in_a_hundred_is_found_beside_others() {
        let mut x = wave(20_000, 0.01, 5);
        let mut rng = Stream::new(9).at(0);
        let mut truth = Vec::new();
        for k in 20..19_980 {
            if rng.uniform() < 0.01 {
                x[k] += if rng.uniform() < 0.5 { -1.0 } else { 1.0 } * (0.5 + 5.0 * rng.uniform());
                truth.push(k as u64);
            }
        }
        let found: Vec<u64> = look(x, 0.01)
            .blemishes
            .spikes
            .iter()
            .map(|s| s.row)
            .collect();
        let right = found.iter().filter(|row| truth.contains(row)).count();
        assert!(
            right as f64 > 0.95 * truth.len() as f64,
            "{right} of {}",
            truth.len()
        );
        assert!(
            found.len() - right <= truth.len() / 100,
            "{} too many",
            found.len() - right
        );
    }

    /// Values of a state that jumps, has kinks, moves fast at times, is rounded, or is nothing but noise: none of them is an accident.
    #[test]
    fn what_the_data_are_is_left_alone() {
        let rows = 10_000;
        let time = |k: usize| k as f64 * 0.01;
        let square: Vec<f64> = (0..rows)
            .map(|k| f64::from(time(k + 5).sin() > 0.0))
            .collect();
        let kinks: Vec<f64> = (0..rows)
            .map(|k| (time(k).rem_euclid(2.0) - 1.0).abs())
            .collect();
        let rounded: Vec<f64> = (0..rows).map(|k| (20.0 * time(k).sin()).round()).collect();
        let pulses: Vec<f64> = (0..rows)
            .map(|k| (60.0 * (time(k).sin() - 1.0)).exp())
            .collect();
        // Van der Pol's oscillator with a stiff spring, by small steps.
        let (mut x, mut v, mut stiff) = (2.0, 0.0, Vec::new());
        for _ in 0..rows {
            for _ in 0..100 {
                let a = 20.0 * (1.0 - x * x) * v - x;
                (x, v) = (x + 1e-4 * 5.0 * v, v + 1e-4 * 5.0 * a);
            }
            stiff.push(x);
        }
        for noise in [0.0, 1e-4, 0.01, 0.1] {
            let all = [
                ("square", &square),
                ("kinks", &kinks),
                ("pulses", &pulses),
                ("stiff", &stiff),
            ];
            for (name, clean) in all {
                let mut rng = Stream::new(11).at(0);
                let x = clean.iter().map(|x| x + noise * rng.normal()).collect();
                let found = look(x, 0.01).blemishes;
                assert!(found.is_empty(), "{name} {noise}: {found:?}");
            }
        }
        let found = look(rounded, 0.01).blemishes;
        assert!(found.is_empty(), "rounded: {found:?}");
        let mut rng = Stream::new(12).at(0);
        let found = look((0..50_000).map(|_| rng.normal()).collect(), 0.01).blemishes;
        assert!(found.is_empty(), "noise: {found:?}");
    }

    #[test]
    fn a_state_that_stands_still_for_no_reason_is_found() {
        let mut x = wave(3000, 0.01, 4);
        let value = x[1000];
        x[1000..1060].fill(value);
        let found = look(x, 0.01).blemishes;
        assert!(found.spikes.is_empty(), "{found:?}");
        assert_eq!(found.still.len(), 1);
        let Still { row, rows, .. } = found.still[0];
        assert_eq!((row, rows), (1000, 60));
        assert_eq!(found.still[0].place, "row 1001 of frame 1");
        // At rest, without noise: nothing is wrong.
        let rest: Vec<f64> = (0..3000)
            .map(|k| f64::from((600 - k).max(0)) * 0.01)
            .collect();
        assert!(look(rest, 0.01).blemishes.is_empty());
    }

    #[test]
    fn what_is_read_again_is_mended() {
        let mut x = wave(2000, 0.01, 6);
        x[700] = 1e6;
        let value = x[1200];
        x[1200..1230].fill(value);
        let t: Vec<f64> = (0..2000).map(|k| k as f64 * 0.01).collect();
        let roles = Roles {
            inputs: vec!["x".into()],
            time: Some("t".into()),
            ..Roles::default()
        };
        let frames = [Frame::new([("t", t), ("x", x.clone())])];
        let runs = || Runs::of_frames(&frames, roles.clone(), ReadOptions::default()).unwrap();
        let blemishes = Look::new(runs(), 1, true, |_| ()).unwrap().blemishes;
        let mut mended = runs().mended(blemishes.into());
        let (mut rows, mut gaps) = (Vec::new(), 0);
        while let Some(run) = mended.next_run().unwrap() {
            gaps += usize::from(run.gap);
            rows.extend(run.columns[1].iter().copied());
        }
        assert_eq!((rows.len(), gaps), (1970, 1));
        assert_eq!(rows[..700], x[..700]);
        assert!(rows[700].abs() < 2.0);
        assert_eq!(rows[1200..], x[1230..]);
    }
}
