//! A plant, piece by piece.

use ell0::equation::{Expression, Node};

use super::{Action, Observation, Plant, Range, State, Uncertain, Value};
use crate::error::{Error, Result};

/// A formula as text, or as a tree whose variables are numbered: the states, then what is uncertain, then the actions, then the values in the order in which they were assigned.
#[derive(Clone, Debug)]
pub enum Formula {
    /// Text, in the names.
    Text(String),
    /// A tree, in the numbers.
    Tree(Node),
}

impl From<&str> for Formula {
    fn from(text: &str) -> Self {
        Formula::Text(text.into())
    }
}

impl From<String> for Formula {
    fn from(text: String) -> Self {
        Formula::Text(text)
    }
}

impl From<Node> for Formula {
    fn from(node: Node) -> Self {
        Formula::Tree(node)
    }
}

/// What a plant is built of. Mistakes are found in [`build`](Self::build).
#[derive(Clone, Debug, Default)]
pub struct PlantBuilder {
    states: Vec<State>,
    uncertain: Vec<Uncertain>,
    observations: Vec<(String, Formula)>,
    actions: Vec<Action>,
    values: Vec<(String, Formula, Option<Range>)>,
    next: Vec<(String, Formula)>,
}

impl PlantBuilder {
    /// A state, and where it is looked for.
    #[must_use]
    pub fn state(mut self, name: impl Into<String>, bounds: Range) -> Self {
        self.states.push(State {
            name: name.into(),
            bounds,
            period: None,
        });
        self
    }

    /// A state that comes back to itself after a period.
    #[must_use]
    pub fn angle(mut self, name: impl Into<String>, bounds: Range, period: f64) -> Self {
        self.states.push(State {
            name: name.into(),
            bounds,
            period: Some(period),
        });
        self
    }

    /// A parameter that is the same at all times, somewhere in a range. Formulas of observations and values may hold it.
    #[must_use]
    pub fn parameter(self, name: impl Into<String>, range: Range) -> Self {
        self.uncertain(name, range, false)
    }

    /// A disturbance that may be another at every step, anywhere in a range. Formulas of observations and values may hold it.
    #[must_use]
    pub fn disturbance(self, name: impl Into<String>, range: Range) -> Self {
        self.uncertain(name, range, true)
    }

    fn uncertain(mut self, name: impl Into<String>, range: Range, varies: bool) -> Self {
        self.uncertain.push(Uncertain {
            name: name.into(),
            range,
            varies,
        });
        self
    }

    /// Something that a policy sees, in the states. Without any, it sees the states themselves.
    #[must_use]
    pub fn observation(mut self, name: impl Into<String>, law: impl Into<Formula>) -> Self {
        self.observations.push((name.into(), law.into()));
        self
    }

    /// An action, and the range that it is brought into.
    #[must_use]
    pub fn action(mut self, name: impl Into<String>, range: Range) -> Self {
        self.actions.push(Action {
            name: name.into(),
            range,
        });
        self
    }

    /// A value in the states, the actions and the values before it.
    #[must_use]
    pub fn assign(mut self, name: impl Into<String>, law: impl Into<Formula>) -> Self {
        self.values.push((name.into(), law.into(), None));
        self
    }

    /// A value that is brought into a range.
    #[must_use]
    pub fn assign_within(
        mut self,
        name: impl Into<String>,
        law: impl Into<Formula>,
        range: Range,
    ) -> Self {
        self.values.push((name.into(), law.into(), Some(range)));
        self
    }

    /// The next value of a state: a formula, or just the name of a value.
    #[must_use]
    pub fn next(mut self, state: impl Into<String>, law: impl Into<Formula>) -> Self {
        self.next.push((state.into(), law.into()));
        self
    }

    /// The plant, or what does not fit together.
    pub fn build(self) -> Result<Plant> {
        let wrong = |what: &'static str, name: &str, expected: &'static str| {
            Err(Error::Plant {
                what,
                name: name.into(),
                expected,
            })
        };
        if self.states.is_empty() {
            return wrong("states", "", "there must be at least one");
        }
        for s in &self.states {
            let finite = s.bounds.low.is_finite() && s.bounds.high.is_finite();
            if !(finite && s.bounds.low < s.bounds.high) {
                return wrong("state", &s.name, "it is looked for between finite bounds");
            }
            if s.period.is_some_and(|p| !(p > 0.0 && p.is_finite())) {
                return wrong("state", &s.name, "its period must be positive and finite");
            }
        }
        for u in &self.uncertain {
            let finite = u.range.low.is_finite() && u.range.high.is_finite();
            if !(finite && u.range.low <= u.range.high) {
                return wrong("uncertain input", &u.name, "it lies between finite bounds");
            }
        }
        let ranges = self.actions.iter().map(|a| (&a.name, Some(a.range)));
        let ranges = ranges.chain(self.values.iter().map(|v| (&v.0, v.2)));
        for (name, range) in ranges {
            if range.is_some_and(|r| r.low.is_nan() || r.high.is_nan() || r.low > r.high) {
                return wrong(
                    "value",
                    name,
                    "its range goes from the least to the greatest",
                );
            }
        }
        let names = |list: Vec<&String>| list.into_iter().cloned().collect::<Vec<String>>();
        let states = names(self.states.iter().map(|s| &s.name).collect());
        let mut seen_from = states.clone();
        seen_from.extend(self.uncertain.iter().map(|u| u.name.clone()));
        let mut known = seen_from.clone();
        known.extend(self.actions.iter().map(|a| a.name.clone()));
        let (mut steps, inputs) = (Vec::new(), known.len());
        for (name, law, range) in &self.values {
            let law = read(law, &known)?;
            steps.push(Value {
                name: name.clone(),
                law,
                range: *range,
            });
            known.push(name.clone());
        }
        let blank = |names: &[String]| names.iter().any(|n| n.trim().is_empty());
        let twice = |names: &[String]| (1..names.len()).find(|&k| names[..k].contains(&names[k]));
        let seen = names(self.observations.iter().map(|o| &o.0).collect());
        for list in [&known, &seen] {
            if blank(list) {
                return wrong("name", "", "everything needs a name");
            }
            if let Some(k) = twice(list) {
                return wrong("name", &list[k], "no two may have the same");
            }
        }
        let observations = if self.observations.is_empty() {
            let itself = (0..states.len()).map(|k| (states[k].clone(), Node::Variable(k)));
            itself.collect()
        } else {
            let pairs = self.observations.iter();
            let pairs = pairs.map(|(name, law)| Ok((name.clone(), read(law, &seen_from)?)));
            pairs.collect::<Result<Vec<_>>>()?
        };
        let observations = observations
            .into_iter()
            .map(|(name, node)| {
                let law = Expression::new(seen_from.clone(), node)?;
                Ok(Observation { name, law })
            })
            .collect::<Result<_>>()?;
        if let Some((name, _)) = self.next.iter().find(|(n, _)| !states.contains(n)) {
            return wrong("next value", name, "there is no such state");
        }
        let mut next = Vec::new();
        for state in &states {
            let mut laws = self.next.iter().filter(|(n, _)| n == state);
            let law = match (laws.next(), laws.next()) {
                (Some((_, law)), None) => read(law, &known)?,
                (None, _) => return wrong("state", state, "its next value is missing"),
                _ => return wrong("state", state, "it has two next values"),
            };
            next.push(match law {
                Node::Variable(k) => k,
                law => {
                    let mut name = format!("next_{state}");
                    while known.contains(&name) {
                        name.push('_');
                    }
                    let range = None;
                    steps.push(Value { name, law, range });
                    inputs + steps.len() - 1
                }
            });
        }
        Ok(Plant {
            states: self.states,
            uncertain: self.uncertain,
            observations,
            actions: self.actions,
            steps,
            next,
        })
    }
}

/// A formula in what is known so far.
fn read(formula: &Formula, known: &[String]) -> Result<Node> {
    let expression = match formula {
        Formula::Text(text) => Expression::parse(text, known)?,
        Formula::Tree(node) => Expression::new(known.to_vec(), node.clone())?,
    };
    Ok(expression.root().clone())
}
