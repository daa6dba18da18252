//! The page of a run of networks, finished or under way.

use std::path::Path;

use ell0::wording::listed;

use super::{NetworkResult, NetworkRun, Quality, SparseNetwork};
use crate::{
    error::Result,
    files,
    report::{Page, Section, number, unfinished},
};

/// More classes than these make a table that nobody reads.
const MOST_CONFUSED: usize = 30;

/// More inputs than these are not listed.
const MOST_LISTED: usize = 100;

impl NetworkResult {
    /// The heads of the columns of [`NetworkResult::table_row`].
    pub(crate) const HEADER: [&str; 8] = [
        "λ",
        "how good",
        "held-out error",
        "units",
        "parameters",
        "operations",
        "epoch",
        "seconds",
    ];

    pub(crate) fn table_row(&self) -> Vec<String> {
        let lambda: Vec<String> = self.lambda.iter().map(f64::to_string).collect();
        vec![
            lambda.join(", "),
            self.quality.to_string(),
            number(self.validation_error, 4),
            NetworkResult::shape(&self.units),
            self.parameters.to_string(),
            format!("{:.0}", self.operations),
            self.epoch.to_string(),
            number(Some(self.seconds), 1),
        ]
    }
}

/// What is left of each layer.
fn layers(result: &NetworkResult) -> Section {
    let last = result.units.len().saturating_sub(1);
    let name = |k: usize| match k {
        0 => "inputs".to_string(),
        k if k == last => "outputs".into(),
        k => format!("hidden layer {k}"),
    };
    let both = result.units_before.iter().zip(&result.units).enumerate();
    let mut rows: Vec<Vec<String>> = both
        .map(|(k, (before, after))| vec![name(k), before.to_string(), after.to_string()])
        .collect();
    let more = [
        (
            "weights and biases",
            result.parameters_before.to_string(),
            result.parameters.to_string(),
        ),
        (
            "operations for a row",
            format!("{:.0}", result.operations_before),
            format!("{:.0}", result.operations),
        ),
    ];
    rows.extend(more.map(|(name, before, after)| vec![name.into(), before, after]));
    Section::new("What is left")
        .table(&["", "built", "left"], &rows)
        .note(&format!(
            "Compacted and gated network differ by {:.1e} of the largest output.",
            result.compaction_error
        ))
}

fn inputs(result: &NetworkResult, network: &SparseNetwork) -> Section {
    let all = network.names.inputs.len();
    let section = Section::new("Inputs").text(&format!(
        "{} of {all} inputs are read.",
        result.inputs_read.len()
    ));
    match result.inputs_read.len() {
        0 => section,
        n if n <= MOST_LISTED => section.text(&listed(&result.inputs_read)),
        _ => section,
    }
}

/// The matrix of confusion.
fn confusion(result: &NetworkResult, network: &SparseNetwork) -> Option<Section> {
    let Quality::Classification { confusion, .. } = &result.quality else {
        return None;
    };
    let classes = &network.names.classes;
    if classes.len() > MOST_CONFUSED {
        return None;
    }
    let mut header = vec!["as it is ↓, as said →"];
    header.extend(classes.iter().map(String::as_str));
    header.push("right");
    let row = |(class, counts): (&String, &Vec<u64>)| {
        let (k, all) = (
            classes.iter().position(|c| c == class).unwrap_or(0),
            counts.iter().sum::<u64>(),
        );
        let mut cells = vec![class.clone()];
        cells.extend(counts.iter().map(u64::to_string));
        cells.push(match all {
            0 => "–".into(),
            all => format!("{:.1} %", 100.0 * counts[k] as f64 / all as f64),
        });
        cells
    };
    let rows: Vec<Vec<String>> = classes.iter().zip(confusion).map(row).collect();
    Some(Section::new("Which classes are taken for which").table(&header, &rows))
}

impl NetworkRun {
    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        match self.chosen() {
            Some((chosen, network)) => {
                let rows: Vec<Vec<String>> =
                    self.rows().iter().map(NetworkResult::table_row).collect();
                let mut section = Section::new("Results")
                    .table(&NetworkResult::HEADER, &rows)
                    .note(&format!(
                        "{} In brackets the 95 % interval. Saying the same of every row: {}.",
                        chosen.measured_told().join(" "),
                        match &chosen.quality {
                            Quality::Regression { .. } =>
                                format!("mean squared error {:.4e}", chosen.baseline),
                            Quality::Classification { .. } =>
                                format!("accuracy {:.2} %", 100.0 * chosen.baseline),
                        }
                    ));
                if let Some(warning) = chosen.warning(&network.names) {
                    section = section.text(&format!("Warning: {warning}."));
                }
                if self.rows().len() > 1 {
                    section = section.text(&format!(
                        "Chosen: {}, the smallest whose error on held-out rows is within one standard error of the least.",
                        chosen.name
                    ));
                }
                sections.push(section);
            }
            None => sections.push(unfinished(folder)),
        }
        let figures = self.figures();
        let drawn = |name: &str| figures.iter().find(|f| f.0 == name).map(|f| &f.1);
        let chart = |section: Section, name: &str| match drawn(name) {
            Some(figure) => section.figure(figure),
            None => section,
        };
        if let Some((result, network)) = self.chosen() {
            if drawn("path").is_some() {
                sections.push(chart(Section::new("Error against size"), "path"));
            }
            sections.push(layers(result));
            sections.push(chart(inputs(result, network), "inputs"));
            sections.extend(confusion(result, network));
            if let Quality::Classification { calibration, .. } = &result.quality {
                let section = Section::new("Probabilities").text(&format!(
                    "What is said with some probability is right that often, but for {:.1} points on average.",
                    100.0 * calibration.error
                ));
                sections.push(chart(section, "calibration"));
            }
        }
        if drawn("learning").is_some() {
            let section = chart(Section::new("Learning"), "learning");
            sections.push(chart(section, "gates"));
        }
        let config = files::read(&folder.join("config.toml"))?;
        sections.push(Section::new("Settings").code(&config));
        let about = match self.chosen() {
            Some((_, network)) => network.names.targets.join(", "),
            None => self.settings.data.class.clone().unwrap_or("a table".into()),
        };
        Ok(Page::new(format!("A sparse network for {about}"), sections))
    }
}
