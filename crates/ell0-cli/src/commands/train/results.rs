//! What training leaves: rows, metrics, figures, a table.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0_control::agent::{Actor, EpisodeRecord, TrainConfig};
use ell0_plot::{Axis, Chart, Figure, Series};
use serde::Serialize;

/// A row of the results.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    pub policy: String,
    pub seed: u64,
    /// Price of an open gate; none for what has no terms.
    pub lambda: Option<f64>,
    pub return_mean: f64,
    pub return_ci95: f64,
    /// What optimal control reaches more; none where nobody knows.
    pub gap: Option<f64>,
    pub terms: Option<usize>,
    pub equation: Option<String>,
    /// Steps of the environment for training, and for pruning and tuning after it.
    pub env_steps: u64,
    pub refinement_steps: u64,
    pub fine_tuned: bool,
    pub seconds: f64,
}

/// What a finished job leaves.
pub struct Done {
    pub row: Row,
    /// What its files are named after.
    pub name: String,
    pub actor: Actor,
    pub episodes: Vec<EpisodeRecord>,
}

/// One line for each episode of each job: (name, settings, seed, episodes).
pub fn metrics<'a>(
    jobs: impl Iterator<Item = (&'a str, &'a TrainConfig, u64, &'a [EpisodeRecord])>,
) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        run: &'a str,
        policy: &'a str,
        lambda: f64,
        seed: u64,
        #[serde(flatten)]
        record: &'a EpisodeRecord,
    }
    let mut text = String::new();
    for (run, config, seed, episodes) in jobs {
        for record in episodes {
            let line = Line {
                run,
                policy: &config.policy,
                lambda: config.lambda,
                seed,
                record,
            };
            text += &(serde_json::to_string(&line)? + "\n");
        }
    }
    Ok(text)
}

/// Mean over the jobs of each agent: what to call it, and its jobs.
fn by_agent(done: &[Done]) -> Vec<(String, Vec<&Done>)> {
    let mut agents: Vec<(String, Vec<&Done>)> = Vec::new();
    for d in done {
        match agents.iter_mut().find(|a| a.0 == d.row.agent) {
            Some(agent) => agent.1.push(d),
            None => agents.push((d.row.agent.clone(), vec![d])),
        }
    }
    agents
}

/// Training and evaluation return over the episodes: a line for each seed of one agent, the mean over the seeds of several.
pub fn figure(title: &str, done: &[Done]) -> Figure {
    let agents = by_agent(done);
    let curve = |jobs: &[&Done], value: &dyn Fn(&EpisodeRecord) -> Option<f64>| {
        let longest = jobs.iter().map(|d| d.episodes.len()).max().unwrap_or(0);
        let mean = |k: usize| {
            let values: Vec<f64> = jobs
                .iter()
                .filter_map(|d| value(d.episodes.get(k)?))
                .collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        (0..longest)
            .filter_map(|k| Some((k as f64 + 1.0, mean(k)?)))
            .collect::<Vec<_>>()
    };
    let lines: Vec<(String, Vec<&Done>)> = if agents.len() > 1 {
        agents
    } else {
        done.iter()
            .map(|d| (format!("seed {}", d.row.seed), vec![d]))
            .collect()
    };
    let chart = |name: &str| Chart::new(name, Axis::linear("episode"), Axis::linear("return"));
    let mut training = chart(&format!("{title}: training, mean of ten episodes"));
    let mut evaluation = chart(&format!("{title}: evaluation on the grid"));
    for (name, jobs) in &lines {
        let points = curve(jobs, &|e| Some(e.training_return));
        let smooth = points.iter().enumerate().map(|(k, point)| {
            let window = &points[(k + 1).saturating_sub(10)..=k];
            let mean = window.iter().map(|p| p.1).sum::<f64>() / window.len() as f64;
            (point.0, mean)
        });
        training = training.with(Series::line(name, smooth));
        evaluation = evaluation.with(Series::dotted(name, curve(jobs, &|e| e.evaluation_return)));
    }
    Figure::new(vec![training, evaluation])
        .with_columns(1)
        .with_size(720.0, 320.0)
}

/// Return against the number of terms.
pub fn frontier(done: &[Done]) -> Figure {
    let mut chart = Chart::new(
        "Return against number of terms",
        Axis::linear("terms"),
        Axis::linear("mean return"),
    );
    let mut policies: Vec<&str> = done.iter().map(|d| d.row.policy.as_str()).collect();
    policies.dedup();
    for policy in policies {
        let of = done.iter().filter(|d| d.row.policy == policy);
        let points = of.filter_map(|d| Some((d.row.terms? as f64, d.row.return_mean)));
        chart = chart.with(Series::dots(policy, points));
    }
    Figure::new(vec![chart]).with_size(720.0, 380.0)
}

pub fn print(out: &mut impl Write, rows: &[&Row]) -> anyhow::Result<()> {
    let several = rows.iter().any(|r| !r.agent.is_empty());
    let mut grid = Table::new();
    let first = several.then_some("agent");
    grid.load_style(UTF8_BORDERS_ONLY)
        .set_header(first.into_iter().chain([
            "seed",
            "return",
            "± 95 %",
            "gap",
            "terms",
            "steps",
            "steps after training",
            "seconds",
        ]));
    for column in grid.column_iter_mut().skip(usize::from(several)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        let first = several.then(|| row.agent.clone());
        grid.add_row(first.into_iter().chain([
            row.seed.to_string(),
            format!("{:.2}", row.return_mean),
            format!("{:.2}", row.return_ci95),
            row.gap.map_or("–".into(), |g| format!("{g:.1}")),
            row.terms.map_or("–".into(), |t| t.to_string()),
            row.env_steps.to_string(),
            row.refinement_steps.to_string(),
            format!("{:.1}", row.seconds),
        ]));
    }
    writeln!(out, "{grid}")?;
    equations(out, rows)
}

/// The laws, one after the other.
pub fn equations(out: &mut impl Write, rows: &[&Row]) -> anyhow::Result<()> {
    for row in rows {
        if let Some(equation) = &row.equation {
            let agent = match row.agent.as_str() {
                "" => String::new(),
                name => format!("{name}, "),
            };
            writeln!(out, "{agent}seed {}: {equation}", row.seed)?;
        }
    }
    writeln!(out)?;
    Ok(())
}
