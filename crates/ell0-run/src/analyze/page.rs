//! The page of an analysis.

use std::path::Path;

use ell0_control::analysis::{Ending, Matrix, ProvedSet, Range, Reach, Stability};
use ell0_plot::{Axis, Chart, Figure, Series};

use super::{
    Analysis, FieldAnalysis, Findings, LawAnalysis, LoopAnalysis, RegionEnding, RegionReport,
    TermReport,
};
use crate::{
    error::Result,
    files,
    report::{Page, Section, at_most, number, plain},
};

fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|v| number(Some(*v), 4)).collect();
    texts.join(", ")
}

fn complex([re, im]: [f64; 2]) -> String {
    if im == 0.0 {
        return number(Some(re), 4);
    }
    let sign = if im < 0.0 { "−" } else { "+" };
    format!(
        "{} {sign} {}i",
        number(Some(re), 4),
        number(Some(im.abs()), 4)
    )
}

fn eigenvalues(values: &[[f64; 2]]) -> String {
    let texts: Vec<String> = values.iter().map(|z| complex(*z)).collect();
    texts.join(", ")
}

/// A fact and its value.
fn fact(name: impl Into<String>, value: impl Into<String>) -> Vec<String> {
    vec![name.into(), value.into()]
}

impl Analysis {
    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let name = match &self.findings {
            Findings::Loop(_) | Findings::Field(_) => "The policy",
            Findings::Law(_) => "The law",
        };
        let mut sections = vec![Section::new(name).equations("", &self.model)];
        let title = match &self.findings {
            Findings::Loop(found) => {
                sections.extend(found.sections(folder)?);
                match &found.environment {
                    Some(environment) => format!("A policy in {environment}"),
                    None => "A policy in a learned model".into(),
                }
            }
            Findings::Field(found) => {
                sections.extend(found.sections());
                format!("A policy in {}", found.environment)
            }
            Findings::Law(found) => {
                sections.extend(found.sections());
                format!("A law of {}", found.states.join(", "))
            }
        };
        Ok(Page::new(title, sections))
    }
}

impl LoopAnalysis {
    fn sections(&self, folder: &Path) -> Result<Vec<Section>> {
        let rows: Vec<Vec<String>> = self
            .equilibria
            .iter()
            .map(|e| {
                vec![
                    format!("({})", list(&e.state)),
                    match e.stability() {
                        Stability::Stable => "stable",
                        Stability::Unstable => "unstable",
                        Stability::Undecided => "not decided by its linearisation",
                    }
                    .into(),
                    eigenvalues(&e.eigenvalues),
                    e.basin_share
                        .map_or("–".into(), |s| format!("{:.1} %", 100.0 * s)),
                ]
            })
            .collect();
        let state = format!("state ({})", self.states.join(", "));
        let header = [state.as_str(), "", "eigenvalues", "of the grid ends there"];
        let mut equilibria = Section::new("Equilibria").table(&header, &rows);
        if self.more_equilibria {
            equilibria = equilibria.note("There are more: they are not isolated.");
        }
        let mut sections = vec![equilibria];
        let portrait = folder.join("portrait.svg");
        if portrait.exists() {
            sections.push(Section::new("Phase portrait").svg(&files::read(&portrait)?));
        }
        let mut facts = Vec::new();
        if let Some([low, high]) = self.gain_margin {
            let range = format!("{} to {}", number(Some(low), 3), number(Some(high), 3));
            facts.push(fact("gain margin", range));
            let delay = plain(self.tolerated_delay);
            facts.push(fact("tolerated delay, steps", delay));
        }
        if let Some(r) = &self.worth {
            let text = format!("{} ± {}", number(Some(r.mean), 2), number(Some(r.ci95), 2));
            facts.push(fact("return", text));
        }
        if let Some(reason) = &self.return_error {
            facts.push(fact("no return", reason.as_str()));
        }
        for p in self.parameters.iter().flatten() {
            facts.push(fact(
                format!("{} = {} may go", p.name, p.value),
                format!(
                    "from {} to {}",
                    number(Some(p.low), 3),
                    number(Some(p.high), 3)
                ),
            ));
        }
        if !facts.is_empty() {
            sections.push(Section::new("Margins").table(&["", ""], &facts));
        }
        if let Some(region) = &self.proved_region {
            sections.push(region.section(
                self.environment.is_some() && !self.rounding,
                self.is_uncertain(),
            ));
        } else if let Some(reason) = &self.not_proved {
            let text = format!("No region could be proved: {reason}.");
            sections.push(Section::new("Proved region of attraction").text(&text));
        }
        sections.extend(self.basin_section());
        if let Some(terms) = self.terms.as_ref().filter(|t| !t.is_empty()) {
            sections.push(term_section(terms));
        }
        Ok(sections)
    }
}

impl LoopAnalysis {
    /// From where it is proved to arrive, and for all of what.
    fn basin_section(&self) -> Option<Section> {
        let title = "Proved to arrive";
        let Some(basin) = &self.proved_basin else {
            let reason = self.no_basin.as_ref()?;
            let text = format!("From nowhere else: {reason}.");
            return Some(Section::new(title).text(&text));
        };
        let text = format!(
            "Every trajectory from {} % of the state space reaches the ellipse dᵀPd ≤ {} within {} steps, and stays in it.",
            at_most(100.0 * basin.share, 2),
            basin.level,
            basin.steps
        );
        let mut facts = Vec::new();
        for u in &self.uncertain {
            let kind = if u.varies {
                "at every step"
            } else {
                "the same at all times"
            };
            let range = format!("from {} to {}, {kind}", u.low, u.high);
            facts.push(fact(format!("for every {}", u.name), range));
        }
        if self.rounding {
            facts.push(fact(
                "for every rounding",
                "of observations to single precision",
            ));
        }
        if let Some(limits) = &self.limits {
            let text = |region: &[(String, Range)]| {
                let sides = region
                    .iter()
                    .map(|(name, r)| format!("{name} in [{}, {}]", r.low, r.high));
                sides.collect::<Vec<_>>().join(", ")
            };
            if !limits.stay.is_empty() {
                facts.push(fact("never leaving", text(&limits.stay)));
                let all = match (limits.invariant, &limits.leaves_from) {
                    (Some(true), _) => "stays in it, proved".into(),
                    (_, Some(state)) => {
                        format!("does not: the next state of ({}) is outside", list(state))
                    }
                    _ => "not decided".into(),
                };
                facts.push(fact("whatever begins in it", all));
            }
            for region in &limits.avoid {
                facts.push(fact("never in", text(region)));
            }
        }
        facts.push(fact("cells", basin.cells.to_string()));
        facts.push(fact(
            "time",
            format!(
                "{:.1} s, and {:.1} s to check it",
                basin.seconds, basin.check_seconds
            ),
        ));
        let curve = basin.curve.iter().map(|[t, share]| (*t, 100.0 * share));
        let chart = Chart::new(
            "What is proved against time",
            Axis::linear("seconds"),
            Axis::linear("% of the state space").within(0.0, 100.0),
        );
        let chart = chart.with(Series::line("proved", curve));
        Some(
            Section::new(title)
                .text(&text)
                .table(&["", ""], &facts)
                .figure(&Figure::new(vec![chart]))
                .note("certificate.txt has all cells; `ell0-check certificate.txt` verifies them with a program of its own."),
        )
    }
}

/// What each term does.
fn term_section(terms: &[TermReport]) -> Section {
    let several = terms.iter().any(|t| t.action != terms[0].action);
    let rows: Vec<Vec<String>> = terms
        .iter()
        .map(|t| {
            let action = several.then(|| t.action.clone());
            let rest = [
                t.term.clone(),
                number(Some(t.return_per_percent), 3),
                number(Some(t.return_without), 1),
            ];
            action.into_iter().chain(rest).collect()
        })
        .collect();
    let header = ["term", "return for 1 % more of it", "return without it"];
    let first = several.then_some("action");
    let header: Vec<&str> = first.into_iter().chain(header).collect();
    Section::new("Terms").table(&header, &rows)
}

/// An end of a range, and why it ends there; `beyond` says where the search did not go.
fn end(reach: &Reach, beyond: &str) -> String {
    let value = number(Some(reach.value), 4);
    match reach.ending {
        Ending::Searched => format!("{value} or {beyond}"),
        ending => format!("{value} ({ending})"),
    }
}

impl FieldAnalysis {
    fn sections(&self) -> Vec<Section> {
        let mut facts = vec![
            fact("states", self.states.len().to_string()),
            fact("actions", self.actions.len().to_string()),
            fact("from a typical state the loop", self.behaviour.to_string()),
        ];
        let mut sections = Vec::new();
        let mut rest = Section::new("Equilibrium");
        if let Some(e) = &self.equilibrium {
            let verdict = match e.stability {
                Stability::Stable => "stable",
                Stability::Unstable => "unstable",
                Stability::Undecided => "not decided by its linearisation",
            };
            facts.push(fact("its equilibrium", verdict));
            let amplitude = number(Some(e.amplitude()), 4);
            facts.push(fact("largest component", amplitude));
            facts.push(fact("residual", format!("{:.1e}", e.residual)));
            let largest = &e.eigenvalues[..e.eigenvalues.len().min(6)];
            facts.push(fact("largest eigenvalues", eigenvalues(largest)));
            if e.conserved > 0 {
                let text = "quantities that the world keeps whatever is done";
                facts.push(fact(text, e.conserved.to_string()));
            }
        } else {
            facts.push(fact("its equilibrium", "none was found"));
        }
        if let Some(s) = &self.starts {
            let text = format!("{} of {}", s.reached, s.starts);
            let name = format!("random starts that come to it within {} actions", s.actions);
            facts.push(fact(name, text));
        }
        rest = rest.table(&["", ""], &facts);
        if let Some(e) = &self.equilibrium {
            rest = rest.figure(&e.figure());
            if let Some(profile) = e.profile() {
                rest = rest.figure(&profile);
            }
        }
        sections.push(rest);
        let mut margins = Vec::new();
        let row = |name: String, low: &Reach, high: &Reach| {
            vec![name, end(low, "less"), end(high, "more")]
        };
        if let Some(gain) = &self.gain_margin {
            margins.push(row("gain".into(), &gain.low, &gain.high));
        }
        if let Some(delay) = &self.delay {
            let more = if delay.ends { "" } else { " or more" };
            margins.push(vec![
                "delay, actions".into(),
                "0".into(),
                format!("{}{more}", delay.tolerated),
            ]);
        }
        for p in self.parameters.iter().flatten() {
            margins.push(row(format!("{} = {}", p.name, p.value), &p.low, &p.high));
        }
        if !margins.is_empty() {
            let header = ["the equilibrium stays stable for", "from", "to"];
            sections.push(Section::new("Margins").table(&header, &margins));
        }
        if let Some(set) = &self.proved_set {
            sections.push(proved_section(set));
        } else if let Some(reason) = &self.not_proved {
            let text = format!("Not proved: {reason}.");
            sections.push(Section::new("Proof").text(&text));
        }
        let mut worth = Vec::new();
        if let Some(r) = &self.worth {
            let text = format!("{} ± {}", number(Some(r.mean), 3), number(Some(r.ci95), 3));
            worth.push(fact("return", text));
            worth.push(fact("initial states", r.episodes.to_string()));
        }
        if let Some(reason) = &self.return_error {
            worth.push(fact("no return", reason.as_str()));
        }
        if !worth.is_empty() {
            sections.push(Section::new("Return").table(&["", ""], &worth));
        }
        if let Some(terms) = self.terms.as_ref().filter(|t| !t.is_empty()) {
            sections.push(term_section(terms));
        }
        sections
    }
}

/// A set of a linear plant with bounded laws.
fn proved_section(set: &ProvedSet) -> Section {
    let text = match set.level {
        Some(_) => {
            "Every trajectory that begins where yᵀPy is at most the level stays there and goes to 0."
        }
        None => "Every trajectory, from every state, goes to 0.",
    };
    let mut rows = Vec::new();
    if let Some(level) = set.level {
        rows.push(fact("level", number(Some(level), 5)));
        let least = set.shares.iter().fold(1.0, |m: f64, s| m.min(*s));
        rows.push(fact(
            "actions are at least this share of their linear part",
            number(Some(least), 3),
        ));
        rows.push(fact(
            "amplitude of a uniform field in it",
            number(set.uniform, 4),
        ));
        rows.push(fact(
            "every state of at most this length is in it",
            number(set.radius, 4),
        ));
        rows.push(fact(
            "typical states in it",
            format!("{} of {}", set.typical_inside, set.typical_states),
        ));
        rows.push(fact(
            "a typical state could be so many times as large (median)",
            number(set.typical_factor, 3),
        ));
    }
    rows.push(fact("corners verified", set.corners.to_string()));
    rows.push(fact(
        "subtracted for rounding",
        format!("{:.1e}", set.rounding),
    ));
    Section::new("Proof")
        .text(text)
        .table(&["", ""], &rows)
        .note("Each action lies between a share of its linear part and all of it. At every corner of these shares the quadratic function yᵀPy falls: verified by Cholesky factorisations of matrices from which more than all rounding was subtracted. P is in analysis.json.")
        .note("The proof is of the exact loop with the numbers that the world gives; the environment itself rounds observations to single precision.")
}

impl RegionReport {
    fn section(&self, exact: bool, uncertain: bool) -> Section {
        let mut rows = vec![
            fact("level", self.level.to_string()),
            fact("reaches ±", list(&self.reach)),
            fact("volume", number(Some(self.volume), 4)),
            fact("boxes", self.boxes.to_string()),
            fact(
                "level that samples would allow",
                number(Some(self.sampled_level), 5),
            ),
        ];
        if self.inner_radius > 0.0 {
            rows.push(fact(
                "open within this distance of the equilibrium",
                format!("{:.1e}", self.inner_radius),
            ));
        }
        let matrix = |p: &Matrix| {
            let rows: Vec<String> = p.rows().iter().map(|row| list(row)).collect();
            rows.join("; ")
        };
        let text = match self.ending(uncertain) {
            RegionEnding::Inner => {
                "Every trajectory that begins where dᵀPd is at most the level stays there, comes to where it is at most the inner level, and stays there: proved by interval branch and bound over the exact closed form. Disturbances may keep it from the equilibrium itself."
            }
            RegionEnding::Near => {
                "Every trajectory that begins where dᵀPd is at most the level stays there and comes to within the distance below of the equilibrium, which moves with what is uncertain: proved by interval branch and bound over the exact closed form."
            }
            RegionEnding::There => {
                "Every trajectory that begins where dᵀPd is at most the level stays there and goes to the equilibrium: proved by interval branch and bound over the exact closed form."
            }
        };
        if self.inner_level > 0.0 {
            rows.push(fact("inner level", self.inner_level.to_string()));
        }
        let mut section = Section::new("Proved region of attraction")
            .text(text)
            .code(&format!("P = [{}]", matrix(&self.p)))
            .table(&["", ""], &rows)
            .note("Boxes: into so many the set was cut until interval arithmetic could say of each that trajectories in it move inward. The level that samples would allow is what a search for counter-examples at many points would have left.");
        if exact {
            section = section.note("The proof is of the exact map; the environment itself rounds observations to single precision.");
        }
        if self.inner_radius > 0.0 && !uncertain {
            section = section.note("Close to the equilibrium the rounding of its own coordinates leaves the question open.");
        }
        section
    }
}

impl LawAnalysis {
    fn sections(&self) -> Vec<Section> {
        let rows: Vec<Vec<String>> = self
            .equilibria
            .iter()
            .map(|p| {
                vec![
                    format!("({})", list(&p.state)),
                    if p.stable { "stable" } else { "unstable" }.into(),
                    eigenvalues(&p.eigenvalues),
                ]
            })
            .collect();
        let state = format!("state ({})", self.states.join(", "));
        let header = [state.as_str(), "", "eigenvalues"];
        let mut sections = vec![Section::new("Fixed points").table(&header, &rows)];
        let mut facts = Vec::new();
        if let Some(exponent) = self.largest_lyapunov_exponent {
            let text = format!("{exponent:.4}");
            facts.push(fact("largest Lyapunov exponent", text));
        }
        if let Some(v) = &self.valid_prediction_time {
            facts.push(fact("valid prediction time", number(Some(v.mean), 3)));
            facts.push(fact("in Lyapunov times", number(v.lyapunov_times, 2)));
            facts.push(fact(
                "starts, valid to the end",
                format!("{}, {}", v.starts, v.valid_to_the_end),
            ));
        }
        if !facts.is_empty() {
            sections.push(Section::new("Predictability").table(&["", ""], &facts));
        }
        sections
    }
}
