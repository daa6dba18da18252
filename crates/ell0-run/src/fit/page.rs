//! The page of a fit.

use ell0::dictionary::Rule;

use super::{Discovery, FitSettings, Followed};
use crate::report::{Page, Section};

/// How the choice of a law is told.
const CHOICE: &str = "The circle marks the law that was chosen: unless a number of terms or a price was asked for, the smallest whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves. The coefficients are from all rows, those that were held out for the choice included.";

/// How the choice by BIC is told.
const BIC: &str = "The path is by all rows; none are held out. The circle marks the law of the least BIC: rows · ln(mean squared error) + terms · ln(rows).";

/// How the law of a threshold is told.
const THRESHOLD: &str = "Sequentially thresholded least squares on all rows: coefficients below the threshold are cut and the others fitted again (with a ridge of 0.05), until none is below it; then the terms that are left are fitted without ridge. The errors are those of these terms, fitted to the training rows.";

/// How the choice by likelihood is told.
const JUDGED: &str = "The path is by rates of change. The circle marks its law of the size that was chosen; the law itself was chosen, and its coefficients found, by the likelihood of the measurements: trajectories through windows of them.";

/// What the last columns of the table of terms are.
const COLUMNS: &str = "Probability: how sure the data are that the term belongs. Contribution: the root mean square of the term, relative to that of what its equation gives; terms may cancel each other, so the contributions of an equation need not sum to 100 %.";

/// Places behind the point that show two digits of an error.
fn digits(error: f64) -> usize {
    if error > 0.0 && error.is_finite() {
        (1.0 - error.log10().floor()).clamp(0.0, 12.0) as usize
    } else {
        6
    }
}

/// A share in per cent.
fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p >= 100.5 => format!("{p:.0} %"),
        p if p >= 99.995 => "100 %".into(),
        p if p >= 99.0 => format!("{p:.2} %"),
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        p => format!("{p:.1e} %"),
    }
}

impl Followed {
    /// What the measurements with the law through them are.
    fn told(&self) -> String {
        let rows: usize = self.runs.iter().map(|run| run.time.len()).sum();
        let which = match self.every {
            1 => format!("{rows} rows"),
            every => format!("{rows} rows, one in {every}"),
        };
        let runs = match self.runs.len() {
            1 => String::new(),
            n => format!(", the {n} longest runs at the beginning of the data"),
        };
        let mut told = format!("Points: measurements ({which}{runs}). ");
        let longest = self.runs.iter().map(|run| run.time.len()).max();
        match self.window {
            None => told += "Line: where they are as the law says.",
            Some(rows) if Some(rows) >= longest => {
                told += "Line: the law, from one start for each run, the one that brings it nearest to the measurements.";
            }
            Some(rows) => {
                let every = rows * self.every;
                told += &format!(
                    "Line: the law. It is started anew every {every} rows, where it brings the line nearest to the measurements: through twice as many it does not stay near them, be it chaotic or not quite right."
                );
            }
        }
        let mut courses = self.runs.iter().flat_map(|run| &run.courses);
        if courses.any(|course| course.band.iter().any(Option::is_some)) {
            told += " Shaded: the band of 95 % that follows from how sure the coefficients are.";
        }
        told
    }

    /// How much of each target is explained.
    fn explained(&self) -> String {
        let each = self.targets.iter();
        let each = each.map(|t| format!("{} {}", t.target, percent(t.explained)));
        let each: Vec<String> = each.collect();
        format!(
            "Share of the variance that the law explains here (R²): {}.",
            each.join(", ")
        )
    }

    /// What residuals are.
    fn residuals_told(&self) -> &'static str {
        match self.targets.iter().all(|t| t.noise.is_some()) {
            true => {
                "In deviations of the noise, as the measurements have it by themselves. If the law is right and the noise is normal, the bars follow the line and nothing depends on time; a pattern is something that the law lacks."
            }
            false => {
                "In deviations of the noise where that is known, else of what is left itself (by its median). If nothing is left but normal noise, the bars follow the line; a pattern is something that the law lacks, or the error of following it."
            }
        }
    }
}

impl Discovery {
    fn law_section(&self) -> Section {
        let mut laws = Section::new("The law").equations("", &self.model);
        let terms = self
            .equations
            .iter()
            .flat_map(|e| e.terms.iter().map(move |term| (e, term)));
        let rows: Vec<Vec<String>> = terms
            .map(|(equation, term)| {
                let c = term.coefficient;
                let half = term.error.map(|e| 1.96 * e);
                let places = half.map_or(6, digits);
                let interval = |half| format!("{:.places$} … {:.places$}", c - half, c + half);
                vec![
                    equation.target.clone(),
                    term.feature.clone(),
                    format!("{c:.places$}"),
                    half.map_or("–".into(), interval),
                    term.probability.map_or("–".into(), |p| format!("{p:.3}")),
                    percent(term.contribution),
                ]
            })
            .collect();
        let header = [
            "target",
            "term",
            "coefficient",
            "95 % interval",
            "probability",
            "contribution",
        ];
        laws = laws.table(&header, &rows);
        if let Some(judgement) = &self.judgement {
            for (equation, judged) in self.equations.iter().zip(&judgement.equations) {
                laws = laws.text(&format!("{}: {}.", equation.target, judged.words()));
                let others: Vec<String> = judged.alternatives.iter().map(|a| a.words()).collect();
                if !others.is_empty() {
                    laws = laws.note(&format!("Or: {}.", others.join("; ")));
                }
                if let Some(caution) = &judged.caution {
                    laws = laws.text(&format!("{}: {}.", equation.target, caution.words()));
                }
            }
        }
        let left_out = self
            .blemishes_told()
            .into_iter()
            .chain(self.outliers_told())
            .chain(self.ended_told())
            .chain(self.cautions_told());
        for left_out in left_out {
            laws = laws.text(&format!("{left_out}."));
        }
        laws = laws.note(COLUMNS);
        for equation in &self.equations {
            if let Some(reason) = &equation.no_probabilities {
                laws = laws.note(&format!(
                    "No probabilities for {}: {reason}.",
                    equation.target
                ));
            }
        }
        laws
    }

    fn path_section(&self) -> Section {
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
        Section::new("Error against number of terms")
            .figure(&self.path_figure())
            .table(&header, &rows)
            .note(match self.rules.first() {
                _ if self.is_judged() => JUDGED,
                Some(Rule::Bic) => BIC,
                Some(Rule::Only) => THRESHOLD,
                _ => CHOICE,
            })
    }

    /// The page of the law, what people look for first at its top; `config` is the text of its settings.
    pub(crate) fn page(&self, settings: &FitSettings, config: &str) -> Page {
        let mut sections = vec![self.law_section()];
        if let Some(followed) = &self.followed {
            let dynamics = self.data.dynamics;
            let mut seen = Section::new("The measurements and the law")
                .figure(&followed.trajectories(dynamics))
                .note(&followed.told())
                .note(&followed.explained());
            if followed.hidden() > 0 {
                seen = seen.note(&format!(
                    "{} more targets are not drawn; they are in trajectories.csv.",
                    followed.hidden()
                ));
            }
            if let Some(planes) = followed.planes(dynamics) {
                seen = seen.figure(&planes);
            }
            sections.push(seen);
            let left = Section::new("What the law leaves")
                .figure(&followed.residuals(dynamics))
                .note(followed.residuals_told());
            sections.push(left);
        }
        sections.push(self.path_section());
        sections.push(Section::new("Settings").code(config));
        let name = settings.data.files.first().and_then(|f| f.file_name());
        let name = name.map_or("the data".into(), |n| n.to_string_lossy());
        Page::new(format!("The law behind {name}"), sections)
    }
}
