//! What is printed of a policy in its loop.

use std::io::Write;

use ell0::equation::Model;
use ell0_control::analysis::{Range, Stability};
use ell0_run::{LoopAnalysis, RegionEnding, RegionReport, TermReport, at_most};

use super::words::{complex, list, print_terms};

/// Equilibria that are listed.
const SHOWN: usize = 12;

pub fn print_loop(
    out: &mut impl Write,
    policy: &Model,
    found: &LoopAnalysis,
) -> anyhow::Result<()> {
    writeln!(out, "{}", policy.text(5))?;
    match &found.environment {
        Some(world) => writeln!(out, "in {world}\n")?,
        None => writeln!(out, "in a learned transition model\n")?,
    }
    print_equilibria(out, found)?;
    if let (Some([low, high]), Some(delay)) = (found.gain_margin, found.tolerated_delay) {
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
    match (&found.proved_region, &found.not_proved) {
        (Some(region), _) => print_region(out, region, found)?,
        (None, Some(reason)) if found.gain_margin.is_some() => {
            writeln!(out, "\nNo region could be proved: {reason}.")?;
        }
        _ => {}
    }
    print_basin(out, found)?;
    print_worth(out, found)?;
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}

/// A box by the ranges of some states.
fn region(sides: &[(String, Range)]) -> String {
    let sides = sides
        .iter()
        .map(|(name, r)| format!("{name} in [{}, {}]", r.low, r.high));
    sides.collect::<Vec<_>>().join(", ")
}

/// From where it is proved to arrive, what it keeps to, and for all of what.
fn print_basin(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    let limits = found.limits.as_ref();
    if let Some(basin) = &found.proved_basin {
        writeln!(
            out,
            "\nProved: every trajectory from {} % of {} reaches dᵀPd ≤ {} within {} steps",
            at_most(100.0 * basin.share, 1),
            match found.environment {
                Some(_) => "the state space",
                None => "the bounds",
            },
            basin.level,
            basin.steps
        )?;
        for limit in limits.iter().filter(|l| !l.stay.is_empty()) {
            writeln!(out, "  and never leaves {}", region(&limit.stay))?;
        }
        for avoided in limits.iter().flat_map(|l| &l.avoid) {
            writeln!(out, "  and never is in {}", region(avoided))?;
        }
        writeln!(
            out,
            "  {} cells{}, {:.1} s; checked anew in {:.1} s",
            basin.cells,
            if basin.symmetric {
                " of one half, for x and −x are alike"
            } else {
                ""
            },
            basin.seconds,
            basin.check_seconds
        )?;
    } else if let Some(reason) = &found.no_basin {
        writeln!(
            out,
            "\nNot proved to arrive there from elsewhere: {reason}."
        )?;
    }
    let all = found.uncertain.iter().map(|u| {
        let when = if u.varies { " at every step" } else { "" };
        format!("every {} in [{}, {}]{when}", u.name, u.low, u.high)
    });
    let rounding = "every rounding of observations to single precision".to_string();
    let all = all.chain(found.rounding.then_some(rounding));
    let all: Vec<String> = all.collect();
    if !all.is_empty() && found.proved_region.is_some() {
        writeln!(out, "  proofs hold for {}", all.join(", "))?;
    }
    for limit in limits.iter().filter(|l| !l.stay.is_empty()) {
        let text = region(&limit.stay);
        match (&limit.invariant, &limit.leaves_from) {
            (Some(true), _) => writeln!(
                out,
                "\nProved: no trajectory that begins with {text}, the other states within their bounds, ever leaves it"
            )?,
            (_, Some(state)) => writeln!(
                out,
                "\nNot every trajectory stays with {text}: from ({}) the next state is outside{}",
                list(state),
                match found.is_uncertain() {
                    true => ", for some of what is uncertain",
                    false => "",
                }
            )?,
            _ => writeln!(
                out,
                "\nWhether every trajectory stays with {text} could not be decided"
            )?,
        }
    }
    Ok(())
}

fn print_equilibria(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    writeln!(out, "Equilibria ({})", found.states.join(", "))?;
    if found.equilibria.is_empty() {
        writeln!(out, "  none within the bounds")?;
    }
    for e in found.equilibria.iter().take(SHOWN) {
        let values: Vec<String> = e.eigenvalues.iter().map(|z| complex(*z)).collect();
        let share = e.basin_share.map_or(String::new(), |share| {
            format!(", {:.1} % of the grid ends here", 100.0 * share)
        });
        writeln!(
            out,
            "  ({}): {}, eigenvalues {}{share}",
            list(&e.state),
            match e.stability() {
                Stability::Undecided => "not decided by its linearisation",
                Stability::Stable => "stable",
                Stability::Unstable => "unstable",
            },
            values.join(" and ")
        )?;
    }
    if found.more_equilibria {
        writeln!(out, "  and more: they are not isolated")?;
    } else if found.equilibria.len() > SHOWN {
        writeln!(out, "  and {} more", found.equilibria.len() - SHOWN)?;
    }
    Ok(())
}

fn print_region(
    out: &mut impl Write,
    r: &RegionReport,
    found: &LoopAnalysis,
) -> anyhow::Result<()> {
    let begins = format!("\nProved: every trajectory from within dᵀPd ≤ {}", r.level);
    match r.ending(found.is_uncertain()) {
        RegionEnding::Inner => writeln!(
            out,
            "{begins} stays there, and comes to dᵀPd ≤ {} to stay",
            r.inner_level
        )?,
        RegionEnding::Near => writeln!(
            out,
            "{begins} stays there, and comes to within {:.1e} of the equilibrium, which moves with what is uncertain",
            r.inner_radius
        )?,
        RegionEnding::There => writeln!(out, "{begins} goes to the equilibrium")?,
    }
    let rows: Vec<String> = r.p.rows().iter().map(|row| list(row)).collect();
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
        r.boxes, r.smallest_box, r.sampled_level
    )?;
    if found.environment.is_some() && !found.rounding {
        writeln!(
            out,
            "  of the exact map; the environment itself rounds observations to single precision (--rounding)"
        )?;
    }
    if r.inner_radius > 0.0 && !found.is_uncertain() {
        writeln!(
            out,
            "  up to a distance of {:.1e}, where the rounding of the equilibrium leaves it open",
            r.inner_radius
        )?;
    }
    Ok(())
}

fn print_worth(out: &mut impl Write, found: &LoopAnalysis) -> anyhow::Result<()> {
    if let Some(reason) = &found.return_error {
        writeln!(out, "\nNo return: {reason}")?;
    }
    let Some(worth) = &found.worth else {
        return Ok(());
    };
    writeln!(
        out,
        "\nReturn {:.2} ± {:.2} over {} initial states",
        worth.mean, worth.ci95, worth.episodes
    )?;
    for p in found.parameters.iter().flatten() {
        writeln!(
            out,
            "  {:<7} {} may go from {:.3} to {:.3} (return at most 10 % worse, equilibrium stable)",
            p.name, p.value, p.low, p.high
        )?;
    }
    let terms: Vec<&TermReport> = found.terms.iter().flatten().collect();
    let starts = found.robustness_starts.unwrap_or(0);
    print_terms(out, &terms, starts)
}
