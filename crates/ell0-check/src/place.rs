//! Whether a set is in cells that claim few enough steps, or in the target.

use ell0::equation::{Arithmetic, Interval};

use crate::{
    certificate::{Certificate, Node},
    form::up,
    image::{Cell, Set},
    target::Target,
};

/// The cells, as sets are looked for in them.
pub struct Places<'a, const N: usize> {
    certificate: &'a Certificate,
    target: &'a Target<N>,
    bounds: Cell<N>,
    /// The most steps below a node, if all of it is proved.
    slowest: Vec<Option<u32>>,
}

/// A strip |ν·x − a| ≤ w that holds a set.
struct Strip<const N: usize> {
    normal: [f64; N],
    at: f64,
    width: f64,
}

/// A set, moved to where it is looked for.
struct Shape<const N: usize> {
    hull: [Interval; N],
    strips: Vec<Strip<N>>,
}

impl<const N: usize> Shape<N> {
    fn new(set: &Set<N>, sign: f64, moved: &[Interval; N], largest: &[f64; N]) -> Self {
        let mut centre = set.centre.map(|c| sign * c);
        let mut radius = set.radius;
        let mut hull = set.hull.map(|h| if sign < 0.0 { h.negate() } else { h });
        for k in (0..N).filter(|&k| moved[k] != Interval::point(0.0)) {
            let to = moved[k].add(Interval::point(centre[k]));
            centre[k] = to.low + 0.5 * (to.high - to.low);
            radius[k] = up(radius[k] + (to.high - to.low));
            hull[k] = hull[k].add(moved[k]);
        }
        let strip = |normal: [f64; N]| {
            let dot = |g: &[f64; N]| -> f64 { (0..N).map(|k| normal[k] * g[k]).sum() };
            let size = |g: &[f64; N]| -> f64 { (0..N).map(|k| (normal[k] * g[k]).abs()).sum() };
            let wide: f64 = set
                .generators
                .iter()
                .map(|g| dot(g).abs() + 1e-14 * size(g))
                .sum();
            let rounding = 1e-14 * (size(largest) + size(&centre));
            Strip {
                normal,
                at: dot(&centre),
                width: up(wide + size(&radius) + rounding),
            }
        };
        let strips = across(&set.generators).into_iter().map(strip).collect();
        Shape { hull, strips }
    }

    /// Whether it has certainly nothing of a cell.
    fn misses(&self, cell: &Cell<N>) -> bool {
        (0..N).any(|k| self.hull[k].high < cell.low[k] || self.hull[k].low > cell.high[k])
            || self.strips.iter().any(|strip| {
                let (mut at, mut half) = (-strip.at, 0.0);
                for k in 0..N {
                    at += strip.normal[k] * cell.middle(k);
                    half += strip.normal[k].abs() * 0.5 * (cell.high[k] - cell.low[k]);
                }
                at.abs() > half + strip.width
            })
    }
}

/// Directions across generators, in the plane, or across two of them, in space.
fn across<const N: usize>(generators: &[[f64; N]]) -> Vec<[f64; N]> {
    let mut normals = Vec::new();
    if N == 2 {
        normals.extend(generators.iter().map(|g| {
            let turned = [-g[1], g[0]];
            std::array::from_fn(|k| turned[k])
        }));
    } else if N == 3 {
        for (a, b) in generators
            .iter()
            .enumerate()
            .flat_map(|(k, a)| generators[..k].iter().map(move |b| (a, b)))
        {
            let cross = [
                a[1] * b[2] - a[2] * b[1],
                a[2] * b[0] - a[0] * b[2],
                a[0] * b[1] - a[1] * b[0],
            ];
            normals.push(std::array::from_fn(|k| cross[k]));
        }
    }
    normals.retain(|n| n.iter().any(|v| *v != 0.0));
    normals
}

impl<'a, const N: usize> Places<'a, N> {
    pub fn new(certificate: &'a Certificate, target: &'a Target<N>, bounds: Cell<N>) -> Self {
        let nodes = &certificate.nodes;
        let mut slowest = vec![None; nodes.len()];
        // Halves stand after what they are of.
        for at in (0..nodes.len()).rev() {
            slowest[at] = match nodes[at] {
                Node::Open => None,
                Node::Proved { steps, .. } => Some(steps),
                Node::Divided { upper, .. } => match (slowest[at + 1], slowest[upper]) {
                    (Some(a), Some(b)) => Some(u32::max(a, b)),
                    _ => None,
                },
            };
        }
        Places {
            certificate,
            target,
            bounds,
            slowest,
        }
    }

    /// Whether all of a set, in the coordinates of the cells, is in cells that claim at most so many steps, or in the target.
    pub fn holds(&self, set: &Set<N>, steps: u32) -> bool {
        let states = &self.certificate.states;
        // Without a period, what is outside of the whole box is nowhere.
        let inside = (0..N).all(|k| {
            let Interval { low, high } = set.hull[k];
            states[k].period.is_some() || low >= states[k].low && high <= states[k].high
        });
        let signs: &[f64] = if self.certificate.odd {
            &[1.0, -1.0]
        } else {
            &[1.0]
        };
        inside
            && signs
                .iter()
                .all(|sign| self.holds_turned(set, *sign, steps))
    }

    /// The box is wider than the periods: together, the turns that bring something of the set into it bring all of it. Of half a box, those of its mirror image bring the rest.
    fn holds_turned(&self, set: &Set<N>, sign: f64, steps: u32) -> bool {
        let mut turns: [(i32, i32); N] = [(0, 0); N];
        for k in 0..N {
            let Some(period) = self.certificate.states[k].period else {
                continue;
            };
            let side = if sign < 0.0 {
                set.hull[k].negate()
            } else {
                set.hull[k]
            };
            let first = ((self.bounds.low[k] - side.high) / period - 1e-6).ceil();
            let last = ((self.bounds.high[k] - side.low) / period + 1e-6).floor();
            if !(first.abs() <= 1e6 && last.abs() <= 1e6 && last - first < 10.0) {
                return false;
            }
            turns[k] = (first as i32, last as i32);
        }
        let largest =
            std::array::from_fn(|k| self.bounds.low[k].abs().max(self.bounds.high[k].abs()));
        let all = turns
            .iter()
            .fold(vec![vec![]], |all: Vec<Vec<i32>>, (first, last)| {
                let longer = |t: Vec<i32>| (*first..=*last).map(move |n| [&t[..], &[n]].concat());
                all.into_iter().flat_map(longer).collect()
            });
        all.iter().all(|turn| {
            let moved = std::array::from_fn(|k| match self.certificate.states[k].period {
                Some(p) if turn[k] != 0 => Interval::new(p.next_down(), p.next_up())
                    .multiply(Interval::point(f64::from(turn[k]))),
                _ => Interval::point(0.0),
            });
            let shape = Shape::new(set, sign, &moved, &largest);
            self.holds_below(0, &self.bounds, &shape, steps)
        })
    }

    fn holds_below(&self, at: usize, cell: &Cell<N>, shape: &Shape<N>, steps: u32) -> bool {
        if self.slowest[at].is_some_and(|s| s <= steps) || shape.misses(cell) {
            return true;
        }
        if let Node::Divided { axis, upper } = self.certificate.nodes[at] {
            return self.holds_below(at + 1, &cell.half(axis, false), shape, steps)
                && self.holds_below(upper, &cell.half(axis, true), shape, steps);
        }
        let part = Cell {
            low: std::array::from_fn(|k| shape.hull[k].low.max(cell.low[k])),
            high: std::array::from_fn(|k| shape.hull[k].high.min(cell.high[k])),
        };
        self.target.holds(&part)
    }
}
