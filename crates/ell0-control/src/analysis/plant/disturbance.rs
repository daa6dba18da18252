//! Bounded disturbances of what is seen and of what is done.

use ell0::{
    equation::{Expression, Node},
    features::Function,
};

use super::{Plant, Range, Uncertain, Value};
use crate::error::{Error, Result};

/// Half a unit in the last place of single precision, relative to the number, and of the smallest numbers.
const SINGLE: f64 = 1.0 / (1u64 << 24) as f64;
const SINGLE_LEAST: f64 = 7.006492321624086e-46;

/// A disturbance that may be another at every step.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// Added to an observation before a policy sees it, or to an action after it was brought into its range.
    Added {
        /// The observation or action.
        to: String,
        /// Where it lies.
        range: Range,
    },
    /// Every observation is rounded to single precision, as worlds do.
    Rounding,
}

impl Plant {
    /// The same plant with bounded disturbances.
    pub fn disturbed(mut self, disturbances: &[Disturbance]) -> Result<Self> {
        for disturbance in disturbances {
            match disturbance {
                Disturbance::Added { to, range } => self.add(to, *range)?,
                Disturbance::Rounding => self.round()?,
            }
        }
        Ok(self)
    }

    fn is_known(&self, name: &str) -> bool {
        self.states.iter().any(|s| s.name == name)
            || self.uncertain.iter().any(|u| u.name == name)
            || self.actions.iter().any(|a| a.name == name)
            || self.steps.iter().any(|s| s.name == name)
    }

    /// A new uncertain input after those that there are; its variable.
    fn insert(&mut self, what: &str, range: Range) -> Result<Node> {
        let at = self.states.len() + self.uncertain.len();
        let mut name = format!("{what}_error");
        while self.is_known(&name) {
            name.push('_');
        }
        if !(range.low.is_finite() && range.high.is_finite() && range.low <= range.high) {
            return Err(Error::Plant {
                what: "disturbance",
                name: what.into(),
                expected: "it lies between finite bounds, the least before the greatest",
            });
        }
        self.uncertain.push(Uncertain {
            name,
            range,
            varies: true,
        });
        // What comes after it has another number now.
        let later = |k: usize| if k >= at { k + 1 } else { k };
        for step in &mut self.steps {
            step.law = step.law.substitute(&|k| Node::Variable(later(k)));
        }
        self.next.iter_mut().for_each(|k| *k = later(*k));
        Ok(Node::Variable(at))
    }

    /// Gives observations another law, in the states and what is uncertain.
    fn observe(&mut self, observation: usize, law: Node) -> Result<()> {
        self.observations[observation].law = Expression::new(self.seen_from(), law)?;
        Ok(())
    }

    /// What observations are made of.
    fn seen_from(&self) -> Vec<String> {
        let uncertain = self.uncertain.iter().map(|u| u.name.clone());
        self.state_names().into_iter().chain(uncertain).collect()
    }

    fn add(&mut self, to: &str, range: Range) -> Result<()> {
        let seen = self.observations.iter().position(|o| o.name == to);
        let done = self.actions.iter().position(|a| a.name == to);
        match (seen, done) {
            (Some(seen), None) => {
                let error = self.insert(to, range)?;
                let law = self.observations[seen].law.root().clone();
                self.observe(seen, Node::sum([law, error]))
            }
            (None, Some(done)) => {
                let error = self.insert(to, range)?;
                let action = self.states.len() + self.uncertain.len() + done;
                let disturbed = Node::sum([Node::Variable(action), error]);
                for step in &mut self.steps {
                    step.law = step.law.substitute(&|k| {
                        if k == action {
                            disturbed.clone()
                        } else {
                            Node::Variable(k)
                        }
                    });
                }
                self.pass_on(action, disturbed, to);
                Ok(())
            }
            (Some(_), Some(_)) => Err(Error::Plant {
                what: "disturbance",
                name: to.into(),
                expected: "both an observation and an action have this name",
            }),
            (None, None) => {
                let mut names = self.observation_names();
                names.extend(self.action_names());
                Err(Error::NothingToDisturb {
                    name: to.into(),
                    known: names,
                })
            }
        }
    }

    /// Next states that are the action itself become what it is disturbed to.
    fn pass_on(&mut self, action: usize, disturbed: Node, to: &str) {
        if !self.next.contains(&action) {
            return;
        }
        let mut name = format!("disturbed_{to}");
        while self.is_known(&name) {
            name.push('_');
        }
        let inputs = self.states.len() + self.uncertain.len() + self.actions.len();
        let value = inputs + self.steps.len();
        self.steps.push(Value {
            name,
            law: disturbed,
            range: None,
        });
        let passed = |k: &mut usize| {
            if *k == action {
                *k = value;
            }
        };
        self.next.iter_mut().for_each(passed);
    }

    /// o becomes o + e·(2⁻²⁴·|o| + 2⁻¹⁵⁰) with |e| ≤ 1.
    fn round(&mut self) -> Result<()> {
        for k in 0..self.observations.len() {
            let name = self.observations[k].name.clone();
            let error = self.insert(&name, Range::symmetric(1.0))?;
            let law = self.observations[k].law.root().clone();
            let size = Node::call(Function::Abs, law.clone());
            let unit = Node::sum([
                Node::product([Node::Number(SINGLE), size]),
                Node::Number(SINGLE_LEAST),
            ]);
            self.observe(k, Node::sum([law, Node::product([error, unit])]))?;
        }
        Ok(())
    }
}
