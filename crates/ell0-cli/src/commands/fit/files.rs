//! The files of a run directory.

use std::fmt::Write;

use ell0_plot::{Axis, Chart, Figure, Series};

use super::{Found, Settings};
use crate::{report, run_dir::RunDir};

/// The files of a fit.
pub const OURS: &[&str] = &[
    "config.toml",
    "model.json",
    "equations.txt",
    "equations.tex",
    "path.csv",
    "path.svg",
    "path.png",
    report::FILE,
    report::COMMAND,
];

pub fn write(run_dir: &mut RunDir, settings: &Settings, found: &Found) -> anyhow::Result<()> {
    run_dir.put("config.toml", config(settings)?)?;
    run_dir.put("model.json", found.model.to_json() + "\n")?;
    run_dir.put("equations.txt", found.model.text(6) + "\n")?;
    run_dir.put("equations.tex", found.model.latex(5) + "\n")?;
    run_dir.put("path.csv", path_table(found))?;
    let figure = figure(found);
    run_dir.draw("path", &figure)?;
    run_dir.report()
}

fn config(settings: &Settings) -> anyhow::Result<String> {
    Ok(format!(
        "# Made by ell0 {}. From the folder where it ran, `ell0 fit --config` of this file repeats the run.\n\n{}",
        env!("CARGO_PKG_VERSION"),
        toml::to_string(settings)?
    ))
}

fn path_table(found: &Found) -> String {
    let mut csv = String::from(
        "target,terms,lambda,train_mse,validation_mse,validation_deviation,bic,aicc,chosen\n",
    );
    let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    for (target, (path, chosen)) in found.targets.iter().zip(&found.paths) {
        for l in path.lines() {
            let _ = writeln!(
                csv,
                "{},{},{},{},{},{},{},{},{}",
                crate::commands::model::quoted(target),
                l.terms,
                number(super::print::finite(l.lambda)),
                l.train_error,
                number(l.validation_error),
                number(l.validation_deviation),
                l.bic,
                l.aicc,
                l.terms == chosen.terms
            );
        }
    }
    csv
}

/// Error against number of terms, the choice marked: a chart for each target.
fn figure(found: &Found) -> Figure {
    let chart =
        |(target, (path, chosen)): (&String, &(ell0::dictionary::Path, ell0::dictionary::Line))| {
            let lines = path.lines();
            let train = lines.iter().map(|l| (l.terms as f64, l.train_error));
            let held_out: Vec<_> = lines
                .iter()
                .filter_map(|l| Some((l.terms as f64, l.validation_error?)))
                .collect();
            let deviations = lines.iter().filter_map(|l| l.validation_deviation);
            let mark = chosen.validation_error.unwrap_or(chosen.train_error);
            let terms = if chosen.terms == 1 { "term" } else { "terms" };
            let mut chart = Chart::new(
                format!("{target}: error against number of terms"),
                Axis::linear("terms"),
                Axis::log("mean squared error"),
            )
            .with(Series::dotted("training", train));
            if !held_out.is_empty() {
                chart = chart.with(Series::dotted("held out", held_out).with_errors(deviations));
            }
            chart.with_mark(
                chosen.terms as f64,
                mark,
                format!("chosen: {} {terms}", chosen.terms),
            )
        };
    Figure::new(found.targets.iter().zip(&found.paths).map(chart).collect())
}
