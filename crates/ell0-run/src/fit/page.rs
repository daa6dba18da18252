//! The page of a fit.

use super::{Discovery, FitSettings};
use crate::report::{Page, Section};

/// How the choice of a law is told.
const CHOICE: &str = "The circle marks the law that was chosen: unless a number of terms or a price was asked for, the smallest whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves. The coefficients are from all rows, those that were held out for the choice included.";

/// How the choice by likelihood is told.
const JUDGED: &str = "The path is by rates of change. The circle marks its law of the size that was chosen; the law itself was chosen, and its coefficients found, by the likelihood of the measurements: trajectories through windows of them.";

impl Discovery {
    /// The page of the law; `config` is the text of its settings.
    pub(crate) fn page(&self, settings: &FitSettings, config: &str) -> Page {
        let mut laws = Section::new("The law").equations("", &self.model);
        let terms = self
            .equations
            .iter()
            .flat_map(|e| e.terms.iter().map(move |term| (e, term)));
        let rows: Vec<Vec<String>> = terms
            .map(|(equation, term)| {
                vec![
                    equation.target.clone(),
                    term.feature.clone(),
                    format!("{:.6}", term.coefficient),
                    term.error
                        .map_or("–".into(), |e| format!("± {:.2e}", 1.96 * e)),
                    term.probability.map_or("–".into(), |p| format!("{p:.3}")),
                ]
            })
            .collect();
        let header = [
            "target",
            "term",
            "coefficient",
            "95 % interval",
            "probability",
        ];
        laws = laws.table(&header, &rows);
        laws = laws.note("Probability: how sure the data are that the term belongs.");
        if let Some(judgement) = &self.judgement {
            for (equation, judged) in self.equations.iter().zip(&judgement.equations) {
                laws = laws.note(&format!("{}: {}.", equation.target, judged.words()));
            }
        }
        for equation in &self.equations {
            if let Some(reason) = &equation.no_probabilities {
                laws = laws.note(&format!(
                    "No probabilities for {}: {reason}.",
                    equation.target
                ));
            }
        }
        let error = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3e}"));
        let rows: Vec<Vec<String>> = self
            .path
            .iter()
            .filter(|line| line.chosen)
            .map(|line| {
                vec![
                    line.target.clone(),
                    line.terms.to_string(),
                    error(Some(line.train_mse)),
                    error(line.validation_mse),
                ]
            })
            .collect();
        let header = ["target", "terms chosen", "training error", "held-out error"];
        let path = Section::new("Error against number of terms")
            .figure(&self.path_figure())
            .table(&header, &rows)
            .note(if self.is_judged() { JUDGED } else { CHOICE });
        let name = settings.data.files.first().and_then(|f| f.file_name());
        let name = name.map_or("the data".into(), |n| n.to_string_lossy());
        Page::new(
            format!("The law behind {name}"),
            vec![laws, path, Section::new("Settings").code(config)],
        )
    }
}
