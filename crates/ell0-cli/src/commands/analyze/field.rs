//! What is printed of a policy in a loop of many states.

use std::io::Write;

use ell0::equation::Model;
use ell0_control::analysis::{Ending, ProvedSet, Reach, Stability};
use ell0_run::{FieldAnalysis, TermReport};

use super::words::{complex, print_terms};

/// Eigenvalues of many that are listed, and terms.
const LARGEST: usize = 4;
const TERMS: usize = 16;

/// An end of a range, and why it ends there; `beyond` says where the search did not go.
fn end(reach: &Reach, beyond: &str) -> String {
    match reach.ending {
        Ending::Searched => format!("{:.3} or {beyond}", reach.value),
        ending => format!("{:.3} ({ending})", reach.value),
    }
}

pub fn print_field(
    out: &mut impl Write,
    policy: &Model,
    found: &FieldAnalysis,
) -> anyhow::Result<()> {
    writeln!(out, "{}", policy.text(5))?;
    writeln!(out, "in {}\n", found.environment)?;
    writeln!(
        out,
        "A loop of {} states and {}. From a typical state it {}.",
        found.states.len(),
        match found.actions.len() {
            1 => "1 action".to_string(),
            actions => format!("{actions} actions"),
        },
        found.behaviour
    )?;
    print_rest(out, found)?;
    if let (Some(gain), Some(delay)) = (&found.gain_margin, &found.delay) {
        writeln!(out, "\nThe equilibrium stays stable for")?;
        let (low, high) = (end(&gain.low, "less"), end(&gain.high, "more"));
        writeln!(out, "  gain    factors from {low} to {high}")?;
        let more = if delay.ends { "" } else { " or more" };
        writeln!(
            out,
            "  delay   actions up to {}{more} late",
            match delay.tolerated {
                1 => "1 step".to_string(),
                steps => format!("{steps} steps"),
            }
        )?;
        for p in found.parameters.iter().flatten() {
            let (low, high) = (end(&p.low, "less"), end(&p.high, "more"));
            writeln!(out, "  {:<7} {} from {low} to {high}", p.name, p.value)?;
        }
    }
    match (&found.proved_set, &found.not_proved) {
        (Some(set), _) => print_set(out, set)?,
        (None, Some(reason)) => writeln!(out, "\nNot proved: {reason}.")?,
        (None, None) => {}
    }
    if let Some(reason) = &found.return_error {
        writeln!(out, "\nNo return: {reason}")?;
    }
    if let Some(worth) = &found.worth {
        writeln!(
            out,
            "\nReturn {:.3} ± {:.3} over {} initial states",
            worth.mean, worth.ci95, worth.episodes
        )?;
        // Those that matter most, in their order.
        let all: Vec<&TermReport> = found.terms.iter().flatten().collect();
        let loss = |t: &TermReport| worth.mean - t.return_without;
        let mut losses: Vec<f64> = all.iter().map(|t| loss(t)).collect();
        losses.sort_by(|a, b| b.total_cmp(a));
        let least = losses.get(TERMS - 1).copied();
        let shown = all
            .iter()
            .filter(|t| least.is_none_or(|least| loss(t) >= least));
        let shown: Vec<&TermReport> = shown.copied().take(TERMS).collect();
        print_terms(out, &shown, found.term_starts.unwrap_or(0))?;
        if all.len() > shown.len() {
            let more = all.len() - shown.len();
            writeln!(out, "  and {more} that matter less")?;
        }
    }
    writeln!(out, "\n{:.1} s", found.seconds)?;
    Ok(())
}

fn print_rest(out: &mut impl Write, found: &FieldAnalysis) -> anyhow::Result<()> {
    let Some(e) = &found.equilibrium else {
        writeln!(out, "\nNewton's method finds no equilibrium near it.")?;
        return Ok(());
    };
    writeln!(
        out,
        "\nEquilibrium {} (residual {:.0e}): {}",
        match e.amplitude() {
            0.0 => "0".to_string(),
            size => format!("with components up to ±{size:.4}"),
        },
        e.residual,
        match e.stability {
            Stability::Stable => "stable",
            Stability::Unstable => "unstable",
            Stability::Undecided => "not decided by its linearisation",
        }
    )?;
    let count = e.eigenvalues.len();
    let largest: Vec<String> = e
        .eigenvalues
        .iter()
        .take(LARGEST)
        .map(|z| complex(*z))
        .collect();
    writeln!(
        out,
        "  {count} eigenvalues, the largest {}",
        largest.join(", ")
    )?;
    if e.conserved > 0 {
        writeln!(
            out,
            "  {} more are 1 whatever is done: the world conserves something, and states are compared with those that have as much of it",
            e.conserved
        )?;
    }
    if let Some(s) = &found.starts {
        let time = s.mean_actions.map_or(String::new(), |mean| {
            format!(", after {mean:.0} on average")
        });
        writeln!(
            out,
            "  {} of {} random starts come to it within {} actions{time}",
            s.reached, s.starts, s.actions
        )?;
    } else {
        writeln!(out, "  there are no margins of what is not stable")?;
    }
    Ok(())
}

fn print_set(out: &mut impl Write, set: &ProvedSet) -> anyhow::Result<()> {
    match set.level {
        None => writeln!(
            out,
            "\nProved: every trajectory, from every state, goes to 0"
        )?,
        Some(level) => {
            writeln!(
                out,
                "\nProved: every trajectory from within yᵀPy ≤ {level:.4} goes to 0"
            )?;
            writeln!(
                out,
                "  it holds uniform fields up to ±{:.4}, every state of length {:.4}, and {} of {} typical states (which could be {:.2} times as large, in the median)",
                set.uniform.unwrap_or(0.0),
                set.radius.unwrap_or(0.0),
                set.typical_inside,
                set.typical_states,
                set.typical_factor.unwrap_or(0.0)
            )?;
            let least = set.shares.iter().fold(1.0, |m: f64, s| m.min(*s));
            writeln!(
                out,
                "  in it actions are at least {least:.3} of what they would be without bounds"
            )?;
        }
    }
    writeln!(
        out,
        "  {} corners verified by Cholesky factorisations, {:.0e} subtracted for rounding; P is in analysis.json",
        set.corners, set.rounding
    )?;
    writeln!(
        out,
        "  of the exact loop; the environment itself rounds observations to single precision"
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use ell0_control::{
        analysis::{
            Behaviour, Complex, Crossing, FieldDelay, GainReach, Matrix, ParameterReach, Reaching,
        },
        policy::policy_from_text,
    };
    use ell0_run::{FieldEquilibriumReport, ReturnReport};

    use super::*;

    /// A loop of 200 states whose numbers are made up.
    fn found() -> FieldAnalysis {
        let reach = |value: f64, ending: Ending| Reach { value, ending };
        let hopf = Ending::Unstable {
            crossing: Crossing::Pair,
            eigenvalue: Complex { re: 0.0, im: 1.0 },
        };
        let term = |k: usize| TermReport {
            action: format!("a{k}"),
            term: "-2*m".into(),
            return_per_percent: 0.001,
            return_without: -(k as f64),
        };
        FieldAnalysis {
            policy: "a0 = -2*m".into(),
            environment: "field".into(),
            states: (0..200).map(|k| format!("y{k}")).collect(),
            actions: vec!["a0".into()],
            behaviour: Behaviour::Settles,
            equilibrium: Some(FieldEquilibriumReport {
                state: vec![0.25; 200],
                residual: 3e-15,
                eigenvalues: vec![[0.9, 0.1], [0.9, -0.1], [0.5, 0.0], [0.4, 0.0], [0.3, 0.0]],
                stability: Stability::Stable,
                conserved: 1,
            }),
            gain_margin: Some(GainReach {
                low: reach(0.001, Ending::Searched),
                high: reach(2.5, hopf),
            }),
            delay: Some(FieldDelay {
                tolerated: 20,
                ends: false,
            }),
            parameters: Some(vec![ParameterReach {
                name: "mu".into(),
                value: 0.1,
                low: reach(-0.2, Ending::Lost),
                high: reach(1.1, Ending::Searched),
            }]),
            starts: Some(Reaching {
                starts: 100,
                reached: 98,
                actions: 1000,
                mean_actions: Some(41.5),
            }),
            proved_set: Some(ProvedSet {
                p: Matrix::from_rows(vec![vec![1.0]]),
                level: Some(2.0),
                shares: vec![0.3],
                corners: 2,
                rounding: 1e-12,
                reach: Some(vec![1.4]),
                uniform: Some(0.1),
                radius: Some(1.4),
                typical_states: 200,
                typical_inside: 150,
                typical_factor: Some(1.5),
            }),
            not_proved: None,
            worth: Some(ReturnReport {
                mean: -0.5,
                ci95: 0.1,
                episodes: 50,
            }),
            return_error: None,
            terms: Some((1..=20).map(term).collect()),
            term_starts: Some(20),
            seconds: 1.0,
        }
    }

    fn shown(found: &FieldAnalysis) -> String {
        let law = policy_from_text("-2*m", &["m".into()], &["a0".into()]).expect("a law");
        let mut out = Vec::new();
        print_field(&mut out, &law, found).expect("printed");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn many_states_are_printed_in_few_lines() {
        let text = shown(&found());
        for words in [
            "A loop of 200 states and 1 action. From a typical state it comes to rest.",
            "components up to ±0.2500 (residual 3e-15): stable",
            "5 eigenvalues, the largest 0.9000 + 0.1000i, 0.9000 − 0.1000i, 0.5000, 0.4000\n",
            "the world conserves something",
            "98 of 100 random starts",
            "from 0.001 or less to 2.500 (a pair of eigenvalues leaves the circle at ±90.0°)",
            "up to 20 steps or more late",
            "mu      0.1 from -0.200 (the equilibrium is lost) to 1.100 or more",
            "Proved: every trajectory from within yᵀPy ≤ 2.0000 goes to 0",
            "150 of 200 typical states",
            "and 4 that matter less",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(text.lines().count() < 50, "{text}");
        let refused = FieldAnalysis {
            behaviour: Behaviour::Cycles { period: 7 },
            equilibrium: None,
            gain_margin: None,
            delay: None,
            proved_set: None,
            not_proved: Some("the world is not linear".into()),
            worth: None,
            return_error: Some("it failed".into()),
            ..found()
        };
        let text = shown(&refused);
        for words in [
            "after 7 actions, again and again (a limit cycle)",
            "finds no equilibrium",
            "Not proved: the world is not linear.",
            "No return: it failed",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
