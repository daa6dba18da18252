//! The report of `ell0 analyze`.

use std::path::Path;

use ell0::equation::Model;
use serde_json::Value;

use super::{Section, json, number, plain, read};

fn list(values: &Value) -> String {
    let values = values.as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<String> = values.iter().map(|v| number(v, 4)).collect();
    texts.join(", ")
}

pub fn sections(folder: &Path) -> anyhow::Result<(String, Vec<Section>)> {
    let found = json(folder, "analysis.json")?.unwrap_or_default();
    let policy = found["policy"].is_string();
    let subject = Section::new(if policy { "The policy" } else { "The law" });
    let subject = match read(folder, "model.json").map(|text| Model::from_json(&text)) {
        Ok(Ok(model)) => subject.equations("", &model),
        _ => subject.code(&plain(&found[if policy { "policy" } else { "law" }])),
    };
    let equilibria = found["equilibria"].as_array().cloned().unwrap_or_default();
    let rows: Vec<Vec<String>> = equilibria
        .iter()
        .map(|e| {
            let values = e["eigenvalues"].as_array().cloned().unwrap_or_default();
            let values: Vec<String> = values
                .iter()
                .map(|z| match z[1].as_f64() {
                    Some(im) if im != 0.0 => format!(
                        "{} {} {}i",
                        number(&z[0], 4),
                        if im < 0.0 { "−" } else { "+" },
                        number(&Value::from(im.abs()), 4)
                    ),
                    _ => number(&z[0], 4),
                })
                .collect();
            vec![
                format!("({})", list(&e["state"])),
                if e["stable"] == true {
                    "stable"
                } else {
                    "unstable"
                }
                .into(),
                values.join(", "),
                e["basin_share"]
                    .as_f64()
                    .map_or("–".into(), |s| format!("{:.1} %", 100.0 * s)),
            ]
        })
        .collect();
    let names: Vec<String> = found["states"]
        .as_array()
        .into_iter()
        .flatten()
        .map(plain)
        .collect();
    let state = format!("state ({})", names.join(", "));
    let mut header = vec![state.as_str(), "", "eigenvalues"];
    let mut sections = vec![subject];
    if policy {
        header.push("of the grid ends there");
        sections.push(Section::new("Equilibria").table(&header, &rows));
    } else {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row[..3].to_vec()).collect();
        sections.push(Section::new("Fixed points").table(&header, &rows));
    }
    if folder.join("portrait.svg").exists() {
        sections.push(Section::new("Phase portrait").svg(&read(folder, "portrait.svg")?));
    }
    let mut facts = Vec::new();
    let margin = &found["gain_margin"];
    if margin.is_array() {
        facts.push(vec![
            "gain margin".to_string(),
            format!("{} to {}", number(&margin[0], 3), number(&margin[1], 3)),
        ]);
        facts.push(vec![
            "tolerated delay, steps".into(),
            plain(&found["tolerated_delay"]),
        ]);
    }
    if found["return"].is_object() {
        let r = &found["return"];
        facts.push(vec![
            "return".into(),
            format!("{} ± {}", number(&r["mean"], 2), number(&r["ci95"], 2)),
        ]);
    }
    if let Some(exponent) = found["largest_lyapunov_exponent"].as_f64() {
        facts.push(vec![
            "largest Lyapunov exponent".into(),
            format!("{exponent:.4}"),
        ]);
    }
    let validity = &found["valid_prediction_time"];
    if validity.is_object() {
        facts.push(vec![
            "valid prediction time".into(),
            number(&validity["mean"], 3),
        ]);
        facts.push(vec![
            "in Lyapunov times".into(),
            number(&validity["lyapunov_times"], 2),
        ]);
        facts.push(vec![
            "starts, valid to the end".into(),
            format!(
                "{}, {}",
                plain(&validity["starts"]),
                plain(&validity["valid_to_the_end"])
            ),
        ]);
    }
    for p in found["parameters"].as_array().into_iter().flatten() {
        facts.push(vec![
            format!("{} = {} may go", plain(&p["name"]), plain(&p["value"])),
            format!("from {} to {}", number(&p["low"], 3), number(&p["high"], 3)),
        ]);
    }
    if !facts.is_empty() {
        let heading = if policy { "Margins" } else { "Predictability" };
        sections.push(Section::new(heading).table(&["", ""], &facts));
    }
    let region = &found["proved_region"];
    if region.is_object() {
        let rows = vec![
            vec!["level".to_string(), number(&region["level"], 5)],
            vec!["reaches ±".into(), list(&region["reach"])],
            vec!["volume".into(), number(&region["volume"], 4)],
            vec!["boxes".into(), plain(&region["boxes"])],
            vec![
                "level that samples would allow".into(),
                number(&region["sampled_level"], 5),
            ],
        ];
        let matrix: Vec<String> = region["p"]
            .as_array()
            .into_iter()
            .flatten()
            .map(list)
            .collect();
        sections.push(
            Section::new("Proved region of attraction")
                .text("Every trajectory that begins where dᵀPd is at most the level stays there and goes to the equilibrium: proved by interval branch and bound over the exact closed form.")
                .code(&format!("P = [{}]", matrix.join("; ")))
                .table(&["", ""], &rows)
                .note("Boxes: into so many the set was cut until interval arithmetic could say of each that trajectories in it move inward. The last row is the level that a search for counter-examples at many points would have allowed."),
        );
    }
    let terms = found["terms"].as_array().cloned().unwrap_or_default();
    if !terms.is_empty() {
        let rows: Vec<Vec<String>> = terms
            .iter()
            .map(|t| {
                vec![
                    plain(&t["term"]),
                    number(&t["return_per_percent"], 3),
                    number(&t["return_without"], 1),
                ]
            })
            .collect();
        let header = ["term", "return for 1 % more of it", "return without it"];
        sections.push(Section::new("Terms").table(&header, &rows));
    }
    let title = match found["environment"].as_str() {
        Some(environment) => format!("A policy in {environment}"),
        None if policy => "A policy in a learned model".into(),
        None => format!("A law of {}", names.join(", ")),
    };
    Ok((title, sections))
}
