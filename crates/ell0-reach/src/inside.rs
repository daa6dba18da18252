//! Whether a set lies in what is proved: the tree is descended wherever the set may be.

use ell0::equation::{Arithmetic, Interval};

use crate::{
    ellipsoid::Ellipsoid,
    enclosure::Enclosure,
    rounding::{ROUNDING, upwards},
    shear::Shear,
    tree::{Cell, Index, ROOT, Tree},
};

/// By how much sets are larger in the test than they are, so that a checker whose rounding differs agrees.
const SLACK: f64 = 1e-9;

/// What is proved so far: cells, and the target.
#[derive(Debug)]
pub struct Proved<'a, const N: usize> {
    /// The cells.
    pub tree: &'a Tree<N>,
    /// Where trajectories are to arrive.
    pub target: &'a Ellipsoid<N>,
    /// The coordinates of the cells.
    pub shear: &'a Shear<N>,
    /// After how much a state comes back to itself; the box is at least as wide.
    pub periods: [Option<f64>; N],
    /// Whether x is proved where −x is: the tree is over the half of the box in which the first coordinate is not negative.
    pub odd: bool,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// All of the set is proved, and in the target within so many steps.
    Yes(u32),
    /// It may meet this open leaf, or leave the box.
    No(Option<Index>),
}

/// A strip |ν·(x − c)| ≤ w that holds the set.
#[derive(Clone, Copy, Debug)]
struct Strip<const N: usize> {
    normal: [f64; N],
    /// ν·c.
    at: f64,
    /// w, with what rounding may do to ν·x.
    width: f64,
}

/// A set as it is looked for in the tree.
struct Shape<const N: usize> {
    hull: [Interval; N],
    strips: [Strip<N>; MOST_STRIPS],
    used: usize,
}

const MOST_STRIPS: usize = 8;

/// Directions that faces of the zonotope look in: across each generator in the plane, across pairs of the cell's own in space.
fn normals<const N: usize>(set: &Enclosure<N>, mut add: impl FnMut([f64; N])) {
    let g = &set.generators;
    if N == 2 {
        for g in g {
            let mut normal = [0.0; N];
            (normal[0], normal[1]) = (-g[1], g[0]);
            add(normal);
        }
    }
    if N == 3 {
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            let mut normal = [0.0; N];
            for k in 0..3 {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                normal[k] = g[a][i] * g[b][j] - g[a][j] * g[b][i];
            }
            add(normal);
        }
    }
}

impl<const N: usize> Shape<N> {
    /// The set or its mirror image, moved by a whole number of periods along each axis.
    fn new(set: &Enclosure<N>, mirrored: bool, moved: &[Interval; N], bounds: &Cell<N>) -> Self {
        let (mut centre, mut radius) = (set.centre, set.radius);
        let mut hull = set.hull;
        if mirrored {
            centre = centre.map(|c| -c);
            hull = hull.map(Interval::negate);
        }
        for k in 0..N {
            let m = moved[k];
            if m.low != 0.0 || m.high != 0.0 {
                let to = m.add(Interval::point(centre[k]));
                centre[k] = to.low + 0.5 * (to.high - to.low);
                radius[k] = upwards(radius[k] + (to.high - to.low));
                hull[k] = hull[k].add(m);
            }
            let largest = bounds.low[k].abs().max(bounds.high[k].abs());
            let slack = SLACK * (hull[k].high - hull[k].low) + 8.0 * ROUNDING * largest;
            hull[k] = Interval::new(hull[k].low - slack, hull[k].high + slack);
        }
        let nothing = Strip {
            normal: [0.0; N],
            at: 0.0,
            width: f64::INFINITY,
        };
        let mut shape = Shape {
            hull,
            strips: [nothing; MOST_STRIPS],
            used: 0,
        };
        // The largest number that stands in ν·x.
        let largest: [f64; N] = std::array::from_fn(|k| {
            let within = bounds.low[k].abs().max(bounds.high[k].abs());
            within.max(centre[k].abs())
        });
        normals(set, |normal| {
            if shape.used == MOST_STRIPS || normal.iter().all(|v| *v == 0.0) {
                return;
            }
            let dot = |g: &[f64; N]| -> f64 { (0..N).map(|k| normal[k] * g[k]).sum() };
            let size = |g: &[f64; N]| -> f64 { (0..N).map(|k| normal[k].abs() * g[k].abs()).sum() };
            let mut width = size(&radius);
            for g in &set.generators {
                width += dot(g).abs() + ROUNDING * size(g);
            }
            width = upwards(width * (1.0 + SLACK) + 8.0 * ROUNDING * size(&largest));
            shape.strips[shape.used] = Strip {
                normal,
                at: dot(&centre),
                width,
            };
            shape.used += 1;
        });
        shape
    }

    /// Whether the set certainly has no point of a cell.
    fn misses(&self, cell: &Cell<N>) -> bool {
        let hull = &self.hull;
        if (0..N).any(|k| hull[k].high < cell.low[k] || hull[k].low > cell.high[k]) {
            return true;
        }
        self.strips[..self.used].iter().any(|strip| {
            let (mut at, mut reach) = (-strip.at, 0.0);
            for k in 0..N {
                at += strip.normal[k] * cell.middle(k);
                reach += strip.normal[k].abs() * (cell.high[k] - cell.low[k]);
            }
            at.abs() > 0.5 * reach + strip.width
        })
    }
}

impl<const N: usize> Proved<'_, N> {
    /// Whether a point is in what is proved, in plain numbers.
    #[must_use]
    pub fn has(&self, x: &[f64; N]) -> bool {
        self.open_at(x).is_none()
    }

    /// Where a point is in the box, if it is.
    fn place(&self, x: &[f64; N]) -> Option<[f64; N]> {
        let bounds = self.tree.bounds();
        let mut y = self.shear.of_point(x);
        for k in 0..N {
            let middle = if self.odd { 0.0 } else { bounds.middle(k) };
            if let Some(period) = self.periods[k] {
                y[k] -= period * ((y[k] - middle) / period).round();
            }
        }
        if self.odd && y[0] < 0.0 {
            y = y.map(|y| -y);
        }
        for k in 0..N {
            // What is no number is nowhere.
            if !(bounds.low[k]..=bounds.high[k]).contains(&y[k]) {
                return None;
            }
        }
        Some(y)
    }

    /// What a point is in, in plain numbers, if that is not proved: an open leaf, or nothing.
    #[must_use]
    pub fn open_at(&self, x: &[f64; N]) -> Option<Option<Index>> {
        let Some(y) = self.place(x) else {
            return Some(None);
        };
        let at = self.tree.find(&y);
        let proved = self.tree.steps(at).is_some() || self.target.has(&self.shear.to_point(&y));
        (!proved).then_some(Some(at))
    }

    /// Within how many steps a point arrives, if that is proved, in plain numbers.
    #[must_use]
    pub fn steps_at(&self, x: &[f64; N]) -> Option<u32> {
        let y = self.place(x)?;
        if self.target.has(&self.shear.to_point(&y)) {
            return Some(0);
        }
        self.tree.steps(self.tree.leaf_at(&y))
    }

    /// Whether all of a set, in the coordinates of the cells, is in what is proved. Nodes that are proved as a whole count as their slowest leaf.
    #[must_use]
    pub fn holds(&self, set: &Enclosure<N>) -> Inside {
        self.search(set)
    }

    fn search(&self, set: &Enclosure<N>) -> Inside {
        let bounds = self.tree.bounds();
        for k in (0..N).filter(|&k| self.periods[k].is_none()) {
            // Of a half, the other half is there as well.
            let least = if self.odd && k == 0 {
                -bounds.high[0]
            } else {
                bounds.low[k]
            };
            if !(set.hull[k].low >= least && set.hull[k].high <= bounds.high[k]) {
                return Inside::No(None);
            }
        }
        let mut steps = 0;
        for mirrored in [false, true].into_iter().take(1 + usize::from(self.odd)) {
            match self.search_turns(set, mirrored, &mut steps) {
                Ok(()) => {}
                Err(open) => return Inside::No(open),
            }
        }
        Inside::Yes(steps)
    }

    /// Whether the part of a set that some turns bring into the box is in what is proved. The box, or with a half of it the two mirror images, is as wide as a period, so together they are all of it.
    fn search_turns(
        &self,
        set: &Enclosure<N>,
        mirrored: bool,
        steps: &mut u32,
    ) -> Result<(), Option<Index>> {
        let bounds = self.tree.bounds();
        let mut turns = [(0i32, 0i32); N];
        for k in 0..N {
            let Some(period) = self.periods[k] else {
                continue;
            };
            let side = if mirrored {
                set.hull[k].negate()
            } else {
                set.hull[k]
            };
            let first = ((bounds.low[k] - side.high) / period - 1e-6).ceil();
            let last = ((bounds.high[k] - side.low) / period + 1e-6).floor();
            // In doubt, and for what is no number, nothing is proved.
            if !(first >= -1e6 && last <= 1e6 && last - first < 3.0) {
                return Err(None);
            }
            if last < first {
                return Ok(());
            }
            turns[k] = (first as i32, last as i32);
        }
        let mut turn: [i32; N] = std::array::from_fn(|k| turns[k].0);
        loop {
            let moved: [Interval; N] = std::array::from_fn(|k| match self.periods[k] {
                // The period is a real number, within a unit in the last place of this one.
                Some(p) if turn[k] != 0 => Interval::new(p.next_down(), p.next_up())
                    .multiply(Interval::point(f64::from(turn[k]))),
                _ => Interval::point(0.0),
            });
            let shape = Shape::new(set, mirrored, &moved, bounds);
            if let Some(open) = self.open(ROOT, bounds, &shape, steps) {
                return Err(Some(open));
            }
            // The next combination, as an odometer counts.
            let Some(k) = (0..N).find(|&k| turn[k] < turns[k].1) else {
                return Ok(());
            };
            turn[k] += 1;
            (0..k).for_each(|j| turn[j] = turns[j].0);
        }
    }

    /// An open leaf below a node that a set may meet outside of the target, if there is one; the steps of the slowest proved one that it may meet.
    fn open(&self, at: Index, cell: &Cell<N>, shape: &Shape<N>, steps: &mut u32) -> Option<Index> {
        let slowest = self.tree.steps(at);
        if slowest.is_some_and(|s| s <= *steps) || shape.misses(cell) {
            return None;
        }
        if let Some(slowest) = slowest {
            *steps = slowest;
            return None;
        }
        let Some((axis, first)) = self.tree.division(at) else {
            let part: [Interval; N] = std::array::from_fn(|k| Interval {
                low: shape.hull[k].low.max(cell.low[k]),
                high: shape.hull[k].high.min(cell.high[k]),
            });
            // What is in the target has arrived, though the leaf is open.
            return (!self.target.holds(&part, self.shear)).then_some(at);
        };
        let half = |upper: bool| cell.half(axis, upper);
        self.open(first, &half(false), shape, steps)
            .or_else(|| self.open(first + 1, &half(true), shape, steps))
    }
}
