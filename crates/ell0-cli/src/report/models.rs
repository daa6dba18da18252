//! The report of `ell0 tutorial dynamics` and `reward`, finished or under way.

use std::path::Path;

use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::Value;

use super::{Section, equations, json, lines, number, plain, read, unfinished};

/// Test error and open gates of every model over the epochs.
fn learning(metrics: &[Value]) -> Figure {
    let mut names: Vec<String> = metrics.iter().map(|m| plain(&m["model"])).collect();
    names.dedup();
    let mut errors = Chart::new(
        "Test error",
        Axis::linear("epoch"),
        Axis::log("mean squared error"),
    );
    let mut active = Chart::new("Open weights", Axis::linear("epoch"), Axis::log("weights"));
    for name in names {
        let of = |field: &'static str| {
            let name = name.clone();
            metrics
                .iter()
                .filter(move |m| m["model"] == name.as_str())
                .filter_map(move |m| Some((m["epoch"].as_f64()?, m[field].as_f64()?)))
                .collect::<Vec<_>>()
        };
        errors = errors.with(Series::line(&name, of("test_error")));
        active = active.with(Series::line(&name, of("active_weights")));
    }
    Figure::new(vec![errors, active])
        .with_columns(1)
        .with_size(640.0, 290.0)
}

/// An error for a table.
pub fn error(value: &Value) -> String {
    match value.as_f64() {
        Some(v) if (0.01..1e4).contains(&v) => format!("{v:.3}"),
        Some(v) => format!("{v:.2e}"),
        None => "–".into(),
    }
}

pub fn sections(folder: &Path, config: &toml::Value) -> anyhow::Result<(String, Vec<Section>)> {
    let task = config["task"].as_str().unwrap_or("dynamics");
    let mut sections = Vec::new();
    match json(folder, "results.json")?
        .as_ref()
        .and_then(Value::as_array)
    {
        Some(results) => {
            let rows: Vec<Vec<String>> = results
                .iter()
                .map(|r| {
                    vec![
                        plain(&r["model"]),
                        error(&r["best_train_mse"]),
                        error(&r["best_test_mse"]),
                        error(&r["all_terms_test_mse"]),
                        plain(&r["parameters"]),
                        plain(&r["active"]),
                        number(&r["flops"], 0),
                        number(&r["seconds"], 1),
                    ]
                })
                .collect();
            let header = [
                "model",
                "best train error",
                "best test error",
                "with all terms",
                "parameters",
                "active",
                "operations",
                "seconds",
            ];
            let mut section = Section::new("Results").table(&header, &rows);
            section = section.note("Mean squared errors of the best epoch, as the published figure has them; with all terms: the test error of least squares without any gate. Active parameters and operations are those that are left when closed gates are removed.");
            if folder.join("figure.svg").exists() {
                section = section.svg(&read(folder, "figure.svg")?);
            }
            sections.push(section);
        }
        None => sections.push(unfinished(folder)),
    }
    let metrics = lines(folder, "metrics.jsonl")?;
    if !metrics.is_empty() {
        sections.push(Section::new("Learning").figure(&learning(&metrics)));
    }
    sections.extend(equations(&folder.join("models"), "Equations"));
    sections.push(Section::new("Settings").code(&read(folder, "config.toml")?));
    let title = match task {
        "reward" => "Reward models of the pendulum",
        _ => "Transition models of the pendulum",
    };
    Ok((title.into(), sections))
}
