//! What a fit shows on the screen.

use std::{io::Write, path::Path};

use comfy_table::{CellAlignment, Table as Grid, presets::UTF8_BORDERS_ONLY};
use ell0::{
    dictionary::{Diagnostics, Rule},
    equation::Dynamics,
};
use serde_json::json;

use super::{Found, Settings};

pub fn to_json(found: &Found, place: &Path) -> serde_json::Value {
    let text = found.model.text(6);
    let equations: Vec<_> = found
        .model
        .equations()
        .iter()
        .zip(text.lines())
        .map(|(e, text)| json!({ "target": e.target, "text": text, "terms": e.terms }))
        .collect();
    let lines = found
        .targets
        .iter()
        .zip(&found.paths)
        .flat_map(|(target, (path, _))| path.lines().iter().map(move |line| (target, line)));
    let path: Vec<_> = lines
        .map(|(target, l)| {
            json!({
                "target": target, "lambda": finite(l.lambda), "terms": l.terms, "train_mse": l.train_error,
                "validation_mse": l.validation_error, "validation_deviation": l.validation_deviation, "bic": l.bic, "aicc": l.aicc,
            })
        })
        .collect();
    let chosen = || found.paths.iter().map(|(_, line)| line);
    let smallest = chosen().map(|l| l.lambda).fold(f64::INFINITY, f64::min);
    json!({
        "equations": equations,
        "selected": { "lambda": finite(smallest), "terms": chosen().map(|l| l.terms).sum::<usize>() },
        "path": path,
        "run_dir": place,
    })
}

/// JSON and CSV have no infinity.
pub fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

pub fn tables(
    out: &mut impl Write,
    settings: &Settings,
    found: &Found,
    place: &Path,
) -> anyhow::Result<()> {
    data(out, found)?;
    writeln!(out, "\n\n{}\n", found.model.text(5))?;
    paths(out, found)?;
    notes(out, found)?;
    let how = match settings.rule() {
        Rule::Terms(terms) => format!("{terms} terms were asked for"),
        Rule::Lambda(lambda) => format!("the least error + {lambda} × terms"),
        _ => "the smallest law whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves".into(),
    };
    writeln!(out, "Choice: {how}.")?;
    writeln!(
        out,
        "Model, path, figures and config.toml are in {}",
        place.display()
    )?;
    Ok(())
}

fn data(out: &mut impl Write, found: &Found) -> anyhow::Result<()> {
    let surveys = || found.parts.iter().map(|p| &p.survey);
    let rows: u64 = surveys().map(|s| s.rows).sum();
    let dropped: u64 = surveys().map(|s| s.dropped).sum();
    let trajectories: usize = surveys().map(|s| s.trajectories).sum();
    let noise = surveys().map(|s| s.relative_noise).fold(0.0, f64::max);
    let what = if trajectories == 1 {
        "trajectory"
    } else {
        "trajectories"
    };
    write!(out, "{rows} rows in {trajectories} {what}")?;
    if dropped > 0 {
        write!(out, ", {dropped} rows with missing cells left out")?;
    }
    if found.parts[0].dynamics == Dynamics::Continuous {
        let mut ways: Vec<String> = found
            .parts
            .iter()
            .map(|p| p.derivative.to_string())
            .collect();
        ways.dedup();
        write!(
            out,
            "; noise about {:.2} % of a state's deviation; rates of change by {}",
            noise * 100.0,
            ways.join(", ")
        )?;
    }
    Ok(())
}

fn paths(out: &mut impl Write, found: &Found) -> anyhow::Result<()> {
    for (target, (path, chosen)) in found.targets.iter().zip(&found.paths) {
        writeln!(out, "{target}: the best law of every size")?;
        let mut grid = Grid::new();
        grid.load_style(UTF8_BORDERS_ONLY).set_header([
            "",
            "terms",
            "train error",
            "validation error",
            "± std. error",
            "λ",
        ]);
        for column in grid.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let number = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3e}"));
        // Past the chosen one a few lines show that nothing much is gained.
        for line in path.lines().iter().filter(|l| l.terms <= chosen.terms + 4) {
            grid.add_row([
                if line.terms == chosen.terms {
                    "→"
                } else {
                    ""
                }
                .to_string(),
                line.terms.to_string(),
                number(Some(line.train_error)),
                number(line.validation_error),
                number(line.validation_deviation),
                number(finite(line.lambda)),
            ]);
        }
        writeln!(out, "{grid}")?;
        if let Some(equation) = found.model.equations().iter().find(|e| &e.target == target) {
            let sure: Vec<String> = equation
                .terms
                .iter()
                .filter_map(|t| {
                    t.probability
                        .map(|p| format!("{} {:.0} %", t.feature, p * 100.0))
                })
                .collect();
            if !sure.is_empty() {
                writeln!(out, "Probability of each term: {}", sure.join(", "))?;
            }
            writeln!(out)?;
        }
    }
    Ok(())
}

/// Terms that the data cannot tell apart.
fn notes(out: &mut impl Write, found: &Found) -> anyhow::Result<()> {
    const MOST: usize = 4;
    let Ok(diagnostics) = Diagnostics::new(&found.train) else {
        return Ok(());
    };
    let mut notes: Vec<String> = Vec::new();
    notes.extend(diagnostics.zero.iter().map(|n| format!("{n} is 0")));
    notes.extend(
        diagnostics
            .constant
            .iter()
            .map(|n| format!("{n} is constant")),
    );
    notes.extend(
        diagnostics
            .duplicate
            .iter()
            .map(|(n, of)| format!("{n} is a multiple of {of}")),
    );
    notes.extend(
        diagnostics
            .collinear
            .iter()
            .map(|(n, of)| format!("{n} is a combination of {}", of.join(", "))),
    );
    if !notes.is_empty() {
        let more = notes.len().saturating_sub(MOST);
        notes.truncate(MOST);
        if more > 0 {
            notes.push(format!("and {more} more"));
        }
        writeln!(
            out,
            "Note: on these data some terms cannot be told apart: {}.\n",
            notes.join("; ")
        )?;
    }
    Ok(())
}
