//! A law whose coefficients may be varied, followed through rows of measurements.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use ell0::{
    equation::{
        DictionaryTarget, Dynamics,
        integrate::{Adaptive, Control, DormandPrince},
    },
    features::{Factor, Features},
};

use super::seen::Rows;

/// Terms that are evaluated in all, at most: pictures of laws that are hard to follow must not take longer than finding them.
const MOST_EVALUATED: u64 = 40_000_000;

/// Steps between two rows.
const MOST_STEPS: usize = 500;

/// States further than this from 0, in deviations of the measurements, have run away.
const LARGEST: f64 = 1e9;

/// A term: a product of inputs, each as often as its power says, and of other factors.
struct Product {
    inputs: Vec<usize>,
    others: Vec<Factor>,
}

impl Product {
    fn new(factors: &[Factor]) -> Self {
        let (mut inputs, mut others) = (Vec::new(), Vec::new());
        for factor in factors {
            match *factor {
                Factor::Power { input, exponent } if (1..=4).contains(&exponent) => {
                    inputs.extend((0..exponent).map(|_| input));
                }
                other => others.push(other),
            }
        }
        Product { inputs, others }
    }

    fn of(&self, row: &[f64]) -> f64 {
        let mut product = 1.0;
        for &input in &self.inputs {
            product *= row[input];
        }
        for factor in &self.others {
            product *= factor.apply(row[factor.input()]);
        }
        product
    }
}

/// Terms, their coefficients and what states are measured in.
pub(super) struct Law {
    terms: Vec<Product>,
    /// For each coefficient, the equation and the term.
    places: Vec<(usize, usize)>,
    pub coefficients: Vec<f64>,
    /// The deviation of each target: states are followed in these, so that units do not matter.
    pub scales: Vec<f64>,
    dynamics: Dynamics,
    /// Error of a step, in deviations of the states.
    tolerance: f64,
    /// Terms that may still be evaluated.
    left: AtomicU64,
}

impl Law {
    pub fn new(
        features: &Features,
        laws: &[DictionaryTarget],
        dynamics: Dynamics,
        scales: Vec<f64>,
        tolerance: f64,
    ) -> Self {
        let all = laws.iter().enumerate().flat_map(|(i, law)| {
            let terms = law.coefficients.iter().enumerate();
            terms.map(move |(j, c)| (i, j, *c)).filter(|t| t.2 != 0.0)
        });
        let (mut used, mut places, mut coefficients) = (Vec::new(), Vec::new(), Vec::new());
        for (i, j, c) in all {
            let place = used.iter().position(|u| *u == j).unwrap_or_else(|| {
                used.push(j);
                used.len() - 1
            });
            places.push((i, place));
            coefficients.push(c);
        }
        Law {
            terms: used
                .iter()
                .map(|&j| Product::new(features.terms()[j].factors()))
                .collect(),
            places,
            coefficients,
            scales,
            dynamics,
            tolerance,
            left: AtomicU64::new(MOST_EVALUATED),
        }
    }

    /// Whether more may be evaluated.
    pub fn may_go_on(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Coefficients that give targets in deviations of these.
    fn scaled(&self, coefficients: &[f64]) -> Vec<f64> {
        let all = self.places.iter().zip(coefficients);
        all.map(|((i, _), c)| c / self.scales[*i]).collect()
    }

    /// The right-hand sides for a row of inputs.
    fn rates(&self, row: &[f64], coefficients: &[f64], values: &mut [f64], out: &mut [f64]) {
        for (value, term) in values.iter_mut().zip(&self.terms) {
            *value = term.of(row);
        }
        out.fill(0.0);
        for (&(i, term), c) in self.places.iter().zip(coefficients) {
            out[i] += c * values[term];
        }
    }

    /// What the law gives at each row, target after target; none where it gives no number.
    pub fn predicted(&self, rows: &Rows) -> Vec<Vec<Option<f64>>> {
        let n = self.scales.len();
        let mut predicted = vec![Vec::with_capacity(rows.len()); n];
        let mut values = vec![0.0; self.terms.len()];
        let mut out = vec![0.0; n];
        for k in 0..rows.len() {
            let row: Vec<f64> = rows.inputs.iter().map(|c| c[k]).collect();
            self.rates(&row, &self.coefficients, &mut values, &mut out);
            for (all, value) in predicted.iter_mut().zip(&out) {
                all.push(Some(*value).filter(|v| v.is_finite()));
            }
        }
        predicted
    }

    /// Follows the law from a start through a window of rows. `keep` sees each row with the state there, all in deviations, and says whether to go on. False if the law was lost on the way.
    pub fn follow(
        &self,
        rows: &Rows,
        window: Range<usize>,
        start: &[f64],
        coefficients: &[f64],
        mut keep: impl FnMut(usize, &[f64]) -> bool,
    ) -> bool {
        let n = self.scales.len();
        let coefficients = &self.scaled(coefficients);
        let mut row = vec![0.0; rows.inputs.len()];
        let mut values = vec![0.0; self.terms.len()];
        let cost = self.terms.len().max(1) as u64;
        let (mut x, mut next) = (start.to_vec(), start.to_vec());
        let control = Control {
            tolerance: self.tolerance,
            largest: LARGEST,
            most_steps: MOST_STEPS,
        };
        let mut integrator = Adaptive::with_control(DormandPrince::new(n), control);
        if !keep(window.start, &x) {
            return false;
        }
        for k in window.start..window.end - 1 {
            let (from, to) = (rows.time[k], rows.time[k + 1]);
            let mut evaluated = 0;
            let mut rates = |x: &[f64], t: f64, out: &mut [f64]| {
                let share = ((t - from) / (to - from)).clamp(0.0, 1.0);
                for ((value, x), scale) in row.iter_mut().zip(x).zip(&self.scales) {
                    *value = x * scale;
                }
                for (value, column) in row[n..].iter_mut().zip(&rows.inputs[n..]) {
                    *value = column[k] + share * (column[k + 1] - column[k]);
                }
                self.rates(&row, coefficients, &mut values, out);
                evaluated += cost;
            };
            let reached = match self.dynamics {
                Dynamics::Discrete => {
                    rates(&x, from, &mut next);
                    true
                }
                _ => integrator.advance(&mut rates, &mut next, from, to).is_ok(),
            };
            let spend = |left: u64| Some(left.saturating_sub(evaluated));
            let _ = self
                .left
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
            let sound = next.iter().all(|v| v.abs() <= LARGEST);
            if !reached || !sound || !self.may_go_on() {
                return false;
            }
            x.copy_from_slice(&next);
            if !keep(k + 1, &x) {
                return false;
            }
        }
        true
    }
}
