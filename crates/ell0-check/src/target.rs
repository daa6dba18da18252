//! The target {dᵀPd ≤ c}, d = x − x*, and that dᵀPd falls on it at every step.

use ell0::equation::{Arithmetic, Interval};
use rayon::prelude::*;

use crate::{
    certificate::{Certificate, Flaw},
    dual::Dual,
    form::{Form, SYMBOLS},
    image::{Cell, Room, next_of},
};

/// Boxes that are looked at in each of the parts, at most.
const MOST_BOXES: usize = 100_000;

/// Divisions before the parts are looked at side by side.
const PARTS: usize = 8;

/// The set.
pub struct Target<const N: usize> {
    centre: [f64; N],
    p: [[f64; N]; N],
    level: f64,
    inner: f64,
    shear: [[f64; N]; N],
    /// A box around it.
    pub hull: [Interval; N],
    /// How far it reaches.
    reach: [f64; N],
}

type Matrix<const N: usize> = [[Interval; N]; N];

/// Whether every symmetric matrix in these ranges is positive definite: all pivots of the elimination are positive.
fn is_definite<const N: usize>(mut a: Matrix<N>) -> bool {
    for k in 0..N {
        if a[k][k].low.is_nan() || a[k][k].low <= 0.0 {
            return false;
        }
        for i in k + 1..N {
            let factor = a[i][k].divide(a[k][k]);
            for j in k + 1..=i {
                a[i][j] = a[i][j].subtract(factor.multiply(a[j][k]));
            }
        }
    }
    true
}

/// xᵀ·m·y.
fn product<const N: usize>(x: &[Interval; N], m: &[[f64; N]; N], y: &[Interval; N]) -> Interval {
    let mut total = Interval::point(0.0);
    for i in 0..N {
        for j in 0..N {
            let part = Interval::point(m[i][j]).multiply(x[i]).multiply(y[j]);
            total = total.add(part);
        }
    }
    total
}

impl<const N: usize> Target<N> {
    pub fn new(certificate: &Certificate) -> Result<Self, Flaw> {
        let square = |m: &[Vec<f64>]| std::array::from_fn(|i| std::array::from_fn(|j| m[i][j]));
        let mut target = Target {
            centre: std::array::from_fn(|k| certificate.centre[k]),
            p: square(&certificate.p),
            level: certificate.level,
            inner: certificate.inner,
            shear: square(&certificate.shear),
            hull: [Interval::ENTIRE; N],
            reach: [0.0; N],
        };
        let symmetric = (0..N).all(|i| (0..i).all(|j| target.p[i][j] == target.p[j][i]));
        if !symmetric || !is_definite(target.points()) {
            return Err(Flaw::Target("P is not symmetric and positive definite"));
        }
        let inner = (0.0..target.level).contains(&target.inner);
        if !(target.level > 0.0 && target.level.is_finite() && inner) {
            return Err(Flaw::Target("the levels are not positive and finite"));
        }
        for k in 0..N {
            let reach = target
                .reach_of(k)
                .ok_or(Flaw::Target("no box around it was found"))?;
            target.reach[k] = reach;
            target.hull[k] = Interval::new(
                (target.centre[k] - reach).next_down(),
                (target.centre[k] + reach).next_up(),
            );
        }
        Ok(target)
    }

    fn points(&self) -> Matrix<N> {
        self.p.map(|row| row.map(Interval::point))
    }

    /// An r with |dₖ| ≤ r on the set: P − c/r² at the k-th place is still positive definite, so dᵀPd ≥ c·dₖ²/r².
    fn reach_of(&self, k: usize) -> Option<f64> {
        let level = Interval::point(self.level);
        let holds = |r: f64| {
            let mut less = self.points();
            let square = Interval::point(r).multiply(Interval::point(r));
            less[k][k] = less[k][k].subtract(level.divide(square));
            is_definite(less)
        };
        // From one that is too small, doubled, then halved.
        let mut high = (self.level / self.p[k][k]).sqrt();
        let mut low = high;
        // 0 doubled stays 0.
        if high == 0.0 {
            return None;
        }
        while !holds(high) {
            (low, high) = (high, 2.0 * high);
            if !high.is_finite() {
                return None;
            }
        }
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if holds(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Some(high)
    }

    /// Whether all of a cell is in the set. dᵀPd is convex, so its corners decide.
    pub fn holds(&self, cell: &Cell<N>) -> bool {
        (0..1usize << N).all(|corner| {
            let y: [Interval; N] = std::array::from_fn(|k| {
                Interval::point(if corner >> k & 1 == 1 {
                    cell.high[k]
                } else {
                    cell.low[k]
                })
            });
            let d: [Interval; N] = std::array::from_fn(|i| {
                let moved = (0..N).filter(|&j| self.shear[i][j] != 0.0);
                let x = moved.fold(y[i], |x, j| {
                    x.subtract(Interval::point(self.shear[i][j]).multiply(y[j]))
                });
                x.subtract(Interval::point(self.centre[i]))
            });
            product(&d, &self.p, &d).high <= self.level
        })
    }

    /// Checks that dᵀPd falls at every step in the set, or becomes at most the inner level if there is one, but perhaps nearer to its centre than the radius that is returned; and that what is nearer stays in the set.
    pub fn falls(&self, certificate: &Certificate) -> Result<f64, Flaw> {
        let near = match self.inner > 0.0 {
            true => Some(([0.0; N], 0.0)),
            false => self.near(certificate),
        };
        let (inner, radius) = near.ok_or(Flaw::Target(
            "no neighbourhood of its centre could be verified",
        ))?;
        let mut parts = vec![Sides {
            states: std::array::from_fn(|k| Interval::new(-self.reach[k], self.reach[k])),
            uncertain: certificate.uncertain.iter().map(|u| u.range).collect(),
        }];
        for step in 0..PARTS {
            parts = parts.into_iter().flat_map(|p| p.halves(step % N)).collect();
        }
        let falls = parts
            .into_par_iter()
            .all(|part| self.falls_on(certificate, part, &inner));
        if falls {
            Ok(radius)
        } else {
            Err(Flaw::Target(
                "there is a part of it for which this could not be verified",
            ))
        }
    }

    /// Around the centre F(x) − x* = J·d + r, and dᵀPd falls where P − JᵀPJ − μ is positive definite and d is not as small as the residual r leaves open.
    fn near(&self, certificate: &Certificate) -> Option<([f64; N], f64)> {
        let uncertain: Vec<Interval> = certificate.uncertain.iter().map(|u| u.range).collect();
        let at = self.image(certificate, &self.centre.map(Interval::point), &uncertain);
        if !at.iter().all(|d| d.defined) {
            return None;
        }
        let residual: [Interval; N] =
            std::array::from_fn(|k| at[k].value.subtract(Interval::point(self.centre[k])));
        let exact = residual.iter().all(|r| r.magnitude() == 0.0);
        let least = (0..N).map(|k| self.p[k][k]).fold(f64::INFINITY, f64::min);
        let trace: f64 = (0..N).map(|k| self.p[k][k]).sum();
        // |r|, not by squares: they would be 0 where r is tiny.
        let size = |v: &[Interval; N]| v.iter().map(|x| x.magnitude()).sum::<f64>();
        let mut share = 0.25;
        while share > 1e-5 {
            let inner = self.reach.map(|r| r * share);
            let around: [Interval; N] = std::array::from_fn(|k| {
                let (c, r) = (self.centre[k], inner[k]);
                Interval::new((c - r).next_down(), (c + r).next_up())
            });
            share *= 0.7;
            let next = self.image(certificate, &around, &uncertain);
            let column = |k: usize| -> [Interval; N] { std::array::from_fn(|i| next[i].slopes[k]) };
            let slacks = if exact {
                [0.0; 4]
            } else {
                [1e-3, 1e-4, 1e-5, 1e-6]
            };
            for slack in slacks.map(|s| s * least) {
                if !self.falls_around(certificate, &around, &uncertain, slack, 8) {
                    continue;
                }
                if exact {
                    return Some((inner, 0.0));
                }
                // −μ|d|² + 2|d|·|JᵀPr| + rᵀPr < 0 for |d| above this; rᵀPr ≤ trace·|r|².
                let pr: [Interval; N] = std::array::from_fn(|i| {
                    (0..N).fold(Interval::point(0.0), |s, j| {
                        s.add(Interval::point(self.p[i][j]).multiply(residual[j]))
                    })
                });
                let jpr: [Interval; N] = std::array::from_fn(|k| {
                    let column = column(k);
                    (0..N).fold(Interval::point(0.0), |s, i| {
                        s.add(column[i].multiply(pr[i]))
                    })
                });
                let (a, b) = (size(&jpr), (slack * trace).sqrt() * size(&residual));
                let radius = (a + a.hypot(b)) / slack * (1.0 + 1e-9) + f64::MIN_POSITIVE;
                // |F − x*| in the norm of P is at most |d| + |r| there.
                let farthest = (radius + size(&residual)) * trace.sqrt() * (1.0 + 1e-9);
                let inside = inner.iter().all(|r| radius < *r);
                if inside && farthest * farthest < self.level * (1.0 - 1e-9) {
                    return Some((inner, radius));
                }
            }
        }
        None
    }

    /// F and its derivatives on a box.
    fn image(
        &self,
        certificate: &Certificate,
        around: &[Interval; N],
        uncertain: &[Interval],
    ) -> [Dual<N>; N] {
        let states: [Dual<N>; N] = std::array::from_fn(|k| Dual::state(around[k], k));
        let uncertain = uncertain.iter().map(|u| Dual::between(u.low, u.high));
        let uncertain: Vec<Dual<N>> = uncertain.collect();
        let mut room = Room::default();
        let mut next = next_of(certificate, &states, &uncertain, &mut room);
        std::array::from_fn(|_| next.next().unwrap_or(Dual::number(f64::NAN)))
    }

    /// Whether P − JᵀPJ − μ is positive definite on a box, for all that is uncertain: at once, or in halves of that which J changes with most.
    fn falls_around(
        &self,
        certificate: &Certificate,
        around: &[Interval; N],
        uncertain: &[Interval],
        slack: f64,
        depth: u32,
    ) -> bool {
        let next = self.image(certificate, around, uncertain);
        if !next.iter().all(|d| d.defined) {
            return false;
        }
        let column = |k: usize| -> [Interval; N] { std::array::from_fn(|i| next[i].slopes[k]) };
        let fall: Matrix<N> = std::array::from_fn(|a| {
            std::array::from_fn(|b| {
                let less = if a == b { slack } else { 0.0 };
                Interval::point(self.p[a][b])
                    .subtract(Interval::point(less))
                    .subtract(product(&column(a), &self.p, &column(b)))
            })
        });
        if is_definite(fall) {
            return true;
        }
        let halved = |k: usize, upper: bool| {
            let mut half = uncertain.to_vec();
            let middle = half[k].low + 0.5 * (half[k].high - half[k].low);
            if upper {
                half[k].low = middle;
            } else {
                half[k].high = middle;
            }
            half
        };
        let width = |k: &usize| -> f64 {
            let next = self.image(certificate, around, &halved(*k, false));
            let slopes = next.iter().flat_map(|d| d.slopes);
            slopes.map(|s| s.high - s.low).sum()
        };
        let axes = (0..uncertain.len()).filter(|_| depth > 0);
        let axis = axes.min_by(|a, b| width(a).total_cmp(&width(b)));
        axis.is_some_and(|k| {
            [false, true].into_iter().all(|upper| {
                let half = halved(k, upper);
                self.falls_around(certificate, around, &half, slack, depth - 1)
            })
        })
    }

    /// Whether dᵀPd falls on a part, by dividing it.
    fn falls_on(&self, certificate: &Certificate, part: Sides<N>, inner: &[f64; N]) -> bool {
        let mut room = Room::default();
        let mut stack = vec![part];
        let mut boxes = 0;
        while let Some(sides) = stack.pop() {
            boxes += 1;
            if boxes > MOST_BOXES {
                return false;
            }
            // The neighbourhood of the centre has its own proof.
            if self.inner == 0.0 && (0..N).all(|k| sides.states[k].magnitude() <= inner[k]) {
                continue;
            }
            match self.change(certificate, &sides, &mut room) {
                None => {}
                // What rises somewhere need not be divided for long.
                Some(_) if self.rises(certificate, &sides.middle(), inner, &mut room) => {
                    return false;
                }
                Some(axis) => stack.extend(sides.halves(axis)),
            }
        }
        true
    }

    /// None if a part is outside of the set or dᵀPd falls on it; else the axis along which to divide it.
    fn change(
        &self,
        certificate: &Certificate,
        sides: &Sides<N>,
        room: &mut Room<Form>,
    ) -> Option<usize> {
        let Fall {
            before,
            change,
            after,
        } = self.fall(certificate, sides, room);
        if before.range.low > self.level {
            return None;
        }
        if change.range.high < 0.0 && change.error.is_finite() {
            return None;
        }
        if self.inner > 0.0 && after.range.high <= self.inner && after.error.is_finite() {
            return None;
        }
        // Across what it changes with most, or across the longest side if it bends more than that.
        let axes = N + sides.uncertain.len();
        let steepest = |a: usize, b: usize| {
            if change.slopes[b].abs() > change.slopes[a].abs() {
                b
            } else {
                a
            }
        };
        let axis = (0..axes.min(SYMBOLS)).fold(0, steepest);
        if change.slopes[axis].abs() > 0.3 * change.error {
            return Some(axis);
        }
        let share = |k: usize| (sides.states[k].high - sides.states[k].low) / self.reach[k];
        Some((0..N).fold(0, |a, b| if share(b) > share(a) { b } else { a }))
    }

    /// Whether dᵀPd certainly rises at a point of the set that is not near its centre.
    fn rises(
        &self,
        certificate: &Certificate,
        point: &Sides<N>,
        inner: &[f64; N],
        room: &mut Room<Form>,
    ) -> bool {
        let near = self.inner == 0.0 && (0..N).all(|k| point.states[k].magnitude() <= inner[k]);
        let Fall {
            before,
            change,
            after,
        } = self.fall(certificate, point, room);
        !near
            && before.range.high <= self.level
            && change.range.low > 0.0
            && after.range.low > self.inner
    }

    /// dᵀPd on a box and at the next step.
    fn fall(&self, certificate: &Certificate, sides: &Sides<N>, room: &mut Room<Form>) -> Fall {
        let symbol = |side: Interval, k: usize| {
            let mut form = Form::between(side.low, side.high);
            if k < SYMBOLS {
                let mut slopes = [0.0; SYMBOLS];
                slopes[k] = form.error;
                form = Form::new(form.centre, slopes, 0.0, side);
            }
            form
        };
        let d: [Form; N] = std::array::from_fn(|k| symbol(sides.states[k], k));
        let uncertain = sides.uncertain.iter().enumerate();
        let uncertain: Vec<Form> = uncertain.map(|(k, u)| symbol(*u, N + k)).collect();
        let times = |x: &[Form; N], y: &[Form; N]| {
            let mut total = Form::number(0.0);
            for i in 0..N {
                for j in 0..N {
                    let part = Form::number(self.p[i][j]).multiply(x[i]).multiply(y[j]);
                    total = total.add(part);
                }
            }
            total
        };
        let states: [Form; N] = std::array::from_fn(|k| d[k].add(Form::number(self.centre[k])));
        let mut next = next_of(certificate, &states, &uncertain, room);
        let e: [Form; N] = std::array::from_fn(|k| {
            let next = next.next().unwrap_or(Form::number(f64::NAN));
            next.add(Form::number(-self.centre[k]))
        });
        // (e − d)ᵀP(e + d).
        let minus = Form::number(-1.0);
        let less = std::array::from_fn(|k| e[k].add(minus.multiply(d[k])));
        let more = std::array::from_fn(|k| e[k].add(d[k]));
        Fall {
            before: times(&d, &d),
            change: times(&less, &more),
            after: times(&e, &e),
        }
    }
}

/// dᵀPd, by how much it is more at the next step, and it there.
struct Fall {
    before: Form,
    change: Form,
    after: Form,
}

/// A box of offsets from the centre and of what is uncertain.
#[derive(Clone)]
struct Sides<const N: usize> {
    states: [Interval; N],
    uncertain: Vec<Interval>,
}

impl<const N: usize> Sides<N> {
    /// The point in its middle.
    fn middle(&self) -> Self {
        let middle = |side: &Interval| Interval::point(side.low + 0.5 * (side.high - side.low));
        Sides {
            states: self.states.each_ref().map(middle),
            uncertain: self.uncertain.iter().map(middle).collect(),
        }
    }

    /// Its halves along an axis, which share an edge to the bit.
    fn halves(self, axis: usize) -> [Self; 2] {
        let mut halves = [self.clone(), self];
        for (upper, half) in halves.iter_mut().enumerate() {
            let side = match axis.checked_sub(N) {
                None => &mut half.states[axis],
                Some(k) => &mut half.uncertain[k],
            };
            let middle = side.low + 0.5 * (side.high - side.low);
            if upper == 1 {
                side.low = middle;
            } else {
                side.high = middle;
            }
        }
        halves
    }
}
