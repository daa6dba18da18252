//! The page of a training, finished or under way.

use std::{collections::BTreeMap, path::Path};

use ell0_control::agent::TermName;
use ell0_plot::{Axis, Chart, Figure, Series};

use super::{AgentResult, MetricLine, TrainingRun};
use crate::{
    error::Result,
    files,
    report::{Page, Section, number, plain, unfinished},
};

/// Episodes of each job, by its name.
fn runs(metrics: &[MetricLine]) -> BTreeMap<&str, Vec<&MetricLine>> {
    let mut runs: BTreeMap<&str, Vec<&MetricLine>> = BTreeMap::new();
    for line in metrics {
        runs.entry(&line.run).or_default().push(line);
    }
    runs
}

/// Training and evaluation return of every job, beside what optimal control reaches.
pub(crate) fn returns(metrics: &[MetricLine], optimum: Option<f64>) -> Figure {
    let last = metrics.iter().map(|m| m.record.episode as f64);
    let last = last.fold(1.0, f64::max);
    // The same episodes above each other.
    let episodes = Axis::linear("episode").within(0.0, 1.02 * last);
    let chart = |title: &str| Chart::new(title, episodes.clone(), Axis::linear("return"));
    let mut training = chart("Training return, mean of ten episodes");
    let mut evaluation = chart("Evaluation return");
    for (name, episodes) in runs(metrics) {
        let points: Vec<(f64, f64)> = episodes
            .iter()
            .map(|e| (e.record.episode as f64, e.record.training_return))
            .collect();
        let smooth = points.iter().enumerate().map(|(k, p)| {
            let window = &points[(k + 1).saturating_sub(10)..=k];
            (
                p.0,
                window.iter().map(|p| p.1).sum::<f64>() / window.len() as f64,
            )
        });
        training = training.with(Series::line(name, smooth));
        let measured = episodes
            .iter()
            .filter_map(|e| Some((e.record.episode as f64, e.record.evaluation_return?)));
        evaluation = evaluation.with(Series::dotted(name, measured));
    }
    if let Some(optimum) = optimum {
        let level = [(0.0, optimum), (1.02 * last, optimum)];
        evaluation = evaluation.with(Series::line("optimal control", level));
    }
    Figure::new(vec![training, evaluation])
        .with_columns(1)
        .with_size(640.0, 270.0)
}

/// Open gates over the episodes: a row for each term, dense where its gate is likely open.
fn gates(name: &str, episodes: &[&MetricLine], terms: &[String]) -> Option<Figure> {
    let every = (episodes.len() / 100).max(1);
    let columns: Vec<(f64, &[f32])> = episodes
        .iter()
        .step_by(every)
        .filter_map(|e| Some((e.record.episode as f64, e.record.prob_active.as_deref()?)))
        .collect();
    let all = columns.first()?.1.len();
    // Of many gates those that were open last, in the order of the terms.
    let mut shown: Vec<usize> = (0..all).collect();
    let open = |k: &usize| columns.last().map_or(0.0, |c| c.1[*k]);
    shown.sort_by(|a, b| open(b).total_cmp(&open(a)).then(a.cmp(b)));
    shown.truncate(MOST_GATE_ROWS);
    shown.sort_unstable();
    let n = shown.len();
    let cells = columns.iter().flat_map(|(x, gates)| {
        // From below, and to three digits: equal neighbours are drawn as one.
        let gate = |(row, k): (usize, &usize)| {
            let p = (f64::from(gates[*k]) * 1e3).round() / 1e3;
            (*x, row as f64, p)
        };
        let rows = shown.iter().rev().enumerate();
        rows.map(gate).collect::<Vec<_>>()
    });
    let last = columns.last()?.0;
    let rows = if terms.len() == all {
        Axis::categories(shown.iter().rev().map(|k| &terms[*k]))
    } else {
        Axis::linear("").within(-0.5, n as f64 - 0.5)
    };
    let chart = Chart::new(
        format!("{name}: probability of each gate to be open"),
        Axis::linear("episode").within(0.0, last + 0.5 * every as f64),
        rows,
    )
    .with(Series::cells("gates", (every as f64, 1.0), cells));
    let height = 85.0 + 15.0 * n as f64;
    Some(Figure::new(vec![chart]).with_size(640.0, height))
}

/// A row of the results for a table.
pub(crate) fn result_row(r: &AgentResult) -> Vec<String> {
    vec![
        r.policy.clone(),
        r.seed.to_string(),
        plain(r.lambda),
        format!(
            "{} ± {}",
            number(Some(r.return_mean), 1),
            number(Some(r.return_ci95), 1)
        ),
        number(r.gap, 1),
        match (r.terms, r.laws) {
            (Some(terms), Some(laws)) if laws > 1 => format!("{terms} in {laws} laws"),
            _ => plain(r.terms),
        },
        r.environment_steps.total().to_string(),
        number(Some(r.seconds), 1),
    ]
}

pub(crate) const RESULT_HEADER: [&str; 8] = [
    "policy", "seed", "λ", "return", "gap", "terms", "steps", "seconds",
];

/// Rows of a gate chart: with more nobody could read them.
const MOST_GATE_ROWS: usize = 60;

/// Gate charts on a page.
const MOST_GATES: usize = 4;

impl TrainingRun {
    /// Names of the gates of a job's policy: its terms, with the action where there are several.
    fn gate_names(&self, job: &str) -> Vec<String> {
        let policy = self.policies.iter().find(|p| p.name == job);
        let Some(names) = policy.and_then(|p| p.actor.term_names()) else {
            return Vec::new();
        };
        let several = names.iter().any(|n| n.action != names[0].action);
        let name = |n: &TermName| match several {
            true => format!("{}: {}", n.action, n.term),
            false => n.term.clone(),
        };
        names.iter().map(name).collect()
    }

    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        match &self.results {
            Some(results) => {
                let rows: Vec<Vec<String>> = results.iter().map(result_row).collect();
                sections.push(Section::new("Results").table(&RESULT_HEADER, &rows).note(
                    "Return: mean over a fixed grid of initial states ± 95 %. Gap: what optimal control reaches more. λ: price of an open gate.",
                ));
                let mut laws = Section::new("Policies in closed form");
                let mut any = false;
                for policy in &self.policies {
                    if let Some(shared) = policy.actor.shared_law()? {
                        let name = format!("{}, the same for every action", policy.name);
                        laws = laws.equations(&name, &shared);
                    }
                    if let Some(law) = &policy.law {
                        laws = laws.equations(&policy.name, law);
                        any = true;
                    }
                }
                if any {
                    sections.push(laws);
                }
            }
            None => sections.push(unfinished(folder)),
        }
        if !self.metrics.is_empty() {
            let first = self.rows().first();
            let optimum = first.and_then(|r| Some(r.return_mean + r.gap?));
            sections.push(Section::new("Learning").figure(&returns(&self.metrics, optimum)));
            let mut section = Section::new("Gates");
            let mut drawn = 0;
            for (name, episodes) in runs(&self.metrics) {
                if drawn < MOST_GATES
                    && let Some(figure) = gates(name, &episodes, &self.gate_names(name))
                {
                    section = section.figure(&figure);
                    drawn += 1;
                }
            }
            if drawn > 0 {
                sections.push(section.note("A row for each term: dark is open, white is closed."));
            }
        }
        if self.results.is_some() && self.settings.agents.len() > 1 {
            let figure = self.frontier_figure();
            sections.push(Section::new("Return against number of terms").figure(&figure));
        }
        let config = files::read(&folder.join("config.toml"))?;
        sections.push(Section::new("Settings").code(&config));
        let environment = match self.settings.environment() {
            "" => "an environment",
            name => name,
        };
        Ok(Page::new(format!("Policies for {environment}"), sections))
    }
}
