//! A policy in its loop.

use std::{
    io::{Write, stdout},
    time::Instant,
};

use ell0::equation::Model;
use ell0_control::{
    analysis::{
        Basin, Bench, Equilibrium, MOST_EQUILIBRIA, ParameterRange, Plant, ProvedRegion,
        TermEffect, equilibria, gain_margin, proved_region, tolerated_delay,
    },
    environment::Environment,
    evaluation::{ClosedForm, Return, evaluate},
};
use serde_json::{Value, json};

use super::{Analyze, OURS, portrait};
use crate::{progress::Progress, run_dir::RunDir};

/// Points of the basin along each state.
const POINTS: usize = 121;

/// Equilibria that are listed.
const SHOWN: usize = 12;

/// One in so many initial states measures robustness.
const EVERY: usize = 4;

/// The share by which the return may change before a parameter is out of its range.
const SHARE: f64 = 0.1;

/// Everything that was found.
struct Findings {
    equilibria: Vec<Equilibrium>,
    gain_margin: Option<(f64, f64)>,
    delay: Option<usize>,
    /// The region, or why there is none.
    region: Result<ProvedRegion, &'static str>,
    basin: Basin,
    /// What the return tells, where there is one, or why it cannot be told.
    worth: Option<Result<Worth, String>>,
    seconds: f64,
}

/// What the return tells, where there is one.
struct Worth {
    all: Return,
    starts: usize,
    parameters: Vec<ParameterRange>,
    terms: Vec<TermEffect>,
}

pub fn run(
    options: &Analyze,
    policy: &Model,
    plant: &Plant,
    world: Option<&dyn Environment>,
) -> anyhow::Result<()> {
    let began = Instant::now();
    let run_dir = match &options.out {
        Some(out) => Some(RunDir::new(Some(out), options.force, "analysis", OURS)?),
        None => None,
    };
    let map = plant.closed(policy, 1.0)?;
    let progress = Progress::new("analysing", Some(6));
    let equilibria = equilibria(plant, &map);
    progress.advance(1);
    // What the loop is for: the stable equilibrium nearest to 0.
    let main = equilibria.first().filter(|e| e.stable);
    let (mut margin, mut delay) = (None, None);
    let mut region = Err("there is no stable equilibrium");
    if let Some(main) = main {
        margin = gain_margin(plant, policy, main)?;
        delay = tolerated_delay(plant, policy, main)?;
        progress.advance(1);
        region = proved_region(plant, &map, main);
    }
    progress.advance(1);
    let basin = Basin::new(plant, &map, &equilibria, POINTS);
    progress.advance(1);
    let worth = match world {
        Some(world) => {
            let (observation, action) = (world.observation_space(), world.action_space());
            let closed = ClosedForm::new(policy.clone(), observation, action)?;
            let worth = || -> ell0_control::Result<Worth> {
                let all = evaluate(&world.text(), &closed, &world.evaluation_grid())?;
                let bench = Bench::new(world, EVERY);
                let terms = bench.terms(policy)?;
                progress.advance(1);
                let parameters = match main {
                    Some(main) => bench.ranges(policy, &main.state, SHARE)?,
                    None => Vec::new(),
                };
                Ok(Worth {
                    all,
                    starts: bench.starts(),
                    parameters,
                    terms,
                })
            };
            // A policy that fails somewhere still has equilibria.
            Some(worth().map_err(|e| format!("the policy fails in the environment: {e}")))
        }
        None => None,
    };
    drop(progress);
    let findings = Findings {
        equilibria,
        gain_margin: margin,
        delay,
        region,
        basin,
        worth,
        seconds: began.elapsed().as_secs_f64(),
    };
    let object = to_json(policy, plant, world, &findings);
    let text = serde_json::to_string_pretty(&object)? + "\n";
    let mut place = None;
    if let Some(mut run_dir) = run_dir {
        run_dir.put("analysis.json", &text)?;
        run_dir.put("model.json", policy.to_json())?;
        let figure = portrait::figure(
            plant,
            &map,
            &findings.equilibria,
            &findings.basin,
            findings.region.as_ref().ok(),
        );
        run_dir.draw("portrait", &figure)?;
        run_dir.report()?;
        place = Some(run_dir.finish()?);
    }
    let mut out = stdout().lock();
    if options.json {
        out.write_all(text.as_bytes())?;
        return Ok(());
    }
    print(&mut out, policy, plant, world, &findings)?;
    if let Some(place) = place {
        writeln!(
            out,
            "analysis.json, report.html and the phase portrait are in {}",
            place.display()
        )?;
    }
    Ok(())
}

fn to_json(
    policy: &Model,
    plant: &Plant,
    world: Option<&dyn Environment>,
    found: &Findings,
) -> Value {
    let equilibria: Vec<Value> = found
        .equilibria
        .iter()
        .enumerate()
        .map(|(k, e)| {
            let eigenvalues: Vec<[f64; 2]> = e.eigenvalues.iter().map(|z| [z.0, z.1]).collect();
            json!({
                "state": e.state, "eigenvalues": eigenvalues, "stable": e.stable, "decided": e.decided,
                "jacobian": e.jacobian, "basin_share": e.stable.then(|| found.basin.share(k)),
            })
        })
        .collect();
    let region = found.region.as_ref().ok().map(|r| {
        json!({
            "equilibrium": r.claim.centre, "p": r.claim.p, "level": r.claim.level, "reach": r.reach, "volume": r.volume,
            "boxes": r.boxes, "smallest_box": r.smallest, "inner_radius": r.inner_radius, "sampled_level": r.sampled_level,
        })
    });
    let worth = found.worth.as_ref().and_then(|w| w.as_ref().ok());
    let failed = found.worth.as_ref().and_then(|w| w.as_ref().err());
    json!({
        "policy": policy.text(17),
        "environment": world.map(|w| w.text()),
        "states": plant.states,
        "equilibria": equilibria,
        "gain_margin": found.gain_margin.map(|m| [m.0, m.1]),
        "tolerated_delay": found.delay,
        "return": worth.map(|w| json!({ "mean": w.all.mean, "ci95": w.all.ci95, "episodes": w.all.episodes })),
        "return_error": failed,
        "proved_region": region,
        "not_proved": found.region.as_ref().err(),
        "parameters": worth.map(|w| w.parameters.iter().map(|p| json!({ "name": p.name, "value": p.value, "low": p.range.0, "high": p.range.1 })).collect::<Vec<_>>()),
        "terms": worth.map(|w| w.terms.iter().map(|t| json!({ "term": t.term, "return_per_percent": t.per_percent, "return_without": t.dropped })).collect::<Vec<_>>()),
        "robustness_starts": worth.map(|w| w.starts),
        "seconds": found.seconds,
    })
}

/// Numbers between commas.
fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|v| format!("{v:.4}")).collect();
    texts.join(", ")
}

/// A complex number.
fn complex((re, im): (f64, f64)) -> String {
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

fn print(
    out: &mut impl Write,
    policy: &Model,
    plant: &Plant,
    world: Option<&dyn Environment>,
    found: &Findings,
) -> anyhow::Result<()> {
    writeln!(out, "{}", policy.text(5))?;
    match world {
        Some(world) => writeln!(out, "in {}\n", world.text())?,
        None => writeln!(out, "in a learned transition model\n")?,
    }
    writeln!(out, "Equilibria ({})", plant.states.join(", "))?;
    if found.equilibria.is_empty() {
        writeln!(out, "  none within the bounds")?;
    }
    for (k, e) in found.equilibria.iter().enumerate().take(SHOWN) {
        let values: Vec<String> = e.eigenvalues.iter().map(|z| complex(*z)).collect();
        let share = if e.stable {
            format!(
                ", {:.1} % of the grid ends here",
                100.0 * found.basin.share(k)
            )
        } else {
            String::new()
        };
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}{share}",
            list(&e.state),
            match (e.decided, e.stable) {
                (false, _) => "not decided by its linearisation",
                (true, true) => "stable",
                (true, false) => "unstable",
            },
            values.join(" and ")
        )?;
    }
    if found.equilibria.len() >= MOST_EQUILIBRIA {
        writeln!(out, "  and more: they are not isolated")?;
    } else if found.equilibria.len() > SHOWN {
        writeln!(out, "  and {} more", found.equilibria.len() - SHOWN)?;
    }
    if let (Some((low, high)), Some(delay)) = (found.gain_margin, found.delay) {
        writeln!(out, "\nMargins of the first")?;
        writeln!(
            out,
            "  gain    stable for factors from {low:.3} to {high:.3}"
        )?;
        writeln!(
            out,
            "  delay   stable for actions up to {delay} {} late",
            if delay == 1 { "step" } else { "steps" }
        )?;
    } else {
        writeln!(
            out,
            "\nThere is no stable equilibrium: nothing is proved, and there are no margins."
        )?;
    }
    match &found.region {
        Ok(r) => {
            writeln!(
                out,
                "\nProved: every trajectory from within dᵀPd ≤ {:.4} goes to the equilibrium",
                r.claim.level
            )?;
            let rows: Vec<String> = r.claim.p.iter().map(|row| list(row)).collect();
            writeln!(out, "  P = [{}]", rows.join("; "))?;
            writeln!(
                out,
                "  it reaches ±({}), volume {:.4}",
                list(&r.reach),
                r.volume
            )?;
            writeln!(
                out,
                "  {} boxes, the smallest {:.1e} of the set; samples would have allowed {:.4}",
                r.boxes, r.smallest, r.sampled_level
            )?;
            writeln!(
                out,
                "  of the exact map; the environment itself rounds observations to single precision"
            )?;
            if r.inner_radius > 0.0 {
                writeln!(
                    out,
                    "  up to a distance of {:.1e}, where the rounding of the equilibrium leaves it open",
                    r.inner_radius
                )?;
            }
        }
        Err(reason) if found.gain_margin.is_some() => {
            writeln!(out, "\nNo region could be proved: {reason}.")?;
        }
        Err(_) => {}
    }
    if let Some(Err(reason)) = &found.worth {
        writeln!(out, "\nNo return: {reason}")?;
    }
    if let Some(Ok(worth)) = &found.worth {
        writeln!(
            out,
            "\nReturn {:.2} ± {:.2} over {} initial states",
            worth.all.mean, worth.all.ci95, worth.all.episodes
        )?;
        for p in &worth.parameters {
            writeln!(
                out,
                "  {:<7} {} may go from {:.3} to {:.3} (return at most 10 % worse, equilibrium stable)",
                p.name, p.value, p.range.0, p.range.1
            )?;
        }
        let width = worth
            .terms
            .iter()
            .map(|t| t.term.chars().count())
            .max()
            .unwrap_or(0);
        writeln!(
            out,
            "\nTerms: return for 1 % more of it, and without it ({} initial states)",
            worth.starts
        )?;
        for t in &worth.terms {
            writeln!(
                out,
                "  {:<width$}  {:+8.3}  {:9.1}",
                t.term, t.per_percent, t.dropped
            )?;
        }
    }
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}
