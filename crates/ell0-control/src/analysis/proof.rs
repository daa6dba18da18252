//! Proof that a quadratic function falls along every trajectory: interval branch and bound over the exact closed form.
//!
//! With d = x − x*, V(x) = dᵀ·P·d. On boxes that cover {V ≤ c}, the change ΔV = V(F(x)) − V(x) is bounded from above by its value at the middle and the range of its gradient on the box (the mean
//! value form). Around x*, where ΔV itself is 0, the range of the Jacobian J gives it instead: F(x) − x* = J·d + r with the residual r of x*, and ΔV < 0 if P − Jᵀ·P·J is positive definite for every J in the range, which
//! an LDLᵀ decomposition in interval arithmetic decides. All bounds are rounded outwards.
//!
//! What is uncertain (parameters, disturbances) makes boxes of more dimensions: V must fall for all of it. If x* moves with it, V falls only beyond some distance from x*, and the images of what is nearer must still be in the set.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ell0::equation::{Arithmetic, Interval};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{linear, map::Map, not_proved::NotProved, pulse::Pulse, value::Matrix};

/// What is to be proved: V falls on {V ≤ level}, so that it is not left and trajectories go to x*. With an inner level, V falls or becomes at most that: trajectories come into {V ≤ inner} and stay there, though a disturbance may keep them from x*.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The equilibrium x*.
    pub centre: Vec<f64>,
    /// The matrix P.
    pub p: Matrix,
    /// The level c.
    pub level: f64,
    /// The inner level; 0 if there is none.
    #[serde(default)]
    pub inner: f64,
}

/// How a proof ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// V falls everywhere on the set, but perhaps closer to x* than `inner_radius` (0 if x* is an equilibrium exactly).
    Proved {
        /// Boxes that were looked at.
        boxes: u64,
        /// Half the width of the smallest, relative to the whole set.
        smallest: f64,
        /// Distance from x* within which rounding of x* leaves the question open.
        inner_radius: f64,
    },
    /// A state in the set where V does not fall.
    Refuted(Vec<f64>),
    /// Neither: the reason.
    Open(NotProved),
}

/// Parts of each dimension at the beginning; their number does not depend on the number of cores, so neither does the count of boxes.
const PARTS: usize = 32;

/// Parts of what is uncertain around x*, at most.
const UNCERTAIN_PARTS: u32 = 64;

/// A box is not divided beyond this share of the whole set.
const SMALLEST: f64 = 1e-6;

struct Prover<'a> {
    map: &'a Map,
    claim: &'a Claim,
    pulse: Pulse<'a>,
    /// Half the widths of the whole set and of what is uncertain, and of the box around x* that has its own proof.
    reach: Vec<f64>,
    inner: Vec<f64>,
    boxes: AtomicU64,
    most_boxes: u64,
    /// Whether the question is decided against the claim.
    over: AtomicBool,
}

/// Σ of products.
fn dot(a: &[Interval], b: &[Interval]) -> Interval {
    a.iter()
        .zip(b)
        .fold(Interval::point(0.0), |s, (a, b)| s.add(a.multiply(*b)))
}

/// p·d.
fn times(p: &[Vec<f64>], d: &[Interval]) -> Vec<Interval> {
    p.iter()
        .map(|row| {
            row.iter().zip(d).fold(Interval::point(0.0), |s, (p, d)| {
                s.add(Interval::point(*p).multiply(*d))
            })
        })
        .collect()
}

/// Whether a symmetric matrix of intervals is positive definite for every choice in them: all pivots of its elimination are positive.
fn positive_definite(mut a: Vec<Vec<Interval>>) -> bool {
    let n = a.len();
    for k in 0..n {
        if a[k][k].low.is_nan() || a[k][k].low <= 0.0 {
            return false;
        }
        for i in k + 1..n {
            let factor = a[i][k].divide(a[k][k]);
            for j in k + 1..=i {
                // The part below the diagonal stands for both.
                let other = a[j][k];
                a[i][j] = a[i][j].subtract(factor.multiply(other));
            }
        }
    }
    true
}

/// A matrix of intervals that are points.
fn points(p: &Matrix) -> Vec<Vec<Interval>> {
    let rows = p.rows().iter();
    rows.map(|row| row.iter().map(|v| Interval::point(*v)).collect())
        .collect()
}

/// Half the widths of a box that is verified to hold {V ≤ c}: V ≥ c·dᵢ²/rᵢ² for each i, because P less c/rᵢ² on its i-th place of the diagonal is still positive definite.
fn reach(claim: &Claim) -> Option<Vec<f64>> {
    let inverse = linear::inverse(claim.p.rows())?;
    let n = claim.p.rows().len();
    let one = |i: usize| {
        // The set reaches √(c·(P⁻¹)ᵢᵢ); a little more is easier to verify.
        let mut r = (claim.level * inverse[i][i]).max(0.0).sqrt() * (1.0 + 1e-6);
        for _ in 0..20 {
            let mut less = points(&claim.p);
            let square = Interval::point(r).multiply(Interval::point(r));
            less[i][i] = less[i][i].subtract(Interval::point(claim.level).divide(square));
            if r.is_finite() && r > 0.0 && positive_definite(less) {
                return Some(r);
            }
            r *= 1.02;
        }
        None
    };
    (0..n).map(one).collect()
}

/// Proves a claim, or says why it could not, with at most so many boxes. The pulse beats at every box.
#[must_use]
pub fn prove(map: &Map, claim: &Claim, most_boxes: u64, pulse: Pulse) -> Verdict {
    let n = claim.centre.len();
    let shape = claim.p.rows().len() == n && claim.p.rows().iter().all(|row| row.len() == n);
    let symmetric = shape && (0..n).all(|i| (0..i).all(|j| claim.p[i][j] == claim.p[j][i]));
    if !symmetric || !positive_definite(points(&claim.p)) {
        return Verdict::Open(NotProved::NotDefinite);
    }
    let levels = claim.level > 0.0 && (0.0..claim.level).contains(&claim.inner);
    if !(levels && claim.level.is_finite()) {
        return Verdict::Open(NotProved::NoLevel);
    }
    let Some(reach) = reach(claim) else {
        return Verdict::Open(NotProved::NoBox);
    };
    let mut reach = reach;
    let uncertain = map.uncertain().iter();
    reach.extend(uncertain.map(|u| (0.5 * u.range.width()).next_up()));
    let mut prover = Prover {
        map,
        claim,
        pulse,
        inner: vec![0.0; n],
        reach,
        boxes: AtomicU64::new(0),
        most_boxes,
        over: AtomicBool::new(false),
    };
    let inner_radius = if claim.inner > 0.0 {
        0.0
    } else if let Some(radius) = prover.inner_proof() {
        radius
    } else {
        return Verdict::Open(NotProved::NoNeighbourhood);
    };
    let cells = PARTS.pow(n.min(4) as u32);
    let found: Vec<Part> = (0..cells)
        .into_par_iter()
        .map(|cell| prover.cell(cell))
        .collect();
    let mut smallest = 1f64;
    let mut open = None;
    for part in found {
        match part {
            Part::Proved(size) => smallest = smallest.min(size),
            Part::Refuted(state) => return Verdict::Refuted(state),
            // What stopped the others, not that it did.
            Part::Open(reason) if open.is_none() || reason != NotProved::Stopped => {
                open = Some(reason)
            }
            Part::Open(_) => {}
        }
    }
    match open {
        Some(reason) => Verdict::Open(reason),
        None => Verdict::Proved {
            boxes: prover.boxes.into_inner(),
            smallest,
            inner_radius,
        },
    }
}

enum Part {
    Proved(f64),
    Refuted(Vec<f64>),
    Open(NotProved),
}

impl Prover<'_> {
    /// Finds a box around x* on which P − JᵀPJ stays positive definite; the radius that rounding of x* leaves open.
    fn inner_proof(&mut self) -> Option<f64> {
        let centre = &self.claim.centre;
        let points: Vec<Interval> = centre.iter().map(|c| Interval::point(*c)).collect();
        let residual: Vec<Interval> = self
            .map
            .next(&points)
            .into_iter()
            .zip(&points)
            .map(|(next, at)| next.subtract(*at))
            .collect();
        let n = centre.len();
        let uncertain = self.map.uncertain().iter();
        let uncertain: Vec<Interval> = uncertain
            .map(|u| Interval::new(u.range.low, u.range.high))
            .collect();
        let mut share = 0.25;
        while share > 1e-5 {
            let inner: Vec<f64> = self.reach[..n].iter().map(|r| r * share).collect();
            let around: Vec<Interval> = centre
                .iter()
                .zip(&inner)
                .map(|(c, r)| Interval::new((c - r).next_down(), (c + r).next_up()))
                .collect();
            if !self.map.is_continuous(&around) {
                share *= 0.7;
                continue;
            }
            let columns = self.columns(&around, &uncertain);
            let exact = residual.iter().all(|r| r.magnitude() == 0.0);
            let least = (0..n).fold(f64::INFINITY, |m, k| m.min(self.claim.p[k][k]));
            // −μ|d|² is left over for the residual; the larger μ, the smaller what stays open.
            let slacks = if exact {
                &[0.0][..]
            } else {
                &[1e-3, 1e-4, 1e-5, 1e-6][..]
            };
            for slack in slacks.iter().map(|s| s * least) {
                if !self.falls_around(&around, &uncertain, slack, UNCERTAIN_PARTS) {
                    continue;
                }
                if exact {
                    self.inner = inner;
                    return Some(0.0);
                }
                // −μ|d|² + 2|d||JᵀPr| + rᵀPr < 0 beyond this distance.
                let pr = times(self.claim.p.rows(), &residual);
                // By the largest component: squares of what is tiny would be 0.
                let norm = |v: &[Interval]| {
                    let largest = v.iter().fold(0.0, |m: f64, x| m.max(x.magnitude()));
                    let shares = v.iter().map(|x| (x.magnitude() / largest).powi(2));
                    if largest > 0.0 {
                        largest * shares.sum::<f64>().sqrt() * (1.0 + 1e-9)
                    } else {
                        0.0
                    }
                };
                let jpr: Vec<Interval> = columns.iter().map(|c| dot(c, &pr)).collect();
                let (a, b) = (norm(&jpr), (norm(&pr) * norm(&residual)).sqrt());
                let b = slack.sqrt() * b.max(f64::MIN_POSITIVE);
                let radius = (a + a.hypot(b)) / slack * (1.0 + 1e-9);
                if self.comes_back(radius, &inner, norm(&residual)) {
                    self.inner = inner;
                    return Some(radius);
                }
            }
            share *= 0.7;
        }
        None
    }

    /// ∂F by each of the states.
    fn columns(&self, around: &[Interval], uncertain: &[Interval]) -> Vec<Vec<Interval>> {
        let (_, j) = self.map.slopes(around, uncertain);
        (0..around.len())
            .map(|k| j.iter().map(|row| row[k]).collect())
            .collect()
    }

    /// Whether P − JᵀPJ − μ is positive definite on a box. J knows nothing of what its entries have in common, so what is uncertain is divided where that helps.
    fn falls_around(
        &self,
        around: &[Interval],
        uncertain: &[Interval],
        slack: f64,
        parts: u32,
    ) -> bool {
        let n = around.len();
        let columns = self.columns(around, uncertain);
        let mut fall = vec![vec![Interval::point(0.0); n]; n];
        for a in 0..n {
            let pj = times(self.claim.p.rows(), &columns[a]);
            for b in 0..n {
                let diagonal = if a == b { slack } else { 0.0 };
                fall[b][a] = Interval::point(self.claim.p[b][a])
                    .subtract(Interval::point(diagonal))
                    .subtract(dot(&columns[b], &pj));
            }
        }
        if positive_definite(fall) {
            return true;
        }
        // Along what J changes with most.
        let width = |columns: &[Vec<Interval>]| -> f64 {
            let all = columns.iter().flatten();
            all.map(|s| s.high - s.low).sum()
        };
        let halves = |k: usize| {
            let Interval { low, high } = uncertain[k];
            let middle = low + 0.5 * (high - low);
            [(low, middle), (middle, high)].map(|(low, high)| {
                let mut half = uncertain.to_vec();
                half[k] = Interval::new(low, high);
                half
            })
        };
        let mut best: Option<(f64, usize)> = None;
        for k in (0..uncertain.len()).filter(|&k| uncertain[k].low < uncertain[k].high) {
            let width = width(&self.columns(around, &halves(k)[0]));
            if best.is_none_or(|b| width < b.0) {
                best = Some((width, k));
            }
        }
        let Some((_, k)) = best.filter(|_| parts > 1) else {
            return false;
        };
        let mut halves = halves(k).into_iter();
        halves.all(|half| self.falls_around(around, &half, slack, parts / 2))
    }

    /// Whether what is nearer to x* than this stays in the set, and the distance is within the box that has its own proof: |F − x*| in the norm of P is at most that of d, which falls there, and that of the residual.
    fn comes_back(&self, radius: f64, inner: &[f64], residual: f64) -> bool {
        let trace: f64 = (0..inner.len()).map(|k| self.claim.p[k][k]).sum();
        let farthest = (radius + residual) * trace.sqrt() * (1.0 + 1e-9);
        inner.iter().all(|r| radius < *r) && farthest * farthest < self.claim.level * (1.0 - 1e-9)
    }

    /// One part of the whole set, and everything it is divided into. Boxes are kept by their edges, which neighbours share to the bit: nothing falls between them.
    fn cell(&self, mut cell: usize) -> Part {
        let n = self.claim.centre.len();
        let mut start: Vec<(f64, f64)> = self.reach.iter().map(|r| (-r, *r)).collect();
        let uncertain = self.map.uncertain().iter();
        for (side, u) in start[n..].iter_mut().zip(uncertain) {
            *side = (u.range.low, u.range.high);
        }
        for k in 0..n.min(4) {
            let part = cell % PARTS;
            cell /= PARTS;
            let edge = |part: usize| match part {
                0 => -self.reach[k],
                PARTS => self.reach[k],
                part => self.reach[k] * (2.0 * part as f64 / PARTS as f64 - 1.0),
            };
            start[k] = (edge(part), edge(part + 1));
        }
        let mut smallest = 1f64;
        let mut stack = vec![start];
        while let Some(sides) = stack.pop() {
            if self.over.load(Ordering::Relaxed) || !(self.pulse)() {
                self.over.store(true, Ordering::Relaxed);
                return Part::Open(NotProved::Stopped);
            }
            if self.boxes.fetch_add(1, Ordering::Relaxed) >= self.most_boxes {
                self.over.store(true, Ordering::Relaxed);
                return Part::Open(NotProved::TooManyBoxes);
            }
            let share = |k: usize| 0.5 * (sides[k].1 - sides[k].0) / self.reach[k];
            match self.look(&sides) {
                Look::Done => smallest = (0..n).fold(smallest, |m, k| m.min(share(k))),
                Look::Refuted(state) => {
                    self.over.store(true, Ordering::Relaxed);
                    return Part::Refuted(state);
                }
                Look::Divide(k) => {
                    if share(k) < SMALLEST {
                        self.over.store(true, Ordering::Relaxed);
                        return Part::Open(NotProved::TooSmall);
                    }
                    let (low, high) = sides[k];
                    let between = low + 0.5 * (high - low);
                    let mut other = sides.clone();
                    other[k] = (low, between);
                    stack.push(other);
                    let mut other = sides;
                    other[k] = (between, high);
                    stack.push(other);
                }
            }
        }
        Part::Proved(smallest)
    }

    /// Looks at the box of offsets from x* with these sides.
    fn look(&self, sides: &[(f64, f64)]) -> Look {
        let (p, n) = (self.claim.p.rows(), self.claim.centre.len());
        let middle: Vec<f64> = sides.iter().map(|s| s.0 + 0.5 * (s.1 - s.0)).collect();
        // From the middle to the farther side, rounded up.
        let half: Vec<f64> = sides
            .iter()
            .zip(&middle)
            .map(|(s, m)| (s.1 - m).max(m - s.0).next_up())
            .collect();
        let all_middle: Vec<Interval> = middle.iter().map(|m| Interval::point(*m)).collect();
        let (d_middle, w_middle) = all_middle.split_at(n);
        let pd_middle = times(p, d_middle);
        let v_middle = dot(d_middle, &pd_middle);
        // V is convex: its tangent at the middle bounds it from below.
        let tilt = pd_middle.iter().zip(&half).fold(0.0, |s, (g, h)| {
            (s + (2.0 * g.magnitude() * h).next_up()).next_up()
        });
        if (v_middle.low - tilt).next_down() > self.claim.level {
            return Look::Done;
        }
        // The neighbourhood of x* has its own proof, if there is one.
        let near = |k: usize| sides[k].0.abs().max(sides[k].1.abs()) <= self.inner[k];
        if self.claim.inner == 0.0 && (0..n).all(near) {
            return Look::Done;
        }
        // ΔV with its gradient, and V(F).
        let change = |d: &[Interval], w: &[Interval]| -> (Interval, Vec<Interval>, Interval) {
            let x: Vec<Interval> = d
                .iter()
                .zip(&self.claim.centre)
                .map(|(d, c)| d.add(Interval::point(*c)))
                .collect();
            let (next, j) = self.map.slopes(&x, w);
            let e: Vec<Interval> = next
                .iter()
                .zip(&self.claim.centre)
                .map(|(x, c)| x.subtract(Interval::point(*c)))
                .collect();
            let (pe, pd) = (times(p, &e), times(p, d));
            let still = Interval::point(0.0);
            let gradient = (0..sides.len())
                .map(|k| {
                    let column: Vec<Interval> = j.iter().map(|row| row[k]).collect();
                    dot(&column, &pe)
                        .subtract(pd.get(k).copied().unwrap_or(still))
                        .multiply(Interval::point(2.0))
                })
                .collect();
            let after = dot(&e, &pe);
            (after.subtract(dot(d, &pd)), gradient, after)
        };
        let (at_middle, _, after) = change(d_middle, w_middle);
        let rises = at_middle.low >= 0.0 && after.low > self.claim.inner;
        if rises && v_middle.high <= self.claim.level {
            let state = middle.iter().zip(&self.claim.centre);
            return Look::Refuted(state.map(|(d, c)| d + c).collect());
        }
        let all: Vec<Interval> = sides.iter().map(|s| Interval::new(s.0, s.1)).collect();
        let (d, w) = all.split_at(n);
        let (natural, gradient, after) = change(d, w);
        let mut bound = at_middle.high;
        let mut widest = (0, 0.0);
        for (k, (g, h)) in gradient.iter().zip(&half).enumerate() {
            let part = (g.magnitude() * h.next_up()).next_up();
            bound = (bound + part).next_up();
            // In doubt the longest side, relative to the whole.
            let rank = if part.is_finite() {
                part
            } else {
                f64::MAX * (h / self.reach[k].max(f64::MIN_POSITIVE)).min(1.0)
            };
            if rank > widest.1 {
                widest = (k, rank);
            }
        }
        // Where the map may jump, or has no value, nothing holds.
        let x: Vec<Interval> = d
            .iter()
            .zip(&self.claim.centre)
            .map(|(d, c)| d.add(Interval::point(*c)))
            .collect();
        if !self.map.is_continuous(&x) {
            // Parts of what is uncertain are looked at together.
            let share = |k: &usize| half[*k] / self.reach[*k];
            let longest = (0..n).max_by(|a, b| share(a).total_cmp(&share(b)));
            return Look::Divide(longest.unwrap_or(0));
        }
        let kept = self.claim.inner > 0.0 && after.high <= self.claim.inner;
        if bound < 0.0 || natural.high < 0.0 || kept {
            return Look::Done;
        }
        Look::Divide(widest.0)
    }
}

enum Look {
    /// Outside of the set, or proved.
    Done,
    Refuted(Vec<f64>),
    /// Not decided: along which side to divide.
    Divide(usize),
}
