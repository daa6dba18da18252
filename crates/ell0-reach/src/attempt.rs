//! One cell: is there a number of steps after which all of it is in what is proved?

use ell0::equation::Interval;
use ell0_control::analysis::Pulse;

use crate::{
    enclosure::{Enclosure, Flow, Room, Steps},
    inside::{Inside, Proved},
    limits::Limits,
    shear::Shear,
    tree::{Arrival, Cell, Index},
};

/// Open leaves that stand in the way are remembered up to this number.
pub const WATCHED: usize = 4;

/// How far one attempt goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// Steps of an enclosure, at most.
    pub most_steps: u32,
    /// After how many steps the middle of the cell is in what is proved and its corners are looked at, at most.
    pub looks: u32,
    /// Steps of the enclosure beyond the first at which the corners promise that it is in what is proved.
    pub more_steps: u32,
    /// Sets that are wider than this share of the box are given up.
    pub widest: f64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is proved.
    Proved(Arrival),
    /// Not even the middle arrives, as far as was looked.
    Far,
    /// No state of it is allowed.
    Forbidden,
    /// What stood in the way at some of the steps, and the side of the cell that has become longest.
    Blocked {
        /// Open leaves.
        by: [Option<Index>; WATCHED],
        /// The axis to divide along.
        axis: usize,
    },
    /// It was stopped.
    Stopped,
}

/// An outcome, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The outcome.
    pub outcome: Outcome,
    /// Steps of enclosures.
    pub enclosed: u64,
}

/// Whether and when a cell arrives, within limits all the way.
pub fn attempt<const N: usize>(
    flow: &Flow<N>,
    proved: &Proved<N>,
    limits: &Limits<N>,
    cell: &Cell<N>,
    patience: Patience,
    room: &mut Room<N>,
    pulse: Pulse,
) -> Attempt {
    let Room {
        set,
        sheared,
        steps: room,
    } = room;
    let ended = |outcome, enclosed| Attempt { outcome, enclosed };
    if !pulse() {
        return ended(Outcome::Stopped, 0);
    }
    flow.begin(cell, proved.shear, set);
    let limited = !limits.are_none();
    if limited && limits.forbid(&set.hull) {
        return ended(Outcome::Forbidden, 0);
    }
    if proved.target.holds(&cell.sides(), proved.shear) {
        let (after, steps) = (0, 0);
        return ended(Outcome::Proved(Arrival { after, steps }), 0);
    }
    let scout = match scout(flow, proved, limits, cell, patience, sheared, room) {
        Ok(scout) => scout,
        Err(outcome) => return ended(outcome, 0),
    };
    let bounds = proved.tree.bounds();
    let Scout { first, mut blocks } = scout;
    let mut axis = None;
    let last = (first + patience.more_steps).min(patience.most_steps);
    let mut enclosed = 0;
    for after in 1..=last {
        if limited && !limits.allow(&set.hull) {
            break;
        }
        enclosed += 1;
        if !flow.step(set, room) {
            break;
        }
        let width = |k: usize| set.hull[k].high - set.hull[k].low;
        let room = |k: usize| bounds.high[k] - bounds.low[k];
        if (0..N).any(|k| width(k) > patience.widest * room(k)) {
            break;
        }
        if after < first || !proved.has(&set.centre) {
            continue;
        }
        proved.shear.cells_of(set, sheared);
        match proved.holds(sheared) {
            Inside::Yes(steps) => {
                let steps = after + steps;
                return ended(Outcome::Proved(Arrival { after, steps }), enclosed);
            }
            Inside::No(leaf) => {
                axis.get_or_insert_with(|| flow.longest_side(set));
                blocks.add(leaf);
            }
        }
    }
    let axis = axis.unwrap_or_else(|| flow.longest_side(set));
    let by = blocks.by;
    ended(Outcome::Blocked { by, axis }, enclosed)
}

/// Open leaves that stood in the way, each once.
#[derive(Clone, Copy, Debug, Default)]
struct Blocks {
    by: [Option<Index>; WATCHED],
    used: usize,
}

impl Blocks {
    fn add(&mut self, leaf: Option<Index>) {
        if leaf.is_some() && self.used < WATCHED && !self.by.contains(&leaf) {
            self.by[self.used] = leaf;
            self.used += 1;
        }
    }
}

/// What plain numbers tell of a cell.
struct Scout {
    /// After how many steps the cell seems to be.
    first: u32,
    blocks: Blocks,
}

/// Follows the middle of a cell and the middle of one side along each axis in plain numbers, which takes a tenth of the time of an enclosure: only where the parallelotope that they span is in what is proved is it worth enclosing.
fn scout<const N: usize>(
    flow: &Flow<N>,
    proved: &Proved<N>,
    limits: &Limits<N>,
    cell: &Cell<N>,
    patience: Patience,
    sheared: &mut Enclosure<N>,
    room: &mut Steps,
) -> Result<Scout, Outcome> {
    let mut middle: [f64; N] = std::array::from_fn(|k| cell.middle(k));
    let mut ends = [middle; N];
    (0..N).for_each(|k| ends[k][k] = cell.high[k]);
    middle = proved.shear.to_point(&middle);
    ends = ends.map(|end| proved.shear.to_point(&end));
    let mut blocks = Blocks::default();
    let (mut axis, mut arrived) = (None, 0);
    for after in 1..=patience.most_steps {
        if !limits.have(&middle) {
            break;
        }
        flow.guess(&mut middle, room);
        ends.iter_mut().for_each(|x| flow.guess(x, room));
        if !proved.has(&middle) {
            continue;
        }
        let stuck = ends.iter().find_map(|x| proved.open_at(x));
        let stuck = stuck.or_else(|| {
            outline(&middle, &ends, sheared, proved.shear);
            match proved.holds(sheared) {
                Inside::Yes(_) => None,
                Inside::No(leaf) => Some(leaf),
            }
        });
        let Some(leaf) = stuck else {
            let first = after;
            return Ok(Scout { first, blocks });
        };
        blocks.add(leaf);
        axis.get_or_insert_with(|| {
            let length = |k: usize| flow.distance(&middle, &ends[k]);
            let longer = |a: usize, b: usize| if length(b) > length(a) { b } else { a };
            (0..N).fold(0, longer)
        });
        arrived += 1;
        if arrived >= patience.looks {
            break;
        }
    }
    let by = blocks.by;
    let outcome = axis.map_or(Outcome::Far, |axis| Outcome::Blocked { by, axis });
    Err(outcome)
}

/// A guess of the set that the middle and the ends of the half axes are of, in the coordinates of the cells.
fn outline<const N: usize>(
    middle: &[f64; N],
    ends: &[[f64; N]; N],
    set: &mut Enclosure<N>,
    shear: &Shear<N>,
) {
    set.centre = shear.of_point(middle);
    set.radius = [0.0; N];
    set.generators.clear();
    for end in ends {
        let end = shear.of_point(end);
        set.generators
            .push(std::array::from_fn(|i| end[i] - set.centre[i]));
    }
    let half = set.half_widths();
    set.hull =
        std::array::from_fn(|i| Interval::new(set.centre[i] - half[i], set.centre[i] + half[i]));
}
