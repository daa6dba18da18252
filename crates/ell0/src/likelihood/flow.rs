//! A law followed through a window of measurements.

use std::sync::atomic::{AtomicU64, Ordering};

use super::Window;
use crate::{
    equation::{
        Node, Shared,
        integrate::{DormandPrince, Embedded, Method},
    },
    features::Term,
};

/// Terms and where their coefficients stand: equation after equation.
#[derive(Debug)]
pub(super) struct Flow {
    pub states: usize,
    inputs: usize,
    /// Every term that some equation has.
    terms: Shared,
    /// The same, each followed by its derivatives by the states.
    gradients: Shared,
    /// For each coefficient, the equation and the term (among those above).
    pub places: Vec<(usize, usize)>,
    /// Steps are as short as these errors of the states demand.
    tolerance: Vec<f64>,
    /// The work that was done so far, about as many operations.
    work: AtomicU64,
}

/// Who goes along with a law through a window.
pub(super) trait Companion {
    /// The law went from one state to another, in a step of length `h` from time `t`, after a row.
    fn step(&mut self, row: usize, t: f64, h: f64, from: &[f64], to: &[f64]);

    /// The law has come to a row. False to go no further.
    fn row(&mut self, row: usize, state: &[f64]) -> bool;
}

/// Steps, accepted or not, for each row of a window, and some more where it bends most.
const MOST_STEPS: usize = 60;
const MORE_STEPS: usize = 1000;

/// States beyond this have run away.
const LARGEST: f64 = 1e100;

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
            terms: Shared::gradients(&nodes, &[]),
            gradients: Shared::gradients(&nodes, &by),
            places: places
                .flat_map(|(i, support)| support.iter().map(move |j| (i, j)))
                .map(|(i, j)| (i, place(j)))
                .collect(),
            tolerance,
            work: AtomicU64::new(0),
        }
    }

    /// The work that was done so far, about as many operations.
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Takes note of work.
    pub fn note(&self, work: u64) {
        self.work.fetch_add(work, Ordering::Relaxed);
    }

    /// The work of a step: six looks at the terms and, at the most, two at their derivatives and a product of slopes.
    pub fn of_a_step(&self) -> u64 {
        let (n, p) = (self.states, self.places.len());
        let looks = 6 * self.terms.steps() + 2 * self.gradients.steps();
        (16 * looks + 8 * n * n * n + 2 * n * n * (n + p)) as u64
    }

    /// The work of a row: products of derivatives by the starts and all coefficients with those by the starts and so many coefficients.
    fn of_a_row(&self, of: usize) -> u64 {
        let (n, p) = (self.states, self.places.len());
        (2 * n * (n + p) * (n + of)) as u64
    }

    /// The work of sums over so many rows, at the least: a step for each.
    pub fn of_sums(&self, rows: usize, of: usize) -> u64 {
        (rows as u64).saturating_mul(self.of_a_step() + self.of_a_row(of))
    }

    /// Takes note of the products of derivatives that were summed over so many rows.
    pub fn summed(&self, rows: usize, of: usize) {
        self.note(rows as u64 * self.of_a_row(of));
    }

    /// Number of coefficients.
    pub fn coefficients(&self) -> usize {
        self.places.len()
    }

    /// Follows a window from a start, in steps that end at its rows. False if it cannot be followed to the end, or not in so many steps.
    pub fn follow(
        &self,
        window: &Window,
        start: &[f64],
        coefficients: &[f64],
        most_steps: usize,
        companion: &mut impl Companion,
    ) -> bool {
        let n = self.states;
        let mut room = Room::new(self);
        let (mut x, mut next) = (start.to_vec(), start.to_vec());
        let mut method = DormandPrince::new(n);
        if !companion.row(0, &x) {
            return false;
        }
        let time = window.time();
        // As long as the last row allowed.
        let mut usual = f64::INFINITY;
        let most = (MOST_STEPS * time.len() + MORE_STEPS).min(most_steps);
        let mut steps = 0;
        for k in 0..time.len() - 1 {
            let (mut t, end) = (time[k], time[k + 1]);
            let mut h = usual.min(end - t);
            let mut law = |x: &[f64], t: f64, out: &mut [f64]| {
                let values = room.terms(window, k, x, t);
                out.fill(0.0);
                for (&(i, term), c) in self.places.iter().zip(coefficients) {
                    out[i] += c * values[term];
                }
            };
            let mut done = false;
            while steps < most {
                steps += 1;
                let last = t + h >= end;
                if last {
                    h = end - t;
                }
                method.step(&mut law, &x, t, h, &mut next);
                let errors = method.error().iter().zip(&self.tolerance);
                let error = errors.map(|(e, tolerance)| (e / tolerance).abs()).fold(
                    0.0,
                    |worst: f64, e| {
                        if e.is_nan() {
                            f64::INFINITY
                        } else {
                            worst.max(e)
                        }
                    },
                );
                let factor = (0.9 * error.max(1e-10).powf(-0.2)).clamp(0.2, 5.0);
                if error <= 1.0 {
                    // Inputs from outside have corners at rows, but no jumps.
                    method.go_on();
                    companion.step(k, t, h, &x, &next);
                    std::mem::swap(&mut x, &mut next);
                    if last {
                        usual = usual.min(f64::MAX).max(h * factor);
                        done = true;
                        break;
                    }
                    t += h;
                    usual = h * factor;
                } else {
                    method.again();
                }
                h *= factor;
                if h <= 1e-13 * (end - time[k]) {
                    break;
                }
            }
            let sound = x.iter().all(|v| v.abs() < LARGEST);
            if !done || !sound || !companion.row(k + 1, &x) {
                self.note(steps as u64 * self.of_a_step());
                return false;
            }
        }
        self.note(steps as u64 * self.of_a_step());
        true
    }
}

/// Keeps the states of all rows.
struct States(Vec<f64>);

impl Companion for States {
    fn step(&mut self, _: usize, _: f64, _: f64, _: &[f64], _: &[f64]) {}

    fn row(&mut self, _: usize, state: &[f64]) -> bool {
        self.0.extend_from_slice(state);
        true
    }
}

impl Flow {
    /// The law's states at the rows of a window, row after row; empty if it cannot be followed.
    pub fn states(&self, window: &Window, start: &[f64], coefficients: &[f64]) -> Vec<f64> {
        let mut states = States(Vec::new());
        if self.follow(window, start, coefficients, usize::MAX, &mut states) {
            states.0
        } else {
            Vec::new()
        }
    }
}

/// Room for the values of terms, used again and again.
pub(super) struct Room<'a> {
    flow: &'a Flow,
    row: Vec<f64>,
    steps: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> Room<'a> {
    pub fn new(flow: &'a Flow) -> Self {
        Room {
            flow,
            row: vec![0.0; flow.inputs],
            steps: Vec::new(),
            values: Vec::new(),
        }
    }

    fn put(&mut self, window: &Window, row: usize, x: &[f64], t: f64) {
        let n = self.flow.states;
        self.row[..n].copy_from_slice(x);
        window.control_at(row, t, &mut self.row[n..]);
    }

    /// The terms at a state and a time after a row.
    fn terms(&mut self, window: &Window, row: usize, x: &[f64], t: f64) -> &[f64] {
        self.put(window, row, x, t);
        let terms = &self.flow.terms;
        terms.values_into(&self.row, &mut self.steps, &mut self.values);
        &self.values
    }

    /// The terms, each followed by its derivatives by the states.
    pub fn gradients(
        &mut self,
        window: &Window,
        row: usize,
        x: &[f64],
        t: f64,
        out: &mut Vec<f64>,
    ) {
        self.put(window, row, x, t);
        let gradients = &self.flow.gradients;
        gradients.values_into(&self.row, &mut self.steps, out);
    }
}
