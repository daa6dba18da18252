//! Agents and laws by hand, measured where they were trained and beyond.

use ell0::equation::Model;
use ell0_control::{
    environment::{Environment, GridConfig, Situation, Start, make},
    policy::{LawPolicy, Policy, policy_from_text},
    rollout::Rollout,
};
use serde::{Deserialize, Serialize};

use super::{PdeProblem, PdeRun, problem::Part};
use crate::{
    error::Result,
    observer::Task,
    train::{AgentResult, TrainedPolicy},
};

/// What a policy costs in a situation: minus its return, and what of it is the state and what the actions. Means over the starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PdeMeasured {
    /// Training, interpolation or extrapolation.
    pub situation: String,
    /// Deviation of the noise on the sensors.
    pub noise: f64,
    /// Mean return.
    #[serde(rename = "return")]
    pub worth: f64,
    /// Mean sum of mean(u²); none where only the return is known.
    pub state_cost: Option<f64>,
    /// Mean sum of price·mean(a²).
    pub control_cost: Option<f64>,
}

/// An agent with a seed, or a law by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PdeRow {
    /// The problem.
    pub problem: PdeProblem,
    /// The agent, or the law by hand.
    pub agent: String,
    /// The seed; none for a law by hand.
    pub seed: Option<u64>,
    /// Terms of each law on average: of each actuator.
    pub terms: Option<f64>,
    /// The law, for reading.
    pub law: Option<String>,
    /// In each situation.
    pub measured: Vec<PdeMeasured>,
    /// Steps of the environment, refinement included.
    pub env_steps: Option<u64>,
    /// How long training took.
    pub seconds: Option<f64>,
}

impl PdeRow {
    /// Its return in a situation.
    #[must_use]
    pub fn worth(&self, situation: &str, noisy: bool) -> Option<f64> {
        let mut all = self.measured.iter();
        let found = all.find(|m| m.situation == situation && (m.noise > 0.0) == noisy);
        found.map(|m| m.worth)
    }
}

/// Everything, problem after problem: laws by hand, then agents.
pub(super) fn measure(run: &PdeRun, measuring: &Task) -> Result<Vec<PdeRow>> {
    let mut rows = Vec::new();
    for problem in PdeProblem::ALL {
        let world = make(&problem.world(&run.settings, false))?;
        let grid = world.evaluation_grid();
        for (name, law) in problem.by_hand() {
            measuring.go_on()?;
            let model = by_hand(problem, law, world.as_ref())?;
            let policy = law_policy(&model, world.as_ref())?;
            rows.push(PdeRow {
                problem,
                agent: (*name).into(),
                seed: None,
                terms: None,
                law: None,
                measured: in_all(&grid, &policy)?,
                env_steps: None,
                seconds: None,
            });
        }
        rows.extend(optimum(problem, &grid)?);
        for part in Part::ALL {
            let training = run.trainings.iter().find(|t| t.0 == part.name);
            let Some((_, training)) = training.filter(|_| part.problem == problem) else {
                continue;
            };
            // What was hidden in training is hidden here, too; otherwise the situations are the same.
            let own = make(&part.world(&run.settings))?.evaluation_grid();
            for (result, policy) in training.rows().iter().zip(&training.policies) {
                measuring.go_on()?;
                rows.push(trained(problem, result, policy, &own)?);
            }
        }
    }
    Ok(rows)
}

/// A law by hand as a model.
pub(super) fn by_hand(problem: PdeProblem, law: &str, world: &dyn Environment) -> Result<Model> {
    let text = problem.written(law, world);
    let (seen, chosen) = (world.observation_space(), world.action_space());
    Ok(policy_from_text(&text, seen.names(), chosen.names())?)
}

fn law_policy(model: &Model, world: &dyn Environment) -> Result<LawPolicy> {
    let (seen, chosen) = (world.observation_space(), world.action_space());
    Ok(LawPolicy::new(model, seen, chosen)?)
}

fn trained(
    problem: PdeProblem,
    result: &AgentResult,
    policy: &TrainedPolicy,
    grid: &[Situation],
) -> Result<PdeRow> {
    let terms = policy.actor.terms_of_laws();
    let mean = |terms: Vec<usize>| terms.iter().sum::<usize>() as f64 / terms.len() as f64;
    Ok(PdeRow {
        problem,
        agent: result.agent.clone(),
        seed: Some(result.seed),
        terms: terms.map(mean),
        law: result.equation.clone(),
        measured: in_all(grid, &policy.actor)?,
        env_steps: Some(result.environment_steps.total()),
        seconds: Some(result.seconds),
    })
}

/// What the best linear law that sees everything reaches, where that is known.
fn optimum(problem: PdeProblem, grid: &[Situation]) -> Result<Option<PdeRow>> {
    let mut measured = Vec::new();
    for situation in grid {
        let world = situation.world.as_ref();
        let Some(limit) = world.time_limit() else {
            return Ok(None);
        };
        let found = world.optimum(limit, &situation.starts, GridConfig::default())?;
        let Some(found) = found else {
            return Ok(None);
        };
        measured.push(PdeMeasured {
            situation: situation.name.clone(),
            noise: situation.noise,
            worth: found.worth.mean,
            state_cost: None,
            control_cost: None,
        });
    }
    Ok(Some(PdeRow {
        problem,
        agent: "regulator that sees everything".into(),
        seed: None,
        terms: None,
        law: None,
        measured,
        env_steps: None,
        seconds: None,
    }))
}

fn in_all(grid: &[Situation], policy: &dyn Policy) -> Result<Vec<PdeMeasured>> {
    let one = |situation: &Situation| {
        let costs = costs(situation.world.as_ref(), policy, &situation.starts)?;
        Ok(PdeMeasured {
            situation: situation.name.clone(),
            noise: situation.noise,
            worth: -(costs.0 + costs.1),
            state_cost: Some(costs.0),
            control_cost: Some(costs.1),
        })
    };
    grid.iter().map(one).collect()
}

/// Mean costs of the state and of the actions over all starts.
fn costs(world: &dyn Environment, policy: &dyn Policy, starts: &[Start]) -> Result<(f64, f64)> {
    /// Of mean(a²), as both problems have it.
    const PRICE: f64 = 0.1;
    let rows = starts.len();
    let mut worlds: Vec<Box<dyn Environment>> = starts.iter().map(|_| world.copy()).collect();
    let begin = |(world, start): (&mut Box<dyn Environment>, &Start)| start.begin(world);
    let pairs = worlds.iter_mut().zip(starts);
    let mut generators = pairs.map(begin).collect::<ell0_control::Result<Vec<_>>>()?;
    let mut act = policy.start(rows)?;
    let space = world.action_space().clone();
    let (mut state, mut control) = (0.0, 0.0);
    Rollout::new(world, rows).run(
        &mut worlds,
        act.as_mut(),
        &mut generators,
        0,
        &mut |moment| {
            let actions = moment.action.iter().enumerate();
            let squares: f64 = actions.map(|(k, a)| space.clamp(k, *a).powi(2)).sum();
            let effort = PRICE * squares / space.len() as f64;
            control += effort;
            state += -moment.step.reward - effort;
            Ok(())
        },
    )?;
    Ok((state / rows as f64, control / rows as f64))
}
