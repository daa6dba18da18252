//! A law of states on its own.

use std::{
    io::{Write, stdout},
    path::Path,
};

use anyhow::ensure;
use ell0::equation::{Dynamics, Model};
use ell0_control::analysis::{FixedPoint, Law};
use ell0_data::table::{ReadOptions, Table, Want};
use serde_json::json;

use super::{Analyze, OURS};
use crate::{commands::model::read_all, run_dir::RunDir};

/// Steps of the exponent, and the time between two of a law of rates of change.
const STEPS: usize = 100_000;
const DT: f64 = 0.01;

/// A prediction is valid until its error exceeds this share of the spread of the data.
const VALID: f64 = 0.4;

/// How long predictions are valid.
struct Validity {
    mean: f64,
    /// Starts, and those that were still valid at the end of the data.
    starts: usize,
    to_the_end: usize,
}

pub fn run(options: &Analyze, model: &Model) -> anyhow::Result<()> {
    let law = Law::new(model)?;
    let run_dir = match &options.out {
        Some(out) => Some(RunDir::new(Some(out), options.force, "analysis", OURS)?),
        None => None,
    };
    let controls = model.controls()?;
    let trajectories = options
        .data
        .iter()
        .map(|path| trajectory(model, path))
        .collect::<anyhow::Result<Vec<_>>>()?;
    // The data say how large states are, and where a trajectory may begin.
    let scale = trajectories
        .iter()
        .flat_map(|t| t.1.iter().flatten())
        .fold(0f64, |m, v| m.max(v.abs()));
    let scale = if scale > 0.0 { scale } else { 100.0 };
    let points = law.fixed_points(scale);
    let initial = trajectories
        .first()
        .map_or_else(|| vec![0.1; law.states()], |t| t.1[0].clone());
    let exponent = law.largest_exponent(&initial, DT, STEPS);
    let validity = if trajectories.is_empty() {
        None
    } else {
        ensure!(
            controls.is_empty(),
            "--data needs a law without controls; this one has {}",
            controls.join(", ")
        );
        Some(valid_time(model, &trajectories)?)
    };
    let unit = if model.dynamics() == Dynamics::Discrete {
        "step"
    } else {
        "unit of time"
    };
    let object = json!({
        "law": model.text(17),
        "states": model.targets().collect::<Vec<_>>(),
        "equilibria": points.iter().map(|p| json!({
            "state": p.state, "stable": p.stable,
            "eigenvalues": p.eigenvalues.iter().map(|z| [z.0, z.1]).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "largest_lyapunov_exponent": exponent.filter(|e| e.is_finite()),
        "valid_prediction_time": validity.as_ref().map(|v| json!({
            "mean": v.mean, "starts": v.starts, "valid_to_the_end": v.to_the_end, "threshold": VALID,
            "lyapunov_times": exponent.filter(|e| *e > 0.0).map(|e| v.mean * e),
        })),
    });
    let text = serde_json::to_string_pretty(&object)? + "\n";
    let mut place = None;
    if let Some(mut run_dir) = run_dir {
        run_dir.put("analysis.json", &text)?;
        run_dir.put("model.json", model.to_json())?;
        run_dir.report()?;
        place = Some(run_dir.finish()?);
    }
    let mut out = stdout().lock();
    if options.json {
        out.write_all(text.as_bytes())?;
        return Ok(());
    }
    print(&mut out, model, &points, exponent, validity.as_ref(), unit)?;
    if let Some(place) = place {
        writeln!(
            out,
            "analysis.json and report.html are in {}",
            place.display()
        )?;
    }
    Ok(())
}

/// Times and states of a file.
fn trajectory(model: &Model, path: &Path) -> anyhow::Result<(Vec<f64>, Vec<Vec<f64>>)> {
    let states: Vec<String> = model.targets().map(String::from).collect();
    // A column of time has one of its usual names.
    let time = match model.dynamics() {
        Dynamics::Discrete => None,
        _ => {
            let known = ["t", "time"].into_iter().find(|name| {
                let wanted = [Want::Number(name.to_string())];
                Table::open(path, &wanted, ReadOptions::default()).is_ok()
            });
            ensure!(
                known.is_some(),
                "{}: a law of rates of change needs a column of time, `t` or `time`",
                path.display()
            );
            known.map(String::from)
        }
    };
    let columns: Vec<String> = time.iter().cloned().chain(states).collect();
    let mut columns = read_all(path, &columns)?;
    let rows = columns.first().map_or(0, Vec::len);
    let times = match time {
        Some(_) => columns.remove(0),
        None => (0..rows).map(|k| k as f64).collect(),
    };
    ensure!(
        rows >= 2,
        "{}: a trajectory needs at least two rows",
        path.display()
    );
    let by_row = (0..rows)
        .map(|r| columns.iter().map(|c| c[r]).collect())
        .collect();
    Ok((times, by_row))
}

/// The mean time until predictions leave the data, from ten starts in each trajectory.
fn valid_time(
    model: &Model,
    trajectories: &[(Vec<f64>, Vec<Vec<f64>>)],
) -> anyhow::Result<Validity> {
    let mut found = Validity {
        mean: 0.0,
        starts: 0,
        to_the_end: 0,
    };
    for (times, states) in trajectories {
        let n = states[0].len();
        let rows = states.len() as f64;
        let mean: Vec<f64> = (0..n)
            .map(|k| states.iter().map(|s| s[k]).sum::<f64>() / rows)
            .collect();
        let distance = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
        };
        let spread = (states.iter().map(|s| distance(s, &mean)).sum::<f64>() / rows).sqrt();
        let step = (states.len() / 10).max(1);
        for start in (0..states.len() - 1).step_by(step) {
            let run = model.simulate(&states[start], &times[start..], |_| Vec::new())?;
            let wrong = run
                .states
                .iter()
                .zip(&states[start..])
                .position(|(p, s)| distance(p, s).sqrt() > VALID * spread);
            let ended = run.states.len() < states.len() - start;
            let last = match wrong {
                Some(k) => k,
                None if ended => run.states.len(),
                None => {
                    found.to_the_end += 1;
                    states.len() - start - 1
                }
            };
            found.mean += times[(start + last).min(times.len() - 1)] - times[start];
            found.starts += 1;
        }
    }
    found.mean /= found.starts.max(1) as f64;
    Ok(found)
}

fn print(
    out: &mut impl Write,
    model: &Model,
    points: &[FixedPoint],
    exponent: Option<f64>,
    validity: Option<&Validity>,
    unit: &str,
) -> anyhow::Result<()> {
    writeln!(out, "{}\n", model.text(6))?;
    let names: Vec<&str> = model.targets().collect();
    writeln!(out, "Fixed points ({})", names.join(", "))?;
    if points.is_empty() {
        writeln!(out, "  none were found")?;
    }
    for p in points {
        let state: Vec<String> = p.state.iter().map(|v| format!("{v:.5}")).collect();
        let values: Vec<String> = p
            .eigenvalues
            .iter()
            .map(|z| match z.1 {
                0.0 => format!("{:.4}", z.0),
                im => format!(
                    "{:.4} {} {:.4}i",
                    z.0,
                    if im < 0.0 { '−' } else { '+' },
                    im.abs()
                ),
            })
            .collect();
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}",
            state.join(", "),
            if p.stable { "stable" } else { "unstable" },
            values.join(", ")
        )?;
    }
    match exponent {
        Some(e) if e.is_finite() => writeln!(
            out,
            "\nLargest Lyapunov exponent {e:.4} per {unit}: neighbours {}",
            if e > 0.0 { "part" } else { "come together" }
        )?,
        _ => writeln!(
            out,
            "\nNo Lyapunov exponent: the trajectory does not stay bounded"
        )?,
    }
    if let Some(v) = validity {
        let lyapunov = match exponent {
            Some(e) if e > 0.0 => format!(" = {:.1} Lyapunov times", v.mean * e),
            _ => String::new(),
        };
        writeln!(
            out,
            "Predictions are valid for {:.3}{lyapunov} on average ({} starts, {} of them to the end of the data; error below {:.0} % of the spread)",
            v.mean,
            v.starts,
            v.to_the_end,
            100.0 * VALID
        )?;
    }
    Ok(())
}
