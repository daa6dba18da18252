//! What several analyses print alike.

use std::io::Write;

use ell0_run::TermReport;

/// Numbers between commas.
pub fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|v| format!("{v:.4}")).collect();
    texts.join(", ")
}

/// A complex number.
pub fn complex([re, im]: [f64; 2]) -> String {
    if im == 0.0 {
        format!("{re:.4}")
    } else {
        format!(
            "{re:.4} {} {:.4}i",
            if im < 0.0 { '−' } else { '+' },
            im.abs()
        )
    }
}

/// What each term does.
pub fn print_terms(
    out: &mut impl Write,
    terms: &[&TermReport],
    starts: usize,
) -> anyhow::Result<()> {
    let several = terms.iter().any(|t| t.action != terms[0].action);
    let names: Vec<String> = terms
        .iter()
        .map(|t| match several {
            true => format!("{}: {}", t.action, t.term),
            false => t.term.clone(),
        })
        .collect();
    let width = names.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    writeln!(
        out,
        "\nTerms: return for 1 % more of it, and without it ({starts} initial states)"
    )?;
    // Small returns differ behind the comma.
    let small = terms.iter().all(|t| t.return_without.abs() < 10.0);
    let digits = if small { 3 } else { 1 };
    for (name, t) in names.iter().zip(terms) {
        writeln!(
            out,
            "  {name:<width$}  {:+8.3}  {:9.digits$}",
            t.return_per_percent, t.return_without
        )?;
    }
    Ok(())
}
