//! A box that no trajectory leaves: the image of every cell of it is in it.

use ell0::equation::Interval;
use ell0_control::analysis::{Map, Pulse, Range, State, Values};

use crate::{
    enclosure::{Flow, Room},
    error::NoBasin,
    limits::Limits,
    question::{Question, whole},
    shear::Shear,
    tree::Cell,
    turns::comes_round,
};

/// Whether a box is left.
#[derive(Clone, Debug, PartialEq)]
pub enum Invariance {
    /// Never: no trajectory that begins in it.
    Proved {
        /// Cells that were looked at.
        cells: u64,
    },
    /// By the states that were named, at the next step from this state, for some of what is uncertain.
    Refuted(Vec<f64>),
    /// Not decided within the cells or the time that there were.
    Open,
}

/// Cells that are looked at, at most.
const MOST_CELLS: u64 = 2_000_000;

/// Cells are not divided more often.
const DEEPEST: u32 = 48;

/// Whether trajectories leave a box, given by finite ranges of some states; of the others it is as wide as their bounds, and that is left in the eyes of a proof, but not of a refutation. The pulse beats at every cell.
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
    comes_round(states, map)?;
    let periods = std::array::from_fn(|k| states[k].period);
    let staying = |stay| Limits::<N> {
        stay,
        avoid: Vec::new(),
        periods,
    };
    let named = Question::region(states, stay)?;
    // Of what is not named the box is as wide as the bounds; a whole turn of an angle is no limit.
    let mut bounds = [Interval::ENTIRE; N];
    let mut sides = [Range::symmetric(0.0); N];
    for k in 0..N {
        let Interval { low, high } = named[k];
        if named[k] != Interval::ENTIRE {
            if !(low.is_finite() && high.is_finite()) {
                // No cells reach that far.
                return Ok(Invariance::Open);
            }
            sides[k] = Range::new(low, high);
            continue;
        }
        sides[k] = whole(&states[k])?;
        if periods[k].is_none() {
            bounds[k] = Interval::new(sides[k].low, sides[k].high);
        }
    }
    let (named, bounds) = (staying(named), staying(bounds));
    let all = Cell::<N> {
        low: sides.map(|s| s.low),
        high: sides.map(|s| s.high),
    };
    let scale = sides.map(Range::width);
    let (flow, shear) = (Flow::new(map, scale), Shear::none());
    let mut room = Room::default();
    let (mut stack, mut cells) = (vec![(all, 0)], 0);
    let mut open = false;
    while let Some((cell, depth)) = stack.pop() {
        cells += 1;
        if cells > MOST_CELLS || !pulse() {
            return Ok(Invariance::Open);
        }
        flow.begin(&cell, &shear, &mut room.set);
        let inside = flow.step(&mut room.set, &mut room.steps);
        let hull = &room.set.hull;
        if inside && named.allow(hull) && bounds.allow(hull) {
            continue;
        }
        let middle = std::array::from_fn(|k| cell.middle(k));
        if leaves(map, &named, &middle) {
            return Ok(Invariance::Refuted(middle.to_vec()));
        }
        // What leaves the bounds of another state refutes nothing, but it goes where nothing was looked at.
        if depth == DEEPEST || leaves(map, &bounds, &middle) {
            open = true;
            continue;
        }
        let share = |k: usize| (cell.high[k] - cell.low[k]) / scale[k];
        let axis = (0..N).fold(0, |a, b| if share(b) > share(a) { b } else { a });
        for upper in [false, true] {
            stack.push((cell.half(axis, upper), depth + 1));
        }
    }
    Ok(if open {
        Invariance::Open
    } else {
        Invariance::Proved { cells }
    })
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
