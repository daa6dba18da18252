//! `ell0 collect`: experience of an environment as a table.

use std::path::PathBuf;

use clap::Args;
use ell0::rng::Stream;
use ell0_control::{
    environment::{Environment, make},
    episode::{Columns, Recorder},
    policy::Random,
};
use ell0_data::write::{TableWriter, Values};

use crate::progress::Progress;

/// Record episodes of an environment under a random policy
///
/// A row is a step: what was observed, the action, the reward, what was observed next, and how it ended. `ell0 fit` reads the file.
#[derive(Args)]
pub struct Collect {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Number of episodes
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Seed of initial states and actions
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// File for the rows: Parquet if it ends in .parquet, else CSV
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

/// Rows that are written at once, or somewhat more.
const GROUP: usize = 50_000;

/// The columns of a table of experience.
pub fn names(environment: &dyn Environment) -> Vec<String> {
    let (observation, action) = (environment.observation_space(), environment.action_space());
    let next = observation.names.iter().map(|n| format!("next_{n}"));
    let mut names: Vec<String> = observation
        .names
        .iter()
        .chain(&action.names)
        .cloned()
        .collect();
    names.push("reward".into());
    names.extend(next);
    names.extend(["terminated", "truncated", "episode", "step"].map(String::from));
    names
}

fn values(columns: Columns) -> Vec<Values> {
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

impl Collect {
    pub fn run(&self) -> anyhow::Result<()> {
        let mut environment = make(&self.environment)?;
        let mut writer = TableWriter::create(&self.out, &names(environment.as_ref()))?;
        let mut recorder = Recorder::new(environment.as_ref());
        let stream = Stream::new(self.seed).split("collect");
        let progress = Progress::new("episodes", Some(self.episodes));
        let mut rows = 0;
        for episode in 0..self.episodes {
            recorder.run(environment.as_mut(), &mut Random, &stream, episode)?;
            progress.advance(1);
            if recorder.columns().rows() >= GROUP || episode + 1 == self.episodes {
                let columns = recorder.take();
                rows += columns.rows();
                writer.push(&values(columns))?;
            }
        }
        writer.finish()?;
        println!(
            "{rows} steps of {} in {} episodes, written to {}",
            environment.text(),
            self.episodes,
            self.out.display()
        );
        Ok(())
    }
}
