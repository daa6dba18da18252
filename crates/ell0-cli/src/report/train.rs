//! The report of `ell0 train` and `ell0 tutorial policy`, finished or under way.

use std::{collections::BTreeMap, path::Path};

use ell0_control::agent::Training;
use ell0_plot::{Axis, Chart, Figure, Series};
use serde_json::Value;

use super::{Section, equations, json, lines, number, plain, read, unfinished};

/// Episodes of each run, by its name.
fn runs(metrics: &[Value]) -> BTreeMap<String, Vec<&Value>> {
    let mut runs: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for line in metrics {
        runs.entry(plain(&line["run"])).or_default().push(line);
    }
    runs
}

/// Training and evaluation return of every run, beside what optimal control reaches.
pub fn returns(metrics: &[Value], optimum: Option<f64>) -> Figure {
    let last = metrics.iter().filter_map(|m| m["episode"].as_f64());
    let last = last.fold(1.0, f64::max);
    // The same episodes above each other.
    let episodes = Axis::linear("episode").within(0.0, 1.02 * last);
    let chart = |title: &str| Chart::new(title, episodes.clone(), Axis::linear("return"));
    let mut training = chart("Training return, mean of ten episodes");
    let mut evaluation = chart("Evaluation return");
    for (name, episodes) in runs(metrics) {
        let points: Vec<(f64, f64)> = episodes
            .iter()
            .filter_map(|e| Some((e["episode"].as_f64()?, e["training_return"].as_f64()?)))
            .collect();
        let smooth = points.iter().enumerate().map(|(k, p)| {
            let window = &points[(k + 1).saturating_sub(10)..=k];
            (
                p.0,
                window.iter().map(|p| p.1).sum::<f64>() / window.len() as f64,
            )
        });
        training = training.with(Series::line(&name, smooth));
        let measured = episodes
            .iter()
            .filter_map(|e| Some((e["episode"].as_f64()?, e["evaluation_return"].as_f64()?)));
        evaluation = evaluation.with(Series::dotted(&name, measured));
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
fn gates(name: &str, episodes: &[&Value], terms: &[String]) -> Option<Figure> {
    let every = (episodes.len() / 100).max(1);
    let columns: Vec<(f64, &Vec<Value>)> = episodes
        .iter()
        .step_by(every)
        .filter_map(|e| Some((e["episode"].as_f64()?, e["prob_active"].as_array()?)))
        .collect();
    let n = columns.first()?.1.len();
    let cells = columns.iter().flat_map(|(x, gates)| {
        let gate = |(k, p): (usize, &Value)| {
            // To three digits.
            let p = (p.as_f64().unwrap_or(0.0) * 1e3).round() / 1e3;
            (*x, (n - 1 - k) as f64, p)
        };
        // From below: equal neighbours are drawn as one.
        let gates: Vec<_> = gates.iter().enumerate().take(n).collect();
        gates.into_iter().rev().map(gate).collect::<Vec<_>>()
    });
    let last = columns.last()?.0;
    let rows = if terms.len() == n {
        Axis::categories(terms.iter().rev())
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

/// Names of the terms of a run's policy.
fn terms(folder: &Path, run: &str) -> Vec<String> {
    let file = folder.join(format!("checkpoints/{run}.safetensors"));
    let Ok(bytes) = std::fs::read(file) else {
        return Vec::new();
    };
    let Ok(training) = Training::from_bytes(&bytes) else {
        return Vec::new();
    };
    training
        .actor()
        .features()
        .map_or(Vec::new(), |(_, features, _)| features.names().to_vec())
}

/// Rows of the results for a table.
pub fn rows(results: &[Value]) -> Vec<Vec<String>> {
    results
        .iter()
        .map(|r| {
            vec![
                plain(&r["policy"]),
                plain(&r["seed"]),
                plain(&r["lambda"]),
                format!(
                    "{} ± {}",
                    number(&r["return_mean"], 1),
                    number(&r["return_ci95"], 1)
                ),
                number(&r["gap"], 1),
                plain(&r["terms"]),
                plain(&r["env_steps"]),
                number(&r["seconds"], 1),
            ]
        })
        .collect()
}

pub const HEADER: [&str; 8] = [
    "policy", "seed", "λ", "return", "gap", "terms", "steps", "seconds",
];

pub fn sections(folder: &Path, config: &toml::Value) -> anyhow::Result<(String, Vec<Section>)> {
    let agents = config["agents"].as_array().cloned().unwrap_or_default();
    let environment = agents
        .first()
        .and_then(|a| a.get("training")?.get("environment")?.as_str())
        .unwrap_or("an environment");
    let metrics = lines(folder, "metrics.jsonl")?;
    let results = json(folder, "results.json")?;
    let mut sections = Vec::new();
    match results.as_ref().and_then(Value::as_array) {
        Some(results) => {
            let mut section = Section::new("Results").table(&HEADER, &rows(results));
            section = section.note(
                "Return: mean over a fixed grid of initial states ± 95 %. Gap: what optimal control reaches more. λ: price of an open gate.",
            );
            sections.push(section);
        }
        None => sections.push(unfinished(folder)),
    }
    sections.extend(equations(
        &folder.join("policies"),
        "Policies in closed form",
    ));
    if !metrics.is_empty() {
        let rows = results.as_ref().and_then(Value::as_array);
        let optimum = rows
            .and_then(|rows| rows.first())
            .and_then(|r| Some(r["return_mean"].as_f64()? + r["gap"].as_f64()?));
        sections.push(Section::new("Learning").figure(&returns(&metrics, optimum)));
        let mut section = Section::new("Gates");
        let mut drawn = 0;
        for (name, episodes) in runs(&metrics) {
            if drawn < 4
                && let Some(figure) = gates(&name, &episodes, &terms(folder, &name))
            {
                section = section.figure(&figure);
                drawn += 1;
            }
        }
        if drawn > 0 {
            sections.push(section.note("A row for each term: dark is open, white is closed."));
        }
    }
    if folder.join("frontier.svg").exists() {
        let svg = read(folder, "frontier.svg")?;
        sections.push(Section::new("Return against number of terms").svg(&svg));
    }
    sections.push(Section::new("Settings").code(&read(folder, "config.toml")?));
    Ok((format!("Policies for {environment}"), sections))
}
