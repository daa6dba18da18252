//! `ell0 analyze` as a user runs it.

use crate::fixture::{Desk, LAW, list, lorenz, model, near, number, numbers, policy};

#[test]
fn a_policy_as_text_is_analysed() {
    let desk = Desk::new();
    let line = format!("analyze --policy '{LAW}' --env pendulum(g=9.81) --out run --json");
    let done = desk.ell0(&line).ok();
    assert_eq!(desk.read("run/analysis.json"), done.stdout);
    let found = done.json();
    let upright = &found["equilibria"][0];
    assert_eq!(numbers(&upright["state"]), [0.0, 0.0]);
    assert_eq!(upright["stable"], true);
    let eigenvalue = |k: usize| numbers(&upright["eigenvalues"][k])[0];
    let margin = numbers(&found["gain_margin"]);
    for (got, want) in [
        (eigenvalue(0), 0.839),
        (eigenvalue(1), -0.353),
        (margin[0], 0.145),
        (margin[1], 1.418),
    ] {
        near(got / want, 1.0, 0.01);
    }
    near(number(&found["return"]["mean"]), -148.94, 0.05);
    assert!(number(&found["proved_region"]["boxes"]) > 0.0);
    assert_eq!(list(&found["terms"]).len(), 4);
    assert_eq!(list(&found["parameters"]).len(), 3);
    assert!(desk.bytes("run/portrait.png").starts_with(b"\x89PNG"));
    // A folder is not replaced unasked.
    desk.all_fail(&format!("{line} | --force"));
}

#[test]
fn an_unstable_policy_is_said_to_be_unstable() {
    let line = "analyze --policy 2*tanh(3*sin_theta) --env pendulum";
    let unstable = "(0.0000, 0.0000): unstable | nothing is proved";
    let shown = Desk::new().ell0(line).shows(unstable);
    assert!(!shown.contains("Proved"), "{shown}");
}

#[test]
fn a_law_has_fixed_points_an_exponent_and_a_horizon() {
    let equations = [
        ("x", "10*(y-x)"),
        ("y", "x*(28-z)-y"),
        ("z", "x*y-2.6667*z"),
    ];
    let law = model("continuous", &["x", "y", "z"], &equations);
    let desk = Desk::new().with("law.json", law).with("data.csv", lorenz());
    let found = desk.ell0("analyze law.json --data data.csv --json").json();
    assert_eq!(list(&found["equilibria"]).len(), 3);
    near(number(&found["largest_lyapunov_exponent"]), 0.906, 0.05);
    assert!(number(&found["valid_prediction_time"]["mean"]) > 0.5);
}

#[test]
fn what_cannot_be_analysed_says_what_would_work() {
    let desk = Desk::new().with("policy.json", policy(LAW));
    desk.all_fail(
        "
        analyze policy.json | needs --env or --model
        analyze --policy 2*tanh(-x) | name the environment with --env
        analyze --policy 2*tanh(-x) --env pendulum | cos_theta
        analyze policy.json --env cartpole | there is no environment
        analyze policy.json --model policy.json | a transition model is a discrete law
        analyze nothing.json --env pendulum | cannot read nothing.json
    ",
    );
}
