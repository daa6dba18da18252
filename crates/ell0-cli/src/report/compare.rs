//! Several runs on one page: what they have in common first.

use std::path::Path;

use ell0::equation::Model;
use serde_json::Value;

use super::{Section, json, lines, models, number, plain, train};

/// Tables over all runs, and the learning curves of training together.
pub fn compare(folders: &[&Path]) -> anyhow::Result<Vec<Section>> {
    let mut sections = Vec::new();
    let (mut policies, mut rows) = (Vec::new(), Vec::new());
    let (mut laws, mut found_laws) = (Section::new("Laws"), false);
    let mut metrics: Vec<Value> = Vec::new();
    // Curves of a single run need no comparison: they are on its own part of the page.
    let mut trained = 0;
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
                rows.push(vec![
                    name.clone(),
                    plain(&row["model"]),
                    models::error(&row["best_test_mse"]),
                    plain(&row["active"]),
                    number(&row["seconds"], 1),
                ]);
            }
        }
        let mut trains = false;
        for mut line in lines(folder, "metrics.jsonl")? {
            if line.get("run").is_some() {
                line["run"] = Value::from(format!("{name} {}", plain(&line["run"])));
                metrics.push(line);
                trains = true;
            }
        }
        trained += usize::from(trains);
        let file = folder.join("model.json");
        if let Ok(text) = std::fs::read_to_string(file)
            && let Ok(model) = Model::from_json(&text)
        {
            laws = laws.equations(&name, &model);
            found_laws = true;
        }
    }
    if !policies.is_empty() {
        let header = [&["run"][..], &train::HEADER].concat();
        let mut section = Section::new("Policies").table(&header, &policies);
        if trained > 1 {
            section = section.figure(&train::returns(&metrics, None));
        }
        sections.push(section);
    }
    if !rows.is_empty() {
        let header = ["run", "model", "test error", "active", "seconds"];
        sections.push(Section::new("Models").table(&header, &rows));
    }
    if found_laws {
        sections.push(laws);
    }
    Ok(sections)
}
