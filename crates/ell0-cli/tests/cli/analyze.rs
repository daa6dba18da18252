//! `ell0 analyze` as a user runs it.

use std::fs;

use serde_json::Value;

use crate::{LAW, ell0, numbers, text};

#[test]
fn a_policy_as_text_is_analysed() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "analyze",
        "--policy",
        LAW,
        "--env",
        "pendulum(g=9.81)",
        "--out",
        "run",
        "--json",
    ];
    let output = ell0(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let upright = &found["equilibria"][0];
    assert_eq!(numbers(&upright["state"]), [0.0, 0.0]);
    assert_eq!(upright["stable"], true);
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
    assert!(near(numbers(&upright["eigenvalues"][0])[0], 0.839));
    assert!(near(numbers(&upright["eigenvalues"][1])[0], -0.353));
    let margin = numbers(&found["gain_margin"]);
    assert!(
        near(margin[0], 0.145) && near(margin[1], 1.418),
        "{margin:?}"
    );
    let mean = found["return"]["mean"].as_f64().expect("a number");
    assert!((mean + 148.94).abs() < 0.05, "{mean}");
    assert!(found["proved_region"]["boxes"].as_u64().expect("a count") > 0);
    assert_eq!(found["terms"].as_array().map(Vec::len), Some(4));
    assert_eq!(found["parameters"].as_array().map(Vec::len), Some(3));
    let written = fs::read(folder.path().join("run/analysis.json")).expect("written");
    assert_eq!(written, output.stdout);
    assert!(
        fs::read(folder.path().join("run/portrait.png"))
            .expect("written")
            .starts_with(b"\x89PNG")
    );
    // A folder is not replaced unasked.
    let output = ell0(folder.path(), &arguments);
    assert!(
        text(&output.stderr).contains("--force"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn an_unstable_policy_is_said_to_be_unstable() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "analyze",
        "--policy",
        "2*tanh(3*sin_theta)",
        "--env",
        "pendulum",
    ];
    let output = ell0(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("(0.0000, 0.0000): unstable"), "{shown}");
    assert!(
        shown.contains("nothing is proved") && !shown.contains("Proved"),
        "{shown}"
    );
}

#[test]
fn a_law_has_fixed_points_an_exponent_and_a_horizon() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = r#"{"format":"ell0-model","version":1,"inputs":["x","y","z"],"dynamics":"continuous","equations":[{"target":"x","expression":"10*(y-x)"},{"target":"y","expression":"x*(28-z)-y"},{"target":"z","expression":"x*y-2.6667*z"}]}"#;
    fs::write(folder.path().join("law.json"), model).expect("written");
    let lorenz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/lorenz.csv");
    let output = ell0(
        folder.path(),
        &["analyze", "law.json", "--data", lorenz, "--json"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["equilibria"].as_array().map(Vec::len), Some(3));
    let exponent = found["largest_lyapunov_exponent"]
        .as_f64()
        .expect("a number");
    assert!((exponent - 0.906).abs() < 0.05, "{exponent}");
    assert!(
        found["valid_prediction_time"]["mean"]
            .as_f64()
            .expect("a number")
            > 0.5
    );
}

#[test]
fn what_cannot_be_analysed_says_what_would_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let policy = format!(
        r#"{{"format":"ell0-model","version":1,"inputs":["cos_theta","sin_theta","theta_dot"],"dynamics":"regression","equations":[{{"target":"torque","expression":"{LAW}"}}]}}"#
    );
    fs::write(folder.path().join("policy.json"), policy).expect("written");
    for (arguments, words) in [
        (vec!["policy.json"], "needs --env or --model"),
        (
            vec!["--policy", "2*tanh(-x)"],
            "name the environment with --env",
        ),
        (
            vec!["--policy", "2*tanh(-x)", "--env", "pendulum"],
            "cos_theta",
        ),
        (
            vec!["policy.json", "--env", "cartpole"],
            "there is no environment",
        ),
        (
            vec!["policy.json", "--model", "policy.json"],
            "a transition model is a discrete law",
        ),
        (
            vec!["nothing.json", "--env", "pendulum"],
            "cannot read nothing.json",
        ),
    ] {
        let output = ell0(folder.path(), &[&["analyze"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}
