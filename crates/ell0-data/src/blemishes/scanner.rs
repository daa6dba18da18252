//! A first look at runs as they go by: what is far off its neighbours, and what stands still.

use super::{
    ACCIDENTS, Blemishes, Spike, Still,
    around::{Around, REACH},
};
use crate::runs::{Run, Spot};

/// Rows on either side that must be there for a row to be looked at.
const MARGIN: usize = 5;

/// A value is looked at closely if it is so many times as far off its neighbours as most of them are off theirs.
const ODD: f64 = 10.0;

/// And so many deviations of the noise.
const NOISY: f64 = 6.0;

/// And this share of the state's spread: smaller ones do no harm.
const HARMFUL: f64 = 1e-3;

/// Where a state moves by more than this share of its spread from row to row, its own turns look like spikes: then only what is so many times its spread away from all is one.
const FAST: f64 = 0.15;
const GROSS: f64 = 10.0;

/// Rows that a state must stand still for.
const STILL: usize = 10;

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
        self.spot.place(self.places.get(row).copied().unwrap_or(0))
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
            astray: Vec::new(),
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
