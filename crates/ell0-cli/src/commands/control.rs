//! Policies at work: measured, rolled out, beside optimal control.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf};

use clap::Args;
use ell0_control::environment::{GridConfig, OptimumMethod, make};
use ell0_run::{OutFile, law_policy, measure, optimum, read_model, roll_out, write_trajectory};

use crate::table::{self, new_table};

/// Measure a policy on a fixed grid of initial states
///
/// Pendulum: the midpoints of 200 × 10 cells over θ in ±π and θ̇ in ±1. Fields (ks, cdr, burgers, heat): each set of parameters of training; and others between and beyond them, without and with noise on the sensors.
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
        let world = make(&self.environment)?;
        let policy = law_policy(world.as_ref(), &read_model(&self.model)?)?;
        let result = measure(world.as_ref(), &policy)?;
        let mut out = screen::out();
        if self.json {
            return table::json(&mut out, &result);
        }
        writeln!(
            out,
            "mean return {:.2} ± {:.2} over {} initial states of {}",
            result.worth.mean, result.worth.ci95, result.episodes, result.environment
        )?;
        if result.situations.is_empty() {
            return Ok(());
        }
        let mut grid = new_table(&["situation", "noise", "return", "± 95 %", "episodes"], 1);
        for s in &result.situations {
            grid.add_row([
                s.situation.clone(),
                s.noise.to_string(),
                format!("{:.3}", s.worth.mean),
                format!("{:.3}", s.worth.ci95),
                s.episodes.to_string(),
            ]);
        }
        writeln!(out, "{grid}")?;
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
    /// Initial state, for example 3.14,0 [default: where the environment usually begins; a pendulum hangs at rest]
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    state: Vec<f64>,
    /// File for the steps: Parquet if it ends in .parquet, else CSV
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file of --out if it exists
    #[arg(long, requires = "out")]
    force: bool,
}

impl Rollout {
    pub fn run(&self) -> anyhow::Result<()> {
        let out = OutFile::new(&self.out).replacing(self.force);
        out.check(&[&self.model])?;
        let world = make(&self.environment)?;
        let policy = law_policy(world.as_ref(), &read_model(&self.model)?)?;
        let state = (!self.state.is_empty()).then_some(&self.state[..]);
        let trajectory = roll_out(world.as_ref(), &policy, state)?;
        write_trajectory(&trajectory, &out)?;
        writeln!(
            screen::out(),
            "{} steps with return {:.2}, written to {}",
            trajectory.steps(),
            trajectory.total(),
            shown_path(&self.out)
        )?;
        Ok(())
    }
}

/// What optimal control would reach: by dynamic programming on a grid, or by the Riccati equation
#[derive(Args)]
pub struct Optimum {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV")]
    environment: String,
    /// Points of the grid in each dimension
    #[arg(long, default_value_t = 401, value_parser = crate::values::whole::<11, 4001>, allow_negative_numbers = true)]
    points: u64,
    /// Torques tried at first; finer ones are tried around the best of them
    #[arg(long, default_value_t = 5, value_parser = crate::values::whole::<2, 1001>, allow_negative_numbers = true)]
    actions: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Optimum {
    pub fn run(&self) -> anyhow::Result<()> {
        let world = make(&self.environment)?;
        let grid = GridConfig {
            points: self.points as usize,
            actions: self.actions as usize,
        };
        let result = optimum(world.as_ref(), grid)?;
        let mut out = screen::out();
        if self.json {
            return table::json(&mut out, &result);
        }
        let (of, digits) = match result.method {
            OptimumMethod::Grid => ("optimal control", 2),
            OptimumMethod::Riccati => (
                "the linear-quadratic regulator that sees the whole state, its actions clipped,",
                3,
            ),
        };
        writeln!(
            out,
            "mean return of {of} {:.digits$} ± {:.digits$} over {} initial states of {}",
            result.worth.mean, result.worth.ci95, result.episodes, result.environment
        )?;
        Ok(())
    }
}
