//! The law that the measurements themselves ask for: terms are dropped, added and exchanged as long as the evidence grows.

use std::cell::Cell;

use rayon::prelude::*;

use super::{
    Beginning, Candidates, LikelihoodConfig, LikelyEquation, LikelyLaw, Terms, Window,
    evidence::{Judge, Judged},
    linear::Factored,
    neighbours::{Change, alternatives, changes, probabilities},
};
use crate::{
    error::{Result, require, require_len},
    features::Features,
};

/// Changes of each kind that are tried before the search gives up: where a law bends, the quadratic form is only a guess.
const TRIES: usize = 3;

/// A change is tried if it promises to leave the score no worse than by this: the quadratic form may be wrong by as much.
const DOUBT: f64 = 2.0;

impl Judge<'_> {
    /// The law without its weakest terms, if the evidence says so.
    fn dropped(&self, now: &Judged) -> Option<Judged> {
        let p = now.fitted.coefficients.len();
        self.add((p * p * p) as u64);
        let variance = self.variance(&now.fitted);
        let inverse = Factored::new(&now.fitted.information, p, 0.0)?.inverse_diagonal();
        let strength = |c: usize| now.fitted.coefficients[c].powi(2) / (variance * inverse[c]);
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by(|a, b| strength(*a).total_cmp(&strength(*b)));
        // A term's strength is about what its absence costs. Many that are weak go together.
        let weak = order.iter().take_while(|c| strength(**c) < self.dearest());
        let many = order[..weak.count()].to_vec();
        let few = order.iter().take(TRIES).map(|c| vec![*c]);
        let tries = (many.len() > TRIES).then_some(many).into_iter().chain(few);
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
    fn without(&self, now: &Judged, gone: &[usize]) -> Judged {
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
        self.judged(supports, coefficients, now.fitted.starts.clone(), Some(now))
    }

    /// The law with the term that the residuals ask for most, or with that in another's place, if the evidence says so.
    fn changed(&self, now: &Judged, changes: &[Change]) -> Option<Judged> {
        let mut promising = changes.to_vec();
        promising.retain(|c| c.added.is_some() && c.worse < DOUBT);
        promising.sort_by(|a, b| a.worse.total_cmp(&b.worse));
        let (more, other): (Vec<Change>, Vec<Change>) =
            promising.into_iter().partition(|c| c.dropped.is_none());
        let tries = more.iter().take(TRIES).chain(other.iter().take(TRIES));
        for change in tries {
            let next = self.with(now, change);
            if next.score < now.score {
                return Some(next);
            }
        }
        None
    }

    /// Changes a law as long as the evidence grows. What else could be changed, if that was looked at last.
    fn improve(&self, now: &mut Judged) -> Option<Vec<Change>> {
        for _ in 0..self.config.most_changes {
            if !now.fitted.begun || !self.affords(1) {
                break;
            }
            if let Some(next) = self.dropped(now) {
                *now = next;
                continue;
            }
            let around = changes(self, now)?;
            match self.changed(now, &around) {
                Some(next) => *now = next,
                None => return Some(around),
            }
        }
        None
    }

    /// The law with other terms in one equation, if they are no more and the evidence says so.
    fn rivalled(&self, now: &Judged, equation: usize, rival: &Terms) -> Option<Judged> {
        let mut rival = rival.clone();
        rival.sort_by_key(|(j, _)| *j);
        let terms: Vec<usize> = rival.iter().map(|(j, _)| *j).collect();
        let own = now.supports.get(equation)?;
        // What lacks one of the terms that are there would have been found by dropping it.
        let lacks_one = || terms.len() + 1 >= own.len() && terms.iter().all(|j| own.contains(j));
        if terms.len() > own.len() || lacks_one() {
            return None;
        }
        let first: usize = now.supports[..equation].iter().map(Vec::len).sum();
        let mut coefficients = now.fitted.coefficients.clone();
        coefficients.splice(first..first + own.len(), rival.iter().map(|(_, c)| *c));
        let mut supports = now.supports.clone();
        supports[equation] = terms;
        let starts = now.fitted.starts.clone();
        let next = self.judged(supports, coefficients, starts, Some(now));
        (next.score < now.score).then_some(next)
    }

    /// The law after a change.
    fn with(&self, now: &Judged, change: &Change) -> Judged {
        let i = change.equation;
        let mut supports = now.supports.clone();
        let mut coefficients = now.fitted.coefficients.clone();
        let first: usize = supports[..i].iter().map(Vec::len).sum();
        if let Some(at) = change
            .dropped
            .and_then(|j| supports[i].binary_search(&j).ok())
        {
            supports[i].remove(at);
            coefficients.remove(first + at);
        }
        if let Some(j) = change.added {
            let at = supports[i].partition_point(|k| *k < j);
            supports[i].insert(at, j);
            coefficients.insert(first + at, 0.0);
        }
        let starts = now.fitted.starts.clone();
        self.judged(supports, coefficients, starts, Some(now))
    }
}

/// Rows of a window up to which errors of the integration do not add up to anything.
const SHORT: f64 = 25.0;

/// The finest measurement of each state says how exactly it must be followed; in long windows more exactly, for errors add up.
pub(super) fn tolerances(windows: &[Window], share: f64) -> Vec<f64> {
    let n = windows.first().map_or(0, Window::width);
    let longest = windows.iter().map(Window::rows).max().unwrap_or(0);
    let share = share * (SHORT / longest as f64).min(1.0);
    let mut tolerance = vec![f64::INFINITY; n];
    for window in windows {
        for k in 0..window.rows() {
            for (t, w) in tolerance.iter_mut().zip(window.weights(k)) {
                if *w > 0.0 {
                    *t = t.min(share / w);
                }
            }
        }
    }
    tolerance
}

/// A law, fitted to the measurements with its terms as they are.
pub(super) fn judge_as_it_is<'a>(
    features: &'a Features,
    windows: &'a [Window],
    candidates: &'a Candidates,
    beginning: &Beginning,
    config: &LikelihoodConfig,
    go_on: &'a dyn Fn(u64) -> bool,
) -> Result<(Judge<'a>, Judged)> {
    require(!windows.is_empty(), "windows", 0, "at least one")?;
    let n = windows[0].width();
    require_len("equations of the law", beginning.law.len(), n)?;
    require_len("candidates of equations", candidates.terms.len(), n)?;
    require_len("choices of equations", candidates.choices.len(), n)?;
    for window in windows {
        let inputs = window.width() + window.controls();
        require_len(
            "states and controls of a window",
            inputs,
            features.inputs().len(),
        )?;
        require_len("states of a window", window.width(), n)?;
    }
    let starts = match &beginning.starts {
        Some(starts) => {
            require_len("starts", starts.len(), windows.len())?;
            for start in starts {
                require_len("states of a start", start.len(), n)?;
            }
            starts.clone()
        }
        None => windows.iter().map(Window::begin).collect(),
    };
    let mut near = beginning.law.clone();
    near.iter_mut().for_each(|s| s.sort_by_key(|(j, _)| *j));
    let rivals = beginning.rivals.iter().flatten();
    let terms = near.iter().chain(rivals).flatten().map(|(j, _)| j);
    for j in terms.chain(candidates.terms.iter().flatten()) {
        let there = *j < features.len();
        require(there, "term", j, "there are fewer terms in the library")?;
    }
    let judge = Judge {
        features,
        windows,
        candidates,
        config: *config,
        tolerance: tolerances(windows, config.tolerance),
        work: Cell::new(0),
        ended: Cell::new(false),
        go_on,
    };
    let coefficients = near.iter().flatten().map(|(_, c)| *c).collect();
    let supports = near.iter().map(|s| s.iter().map(|(j, _)| *j).collect());
    let now = judge.judged(supports.collect(), coefficients, starts, None);
    Ok((judge, now))
}

/// The law that the measurements ask for, from one that is near.
pub fn likely_law(
    features: &Features,
    windows: &[Window],
    candidates: &Candidates,
    beginning: &Beginning,
    config: &LikelihoodConfig,
) -> Result<LikelyLaw> {
    likely_law_watched(features, windows, candidates, beginning, config, &|_| true)
}

/// The same; `go_on` hears now and then how much work was done and says whether to go on. If not, the law is the best so far.
pub fn likely_law_watched(
    features: &Features,
    windows: &[Window],
    candidates: &Candidates,
    beginning: &Beginning,
    config: &LikelihoodConfig,
    go_on: &dyn Fn(u64) -> bool,
) -> Result<LikelyLaw> {
    let (judge, mut now) = judge_as_it_is(features, windows, candidates, beginning, config, go_on)?;
    let mut around = judge.improve(&mut now);
    for (equation, rivals) in beginning.rivals.iter().enumerate() {
        for rival in rivals.iter().filter(|_| judge.affords(1)) {
            if let Some(mut next) = judge.rivalled(&now, equation, rival) {
                around = judge.improve(&mut next);
                now = next;
            }
        }
    }
    let around = match config.look_around {
        true => around.or_else(|| changes(&judge, &now)),
        false => None,
    };
    Ok(law(&judge, &now, around.as_deref()))
}

fn law(judge: &Judge, now: &Judged, around: Option<&[Change]>) -> LikelyLaw {
    let fitted = &now.fitted;
    let p = fitted.coefficients.len();
    let variance = judge.variance(fitted);
    let known = fitted.begun.then_some(&fitted.information);
    let factored = known.and_then(|information| Factored::new(information, p, 0.0));
    let covariance: Vec<f64> = factored.map_or(Vec::new(), |f| {
        let inverse = f.inverse().into_iter();
        inverse.map(|v| variance * v).collect()
    });
    let error = |c: usize| {
        covariance
            .get(c * p + c)
            .map_or(f64::INFINITY, |v| v.sqrt())
    };
    let flow = judge.flow(&now.supports);
    let states = judge.windows.par_iter().zip(&fitted.starts);
    let states = states
        .map(|(window, start)| match fitted.begun {
            true => flow.states(window, start, &fitted.coefficients),
            false => Vec::new(),
        })
        .collect();
    let mut place = 0;
    let terms = judge.features.len();
    let equations = now.supports.iter().enumerate().map(|(i, support)| {
        let own = place..place + support.len();
        place = own.end;
        LikelyEquation {
            support: support.clone(),
            coefficients: fitted.coefficients[own.clone()].to_vec(),
            errors: own.map(error).collect(),
            probabilities: around.map_or(Vec::new(), |around| {
                probabilities(around, i, support, terms)
            }),
            alternatives: around.map_or(Vec::new(), |around| alternatives(around, i)),
        }
    });
    LikelyLaw {
        equations: equations.collect(),
        misfit: fitted.squares / judge.freedom(fitted),
        freedom: judge.freedom(fitted),
        score: now.score,
        lost: judge.windows.len() - fitted.followed,
        states,
        starts: fitted.starts.clone(),
        covariance,
        work: judge.work.get(),
        ended: judge.ended.get(),
    }
}
