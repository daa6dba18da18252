//! Several runs on one page: what they have in common first.

use std::path::Path;

use super::{Page, Run, Section, number};
use crate::{
    error::Result,
    network::NetworkResult,
    train::{MetricLine, RESULT_HEADER, result_row, returns},
    tutorial::error_text,
};

/// One page of several runs: tables over all of them, the learning curves of training together, then each by itself.
pub fn compare<P: AsRef<Path>>(folders: &[P]) -> Result<Page> {
    let mut sections = Vec::new();
    let (mut policies, mut models, mut networks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut laws, mut found_laws) = (Section::new("Laws"), false);
    let mut metrics: Vec<MetricLine> = Vec::new();
    // Curves of a single run need no comparison: they are on its own part of the page.
    let mut trained = 0;
    let mut own = Vec::new();
    for folder in folders {
        let folder = folder.as_ref();
        let name = folder.display().to_string();
        let run = Run::read(folder)?;
        match &run {
            Run::Training(run) => {
                for row in run.results.iter().flatten() {
                    policies.push([vec![name.clone()], result_row(row)].concat());
                }
                let lines = run.metrics.iter().cloned().map(|mut line| {
                    line.run = format!("{name} {}", line.run);
                    line
                });
                metrics.extend(lines);
                trained += usize::from(!run.metrics.is_empty());
            }
            Run::Models(run) => {
                for row in run.results.iter().flatten() {
                    models.push(vec![
                        name.clone(),
                        row.model.clone(),
                        error_text(Some(row.best_test_mse)),
                        row.active.to_string(),
                        number(Some(row.seconds), 1),
                    ]);
                }
            }
            Run::Networks(run) => {
                for row in run.rows() {
                    networks.push([vec![name.clone()], row.table_row()].concat());
                }
            }
            Run::Fit(_, found) => {
                laws = laws.equations(&name, &found.model);
                found_laws = true;
            }
            Run::Analysis(analysis) => {
                laws = laws.equations(&name, &analysis.model);
                found_laws = true;
            }
            Run::Figures(_) | Run::Pde(_) | Run::Tutorial(_) => {}
        }
        // The parts of a tutorial stay parts of it.
        let page = run.page(folder)?;
        own.extend(page.sections.into_iter().map(|s| s.under(&name)));
    }
    if !policies.is_empty() {
        let header = [&["run"][..], &RESULT_HEADER].concat();
        let mut section = Section::new("Policies").table(&header, &policies);
        if trained > 1 {
            section = section.figure(&returns(&metrics, None));
        }
        sections.push(section);
    }
    if !models.is_empty() {
        let header = ["run", "model", "test error", "active", "seconds"];
        sections.push(Section::new("Models").table(&header, &models));
    }
    if !networks.is_empty() {
        let header = [&["run"][..], &NetworkResult::HEADER].concat();
        sections.push(Section::new("Networks").table(&header, &networks));
    }
    if found_laws {
        sections.push(laws);
    }
    sections.extend(own);
    Ok(Page::new(
        format!("{} runs compared", folders.len()),
        sections,
    ))
}
