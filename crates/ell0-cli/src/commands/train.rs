//! `ell0 train`: control policies, learned by acting.

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use ell0_control::{
    agent::{ActorKind, AlgorithmConfig, EnvironmentSteps, PenaltyKind},
    environment::make,
};
use ell0_run::{
    AgentResult, AgentSettings, Error, Site, TrainPlan, TrainSettings, TrainingRun, file_word,
};
use indicatif::HumanCount;

use crate::{
    options::{command_line, in_runs},
    progress::Bars,
    table::{self, new_table, or_dash},
};

/// Learn a control policy by acting
///
/// TD3 or DDPG with a policy that is a network, or a dictionary whose terms are gated: it ends as a formula of a few terms. Several policies or penalties are trained side by side. The best evaluated policy is kept.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Examples:\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\"\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"polynomial(3)\" --lambda 0.001,0.01,0.03 --seeds 5\n  ell0 train --env \"pendulum(g=9.81)\" --policy \"network(64, 64)\"\n  ell0 train --env ks --policy \"tied(polynomial(3))\" --terms 3 --fine-tune"
)]
pub struct Train {
    /// Environment, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV", required_unless_present = "resume")]
    environment: Option<String>,
    /// What acts: a library such as "polynomial(3)", the same law for every action as in "tied(polynomial(3))", "network(256, 256)" or "sparse-network(256, 256)"; may be given several times
    #[arg(long, default_value = "polynomial(3)")]
    policy: Vec<String>,
    /// How it learns
    #[arg(long, default_value = "td3", value_parser = algorithms())]
    algorithm: String,
    /// Episodes [default: 250; 120 for fields]
    #[arg(long, value_parser = crate::values::at_least_one, allow_negative_numbers = true)]
    episodes: Option<u64>,
    /// Environments stepped side by side: so many episodes count as one [default: 1; 4 to 16 for fields]
    #[arg(long, value_parser = crate::values::whole::<1, 1000>, allow_negative_numbers = true)]
    worlds: Option<u64>,
    /// Updates after each episode [default: 200; a quarter of its steps for fields; 100 with --reference]
    #[arg(long)]
    updates: Option<u64>,
    /// Number of seeds, run side by side
    #[arg(long, default_value_t = 1, value_parser = crate::values::whole::<1, 1000>, allow_negative_numbers = true)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0, value_parser = crate::values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// Penalty of an open gate, relative to the size of Q; several with commas between them give the frontier of return and terms [default: 0.001; 0.0003 with --terms, but for fields]
    #[arg(long, value_delimiter = ',')]
    lambda: Vec<f64>,
    /// What is penalised: open gates, or the sizes of coefficients
    #[arg(long, default_value = "l0", value_parser = ["l0", "l1"], conflicts_with = "reference")]
    penalty: String,
    /// Number of terms of each action: the penalty is steered to it, and what is too many is dropped after training
    #[arg(long, value_parser = crate::values::count, allow_negative_numbers = true)]
    terms: Option<usize>,
    /// After training, tune the remaining coefficients on rollouts (the extra steps are counted)
    #[arg(long)]
    fine_tune: bool,
    /// After tuning, exchange terms for others that serve better, or nearly as well and are simpler (the extra steps are counted; one law only)
    #[arg(long, requires = "fine_tune")]
    exchange: bool,
    /// Compare with optimal control, where it is known: dynamic programming, which takes some seconds
    #[arg(long)]
    optimum: bool,
    /// The settings of the published code and what it gets wrong, for comparison
    #[arg(long, conflicts_with_all = ["algorithm", "terms", "fine_tune"])]
    reference: bool,
    /// Another setting of training by its name in config.toml, as in hold=10, exploration=0.3 or agent.discount=0.98; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = crate::values::setting)]
    finer: Vec<(String, serde_json::Value)>,
    /// Folder of the run [default: one in runs/ named after environment, policy and seed]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Go on with the run in the folder of --out, as it was begun; with --episodes to that number, also if the run is finished
    #[arg(long, requires = "out", conflicts_with_all = ["force", "policy", "algorithm", "worlds", "updates", "seeds", "seed", "lambda", "penalty", "terms", "fine_tune", "exchange", "optimum", "reference", "finer"])]
    resume: bool,
    /// Begin anew if the folder exists
    #[arg(long)]
    force: bool,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

/// The algorithms there are, with a line on each.
fn algorithms() -> PossibleValuesParser {
    let all = AlgorithmConfig::NAMES.iter();
    PossibleValuesParser::new(all.map(|(name, about)| PossibleValue::new(*name).help(*about)))
}

impl Train {
    /// What the options ask for.
    fn settings(&self) -> anyhow::Result<TrainSettings> {
        let environment = self.environment.clone().unwrap_or_default();
        let plan = TrainPlan {
            policies: self.policy.clone(),
            algorithm: self.algorithm.clone(),
            episodes: self.episodes,
            worlds: self.worlds.map(|w| w as usize),
            updates: self.updates,
            seeds: self.seeds,
            seed: self.seed,
            lambda: self.lambda.clone(),
            penalty: match self.penalty.as_str() {
                "l1" => PenaltyKind::L1,
                _ => PenaltyKind::L0,
            },
            terms: self.terms,
            fine_tune: self.fine_tune,
            exchange: self.exchange,
            optimum: self.optimum,
            reference: self.reference,
            finer: self.finer.iter().cloned().collect(),
        };
        Ok(plan.settings(&environment, make(&environment)?.as_ref())?)
    }

    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| {
            in_runs(&format!(
                "train-{}-{}-seed{}",
                file_word(self.environment.as_deref().unwrap_or("")),
                file_word(&self.policy.join("-")),
                self.seed
            ))
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let site = Site {
            folder: self.folder(),
            replace: self.force,
            command: Some(command_line()),
        };
        let bars = Bars::stoppable();
        let run = if self.resume {
            let settings = TrainSettings::read(&site, "train")?;
            if let Some(asked) = &self.environment
                && settings.environment() != asked
            {
                return Err(Error::OtherRun {
                    folder: site.folder,
                    found: format!("a run in {}", settings.environment()),
                    asked: format!("one in {asked}"),
                }
                .into());
            }
            note_free_gates(&settings);
            TrainSettings::resume(&site, "train", self.episodes, &bars)
        } else {
            let settings = self.settings()?;
            note_free_gates(&settings);
            settings.run(Some(&site), &bars)
        };
        let run = run.map_err(|e| goes_on(e, "train", &site))?;
        drop(bars);
        show(&run, &site, self.json, print)
    }
}

/// Shows what a training left, as JSON or as `print` does.
pub fn show(
    run: &TrainingRun,
    site: &Site,
    json: bool,
    print: fn(&mut screen::Out, &TrainingRun) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut screen = screen::out();
    if json {
        return table::json(&mut screen, &run.rows());
    }
    print(&mut screen, run)?;
    writeln!(
        screen,
        "Policies, results, metrics, events for TensorBoard and figures are in {}",
        shown_path(&site.folder)
    )?;
    Ok(())
}

/// Says so where gates cost nothing in all of the training.
fn note_free_gates(settings: &TrainSettings) {
    for AgentSettings { training, .. } in &settings.agents {
        let kind = training.policy.parse::<ActorKind>();
        let gated = kind.is_ok_and(|kind| kind.pays());
        if gated && training.episodes <= training.lambda_from {
            screen::say(format!(
                "note: gates cost nothing before episode {}, so that --lambda and --terms have no effect in {} episodes",
                training.lambda_from, training.episodes
            ));
            return;
        }
    }
}

/// Errors of a run that can be gone on with, with the command that does.
pub fn goes_on(error: Error, command: &str, site: &Site) -> anyhow::Error {
    let folder = shown_path(&site.folder);
    match error.root() {
        Error::Stopped { .. } => anyhow::anyhow!(
            "interrupted; everything is saved: `ell0 {command} --resume --out {folder}` goes on"
        ),
        Error::FolderExists(_) => anyhow::anyhow!(
            "{error}; `ell0 {command} --resume --out {folder}` goes on with the run in it, --force begins anew"
        ),
        _ => error.into(),
    }
}

fn print(out: &mut screen::Out, run: &TrainingRun) -> anyhow::Result<()> {
    let rows = run.rows();
    let several = rows.iter().any(|r| !r.agent.is_empty());
    let compared = rows.iter().any(|r| r.gap.is_some());
    let agent = several.then_some("agent");
    let gap = compared.then_some("gap");
    let header: Vec<&str> = (agent.into_iter())
        .chain(["seed", "return", "± 95 %"])
        .chain(gap)
        .chain(["terms", "seconds"])
        .collect();
    let mut grid = new_table(&header, usize::from(several));
    for row in rows {
        let agent = several.then(|| row.agent.clone());
        let gap = compared.then(|| or_dash(row.gap.map(|g| format!("{g:.1}"))));
        let first = [
            row.seed.to_string(),
            format!("{:.2}", row.return_mean),
            format!("{:.2}", row.return_ci95),
        ];
        let last = [or_dash(terms(row)), format!("{:.1}", row.seconds)];
        grid.add_row(agent.into_iter().chain(first).chain(gap).chain(last));
    }
    writeln!(out, "{grid}")?;
    writeln!(out, "{}", steps(rows))?;
    equations(out, rows)
}

/// What the environment was asked for, by purpose, for all rows together.
fn steps(rows: &[AgentResult]) -> String {
    let mut all = EnvironmentSteps::default();
    rows.iter().for_each(|row| all += row.environment_steps);
    let purposes = all.by_purpose();
    let spent: Vec<String> = purposes
        .iter()
        .filter(|(_, steps)| *steps > 0)
        .map(|(purpose, steps)| format!("{} {purpose}", HumanCount(*steps)))
        .collect();
    format!("steps of the environment: {}", spent.join(", "))
}

/// Numbers of terms and, where there are several, of the laws that they stand in.
pub fn terms(row: &AgentResult) -> Option<String> {
    let terms = row.terms?;
    Some(match row.laws {
        Some(laws) if laws > 1 => format!("{terms} in {laws} laws"),
        _ => terms.to_string(),
    })
}

/// The laws, one after the other.
pub fn equations(out: &mut impl Write, rows: &[AgentResult]) -> anyhow::Result<()> {
    for row in rows {
        if let Some(equation) = &row.equation {
            let agent = match row.agent.as_str() {
                "" => String::new(),
                name => format!("{name}, "),
            };
            let lines = if equation.contains('\n') { "\n" } else { " " };
            writeln!(out, "{agent}seed {}:{lines}{equation}", row.seed)?;
        }
    }
    writeln!(out)?;
    Ok(())
}
