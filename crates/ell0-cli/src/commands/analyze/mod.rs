//! `ell0 analyze`: what can be said of a policy or a law before it is put to work.

mod closed_loop;
mod field;
mod law;
mod words;

pub use closed_loop::print_loop;

use crate::screen;
use ell0::wording::shown_path;
use std::{io::Write, path::PathBuf};

use clap::Args;
use ell0_control::analysis::Range;
use ell0_run::{AnalyzeSettings, Findings, Place, ProofSettings, Subject};

use crate::{
    hint::usage,
    options::command_line,
    progress::Bars,
    table,
    values::{Named, bounds},
};
use field::print_field;
use law::print_law;

/// Equilibria, stability that is proved, margins and robustness of a policy; fixed points and predictability of a law
///
/// A policy is analysed in the loop it really runs in: with an environment, or with a learned transition model. A law of states is analysed on its own.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    group(clap::ArgGroup::new("what").args(["subject", "policy"]).required(true)),
    after_help = "Examples:\n  ell0 analyze runs/…/policies/seed0.json --env \"pendulum(g=9.81)\" --out analysis\n  ell0 analyze --policy \"2*tanh(-8*sin_theta - 2*theta_dot)\" --env \"pendulum(g=9.81)\"\n  ell0 analyze --policy \"2*tanh(-8*sin_theta - 2*theta_dot)\" --env \"pendulum(g=9.81)\" --uncertain g=9.7:9.9 --rounding --stay theta_dot=-6:6\n  ell0 analyze runs/lorenz-…/model.json --data held-out.csv"
)]
pub struct Analyze {
    /// Policy or law: a model.json, or the folder of a fit
    subject: Option<PathBuf>,
    /// Policy as text, in the observations of the environment; several actions as "a = …; b = …"
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    policy: Option<String>,
    /// Environment that the policy acts in, for example "pendulum(g=9.81)"
    #[arg(long = "env", value_name = "ENV", conflicts_with = "model")]
    environment: Option<String>,
    /// Learned transition model that the policy acts in: a discrete law, or targets next_x for inputs x
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Where states are looked for with --model, for example x=-1:1,v=-2:2 [default: -10:10 each]
    #[arg(long, value_parser = bounds)]
    bounds: Vec<Named<(f64, f64)>>,
    /// Held-out trajectories of a law, one a file: how long its predictions are valid
    #[arg(long, value_name = "FILE", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Seconds for the proof of the states from which the loop arrives; 0 leaves it out
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20.0,
        help_heading = "Proof"
    )]
    prove_seconds: f64,
    /// Parameters of the environment that may be anywhere in a range, for example g=9.7:9.9
    #[arg(long, value_parser = bounds, value_name = "RANGES", help_heading = "Proof")]
    uncertain: Vec<Named<(f64, f64)>>,
    /// Disturbances of observations or actions, another at every step, for example torque=-0.1:0.1
    #[arg(long, value_parser = bounds, value_name = "RANGES", help_heading = "Proof")]
    disturb: Vec<Named<(f64, f64)>>,
    /// Observations are rounded to single precision, as environments do
    #[arg(long, help_heading = "Proof")]
    rounding: bool,
    /// A box that trajectories must never leave, for example theta_dot=-6:6
    #[arg(long, value_parser = bounds, value_name = "RANGES", help_heading = "Proof")]
    stay: Vec<Named<(f64, f64)>>,
    /// A box that they must never enter, for example theta=1:1.2,theta_dot=0:1; may be given several times
    #[arg(long, value_parser = bounds, value_name = "RANGES", help_heading = "Proof")]
    avoid: Vec<Named<(f64, f64)>>,
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

impl Analyze {
    fn settings(&self) -> anyhow::Result<AnalyzeSettings> {
        let subject = match (&self.subject, &self.policy) {
            (Some(path), _) => Subject::File(path.clone()),
            (None, Some(text)) => Subject::Policy(text.clone()),
            (None, None) => return Err(usage("there is nothing to analyse")),
        };
        let bounds = Named::all(&self.bounds).into_iter();
        if bounds.len() > 0 && self.model.is_none() {
            return Err(usage(match &self.environment {
                Some(_) => {
                    "--bounds is for --model; an environment has bounds of its own: leave --bounds or --env out"
                }
                None => {
                    "--bounds is for --model: name a learned transition model with it, or leave --bounds out"
                }
            }));
        }
        let ranges = |given: &[Named<(f64, f64)>]| -> Vec<(String, Range)> {
            let all = Named::all(given).into_iter();
            all.map(|(name, (low, high))| (name, Range::new(low, high)))
                .collect()
        };
        let avoid = self.avoid.iter();
        let proof = ProofSettings {
            seconds: self.prove_seconds,
            uncertain: ranges(&self.uncertain),
            disturbances: ranges(&self.disturb),
            rounding: self.rounding,
            stay: ranges(&self.stay),
            avoid: avoid.map(|b| ranges(std::slice::from_ref(b))).collect(),
        };
        proof.check().map_err(|e| usage(e.to_string()))?;
        Ok(AnalyzeSettings {
            proof,
            environment: self.environment.clone(),
            model: self.model.clone(),
            bounds: bounds
                .map(|(name, (low, high))| (name, Range::new(low, high)))
                .collect(),
            data: self.data.clone(),
            ..AnalyzeSettings::new(subject)
        })
    }

    pub fn run(&self) -> anyhow::Result<()> {
        let settings = self.settings()?;
        let place = self.out.as_ref().map(|out| Place::Named {
            folder: out.clone(),
            replace: self.force,
        });
        if let Some(place) = &place {
            settings.check_place(place)?;
        }
        let bars = Bars::new();
        let analyzed = settings.run(&bars)?;
        drop(bars);
        let command = command_line();
        let folder = place.map(|place| analyzed.write(&place, Some(&command)));
        let folder = folder.transpose()?;
        let mut out = screen::out();
        let analysis = &analyzed.analysis;
        if self.json {
            return table::json(&mut out, &analysis.findings);
        }
        let files = match &analysis.findings {
            Findings::Loop(found) => {
                print_loop(&mut out, &analysis.model, found)?;
                match &found.proved_basin {
                    Some(_) => {
                        "analysis.json, report.html, the phase portrait and the proof (certificate.txt)"
                    }
                    None => "analysis.json, report.html and the phase portrait",
                }
            }
            Findings::Field(found) => {
                print_field(&mut out, &analysis.model, found)?;
                "analysis.json, report.html and the eigenvalues"
            }
            Findings::Law(found) => {
                print_law(&mut out, &analysis.model, found)?;
                "analysis.json and report.html"
            }
        };
        if let Some(folder) = folder {
            writeln!(out, "{files} are in {}", shown_path(&folder))?;
        }
        Ok(())
    }
}
