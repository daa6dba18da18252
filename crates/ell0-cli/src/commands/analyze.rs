//! `ell0 analyze`: what can be said of a policy or a law before it is put to work.

use std::{
    io::{Write, stdout},
    path::PathBuf,
};

use clap::Args;
use ell0::equation::{Dynamics, Model};
use ell0_control::analysis::{Ending, ProvedSet, Range, Reach, Stability};
use ell0_run::{
    AnalyzeSettings, FieldAnalysis, Findings, LawAnalysis, LoopAnalysis, Place, ProofSettings,
    RegionEnding, RegionReport, Subject, TermReport, at_most,
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

/// Equilibria that are listed.
const SHOWN: usize = 12;

/// Eigenvalues of many that are listed, and terms.
const LARGEST: usize = 4;
const TERMS: usize = 16;

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
        let mut out = stdout().lock();
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
        (Some(region), _) => print_region(out, region, found)?,
        (None, Some(reason)) if found.gain_margin.is_some() => {
            writeln!(out, "\nNo region could be proved: {reason}.")?;
        }
        _ => {}
    }
    print_basin(out, found)?;
    print_worth(out, found)?;
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}

/// A box by the ranges of some states.
fn region(sides: &[(String, Range)]) -> String {
    let sides = sides
        .iter()
        .map(|(name, r)| format!("{name} in [{}, {}]", r.low, r.high));
    sides.collect::<Vec<_>>().join(", ")
}

/// From where it is proved to arrive, what it keeps to, and for all of what.
fn print_basin(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    let limits = found.limits.as_ref();
    if let Some(basin) = &found.proved_basin {
        writeln!(
            out,
            "\nProved: every trajectory from {} % of {} reaches dᵀPd ≤ {} within {} steps",
            at_most(100.0 * basin.share, 1),
            match found.environment {
                Some(_) => "the state space",
                None => "the bounds",
            },
            basin.level,
            basin.steps
        )?;
        for limit in limits.iter().filter(|l| !l.stay.is_empty()) {
            writeln!(out, "  and never leaves {}", region(&limit.stay))?;
        }
        for avoided in limits.iter().flat_map(|l| &l.avoid) {
            writeln!(out, "  and never is in {}", region(avoided))?;
        }
        writeln!(
            out,
            "  {} cells{}, {:.1} s; checked anew in {:.1} s",
            basin.cells,
            if basin.symmetric {
                " of one half, for x and −x are alike"
            } else {
                ""
            },
            basin.seconds,
            basin.check_seconds
        )?;
    } else if let Some(reason) = &found.no_basin {
        writeln!(
            out,
            "\nNot proved to arrive there from elsewhere: {reason}."
        )?;
    }
    let all = found.uncertain.iter().map(|u| {
        let when = if u.varies { " at every step" } else { "" };
        format!("every {} in [{}, {}]{when}", u.name, u.low, u.high)
    });
    let rounding = "every rounding of observations to single precision".to_string();
    let all = all.chain(found.rounding.then_some(rounding));
    let all: Vec<String> = all.collect();
    if !all.is_empty() && found.proved_region.is_some() {
        writeln!(out, "  proofs hold for {}", all.join(", "))?;
    }
    for limit in limits.iter().filter(|l| !l.stay.is_empty()) {
        let text = region(&limit.stay);
        match (&limit.invariant, &limit.leaves_from) {
            (Some(true), _) => writeln!(
                out,
                "\nProved: no trajectory that begins with {text}, the other states within their bounds, ever leaves it"
            )?,
            (_, Some(state)) => writeln!(
                out,
                "\nNot every trajectory stays with {text}: from ({}) the next state is outside{}",
                list(state),
                match found.is_uncertain() {
                    true => ", for some of what is uncertain",
                    false => "",
                }
            )?,
            _ => writeln!(
                out,
                "\nWhether every trajectory stays with {text} could not be decided"
            )?,
        }
    }
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

fn print_region(
    out: &mut impl Write,
    r: &RegionReport,
    found: &LoopAnalysis,
) -> anyhow::Result<()> {
    let begins = format!("\nProved: every trajectory from within dᵀPd ≤ {}", r.level);
    match r.ending(found.is_uncertain()) {
        RegionEnding::Inner => writeln!(
            out,
            "{begins} stays there, and comes to dᵀPd ≤ {} to stay",
            r.inner_level
        )?,
        RegionEnding::Near => writeln!(
            out,
            "{begins} stays there, and comes to within {:.1e} of the equilibrium, which moves with what is uncertain",
            r.inner_radius
        )?,
        RegionEnding::There => writeln!(out, "{begins} goes to the equilibrium")?,
    }
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
    if found.environment.is_some() && !found.rounding {
        writeln!(
            out,
            "  of the exact map; the environment itself rounds observations to single precision (--rounding)"
        )?;
    }
    if r.inner_radius > 0.0 && !found.is_uncertain() {
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
    let terms: Vec<&TermReport> = found.terms.iter().flatten().collect();
    let starts = found.robustness_starts.unwrap_or(0);
    print_terms(out, &terms, starts)
}

fn print_terms(out: &mut impl Write, terms: &[&TermReport], starts: usize) -> anyhow::Result<()> {
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
        "\nTerms: return for 1 % more of it, and without it ({starts} initial states)"
    )?;
    // Small returns differ behind the comma.
    let small = terms.iter().all(|t| t.return_without.abs() < 10.0);
    let digits = if small { 3 } else { 1 };
    for (name, t) in names.iter().zip(terms) {
        writeln!(
            out,
            "  {name:<width$}  {:+8.3}  {:9.digits$}",
            t.return_per_percent, t.return_without
        )?;
    }
    Ok(())
}

/// An end of a range, and why it ends there; `beyond` says where the search did not go.
fn end(reach: &Reach, beyond: &str) -> String {
    match reach.ending {
        Ending::Searched => format!("{:.3} or {beyond}", reach.value),
        ending => format!("{:.3} ({ending})", reach.value),
    }
}

fn print_field(out: &mut impl Write, policy: &Model, found: &FieldAnalysis) -> anyhow::Result<()> {
    writeln!(out, "{}", policy.text(5))?;
    writeln!(out, "in {}\n", found.environment)?;
    writeln!(
        out,
        "A loop of {} states and {}. From a typical state it {}.",
        found.states.len(),
        match found.actions.len() {
            1 => "1 action".to_string(),
            actions => format!("{actions} actions"),
        },
        found.behaviour
    )?;
    print_rest(out, found)?;
    if let (Some(gain), Some(delay)) = (&found.gain_margin, &found.delay) {
        writeln!(out, "\nThe equilibrium stays stable for")?;
        let (low, high) = (end(&gain.low, "less"), end(&gain.high, "more"));
        writeln!(out, "  gain    factors from {low} to {high}")?;
        let more = if delay.ends { "" } else { " or more" };
        writeln!(
            out,
            "  delay   actions up to {}{more} late",
            match delay.tolerated {
                1 => "1 step".to_string(),
                steps => format!("{steps} steps"),
            }
        )?;
        for p in found.parameters.iter().flatten() {
            let (low, high) = (end(&p.low, "less"), end(&p.high, "more"));
            writeln!(out, "  {:<7} {} from {low} to {high}", p.name, p.value)?;
        }
    }
    match (&found.proved_set, &found.not_proved) {
        (Some(set), _) => print_set(out, set)?,
        (None, Some(reason)) => writeln!(out, "\nNot proved: {reason}.")?,
        (None, None) => {}
    }
    if let Some(reason) = &found.return_error {
        writeln!(out, "\nNo return: {reason}")?;
    }
    if let Some(worth) = &found.worth {
        writeln!(
            out,
            "\nReturn {:.3} ± {:.3} over {} initial states",
            worth.mean, worth.ci95, worth.episodes
        )?;
        // Those that matter most, in their order.
        let all: Vec<&TermReport> = found.terms.iter().flatten().collect();
        let loss = |t: &TermReport| worth.mean - t.return_without;
        let mut losses: Vec<f64> = all.iter().map(|t| loss(t)).collect();
        losses.sort_by(|a, b| b.total_cmp(a));
        let least = losses.get(TERMS - 1).copied();
        let shown = all
            .iter()
            .filter(|t| least.is_none_or(|least| loss(t) >= least));
        let shown: Vec<&TermReport> = shown.copied().take(TERMS).collect();
        print_terms(out, &shown, found.term_starts.unwrap_or(0))?;
        if all.len() > shown.len() {
            let more = all.len() - shown.len();
            writeln!(out, "  and {more} that matter less")?;
        }
    }
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}

fn print_rest(out: &mut impl Write, found: &FieldAnalysis) -> anyhow::Result<()> {
    let Some(e) = &found.equilibrium else {
        writeln!(out, "\nNewton's method finds no equilibrium near it.")?;
        return Ok(());
    };
    writeln!(
        out,
        "\nEquilibrium {} (residual {:.0e}): {}",
        match e.amplitude() {
            0.0 => "0".to_string(),
            size => format!("with components up to ±{size:.4}"),
        },
        e.residual,
        match e.stability {
            Stability::Stable => "stable",
            Stability::Unstable => "unstable",
            Stability::Undecided => "not decided by its linearisation",
        }
    )?;
    let count = e.eigenvalues.len();
    let largest: Vec<String> = e
        .eigenvalues
        .iter()
        .take(LARGEST)
        .map(|z| complex(*z))
        .collect();
    writeln!(
        out,
        "  {count} eigenvalues, the largest {}",
        largest.join(", ")
    )?;
    if e.conserved > 0 {
        writeln!(
            out,
            "  {} more are 1 whatever is done: the world conserves something, and states are compared with those that have as much of it",
            e.conserved
        )?;
    }
    if let Some(s) = &found.starts {
        let time = s.mean_actions.map_or(String::new(), |mean| {
            format!(", after {mean:.0} on average")
        });
        writeln!(
            out,
            "  {} of {} random starts come to it within {} actions{time}",
            s.reached, s.starts, s.actions
        )?;
    } else {
        writeln!(out, "  there are no margins of what is not stable")?;
    }
    Ok(())
}

fn print_set(out: &mut impl Write, set: &ProvedSet) -> anyhow::Result<()> {
    match set.level {
        None => writeln!(
            out,
            "\nProved: every trajectory, from every state, goes to 0"
        )?,
        Some(level) => {
            writeln!(
                out,
                "\nProved: every trajectory from within yᵀPy ≤ {level:.4} goes to 0"
            )?;
            writeln!(
                out,
                "  it holds uniform fields up to ±{:.4}, every state of length {:.4}, and {} of {} typical states (which could be {:.2} times as large, in the median)",
                set.uniform.unwrap_or(0.0),
                set.radius.unwrap_or(0.0),
                set.typical_inside,
                set.typical_states,
                set.typical_factor.unwrap_or(0.0)
            )?;
            let least = set.shares.iter().fold(1.0, |m: f64, s| m.min(*s));
            writeln!(
                out,
                "  in it actions are at least {least:.3} of what they would be without bounds"
            )?;
        }
    }
    writeln!(
        out,
        "  {} corners verified by Cholesky factorisations, {:.0e} subtracted for rounding; P is in analysis.json",
        set.corners, set.rounding
    )?;
    writeln!(
        out,
        "  of the exact loop; the environment itself rounds observations to single precision"
    )?;
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

#[cfg(test)]
mod tests {
    use ell0_control::{
        analysis::{
            Behaviour, Complex, Crossing, FieldDelay, GainReach, Matrix, ParameterReach, Reaching,
        },
        policy::policy_from_text,
    };
    use ell0_run::{FieldEquilibriumReport, ReturnReport};

    use super::*;

    /// A loop of 200 states whose numbers are made up.
    fn found() -> FieldAnalysis {
        let reach = |value: f64, ending: Ending| Reach { value, ending };
        let hopf = Ending::Unstable {
            crossing: Crossing::Pair,
            eigenvalue: Complex { re: 0.0, im: 1.0 },
        };
        let term = |k: usize| TermReport {
            action: format!("a{k}"),
            term: "-2*m".into(),
            return_per_percent: 0.001,
            return_without: -(k as f64),
        };
        FieldAnalysis {
            policy: "a0 = -2*m".into(),
            environment: "field".into(),
            states: (0..200).map(|k| format!("y{k}")).collect(),
            actions: vec!["a0".into()],
            behaviour: Behaviour::Settles,
            equilibrium: Some(FieldEquilibriumReport {
                state: vec![0.25; 200],
                residual: 3e-15,
                eigenvalues: vec![[0.9, 0.1], [0.9, -0.1], [0.5, 0.0], [0.4, 0.0], [0.3, 0.0]],
                stability: Stability::Stable,
                conserved: 1,
            }),
            gain_margin: Some(GainReach {
                low: reach(0.001, Ending::Searched),
                high: reach(2.5, hopf),
            }),
            delay: Some(FieldDelay {
                tolerated: 20,
                ends: false,
            }),
            parameters: Some(vec![ParameterReach {
                name: "mu".into(),
                value: 0.1,
                low: reach(-0.2, Ending::Lost),
                high: reach(1.1, Ending::Searched),
            }]),
            starts: Some(Reaching {
                starts: 100,
                reached: 98,
                actions: 1000,
                mean_actions: Some(41.5),
            }),
            proved_set: Some(ProvedSet {
                p: Matrix::from_rows(vec![vec![1.0]]),
                level: Some(2.0),
                shares: vec![0.3],
                corners: 2,
                rounding: 1e-12,
                reach: Some(vec![1.4]),
                uniform: Some(0.1),
                radius: Some(1.4),
                typical_states: 200,
                typical_inside: 150,
                typical_factor: Some(1.5),
            }),
            not_proved: None,
            worth: Some(ReturnReport {
                mean: -0.5,
                ci95: 0.1,
                episodes: 50,
            }),
            return_error: None,
            terms: Some((1..=20).map(term).collect()),
            term_starts: Some(20),
            seconds: 1.0,
        }
    }

    fn shown(found: &FieldAnalysis) -> String {
        let law = policy_from_text("-2*m", &["m".into()], &["a0".into()]).expect("a law");
        let mut out = Vec::new();
        print_field(&mut out, &law, found).expect("printed");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn many_states_are_printed_in_few_lines() {
        let text = shown(&found());
        for words in [
            "A loop of 200 states and 1 action. From a typical state it comes to rest.",
            "components up to ±0.2500 (residual 3e-15): stable",
            "5 eigenvalues, the largest 0.9000 + 0.1000i, 0.9000 − 0.1000i, 0.5000, 0.4000\n",
            "the world conserves something",
            "98 of 100 random starts",
            "from 0.001 or less to 2.500 (a pair of eigenvalues leaves the circle at ±90.0°)",
            "up to 20 steps or more late",
            "mu      0.1 from -0.200 (the equilibrium is lost) to 1.100 or more",
            "Proved: every trajectory from within yᵀPy ≤ 2.0000 goes to 0",
            "150 of 200 typical states",
            "and 4 that matter less",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(text.lines().count() < 50, "{text}");
        let refused = FieldAnalysis {
            behaviour: Behaviour::Cycles { period: 7 },
            equilibrium: None,
            gain_margin: None,
            delay: None,
            proved_set: None,
            not_proved: Some("the world is not linear".into()),
            worth: None,
            return_error: Some("it failed".into()),
            ..found()
        };
        let text = shown(&refused);
        for words in [
            "after 7 actions, again and again (a limit cycle)",
            "finds no equilibrium",
            "Not proved: the world is not linear.",
            "No return: it failed",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
