//! Where a path may end: sizes beyond those that any evidence speaks for need not be found.

use super::{Line, Problem, Rule};

/// Paths of so many terms are always whole.
const SMALL: usize = 60;

/// A path goes on for so many sizes without a gain.
const PATIENCE: usize = 20;

/// A validation error that is not even by this share below the least before is no gain: it is far within what one standard error allows.
const GAIN: f64 = 0.01;

/// Watches the models of a path, by increasing number of terms, and says when the rule that will choose among them has nothing to gain from larger ones.
pub(super) struct Ending {
    rule: Option<Rule>,
    /// Errors below this are equally good.
    floor: f64,
    /// The error of all terms together, averaged over the targets: no model has less.
    least_error: f64,
    /// The least score so far, and the size that has it.
    least: f64,
    best: usize,
    /// The least error + λ·terms so far, for the rule that asks for it.
    least_objective: f64,
}

impl Ending {
    /// For a path of this problem, from which `rule` will choose; without one the path is whole.
    pub fn new(problem: &Problem, rule: Option<Rule>, floor: f64, least_error: f64) -> Self {
        Ending {
            rule: rule.filter(|_| problem.p > SMALL),
            floor,
            least_error,
            least: f64::INFINITY,
            best: 0,
            least_objective: f64::INFINITY,
        }
    }

    /// Whether the path may end before all sizes are found.
    pub fn watches(&self) -> bool {
        self.rule.is_some()
    }

    /// Takes note of a model.
    pub fn note(&mut self, line: &Line) {
        let Some(rule) = self.rule else { return };
        let (score, gain) = match (rule, line.validation_error, line.validation_deviation) {
            (Rule::Bic, ..) => (line.bic, 0.0),
            (Rule::Aicc, ..) => (line.aicc, 0.0),
            (Rule::OneStandardError, _, None) | (_, None, _) => (line.bic, 0.0),
            (_, Some(error), _) => (error.max(self.floor), GAIN),
        };
        let better = score < self.least - gain * self.least.abs() || self.least == f64::INFINITY;
        let as_good = score <= self.least && line.terms < self.best;
        if better || as_good {
            (self.least, self.best) = (score, line.terms);
        }
        if let Rule::Lambda(lambda) = rule {
            let objective = line.train_error + lambda * line.terms as f64;
            self.least_objective = self.least_objective.min(objective);
        }
    }

    /// Whether models of more than so many terms are of no interest.
    pub fn is_at(&self, terms: usize) -> bool {
        let Some(rule) = self.rule else { return false };
        let asked = match rule {
            Rule::Terms(asked) => terms >= asked,
            // No model of more terms can have a smaller objective.
            Rule::Lambda(lambda) => {
                self.least_objective <= self.least_error + lambda * (terms + 1) as f64
            }
            _ => true,
        };
        asked && terms >= self.best + PATIENCE
    }
}
