//! `ell0 gates` as a user runs it.

use std::{path::Path, process::Output};

use serde_json::Value;

use crate::text;

/// No folder matters here: nothing is written.
fn ell0(arguments: &[&str]) -> Output {
    crate::ell0(Path::new("."), arguments)
}

#[test]
fn help_and_version_answer() {
    let help = ell0(&["--help"]);
    assert!(help.status.success());
    assert!(text(&help.stdout).contains("gates"));
    let version = ell0(&["--version"]);
    assert_eq!(
        text(&version.stdout).trim(),
        format!("ell0 {}", env!("CARGO_PKG_VERSION"))
    );
    // Without a command: the help, and an exit code that says nothing was done.
    let nothing = ell0(&[]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(text(&nothing.stderr).contains("Usage"));
}

#[test]
fn tables_are_printed_and_repeat() {
    let first = ell0(&["gates", "--repeats", "200"]);
    assert!(first.status.success());
    let shown = text(&first.stdout);
    for words in [
        "P(z ≠ 0): active",
        "0.8318",
        "hard-concrete",
        "straight-through",
        "REINFORCE + baseline",
    ] {
        assert!(shown.contains(words), "{words} is missing in\n{shown}");
    }
    assert_eq!(first.stdout, ell0(&["gates", "--repeats", "200"]).stdout);
    assert_ne!(
        first.stdout,
        ell0(&["gates", "--repeats", "200", "--seed", "1"]).stdout
    );
}

#[test]
fn json_holds_the_quantities_of_the_gate_that_was_asked_for() {
    let arguments = [
        "gates",
        "--log-alpha",
        "-0.3",
        "--beta",
        "0.5",
        "--gamma",
        "-0.2",
        "--zeta",
        "1.3",
        "--repeats",
        "2000",
        "--json",
    ];
    let output = ell0(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let gate = ell0::gates::HardConcrete::new(0.5, -0.2, 1.3).expect("valid parameters");
    assert_eq!(object["parameters"]["gamma"], -0.2);
    assert_eq!(object["gate"]["prob_active"], gate.prob_active(-0.3));
    assert_eq!(object["gate"]["mean"], gate.moments(-0.3).mean);
    let estimators = object["gradient"]["estimators"].as_array().expect("a list");
    assert_eq!(estimators.len(), 5);
    for estimator in estimators {
        assert_eq!(estimator["variance"].as_array().expect("a list").len(), 4);
    }
    let total = |k: usize| -> f64 {
        estimators[k]["variance"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_f64)
            .sum()
    };
    assert!(total(0) < total(3), "REINFORCE has the larger variance");
}

#[test]
fn bad_parameters_are_explained() {
    for (arguments, code, words) in [
        (
            ["gates", "--gamma", "0.1"],
            1,
            "gamma = 0.1 is not allowed: the lower stretch limit must be negative",
        ),
        (["gates", "--beta", "0"], 1, "beta = 0 is not allowed"),
        (["gates", "--zeta", "NaN"], 1, "zeta = NaN is not allowed"),
        (["gates", "--log-alpha", "inf"], 2, "finite number"),
        (["gates", "--samples", "1"], 2, "2..=1000"),
        (["gates", "--log-alfa", "1"], 2, "--log-alpha"),
    ] {
        let output = ell0(&arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
}
