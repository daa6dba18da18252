//! Which of the policies that were evaluated during training is kept, and when the penalty gives way.
//!
//! Training does not end where it is best: a penalty that is too high for the moment, or critics that go astray, may cost what was learned. So the best that were evaluated are remembered, by their returns from the same starts: differences between two of them are measured much more exactly than either return.

use serde::{Deserialize, Serialize};

/// A policy that was evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Candidate {
    /// The episode after which it was evaluated.
    pub episode: u64,
    /// How much of it is penalised: the fewer the better.
    pub size: u64,
    /// The return from each start.
    pub returns: Vec<f64>,
    /// What it is made of; kept apart from the rest in checkpoints.
    #[serde(skip)]
    pub parameters: Vec<f32>,
}

impl Candidate {
    fn mean(&self) -> f64 {
        self.returns.iter().sum::<f64>() / self.returns.len().max(1) as f64
    }

    /// The standard error of the difference between the mean returns of two, from the same starts.
    fn error_beside(&self, other: &Candidate) -> f64 {
        let n = self.returns.len() as f64;
        let difference = self.mean() - other.mean();
        let pairs = self.returns.iter().zip(&other.returns);
        let squares: f64 = pairs.map(|(a, b)| (a - b - difference).powi(2)).sum();
        (squares / (n - 1.0).max(1.0) / n.max(1.0)).sqrt()
    }
}

/// What a unit of size must be worth to stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Worth {
    /// A share of the size of the best mean return.
    Relative(f64),
    /// So much return.
    Absolute(f64),
}

/// The penalty gives way where the penalised return is behind the best by more than so many standard errors of their difference, which is what the choice of the starts explains, and by more than this share of the best mean
/// return, within which it goes up and down by itself from evaluation to evaluation.
const STANDARD_ERRORS: f64 = 2.0;
const FLUCTUATION: f64 = 0.1;

/// Policies that are remembered: what is left of each when it must lose terms shows only then.
const KEPT: usize = 3;

/// What the penalty is multiplied by at each evaluation while the return is behind, and when it is not.
const EASED: f64 = 0.3;
const RESTORED: f64 = 2.0;

/// The policies that are remembered, and how far the penalty has given way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Selection {
    /// The best, and the one that would be chosen, in the order of their episodes.
    pub candidates: Vec<Candidate>,
    /// Factor of the penalty.
    pub easing: f64,
    /// Whether the policy was behind the best when it was evaluated last.
    pub behind: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            candidates: Vec::new(),
            easing: 1.0,
            behind: false,
        }
    }
}

impl Selection {
    /// Remembers a policy if it is one of the best, and lets the penalty give way while it is clearly worse than the one that would be chosen.
    pub fn offer(&mut self, candidate: Candidate, worth: Worth) {
        self.behind = self.chosen(worth).is_some_and(|best| {
            let lost = self.penalised(best, worth) - self.penalised(&candidate, worth);
            let explained = STANDARD_ERRORS * best.error_beside(&candidate);
            lost > explained.max(FLUCTUATION * self.best_mean().abs())
        });
        self.easing = match self.behind {
            true => self.easing * EASED,
            false => (self.easing * RESTORED).min(1.0),
        };
        self.candidates.push(candidate);
        // The chosen one is not always among the best: it may be smaller.
        let chosen = self.chosen(worth).map(|c| c.episode);
        let best = |c: &Candidate| (self.penalised(c, worth), c.episode);
        let mut order: Vec<(f64, u64)> = self.candidates.iter().map(best).collect();
        // Of those that are worth the same, the later ones.
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        order.truncate(KEPT);
        let kept: Vec<u64> = order.into_iter().map(|o| o.1).chain(chosen).collect();
        self.candidates.retain(|c| kept.contains(&c.episode));
    }

    /// Others that were nearly as good as the one that is chosen.
    pub fn runners_up(&self, worth: Worth) -> Vec<&Candidate> {
        let Some(chosen) = self.chosen(worth) else {
            return Vec::new();
        };
        let near = FLUCTUATION * self.best_mean().abs();
        let least = self.penalised(chosen, worth) - near;
        let others = self.candidates.iter();
        others
            .filter(|c| c.episode != chosen.episode && self.penalised(c, worth) >= least)
            .collect()
    }

    /// The smallest of those whose penalised return is within a standard error of the best.
    pub fn chosen(&self, worth: Worth) -> Option<&Candidate> {
        let value = |c: &&Candidate| self.penalised(c, worth);
        let best = self
            .candidates
            .iter()
            .max_by(|a, b| value(a).total_cmp(&value(b)))?;
        let as_good = |c: &&Candidate| value(&best) - value(c) <= best.error_beside(c);
        let as_good = self.candidates.iter().filter(as_good);
        as_good.min_by(|a, b| (a.size.cmp(&b.size)).then(value(b).total_cmp(&value(a))))
    }

    fn penalised(&self, candidate: &Candidate, worth: Worth) -> f64 {
        let unit = match worth {
            Worth::Absolute(unit) => unit,
            Worth::Relative(share) => share * self.best_mean().abs(),
        };
        candidate.mean() - unit * candidate.size as f64
    }

    fn best_mean(&self) -> f64 {
        let means = self.candidates.iter().map(Candidate::mean);
        means.max_by(f64::total_cmp).unwrap_or(0.0)
    }
}
