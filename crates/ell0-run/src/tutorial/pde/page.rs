//! The page of the two problems.

use std::path::Path;

use super::{PdeMeasured, PdeProblem, PdeRow, PdeRun, pictures};
use crate::{
    error::Result,
    report::{Page, Section},
};

const ABOUT: &str = "Eight actuators and eight sensors on a ring. The parameters of the equation change from episode to episode; policies see them beside the sensors, unless they are hidden. What is compared: a polynomial law of at most three terms that all actuators share (sensors counted from the actuator, with the known force at its place), polynomial laws of each actuator with gates (L0) and with a price on the sizes of coefficients (L1), and networks.";

impl PdeRow {
    /// Its cells in a table: the return in each situation.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        self.row(|m| self.number(m.worth))
    }

    /// Its cells in a table: the costs of the state and of the actions in each situation. None where only returns are known.
    #[must_use]
    pub fn costs(&self) -> Option<Vec<String>> {
        self.measured.first()?.state_cost?;
        let both = |m: &PdeMeasured| {
            let cost = |cost: Option<f64>| self.number(cost.unwrap_or(f64::NAN));
            format!("{} + {}", cost(m.state_cost), cost(m.control_cost))
        };
        Some(self.row(both))
    }

    fn row(&self, cell: impl Fn(&PdeMeasured) -> String) -> Vec<String> {
        let mut cells = vec![
            self.agent.clone(),
            self.seed.map_or("–".into(), |s| s.to_string()),
            self.terms.map_or("–".into(), |t| {
                let text = format!("{t:.1}");
                text.strip_suffix(".0").map_or(text.clone(), Into::into)
            }),
        ];
        cells.extend(self.measured.iter().map(cell));
        cells
    }

    /// Header of the same.
    #[must_use]
    pub fn header(&self) -> Vec<String> {
        let mut header: Vec<String> = ["agent", "seed", "terms"].map(Into::into).into();
        header.extend(self.measured.iter().map(|m| match m.noise > 0.0 {
            true => format!("{} with noise", m.situation),
            false => m.situation.clone(),
        }));
        header
    }

    fn number(&self, value: f64) -> String {
        match self.problem {
            PdeProblem::Ks => format!("{value:.1}"),
            PdeProblem::Cdr => format!("{value:.3}"),
        }
    }
}

impl PdeRun {
    /// The rows of a problem.
    pub fn of(&self, problem: PdeProblem) -> impl Iterator<Item = &PdeRow> {
        let rows = self.rows.iter().flatten();
        rows.filter(move |row| row.problem == problem)
    }

    pub(crate) fn page(&self, folder: &Path) -> Result<Page> {
        let mut sections = Vec::new();
        for problem in PdeProblem::ALL {
            let rows: Vec<&PdeRow> = self.of(problem).collect();
            let Some(first) = rows.first() else {
                continue;
            };
            let header = first.header();
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells()).collect();
            let title = problem.title();
            let noise = first.measured.iter().fold(0f64, |m, n| m.max(n.noise));
            let costs: Vec<Vec<String>> = rows.iter().filter_map(|row| row.costs()).collect();
            sections.push(
                Section::new(title)
                    .text("Mean return over all starts:")
                    .table(&header, &cells)
                    .text("What of it is the state and what the actions:")
                    .table(&header, &costs)
                    .note(&format!("Terms: of each actuator, on average. Noise: of deviation {noise}, on every sensor.")),
            );
            let svg = folder.join(format!("{}.svg", problem.name()));
            let drawn = match ell0::input::read_text(&svg) {
                Ok(svg) => Section::new(format!("{title}: over space and time")).svg(&svg),
                Err(_) => {
                    let figure = pictures::figure(self, problem)?;
                    Section::new(format!("{title}: over space and time")).figure(&figure)
                }
            };
            sections.push(drawn);
            let mut laws = Section::new(format!("{title}: laws"));
            for row in rows.iter().filter(|row| row.law.is_some()) {
                let seed = row.seed.map_or(String::new(), |s| format!(", seed {s}"));
                laws = laws.text(&format!("{}{seed}:", row.agent));
                for line in row.law.iter().flat_map(|l| l.lines()) {
                    laws = laws.note(line);
                }
            }
            sections.push(laws);
        }
        if sections.is_empty() {
            for (name, training) in &self.trainings {
                let page = training.page(&folder.join(name))?;
                sections.extend(page.sections.into_iter().map(|s| s.under(name)));
            }
        }
        if sections.is_empty() {
            sections.push(Section::new("Under way").text("Nothing is finished yet."));
        }
        let mut page = Page::new("Laws that control fields", sections);
        page.about.push(ABOUT.into());
        Ok(page)
    }
}
