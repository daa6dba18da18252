//! `ell0 analyze` as a user runs it.

use crate::fixture::{Desk, LAW, list, lorenz, model, near, number, numbers, policy};

#[test]
fn a_policy_as_text_is_analysed() {
    let desk = Desk::new();
    let line = format!(
        "analyze --policy '{LAW}' --env pendulum(g=9.81) --prove-seconds 1 --out run --json"
    );
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
    // What is proved to arrive is more than the ellipse, and can be checked.
    let basin = &found["proved_basin"];
    assert!(number(&basin["share"]) > 0.2, "{basin}");
    assert!(number(&basin["steps"]) > 10.0 && number(&basin["seconds"]) > 0.5);
    let verified = ell0_check::check(&desk.read("run/certificate.txt")).expect("verified");
    near(verified.share / number(&basin["share"]), 1.0, 1e-9);
    // A folder is not replaced unasked.
    desk.all_fail(&format!("{line} | --force"));
}

#[test]
fn what_is_uncertain_and_limits_are_part_of_the_proof() {
    let desk = Desk::new();
    let line = format!("analyze --policy '{LAW}' --env pendulum(g=9.81) --prove-seconds 1");
    let shown = desk
        .ell0(&format!("{line} --uncertain g=9.79:9.83 --rounding"))
        .shows("proofs hold for every g in [9.79, 9.83], every rounding of observations");
    assert!(!shown.contains("of the exact map"), "{shown}");
    desk.ell0(&format!("{line} --stay theta_dot=-6:6 --avoid theta=2:3,theta_dot=0:1"))
        .shows("and never leaves theta_dot in [-6, 6] | and never is in theta in [2, 3], theta_dot in [0, 1] | the next state is outside");
    desk.ell0(&format!("{line} --stay theta_dot=-8:8"))
        .shows("no trajectory that begins with theta_dot in [-8, 8], the other states within their bounds, ever leaves it");
    // The torque may be off by a little: the loop stays, but not at the top.
    let found = desk
        .ell0(&format!("{line} --disturb torque=-0.02:0.02 --json"))
        .json();
    let region = &found["proved_region"];
    assert!(number(&region["inner_level"]) > 0.0, "{region}");
    assert!(number(&found["proved_basin"]["share"]) > 0.05);
    assert_eq!(found["uncertain"][0]["varies"], true);
    // Nothing is proved without time for it.
    let none = format!("analyze --policy '{LAW}' --env pendulum --prove-seconds 0 --json");
    assert!(desk.ell0(&none).json()["proved_basin"].is_null());
}

#[test]
fn what_cannot_be_proved_says_why() {
    let next = [
        ("a", "0.5*a"),
        ("b", "0.4*b"),
        ("c", "0.3*c"),
        ("d", "d + u"),
    ];
    let four = model("discrete", &["a", "b", "c", "d", "u"], &next);
    let desk = Desk::new()
        .with("policy.json", policy(LAW))
        .with("law.json", model("continuous", &["x"], &[("x", "-x")]))
        .with("four.json", four);
    desk.all_fail(
        "
        analyze policy.json --env pendulum --uncertain q=1:2 | the pendulum has g, mass and length
        analyze policy.json --env pendulum --uncertain mass=-1:1 | mass
        analyze policy.json --env pendulum --disturb speed=-1:1 | there is no
        analyze policy.json --env pendulum --stay speed=-1:1 | there is no state `speed`
        analyze policy.json --env pendulum --stay theta=-1:1 --stay theta=-2:2 | `theta` has two ranges
        analyze law.json --stay x=-1:1 | a policy in its loop
    ",
    );
    desk.all_misused(
        "
        analyze policy.json --env pendulum --prove-seconds -1 | 0 to 86400
        analyze policy.json --env pendulum --prove-seconds nan | 0 to 86400
        analyze policy.json --env pendulum --stay theta=1:-1 | must be below
    ",
    );
    // Four states are too many for cells, and that is a result.
    desk.ell0("analyze --policy '-0.3*d' --model four.json")
        .shows("Proved: every trajectory from within | Not proved to arrive there from elsewhere: there are 4 states");
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
