//! The page of a comparison of models, finished or under way.

use std::path::Path;

use ell0_plot::{Axis, Chart, Figure, Series};

use super::{
    ModelsRun,
    comparison::ModelEpoch,
    models::{Kind, Task},
    models_figure::figure,
};
use crate::{
    error::Result,
    files,
    model::read_model,
    report::{Page, Section, number, unfinished},
};

/// Test error and open gates of every model over the epochs.
fn learning(metrics: &[ModelEpoch]) -> Figure {
    let mut names: Vec<&str> = metrics.iter().map(|m| m.model.as_str()).collect();
    names.sort_by_key(|name| Kind::ALL.iter().position(|k| k.name() == *name));
    names.dedup();
    let mut errors = Chart::new(
        "Test error",
        Axis::linear("epoch"),
        Axis::log("mean squared error"),
    );
    let mut active = Chart::new("Open weights", Axis::linear("epoch"), Axis::log("weights"));
    for name in names {
        let records = || {
            let of = metrics.iter().filter(|m| m.model == name);
            of.map(|m| &m.record)
        };
        let error = records().filter_map(|r| Some((r.epoch as f64, r.test_error?)));
        errors = errors.with(Series::line(name, error));
        let open = records().map(|r| (r.epoch as f64, r.active_weights as f64));
        active = active.with(Series::line(name, open));
    }
    Figure::new(vec![errors, active])
        .with_columns(1)
        .with_size(640.0, 290.0)
}

/// An error for a table.
pub(crate) fn error_text(value: Option<f64>) -> String {
    match value {
        Some(v) if (0.01..1e4).contains(&v) => format!("{v:.3}"),
        Some(v) => format!("{v:.2e}"),
        None => "–".into(),
    }
}

const HEADER: [&str; 8] = [
    "model",
    "best train error",
    "best test error",
    "with all terms",
    "parameters",
    "active",
    "operations",
    "seconds",
];

impl ModelsRun {
    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        match &self.results {
            Some(results) => {
                let rows: Vec<Vec<String>> = results
                    .iter()
                    .map(|r| {
                        vec![
                            r.model.clone(),
                            error_text(Some(r.best_train_mse)),
                            error_text(Some(r.best_test_mse)),
                            error_text(r.all_terms_test_mse),
                            r.parameters.to_string(),
                            r.active.to_string(),
                            number(Some(r.flops), 0),
                            number(Some(r.seconds), 1),
                        ]
                    })
                    .collect();
                sections.push(
                    Section::new("Results")
                        .table(&HEADER, &rows)
                        .note("Mean squared errors of the best epoch, as the published figure has them; with all terms: the test error of least squares without any gate. Active parameters and operations are those that are left when closed gates are removed.")
                        .figure(&figure(self.settings.task, results)),
                );
            }
            None => sections.push(unfinished(folder)),
        }
        if !self.metrics.is_empty() {
            sections.push(Section::new("Learning").figure(&learning(&self.metrics)));
        }
        let mut equations = Section::new("Equations");
        let mut any = false;
        for kind in Kind::ALL {
            let name = kind.file();
            let file = folder.join("models").join(format!("{name}.json"));
            if file.exists() {
                equations = equations.equations(&name, &read_model(&file)?);
                any = true;
            }
        }
        if any {
            sections.push(equations);
        }
        let config = files::read(&folder.join("config.toml"))?;
        sections.push(Section::new("Settings").code(&config));
        let title = match self.settings.task {
            Task::Reward => "Reward models of the pendulum",
            Task::Dynamics => "Transition models of the pendulum",
        };
        Ok(Page::new(title, sections))
    }
}
