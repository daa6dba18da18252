//! Worlds and policies at work: recorded, measured, rolled out, beside optimal control.

use std::path::Path;

use ell0::{equation::Model, rng::Stream};
use ell0_control::{
    environment::{Environment, GridConfig, OptimumMethod, Situation, Start},
    episode::{Columns, Recorder},
    evaluation::{Return, evaluate},
    policy::{LawPolicy, Policy, Random},
    rollout::{Trajectory, rollout},
};
use ell0_data::write::{TableWriter, Values};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    observer::{Observer, Task},
    out_file::OutFile,
};

/// What is recorded of a world under random actions.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `episodes` | 1000 | number of episodes |
/// | `seed` | 0 | of initial states and actions |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct CollectSettings {
    pub episodes: u64,
    pub seed: u64,
}

impl Default for CollectSettings {
    fn default() -> Self {
        CollectSettings {
            episodes: 1000,
            seed: 0,
        }
    }
}

/// More are a slip of the finger.
const MOST_EPISODES: u64 = 10_000_000;

/// Rows that are written at once, or somewhat more.
const GROUP: usize = 50_000;

/// The columns of a table of experience.
fn experience_names(world: &dyn Environment) -> Vec<String> {
    let (observation, action) = (
        world.observation_space().names(),
        world.action_space().names(),
    );
    let mut names: Vec<String> = observation.iter().chain(action).cloned().collect();
    names.push("reward".into());
    names.extend(observation.iter().map(|n| format!("next_{n}")));
    names.extend(["terminated", "truncated", "episode", "step"].map(String::from));
    names
}

fn experience(columns: Columns) -> Vec<Values> {
    let numbers = |c: Vec<Vec<f64>>| c.into_iter().map(Values::Number);
    let mut all: Vec<Values> = numbers(columns.observation).collect();
    all.extend(numbers(columns.action));
    all.push(Values::Number(columns.reward));
    all.extend(numbers(columns.next_observation));
    all.push(Values::Flag(columns.terminated));
    all.push(Values::Flag(columns.truncated));
    all.push(Values::Integer(columns.episode));
    all.push(Values::Integer(columns.step));
    all
}

impl CollectSettings {
    /// Records episodes to a file, Parquet if its name ends so, else CSV: a row is a step. Says how many there are.
    pub fn run(
        &self,
        world: &dyn Environment,
        out: &OutFile,
        observer: &dyn Observer,
    ) -> Result<usize> {
        if self.episodes > MOST_EPISODES {
            return Err(Error::setting(
                "episodes",
                self.episodes,
                "at most 10,000,000",
            ));
        }
        out.check::<&Path>(&[])?;
        let mut writer = TableWriter::create(out.path(), &experience_names(world))?;
        let random = Random(world.action_space().clone());
        let mut recorder = Recorder::new(world, &random)?;
        let stream = Stream::new(self.seed).split("collect");
        let recording = Task::begin(observer, "episodes", Some(self.episodes));
        let mut rows = 0;
        for episode in 0..self.episodes {
            recorder.run(&stream, episode)?;
            recording.advance(1);
            recording.go_on()?;
            if recorder.columns().rows() >= GROUP || episode + 1 == self.episodes {
                let columns = recorder.take();
                rows += columns.rows();
                writer.push(&experience(columns))?;
            }
        }
        writer.finish()?;
        Ok(rows)
    }
}

/// A mean return and its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanReturn {
    /// Mean over the starts.
    pub mean: f64,
    /// Half the width of its 95 % interval, were the starts drawn at random.
    pub ci95: f64,
}

impl From<Return> for MeanReturn {
    fn from(r: Return) -> Self {
        MeanReturn {
            mean: r.mean,
            ci95: r.ci95,
        }
    }
}

/// How well a policy does in a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The world.
    pub environment: String,
    /// The mean return.
    #[serde(rename = "return")]
    pub worth: MeanReturn,
    /// Number of episodes.
    pub episodes: usize,
    /// Steps in all.
    pub steps: u64,
    /// The same in each situation that the world is compared in, where there are several: other parameters, noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub situations: Vec<SituationReturn>,
}

/// How well a policy does in a situation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SituationReturn {
    /// What it is.
    pub situation: String,
    /// Deviation of the noise on what is seen.
    pub noise: f64,
    /// The mean return.
    #[serde(rename = "return")]
    pub worth: MeanReturn,
    /// Number of episodes.
    pub episodes: usize,
}

/// A model as a policy for a world: its inputs are among the observations, its targets are the actions.
pub fn law_policy(world: &dyn Environment, law: &Model) -> Result<LawPolicy> {
    let (observation, action) = (world.observation_space(), world.action_space());
    Ok(LawPolicy::new(law, observation, action)?)
}

/// Measures a policy from the starts that policies are compared on in this world.
pub fn measure(world: &dyn Environment, policy: &dyn Policy) -> Result<Evaluation> {
    let result = evaluate(world, policy, &world.evaluation_starts())?;
    let grid = world.evaluation_grid();
    let mut situations = Vec::new();
    if grid.len() > 1 {
        for Situation {
            name,
            noise,
            world,
            starts,
        } in grid
        {
            let result = evaluate(world.as_ref(), policy, &starts)?;
            situations.push(SituationReturn {
                situation: name,
                noise,
                worth: result.into(),
                episodes: result.episodes,
            });
        }
    }
    Ok(Evaluation {
        environment: world.text(),
        worth: result.into(),
        episodes: result.episodes,
        steps: result.steps,
        situations,
    })
}

/// What optimal control reaches in a world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimum {
    /// The world.
    pub environment: String,
    /// The mean return.
    #[serde(rename = "return")]
    pub worth: MeanReturn,
    /// How it was found.
    pub method: OptimumMethod,
    /// Points of the grid in each dimension, where there is one.
    pub points: Option<usize>,
    /// Actions tried at first, where there is a grid.
    pub actions: Option<usize>,
    /// Number of episodes.
    pub episodes: usize,
}

/// What optimal control would reach, in a world where that is known: by dynamic programming on a grid, or by the Riccati equation.
pub fn optimum(world: &dyn Environment, grid: GridConfig) -> Result<Optimum> {
    let unknown = || Error::NoOptimum {
        environment: world.text(),
    };
    let limit = world.time_limit().ok_or_else(unknown)?;
    let result = world.optimum(limit, &world.evaluation_starts(), grid)?;
    let result = result.ok_or_else(unknown)?;
    let on_grid = result.method == OptimumMethod::Grid;
    Ok(Optimum {
        environment: world.text(),
        worth: result.worth.into(),
        method: result.method,
        points: on_grid.then_some(grid.points),
        actions: on_grid.then_some(grid.actions),
        episodes: result.worth.episodes,
    })
}

/// What a policy does from one state, or from where the world usually begins.
pub fn roll_out(
    world: &dyn Environment,
    policy: &dyn Policy,
    state: Option<&[f64]>,
) -> Result<Trajectory> {
    let start = match state {
        Some(state) if !state.is_empty() => Start::State(state.to_vec()),
        _ => world.usual_start(),
    };
    Ok(rollout(world, policy, &start)?)
}

/// Writes a trajectory to a file, Parquet if its name ends so, else CSV: a row is a step.
pub fn write_trajectory(trajectory: &Trajectory, out: &OutFile) -> Result<()> {
    out.check::<&Path>(&[])?;
    let mut names = vec!["step".to_string()];
    // A world whose state cannot be seen shows what it lets be seen.
    let (shown, columns) = if trajectory.state_names.is_empty() {
        (&trajectory.observation_names, &trajectory.observations)
    } else {
        (&trajectory.state_names, &trajectory.states)
    };
    names.extend(shown.iter().chain(&trajectory.action_names).cloned());
    names.push("reward".into());
    let mut values = vec![Values::Integer((0..trajectory.steps() as i64).collect())];
    let all = columns.iter().chain(&trajectory.actions);
    values.extend(
        all.chain([&trajectory.rewards])
            .cloned()
            .map(Values::Number),
    );
    let mut writer = TableWriter::create(out.path(), &names)?;
    writer.push(&values)?;
    Ok(writer.finish()?)
}
