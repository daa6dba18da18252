//! The evidence for a law: how near it comes to the measurements, and what its terms cost.

use std::cell::Cell;

use super::{
    Candidates, LikelihoodConfig, Window,
    fit::{Fitted, Until, fit},
    flow::Flow,
};
use crate::{dictionary::price_of_choice, features::Features};

/// What laws are judged by.
pub(super) struct Judge<'a> {
    pub features: &'a Features,
    pub windows: &'a [Window],
    pub candidates: &'a Candidates,
    pub config: LikelihoodConfig,
    /// How exactly states must be followed.
    pub tolerance: Vec<f64>,
    /// The work that was done so far.
    pub work: Cell<u64>,
    /// Whether something was left undone because it would have been too much.
    pub ended: Cell<bool>,
    /// Asked now and then, with the work that was done; if it says no, nothing further is begun.
    pub go_on: &'a dyn Fn(u64) -> bool,
}

/// A law with the evidence for it.
#[derive(Clone)]
pub(super) struct Judged {
    pub supports: Vec<Vec<usize>>,
    pub fitted: Fitted,
    pub score: f64,
}

/// Terms may be so many times as large as their sum for nothing; beyond that every digit that cancels must be paid for.
const CANCELLATION: f64 = 100.0;

impl Judge<'_> {
    pub fn flow(&self, supports: &[Vec<usize>]) -> Flow {
        let (terms, inputs) = (self.features.terms(), self.features.inputs().len());
        Flow::new(terms, inputs, supports, self.tolerance.clone())
    }

    /// Takes note of work.
    pub fn add(&self, work: u64) {
        self.work.set(self.work.get() + work);
    }

    /// Takes note of the work of a flow.
    pub fn done(&self, flow: &Flow) {
        self.add(flow.work());
    }

    /// The work that is left.
    pub fn left(&self) -> u64 {
        self.config.most_work.saturating_sub(self.work.get())
    }

    /// Whether so much more work may be done. If not, the search ends before its time.
    pub fn affords(&self, work: u64) -> bool {
        let affords = work <= self.left() && (self.go_on)(self.work.get());
        self.ended.set(self.ended.get() || !affords);
        affords
    }

    pub fn freedom(&self, fitted: &Fitted) -> f64 {
        let n = self.tolerance.len();
        (fitted.counted as f64 - (n * fitted.followed) as f64).max(1.0)
    }

    pub fn measurements(&self) -> usize {
        self.windows.iter().map(Window::counted).sum()
    }

    /// What so many terms of an equation cost. One that was picked out of many costs more than one that was the only choice.
    pub fn price_of(&self, equation: usize, terms: usize) -> f64 {
        let choice = price_of_choice(self.candidates.choices[equation], terms);
        terms as f64 * (self.measurements() as f64).ln() + choice
    }

    fn price(&self, supports: &[Vec<usize>]) -> f64 {
        let each = supports.iter().enumerate();
        each.map(|(i, support)| self.price_of(i, support.len()))
            .sum()
    }

    /// What a term costs at most.
    pub fn dearest(&self) -> f64 {
        let most = self.candidates.choices.iter().max().copied().unwrap_or(1);
        (self.measurements() as f64).ln() + 2.0 * (most as f64).ln()
    }

    /// Squares that a law leaves, per degree of freedom; nearer than the floor is no gain.
    fn misfit(&self, squares: f64, freedom: f64) -> f64 {
        squares / freedom + self.config.floor.powi(2)
    }

    /// The evidence of a law that leaves so much.
    fn score(&self, fitted: &Fitted, supports: &[Vec<usize>]) -> f64 {
        let freedom = self.freedom(fitted) + (self.measurements() - fitted.counted) as f64;
        let misfit = self.misfit(fitted.squares + fitted.lost, freedom);
        freedom * misfit.ln() + self.price(supports) + cancellation(fitted, supports)
    }

    /// By how much the score grows if a law leaves so much more, its terms aside.
    pub fn worse(&self, fitted: &Fitted, rise: f64) -> f64 {
        let freedom = self.freedom(fitted);
        let before = self.misfit(fitted.squares, freedom);
        let after = self.misfit((fitted.squares + rise).max(0.0), freedom);
        freedom * (after / before).ln()
    }

    /// What a law with these terms must leave at most to have the evidence of its rival.
    fn goal(&self, rival: &Judged, supports: &[Vec<usize>]) -> f64 {
        let n = self.tolerance.len();
        let freedom = (self.measurements() as f64 - (n * self.windows.len()) as f64).max(1.0);
        let misfit = ((rival.score - self.price(supports)) / freedom).exp();
        (misfit - self.config.floor.powi(2)) * freedom
    }

    /// A law with these terms, fitted from coefficients and starts that are near. One that will not come up to its rival is given up early.
    pub fn judged(
        &self,
        supports: Vec<Vec<usize>>,
        coefficients: Vec<f64>,
        starts: Vec<Vec<f64>>,
        rival: Option<&Judged>,
    ) -> Judged {
        let flow = self.flow(&supports);
        let goal = rival.map_or(f64::INFINITY, |rival| self.goal(rival, &supports));
        let floor = self.config.floor.powi(2);
        let until = Until {
            goal,
            floor,
            most_work: self.left(),
            go_on: &|work| (self.go_on)(self.work.get() + work),
        };
        let fitted = fit(&flow, self.windows, starts, coefficients, until);
        self.done(&flow);
        self.ended.set(self.ended.get() || fitted.ended);
        Judged {
            // A law that nothing is known of is no better than any.
            score: match fitted.begun {
                true => self.score(&fitted, &supports),
                false => f64::INFINITY,
            },
            supports,
            fitted,
        }
    }

    /// σ²: what a residual is, squared.
    pub fn variance(&self, fitted: &Fitted) -> f64 {
        self.misfit(fitted.squares, self.freedom(fitted))
    }
}

/// What terms cost that are far larger than what they sum to: 1330100·cos θ − 1281900·sin(cos θ) says no more than a law that a person can read, and has to be known to six digits for it.
fn cancellation(fitted: &Fitted, supports: &[Vec<usize>]) -> f64 {
    let p = fitted.coefficients.len();
    let effect = |a: usize, b: usize| {
        fitted.coefficients[a] * fitted.information[a * p + b] * fitted.coefficients[b]
    };
    let mut place = 0;
    let mut price = 0.0;
    for support in supports {
        let own = place..place + support.len();
        place = own.end;
        let each = own.clone();
        let sum: f64 = each
            .flat_map(|a| own.clone().map(move |b| (a, b)))
            .map(|(a, b)| effect(a, b))
            .sum();
        for a in own {
            let ratio = effect(a, a) / (sum.max(f64::MIN_POSITIVE) * CANCELLATION.powi(2));
            price += ratio.min(1e300).ln().max(0.0);
        }
    }
    price
}
