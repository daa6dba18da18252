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
    /// Place of the next transition once the ring is full.
    next: usize,
    /// Row by row: observation, action, reward, next observation.
    values: Vec<f32>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
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

impl Replay {
    /// An empty ring for so many transitions.
    pub fn new(capacity: usize, observation: usize, action: usize) -> Result<Self> {
        let width = 2 * observation + action + 1;
        if capacity == 0 || capacity.saturating_mul(width) > 1 << 32 {
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
            next: 0,
            values: Vec::new(),
            terminated: Vec::new(),
            truncated: Vec::new(),
        })
    }

    /// The contents: values row by row, whether each row terminated and was truncated, and the place of the next one.
    pub(crate) fn contents(&self) -> (&[f32], &[bool], &[bool], usize) {
        (&self.values, &self.terminated, &self.truncated, self.next)
    }

    /// An empty ring filled with the contents of another, if they fit.
    pub(crate) fn restored(
        mut self,
        values: Vec<f32>,
        terminated: Vec<bool>,
        truncated: Vec<bool>,
        next: usize,
    ) -> Option<Self> {
        let rows = terminated.len();
        let fits = rows <= self.capacity
            && truncated.len() == rows
            && values.len() == rows * self.width()
            && values.iter().all(|v| v.is_finite())
            && (next == 0 || rows == self.capacity && next < rows);
        self.values = values;
        self.terminated = terminated;
        self.truncated = truncated;
        self.next = next;
        fits.then_some(self)
    }

    /// Number of transitions.
    pub fn len(&self) -> usize {
        self.terminated.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terminated.is_empty()
    }

    fn width(&self) -> usize {
        2 * self.observation + self.action + 1
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
        if self.len() < self.capacity {
            self.values.extend(row);
            self.terminated.push(transition.terminated);
            self.truncated.push(transition.truncated);
        } else {
            let width = self.width();
            let place = self.next;
            self.values[place * width..][..width]
                .iter_mut()
                .zip(row)
                .for_each(|(slot, value)| *slot = value);
            self.terminated[place] = transition.terminated;
            self.truncated[place] = transition.truncated;
            self.next = (place + 1) % self.capacity;
        }
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
        for row in 0..rows {
            let index = rng.index(self.len());
            let values = &self.values[index * width..][..width];
            for k in 0..o {
                batch.observation[k * rows + row] = values[k];
                batch.next_observation[k * rows + row] = values[o + a + 1 + k];
            }
            for k in 0..a {
                batch.action[k * rows + row] = values[o + k];
            }
            batch.reward[row] = values[o + a];
            batch.terminated[row] = self.terminated[index];
            batch.truncated[row] = self.truncated[index];
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
