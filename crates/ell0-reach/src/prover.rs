//! The proof as a whole: rounds over cells, large ones first, until all is proved or the budget is spent.
//!
//! Every round tests a batch of open cells against what was proved before it, on all cores, and then enters the outcomes in the order of the batch: the result does not depend on the number of threads. A cell that something stood in the way of is tried again when that
//! is proved; when no cell is left to try, the largest are divided.

use ell0_control::analysis::{Map, Pulse};
use rayon::prelude::*;

use crate::{
    attempt::{Attempt, Outcome, Patience, WATCHED, attempt},
    ellipsoid::Ellipsoid,
    enclosure::{Flow, Room},
    inside::Proved,
    limits::Limits,
    shear::Shear,
    tree::{Arrival, Cell, Index, ROOT, Tree},
};

/// How much work a proof may take, and how it goes about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Attempts at cells.
    pub most_attempts: u64,
    /// Cells.
    pub most_cells: usize,
    /// The share of the box that is to be proved.
    pub enough: f64,
    /// How far one attempt goes.
    pub patience: Patience,
    /// How much more a cell may weigh, by its size, that stands in the way of others.
    pub lift: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            most_attempts: u64::MAX,
            most_cells: 4_000_000,
            enough: 1.0,
            patience: Patience {
                most_steps: 300,
                looks: 5,
                more_steps: 4,
                widest: 0.25,
            },
            lift: 300.0,
        }
    }
}

/// What is to be proved, in N states.
#[derive(Clone, Debug)]
pub struct Problem<'a, const N: usize> {
    /// The closed loop.
    pub map: &'a Map,
    /// The box of the cells; along states with a period as wide as the period. Of an odd loop the half in which the first coordinate is not negative.
    pub bounds: Cell<N>,
    /// The coordinates of the cells, which the box is in.
    pub shear: Shear<N>,
    /// Periods of the states.
    pub periods: [Option<f64>; N],
    /// Where trajectories are to arrive.
    pub target: Ellipsoid<N>,
    /// Where they must not be on the way.
    pub limits: Limits<N>,
    /// Whether x is proved where −x is.
    pub odd: bool,
}

impl<const N: usize> Problem<'_, N> {
    /// What lengths are measured by.
    #[must_use]
    pub fn scale(&self) -> [f64; N] {
        std::array::from_fn(|k| {
            let halves = if self.odd && k == 0 { 2.0 } else { 1.0 };
            halves * (self.bounds.high[k] - self.bounds.low[k])
        })
    }

    /// What a tree says.
    #[must_use]
    pub fn proved<'b>(&'b self, tree: &'b Tree<N>) -> Proved<'b, N> {
        Proved {
            tree,
            target: &self.target,
            shear: &self.shear,
            periods: self.periods,
            odd: self.odd,
        }
    }
}

/// How far a proof has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The share of the box that is proved.
    pub share: f64,
    /// Cells.
    pub cells: usize,
    /// Attempts.
    pub attempts: u64,
    /// Steps of enclosures.
    pub enclosed: u64,
    /// The largest number of steps until the target.
    pub steps: u32,
}

/// Cells of a round.
const BATCH: usize = 2048;

/// Divisions before the first round.
const BEGIN: usize = 8;

/// The weight of a cell whose middle does not arrive, by that of others of its size.
const FAR: f64 = 0.05;

/// The share of its weight that a cell hands on to what stands in its way, and how often: in the end to what stands in the way of that.
const HANDED_ON: f64 = 0.5;
const HANDS: usize = 4;

/// A cell is tried again when so many of what stood in its way are proved.
const FREED: usize = 2;

/// Cells are not divided more often.
const DEEPEST: usize = 60;

/// A leaf that is not proved.
#[derive(Clone, Copy, Debug)]
struct Open<const N: usize> {
    leaf: Index,
    cell: Cell<N>,
    depth: usize,
    axis: usize,
    far: bool,
    by: [Option<Index>; WATCHED],
}

struct Prover<'a, const N: usize> {
    problem: &'a Problem<'a, N>,
    budget: Budget,
    tree: Tree<N>,
    /// Leaves to be tried, by how often they were divided.
    fresh: Vec<Vec<Open<N>>>,
    /// Leaves that were tried in vain.
    waiting: Vec<Open<N>>,
    progress: Progress,
}

/// Proves as much of the box as the budget allows; the cells. `watch` is called after every round, the pulse beats at every attempt.
pub fn prove<const N: usize>(
    problem: &Problem<N>,
    budget: Budget,
    pulse: Pulse,
    mut watch: impl FnMut(&Progress),
) -> Tree<N> {
    let mut prover = Prover {
        problem,
        budget,
        tree: Tree::new(problem.bounds),
        fresh: vec![Vec::new(); DEEPEST + 1],
        waiting: Vec::new(),
        progress: Progress::default(),
    };
    let flow = Flow::new(problem.map, problem.scale());
    prover.begin();
    while prover.round(&flow, pulse) {
        watch(&prover.progress);
    }
    watch(&prover.progress);
    prover.tree
}

impl<const N: usize> Prover<'_, N> {
    /// Divides the box evenly.
    fn begin(&mut self) {
        self.fresh[0].push(Open {
            leaf: ROOT,
            cell: self.problem.bounds,
            depth: 0,
            axis: 0,
            far: false,
            by: [None; WATCHED],
        });
        for depth in 0..BEGIN {
            for mut open in std::mem::take(&mut self.fresh[depth]) {
                open.axis = depth % N;
                self.divide(open);
            }
        }
    }

    fn divide(&mut self, open: Open<N>) {
        let first = self.tree.divide(open.leaf, open.axis);
        for upper in [false, true] {
            let half = Open {
                leaf: first + Index::from(upper),
                cell: open.cell.half(open.axis, upper),
                depth: open.depth + 1,
                ..open
            };
            self.fresh[half.depth].push(half);
        }
    }

    /// Leaves of which enough is proved by now that stood in their way are tried again.
    fn wake(&mut self) {
        let tree = &self.tree;
        let free = |leaf: &Option<Index>| leaf.is_some_and(|l| tree.steps(l).is_some());
        let (awake, asleep) =
            std::mem::take(&mut self.waiting)
                .into_iter()
                .partition(|open: &Open<N>| {
                    let watched = open.by.iter().flatten().count();
                    watched > 0 && open.by.iter().filter(|b| free(b)).count() >= FREED.min(watched)
                });
        self.waiting = asleep;
        let awake: Vec<Open<N>> = awake;
        for open in awake {
            self.fresh[open.depth].push(open);
        }
    }

    /// Some of the largest leaves to be tried.
    fn batch(&mut self) -> Vec<Open<N>> {
        let mut batch = Vec::new();
        for list in &mut self.fresh {
            let room = BATCH - batch.len();
            batch.extend(list.drain(..room.min(list.len())));
        }
        batch
    }

    /// Divides the leaves that matter most: large ones, and those that stand in the way of much.
    fn divide_some(&mut self) {
        let volume = |open: &Open<N>| open.cell.volume() * if open.far { FAR } else { 1.0 };
        let mut weight: Vec<f64> = self.waiting.iter().map(volume).collect();
        let mut stands = vec![0.0; self.tree.nodes()];
        for _ in 0..HANDS {
            stands.fill(0.0);
            for (open, weight) in self.waiting.iter().zip(&weight) {
                let count = open.by.iter().flatten().count().max(1);
                for leaf in open.by.iter().flatten() {
                    stands[*leaf as usize] += HANDED_ON * weight / count as f64;
                }
            }
            self.tree.hand_down(&mut stands);
            for (open, weight) in self.waiting.iter().zip(&mut weight) {
                let own = volume(open);
                *weight = own + stands[open.leaf as usize].min(self.budget.lift * own);
            }
        }
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        let most = (BATCH / 2).min(order.len());
        if most < order.len() {
            let heavier = |a: &usize, b: &usize| weight[*b].total_cmp(&weight[*a]).then(a.cmp(b));
            order.select_nth_unstable_by(most, heavier);
            order.truncate(most);
        }
        order.sort_unstable();
        let (mut kept, mut next) = (Vec::new(), order.into_iter().peekable());
        for (k, open) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            if next.next_if_eq(&k).is_none() {
                kept.push(open);
            } else if open.depth < DEEPEST && self.tree.leaves() < self.budget.most_cells {
                self.divide(open);
            }
        }
        self.waiting = kept;
    }

    /// A round; `false` if there is nothing left to do, or no budget for it.
    fn round(&mut self, flow: &Flow<N>, pulse: Pulse) -> bool {
        let mut batch = self.batch();
        if batch.is_empty() {
            self.wake();
            batch = self.batch();
        }
        if batch.is_empty() {
            self.divide_some();
            batch = self.batch();
        }
        if batch.is_empty() {
            return false;
        }
        let proved = self.problem.proved(&self.tree);
        let (patience, limits) = (self.budget.patience, &self.problem.limits);
        let attempts: Vec<Attempt> = batch
            .par_iter()
            .map_init(Room::default, |room, open| {
                attempt(flow, &proved, limits, &open.cell, patience, room, pulse)
            })
            .collect();
        let mut goes_on = true;
        for (mut open, Attempt { outcome, enclosed }) in batch.into_iter().zip(attempts) {
            self.progress.attempts += 1;
            self.progress.enclosed += enclosed;
            match outcome {
                Outcome::Proved(arrival) => self.enter(&open, arrival),
                Outcome::Far => {
                    open.by = [None; WATCHED];
                    open.axis = self.widest_side(&open.cell);
                    open.far = true;
                    self.waiting.push(open);
                }
                Outcome::Blocked { by, axis } => {
                    (open.by, open.axis, open.far) = (by, axis, false);
                    self.waiting.push(open);
                }
                Outcome::Forbidden => {}
                Outcome::Stopped => goes_on = false,
            }
        }
        self.progress.cells = self.tree.leaves();
        goes_on
            && self.progress.attempts < self.budget.most_attempts
            && self.progress.share < self.budget.enough
    }

    fn enter(&mut self, open: &Open<N>, arrival: Arrival) {
        self.tree.prove(open.leaf, arrival);
        self.progress.share += open.cell.volume() / self.problem.bounds.volume();
        self.progress.steps = self.progress.steps.max(arrival.steps);
    }

    /// The longest side of a cell, measured by the box.
    fn widest_side(&self, cell: &Cell<N>) -> usize {
        let bounds = &self.problem.bounds;
        let share = |k: usize| (cell.high[k] - cell.low[k]) / (bounds.high[k] - bounds.low[k]);
        let longer = |a: usize, b: usize| if share(b) > share(a) { b } else { a };
        (0..N).fold(0, longer)
    }
}
