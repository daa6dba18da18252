//! `ell0 evaluate`, `rollout` and `optimum`: policies at work.

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use clap::Args;
use ell0_control::{
    environment::{Environment, make, pendulum},
    evaluation::{BatchPolicy, ClosedForm, evaluate},
    optimum::{GridConfig, pendulum_optimum},
};
use ell0_data::write::{TableWriter, Values};
use serde_json::json;

use super::model::load;

/// A model file as a policy for an environment.
fn policy(file: &Path, environment: &dyn Environment) -> anyhow::Result<ClosedForm> {
    let model = load(file)?;
    let (observation, action) = (environment.observation_space(), environment.action_space());
    Ok(ClosedForm::new(model, observation, action)?)
}

/// Measure a policy on a fixed grid of initial states
///
/// Pendulum: the midpoints of 200 × 10 cells over θ in ±π and θ̇ in ±1.
#[derive(Args)]
pub struct Evaluate {
    /// Policy in closed form: a model.json whose target is the action
    model: PathBuf,
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Evaluate {
    pub fn run(&self) -> anyhow::Result<()> {
        let environment = make(&self.environment)?;
        let policy = policy(&self.model, environment.as_ref())?;
        let result = evaluate(&self.environment, &policy, &environment.evaluation_grid())?;
        let mut out = stdout().lock();
        if self.json {
            let object = json!({ "environment": environment.text(), "return": { "mean": result.mean, "ci95": result.ci95 }, "episodes": result.episodes, "steps": result.steps });
            writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            writeln!(
                out,
                "mean return {:.2} ± {:.2} over {} initial states of {}",
                result.mean,
                result.ci95,
                result.episodes,
                environment.text()
            )?;
        }
        Ok(())
    }
}

/// Record what a policy does from one initial state
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Rollout {
    /// Policy in closed form: a model.json whose target is the action
    model: PathBuf,
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Initial state, for example 3.14,0 [default: hanging at rest]
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    state: Vec<f64>,
    /// File for the steps: Parquet if it ends in .parquet, else CSV
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Rollout {
    pub fn run(&self) -> anyhow::Result<()> {
        let mut world = make(&self.environment)?;
        let policy = policy(&self.model, world.as_ref())?;
        let state = if self.state.is_empty() {
            world.state().to_vec()
        } else {
            self.state.clone()
        };
        world.reset_to(&state)?;
        let (o, a) = (world.observation_space().len(), world.action_space().len());
        let mut names = vec!["step".to_string()];
        names.extend(world.state_names().iter().map(ToString::to_string));
        names.extend(world.action_space().names.clone());
        names.push("reward".into());
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); names.len() - 1];
        let mut observation = vec![0f32; o];
        let mut action = vec![0.0; a];
        let mut total = 0.0;
        for _ in 0..world.time_limit().unwrap_or(10_000) {
            world.observe(&mut observation);
            policy.act(&observation, 1, &mut action)?;
            let before = world.state().to_vec();
            let step = world.step(&action)?;
            let row = before.iter().chain(&action).chain([&step.reward]);
            columns.iter_mut().zip(row).for_each(|(c, v)| c.push(*v));
            total += step.reward;
            if step.terminated || step.truncated {
                break;
            }
        }
        let steps = columns[0].len();
        let mut values = vec![Values::Integer((0..steps as i64).collect())];
        values.extend(columns.into_iter().map(Values::Number));
        let mut writer = TableWriter::create(&self.out, &names)?;
        writer.push(&values)?;
        writer.finish()?;
        println!(
            "{steps} steps with return {total:.2}, written to {}",
            self.out.display()
        );
        Ok(())
    }
}

/// What optimal control would reach, by dynamic programming on a grid
#[derive(Args)]
pub struct Optimum {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Points of the grid in each dimension
    #[arg(long, default_value_t = 401, value_parser = clap::value_parser!(u64).range(11..=4001))]
    points: u64,
    /// Torques tried at first; finer ones are tried around the best of them
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(2..=1001))]
    actions: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Optimum {
    pub fn run(&self) -> anyhow::Result<()> {
        let environment = make(&self.environment)?;
        let (pendulum, limit) = pendulum(&self.environment)?;
        let config = GridConfig {
            angles: self.points as usize,
            speeds: self.points as usize,
            torques: self.actions as usize,
        };
        let result = pendulum_optimum(&pendulum, limit, &environment.evaluation_grid(), config);
        let mut out = stdout().lock();
        if self.json {
            let object = json!({ "environment": environment.text(), "return": { "mean": result.mean, "ci95": result.ci95 }, "points": self.points, "actions": self.actions });
            writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        } else {
            writeln!(
                out,
                "mean return of optimal control {:.2} ± {:.2} over {} initial states of {}",
                result.mean,
                result.ci95,
                result.episodes,
                environment.text()
            )?;
        }
        Ok(())
    }
}
