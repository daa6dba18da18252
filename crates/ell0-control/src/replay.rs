//! Experience in a ring: the newest transitions replace the oldest.

use ell0::rng::Generator;

use crate::error::{Error, Result, require_size};

/// A transition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<'a> {
    /// Observation before the step.
    pub observation: &'a [f32],
    /// Action.
    pub action: &'a [f32],
    /// Reward.
    pub reward: f64,
    /// Observation after the step.
    pub next_observation: &'a [f32],
    /// Whether the episode ended in the state after the step.
    pub terminated: bool,
    /// Whether the episode was cut off there.
    pub truncated: bool,
}

/// A ring of transitions. Terminated and truncated are kept apart: only the first says that nothing comes after.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    capacity: usize,
    observation: usize,
    action: usize,
    /// Transitions that were ever added: the k-th stands at the place k modulo the capacity.
    added: u64,
    /// Row by row: observation, action, reward, next observation, and how it ended (1 for terminated plus 2 for truncated).
    values: Vec<f32>,
}

/// Transitions drawn from a replay buffer; matrices stand column after column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// Number of transitions.
    pub rows: usize,
    /// Observations.
    pub observation: Vec<f32>,
    /// Actions.
    pub action: Vec<f32>,
    /// Rewards.
    pub reward: Vec<f32>,
    /// Observations after the step.
    pub next_observation: Vec<f32>,
    /// Whether the episode ended there.
    pub terminated: Vec<bool>,
    /// Whether it was cut off there.
    pub truncated: Vec<bool>,
}

/// Numbers of a row.
fn width(observation: usize, action: usize) -> usize {
    2 * observation + action + 2
}

impl Replay {
    /// An empty ring for so many transitions.
    pub fn new(capacity: usize, observation: usize, action: usize) -> Result<Self> {
        if capacity == 0 || capacity.saturating_mul(width(observation, action)) > 1 << 32 {
            return Err(Error::Parameter {
                name: "capacity".into(),
                value: capacity as f64,
                expected: "it must be at least 1, and the ring at most 16 GiB",
            });
        }
        Ok(Replay {
            capacity,
            observation,
            action,
            added: 0,
            values: Vec::new(),
        })
    }

    /// Most transitions that it remembers.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of transitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len() / self.width()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Transitions that were ever added, those that are forgotten included.
    #[must_use]
    pub fn added(&self) -> u64 {
        self.added
    }

    /// Numbers of a row.
    pub(crate) fn width(&self) -> usize {
        width(self.observation, self.action)
    }

    /// The rows from the `from`-th transition ever added on, in the order of time, as at most two pieces; none if some of them are forgotten.
    pub(crate) fn since(&self, from: u64) -> Option<[&[f32]; 2]> {
        let wanted = usize::try_from(self.added.checked_sub(from)?).ok()?;
        if wanted > self.len() {
            return None;
        }
        let (width, end) = (self.width(), (self.added % self.capacity as u64) as usize);
        let row = |k: usize| k * width;
        Some(if self.len() < self.capacity {
            [&self.values[row(self.len() - wanted)..], &[]]
        } else if wanted <= end {
            [&self.values[row(end - wanted)..row(end)], &[]]
        } else {
            let before = wanted - end;
            [
                &self.values[row(self.capacity - before)..],
                &self.values[..row(end)],
            ]
        })
    }

    /// An empty ring filled with rows in the order of time, of which the first is the `first`-th transition ever added; none if they do not fit.
    pub(crate) fn restored(mut self, mut rows: Vec<f32>, first: u64) -> Option<Self> {
        let width = self.width();
        let count = rows.len() / width;
        let added = first.checked_add(count as u64)?;
        let endings = rows.iter().skip(width - 1).step_by(width);
        let enough = count as u64 >= added.min(self.capacity as u64);
        let fits = rows.len().is_multiple_of(width)
            && enough
            && rows.iter().all(|v| v.is_finite())
            && endings.clone().all(|e| [0.0, 1.0, 2.0, 3.0].contains(e));
        if !fits {
            return None;
        }
        let kept = count.min(self.capacity);
        rows.drain(..(count - kept) * width);
        if kept == self.capacity {
            let end = (added % self.capacity as u64) as usize;
            rows.rotate_right(end * width);
        }
        self.values = rows;
        self.added = added;
        Some(self)
    }

    /// Adds a transition; the oldest goes if the ring is full. Values that are not finite are refused: they would spoil all training.
    pub fn push(&mut self, transition: Transition) -> Result<()> {
        let Transition {
            observation,
            action,
            reward,
            next_observation,
            ..
        } = transition;
        require_size("an observation", observation.len(), self.observation)?;
        require_size("an observation", next_observation.len(), self.observation)?;
        require_size("an action", action.len(), self.action)?;
        if !(reward as f32).is_finite() {
            return Err(Error::NotFinite {
                what: "the reward",
                value: reward,
            });
        }
        for (what, values) in [
            ("an observation", observation),
            ("an action", action),
            ("an observation", next_observation),
        ] {
            if let Some(&value) = values.iter().find(|v| !v.is_finite()) {
                return Err(Error::NotFinite {
                    what,
                    value: f64::from(value),
                });
            }
        }
        let row = observation
            .iter()
            .chain(action)
            .copied()
            .chain([reward as f32])
            .chain(next_observation.iter().copied());
        let ending = u8::from(transition.terminated) + 2 * u8::from(transition.truncated);
        let row = row.chain([f32::from(ending)]);
        if self.len() < self.capacity {
            self.values.extend(row);
        } else {
            let width = self.width();
            let place = (self.added % self.capacity as u64) as usize;
            self.values[place * width..][..width]
                .iter_mut()
                .zip(row)
                .for_each(|(slot, value)| *slot = value);
        }
        self.added += 1;
        Ok(())
    }

    /// Draws transitions uniformly, with replacement.
    pub fn sample(&self, rows: usize, rng: &mut Generator, batch: &mut Batch) -> Result<()> {
        if self.is_empty() {
            return Err(Error::Method(ell0::Error::Empty {
                what: "replay buffer",
            }));
        }
        let (o, a, width) = (self.observation, self.action, self.width());
        batch.rows = rows;
        batch.observation.resize(rows * o, 0.0);
        batch.action.resize(rows * a, 0.0);
        batch.reward.resize(rows, 0.0);
        batch.next_observation.resize(rows * o, 0.0);
        batch.terminated.resize(rows, false);
        batch.truncated.resize(rows, false);
        let held = self.len();
        for row in 0..rows {
            let index = rng.index(held);
            let values = &self.values[index * width..][..width];
            for k in 0..o {
                batch.observation[k * rows + row] = values[k];
                batch.next_observation[k * rows + row] = values[o + a + 1 + k];
            }
            for k in 0..a {
                batch.action[k * rows + row] = values[o + k];
            }
            batch.reward[row] = values[o + a];
            let ending = values[width - 1];
            batch.terminated[row] = ending == 1.0 || ending == 3.0;
            batch.truncated[row] = ending >= 2.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ell0::rng::Stream;

    use super::*;

    fn push(replay: &mut Replay, k: usize) -> Result<()> {
        let value = k as f32;
        replay.push(Transition {
            observation: &[value, -value],
            action: &[value * 10.0],
            reward: f64::from(value) * 100.0,
            next_observation: &[value + 1.0, -value - 1.0],
            terminated: k.is_multiple_of(3),
            truncated: k.is_multiple_of(5),
        })
    }

    #[test]
    fn the_newest_stay_and_all_are_drawn_alike() {
        let mut replay = Replay::new(10, 2, 1).expect("a ring");
        for k in 0..37 {
            push(&mut replay, k).expect("finite");
        }
        assert_eq!(replay.len(), 10);
        let mut counts = [0u32; 37];
        let mut batch = Batch::default();
        let (rows, draws) = (256, 400);
        let mut rng = Stream::new(1).at(0);
        for _ in 0..draws {
            replay.sample(rows, &mut rng, &mut batch).expect("rows");
            for row in 0..rows {
                let k = batch.observation[row] as usize;
                let value = k as f32;
                counts[k] += 1;
                // Everything in a row belongs together.
                assert_eq!(batch.observation[rows + row], -value);
                assert_eq!(batch.action[row], value * 10.0);
                assert_eq!(batch.reward[row], value * 100.0);
                assert_eq!(batch.next_observation[row], value + 1.0);
                assert_eq!(batch.terminated[row], k.is_multiple_of(3));
                assert_eq!(batch.truncated[row], k.is_multiple_of(5));
            }
        }
        assert!(counts[..27].iter().all(|c| *c == 0));
        // χ² with 9 degrees of freedom is below 33.7 with probability 0.9999.
        let expected = f64::from(rows as u32 * draws) / 10.0;
        let chi: f64 = counts[27..]
            .iter()
            .map(|c| (f64::from(*c) - expected).powi(2) / expected)
            .sum();
        assert!(chi < 33.7, "{chi}");
    }

    /// What was written piece by piece is the same ring again.
    #[test]
    fn a_ring_is_restored_from_its_rows_in_time() {
        let mut replay = Replay::new(10, 2, 1).expect("a ring");
        let (mut all, mut first) = (Vec::new(), 0);
        for k in 0..37 {
            let before = replay.added();
            push(&mut replay, k).expect("finite");
            all.extend(replay.since(before).expect("just added").concat());
            for from in (replay.added() - replay.len() as u64)..=replay.added() {
                let rows = replay.since(from).expect("remembered").concat();
                assert_eq!(rows, all[(from - first) as usize * replay.width()..]);
            }
            let empty = Replay::new(10, 2, 1).expect("a ring");
            let again = empty.restored(all.clone(), first).expect("it fits");
            assert_eq!(again, replay);
            if k == 20 {
                all.drain(..5 * replay.width());
                first = 5;
            }
        }
        assert!(replay.since(20).is_none() && replay.since(38).is_none());
        let empty = || Replay::new(10, 2, 1).expect("a ring");
        assert!(empty().restored(all[1..].to_vec(), first).is_none());
        assert!(
            empty()
                .restored(all[..9 * replay.width()].to_vec(), 9)
                .is_none()
        );
        all[3] = f32::NAN;
        assert!(empty().restored(all, first).is_none());
    }

    #[test]
    fn bad_transitions_are_refused_and_nothing_is_lost() {
        let mut replay = Replay::new(4, 2, 1).expect("a ring");
        push(&mut replay, 1).expect("finite");
        let before = replay.clone();
        let good = Transition {
            observation: &[0.0, 0.0],
            action: &[0.0],
            reward: 0.0,
            next_observation: &[0.0, 0.0],
            terminated: false,
            truncated: false,
        };
        for bad in [
            Transition {
                reward: f64::NAN,
                ..good
            },
            Transition {
                reward: f64::INFINITY,
                ..good
            },
            Transition {
                action: &[],
                ..good
            },
            Transition {
                observation: &[0.0, f32::NAN],
                ..good
            },
            Transition {
                next_observation: &[0.0],
                ..good
            },
        ] {
            assert!(replay.push(bad).is_err());
        }
        assert_eq!(replay, before);
        assert!(Replay::new(0, 1, 1).is_err());
        let empty = Replay::new(1, 1, 1).expect("a ring");
        assert!(
            empty
                .sample(1, &mut Stream::new(0).at(0), &mut Batch::default())
                .is_err()
        );
    }
}
