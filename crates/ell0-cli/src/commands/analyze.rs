//! `ell0 analyze`: what can be said of a policy or a law before it is put to work.

use std::{
    io::{Write, stdout},
    path::PathBuf,
};

use clap::Args;
use ell0::equation::{Dynamics, Model};
use ell0_control::analysis::{Range, Stability};
use ell0_run::{
    AnalyzeSettings, Findings, LawAnalysis, LoopAnalysis, Place, RegionReport, Subject,
};

use crate::{
    hint::usage,
    options::command_line,
    progress::Bars,
    table,
    values::{Named, bounds},
};

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

/// Equilibria that are listed.
const SHOWN: usize = 12;

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
        Ok(AnalyzeSettings {
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
        let mut out = stdout().lock();
        let analysis = &analyzed.analysis;
        if self.json {
            return table::json(&mut out, &analysis.findings);
        }
        let files = match &analysis.findings {
            Findings::Loop(found) => {
                print_loop(&mut out, &analysis.model, found)?;
                "analysis.json, report.html and the phase portrait"
            }
            Findings::Law(found) => {
                print_law(&mut out, &analysis.model, found)?;
                "analysis.json and report.html"
            }
        };
        if let Some(folder) = folder {
            writeln!(out, "{files} are in {}", folder.display())?;
        }
        Ok(())
    }
}

/// Numbers between commas.
fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|v| format!("{v:.4}")).collect();
    texts.join(", ")
}

/// A complex number.
fn complex([re, im]: [f64; 2]) -> String {
    if im == 0.0 {
        format!("{re:.4}")
    } else {
        format!(
            "{re:.4} {} {:.4}i",
            if im < 0.0 { '−' } else { '+' },
            im.abs()
        )
    }
}

pub fn print_loop(
    out: &mut impl Write,
    policy: &Model,
    found: &LoopAnalysis,
) -> anyhow::Result<()> {
    writeln!(out, "{}", policy.text(5))?;
    match &found.environment {
        Some(world) => writeln!(out, "in {world}\n")?,
        None => writeln!(out, "in a learned transition model\n")?,
    }
    print_equilibria(out, found)?;
    if let (Some([low, high]), Some(delay)) = (found.gain_margin, found.tolerated_delay) {
        writeln!(out, "\nMargins of the first")?;
        writeln!(
            out,
            "  gain    stable for factors from {low:.3} to {high:.3}"
        )?;
        writeln!(
            out,
            "  delay   stable for actions up to {delay} {} late",
            if delay == 1 { "step" } else { "steps" }
        )?;
    } else {
        writeln!(
            out,
            "\nThere is no stable equilibrium: nothing is proved, and there are no margins."
        )?;
    }
    match (&found.proved_region, &found.not_proved) {
        (Some(region), _) => print_region(out, region, found.environment.is_some())?,
        (None, Some(reason)) if found.gain_margin.is_some() => {
            writeln!(out, "\nNo region could be proved: {reason}.")?;
        }
        _ => {}
    }
    print_worth(out, found)?;
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}

fn print_equilibria(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    writeln!(out, "Equilibria ({})", found.states.join(", "))?;
    if found.equilibria.is_empty() {
        writeln!(out, "  none within the bounds")?;
    }
    for e in found.equilibria.iter().take(SHOWN) {
        let values: Vec<String> = e.eigenvalues.iter().map(|z| complex(*z)).collect();
        let share = e.basin_share.map_or(String::new(), |share| {
            format!(", {:.1} % of the grid ends here", 100.0 * share)
        });
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}{share}",
            list(&e.state),
            match e.stability() {
                Stability::Undecided => "not decided by its linearisation",
                Stability::Stable => "stable",
                Stability::Unstable => "unstable",
            },
            values.join(" and ")
        )?;
    }
    if found.more_equilibria {
        writeln!(out, "  and more: they are not isolated")?;
    } else if found.equilibria.len() > SHOWN {
        writeln!(out, "  and {} more", found.equilibria.len() - SHOWN)?;
    }
    Ok(())
}

fn print_region(out: &mut impl Write, r: &RegionReport, in_a_world: bool) -> anyhow::Result<()> {
    writeln!(
        out,
        "\nProved: every trajectory from within dᵀPd ≤ {:.4} goes to the equilibrium",
        r.level
    )?;
    let rows: Vec<String> = r.p.rows().iter().map(|row| list(row)).collect();
    writeln!(out, "  P = [{}]", rows.join("; "))?;
    writeln!(
        out,
        "  it reaches ±({}), volume {:.4}",
        list(&r.reach),
        r.volume
    )?;
    writeln!(
        out,
        "  {} boxes, the smallest {:.1e} of the set; samples would have allowed {:.4}",
        r.boxes, r.smallest_box, r.sampled_level
    )?;
    if in_a_world {
        writeln!(
            out,
            "  of the exact map; the environment itself rounds observations to single precision"
        )?;
    }
    if r.inner_radius > 0.0 {
        writeln!(
            out,
            "  up to a distance of {:.1e}, where the rounding of the equilibrium leaves it open",
            r.inner_radius
        )?;
    }
    Ok(())
}

fn print_worth(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    if let Some(reason) = &found.return_error {
        writeln!(out, "\nNo return: {reason}")?;
    }
    let Some(worth) = &found.worth else {
        return Ok(());
    };
    writeln!(
        out,
        "\nReturn {:.2} ± {:.2} over {} initial states",
        worth.mean, worth.ci95, worth.episodes
    )?;
    for p in found.parameters.iter().flatten() {
        writeln!(
            out,
            "  {:<7} {} may go from {:.3} to {:.3} (return at most 10 % worse, equilibrium stable)",
            p.name, p.value, p.low, p.high
        )?;
    }
    let terms = found.terms.as_deref().unwrap_or_default();
    let several = terms.iter().any(|t| t.action != terms[0].action);
    let names: Vec<String> = terms
        .iter()
        .map(|t| match several {
            true => format!("{}: {}", t.action, t.term),
            false => t.term.clone(),
        })
        .collect();
    let width = names.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    writeln!(
        out,
        "\nTerms: return for 1 % more of it, and without it ({} initial states)",
        found.robustness_starts.unwrap_or(0)
    )?;
    for (name, t) in names.iter().zip(terms) {
        writeln!(
            out,
            "  {name:<width$}  {:+8.3}  {:9.1}",
            t.return_per_percent, t.return_without
        )?;
    }
    Ok(())
}

fn print_law(out: &mut impl Write, model: &Model, found: &LawAnalysis) -> anyhow::Result<()> {
    let unit = if model.dynamics() == Dynamics::Discrete {
        "step"
    } else {
        "unit of time"
    };
    writeln!(out, "{}\n", model.text(6))?;
    writeln!(out, "Fixed points ({})", found.states.join(", "))?;
    if found.equilibria.is_empty() {
        writeln!(out, "  none were found")?;
    }
    for p in &found.equilibria {
        let state: Vec<String> = p.state.iter().map(|v| format!("{v:.5}")).collect();
        let values: Vec<String> = p.eigenvalues.iter().map(|z| complex(*z)).collect();
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}",
            state.join(", "),
            if p.stable { "stable" } else { "unstable" },
            values.join(", ")
        )?;
    }
    match found.largest_lyapunov_exponent {
        Some(e) => writeln!(
            out,
            "\nLargest Lyapunov exponent {e:.4} per {unit}: neighbours {}",
            if e > 0.0 { "part" } else { "come together" }
        )?,
        None => writeln!(
            out,
            "\nNo Lyapunov exponent: the trajectory does not stay bounded"
        )?,
    }
    if let Some(v) = &found.valid_prediction_time {
        let times = v.lyapunov_times;
        let lyapunov = times.map_or(String::new(), |t| format!(" = {t:.1} Lyapunov times"));
        writeln!(
            out,
            "Predictions are valid for {:.3}{lyapunov} on average ({} starts, {} of them to the end of the data; error below {:.0} % of the spread)",
            v.mean,
            v.starts,
            v.valid_to_the_end,
            100.0 * v.threshold
        )?;
    }
    Ok(())
}
