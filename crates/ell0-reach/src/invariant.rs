//! A box that no trajectory leaves: the image of every cell of it is in it.

use ell0::equation::Interval;
use ell0_control::analysis::{Map, Pulse, Range, State, Values};

use crate::{
    enclosure::{Flow, Room},
    error::NoBasin,
    limits::Limits,
    question::Question,
    shear::Shear,
    tree::Cell,
};

/// Whether a box is left.
#[derive(Clone, Debug, PartialEq)]
pub enum Invariance {
    /// Never: no trajectory that begins in it.
    Proved {
        /// Cells that were looked at.
        cells: u64,
    },
    /// At the next step, from this state.
    Refuted(Vec<f64>),
    /// Not decided within the cells or the time that there were.
    Open,
}

/// Cells that are looked at, at most.
const MOST_CELLS: u64 = 2_000_000;

/// Cells are not divided more often.
const DEEPEST: u32 = 48;

/// Whether trajectories leave a box, given by ranges of some states; of the others it is as wide as their bounds. The pulse beats at every cell.
pub fn prove_invariant(
    states: &[State],
    map: &Map,
    stay: &[(String, Range)],
    pulse: Pulse,
) -> Result<Invariance, NoBasin> {
    match states.len() {
        1 => prove_in::<1>(states, map, stay, pulse),
        2 => prove_in::<2>(states, map, stay, pulse),
        3 => prove_in::<3>(states, map, stay, pulse),
        states => Err(NoBasin::TooManyStates { states }),
    }
}

fn prove_in<const N: usize>(
    states: &[State],
    map: &Map,
    stay: &[(String, Range)],
    pulse: Pulse,
) -> Result<Invariance, NoBasin> {
    if map.next_states().len() != N {
        return Err(NoBasin::OtherStates { states: N });
    }
    let periods = std::array::from_fn(|k| states[k].period);
    let mut limits: Limits<N> = Question::region(states, stay).map(|stay| Limits {
        stay,
        avoid: Vec::new(),
        periods,
    })?;
    for k in 0..N {
        let Range { low, high } = states[k].bounds;
        let Interval {
            low: least,
            high: most,
        } = limits.stay[k];
        // A whole turn of an angle is no limit.
        if !(periods[k].is_some() && limits.stay[k] == Interval::ENTIRE) {
            limits.stay[k] = Interval::new(least.max(low), most.min(high));
        }
    }
    let side = |k: usize| match limits.stay[k] {
        Interval::ENTIRE => states[k].bounds,
        Interval { low, high } => Range { low, high },
    };
    let whole = Cell::<N> {
        low: std::array::from_fn(|k| side(k).low),
        high: std::array::from_fn(|k| side(k).high),
    };
    let scale: [f64; N] = std::array::from_fn(|k| side(k).width());
    let (flow, shear) = (Flow::new(map, scale), Shear::none());
    let mut room = Room::default();
    let (mut stack, mut cells) = (vec![(whole, 0)], 0);
    while let Some((cell, depth)) = stack.pop() {
        cells += 1;
        if cells > MOST_CELLS || !pulse() {
            return Ok(Invariance::Open);
        }
        flow.begin(&cell, &shear, &mut room.set);
        if flow.step(&mut room.set, &mut room.steps) && limits.allow(&room.set.hull) {
            continue;
        }
        let middle = std::array::from_fn(|k| cell.middle(k));
        if leaves(map, &limits, &middle) {
            return Ok(Invariance::Refuted(middle.to_vec()));
        }
        if depth == DEEPEST {
            return Ok(Invariance::Open);
        }
        let share = |k: usize| (cell.high[k] - cell.low[k]) / scale[k];
        let axis = (0..N).fold(0, |a, b| if share(b) > share(a) { b } else { a });
        for upper in [false, true] {
            stack.push((cell.half(axis, upper), depth + 1));
        }
    }
    Ok(Invariance::Proved { cells })
}

/// Whether the image of a state is certainly outside, with what is uncertain at its middle or at one of its ends.
fn leaves<const N: usize>(map: &Map, limits: &Limits<N>, x: &[f64; N]) -> bool {
    let states = x.map(Interval::point);
    let mut room = Values::default();
    [0.5, 0.0, 1.0].into_iter().any(|share| {
        let uncertain = map.uncertain().iter();
        let uncertain: Vec<Interval> = uncertain
            .map(|u| Interval::point(u.range.at(share)))
            .collect();
        map.image(&states, &uncertain, &mut room);
        let image: [Interval; N] = std::array::from_fn(|k| room.next[k]);
        limits.forbid(&image)
    })
}
