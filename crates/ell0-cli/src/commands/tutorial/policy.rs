//! `ell0 tutorial policy`.

use std::{io::Write, path::PathBuf};

use clap::Args;
use ell0_run::{
    PolicySettings, Site, TUTORIAL_ENVIRONMENT, TrainSettings, TrainingRun, published_return,
};

use crate::{
    commands::train::{equations, goes_on, show},
    options::{command_line, in_runs},
    progress::Bars,
    table::{new_table, or_dash},
};

#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct Policy {
    /// Episodes
    #[arg(long, default_value_t = 250, value_parser = crate::values::at_least_one, allow_negative_numbers = true)]
    episodes: u64,
    /// 140 episodes: under a minute
    #[arg(long, conflicts_with_all = ["episodes", "reference"])]
    quick: bool,
    /// The settings of the published code and what it gets wrong, for comparison
    #[arg(long)]
    reference: bool,
    /// Number of seeds of each agent
    #[arg(long, default_value_t = 1, value_parser = crate::values::whole::<1, 1000>, allow_negative_numbers = true)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
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

impl Policy {
    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            let kind = match (self.quick, self.reference) {
                (true, _) => "-quick",
                (_, true) => "-reference",
                _ => "",
            };
            in_runs(&format!("tutorial-policy-seed{}{kind}", self.seed))
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        const COMMAND: &str = "tutorial policy";
        let site = Site {
            folder: self.folder(),
            replace: self.force,
            command: Some(command_line()),
        };
        let bars = Bars::stoppable();
        let run = if self.resume {
            TrainSettings::resume(&site, COMMAND, None, &bars)
        } else {
            let settings = PolicySettings {
                episodes: self.episodes,
                quick: self.quick,
                reference: self.reference,
                seeds: self.seeds,
                seed: self.seed,
            };
            settings.training()?.run(Some(&site), &bars)
        };
        let run = run.map_err(|e| goes_on(e, COMMAND, &site))?;
        drop(bars);
        show(&run, &site, self.json, print_policies)
    }
}

pub fn print_policies(out: &mut impl Write, run: &TrainingRun) -> anyhow::Result<()> {
    if let Some(agent) = run.settings.agents.first() {
        let published = if run.settings.prune {
            ""
        } else {
            ", as published"
        };
        writeln!(
            out,
            "Policies for {TUTORIAL_ENVIRONMENT}, {} episodes, seed {}{published}\n",
            agent.training.episodes, agent.training.seed,
        )?;
    }
    let header = [
        "policy",
        "seed",
        "return",
        "gap",
        "terms",
        "seconds",
        "published",
    ];
    let mut grid = new_table(&header, 1);
    for row in run.rows() {
        grid.add_row([
            row.policy.clone(),
            row.seed.to_string(),
            format!("{:.1} ± {:.1}", row.return_mean, row.return_ci95),
            or_dash(row.gap.map(|g| format!("{g:.1}"))),
            or_dash(row.terms),
            format!("{:.1}", row.seconds),
            or_dash(published_return(&row.agent)),
        ]);
    }
    writeln!(out, "{grid}\n")?;
    equations(out, run.rows())?;
    writeln!(
        out,
        "Return: mean over 2000 initial states ± 95 %. Gap: what optimal control reaches more. Published: one seed, ten episodes."
    )?;
    Ok(())
}
