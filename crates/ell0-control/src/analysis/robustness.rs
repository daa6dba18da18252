//! What a policy's return bears: other parameters of the world, other coefficients, fewer terms.

use ell0::equation::{Dynamics, Expression, Model, Node};
use rayon::prelude::*;

use serde::{Deserialize, Serialize};

use super::{equilibria::newton, linear, pulse::Pulse, value::Range};
use crate::{
    environment::{Environment, Start},
    error::{Error, Result},
    evaluation::evaluate,
    policy::LawPolicy,
};

/// How far a parameter of the world may go.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParameterRange {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The range around it for which the mean return falls by no more than a share of its size and the equilibrium stays stable.
    pub range: Range,
}

/// What a term of a policy does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermEffect {
    /// The action in whose law it stands.
    pub action: String,
    /// The term, with its coefficient.
    pub term: String,
    /// Change of the mean return for a coefficient larger by 1 %, by central differences.
    pub per_percent: f64,
    /// Mean return without the term.
    pub dropped: f64,
}

/// A world and some starts, on which policies are measured again and again.
pub struct Robustness {
    world: Box<dyn Environment>,
    starts: Vec<Start>,
}

/// Parameters are looked for up to this factor.
const LARGEST_FACTOR: f64 = 10.0;

/// At most `count` of the starts, spread evenly over the whole list and over every dimension of a grid that it may be: the first points of the lattice k·s modulo n, where s is the number nearest to n/φ (golden ratio) without common
/// factor with n. Because of the latter, each value of a state that runs fastest through the grid comes as often as the others, up to one.
#[must_use]
pub fn spread(starts: &[Start], count: usize) -> Vec<Start> {
    let n = starts.len();
    if count >= n {
        return starts.to_vec();
    }
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (n as f64 * 0.618_033_988_749_895) as usize;
    let step = (0..n)
        .flat_map(|d| [golden + d, golden.saturating_sub(d)])
        .find(|&s| s > 0 && common(s, n) == 1)
        .unwrap_or(1);
    let mut places: Vec<usize> = (0..count).map(|k| k * step % n).collect();
    places.sort_unstable();
    places.into_iter().map(|k| starts[k].clone()).collect()
}

impl Robustness {
    /// Measures in this world from these starts.
    #[must_use]
    pub fn new(world: &dyn Environment, starts: Vec<Start>) -> Self {
        Robustness {
            world: world.copy(),
            starts,
        }
    }

    /// Measures in this world from at most `count` of its evaluation starts, [spread](spread()) evenly.
    #[must_use]
    pub fn spread(world: &dyn Environment, count: usize) -> Self {
        Robustness::new(world, spread(&world.evaluation_starts(), count))
    }

    /// Number of starts.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.starts.len()
    }

    fn mean(&self, world: &dyn Environment, policy: &Model) -> Result<f64> {
        let (observation, action) = (world.observation_space(), world.action_space());
        let policy = LawPolicy::new(policy, observation, action)?;
        Ok(evaluate(world, &policy, &self.starts)?.mean)
    }

    /// Mean return of a policy.
    pub fn worth(&self, policy: &Model) -> Result<f64> {
        self.mean(self.world.as_ref(), policy)
    }

    /// For each parameter of the world, the range for which the return falls by no more than `share` of its size and the equilibrium at `state` stays stable. The pulse beats at every value that is tried.
    pub fn ranges(
        &self,
        policy: &Model,
        state: &[f64],
        share: f64,
        pulse: Pulse,
    ) -> Result<Vec<ParameterRange>> {
        let Some(form) = self.world.closed_form() else {
            return Ok(Vec::new());
        };
        let level = self.worth(policy)?;
        let good = |name: &str, value: f64| -> Result<bool> {
            if !pulse() {
                return Err(Error::Stopped);
            }
            // A value that the world refuses is not a good one. Threads share the world, not its closed form.
            let Some(form) = self.world.closed_form() else {
                return Ok(false);
            };
            let Ok(other) = form.with_parameter(name, value) else {
                return Ok(false);
            };
            if let Some(form) = other.closed_form() {
                let plant = form.plant()?;
                let map = plant.closed(policy, 1.0)?;
                let Some(moved) = newton(&plant, &map, state) else {
                    return Ok(false);
                };
                let (_, jacobian) = map.jacobian(&moved);
                let near = plant
                    .difference(&moved, state)
                    .iter()
                    .all(|d| d.abs() < 0.5);
                if !near || !linear::is_stable(&jacobian) {
                    return Ok(false);
                }
            }
            let mean = self.mean(other.as_ref(), policy)?;
            Ok(mean >= level - share * level.abs())
        };
        let side = |name: &str, value: f64, factor: f64| -> Result<f64> {
            let (mut inside, mut outside) = (value, None);
            let mut size: f64 = 1.0;
            while outside.is_none() {
                size *= factor;
                if !(1.0 / LARGEST_FACTOR..=LARGEST_FACTOR).contains(&size) {
                    return Ok(inside);
                }
                if good(name, value * size)? {
                    inside = value * size;
                } else {
                    outside = Some(value * size);
                }
            }
            let mut outside = outside.unwrap_or(inside);
            for _ in 0..6 {
                let between = 0.5 * (inside + outside);
                if good(name, between)? {
                    inside = between;
                } else {
                    outside = between;
                }
            }
            Ok(inside)
        };
        let parameters = form.parameters();
        let sides: Vec<(usize, f64)> = (0..parameters.len())
            .flat_map(|k| [(k, 0.9), (k, 1.1)])
            .collect();
        let ends: Vec<f64> = sides
            .into_par_iter()
            .map(|(k, factor)| side(&parameters[k].name, parameters[k].value, factor))
            .collect::<Result<_>>()?;
        Ok(parameters
            .into_iter()
            .zip(ends.chunks_exact(2))
            .map(|(parameter, ends)| ParameterRange {
                name: parameter.name,
                value: parameter.value,
                range: Range::new(ends[0].min(ends[1]), ends[0].max(ends[1])),
            })
            .collect())
    }

    /// What each term of each law does to the return. The pulse beats at every policy that is tried.
    pub fn terms(&self, policy: &Model, pulse: Pulse) -> Result<Vec<TermEffect>> {
        let laws: Vec<&Expression> = policy.expressions().collect();
        let mut jobs = Vec::new();
        for (law, expression) in policy.expressions().enumerate() {
            for k in 0..terms(expression.root()).len() {
                jobs.push((law, k));
            }
        }
        jobs.into_par_iter()
            .map(|(law, k)| {
                let with = |factor: f64| -> Result<f64> {
                    if !pulse() {
                        return Err(Error::Stopped);
                    }
                    let scaled = with_term(policy, law, k, factor)?;
                    self.worth(&scaled)
                };
                let expression = laws[law];
                let term = Expression::new(
                    policy.inputs().to_vec(),
                    terms(expression.root())[k].clone(),
                )?;
                Ok(TermEffect {
                    action: policy.targets().nth(law).unwrap_or_default().into(),
                    term: format!("{term:.5}"),
                    per_percent: 0.5 * (with(1.01)? - with(0.99)?),
                    dropped: with(0.0)?,
                })
            })
            .collect()
    }
}

/// The sum inside a law such as 2·tanh(…): where its terms are.
fn inner_sum(node: &Node) -> &Node {
    match node {
        Node::Call(_, inner) => inner_sum(inner),
        Node::Product(parts) => {
            let varying: Vec<&Node> = parts
                .iter()
                .filter(|p| !matches!(p, Node::Number(_)))
                .collect();
            match varying.as_slice() {
                [Node::Call(_, inner)] => inner_sum(inner),
                [sum @ Node::Sum(_)] => sum,
                _ => node,
            }
        }
        node => node,
    }
}

/// The terms of a law.
fn terms(node: &Node) -> Vec<&Node> {
    match inner_sum(node) {
        Node::Sum(parts) => parts.iter().collect(),
        single => vec![single],
    }
}

/// A policy with one term of one law times a factor.
fn with_term(policy: &Model, law: usize, k: usize, factor: f64) -> Result<Model> {
    fn change(node: &Node, sum: *const Node, k: usize, factor: f64) -> Node {
        let scaled = |n: &Node| Node::product([Node::Number(factor), n.clone()]);
        if std::ptr::eq(node, sum) {
            return match node {
                Node::Sum(parts) => Node::sum(
                    parts
                        .iter()
                        .enumerate()
                        .map(|(i, p)| if i == k { scaled(p) } else { p.clone() }),
                ),
                single => scaled(single),
            };
        }
        match node {
            Node::Product(parts) => Node::product(parts.iter().map(|p| change(p, sum, k, factor))),
            Node::Call(function, inner) => Node::call(*function, change(inner, sum, k, factor)),
            other => other.clone(),
        }
    }
    let equations = policy
        .targets()
        .zip(policy.expressions())
        .enumerate()
        .map(|(i, (target, expression))| {
            let root = expression.root();
            let root = if i == law {
                change(root, inner_sum(root), k, factor)
            } else {
                root.clone()
            };
            Ok((
                target.to_string(),
                Expression::new(policy.inputs().to_vec(), root)?,
            ))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Model::new(
        policy.inputs().to_vec(),
        equations,
        Dynamics::Regression,
    )?)
}
