//! The results as Markdown.

use std::fmt::Write;

use ell0_run::Verdict;

use crate::{score::Outcome, study::Study};

/// Everything that is to be read: tables, then each failure.
pub fn markdown(study: Study, outcomes: &[Outcome]) -> String {
    match study {
        Study::Textbook => runs(outcomes) + &failures(outcomes, fails_on_a_run, in_r2),
        Study::Nine | Study::Board => {
            structure(outcomes) + &by_system(outcomes) + &failures(outcomes, fails_terms, in_terms)
        }
    }
}

/// Outcomes that belong together, in the order in which they came up.
fn grouped<'a, K: PartialEq>(
    outcomes: &'a [Outcome],
    key: impl Fn(&'a Outcome) -> K,
) -> Vec<(K, Vec<&'a Outcome>)> {
    let mut groups: Vec<(K, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let key = key(outcome);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, group)) => group.push(outcome),
            None => groups.push((key, vec![outcome])),
        }
    }
    groups
}

/// Variant and noise: what the rows of tables are.
fn setting(outcome: &Outcome) -> (&str, f64) {
    (&outcome.variant, outcome.noise.level())
}

fn percent(level: f64) -> String {
    // Through text, lest 0.07 becomes 7.000000000000001.
    format!("{} %", (level * 1e8).round() / 1e6)
}

fn count(group: &[&Outcome], what: impl Fn(&Outcome) -> bool) -> usize {
    group.iter().filter(|o| what(o)).count()
}

fn seconds(group: &[&Outcome]) -> f64 {
    group.iter().map(|o| o.seconds).sum()
}

/// How many laws are right on the run, and from the second initial state.
fn runs(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| data | noise | laws sought | R² > 0.9 on the run | from the second state | inside the library: on the run | second | exact terms | aborts | seconds |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for ((variant, level), group) in grouped(outcomes, setting) {
        let inside = count(&group, |o| o.inside);
        let _ = writeln!(
            text,
            "| {variant} | {} | {} | {} | {} | {} of {inside} | {} of {inside} | {} of {inside} | {} | {:.1} |",
            percent(level),
            group.len(),
            count(&group, Outcome::on_run),
            count(&group, Outcome::on_second),
            count(&group, |o| o.inside && o.on_run()),
            count(&group, |o| o.inside && o.on_second()),
            count(&group, |o| o.exact == Some(true)),
            count(&group, |o| o.error.is_some()),
            seconds(&group),
        );
    }
    text
}

/// How many laws have exactly the right terms, and how good their coefficients are.
fn structure(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "| data | noise | laws sought | exact terms | median of their largest coefficient errors | truth within 95 % intervals | false alarms | R² > 0.9 on the run | second | aborts | seconds |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for ((variant, level), group) in grouped(outcomes, setting) {
        let mut errors: Vec<f64> = group.iter().filter_map(|o| o.coefficient_error).collect();
        errors.sort_unstable_by(f64::total_cmp);
        let median = match errors.len() {
            0 => "–".into(),
            n => format!("{:.1e}", (errors[(n - 1) / 2] + errors[n / 2]) / 2.0),
        };
        let _ = writeln!(
            text,
            "| {variant} | {} | {} | {} | {median} | {} | {} | {} | {} | {} | {:.1} |",
            percent(level),
            group.len(),
            count(&group, |o| o.exact == Some(true)),
            coverage(&group),
            alarms(&group),
            count(&group, Outcome::on_run),
            count(&group, Outcome::on_second),
            count(&group, |o| o.error.is_some()),
            seconds(&group),
        );
    }
    text
}

/// The share of coefficients whose intervals have the truth in them, of laws with the right terms.
fn coverage(group: &[&Outcome]) -> String {
    let covered: usize = group.iter().map(|o| o.covered).sum();
    match group.iter().map(|o| o.intervals).sum::<usize>() {
        0 => "–".into(),
        all => format!("{:.1} % of {all}", 100.0 * covered as f64 / all as f64),
    }
}

/// Equations with the right terms that are not said to be explained.
fn alarms(group: &[&Outcome]) -> String {
    let right = group.iter().filter(|o| o.exact == Some(true));
    let verdicts: Vec<_> = right.flat_map(|o| &o.verdicts).collect();
    let wrong = verdicts.iter().filter(|v| ***v != Verdict::Explained);
    match verdicts.len() {
        0 => "–".into(),
        all => format!("{} of {all}", wrong.count()),
    }
}

/// Exact terms, system by system.
fn by_system(outcomes: &[Outcome]) -> String {
    let settings = grouped(outcomes, setting);
    let mut text = String::from("\nExact terms, of all seeds:\n\n| system |");
    for ((variant, level), _) in &settings {
        let _ = write!(text, " {variant} {} |", percent(*level));
    }
    text += "\n| --- |";
    text += &" ---: |".repeat(settings.len());
    text.push('\n');
    for (system, group) in grouped(outcomes, |o| o.system.as_str()) {
        let _ = write!(text, "| {system} |");
        for (wanted, _) in &settings {
            let here: Vec<&Outcome> = group
                .iter()
                .copied()
                .filter(|o| setting(o) == *wanted)
                .collect();
            let exact = count(&here, |o| o.exact == Some(true));
            match here.len() {
                0 => text += " – |",
                n => drop(write!(text, " {exact} of {n} |")),
            }
        }
        text.push('\n');
    }
    text
}

fn fails_on_a_run(outcome: &Outcome) -> bool {
    !outcome.on_run() || !outcome.on_second()
}

fn fails_terms(outcome: &Outcome) -> bool {
    outcome.exact != Some(true)
}

fn in_r2(outcome: &Outcome) -> String {
    let shown = |r2: Option<f64>| r2.map_or("diverges".into(), |r2| format!("{r2:.3}"));
    let outside = if outcome.inside {
        ""
    } else {
        ", outside the library"
    };
    let (run, second) = (shown(outcome.r2), shown(outcome.r2_second));
    format!("R² {run}, second {second}{outside}")
}

fn in_terms(_: &Outcome) -> String {
    "other terms".into()
}

/// Every failure, with the law that was found or why there is none.
fn failures(
    outcomes: &[Outcome],
    fails: fn(&Outcome) -> bool,
    how: fn(&Outcome) -> String,
) -> String {
    let failed: Vec<&Outcome> = outcomes.iter().filter(|o| fails(o)).collect();
    let mut text = format!("\n{} of {} failed.\n", failed.len(), outcomes.len());
    for outcome in failed {
        let Outcome {
            system,
            variant,
            seed,
            ..
        } = outcome;
        let noise = percent(outcome.noise.level());
        let what = match (&outcome.error, &outcome.law) {
            (Some(error), _) => format!("abort: {error}"),
            (None, law) => format!("{}: `{}`", how(outcome), law.as_deref().unwrap_or("")),
        };
        let _ = write!(
            text,
            "\n- {system}, {variant}, noise {noise}, seed {seed}: {what}"
        );
    }
    text.push('\n');
    text
}
