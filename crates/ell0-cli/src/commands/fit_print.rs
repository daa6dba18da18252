//! What a fit shows on the screen.

use ell0::wording::shown_path;
use std::{io::Write, path::Path};

use ell0::dictionary::Rule;
use ell0_run::{Criterion, Discovery};

use crate::{line, table::new_table};

pub fn tables(out: &mut impl Write, found: &Discovery, folder: &Path) -> anyhow::Result<()> {
    data(out, found)?;
    writeln!(out)?;
    for left_out in found.blemishes_told() {
        line!(out, "{left_out}")?;
    }
    writeln!(out, "\n{}\n", found.model.text(5))?;
    judgement(out, found)?;
    if let Some(ended) = found.ended_told() {
        writeln!(out, "{ended}.\n")?;
    }
    paths(out, found)?;
    notes(out, found)?;
    let each = |value: fn(&Rule) -> Option<String>| {
        let mut values: Vec<String> = found.rules.iter().filter_map(value).collect();
        values.dedup();
        values.join(", ")
    };
    let terms = |rule: &Rule| match rule {
        Rule::Terms(terms) => Some(terms.to_string()),
        _ => None,
    };
    let price = |rule: &Rule| match rule {
        Rule::Lambda(lambda) => Some(lambda.to_string()),
        _ => None,
    };
    let threshold = found.threshold.unwrap_or_default();
    let how = match found.rules.first() {
        Some(Rule::Terms(_)) => format!("{} terms were asked for", each(terms)),
        Some(Rule::Lambda(_)) => format!("the least error + λ × terms, with λ = {}", each(price)),
        Some(Rule::Bic) => "the least BIC on the path of all rows, none of which are held out".into(),
        Some(Rule::Only) => format!("sequentially thresholded least squares on all rows, with a threshold of {threshold} (and PySINDy's ridge of 0.05 while terms are cut)"),
        _ if found.criterion == Criterion::Likelihood => "the law under which the measurements themselves are most likely, a term being worth its price (BIC, with the number of laws of its size)".into(),
        _ => "the smallest law whose error on held-out data is within one standard error of the least, or no larger than twice what noise and differencing leave in the targets themselves".into(),
    };
    let rows = match (found.is_judged(), found.data.input_noise.is_empty()) {
        (true, _) => "windows of the measurements, evenly drawn from all of them",
        (false, true) => "all rows, those held out included",
        (false, false) => {
            "all rows, those held out included, and corrected for the errors of the inputs"
        }
    };
    if found.no_samples {
        writeln!(
            out,
            "These statistics were made without samples of the rows: the law was chosen without the measurements themselves."
        )?;
    }
    writeln!(out, "Choice: {how}. Its coefficients are from {rows}.")?;
    writeln!(
        out,
        "Model, path, figures and config.toml are in {}",
        shown_path(folder)
    )?;
    Ok(())
}

/// Coefficients with their intervals, and how far each equation explains what it gives.
fn judgement(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    let Some(judgement) = &found.judgement else {
        return Ok(());
    };
    let terms = || found.equations.iter().flat_map(|e| &e.terms);
    if terms().any(|t| t.error.is_some()) {
        let header = [
            "target",
            "term",
            "coefficient",
            "95 % interval",
            "probability",
        ];
        let mut grid = new_table(&header, 2);
        for equation in &found.equations {
            for term in &equation.terms {
                let c = term.coefficient;
                let half = term.error.map(|e| 1.96 * e).filter(|h| h.is_finite());
                let digits = digits(half.unwrap_or(0.0));
                grid.add_row([
                    equation.target.clone(),
                    term.feature.clone(),
                    format!("{c:.digits$}"),
                    half.map_or("–".into(), |half| {
                        format!("{:.digits$} … {:.digits$}", c - half, c + half)
                    }),
                    term.probability.map_or("–".into(), percent),
                ]);
            }
        }
        writeln!(out, "{grid}")?;
    }
    for (equation, judged) in found.equations.iter().zip(&judgement.equations) {
        line!(out, "{}: {}", equation.target, judged.words())?;
        for other in &judged.alternatives {
            line!(out, "   or: {}", other.words())?;
        }
        if let Some(caution) = &judged.caution {
            writeln!(out, "   caution: {} (--input-noise)", caution.words())?;
        }
    }
    if let Some(left_out) = found.outliers_told() {
        line!(out, "{left_out}")?;
    }
    writeln!(out)?;
    Ok(())
}

/// Terms that were left out and are told one by one.
const TOLD: usize = 3;

/// A probability; only what is sure up to rounding is 100 %.
fn percent(p: f64) -> String {
    match 100.0 * p {
        p if p > 99.95 => "100 %".into(),
        p if p > 99.0 => format!("{p:.1} %"),
        p if p < 1.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
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
    if data.coarse {
        write!(
            out,
            "; so few for how fast the states move that noise cannot be told from movement"
        )?;
    }
    if let Some(noise) = data.noise {
        let percent = noise * 100.0;
        write!(out, "; noise about {percent:.2} % of a state's deviation")?;
    }
    match &data.derivatives[..] {
        [] => {}
        [one] if one == "given" => write!(out, "; rates of change given")?,
        ways => write!(out, "; rates of change by {}", ways.join(", "))?,
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
        let what = match found.threshold {
            Some(_) => "the law that the threshold leaves",
            None => "the best law of every size",
        };
        line!(out, "{target}: {what}")?;
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
        // Where there are intervals, they stand in one table with these.
        let told = equation.terms.iter().any(|t| t.error.is_some());
        let sure = equation.terms.iter().filter(|_| !told);
        let sure: Vec<String> = sure
            .filter_map(|t| Some(format!("{} {}", t.feature, percent(t.probability?))))
            .collect();
        if !sure.is_empty() {
            line!(out, "Probability of each term: {}", sure.join(", "))?;
        }
        let absent = equation.left_out.iter().take(TOLD);
        let absent: Vec<String> = absent
            .map(|t| format!("{} {}", t.feature, percent(t.probability)))
            .collect();
        if !absent.is_empty() {
            line!(out, "Left out, but possible: {}", absent.join(", "))?;
        }
        if let Some(reason) = &equation.no_probabilities {
            line!(out, "No probabilities of the terms: {reason}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Terms that the data cannot tell apart.
fn notes(out: &mut impl Write, found: &Discovery) -> anyhow::Result<()> {
    const MOST: usize = 4;
    for caution in found.cautions_told() {
        writeln!(out, "Note: {caution}.\n")?;
    }
    let indistinct = &found.indistinct;
    let mut notes: Vec<String> = Vec::new();
    notes.extend(indistinct.zero.iter().map(|n| format!("{n} is 0")));
    let constant = indistinct.constant.iter();
    notes.extend(constant.map(|n| format!("{n} is constant")));
    let duplicate = indistinct.duplicate.iter();
    notes.extend(duplicate.map(|(n, of)| format!("{n} is a multiple of {of}")));
    // Those with coefficients say more.
    let collinear = indistinct
        .collinear
        .iter()
        .filter(|_| found.relations.is_empty());
    notes.extend(collinear.map(|(n, of)| format!("{n} is a combination of {}", of.join(", "))));
    if notes.is_empty() {
        return Ok(());
    }
    let more = notes.len().saturating_sub(MOST);
    notes.truncate(MOST);
    if more > 0 {
        notes.push(format!("and {more} more"));
    }
    line!(
        out,
        "Note: on these data some terms cannot be told apart: {}.",
        notes.join("; ")
    )?;
    writeln!(out)?;
    Ok(())
}
