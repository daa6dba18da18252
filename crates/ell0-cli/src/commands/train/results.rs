//! What training leaves: rows, metrics, a figure, a table.

use std::io::Write;

use comfy_table::{CellAlignment, Table, presets::UTF8_BORDERS_ONLY};
use ell0_control::agent::{Actor, EpisodeRecord};
use ell0_plot::{Axis, Chart, Figure, Series};
use serde::Serialize;

/// A row of the results.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub policy: String,
    pub seed: u64,
    pub return_mean: f64,
    pub return_ci95: f64,
    pub terms: Option<usize>,
    pub equation: Option<String>,
    /// Steps of the environment for training, and for pruning and tuning after it.
    pub env_steps: u64,
    pub refinement_steps: u64,
    pub fine_tuned: bool,
    pub seconds: f64,
}

/// What a finished seed leaves.
pub struct Done {
    pub row: Row,
    pub actor: Actor,
    pub episodes: Vec<EpisodeRecord>,
}

/// One line for each episode of each seed.
pub fn metrics(done: &[Done]) -> anyhow::Result<String> {
    #[derive(Serialize)]
    struct Line<'a> {
        seed: u64,
        #[serde(flatten)]
        record: &'a EpisodeRecord,
    }
    let mut text = String::new();
    for d in done {
        for record in &d.episodes {
            let line = Line {
                seed: d.row.seed,
                record,
            };
            text += &(serde_json::to_string(&line)? + "\n");
        }
    }
    Ok(text)
}

pub fn figure(policy: &str, done: &[Done]) -> Figure {
    let mut chart = Chart::new(
        format!("Return of {policy} on the evaluation grid"),
        Axis::linear("episode"),
        Axis::linear("mean return"),
    );
    for d in done {
        let points = d
            .episodes
            .iter()
            .filter_map(|e| Some((e.episode as f64, e.evaluation_return?)));
        chart = chart.with(Series::dotted(&format!("seed {}", d.row.seed), points));
    }
    Figure::new(vec![chart]).with_size(640.0, 380.0)
}

pub fn print(out: &mut impl Write, rows: &[&Row]) -> anyhow::Result<()> {
    let mut grid = Table::new();
    grid.load_style(UTF8_BORDERS_ONLY).set_header([
        "seed",
        "return",
        "± 95 %",
        "terms",
        "steps",
        "steps after training",
        "seconds",
    ]);
    for column in grid.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for row in rows {
        grid.add_row([
            row.seed.to_string(),
            format!("{:.2}", row.return_mean),
            format!("{:.2}", row.return_ci95),
            row.terms.map_or("–".into(), |t| t.to_string()),
            row.env_steps.to_string(),
            row.refinement_steps.to_string(),
            format!("{:.1}", row.seconds),
        ]);
    }
    writeln!(out, "{grid}")?;
    for row in rows {
        if let Some(equation) = &row.equation {
            writeln!(out, "seed {}: {equation}", row.seed)?;
        }
    }
    writeln!(out)?;
    Ok(())
}
