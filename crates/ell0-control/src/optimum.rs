//! Optimal control by dynamic programming on a grid, for worlds of two state dimensions.

use std::f64::consts::PI;

use rayon::prelude::*;

use crate::{environment::Pendulum, evaluation::Return};

/// Settings of the grid.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `angles` | 401 | points over θ |
/// | `speeds` | 401 | points over θ̇ |
/// | `torques` | 41 | torques tried |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct GridConfig {
    pub angles: usize,
    pub speeds: usize,
    pub torques: usize,
}

impl Default for GridConfig {
    fn default() -> Self {
        GridConfig {
            angles: 401,
            speeds: 401,
            torques: 41,
        }
    }
}

/// Values on a grid over (θ, θ̇), θ round the circle.
struct Values {
    angles: usize,
    speeds: usize,
    values: Vec<f64>,
}

impl Values {
    /// Bilinear interpolation.
    fn at(&self, [theta, speed]: [f64; 2]) -> f64 {
        let turn = ((theta + PI) / (2.0 * PI)).rem_euclid(1.0) * self.angles as f64;
        let i = (turn as usize).min(self.angles - 1);
        let u = turn - i as f64;
        let max = Pendulum::MAX_SPEED;
        let level = (speed + max) / (2.0 * max) * (self.speeds - 1) as f64;
        let j = (level as usize).min(self.speeds - 2);
        let v = level - j as f64;
        let next = (i + 1) % self.angles;
        let value = |i: usize, j: usize| self.values[i * self.speeds + j];
        (1.0 - u) * ((1.0 - v) * value(i, j) + v * value(i, j + 1))
            + u * ((1.0 - v) * value(next, j) + v * value(next, j + 1))
    }
}

/// The mean return of optimal control of a pendulum over so many steps from the given initial states: value iteration backwards in time on the grid, then the policy that
/// looks one step ahead with its values is run in the real world, so that what is reported was really reached.
pub fn pendulum_optimum(
    pendulum: &Pendulum,
    steps: u32,
    states: &[Vec<f64>],
    config: GridConfig,
) -> Return {
    let (n, m) = (config.angles.max(3), config.speeds.max(3));
    let torques: Vec<f64> = (0..config.torques.max(2))
        .map(|k| Pendulum::MAX_TORQUE * (2.0 * k as f64 / (config.torques.max(2) - 1) as f64 - 1.0))
        .collect();
    let zero = || Values {
        angles: n,
        speeds: m,
        values: vec![0.0; n * m],
    };
    // Values of the last steps converge quickly; all of them are kept, one for each step that is left.
    let mut to_go: Vec<Values> = vec![zero()];
    for _ in 1..steps {
        let after = &to_go[to_go.len() - 1];
        let values: Vec<f64> = (0..n * m)
            .into_par_iter()
            .map(|k| {
                let theta = (k / m) as f64 / n as f64 * 2.0 * PI - PI;
                let speed = (k % m) as f64 / (m - 1) as f64 * 2.0 * Pendulum::MAX_SPEED
                    - Pendulum::MAX_SPEED;
                best(pendulum, &torques, after, [theta, speed]).1
            })
            .collect();
        to_go.push(Values {
            angles: n,
            speeds: m,
            values,
        });
    }
    let returns: Vec<f64> = states
        .par_iter()
        .map(|start| {
            let mut state = [start[0], start[1]];
            let mut total = 0.0;
            for after in to_go.iter().rev().take(steps as usize) {
                let (torque, _) = best(pendulum, &torques, after, state);
                let (next, reward) = pendulum.next(state, torque);
                total += reward;
                state = next;
            }
            total
        })
        .collect();
    let steps = u64::from(steps) * states.len() as u64;
    Return::of(&returns, steps)
}

/// The torque, of those tried, with the largest reward and value after it, and that sum.
fn best(pendulum: &Pendulum, torques: &[f64], after: &Values, state: [f64; 2]) -> (f64, f64) {
    let worth = |torque: f64| {
        let (next, reward) = pendulum.next(state, torque);
        reward + after.at(next)
    };
    let mut found = (0.0, f64::NEG_INFINITY);
    for &torque in torques {
        let value = worth(torque);
        if value > found.1 {
            found = (torque, value);
        }
    }
    found
}
