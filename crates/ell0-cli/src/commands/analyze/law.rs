//! What is printed of a law of states.

use std::io::Write;

use ell0::equation::{Dynamics, Model};
use ell0_run::LawAnalysis;

use super::words::complex;

pub fn print_law(out: &mut impl Write, model: &Model, found: &LawAnalysis) -> anyhow::Result<()> {
    let unit = if model.dynamics() == Dynamics::Discrete {
        "step"
    } else {
        "unit of time"
    };
    writeln!(out, "{}\n", model.text(6))?;
    writeln!(out, "Fixed points ({})", found.states.join(", "))?;
    if found.equilibria.is_empty() {
        writeln!(out, "  none were found")?;
    }
    for p in &found.equilibria {
        let state: Vec<String> = p.state.iter().map(|v| format!("{v:.5}")).collect();
        let values: Vec<String> = p.eigenvalues.iter().map(|z| complex(*z)).collect();
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}",
            state.join(", "),
            if p.stable { "stable" } else { "unstable" },
            values.join(", ")
        )?;
    }
    match found.largest_lyapunov_exponent {
        Some(e) => writeln!(
            out,
            "\nLargest Lyapunov exponent {e:.4} per {unit}: neighbours {}",
            if e > 0.0 { "part" } else { "come together" }
        )?,
        None => writeln!(
            out,
            "\nNo Lyapunov exponent: the trajectory does not stay bounded"
        )?,
    }
    if let Some(v) = &found.valid_prediction_time {
        let times = v.lyapunov_times;
        let lyapunov = times.map_or(String::new(), |t| format!(" = {t:.1} Lyapunov times"));
        writeln!(
            out,
            "Predictions are valid for {:.3}{lyapunov} on average ({} starts, {} of them to the end of the data; error below {:.0} % of the spread)",
            v.mean,
            v.starts,
            v.valid_to_the_end,
            100.0 * v.threshold
        )?;
    }
    Ok(())
}
