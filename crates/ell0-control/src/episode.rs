//! Experience as columns of a table.

use ell0::rng::Stream;

use crate::{
    environment::Environment,
    error::Result,
    policy::{Act, Policy},
    rollout::Rollout,
};

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

    /// Forgets all but the first rows.
    fn cut(&mut self, rows: usize) {
        let numbers = self.observation.iter_mut().chain(&mut self.action);
        let numbers = numbers.chain(&mut self.next_observation);
        numbers.for_each(|c| c.truncate(rows));
        self.reward.truncate(rows);
        self.terminated.truncate(rows);
        self.truncated.truncate(rows);
        self.episode.truncate(rows);
        self.step.truncate(rows);
    }

    /// Number of transitions.
    pub fn rows(&self) -> usize {
        self.reward.len()
    }
}

/// Runs episodes and records them.
pub struct Recorder<'p> {
    columns: Columns,
    world: Box<dyn Environment>,
    policy: Box<dyn Act + 'p>,
    rollout: Rollout,
}

impl<'p> Recorder<'p> {
    /// A recorder of what a policy does in a world like this one.
    pub fn new(world: &dyn Environment, policy: &'p dyn Policy) -> Result<Self> {
        let (o, a) = (world.observation_space().len(), world.action_space().len());
        Ok(Recorder {
            columns: Columns::new(o, a),
            world: world.copy(),
            policy: policy.start(1)?,
            rollout: Rollout::new(world, 1),
        })
    }

    /// What was recorded.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Hands over what was recorded, and begins anew.
    pub fn take(&mut self) -> Columns {
        let (o, a) = (self.columns.observation.len(), self.columns.action.len());
        std::mem::replace(&mut self.columns, Columns::new(o, a))
    }

    /// Runs one episode, with randomness of its own, until it is over.
    pub fn run(&mut self, stream: &Stream, episode: u64) -> Result<()> {
        let mut rng = [stream.at(episode)];
        self.world.reset(&mut rng[0]);
        let columns = &mut self.columns;
        let worlds = std::slice::from_mut(&mut self.world);
        let before = columns.rows();
        let put = |columns: &mut [Vec<f64>], values: &[f32]| {
            let pairs = columns.iter_mut().zip(values);
            pairs.for_each(|(c, v)| c.push(f64::from(*v)));
        };
        let ran = self.rollout.run(
            worlds,
            self.policy.as_mut(),
            &mut rng,
            episode,
            &mut |moment| {
                columns.step.push((columns.rows() - before) as i64);
                columns.episode.push(episode as i64);
                put(&mut columns.observation, moment.observation);
                let pairs = columns.action.iter_mut().zip(moment.action);
                pairs.for_each(|(c, v)| c.push(*v));
                columns.reward.push(moment.step.reward);
                put(&mut columns.next_observation, moment.next_observation);
                columns.terminated.push(moment.step.terminated);
                columns.truncated.push(moment.step.truncated);
                Ok(())
            },
        );
        if ran.is_err() {
            columns.cut(before);
        }
        ran
    }
}
