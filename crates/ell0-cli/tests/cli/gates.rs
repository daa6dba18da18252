//! `ell0 gates` as a user runs it.

use crate::fixture::{Desk, list, near, number, numbers, prob_above};

#[test]
fn help_and_version_answer() {
    let desk = Desk::new();
    desk.ell0("--help").shows("gates");
    let version = concat!("ell0 ", env!("CARGO_PKG_VERSION"));
    assert_eq!(desk.ell0("--version").out().trim(), version);
    // Without a command: the help, and an exit code that says nothing was done.
    desk.all_misused(" | Usage");
}

#[test]
fn tables_are_printed_and_repeat() {
    let desk = Desk::new();
    let shown =
        "P(z ≠ 0): active | 0.8318 | hard-concrete | straight-through | REINFORCE + baseline";
    let first = desk.ell0("gates --repeats 200").shows(shown);
    assert_eq!(first, desk.ell0("gates --repeats 200").out());
    assert_ne!(first, desk.ell0("gates --repeats 200 --seed 1").out());
}

#[test]
fn json_holds_the_quantities_of_the_gate_that_was_asked_for() {
    let line = "gates --log-alpha -0.3 --beta 0.5 --gamma -0.2 --zeta 1.3 --repeats 2000 --json";
    let object = Desk::new().ell0(line).json();
    assert_eq!(object["parameters"]["gamma"], -0.2);
    let above = |t: f64| prob_above(t, -0.3, [0.5, -0.2, 1.3]);
    near(number(&object["gate"]["prob_active"]), above(0.0), 1e-12);
    // E z = ∫₀¹ P(z > t) dt, by the midpoint rule.
    let steps = 100_000;
    let middle = |k: i32| (f64::from(k) + 0.5) / f64::from(steps);
    let mean = (0..steps).map(|k| above(middle(k))).sum::<f64>() / f64::from(steps);
    near(number(&object["gate"]["mean"]), mean, 1e-9);
    let estimators = list(&object["gradient"]["estimators"]);
    assert_eq!(estimators.len(), 5);
    let total = |k: usize| {
        let variance = numbers(&estimators[k]["variance"]);
        assert_eq!(variance.len(), 4);
        variance.iter().sum::<f64>()
    };
    let totals: Vec<f64> = (0..5).map(total).collect();
    assert!(totals[0] < totals[3], "REINFORCE has the larger variance");
}

#[test]
fn bad_parameters_are_explained() {
    let desk = Desk::new();
    let gamma = "gamma = 0.1 is not allowed: the lower stretch limit must be negative";
    desk.all_fail(&format!(
        "
        gates --gamma 0.1 | {gamma}
        gates --beta 0 | beta = 0 is not allowed
        gates --zeta NaN | zeta = NaN is not allowed
    "
    ));
    desk.all_misused(
        "
        gates --log-alpha inf | finite number
        gates --samples 1 | 2..=1000
        gates --log-alfa 1 | --log-alpha
    ",
    );
}
