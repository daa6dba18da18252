//! The linear-quadratic regulator of a world: what a law may be compared with.

use rayon::prelude::*;

use super::{closed::clamp, riccati::Riccati};
use crate::{
    analysis::linear,
    environment::SmoothStep,
    error::{Error, Result, require_size},
};

/// The linear-quadratic regulator of a world with a quadratic cost, linearised around 0. In a linear world without limits of the actions nothing is better over an endless time; where actions are limited, it is clipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Regulator {
    riccati: Riccati,
    ranges: Vec<[f64; 2]>,
}

/// A step of a regulated world.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The state.
    pub state: &'a [f64],
    /// The action, in its range.
    pub action: &'a [f64],
    /// The next state.
    pub next: &'a [f64],
}

impl Regulator {
    /// The regulator of a world; none if its cost is not quadratic or there is none.
    pub fn of(world: &dyn SmoothStep) -> Result<Option<Self>> {
        let Some((states, actions)) = world.quadratic_cost() else {
            return Ok(None);
        };
        let ranges: Vec<[f64; 2]> = world.actions().into_iter().map(|(_, r)| r).collect();
        require_size("the weights of the actions", actions.len(), ranges.len())?;
        let rest = vec![0.0; states.len()];
        let held: Vec<f64> = ranges.iter().map(|r| clamp(0.0, *r)).collect();
        let slopes = world.slopes(&rest, &held);
        let riccati = Riccati::new(&slopes.state, &slopes.action, &states, &actions)?;
        Ok(riccati.map(|riccati| Regulator { riccati, ranges }))
    }

    /// Its matrices.
    #[must_use]
    pub fn riccati(&self) -> &Riccati {
        &self.riccati
    }

    /// The action in a state, clipped to its range.
    #[must_use]
    pub fn action(&self, state: &[f64]) -> Vec<f64> {
        let rows = self.riccati.gain.rows().iter();
        rows.zip(&self.ranges)
            .map(|(row, range)| {
                let value: f64 = row.iter().zip(state).map(|(k, x)| k * x).sum();
                clamp(-value, *range)
            })
            .collect()
    }

    /// xᵀ·P·x: the cost of a start over an endless time, were actions not limited and the world linear. No law can have less then.
    #[must_use]
    pub fn least_cost(&self, state: &[f64]) -> f64 {
        linear::quadratic(self.riccati.p.rows(), state)
    }

    /// The return from each start over so many steps, by simulation with clipped actions; the reward of a step is the world's own. The same on any number of threads.
    pub fn returns(
        &self,
        world: &dyn SmoothStep,
        starts: &[Vec<f64>],
        steps: u32,
        reward: &(dyn Fn(Move) -> f64 + Sync),
    ) -> Result<Vec<f64>> {
        let n = self.riccati.p.rows().len();
        starts
            .par_iter()
            .map(|start| {
                require_size("a start", start.len(), n)?;
                let (mut state, mut sum) = (start.clone(), 0.0);
                for _ in 0..steps {
                    let action = self.action(&state);
                    let next = world.next(&state, &action);
                    sum += reward(Move {
                        state: &state,
                        action: &action,
                        next: &next,
                    });
                    state = next;
                }
                if sum.is_finite() {
                    Ok(sum)
                } else {
                    Err(Error::NotFinite {
                        what: "the return of the regulator",
                        value: sum,
                    })
                }
            })
            .collect()
    }
}
