//! Several runs on one page: what they have in common first.

use std::path::PathBuf;

use ell0::equation::Model;
use serde_json::Value;

use super::{Section, json, lines, number, plain, train};

/// Tables over all runs, and the learning curves of training together.
pub fn compare(folders: &[PathBuf]) -> anyhow::Result<Vec<Section>> {
    let mut sections = Vec::new();
    let (mut policies, mut models, mut laws) = (Vec::new(), Vec::new(), Vec::new());
    let mut metrics: Vec<Value> = Vec::new();
    for folder in folders {
        let name = folder.display().to_string();
        let results = json(folder, "results.json")?;
        for row in results
            .as_ref()
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            if row.get("return_mean").is_some() {
                for cells in train::rows(std::slice::from_ref(row)) {
                    policies.push([vec![name.clone()], cells].concat());
                }
            } else if row.get("best_test_mse").is_some() {
                models.push(vec![
                    name.clone(),
                    plain(&row["model"]),
                    number(&row["best_test_mse"], 5),
                    plain(&row["active"]),
                    number(&row["seconds"], 1),
                ]);
            }
        }
        for mut line in lines(folder, "metrics.jsonl")? {
            if line.get("run").is_some() {
                line["run"] = Value::from(format!("{name} {}", plain(&line["run"])));
                metrics.push(line);
            }
        }
        let file = folder.join("model.json");
        if let Ok(text) = std::fs::read_to_string(file)
            && let Ok(model) = Model::from_json(&text)
        {
            for equation in model.equations() {
                laws.push(vec![
                    name.clone(),
                    equation.target.clone(),
                    equation.terms.len().to_string(),
                    equation.expression.clone(),
                ]);
            }
        }
    }
    if !policies.is_empty() {
        let header = [&["run"][..], &train::HEADER].concat();
        let mut section = Section::new("Policies").table(&header, &policies);
        if !metrics.is_empty() {
            section = section.figure(&train::returns(&metrics));
        }
        sections.push(section);
    }
    if !models.is_empty() {
        let header = ["run", "model", "test error", "active", "seconds"];
        sections.push(Section::new("Models").table(&header, &models));
    }
    if !laws.is_empty() {
        let header = ["run", "target", "terms", "law"];
        sections.push(Section::new("Laws").table(&header, &laws));
    }
    Ok(sections)
}
