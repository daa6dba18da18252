//! The law that the measurements themselves ask for: terms are dropped and added as long as the evidence grows.

use super::{
    Window,
    fit::{Fitted, Reduced, Until, fit},
    flow::Flow,
    linear::Factored,
};
use crate::{
    error::{Result, require, require_len},
    features::Features,
};

/// How a law is chosen.
///
/// | parameter | default | meaning |
/// | --- | --- | --- |
/// | `tolerance` | 0.01 | error of the integration between two rows, in deviations of the measurements |
/// | `floor` | 0.01 | a law that is nearer to the measurements than so many deviations is near enough: no term is added to come nearer |
/// | `most_changes` | 60 | terms that are dropped or added, at most |
/// | `most_columns` | 600 | equations times terms of the library up to which terms are added |
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct LikelihoodConfig {
    pub tolerance: f64,
    pub floor: f64,
    pub most_changes: usize,
    pub most_columns: usize,
}

impl Default for LikelihoodConfig {
    fn default() -> Self {
        LikelihoodConfig {
            tolerance: 0.01,
            floor: 0.01,
            most_changes: 60,
            most_columns: 600,
        }
    }
}

/// One equation of a law.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyEquation {
    /// Its terms, by their index in the library, in order.
    pub support: Vec<usize>,
    /// Their coefficients.
    pub coefficients: Vec<f64>,
    /// The standard errors of these.
    pub errors: Vec<f64>,
}

/// A law with its likelihood.
#[derive(Clone, Debug, PartialEq)]
pub struct LikelyLaw {
    /// For each state.
    pub equations: Vec<LikelyEquation>,
    /// Mean squared residual in deviations of the measurements: about 1 if the law is right and the deviations are.
    pub misfit: f64,
    /// The same of each state, as a deviation: its measurements' errors are so many times as large as was said.
    pub deviations: Vec<f64>,
    /// Measurements less starts.
    pub freedom: f64,
    /// The evidence, dof·ln(misfit) + terms·ln(measurements) + 2·ln(choices of so many terms): the less, the better.
    pub score: f64,
    /// Windows that the law cannot be followed through.
    pub lost: usize,
    /// The law's own states in each window, row after row, from the most likely start; empty for windows that are lost.
    pub states: Vec<Vec<f64>>,
    /// Covariance of all coefficients, equation after equation; empty if the measurements say nothing of some.
    pub covariance: Vec<f64>,
}

/// A choice in the making.
struct State<'a> {
    features: &'a Features,
    windows: &'a [Window],
    config: LikelihoodConfig,
    tolerance: Vec<f64>,
}

#[derive(Clone)]
struct Candidate {
    supports: Vec<Vec<usize>>,
    fitted: Fitted,
    score: f64,
}

impl State<'_> {
    fn flow(&self, supports: &[Vec<usize>]) -> Flow {
        let (terms, inputs) = (self.features.terms(), self.features.inputs().len());
        Flow::new(terms, inputs, supports, self.tolerance.clone())
    }

    fn freedom(&self, fitted: &Fitted) -> f64 {
        let n = self.tolerance.len();
        (fitted.counted as f64 - (n * fitted.followed) as f64).max(1.0)
    }

    fn measurements(&self) -> usize {
        self.windows.iter().map(Window::counted).sum()
    }

    /// What the terms of a law cost. One that was picked out of many costs more than one that was the only choice: −2 ln of the share that each of the laws of this size has.
    fn price(&self, supports: &[Vec<usize>]) -> f64 {
        let ways = |support: &Vec<usize>| -> f64 {
            let (m, p) = (self.features.len() as f64, support.len());
            (0..p)
                .map(|k| ((m - k as f64) / (k as f64 + 1.0)).ln())
                .sum()
        };
        let ways: f64 = supports.iter().map(ways).sum();
        let terms = supports.iter().map(Vec::len).sum::<usize>() as f64;
        terms * (self.measurements() as f64).ln() + 2.0 * ways
    }

    /// The evidence of a law that leaves so much.
    fn score(&self, fitted: &Fitted, supports: &[Vec<usize>]) -> f64 {
        let freedom = self.freedom(fitted) + (self.measurements() - fitted.counted) as f64;
        let floor = self.config.floor.powi(2);
        let misfit = (fitted.squares + fitted.lost) / freedom + floor;
        freedom * misfit.ln() + self.price(supports)
    }

    /// What a law with these terms must leave at most to have the evidence of its rival.
    fn goal(&self, rival: &Candidate, supports: &[Vec<usize>]) -> f64 {
        let n = self.tolerance.len();
        let freedom = (self.measurements() as f64 - (n * self.windows.len()) as f64).max(1.0);
        let misfit = ((rival.score - self.price(supports)) / freedom).exp();
        (misfit - self.config.floor.powi(2)) * freedom
    }

    fn fitted(
        &self,
        supports: Vec<Vec<usize>>,
        coefficients: Vec<f64>,
        starts: Vec<Vec<f64>>,
        rival: Option<&Candidate>,
    ) -> Candidate {
        let flow = self.flow(&supports);
        let goal = rival.map_or(f64::INFINITY, |rival| self.goal(rival, &supports));
        let floor = self.config.floor.powi(2);
        let until = Until { goal, floor };
        let fitted = fit(&flow, self.windows, starts, coefficients, until);
        Candidate {
            score: self.score(&fitted, &supports),
            supports,
            fitted,
        }
    }

    /// σ²: what a residual is, squared.
    fn variance(&self, fitted: &Fitted) -> f64 {
        fitted.squares / self.freedom(fitted) + self.config.floor.powi(2)
    }

    /// The law without its weakest term, if the evidence says so.
    fn dropped(&self, now: &Candidate) -> Option<Candidate> {
        let p = now.fitted.coefficients.len();
        let variance = self.variance(&now.fitted);
        let inverse = Factored::new(&now.fitted.information, p, 0.0)?.inverse_diagonal();
        let strength = |c: usize| now.fitted.coefficients[c].powi(2) / (variance * inverse[c]);
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by(|a, b| strength(*a).total_cmp(&strength(*b)));
        // A term's strength is about what its absence costs; where the law bends that is only a guess, so the weakest few are tried. Many that are weak go together.
        let weak = order.iter().take_while(|c| strength(**c) < self.dearest());
        let many = order[..weak.count()].to_vec();
        let few = order.iter().take(3).map(|c| vec![*c]);
        let tries = (many.len() > 3).then_some(many).into_iter().chain(few);
        for gone in tries {
            if strength(gone[0]) > 2.0 * self.dearest() {
                return None;
            }
            let next = self.without(now, &gone);
            if next.score < now.score {
                return Some(next);
            }
        }
        None
    }

    /// The law without some of its terms, by the places of their coefficients.
    fn without(&self, now: &Candidate, gone: &[usize]) -> Candidate {
        let stays = |place: usize| !gone.contains(&place);
        let coefficients = now.fitted.coefficients.iter().enumerate();
        let coefficients = coefficients.filter(|(place, _)| stays(*place));
        let coefficients = coefficients.map(|(_, c)| *c).collect();
        let mut place = 0..;
        let supports = now.supports.iter().map(|support| {
            let terms = support.iter().zip(place.by_ref());
            terms
                .filter(|(_, place)| stays(*place))
                .map(|(j, _)| *j)
                .collect()
        });
        let supports = supports.collect();
        self.fitted(supports, coefficients, now.fitted.starts.clone(), Some(now))
    }

    /// What a term costs at most.
    fn dearest(&self) -> f64 {
        (self.measurements() as f64).ln() + 2.0 * (self.features.len() as f64).ln()
    }

    /// The law with the term that the residuals ask for most, if the evidence says so.
    fn added(&self, now: &Candidate) -> Option<Candidate> {
        let (n, m) = (now.supports.len(), self.features.len());
        if n * m > self.config.most_columns {
            return None;
        }
        let every: Vec<Vec<usize>> = vec![(0..m).collect(); n];
        let flow = self.flow(&every);
        let mut coefficients = vec![0.0; n * m];
        let mut there = Vec::new();
        let given = now.supports.iter().enumerate();
        for ((i, j), c) in given
            .flat_map(|(i, support)| support.iter().map(move |j| (i, *j)))
            .zip(&now.fitted.coefficients)
        {
            coefficients[i * m + j] = *c;
            there.push(i * m + j);
        }
        let starts = &now.fitted.starts;
        let Reduced {
            information,
            diagonal,
            gradient,
            ..
        } = super::fit::information(&flow, self.windows, starts, &coefficients, &there);
        let p = there.len();
        let width = n * m;
        let own: Vec<f64> = (0..p)
            .flat_map(|a| there.iter().map(move |b| (a, *b)))
            .map(|(a, b)| information[a * width + b])
            .collect();
        let factored = Factored::new(&own, p, 0.0)?;
        let mut pull: Vec<f64> = there.iter().map(|a| gradient[*a]).collect();
        factored.solve(&mut pull);
        let gain = |c: usize| -> f64 {
            let mut across: Vec<f64> = (0..p).map(|a| information[a * width + c]).collect();
            let left = gradient[c] - across.iter().zip(&pull).map(|(a, x)| a * x).sum::<f64>();
            let before = across.clone();
            factored.solve(&mut across);
            let shared: f64 = before.iter().zip(&across).map(|(a, b)| a * b).sum();
            let own = diagonal[c];
            let rest = own - shared;
            // What the others say already cannot be added.
            if rest > 1e-9 * own {
                left * left / rest
            } else {
                0.0
            }
        };
        let variance = self.variance(&now.fitted);
        let mut asked: Vec<(f64, usize)> = (0..width)
            .filter(|c| !there.contains(c))
            .map(|c| (gain(c) / variance, c))
            .collect();
        asked.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (gain, c) in asked.into_iter().take(3) {
            if gain < 0.5 * (self.measurements() as f64).ln() {
                return None;
            }
            let (i, j) = (c / m, c % m);
            let mut supports = now.supports.clone();
            let at = supports[i].partition_point(|k| *k < j);
            supports[i].insert(at, j);
            let place = supports[..i].iter().map(Vec::len).sum::<usize>() + at;
            let mut coefficients = now.fitted.coefficients.clone();
            coefficients.insert(place, 0.0);
            let next = self.fitted(supports, coefficients, starts.clone(), Some(now));
            if next.score < now.score {
                return Some(next);
            }
        }
        None
    }
}

/// The law that the measurements ask for, from one that is near: for each state, terms of the library (by index) with coefficients.
pub fn likely_law(
    features: &Features,
    windows: &[Window],
    near: &[Vec<(usize, f64)>],
    config: &LikelihoodConfig,
) -> Result<LikelyLaw> {
    require(!windows.is_empty(), "windows", 0, "at least one")?;
    let n = windows[0].width();
    require_len("equations of the law", near.len(), n)?;
    for window in windows {
        let inputs = window.width() + window.controls();
        require_len(
            "states and controls of a window",
            inputs,
            features.inputs().len(),
        )?;
        require_len("states of a window", window.width(), n)?;
    }
    let mut supports: Vec<Vec<(usize, f64)>> = near.to_vec();
    for support in &mut supports {
        support.sort_by_key(|(j, _)| *j);
        for (j, _) in &*support {
            require(
                *j < features.len(),
                "term",
                j,
                "there are fewer terms in the library",
            )?;
        }
    }
    // The finest measurement of each state says how exactly it must be followed.
    let mut tolerance = vec![f64::INFINITY; n];
    for window in windows {
        for k in 0..window.rows() {
            for (t, w) in tolerance.iter_mut().zip(window.weights(k)) {
                if *w > 0.0 {
                    *t = t.min(config.tolerance / w);
                }
            }
        }
    }
    let state = State {
        features,
        windows,
        config: *config,
        tolerance,
    };
    let coefficients = supports.iter().flatten().map(|(_, c)| *c).collect();
    let supports = supports
        .iter()
        .map(|s| s.iter().map(|(j, _)| *j).collect())
        .collect();
    let starts = windows.iter().map(Window::begin).collect();
    let mut now = state.fitted(supports, coefficients, starts, None);
    for _ in 0..config.most_changes {
        let next = state.dropped(&now).or_else(|| state.added(&now));
        match next {
            Some(next) => now = next,
            None => break,
        }
    }
    Ok(law(&state, &now))
}

fn law(state: &State, now: &Candidate) -> LikelyLaw {
    let fitted = &now.fitted;
    let p = fitted.coefficients.len();
    let variance = state.variance(fitted);
    let factored = Factored::new(&fitted.information, p, 0.0);
    let covariance: Vec<f64> = factored.map_or(Vec::new(), |f| {
        let inverse = f.inverse().into_iter();
        inverse.map(|v| variance * v).collect()
    });
    let error = |c: usize| {
        covariance
            .get(c * p + c)
            .map_or(f64::INFINITY, |v| v.sqrt())
    };
    let flow = state.flow(&now.supports);
    let states = state.windows.iter().zip(&fitted.starts);
    let states = states
        .map(|(window, start)| flow.states(window, start, &fitted.coefficients))
        .collect();
    let mut place = 0;
    let equations = now.supports.iter().map(|support| {
        let own = place..place + support.len();
        place = own.end;
        LikelyEquation {
            support: support.clone(),
            coefficients: fitted.coefficients[own.clone()].to_vec(),
            errors: own.map(error).collect(),
        }
    });
    LikelyLaw {
        equations: equations.collect(),
        misfit: fitted.squares / state.freedom(fitted),
        deviations: fitted
            .by_state
            .iter()
            .map(|squares| (squares * fitted.by_state.len() as f64 / state.freedom(fitted)).sqrt())
            .collect(),
        freedom: state.freedom(fitted),
        score: now.score,
        lost: state.windows.len() - fitted.followed,
        states,
        covariance,
    }
}
