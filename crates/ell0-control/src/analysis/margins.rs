//! How much gain and delay a loop bears before its equilibrium becomes unstable.

use ell0::equation::Model;

use super::{
    equilibria::{Equilibrium, newton},
    linear,
    plant::Plant,
    value::Range,
};
use crate::error::Result;

/// Gains are looked for up to this factor.
const LARGEST_GAIN: f64 = 1000.0;

/// Delays are looked for up to so many steps.
const LONGEST_DELAY: usize = 100;

/// Whether the equilibrium that is at `state` for gain 1, followed as the gain changes, is stable.
fn stable_with(plant: &Plant, policy: &Model, gain: f64, state: &mut Vec<f64>) -> Result<bool> {
    let map = plant.closed(policy, gain)?;
    let Some(moved) = newton(plant, &map, state) else {
        return Ok(false);
    };
    // Another equilibrium is not the same one moved.
    let apart = plant.difference(&moved, state);
    if !plant.is_small(&apart, 0.05) {
        return Ok(false);
    }
    *state = moved;
    let (_, jacobian) = map.jacobian(state);
    Ok(linear::is_stable(&jacobian))
}

/// The interval of factors of the action, around 1, that keep an equilibrium stable; looked for from a thousandth to a thousandfold. None for one that is not stable.
pub fn gain_margin(
    plant: &Plant,
    policy: &Model,
    equilibrium: &Equilibrium,
) -> Result<Option<Range>> {
    if !equilibrium.is_stable() {
        return Ok(None);
    }
    let side = |factor: f64| -> Result<f64> {
        let (mut good, mut state) = (1.0, equilibrium.state.clone());
        let mut bad = loop {
            let gain: f64 = good * factor;
            if !(1.0 / LARGEST_GAIN..LARGEST_GAIN).contains(&gain) {
                return Ok(good);
            }
            let mut moved = state.clone();
            if !stable_with(plant, policy, gain, &mut moved)? {
                break gain;
            }
            (good, state) = (gain, moved);
        };
        for _ in 0..40 {
            let gain = 0.5 * (good + bad);
            let mut moved = state.clone();
            if stable_with(plant, policy, gain, &mut moved)? {
                (good, state) = (gain, moved);
            } else {
                bad = gain;
            }
        }
        Ok(good)
    };
    Ok(Some(Range::new(side(0.97)?, side(1.03)?)))
}

/// The largest number of steps that actions may come late without making the equilibrium unstable, up to 100; none for one that is not stable.
pub fn tolerated_delay(
    plant: &Plant,
    policy: &Model,
    equilibrium: &Equilibrium,
) -> Result<Option<usize>> {
    if !equilibrium.is_stable() {
        return Ok(None);
    }
    let (n, m) = (plant.states.len(), plant.actions.len());
    let (action, gain) = plant.policy(policy, 1.0)?.jacobian(&equilibrium.state);
    let inputs = [&equilibrium.state[..], &action].concat();
    let (_, open) = plant.open().jacobian(&inputs);
    // The state with the actions that are still on their way, the oldest first: x⁺ = A·x + B·oldest, the newest is K·x.
    let mut tolerated = 0;
    for delay in 1..=LONGEST_DELAY {
        let size = n + delay * m;
        let mut loop_matrix = vec![vec![0.0; size]; size];
        for i in 0..n {
            loop_matrix[i][..n + m].copy_from_slice(&open[i]);
        }
        for k in 0..delay - 1 {
            for j in 0..m {
                loop_matrix[n + k * m + j][n + (k + 1) * m + j] = 1.0;
            }
        }
        for j in 0..m {
            loop_matrix[n + (delay - 1) * m + j][..n].copy_from_slice(&gain[j]);
        }
        if !linear::is_stable(&loop_matrix) {
            break;
        }
        tolerated = delay;
    }
    Ok(Some(tolerated))
}
