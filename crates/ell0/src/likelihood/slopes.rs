//! Derivatives of a law's states by where it starts and by its coefficients.
//!
//! They obey Ṡ = J S + ∂f/∂ξ along the law's path. Steps of the method only have to point in the right direction, and errors of coefficients need two digits: so the states are followed as exactly as the measurements demand, and S goes along by one matrix a step.
//! Over a step of length h, with Φ the way of small differences from its beginning to its end and Ψ from its middle to its end, S ← Φ S + ∫ Φ(·, s) ∂f/∂ξ ds, the integral by Simpson's rule.

use super::{
    Window,
    flow::{Companion, Flow, Room},
};
use crate::simd;

/// Sums over one window: the normal equations of its start and of the coefficients.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Σ r².
    pub squares: f64,
    /// Σ g gᵀ with g the derivatives of a residual by the start (n of them) and by the coefficients (p): rows of the start and of the coefficients that were asked for, n + p columns.
    pub normal: Vec<f64>,
    /// Its whole diagonal.
    pub diagonal: Vec<f64>,
    /// Σ g r.
    pub gradient: Vec<f64>,
}

/// Terms and their derivatives by the states at one moment, and what follows.
#[derive(Clone, Default)]
struct Moment {
    values: Vec<f64>,
    rates: Vec<f64>,
    /// ∂f/∂x, row after row.
    jacobian: Vec<f64>,
}

struct Summing<'a> {
    flow: &'a Flow,
    window: &'a Window,
    coefficients: &'a [f64],
    /// Rows of the normal equations that are wanted.
    rows: &'a [usize],
    room: Room<'a>,
    /// n × (n + p), row after row.
    slopes: Vec<f64>,
    next: Vec<f64>,
    /// Derivatives of residuals that are not in the sums yet, residual after residual.
    waiting: Vec<f64>,
    before: Moment,
    middle: Moment,
    after: Moment,
    known: bool,
    between: Vec<f64>,
    phi: Vec<f64>,
    psi: Vec<f64>,
    stages: [Vec<f64>; 4],
    sums: Sums,
}

/// What runs away has no slopes that mean anything.
const STEEPEST: f64 = 1e8;

/// Residuals whose products are summed at once, and sums that stay in registers meanwhile.
const AT_ONCE: usize = 32;
const LANES: usize = 16;

/// Adds Σ gₐ g over the rows g of a block to a row of sums for each a.
fn add_products(sums: &mut [f64], of: impl Iterator<Item = usize>, block: &[f64], width: usize) {
    simd::vectorised(
        #[inline(always)]
        || {
            for (out, a) in sums.chunks_exact_mut(width).zip(of) {
                let (whole, rest) = out.as_chunks_mut::<LANES>();
                let tail = whole.len() * LANES;
                for (at, out) in whole.iter_mut().enumerate() {
                    let mut sum = *out;
                    for g in block.chunks_exact(width) {
                        let factor = g[a];
                        let own = &g[at * LANES..][..LANES];
                        for lane in 0..LANES {
                            sum[lane] = factor.mul_add(own[lane], sum[lane]);
                        }
                    }
                    *out = sum;
                }
                for g in block.chunks_exact(width) {
                    let (factor, own) = (g[a], &g[tail..][..rest.len()]);
                    for lane in 0..rest.len() {
                        rest[lane] = factor.mul_add(own[lane], rest[lane]);
                    }
                }
            }
        },
    );
}

/// out = a·b, for square matrices of a size that the compiler knows.
#[inline(always)]
fn small<const N: usize>(a: &[f64], b: &[f64], out: &mut [f64]) {
    let (a, b, out) = (&a[..N * N], &b[..N * N], &mut out[..N * N]);
    for i in 0..N {
        for j in 0..N {
            out[i * N + j] = (0..N).map(|k| a[i * N + k] * b[k * N + j]).sum();
        }
    }
}

/// out = a·b, for square matrices: row by row, so that neighbours in memory are worked on together.
#[inline(always)]
fn product(a: &[f64], b: &[f64], n: usize, out: &mut [f64]) {
    // Most laws are of few states, for which the loops would cost more than what they do.
    match n {
        1 => return small::<1>(a, b, out),
        2 => return small::<2>(a, b, out),
        3 => return small::<3>(a, b, out),
        _ => {}
    }
    for (own, out) in a.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        out.fill(0.0);
        for (factor, row) in own.iter().zip(b.chunks_exact(n)) {
            let sums = out.iter_mut().zip(row);
            sums.for_each(|(sum, b)| *sum += factor * b);
        }
    }
}

/// out = I + h·k, for square matrices.
#[inline(always)]
fn one_plus(h: f64, k: &[f64], n: usize, out: &mut [f64]) {
    for (out, k) in out.iter_mut().zip(k) {
        *out = h * k;
    }
    out.iter_mut().step_by(n + 1).for_each(|out| *out += 1.0);
}

impl Summing<'_> {
    fn look(&mut self, which: Which, row: usize, x: &[f64], t: f64) {
        let n = self.flow.states;
        let moment = match which {
            Which::Before => &mut self.before,
            Which::Middle => &mut self.middle,
            Which::After => &mut self.after,
        };
        self.room
            .gradients(self.window, row, x, t, &mut moment.values);
        moment.rates.clear();
        moment.rates.resize(n, 0.0);
        moment.jacobian.clear();
        moment.jacobian.resize(n * n, 0.0);
        for (&(i, term), c) in self.flow.places.iter().zip(self.coefficients) {
            if *c == 0.0 {
                continue;
            }
            let values = &moment.values[term * (1 + n)..][..1 + n];
            moment.rates[i] += c * values[0];
            let row = moment.jacobian[i * n..][..n].iter_mut();
            row.zip(&values[1..]).for_each(|(j, slope)| *j += c * slope);
        }
    }

    /// Products of the derivatives that wait go into the sums.
    fn add_waiting(&mut self) {
        let n = self.flow.states;
        let width = n + self.flow.places.len();
        let of = (0..n).chain(self.rows.iter().map(|a| n + a));
        add_products(&mut self.sums.normal, of, &self.waiting, width);
        self.waiting.clear();
    }

    /// Φ and Ψ of a step.
    fn ways(&mut self, h: f64) {
        let n = self.flow.states;
        let (a, m, b) = (
            &self.before.jacobian,
            &self.middle.jacobian,
            &self.after.jacobian,
        );
        // Runge and Kutta's method for Ṁ = J M from the identity: K₁ = J₀, K₂ = Jₘ (I + h/2 K₁), …
        let [one, two, three, four] = &mut self.stages;
        let (phi, psi) = (&mut self.phi, &mut self.psi);
        simd::vectorised(
            #[inline(always)]
            || {
                one.copy_from_slice(a);
                one_plus(h / 2.0, one, n, psi);
                product(m, psi, n, two);
                one_plus(h / 2.0, two, n, psi);
                product(m, psi, n, three);
                one_plus(h, three, n, psi);
                product(b, psi, n, four);
                for (at, phi) in phi.iter_mut().enumerate() {
                    let sum = one[at] + 2.0 * (two[at] + three[at]) + four[at];
                    *phi = h / 6.0 * sum;
                }
                phi.iter_mut().step_by(n + 1).for_each(|phi| *phi += 1.0);
                // Ψ = I + h/4 (Jₘ + J₁) + h²/8 J₁ Jₘ.
                product(b, m, n, four);
                one_plus(h * h / 8.0, four, n, psi);
                for (psi, (m, b)) in psi.iter_mut().zip(m.iter().zip(b)) {
                    *psi += h / 4.0 * (m + b);
                }
            },
        );
    }
}

#[derive(Clone, Copy)]
enum Which {
    Before,
    Middle,
    After,
}

impl Companion for Summing<'_> {
    fn step(&mut self, row: usize, t: f64, h: f64, from: &[f64], to: &[f64]) {
        let (n, p) = (self.flow.states, self.flow.places.len());
        let width = n + p;
        if !self.known {
            self.look(Which::Before, row, from, t);
            self.known = true;
        }
        self.look(Which::After, row, to, t + h);
        // The middle of the cubic through both ends.
        let rates = self.before.rates.iter().zip(&self.after.rates);
        self.between.clear();
        self.between.extend(
            from.iter()
                .zip(to)
                .zip(rates)
                .map(|((a, b), (before, after))| (a + b) / 2.0 + h / 8.0 * (before - after)),
        );
        let between = std::mem::take(&mut self.between);
        self.look(Which::Middle, row, &between, t + h / 2.0);
        self.between = between;
        self.ways(h);
        let (phi, psi, slopes, places) = (&self.phi, &self.psi, &self.slopes, &self.flow.places);
        let moments = (&self.before.values, &self.middle.values, &self.after.values);
        let next = &mut self.next;
        simd::vectorised(
            #[inline(always)]
            || {
                for (i, out) in next.chunks_exact_mut(width).enumerate() {
                    out.fill(0.0);
                    let own = &phi[i * n..][..n];
                    for (&phi, before) in own.iter().zip(slopes.chunks_exact(width)) {
                        if phi != 0.0 {
                            let both = out.iter_mut().zip(before);
                            both.for_each(|(out, s)| *out = phi.mul_add(*s, *out));
                        }
                    }
                    for (out, &(e, term)) in out[n..].iter_mut().zip(places) {
                        let at = term * (1 + n);
                        let (first, middle, last) = (moments.0[at], moments.1[at], moments.2[at]);
                        let through = phi[i * n + e] * first + 4.0 * psi[i * n + e] * middle;
                        *out += h / 6.0 * if i == e { through + last } else { through };
                    }
                }
            },
        );
        std::mem::swap(&mut self.slopes, &mut self.next);
        std::mem::swap(&mut self.before, &mut self.after);
    }

    fn row(&mut self, row: usize, state: &[f64]) -> bool {
        let n = self.flow.states;
        let width = n + self.flow.places.len();
        if !self.slopes.iter().all(|s| s.is_finite())
            || self.slopes.iter().all(|s| s.abs() > STEEPEST)
        {
            return false;
        }
        let measured = self.window.state(row).iter().zip(self.window.weights(row));
        for ((i, x), (y, w)) in state.iter().enumerate().zip(measured) {
            if *w == 0.0 {
                continue;
            }
            let r = (y - x) * w;
            self.sums.squares += r * r;
            let own = &self.slopes[i * width..][..width];
            let sums = self.sums.gradient.iter_mut().zip(&mut self.sums.diagonal);
            for ((gradient, diagonal), g) in sums.zip(own) {
                let g = g * w;
                *gradient += g * r;
                *diagonal += g * g;
                self.waiting.push(g);
            }
            if self.waiting.len() >= AT_ONCE * width {
                self.add_waiting();
            }
        }
        true
    }
}

impl Flow {
    /// The normal equations of a window, of all coefficients with those of `rows`; none if it cannot be followed with about so much work.
    pub fn sums(
        &self,
        window: &Window,
        start: &[f64],
        coefficients: &[f64],
        rows: &[usize],
        most_work: u64,
    ) -> Option<Sums> {
        let n = self.states;
        let width = n + self.places.len();
        let mut slopes = vec![0.0; n * width];
        (0..n).for_each(|i| slopes[i * width + i] = 1.0);
        let square = || vec![0.0; n * n];
        let mut summing = Summing {
            flow: self,
            window,
            coefficients,
            rows,
            room: Room::new(self),
            next: slopes.clone(),
            slopes,
            waiting: Vec::with_capacity((AT_ONCE + 1) * width),
            before: Moment::default(),
            middle: Moment::default(),
            after: Moment::default(),
            known: false,
            between: Vec::with_capacity(n),
            phi: square(),
            psi: square(),
            stages: [square(), square(), square(), square()],
            sums: Sums {
                squares: 0.0,
                normal: vec![0.0; (n + rows.len()) * width],
                diagonal: vec![0.0; width],
                gradient: vec![0.0; width],
            },
        };
        let most_steps = (most_work / self.of_a_step().max(1)) as usize;
        let followed = self.follow(window, start, coefficients, most_steps, &mut summing);
        summing.add_waiting();
        self.summed(window.rows(), rows.len());
        (followed && summing.sums.squares.is_finite()).then_some(summing.sums)
    }
}
