//! Discrete maps in closed form, x⁺ = F(x): a plant, and a plant with a policy in its loop.

use ell0::{
    equation::{Arithmetic, Dynamics, Expression, Interval, Model, Node},
    features::Function,
};

use crate::{
    environment::Pendulum,
    error::{Error, Result},
};

/// A value that is computed from those before it, and brought into a range.
#[derive(Clone, Debug)]
struct Assignment {
    node: Node,
    /// Derivatives by the values before it that it depends on.
    slopes: Vec<(usize, Node)>,
    range: Option<(f64, f64)>,
}

/// A discrete map: values are assigned one after the other, and some of them are the next state. Exact derivatives come with it.
#[derive(Clone, Debug)]
pub struct Map {
    inputs: usize,
    assignments: Vec<Assignment>,
    next: Vec<usize>,
}

impl Map {
    fn new(inputs: usize) -> Self {
        Map {
            inputs,
            assignments: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Appends a value; its index.
    fn assign(&mut self, node: Node, range: Option<(f64, f64)>) -> usize {
        let index = self.inputs + self.assignments.len();
        let slopes = (0..index)
            .map(|k| (k, node.derivative(k)))
            .filter(|(_, slope)| *slope != Node::Number(0.0))
            .collect();
        self.assignments.push(Assignment {
            node,
            slopes,
            range,
        });
        index
    }

    /// Number of inputs: states, and actions if they come from outside.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    fn values<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let mut values = Vec::with_capacity(self.inputs + self.assignments.len());
        values.extend_from_slice(inputs);
        for assignment in &self.assignments {
            let mut value = assignment.node.value(&values);
            if let Some((low, high)) = assignment.range {
                value = value.clamp(low, high);
            }
            values.push(value);
        }
        values
    }

    /// The next state.
    pub fn next<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let values = self.values(inputs);
        self.next.iter().map(|&k| values[k]).collect()
    }

    /// Whether the map has a value everywhere on a box, and no jump there.
    pub fn is_continuous(&self, inputs: &[Interval]) -> bool {
        let values = self.values(inputs);
        let mut nodes = self.assignments.iter().map(|a| &a.node);
        nodes.all(|node| node.is_continuous(&values))
    }

    /// Whether the map has derivatives at a state.
    pub fn is_smooth(&self, inputs: &[f64]) -> bool {
        let points: Vec<Interval> = inputs.iter().map(|x| Interval::point(*x)).collect();
        let values = self.values(&points);
        let mut nodes = self.assignments.iter().map(|a| &a.node);
        nodes.all(|node| node.is_smooth(&values))
    }

    /// The values at these indices and their derivatives by all inputs, row by row.
    fn linear<T: Arithmetic>(&self, inputs: &[T], wanted: &[usize]) -> (Vec<T>, Vec<Vec<T>>) {
        let n = self.inputs;
        let mut values = Vec::with_capacity(n + self.assignments.len());
        values.extend_from_slice(inputs);
        let unit = |k: usize| -> Vec<T> {
            (0..n)
                .map(|j| T::number(f64::from(u8::from(j == k))))
                .collect()
        };
        let mut slopes: Vec<Vec<T>> = (0..n).map(unit).collect();
        for assignment in &self.assignments {
            let mut value = assignment.node.value(&values);
            let mut row = vec![T::number(0.0); n];
            for (k, slope) in &assignment.slopes {
                let slope = slope.value(&values);
                for (sum, below) in row.iter_mut().zip(&slopes[*k]) {
                    *sum = sum.add(slope.multiply(*below));
                }
            }
            if let Some((low, high)) = assignment.range {
                let slope = value.clamp_slope(low, high);
                row.iter_mut().for_each(|r| *r = r.multiply(slope));
                value = value.clamp(low, high);
            }
            values.push(value);
            slopes.push(row);
        }
        (
            wanted.iter().map(|&k| values[k]).collect(),
            wanted.iter().map(|&k| slopes[k].clone()).collect(),
        )
    }

    /// The next state and its derivatives by the inputs, row by row.
    pub fn jacobian<T: Arithmetic>(&self, inputs: &[T]) -> (Vec<T>, Vec<Vec<T>>) {
        self.linear(inputs, &self.next)
    }
}

/// What is to be controlled, in closed form.
#[derive(Clone, Debug)]
pub struct Plant {
    /// Names of the states.
    pub states: Vec<String>,
    /// After how much a state comes back to itself, for angles.
    pub periods: Vec<Option<f64>>,
    /// Where states are looked for.
    pub bounds: Vec<(f64, f64)>,
    /// What a policy sees, each in the states.
    pub observation: Vec<(String, Expression)>,
    /// Actions and their ranges.
    pub actions: Vec<(String, f64, f64)>,
    /// Values in turn, each in the states, the actions and the values before it, with its range.
    steps: Vec<(Node, Option<(f64, f64)>)>,
    /// Which of states, actions and values are the next states.
    next: Vec<usize>,
}

impl Plant {
    /// A pendulum, as it really runs.
    pub fn pendulum(pendulum: &Pendulum) -> Self {
        let (gravity, gain) = pendulum.coefficients();
        let states = vec!["theta".to_string(), "theta_dot".into()];
        let see = |name: &str, node: Node| {
            Expression::new(states.clone(), node).map(|e| (name.into(), e))
        };
        let theta = || Node::Variable(0);
        let number = Node::Number;
        let dt = || number(Pendulum::DT);
        let speed = Node::sum([
            Node::Variable(1),
            Node::product([dt(), number(gravity), Node::call(Function::Sin, theta())]),
            Node::product([dt(), number(gain), Node::Variable(2)]),
        ]);
        let angle = Node::sum([theta(), Node::product([dt(), Node::Variable(3)])]);
        let limit = Pendulum::MAX_SPEED;
        let observation = [
            see("cos_theta", Node::call(Function::Cos, theta())),
            see("sin_theta", Node::call(Function::Sin, theta())),
            see("theta_dot", Node::Variable(1)),
        ];
        use std::f64::consts::PI;
        Plant {
            periods: vec![Some(2.0 * PI), None],
            bounds: vec![(-PI, PI), (-limit, limit)],
            // Variables 0 and 1 are there.
            observation: observation.into_iter().filter_map(|o| o.ok()).collect(),
            actions: vec![("torque".into(), -Pendulum::MAX_TORQUE, Pendulum::MAX_TORQUE)],
            steps: vec![(speed, Some((-limit, limit))), (angle, None)],
            next: vec![4, 3],
            states,
        }
    }

    /// A learned transition model: a discrete law, or targets `next_x` for inputs `x`. Inputs that have no next value are its actions, within `range`.
    pub fn of_model(model: &Model, bounds: &[(f64, f64)], range: (f64, f64)) -> Result<Self> {
        let inputs = model.inputs();
        let mut states = Vec::new();
        for target in model.targets() {
            let name = match model.dynamics() {
                Dynamics::Discrete => target,
                Dynamics::Regression => target.strip_prefix("next_").unwrap_or(target),
                Dynamics::Continuous => {
                    return Err(Error::Analysis(
                        "a law of rates of change is no map; fit it with --dynamics discrete, or name an environment".into(),
                    ));
                }
            };
            if !inputs.iter().any(|i| i == name)
                || model.dynamics() == Dynamics::Regression && name == target
            {
                return Err(Error::Analysis(format!(
                    "the model gives `{target}`, which is not the next value of one of its inputs {}; a transition model is a discrete law, or has targets such as next_{}",
                    inputs.join(", "),
                    inputs.first().map_or("x", String::as_str)
                )));
            }
            states.push(name.to_string());
        }
        let actions: Vec<String> = inputs
            .iter()
            .filter(|i| !states.contains(i))
            .cloned()
            .collect();
        let place = |name: &String| {
            let at = states.iter().chain(&actions).position(|n| n == name);
            Node::Variable(at.unwrap_or(0))
        };
        let steps: Vec<_> = model
            .expressions()
            .iter()
            .map(|e| (e.root().substitute(&|k| place(&inputs[k])), None))
            .collect();
        let n = states.len();
        let observation = (0..n)
            .map(|k| {
                Ok((
                    states[k].clone(),
                    Expression::new(states.clone(), Node::Variable(k))?,
                ))
            })
            .collect::<Result<_>>()?;
        Ok(Plant {
            periods: vec![None; n],
            bounds: (0..n)
                .map(|k| bounds.get(k).copied().unwrap_or((-10.0, 10.0)))
                .collect(),
            observation,
            next: (0..n).map(|k| n + actions.len() + k).collect(),
            actions: actions.into_iter().map(|a| (a, range.0, range.1)).collect(),
            steps,
            states,
        })
    }

    /// The plant alone: its inputs are the states, then the actions.
    pub fn open(&self) -> Map {
        let mut map = Map::new(self.states.len() + self.actions.len());
        for (node, range) in &self.steps {
            map.assign(node.clone(), *range);
        }
        map.next = self.next.clone();
        map
    }

    /// The policy: actions in the states, times a gain, before they are brought into their range; in the plant's order.
    fn policy_nodes(&self, policy: &Model, gain: f64) -> Result<Vec<Node>> {
        let seen = |name: &String| {
            let known = self.observation.iter().find(|o| o.0 == *name);
            known.ok_or_else(|| {
                let names: Vec<&str> = self.observation.iter().map(|o| o.0.as_str()).collect();
                Error::Mismatch {
                    what: "input",
                    name: name.clone(),
                    expected: names.join(", "),
                }
            })
        };
        let inputs: Vec<Node> = policy
            .inputs()
            .iter()
            .map(|name| Ok(seen(name)?.1.root().clone()))
            .collect::<Result<_>>()?;
        self.actions
            .iter()
            .map(|(name, ..)| {
                let at = policy.targets().position(|t| t == name);
                let at = at.ok_or_else(|| Error::Mismatch {
                    what: "action",
                    name: name.clone(),
                    expected: policy.targets().collect::<Vec<_>>().join(", "),
                })?;
                let law = policy.expressions()[at].root();
                let law = law.substitute(&|k| inputs[k].clone());
                Ok(Node::product([Node::Number(gain), law]))
            })
            .collect()
    }

    /// The policy as a map from states to actions.
    pub fn policy(&self, policy: &Model, gain: f64) -> Result<Map> {
        let mut map = Map::new(self.states.len());
        for (node, action) in self
            .policy_nodes(policy, gain)?
            .into_iter()
            .zip(&self.actions)
        {
            let index = map.assign(node, Some((action.1, action.2)));
            map.next.push(index);
        }
        Ok(map)
    }

    /// The plant with a policy in its loop, whose actions are multiplied by a gain.
    pub fn closed(&self, policy: &Model, gain: f64) -> Result<Map> {
        let mut map = self.policy(policy, gain)?;
        map.next.clear();
        for (node, range) in &self.steps {
            map.assign(node.clone(), *range);
        }
        map.next = self.next.clone();
        Ok(map)
    }

    /// The difference of two states, angles the shorter way round.
    pub fn difference(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let shorter = |d: f64, period: &Option<f64>| match period {
            Some(period) => d - period * (d / period).round(),
            None => d,
        };
        a.iter()
            .zip(b)
            .zip(&self.periods)
            .map(|((a, b), period)| shorter(a - b, period))
            .collect()
    }
}
