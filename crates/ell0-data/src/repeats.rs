//! Rows in which a state that is noisy has exactly the value of the row before: no measurement of its own, but the last one held.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{noise::Differences, runs::Run};

/// A state that repeats values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeats {
    /// Which state.
    pub state: usize,
    /// Rows with the value of the row before.
    pub rows: u64,
    /// Of so many that have a row before.
    pub of: u64,
    /// Rows that each value stands for, where that is nearly always the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// Where the first of them stands.
    pub place: String,
}

impl Repeats {
    /// Those of two parts of the data.
    #[must_use]
    pub fn merged(mut ours: Vec<Repeats>, theirs: Vec<Repeats>) -> Vec<Repeats> {
        for other in theirs {
            match ours.iter_mut().find(|own| own.state == other.state) {
                Some(own) => {
                    own.rows += other.rows;
                    own.of += other.of;
                    own.every = own.every.filter(|every| Some(*every) == other.every);
                }
                None => ours.push(other),
            }
        }
        ours.sort_by_key(|repeats| repeats.state);
        ours
    }
}

/// Steps between neighbours that are kept.
const KEPT: usize = 20_000;

/// Repeats that are told: so many, and this share of the rows.
const FEWEST: u64 = 5;
const SHARE: f64 = 0.005;

/// The usual step is so many of the smallest: else values are rounded, and equal neighbours are what rounding makes.
const FINE: f64 = 10.0;

/// The noise is so many of the smallest steps.
const NOISY: f64 = 3.0;

/// Smallest steps, and no steps, are about equally frequent where values are rounded; so many times as many are something else.
const EXCESS: usize = 3;

/// Values are held for the same number of rows if so large a share of them are, and there are so many.
const REGULAR: f64 = 0.8;
const VALUES: u64 = 10;

/// Neighbouring values of about the same size: instruments that show so many digits round large ones more than small ones.
#[derive(Debug, Default)]
struct Decade {
    steps: Vec<f64>,
    /// Repeats beside these steps.
    repeats: usize,
}

impl Decade {
    /// The smallest step, if the usual one is many of it and there are more repeats than rounding makes.
    fn smallest(&mut self) -> Option<f64> {
        self.steps.sort_by(f64::total_cmp);
        let smallest = *self.steps.first()?;
        let fine = self.steps[self.steps.len() / 2] >= FINE * smallest;
        // What rounding would make of equal neighbours is about as frequent as the smallest step.
        let near = self.steps.partition_point(|s| *s <= 1.5 * smallest);
        (fine && self.repeats > EXCESS * near).then_some(smallest)
    }
}

/// What is known of one state.
#[derive(Debug, Default)]
struct Watched {
    last: Option<f64>,
    /// Rows that the last value stands for already.
    length: u64,
    rows: u64,
    of: u64,
    place: Option<String>,
    /// Steps that are kept, by the power of ten of the smaller of the two values.
    decades: BTreeMap<i32, Decade>,
    kept: usize,
    /// How many values stand for so many rows.
    lengths: BTreeMap<u64, u64>,
}

impl Watched {
    fn end(&mut self) {
        if self.length > 0 {
            *self.lengths.entry(self.length).or_default() += 1;
        }
        (self.last, self.length) = (None, 0);
    }
}

/// Looks at states as they go by.
#[derive(Debug)]
pub(crate) struct Watch(Vec<Watched>);

impl Watch {
    pub fn new(states: usize) -> Self {
        Watch((0..states).map(|_| Watched::default()).collect())
    }

    pub fn push(&mut self, run: &Run) {
        for (state, column) in self.0.iter_mut().zip(run.columns.iter().skip(1)) {
            if run.begins || run.gap {
                state.end();
            }
            for (k, value) in column.iter().enumerate() {
                let Some(last) = state.last.replace(*value) else {
                    state.length = 1;
                    continue;
                };
                state.of += 1;
                let kept = state.kept < KEPT;
                // The finer of the two scales, of which both are multiples.
                let size = value.abs().min(last.abs());
                let decade = match size > 0.0 {
                    true => size.log10().floor() as i32,
                    false => i32::MIN,
                };
                if *value == last {
                    state.rows += 1;
                    state.length += 1;
                    if kept {
                        state.decades.entry(decade).or_default().repeats += 1;
                    }
                    state
                        .place
                        .get_or_insert_with(|| run.spot.place(run.places[k]));
                } else {
                    *state.lengths.entry(state.length).or_default() += 1;
                    state.length = 1;
                    if kept {
                        let own = state.decades.entry(decade).or_default();
                        own.steps.push((value - last).abs());
                        state.kept += 1;
                    }
                }
            }
        }
    }

    /// States that repeat values although they are noisy; the longest trajectory tells how noisy they are.
    pub fn finish(mut self, time: &[f64], longest: &[Vec<f64>]) -> Vec<Repeats> {
        let states = self.0.iter_mut().zip(longest).enumerate();
        let found = states.filter_map(|(state, (watched, series))| {
            watched.end();
            watched.told(state, || Differences::new(time, series, 8).typical())
        });
        found.collect()
    }
}

impl Watched {
    fn told(&mut self, state: usize, noise: impl Fn() -> f64) -> Option<Repeats> {
        let few = self.rows < FEWEST || (self.rows as f64) < SHARE * self.of as f64;
        if few {
            return None;
        }
        // Most repeats are where values are fine, or rounding makes them.
        let mut telling = 0;
        let mut smallest = f64::INFINITY;
        for decade in self.decades.values_mut() {
            if let Some(own) = decade.smallest() {
                telling += decade.repeats;
                smallest = smallest.min(own);
            }
        }
        let all: usize = self.decades.values().map(|decade| decade.repeats).sum();
        if 2 * telling < all || telling == 0 {
            return None;
        }
        let every = self.every();
        (every.is_some() || noise() >= NOISY * smallest).then(|| Repeats {
            state,
            rows: self.rows,
            of: self.of,
            every,
            place: self.place.clone().unwrap_or_default(),
        })
    }

    /// The number of rows that nearly all values stand for, if it is more than one.
    fn every(&self) -> Option<u64> {
        let values: u64 = self.lengths.values().sum();
        let (length, count) = self.lengths.iter().max_by_key(|(_, count)| **count)?;
        let regular = *count as f64 >= REGULAR * values as f64 && values >= VALUES;
        (*length > 1 && regular).then_some(*length)
    }
}

#[cfg(test)]
mod tests {
    use ell0::rng::Stream;

    use super::*;

    /// What is said of a column.
    fn found(column: Vec<f64>) -> Option<Repeats> {
        let time: Vec<f64> = (0..column.len()).map(|k| k as f64).collect();
        let mut watch = Watch::new(1);
        // In two blocks of one trajectory.
        let half = column.len() / 2;
        for (from, to) in [(0, half), (half, column.len())] {
            watch.push(&Run {
                begins: from == 0,
                places: (from..to).map(|k| k as u64 + 2).collect(),
                columns: vec![time[from..to].to_vec(), column[from..to].to_vec()],
                ..Run::default()
            });
        }
        watch.finish(&time, &[column]).pop()
    }

    fn noisy(noise: f64) -> Vec<f64> {
        let mut rng = Stream::new(2).at(0);
        let wave = |k: usize| (0.02 * k as f64).cos();
        (0..2000).map(|k| wave(k) + noise * rng.normal()).collect()
    }

    #[test]
    fn held_values_are_found() {
        let mut frozen = noisy(0.01);
        for k in (20..2000).step_by(17) {
            frozen[k] = frozen[k - 1];
        }
        let repeats = found(frozen).expect("repeats");
        assert_eq!((repeats.rows, repeats.of, repeats.every), (117, 1999, None));
        // Sampled and held, with noise and without.
        for noise in [0.01, 0.0] {
            let all = noisy(noise);
            let held: Vec<f64> = (0..2000).map(|k| all[k - k % 4]).collect();
            let repeats = found(held).expect("repeats");
            assert_eq!((repeats.rows, repeats.every), (1500, Some(4)));
        }
    }

    /// Rounded values, whole numbers, states at rest or stuck: nothing is said.
    #[test]
    fn what_is_natural_is_not_told() {
        let round = |digits: f64, x: Vec<f64>| {
            x.iter()
                .map(|x| (x * digits).round() / digits)
                .collect::<Vec<f64>>()
        };
        for digits in [10.0, 100.0, 1000.0, 10_000.0] {
            for noise in [0.0, 0.003, 0.05] {
                assert_eq!(found(round(digits, noisy(noise))), None, "{digits} {noise}");
            }
        }
        assert_eq!(found(noisy(0.0)), None);
        assert_eq!(found(noisy(0.01)), None);
        let decay = (0..2000).map(|k| (-0.02 * f64::from(k)).exp());
        assert_eq!(found(round(10_000.0, decay.collect())), None);
        // Moves, sticks, moves.
        let sticks = |k: usize| match k % 400 {
            at @ 0..250 => (0.01 * at as f64).sin() + (k / 400) as f64,
            _ => 2.5f64.sin() + (k / 400) as f64,
        };
        assert_eq!(found((0..2000).map(sticks).collect()), None);
        let switch = |k: usize| f64::from(u8::from(k % 100 < 40));
        assert_eq!(found((0..2000).map(switch).collect()), None);
    }
}
