//! The data of the tutorial: the pendulum under a random policy.

use ell0::{
    dictionary::{Accumulator, Statistics},
    features::Features,
    rng::Stream,
    training::Dataset,
};
use ell0_control::{
    environment::{Environment, make},
    episode::{Columns, Recorder},
    policy::Random,
};

use super::models::Task;

/// The environment of the paper's experiments.
pub const ENVIRONMENT: &str = "pendulum(g=9.81)";

/// Episodes to train on, and to test on.
const TRAIN: u64 = 1000;
const TEST: u64 = 100;

/// Rows to train on.
pub const STEPS: usize = 200 * TRAIN as usize;

/// Every fifth episode of the training data validates the choice of a path, in five parts.
const PARTS: usize = 5;

/// Rows of (observation, action) → targets.
pub struct Data {
    pub inputs: Vec<String>,
    pub targets: Vec<String>,
    train: Rows,
    test: Rows,
}

/// Rows, column by column.
struct Rows {
    inputs: Vec<Vec<f64>>,
    targets: Vec<Vec<f64>>,
    episode: Vec<i64>,
}

fn record(
    stream: &Stream,
    episodes: u64,
) -> crate::error::Result<(Columns, Vec<String>, Vec<String>)> {
    let world = make(ENVIRONMENT)?;
    let random = Random(world.action_space().clone());
    let mut recorder = Recorder::new(world.as_ref(), &random)?;
    for episode in 0..episodes {
        recorder.run(stream, episode)?;
    }
    Ok((
        recorder.take(),
        world.observation_space().names().to_vec(),
        world.action_space().names().to_vec(),
    ))
}

impl Data {
    pub fn collect(task: Task, seed: u64) -> crate::error::Result<Self> {
        let stream = Stream::new(seed).split("tutorial");
        let (train, observation, action) = record(&stream.split("train"), TRAIN)?;
        let (test, ..) = record(&stream.split("test"), TEST)?;
        let rows = |c: Columns| Rows {
            inputs: c.observation.into_iter().chain(c.action).collect(),
            targets: match task {
                Task::Dynamics => c.next_observation,
                Task::Reward => vec![c.reward],
            },
            episode: c.episode,
        };
        Ok(Data {
            targets: match task {
                Task::Dynamics => observation.iter().map(|n| format!("next_{n}")).collect(),
                Task::Reward => vec!["reward".into()],
            },
            inputs: observation.into_iter().chain(action).collect(),
            train: rows(train),
            test: rows(test),
        })
    }

    /// Rows as networks see them: to train on, and to test on.
    pub fn datasets(&self) -> crate::error::Result<(Dataset, Dataset)> {
        let by_row = |columns: &[Vec<f64>]| -> Vec<f32> {
            let rows = columns[0].len();
            (0..rows)
                .flat_map(|row| columns.iter().map(move |c| c[row] as f32))
                .collect()
        };
        let dataset = |rows: &Rows| {
            Dataset::new(
                &by_row(&rows.inputs),
                rows.inputs.len(),
                &by_row(&rows.targets),
                rows.targets.len(),
            )
        };
        Ok((dataset(&self.train)?, dataset(&self.test)?))
    }

    fn statistics(
        &self,
        features: &Features,
        rows: &Rows,
        keep: impl Fn(i64) -> bool,
    ) -> ell0::Result<Statistics> {
        let mut accumulator = Accumulator::new(features.clone(), self.targets.clone())?;
        let kept: Vec<usize> = (0..rows.episode.len())
            .filter(|&k| keep(rows.episode[k]))
            .collect();
        let columns = |columns: &[Vec<f64>]| -> Vec<f64> {
            columns
                .iter()
                .flat_map(|c| kept.iter().map(move |&k| c[k]))
                .collect()
        };
        let (x, y) = (columns(&rows.inputs), columns(&rows.targets));
        accumulator.push(&x, &y, None, kept.len())?;
        Ok(accumulator.finish())
    }

    /// Statistics of the test data.
    pub fn test_statistics(&self, features: &Features) -> ell0::Result<Statistics> {
        self.statistics(features, &self.test, |_| true)
    }

    /// Statistics of the training data: what a path is made of, and the parts that validate it.
    pub fn train_statistics(
        &self,
        features: &Features,
    ) -> ell0::Result<(Statistics, Vec<Statistics>)> {
        let part = |episode: i64| {
            let episode = episode as usize;
            (episode % 5 == 4).then_some(episode / 5 % PARTS)
        };
        let train = self.statistics(features, &self.train, |e| part(e).is_none())?;
        let validation = (0..PARTS)
            .map(|k| self.statistics(features, &self.train, |e| part(e) == Some(k)))
            .collect::<ell0::Result<_>>()?;
        Ok((train, validation))
    }
}
