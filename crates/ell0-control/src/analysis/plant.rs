//! What is to be controlled, in closed form.

mod builder;
mod disturbance;

pub use builder::{Formula, PlantBuilder};
pub use disturbance::Disturbance;

use ell0::equation::{Dynamics, Expression, Model, Node};

use super::{map::Map, value::Range};
use crate::error::{Error, Result};

/// A state of a plant.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Its name.
    pub name: String,
    /// Where it is looked for.
    pub bounds: Range,
    /// After how much it comes back to itself, for angles.
    pub period: Option<f64>,
}

/// What a policy sees of a plant.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Its name.
    pub name: String,
    /// It in the states.
    pub law: Expression,
}

/// An action and the range that it is brought into.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Its range.
    pub range: Range,
}

/// Something that is only known to lie in a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub range: Range,
    /// Whether it may be another at every step, as a disturbance, or is the same at all times, as a parameter.
    pub varies: bool,
}

/// A value on the way to the next state.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    law: Node,
    range: Option<Range>,
}

/// What is to be controlled, in closed form.
///
/// ```
/// use ell0_control::analysis::{Plant, Range, equilibria, on};
/// use ell0_control::policy::policy_from_text;
///
/// let plant = Plant::builder()
///     .state("x", Range::symmetric(1.0))
///     .state("v", Range::symmetric(1.0))
///     .action("u", Range::symmetric(2.0))
///     .assign("faster", "v + 0.1*x + 0.1*u")
///     .next("v", "faster")
///     .next("x", "x + 0.1*v")
///     .build()?;
/// let policy = policy_from_text("-3*x - 2*v", &plant.observation_names(), &plant.action_names())?;
/// let found = equilibria(&plant, &plant.closed(&policy, 1.0)?, &on);
/// assert_eq!(found[0].state, [0.0, 0.0]);
/// # Ok::<(), ell0_control::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plant {
    pub(super) states: Vec<State>,
    pub(super) uncertain: Vec<Uncertain>,
    pub(super) observations: Vec<Observation>,
    pub(super) actions: Vec<Action>,
    /// Values in turn, each in the states, what is uncertain, the actions and the values before it.
    steps: Vec<Value>,
    /// Which of states, uncertain inputs, actions and values are the next states.
    next: Vec<usize>,
}

/// How a learned transition model is looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPlant {
    /// Where states are looked for, by name.
    pub bounds: Vec<(String, Range)>,
    /// Where the others are looked for: ±10.
    pub other_bounds: Range,
    /// The range that actions are brought into: none unless it is given.
    pub action_range: Range,
}

impl Default for ModelPlant {
    fn default() -> Self {
        ModelPlant {
            bounds: Vec::new(),
            other_bounds: Range::symmetric(10.0),
            action_range: Range::symmetric(f64::MAX),
        }
    }
}

impl Plant {
    /// A plant, piece by piece.
    #[must_use]
    pub fn builder() -> PlantBuilder {
        PlantBuilder::default()
    }

    /// A learned transition model: a discrete law, or targets `next_x` for inputs `x`. Inputs that have no next value are its actions.
    pub fn of_model(model: &Model, config: &ModelPlant) -> Result<Self> {
        let inputs = model.inputs();
        let mut states = Vec::new();
        for target in model.targets() {
            let name = match model.dynamics() {
                Dynamics::Discrete => target,
                Dynamics::Regression => target.strip_prefix("next_").unwrap_or(target),
                Dynamics::Continuous => return Err(Error::NotAMap),
            };
            if !inputs.iter().any(|i| i == name)
                || model.dynamics() == Dynamics::Regression && name == target
            {
                return Err(Error::NotATransition {
                    target: target.into(),
                    inputs: inputs.to_vec(),
                });
            }
            states.push(name.to_string());
        }
        if let Some((name, _)) = config.bounds.iter().find(|(n, _)| !states.contains(n)) {
            return Err(Error::Mismatch {
                what: "state",
                name: name.clone(),
                expected: states.join(", "),
            });
        }
        let mut plant = Plant::builder();
        for name in &states {
            let given = config.bounds.iter().find(|(n, _)| n == name);
            plant = plant.state(name, given.map_or(config.other_bounds, |b| b.1));
        }
        let actions: Vec<&String> = inputs.iter().filter(|i| !states.contains(i)).collect();
        for name in &actions {
            plant = plant.action(name.as_str(), config.action_range);
        }
        let place = |name: &String| {
            let all = states.iter().chain(actions.iter().copied());
            Node::Variable(all.into_iter().position(|n| n == name).unwrap_or(0))
        };
        for (name, law) in states.iter().zip(model.expressions()) {
            let law = law.root().substitute(&|k| place(&inputs[k]));
            plant = plant.next(name, law);
        }
        plant.build()
    }

    /// The states.
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// What is only known to lie in a range.
    pub fn uncertain(&self) -> &[Uncertain] {
        &self.uncertain
    }

    /// What a policy sees.
    pub fn observations(&self) -> &[Observation] {
        &self.observations
    }

    /// The actions.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Names of the states.
    #[must_use]
    pub fn state_names(&self) -> Vec<String> {
        self.states.iter().map(|s| s.name.clone()).collect()
    }

    /// Names of what a policy sees.
    #[must_use]
    pub fn observation_names(&self) -> Vec<String> {
        self.observations.iter().map(|o| o.name.clone()).collect()
    }

    /// Names of the actions.
    #[must_use]
    pub fn action_names(&self) -> Vec<String> {
        self.actions.iter().map(|a| a.name.clone()).collect()
    }

    /// The plant alone: its inputs are the states, then the actions.
    #[must_use]
    pub fn open(&self) -> Map {
        let mut map = Map::new(
            self.state_names(),
            self.action_names(),
            self.uncertain.clone(),
        );
        self.go_on(&mut map);
        map
    }

    /// Appends what the plant does.
    fn go_on(&self, map: &mut Map) {
        for Value { name, law, range } in &self.steps {
            map.assign(name, law.clone(), *range);
        }
        map.set_next(self.next.clone());
    }

    /// The policy: actions in the states, times a gain, before they are brought into their range; in the plant's order.
    fn policy_nodes(&self, policy: &Model, gain: f64) -> Result<Vec<Node>> {
        let inputs: Vec<Node> = policy
            .inputs()
            .iter()
            .map(|name| {
                let seen = self.observations.iter().find(|o| o.name == *name);
                let seen = seen.ok_or_else(|| Error::Mismatch {
                    what: "input",
                    name: name.clone(),
                    expected: self.observation_names().join(", "),
                })?;
                Ok(seen.law.root().clone())
            })
            .collect::<Result<_>>()?;
        let laws: Vec<&Expression> = policy.expressions().collect();
        self.actions
            .iter()
            .map(|action| {
                let at = policy.targets().position(|t| t == action.name);
                let at = at.ok_or_else(|| Error::Mismatch {
                    what: "action",
                    name: action.name.clone(),
                    expected: policy.targets().collect::<Vec<_>>().join(", "),
                })?;
                let law = laws[at].root();
                let law = law.substitute(&|k| inputs[k].clone());
                Ok(Node::product([Node::Number(gain), law]))
            })
            .collect()
    }

    /// The policy as a map from states to actions.
    pub fn policy(&self, policy: &Model, gain: f64) -> Result<Map> {
        let mut map = Map::new(self.state_names(), Vec::new(), self.uncertain.clone());
        let nodes = self.policy_nodes(policy, gain)?;
        let next = nodes
            .into_iter()
            .zip(&self.actions)
            .map(|(node, action)| map.assign(&action.name, node, Some(action.range)))
            .collect();
        map.set_next(next);
        Ok(map)
    }

    /// The plant with a policy in its loop, whose actions are multiplied by a gain.
    pub fn closed(&self, policy: &Model, gain: f64) -> Result<Map> {
        let mut map = self.policy(policy, gain)?;
        self.go_on(&mut map);
        Ok(map)
    }

    /// The difference of two states, angles the shorter way round.
    #[must_use]
    pub fn difference(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let shorter = |d: f64, period: Option<f64>| match period {
            Some(period) => d - period * (d / period).round(),
            None => d,
        };
        a.iter()
            .zip(b)
            .zip(&self.states)
            .map(|((a, b), state)| shorter(a - b, state.period))
            .collect()
    }

    /// Whether a difference of states is at most a share of where they are looked for, in every state.
    pub(super) fn is_small(&self, difference: &[f64], share: f64) -> bool {
        let mut pairs = difference.iter().zip(&self.states);
        pairs.all(|(d, s)| d.abs() < share * s.bounds.width())
    }
}
