//! The report of `ell0 fit`.

use std::path::Path;

use ell0::equation::Model;

use super::{Section, read};

pub fn sections(folder: &Path) -> anyhow::Result<(String, Vec<Section>)> {
    let model = Model::from_json(&read(folder, "model.json")?)?;
    let mut laws = Section::new("The law").equations("", &model);
    let mut rows = Vec::new();
    for equation in model.equations() {
        for term in &equation.terms {
            rows.push(vec![
                equation.target.clone(),
                term.feature.clone(),
                format!("{:.6}", term.coefficient),
                term.probability.map_or("–".into(), |p| format!("{p:.3}")),
            ]);
        }
    }
    laws = laws.table(&["target", "term", "coefficient", "probability"], &rows);
    laws = laws.note("Probability: how sure the data are that the term belongs.");
    let mut path = Section::new("Error against number of terms");
    if folder.join("path.svg").exists() {
        path = path.svg(&read(folder, "path.svg")?);
    }
    let table = read(folder, "path.csv")?;
    let rows: Vec<Vec<String>> = table
        .lines()
        .skip(1)
        .filter(|l| l.ends_with(",true"))
        .map(|line| line.rsplitn(9, ',').collect::<Vec<&str>>())
        // A file that was changed by hand may have fewer.
        .filter(|cells| cells.len() == 9)
        .map(|cells| {
            let short = |text: &str| {
                let value = text.parse::<f64>();
                value.map_or("–".into(), |v| format!("{v:.3e}"))
            };
            // From the right: chosen, aicc, bic, deviation, validation, train, lambda, terms, target.
            vec![
                cells[8].trim_matches('"').to_string(),
                cells[7].to_string(),
                short(cells[5]),
                short(cells[4]),
            ]
        })
        .collect();
    path = path.table(
        &["target", "terms chosen", "training error", "held-out error"],
        &rows,
    );
    path = path.note("The circle marks the law that was chosen: unless a number of terms or a price was asked for, the smallest whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves.");
    let settings = Section::new("Settings").code(&read(folder, "config.toml")?);
    let config: toml::Value = toml::from_str(&read(folder, "config.toml")?)?;
    let data = config
        .get("data")
        .and_then(|d| d.get("files"))
        .and_then(|f| f.get(0))
        .and_then(|f| f.as_str())
        .and_then(|f| Path::new(f).file_name()?.to_str())
        .unwrap_or("the data");
    Ok((format!("The law behind {data}"), vec![laws, path, settings]))
}
