//! The one loop that acts. Recording, evaluation, training and single trajectories all run through it, so a world that breaks down is found alike in all of them.

use ell0::rng::Generator;
use serde::{Deserialize, Serialize};

use crate::{
    environment::{Environment, Start, Step, look},
    error::{Error, Result},
    policy::{Act, Policy},
};

/// Steps after which an episode is cut off in a world that has no time limit.
pub const MOST_STEPS: u32 = 10_000;

/// One step of one world.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Which of the worlds.
    pub row: usize,
    /// The state before the step; empty for a world whose state cannot be seen.
    pub state: &'a [f64],
    /// The observation before the step.
    pub observation: &'a [f32],
    /// The action.
    pub action: &'a [f64],
    /// What came of it.
    pub step: Step,
    /// The observation after it.
    pub next_observation: &'a [f32],
}

/// Room for worlds that are stepped side by side, made once.
#[derive(Clone, Debug)]
pub struct Rollout {
    rows: usize,
    observations: usize,
    actions: usize,
    /// The present observation of each world, row after row.
    seen: Vec<f32>,
    /// The same column after column: what policies take.
    columns: Vec<f32>,
    /// Actions, column after column.
    chosen: Vec<f64>,
    next: Vec<f32>,
    state: Vec<f64>,
    action: Vec<f64>,
    over: Vec<bool>,
}

impl Rollout {
    /// Room for so many worlds like this one.
    #[must_use]
    pub fn new(world: &dyn Environment, rows: usize) -> Self {
        let (o, a) = (world.observation_space().len(), world.action_space().len());
        Rollout {
            rows,
            observations: o,
            actions: a,
            seen: vec![0.0; rows * o],
            columns: vec![0.0; rows * o],
            chosen: vec![0.0; rows * a],
            next: vec![0.0; o],
            state: Vec::new(),
            action: vec![0.0; a],
            over: vec![false; rows],
        }
    }

    /// Steps worlds whose episodes have just begun until all of them are over, and hands every step to `sink`. Episodes are numbered from `first`, for errors. A world without a time limit is cut off after
    /// [`MOST_STEPS`].
    pub fn run<W: Environment>(
        &mut self,
        worlds: &mut [W],
        policy: &mut dyn Act,
        generators: &mut [Generator],
        first: u64,
        sink: &mut dyn FnMut(&Moment) -> Result<()>,
    ) -> Result<()> {
        let (rows, o, a) = (self.rows, self.observations, self.actions);
        for (what, found) in [("worlds", worlds.len()), ("generators", generators.len())] {
            crate::error::require_size(what, found, rows)?;
        }
        let Some(limit) = worlds.first().map(|w| w.time_limit().unwrap_or(MOST_STEPS)) else {
            return Ok(());
        };
        self.over.fill(false);
        for (row, world) in worlds.iter().enumerate() {
            look(
                world,
                &mut self.seen[row * o..][..o],
                first + row as u64 + 1,
                0,
            )?;
        }
        for time in 1..=u64::from(limit) {
            for (row, seen) in self.seen.chunks_exact(o).enumerate() {
                for (k, value) in seen.iter().enumerate() {
                    self.columns[k * rows + row] = *value;
                }
            }
            policy.act(&self.columns, rows, generators, &mut self.chosen)?;
            for (row, world) in worlds.iter_mut().enumerate() {
                if self.over[row] {
                    continue;
                }
                let episode = first + row as u64 + 1;
                for k in 0..a {
                    let value = self.chosen[k * rows + row];
                    if !value.is_finite() {
                        return Err(Error::Action {
                            action: world.action_space().names()[k].clone(),
                            episode,
                            step: time,
                            value,
                        });
                    }
                    self.action[k] = value;
                }
                self.state.clear();
                self.state.extend_from_slice(world.state());
                let mut step = world.step(&self.action)?;
                step.truncated |= time == u64::from(limit);
                if !step.reward.is_finite() {
                    return Err(Error::World {
                        environment: world.text(),
                        episode,
                        step: time,
                        what: "the reward".into(),
                        value: step.reward,
                    });
                }
                look(world, &mut self.next, episode, time)?;
                let seen = &mut self.seen[row * o..][..o];
                sink(&Moment {
                    row,
                    state: &self.state,
                    observation: seen,
                    action: &self.action,
                    step,
                    next_observation: &self.next,
                })?;
                seen.copy_from_slice(&self.next);
                self.over[row] = step.is_over();
            }
            if self.over.iter().all(|over| *over) {
                break;
            }
        }
        Ok(())
    }
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// In a state after which nothing comes.
    Terminated,
    /// Cut off by a time limit.
    Truncated,
}

/// One episode, column after column; a row is a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trajectory {
    /// Names of the states; none for a world whose state cannot be seen.
    pub state_names: Vec<String>,
    /// Names of the observations.
    pub observation_names: Vec<String>,
    /// Names of the actions.
    pub action_names: Vec<String>,
    /// A column for each state, before the step.
    pub states: Vec<Vec<f64>>,
    /// A column for each observation, before the step.
    pub observations: Vec<Vec<f64>>,
    /// A column for each action.
    pub actions: Vec<Vec<f64>>,
    /// Reward of each step.
    pub rewards: Vec<f64>,
    /// How it ended.
    pub end: End,
}

impl Trajectory {
    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.rewards.len()
    }

    /// Sum of the rewards.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.rewards.iter().sum()
    }
}

/// What a policy does from one start.
pub fn rollout(world: &dyn Environment, policy: &dyn Policy, start: &Start) -> Result<Trajectory> {
    let mut worlds = [world.copy()];
    let mut generators = [start.begin(&mut worlds[0])?];
    let (observation, action) = (world.observation_space(), world.action_space());
    let state_names = world.state_names();
    let mut path = Trajectory {
        states: vec![Vec::new(); state_names.len()],
        observations: vec![Vec::new(); observation.len()],
        actions: vec![Vec::new(); action.len()],
        observation_names: observation.names().to_vec(),
        action_names: action.names().to_vec(),
        state_names,
        rewards: Vec::new(),
        end: End::Truncated,
    };
    let put = |columns: &mut [Vec<f64>], values: &mut dyn Iterator<Item = f64>| {
        columns.iter_mut().zip(values).for_each(|(c, v)| c.push(v));
    };
    let mut act = policy.start(1)?;
    Rollout::new(world, 1).run(
        &mut worlds,
        act.as_mut(),
        &mut generators,
        0,
        &mut |moment| {
            put(&mut path.states, &mut moment.state.iter().copied());
            put(
                &mut path.observations,
                &mut moment.observation.iter().map(|o| f64::from(*o)),
            );
            put(&mut path.actions, &mut moment.action.iter().copied());
            path.rewards.push(moment.step.reward);
            if moment.step.terminated {
                path.end = End::Terminated;
            }
            Ok(())
        },
    )?;
    Ok(path)
}
