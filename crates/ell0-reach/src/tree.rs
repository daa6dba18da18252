//! Cells: a k-d tree over a box, whose leaves are proved or open.

use ell0::equation::Interval;

/// The index of a node.
pub type Index = u32;

/// The root's.
pub const ROOT: Index = 0;

/// What a leaf that is proved says: after `after` steps it is in proved cells or the target, and within `steps` it has been in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Steps of the enclosure.
    pub after: u32,
    /// Steps until the target, at most.
    pub steps: u32,
}

/// Steps of a node that is not wholly proved.
const OPEN: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    parent: Index,
    /// The first of two children, one after the other; 0 for a leaf.
    children: Index,
    axis: u8,
    /// The steps of the slowest leaf below, or [`OPEN`].
    steps: u32,
    after: u32,
}

const LEAF: Node = Node {
    parent: 0,
    children: 0,
    axis: 0,
    steps: OPEN,
    after: 0,
};

/// A box by its corners.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell<const N: usize> {
    /// The least values.
    pub low: [f64; N],
    /// The greatest.
    pub high: [f64; N],
}

impl<const N: usize> Cell<N> {
    /// Where it is divided along an axis: a number that both halves share to the bit.
    #[must_use]
    pub fn middle(&self, axis: usize) -> f64 {
        self.low[axis] + 0.5 * (self.high[axis] - self.low[axis])
    }

    /// One of its halves.
    #[must_use]
    pub fn half(&self, axis: usize, upper: bool) -> Self {
        let mut half = *self;
        if upper {
            half.low[axis] = self.middle(axis);
        } else {
            half.high[axis] = self.middle(axis);
        }
        half
    }

    /// Its sides.
    #[must_use]
    pub fn sides(&self) -> [Interval; N] {
        std::array::from_fn(|k| Interval::new(self.low[k], self.high[k]))
    }

    /// Π of the sides.
    #[must_use]
    pub fn volume(&self) -> f64 {
        (0..N).map(|k| self.high[k] - self.low[k]).product()
    }
}

/// Cells over a box.
#[derive(Clone, Debug)]
pub struct Tree<const N: usize> {
    bounds: Cell<N>,
    nodes: Vec<Node>,
}

impl<const N: usize> Tree<N> {
    /// One cell, which is open.
    #[must_use]
    pub fn new(bounds: Cell<N>) -> Self {
        let nodes = vec![LEAF];
        Tree { bounds, nodes }
    }

    /// The whole box.
    #[must_use]
    pub fn bounds(&self) -> &Cell<N> {
        &self.bounds
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    fn node(&self, at: Index) -> &Node {
        &self.nodes[at as usize]
    }

    /// Axis and first child of a node that is divided.
    #[must_use]
    pub fn division(&self, at: Index) -> Option<(usize, Index)> {
        let node = self.node(at);
        (node.children != 0).then_some((usize::from(node.axis), node.children))
    }

    /// The steps of the slowest leaf below a node, if all are proved.
    #[must_use]
    pub fn steps(&self, at: Index) -> Option<u32> {
        let steps = self.node(at).steps;
        (steps != OPEN).then_some(steps)
    }

    /// What a proved leaf says.
    #[must_use]
    pub fn arrival(&self, leaf: Index) -> Option<Arrival> {
        let node = self.node(leaf);
        let proved = node.children == 0 && node.steps != OPEN;
        proved.then_some(Arrival {
            after: node.after,
            steps: node.steps,
        })
    }

    /// Divides a leaf that is open; its first child.
    pub fn divide(&mut self, leaf: Index, axis: usize) -> Index {
        let first = self.nodes.len() as Index;
        let child = Node {
            parent: leaf,
            ..LEAF
        };
        self.nodes.extend([child, child]);
        let node = &mut self.nodes[leaf as usize];
        node.axis = axis as u8;
        node.children = first;
        first
    }

    /// Marks a leaf as proved, and what is above it where that is now proved as a whole.
    pub fn prove(&mut self, leaf: Index, arrival: Arrival) {
        let node = &mut self.nodes[leaf as usize];
        (node.after, node.steps) = (arrival.after, arrival.steps);
        let mut at = leaf;
        while at != ROOT {
            at = self.node(at).parent;
            let first = self.node(at).children;
            let steps = self.node(first).steps.max(self.node(first + 1).steps);
            if steps == OPEN {
                break;
            }
            self.nodes[at as usize].steps = steps;
        }
    }

    /// Leaves are open again, by their numbers from left to right, in this order.
    pub fn forget(&mut self, leaves: &[usize]) {
        let mut number = 0;
        let mut stack = vec![ROOT];
        while let Some(at) = stack.pop() {
            if let Some((_, first)) = self.division(at) {
                stack.extend([first + 1, first]);
                continue;
            }
            if leaves.binary_search(&number).is_ok() {
                self.nodes[at as usize].steps = OPEN;
            }
            number += 1;
        }
        // Children come after their parents.
        for at in (0..self.nodes.len()).rev() {
            let first = self.nodes[at].children as usize;
            if first != 0 {
                self.nodes[at].steps = self.nodes[first].steps.max(self.nodes[first + 1].steps);
            }
        }
    }

    /// The highest node around a point of the box that is proved as a whole, or else the open leaf around it.
    #[must_use]
    pub fn find(&self, x: &[f64; N]) -> Index {
        let (mut at, mut cell) = (ROOT, self.bounds);
        loop {
            let node = self.node(at);
            if node.steps != OPEN || node.children == 0 {
                return at;
            }
            let axis = usize::from(node.axis);
            let middle = cell.middle(axis);
            let upper = x[axis] >= middle;
            if upper {
                cell.low[axis] = middle;
            } else {
                cell.high[axis] = middle;
            }
            at = node.children + Index::from(upper);
        }
    }

    /// The leaf around a point of the box.
    #[must_use]
    pub fn leaf_at(&self, x: &[f64; N]) -> Index {
        let (mut at, mut cell) = (ROOT, self.bounds);
        while let Some((axis, first)) = self.division(at) {
            let upper = x[axis] >= cell.middle(axis);
            cell = cell.half(axis, upper);
            at = first + Index::from(upper);
        }
        at
    }

    /// The steps of the slowest leaf that is proved.
    #[must_use]
    pub fn steps_of_slowest(&self) -> u32 {
        let proved = self
            .nodes
            .iter()
            .filter(|n| n.children == 0 && n.steps != OPEN);
        proved.map(|n| n.steps).max().unwrap_or(0)
    }

    /// Hands a weight of every node on to the leaves that are open: each half of a node gets half of it, unless it is proved.
    pub fn hand_down(&self, weight: &mut [f64]) {
        // Children come after their parents.
        for at in 0..self.nodes.len() {
            let Node { children, .. } = self.nodes[at];
            if children == 0 || weight[at] == 0.0 {
                continue;
            }
            let first = children as usize;
            let open = [first, first + 1].map(|c| self.nodes[c].steps == OPEN);
            let share = if open[0] && open[1] { 0.5 } else { 1.0 };
            for c in 0..2 {
                if open[c] {
                    weight[first + c] += share * weight[at];
                }
            }
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Calls a function for every leaf, from left to right.
    pub fn for_each_leaf(&self, mut look: impl FnMut(Index, &Cell<N>, Option<Arrival>)) {
        let mut stack = vec![(ROOT, self.bounds)];
        while let Some((at, cell)) = stack.pop() {
            if let Some((axis, first)) = self.division(at) {
                stack.push((first + 1, cell.half(axis, true)));
                stack.push((first, cell.half(axis, false)));
            } else {
                look(at, &cell, self.arrival(at));
            }
        }
    }

    /// The share of the box that is proved.
    #[must_use]
    pub fn share(&self) -> f64 {
        let mut proved = 0.0;
        self.for_each_leaf(|_, cell, arrival| {
            if arrival.is_some() {
                proved += cell.volume();
            }
        });
        proved / self.bounds.volume()
    }
}
