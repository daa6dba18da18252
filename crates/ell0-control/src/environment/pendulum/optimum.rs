//! Optimal control of the pendulum by dynamic programming on a grid over (θ, θ̇).

use std::f64::consts::PI;

use rayon::prelude::*;

use super::Pendulum;
use crate::{
    environment::{Environment, GridConfig, Start},
    error::Result,
    evaluation::Return,
};

/// With more steps left than this, optimal control acts as with this many.
const HORIZON: u32 = 400;

/// Values on a grid over (θ, θ̇), θ round the circle.
struct Values {
    angles: usize,
    speeds: usize,
    values: Vec<f64>,
}

impl Values {
    /// Bilinear interpolation.
    fn at(&self, [theta, speed]: [f64; 2]) -> f64 {
        let turn = (theta + PI) * (0.5 / PI);
        // Most angles are near: the remainder is slow.
        let turn = match turn {
            0.0..1.0 => turn,
            1.0..2.0 => turn - 1.0,
            -1.0..0.0 => turn + 1.0,
            _ => turn.rem_euclid(1.0),
        };
        let turn = turn * self.angles as f64;
        let i = (turn as usize).min(self.angles - 1);
        let u = turn - i as f64;
        let max = Pendulum::MAX_SPEED;
        let level = (speed + max) / (2.0 * max) * (self.speeds - 1) as f64;
        let j = (level as usize).min(self.speeds - 2);
        let v = level - j as f64;
        let next = if i + 1 == self.angles { 0 } else { i + 1 };
        let between = |i: usize| {
            let values = &self.values[i * self.speeds + j..][..2];
            (1.0 - v) * values[0] + v * values[1]
        };
        (1.0 - u) * between(i) + u * between(next)
    }
}

/// The mean return of optimal control over so many steps from the given starts: value iteration backwards in time on the grid, then the policy that
/// looks one step ahead with its values is run in the real world, so that what is reported was really reached.
pub(super) fn optimum(
    pendulum: &Pendulum,
    steps: u32,
    starts: &[Start],
    grid: GridConfig,
) -> Result<Return> {
    let mut world = pendulum.clone();
    let states: Vec<[f64; 2]> = starts
        .iter()
        .map(|start| {
            start.begin(&mut world)?;
            Ok([world.state()[0], world.state()[1]])
        })
        .collect::<Result<_>>()?;
    let (n, m) = (grid.points.max(3), grid.points.max(3));
    let torques: Vec<f64> = (0..grid.actions.max(2))
        .map(|k| Pendulum::MAX_TORQUE * (2.0 * k as f64 / (grid.actions.max(2) - 1) as f64 - 1.0))
        .collect();
    let zero = || Values {
        angles: n,
        speeds: m,
        values: vec![0.0; n * m],
    };
    // One grid of values for each number of steps that are left; from far enough on they hardly change.
    let mut to_go: Vec<Values> = vec![zero()];
    for _ in 1..steps.min(HORIZON) {
        let after = &to_go[to_go.len() - 1];
        // What holds at (θ, θ̇) with u holds at (−θ, −θ̇) with −u: half of the grid is enough.
        let (lower, upper) = (m / 2, m - m / 2);
        let half: Vec<f64> = (0..n * upper)
            .into_par_iter()
            .map(|k| {
                let theta = (k / upper) as f64 / n as f64 * 2.0 * PI - PI;
                let level = (lower + k % upper) as f64 / (m - 1) as f64;
                let speed = level * 2.0 * Pendulum::MAX_SPEED - Pendulum::MAX_SPEED;
                best(pendulum, &torques, after, [theta, speed]).1
            })
            .collect();
        let value = |i: usize, j: usize| match j.checked_sub(lower) {
            Some(j) => half[i * upper + j],
            None => half[(n - i) % n * upper + (upper - 1 - j)],
        };
        let cells = (0..n).flat_map(|i| (0..m).map(move |j| (i, j)));
        let values = cells.map(|(i, j)| value(i, j)).collect();
        to_go.push(Values {
            angles: n,
            speeds: m,
            values,
        });
    }
    let returns: Vec<f64> = states
        .par_iter()
        .map(|start| {
            let mut state = *start;
            let mut total = 0.0;
            for left in (0..steps as usize).rev() {
                let after = &to_go[left.min(to_go.len() - 1)];
                let (torque, _) = best(pendulum, &torques, after, state);
                let (next, reward) = pendulum.next(state, torque);
                total += reward;
                state = next;
            }
            total
        })
        .collect();
    let steps = u64::from(steps) * states.len() as u64;
    Ok(Return::of(&returns, steps))
}

/// Finer torques around the best are tried so often, at half the distance each time.
const HALVINGS: u32 = 3;

/// The torque, of those tried, with the largest reward and value after it, and that sum.
fn best(pendulum: &Pendulum, torques: &[f64], after: &Values, state: [f64; 2]) -> (f64, f64) {
    let step = pendulum.next_of(state);
    let worth = |torque: f64| {
        let (next, reward) = step(torque);
        reward + after.at(next)
    };
    let mut found = (0.0, f64::NEG_INFINITY);
    let consider = |torque: f64, found: &mut (f64, f64)| {
        let value = worth(torque);
        if value > found.1 {
            *found = (torque, value);
        }
    };
    for &torque in torques {
        consider(torque, &mut found);
    }
    let mut distance = torques[1] - torques[0];
    for _ in 0..HALVINGS {
        distance *= 0.5;
        let centre = found.0;
        for torque in [centre - distance, centre + distance] {
            consider(torque, &mut found);
        }
    }
    found
}
