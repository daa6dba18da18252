//! Experience as columns of a table.

use ell0::rng::Stream;

use crate::{environment::Environment, error::Result, policy::Policy};

/// Transitions, column by column: (observation, action) → (reward, next observation), and how it ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    /// A column for each component of the observation.
    pub observation: Vec<Vec<f64>>,
    /// A column for each component of the action.
    pub action: Vec<Vec<f64>>,
    /// Reward.
    pub reward: Vec<f64>,
    /// The observation after the step.
    pub next_observation: Vec<Vec<f64>>,
    /// Whether the episode ended in the state after the step.
    pub terminated: Vec<bool>,
    /// Whether the episode was cut off there.
    pub truncated: Vec<bool>,
    /// Number of the episode.
    pub episode: Vec<i64>,
    /// Number of the step in its episode.
    pub step: Vec<i64>,
}

impl Columns {
    fn new(observation: usize, action: usize) -> Self {
        Columns {
            observation: vec![Vec::new(); observation],
            action: vec![Vec::new(); action],
            next_observation: vec![Vec::new(); observation],
            ..Columns::default()
        }
    }

    /// Number of transitions.
    pub fn rows(&self) -> usize {
        self.reward.len()
    }
}

/// Runs episodes and records them.
#[derive(Clone, Debug)]
pub struct Recorder {
    columns: Columns,
    observation: Vec<f32>,
    action: Vec<f64>,
}

impl Recorder {
    /// A recorder for an environment.
    pub fn new(environment: &dyn Environment) -> Self {
        let (o, a) = (
            environment.observation_space().len(),
            environment.action_space().len(),
        );
        Recorder {
            columns: Columns::new(o, a),
            observation: vec![0.0; o],
            action: vec![0.0; a],
        }
    }

    /// What was recorded.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Hands over what was recorded, and begins anew.
    pub fn take(&mut self) -> Columns {
        let (o, a) = (self.observation.len(), self.action.len());
        std::mem::replace(&mut self.columns, Columns::new(o, a))
    }

    /// Runs one episode, with randomness of its own, until the environment says that it is over.
    pub fn run(
        &mut self,
        environment: &mut dyn Environment,
        policy: &mut dyn Policy,
        stream: &Stream,
        episode: u64,
    ) -> Result<()> {
        let mut rng = stream.at(episode);
        environment.reset(&mut rng);
        for step in 0.. {
            environment.observe(&mut self.observation);
            policy.act(
                &self.observation,
                environment.action_space(),
                &mut rng,
                &mut self.action,
            );
            let outcome = environment.step(&self.action)?;
            let columns = &mut self.columns;
            let put = |columns: &mut [Vec<f64>], values: &[f32]| {
                columns
                    .iter_mut()
                    .zip(values)
                    .for_each(|(c, v)| c.push(f64::from(*v)));
            };
            put(&mut columns.observation, &self.observation);
            columns
                .action
                .iter_mut()
                .zip(&self.action)
                .for_each(|(c, v)| c.push(*v));
            columns.reward.push(outcome.reward);
            environment.observe(&mut self.observation);
            put(&mut columns.next_observation, &self.observation);
            columns.terminated.push(outcome.terminated);
            columns.truncated.push(outcome.truncated);
            columns.episode.push(episode as i64);
            columns.step.push(step);
            if outcome.terminated || outcome.truncated {
                break;
            }
        }
        Ok(())
    }
}
