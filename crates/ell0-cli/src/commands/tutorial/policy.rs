//! `ell0 tutorial policy`: the four agents of the seed, in its world and at its budget.

use std::{
    io::{Write, stdout},
    path::{Path, PathBuf},
};

use clap::Args;
use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0_control::agent::TrainConfig;

use super::data::ENVIRONMENT;
use crate::commands::train::{Agent, Place, Plan, Row, equations};

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Policy {
    /// Episodes
    #[arg(long, default_value_t = 250, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// 140 episodes: under a minute
    #[arg(long, conflicts_with_all = ["episodes", "reference"])]
    quick: bool,
    /// The settings of the published code and what it gets wrong, for comparison
    #[arg(long)]
    reference: bool,
    /// Number of seeds of each agent
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder of the run [default: runs/tutorial-policy-seedN, …-quick or …-reference]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder, as it was begun
    #[arg(long, conflicts_with_all = ["episodes", "quick", "reference", "seeds", "force"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// Name, policy, and the published final evaluation return.
const AGENTS: [(&str, &str, &str); 4] = [
    ("network", "network(64, 64)", "about -150"),
    ("polynomial", "polynomial(3)", "about -150"),
    ("fourier", "fourier(1, interactions)", "about -1100"),
    (
        "polynomial-fourier",
        "polynomial(3) + fourier(1, interactions)",
        "about -150",
    ),
];

/// Episodes of a quick run.
const QUICK: u64 = 140;

impl Policy {
    fn plan(&self) -> anyhow::Result<Plan> {
        let agent = |(name, policy, _): (&str, &str, &str)| -> anyhow::Result<Agent> {
            let mut training = TrainConfig {
                environment: ENVIRONMENT.into(),
                policy: policy.into(),
                episodes: self.episodes,
                seed: self.seed,
                ..TrainConfig::default()
            };
            if self.quick {
                training = TrainConfig {
                    episodes: QUICK,
                    random_episodes: 10,
                    updates_after: 20,
                    lambda_from: 70,
                    lambda_full: 90,
                    // There is less time for gates to close: they are dearer.
                    lambda: 3.0 * training.lambda,
                    ..training
                };
            }
            if self.reference {
                if name == "network" {
                    training.policy = "network(256, 256)".into();
                }
                training = training.published()?;
            }
            Ok(Agent {
                name: name.into(),
                training,
            })
        };
        Ok(Plan {
            command: "tutorial policy".into(),
            seeds: self.seeds,
            prune: !self.reference,
            fine_tune: false,
            agents: AGENTS
                .into_iter()
                .map(agent)
                .collect::<anyhow::Result<_>>()?,
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let place = Place {
            resume: self.resume,
            force: self.force,
            ..place(self.out.clone().unwrap_or_else(|| {
                let kind = match (self.quick, self.reference) {
                    (true, _) => "-quick",
                    (_, true) => "-reference",
                    _ => "",
                };
                Path::new("runs").join(format!("tutorial-policy-seed{}{kind}", self.seed))
            }))
        };
        let (plan, _lock) = place.prepare(|| self.plan())?;
        let done = place.carry_out(&plan, "Policies")?;
        let rows: Vec<&Row> = done.iter().map(|d| &d.row).collect();
        let mut screen = stdout().lock();
        if self.json {
            let json = serde_json::to_string_pretty(&rows)? + "\n";
            screen.write_all(json.as_bytes())?;
            return Ok(());
        }
        let training = &plan.agents[0].training;
        writeln!(
            screen,
            "Policies for {ENVIRONMENT}, {} episodes, seed {}{}\n",
            training.episodes,
            training.seed,
            if plan.prune { "" } else { ", as published" }
        )?;
        table(&mut screen, &rows)?;
        equations(&mut screen, &rows)?;
        writeln!(
            screen,
            "Return: mean over 2000 initial states ± 95 %. Gap: what optimal control reaches more. Published: one seed, ten episodes.\nPolicies, results, metrics, events for TensorBoard and figures are in {}",
            place.folder.display()
        )?;
        Ok(())
    }
}

/// A folder of this command.
pub fn place(folder: PathBuf) -> Place {
    Place {
        folder,
        command: "tutorial policy",
        resume: false,
        force: false,
    }
}

fn table(out: &mut impl Write, rows: &[&Row]) -> anyhow::Result<()> {
    let mut grid = Table::new();
    grid.load_style(UTF8_BORDERS_ONLY).set_header([
        "policy",
        "seed",
        "return",
        "gap",
        "terms",
        "seconds",
        "published",
    ]);
    for column in grid.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        let published = AGENTS.iter().find(|a| a.0 == row.agent);
        grid.add_row([
            row.policy.clone(),
            row.seed.to_string(),
            format!("{:.1} ± {:.1}", row.return_mean, row.return_ci95),
            row.gap.map_or("–".into(), |g| format!("{g:.1}")),
            row.terms.map_or("–".into(), |t| t.to_string()),
            format!("{:.1}", row.seconds),
            published.map_or("–", |a| a.2).to_string(),
        ]);
    }
    writeln!(out, "{grid}\n")?;
    Ok(())
}
