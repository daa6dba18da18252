//! A law followed through a window, with the derivatives of its states by the start and by the coefficients.

use super::Window;
use crate::{
    equation::{
        Node, Shared,
        integrate::{DormandPrince, Embedded, Method},
    },
    features::Term,
};

/// Terms and where their coefficients stand: equation after equation.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    states: usize,
    inputs: usize,
    /// Every term that some equation has, followed by its derivatives by the states.
    terms: Shared,
    /// For each coefficient, the equation and the term (among those above).
    places: Vec<(usize, usize)>,
    /// Steps are as short as these errors of the states demand.
    tolerance: Vec<f64>,
}

/// Sums over one window: the normal equations of its start and of the coefficients.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Σ r², and that of each state.
    pub squares: f64,
    pub by_state: Vec<f64>,
    /// By the start: n × n.
    pub ss: Vec<f64>,
    /// By the start and the coefficients: n × p.
    pub sp: Vec<f64>,
    /// By the coefficients: p × p.
    pub pp: Vec<f64>,
    /// Gradients.
    pub s: Vec<f64>,
    pub p: Vec<f64>,
}

/// Steps, accepted or not, between two rows.
const MOST_STEPS: usize = 2000;

impl Flow {
    /// `supports` are the terms of each equation; the first inputs are the states.
    pub fn new(
        library: &[Term],
        inputs: usize,
        supports: &[Vec<usize>],
        tolerance: Vec<f64>,
    ) -> Self {
        let states = supports.len();
        let mut used: Vec<usize> = supports.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        let nodes: Vec<Node> = used.iter().map(|&j| Node::term(&library[j])).collect();
        let by: Vec<usize> = (0..states).collect();
        let place = |j: &usize| used.binary_search(j).unwrap_or(0);
        let places = supports.iter().enumerate();
        Flow {
            states,
            inputs,
            terms: Shared::gradients(&nodes, &by),
            places: places
                .flat_map(|(i, support)| support.iter().map(move |j| (i, j)))
                .map(|(i, j)| (i, place(j)))
                .collect(),
            tolerance,
        }
    }

    /// Number of coefficients.
    pub fn coefficients(&self) -> usize {
        self.places.len()
    }

    /// Follows a window from a start and calls `at` with every row's number, state and derivatives (n × (n + p); n × 0 if none are wanted). False if it cannot be followed.
    fn follow(
        &self,
        window: &Window,
        start: &[f64],
        coefficients: &[f64],
        with_slopes: bool,
        mut at: impl FnMut(usize, &[f64], &[f64]),
    ) -> bool {
        let n = self.states;
        let width = if with_slopes {
            n + self.places.len()
        } else {
            0
        };
        let stride = 1 + n;
        let mut row = vec![0.0; self.inputs];
        let (mut steps, mut values) = (Vec::new(), Vec::new());
        let mut jacobian = vec![0.0; n * n];
        // The state, and its derivatives: one row of them for each state.
        let mut x = vec![0.0; n * (1 + width)];
        x[..n].copy_from_slice(start);
        if with_slopes {
            (0..n).for_each(|i| x[n + i * width + i] = 1.0);
        }
        let mut next = x.clone();
        let mut method = DormandPrince::new(x.len());
        at(0, &x[..n], &x[n..]);
        let time = window.time();
        let mut usual = f64::INFINITY;
        for k in 0..time.len() - 1 {
            let (mut t, end) = (time[k], time[k + 1]);
            let mut h = usual.min(end - t);
            let mut law = |x: &[f64], t: f64, out: &mut [f64]| {
                row[..n].copy_from_slice(&x[..n]);
                window.control_at(k, t, &mut row[n..]);
                self.terms.values_into(&row, &mut steps, &mut values);
                let (rates, slopes) = out.split_at_mut(n);
                rates.fill(0.0);
                for (&(i, term), c) in self.places.iter().zip(coefficients) {
                    rates[i] += c * values[term * stride];
                }
                if width == 0 {
                    return;
                }
                jacobian.fill(0.0);
                for (&(i, term), c) in self.places.iter().zip(coefficients) {
                    let slopes = &values[term * stride + 1..][..n];
                    for (j, slope) in jacobian[i * n..][..n].iter_mut().zip(slopes) {
                        *j += c * slope;
                    }
                }
                let before = &x[n..];
                for (i, out) in slopes.chunks_exact_mut(width).enumerate() {
                    out.fill(0.0);
                    for (j, before) in jacobian[i * n..][..n]
                        .iter()
                        .zip(before.chunks_exact(width))
                    {
                        if *j != 0.0 {
                            for (out, before) in out.iter_mut().zip(before) {
                                *out += j * before;
                            }
                        }
                    }
                }
                for (c, &(i, term)) in self.places.iter().enumerate() {
                    slopes[i * width + n + c] += values[term * stride];
                }
            };
            let mut done = false;
            for _ in 0..MOST_STEPS {
                let last = t + h >= end;
                if last {
                    h = end - t;
                }
                method.step(&mut law, &x, t, h, &mut next);
                let error = method.error()[..n]
                    .iter()
                    .zip(&self.tolerance)
                    .map(|(e, tolerance)| (e / tolerance).abs())
                    .fold(0.0, |worst: f64, e| {
                        if e.is_nan() {
                            f64::INFINITY
                        } else {
                            worst.max(e)
                        }
                    });
                let factor = (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
                if error <= 1.0 {
                    std::mem::swap(&mut x, &mut next);
                    if last {
                        usual = usual.min(f64::MAX).max(h * factor);
                        done = true;
                        break;
                    }
                    t += h;
                    usual = h * factor;
                }
                h *= factor;
                if h <= 1e-13 * (end - time[k]) {
                    break;
                }
            }
            // What runs away has no slopes that mean anything.
            let bound = 1e8;
            let sound = x[..n]
                .iter()
                .zip(&self.tolerance)
                .all(|(v, _)| v.abs() < 1e100)
                && x.iter().all(|v| v.is_finite());
            if !done || !sound || (width > 0 && x[n..].iter().all(|v| v.abs() > bound)) {
                return false;
            }
            at(k + 1, &x[..n], &x[n..]);
        }
        true
    }

    /// Σ of squares of the weighted residuals; infinite if the window cannot be followed.
    pub fn squares(&self, window: &Window, start: &[f64], coefficients: &[f64]) -> f64 {
        let mut total = 0.0;
        let followed = self.follow(window, start, coefficients, false, |k, x, _| {
            let measured = window.state(k).iter().zip(window.weights(k));
            for (x, (y, w)) in x.iter().zip(measured) {
                total += ((y - x) * w).powi(2);
            }
        });
        if followed && total.is_finite() {
            total
        } else {
            f64::INFINITY
        }
    }

    /// The normal equations of a window; none if it cannot be followed.
    pub fn sums(&self, window: &Window, start: &[f64], coefficients: &[f64]) -> Option<Sums> {
        let (n, p) = (self.states, self.places.len());
        let width = n + p;
        let mut sums = Sums {
            squares: 0.0,
            by_state: vec![0.0; n],
            ss: vec![0.0; n * n],
            sp: vec![0.0; n * p],
            pp: vec![0.0; p * p],
            s: vec![0.0; n],
            p: vec![0.0; p],
        };
        let followed = self.follow(window, start, coefficients, true, |k, x, slopes| {
            for i in 0..n {
                let w = window.weights(k)[i];
                if w == 0.0 {
                    continue;
                }
                let r = (window.state(k)[i] - x[i]) * w;
                sums.squares += r * r;
                sums.by_state[i] += r * r;
                let (by_start, by_coefficients) = slopes[i * width..][..width].split_at(n);
                for (a, ga) in by_start.iter().enumerate() {
                    let ga = ga * w;
                    sums.s[a] += ga * r;
                    for (b, gb) in by_start.iter().enumerate() {
                        sums.ss[a * n + b] += ga * gb * w;
                    }
                    for (out, gb) in sums.sp[a * p..][..p].iter_mut().zip(by_coefficients) {
                        *out += ga * gb * w;
                    }
                }
                for (a, ga) in by_coefficients.iter().enumerate() {
                    if *ga == 0.0 {
                        continue;
                    }
                    let ga = ga * w;
                    sums.p[a] += ga * r;
                    for (out, gb) in sums.pp[a * p..][..p].iter_mut().zip(by_coefficients) {
                        *out += ga * gb * w;
                    }
                }
            }
        });
        (followed && sums.squares.is_finite()).then_some(sums)
    }
}
