//! `ell0 analyze`: what can be said of a policy or a law before it is put to work.

mod closed_loop;
mod law;
mod portrait;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::Args;
use ell0::equation::{Dynamics, Expression, Model};
use ell0_control::{
    analysis::Plant,
    environment::{Environment, make},
};

use super::model::load;
use crate::report;

/// Equilibria, stability that is proved, margins and robustness of a policy; fixed points and predictability of a law
///
/// A policy is analysed in the loop it really runs in: with an environment, or with a learned transition model. A law of states is analysed on its own.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    group(clap::ArgGroup::new("what").args(["subject", "policy"]).required(true)),
    after_help = "Examples:\n  ell0 analyze runs/…/policies/seed0.json --env \"pendulum(g=9.81)\" --out analysis\n  ell0 analyze --policy \"2*tanh(-8*sin_theta - 2*theta_dot)\" --env \"pendulum(g=9.81)\"\n  ell0 analyze runs/lorenz-…/model.json --data held-out.csv"
)]
pub struct Analyze {
    /// Policy or law: a model.json, or the folder of a fit
    subject: Option<PathBuf>,
    /// Policy as text, in the observations of the environment
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    policy: Option<String>,
    /// Environment that the policy acts in, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV", conflicts_with = "model")]
    environment: Option<String>,
    /// Learned transition model that the policy acts in: a discrete law, or targets next_x for inputs x
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Where states are looked for with --model, for example x=-1:1,v=-2:2 [default: -10:10 each]
    #[arg(long, value_delimiter = ',', value_parser = bound, requires = "model")]
    bounds: Vec<(String, f64, f64)>,
    /// Held-out trajectories of a law, one a file: how long its predictions are valid
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Folder for the results and the phase portrait
    #[arg(long)]
    out: Option<PathBuf>,
    /// Replace the folder if it exists
    #[arg(long, requires = "out")]
    force: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// name=low:high.
fn bound(text: &str) -> Result<(String, f64, f64), String> {
    let wrong = || format!("`{text}`: expected name=low:high, for example x=-1:1");
    let (name, range) = text.split_once('=').ok_or_else(wrong)?;
    let (low, high) = range.split_once(':').ok_or_else(wrong)?;
    let number = |t: &str| t.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    match (number(low), number(high)) {
        (Some(low), Some(high)) if low < high => Ok((name.trim().into(), low, high)),
        _ => Err(wrong()),
    }
}

/// The files of an analysis.
pub const OURS: &[&str] = &[
    "analysis.json",
    "model.json",
    "portrait.svg",
    "portrait.png",
    report::FILE,
    report::COMMAND,
];

impl Analyze {
    pub fn run(&self) -> anyhow::Result<()> {
        let world = self.environment.as_deref().map(make).transpose()?;
        let subject = match (&self.subject, &self.policy) {
            (Some(path), _) => load(path)?,
            (None, Some(text)) => self.policy_of_text(text, world.as_deref())?,
            (None, None) => bail!("there is nothing to analyse"),
        };
        if let Some(world) = world {
            ensure!(
                self.data.is_empty(),
                "--data is for laws of states; a policy is measured in its environment"
            );
            let plant = world.plant().with_context(|| {
                format!(
                    "{} has no closed form that could be analysed; --model takes a learned one",
                    world.text()
                )
            })?;
            return closed_loop::run(self, &subject, &plant, Some(world.as_ref()));
        }
        if let Some(path) = &self.model {
            let plant = self.learned(path)?;
            return closed_loop::run(self, &subject, &plant, None);
        }
        law::run(self, &subject)
    }

    fn learned(&self, path: &std::path::Path) -> anyhow::Result<Plant> {
        let model = load(path)?;
        // Names of the states, in the plant's order.
        let states = Plant::of_model(&model, &[], (-1.0, 1.0))?.states;
        if let Some(stranger) = self.bounds.iter().find(|b| !states.contains(&b.0)) {
            bail!(
                "--bounds: `{}` is no state of the model; its states are {}",
                stranger.0,
                states.join(", ")
            );
        }
        let bounds: Vec<(f64, f64)> = states
            .iter()
            .map(|s| {
                let given = self.bounds.iter().find(|b| b.0 == *s);
                given.map_or((-10.0, 10.0), |b| (b.1, b.2))
            })
            .collect();
        Ok(Plant::of_model(&model, &bounds, (f64::MIN, f64::MAX))?)
    }

    /// A policy from its text: one law, for the one action of the world.
    fn policy_of_text(&self, text: &str, world: Option<&dyn Environment>) -> anyhow::Result<Model> {
        let (inputs, actions) = match (world, &self.model) {
            (Some(world), _) => (
                world.observation_space().names.clone(),
                world.action_space().names.clone(),
            ),
            (None, Some(path)) => {
                let plant = self.learned(path)?;
                let actions = plant.actions.iter().map(|a| a.0.clone()).collect();
                (plant.states, actions)
            }
            (None, None) => bail!(
                "a policy can be analysed only in a loop: name the environment with --env \"pendulum(g=9.81)\", or a learned transition model with --model FILE"
            ),
        };
        let [action] = actions.as_slice() else {
            bail!(
                "--policy gives one law, but there are {} actions: {}; write a model.json",
                actions.len(),
                actions.join(", ")
            );
        };
        let law = Expression::parse(text, &inputs).context("--policy")?;
        Ok(Model::new(
            inputs,
            vec![(action.clone(), law)],
            Dynamics::Regression,
        )?)
    }
}
