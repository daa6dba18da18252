//! What a fit shows on the screen.

use std::{io::Write, path::Path};

use ell0::dictionary::Rule;
use ell0_run::Discovery;

use crate::table::new_table;

pub fn tables(out: &mut impl Write, found: &Discovery, folder: &Path) -> anyhow::Result<()> {
    data(out, found)?;
    writeln!(out, "\n\n{}\n", found.model.text(5))?;
    judgement(out, found)?;
    paths(out, found)?;
    notes(out, found)?;
    let how = match found.rule {
        Rule::Terms(terms) => format!("{terms} terms were asked for"),
        Rule::Lambda(lambda) => format!("the least error + {lambda} × terms"),
        _ if found.is_judged() => "the law under which the measurements themselves are most likely, a term being worth its price (BIC, with the number of laws of its size)".into(),
        _ => "the smallest law whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves".into(),
    };
    let rows = if found.is_judged() {
        "windows of the measurements, evenly drawn from all of them"
    } else {
        "all rows, those held out included"
    };
    writeln!(out, "Choice: {how}. Its coefficients are from {rows}.")?;
    writeln!(
        out,
        "Model, path, figures and config.toml are in {}",
        folder.display()
    )?;
    Ok(())
}

/// Coefficients with their intervals, and how far each equation explains its state.
fn judgement(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    let Some(judgement) = &found.judgement else {
        return Ok(());
    };
    if found.is_judged() {
        let header = ["target", "term", "coefficient", "95 % interval"];
        let mut grid = new_table(&header, 2);
        for equation in &found.equations {
            for term in &equation.terms {
                let Some(error) = term.error else { continue };
                let (c, half) = (term.coefficient, 1.96 * error);
                let digits = digits(half);
                grid.add_row([
                    equation.target.clone(),
                    term.feature.clone(),
                    format!("{c:.digits$}"),
                    format!("{:.digits$} … {:.digits$}", c - half, c + half),
                ]);
            }
        }
        writeln!(out, "{grid}")?;
    }
    for (equation, judged) in found.equations.iter().zip(&judgement.equations) {
        writeln!(out, "{}: {}", equation.target, judged.words())?;
    }
    if judgement.outliers > 0 {
        let (what, them) = match judgement.outliers {
            1 => ("measurement is", "it was"),
            _ => ("measurements are", "they were"),
        };
        writeln!(
            out,
            "{} {what} so far off that {them} left out",
            judgement.outliers
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Places behind the point that show two digits of an error.
fn digits(error: f64) -> usize {
    if error > 0.0 && error.is_finite() {
        (1.0 - error.log10().floor()).clamp(0.0, 12.0) as usize
    } else {
        6
    }
}

fn data(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    let data = &found.data;
    let what = if data.trajectories == 1 {
        "trajectory"
    } else {
        "trajectories"
    };
    write!(out, "{} rows in {} {what}", data.rows, data.trajectories)?;
    if data.dropped > 0 {
        write!(out, ", {} rows with missing cells left out", data.dropped)?;
    }
    if data.gaps > 0 {
        let gaps = if data.gaps == 1 { "gap" } else { "gaps" };
        write!(out, ", {} {gaps} over which nothing is joined", data.gaps)?;
    }
    if let Some(short) = data.short {
        write!(out, ", {} left out", too_short(short))?;
    }
    if let Some(noise) = data.noise {
        write!(
            out,
            "; noise about {:.2} % of a state's deviation; rates of change by {}",
            noise * 100.0,
            data.derivatives.join(", ")
        )?;
    }
    Ok(())
}

/// Trajectories that were left out, for a sentence.
pub fn too_short(short: u64) -> String {
    match short {
        1 => "1 trajectory that is too short".into(),
        short => format!("{short} trajectories that are too short"),
    }
}

fn paths(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    for equation in &found.equations {
        let target = &equation.target;
        writeln!(out, "{target}: the best law of every size")?;
        let header = [
            "",
            "terms",
            "train error",
            "validation error",
            "± std. error",
            "λ",
        ];
        let mut grid = new_table(&header, 1);
        let number = |value: Option<f64>| value.map_or("–".into(), |v| format!("{v:.3e}"));
        let chosen = found.path_of(target).find(|line| line.chosen);
        let chosen = chosen.map_or(0, |line| line.terms);
        // Past the chosen one a few lines show that nothing much is gained.
        for line in found.path_of(target).filter(|l| l.terms <= chosen + 4) {
            grid.add_row([
                if line.chosen { "→" } else { "" }.to_string(),
                line.terms.to_string(),
                number(Some(line.train_mse)),
                number(line.validation_mse),
                number(line.validation_deviation),
                number(line.lambda),
            ]);
        }
        writeln!(out, "{grid}")?;
        let sure: Vec<String> = equation
            .terms
            .iter()
            .filter_map(|t| {
                t.probability
                    .map(|p| format!("{} {:.0} %", t.feature, p * 100.0))
            })
            .collect();
        if !sure.is_empty() {
            writeln!(out, "Probability of each term: {}", sure.join(", "))?;
        }
        if let Some(reason) = &equation.no_probabilities {
            writeln!(out, "No probabilities of the terms: {reason}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Terms that the data cannot tell apart.
fn notes(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    const MOST: usize = 4;
    let indistinct = &found.indistinct;
    let mut notes: Vec<String> = Vec::new();
    notes.extend(indistinct.zero.iter().map(|n| format!("{n} is 0")));
    let constant = indistinct.constant.iter();
    notes.extend(constant.map(|n| format!("{n} is constant")));
    let duplicate = indistinct.duplicate.iter();
    notes.extend(duplicate.map(|(n, of)| format!("{n} is a multiple of {of}")));
    let collinear = indistinct.collinear.iter();
    notes.extend(collinear.map(|(n, of)| format!("{n} is a combination of {}", of.join(", "))));
    if notes.is_empty() {
        return Ok(());
    }
    let more = notes.len().saturating_sub(MOST);
    notes.truncate(MOST);
    if more > 0 {
        notes.push(format!("and {more} more"));
    }
    writeln!(
        out,
        "Note: on these data some terms cannot be told apart: {}.\n",
        notes.join("; ")
    )?;
    Ok(())
}
