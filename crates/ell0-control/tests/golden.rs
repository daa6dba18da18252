//! Reference values from Gymnasium.

use ell0_control::environment::{Environment, make};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|v| v.as_f64().expect("a number")).collect()
}

#[test]
fn golden_pendulum() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/pendulum.json"
    );
    let text = std::fs::read_to_string(path).expect("readable");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    assert!(!cases.is_empty());
    for case in cases {
        let g = case["g"].as_f64().expect("a number");
        let mut pendulum: Box<dyn Environment> =
            make(&format!("pendulum(g={g})")).expect("an environment");
        let start = [&case["theta0"], &case["thetadot0"]].map(|v| v.as_f64().expect("a number"));
        pendulum.reset_to(&start).expect("finite");
        let mut observation = [0.0f32; 3];
        let close = |observation: &[f32], expected: &Value| {
            observation.iter().zip(numbers(expected)).all(|(o, e)| {
                let e = e as f32;
                // One unit in the last place: sines differ between libraries.
                (o - e).abs() <= f32::EPSILON * e.abs().max(f32::MIN_POSITIVE)
            })
        };
        pendulum.observe(&mut observation);
        let observations = case["observations_f32"].as_array().expect("a list");
        assert!(close(&observation, &observations[0]));
        let actions = numbers(&case["actions"]);
        let rewards = numbers(&case["rewards"]);
        let states = case["states_f64"].as_array().expect("a list");
        for k in 0..actions.len() {
            let step = pendulum.step(&[actions[k]]).expect("finite");
            assert!(
                (step.reward - rewards[k]).abs() <= 1e-12 * rewards[k].abs().max(1.0),
                "{k}"
            );
            for (s, e) in pendulum.state().iter().zip(numbers(&states[k])) {
                assert!((s - e).abs() <= 1e-12 * e.abs().max(1.0), "{k}: {s} {e}");
            }
            pendulum.observe(&mut observation);
            assert!(
                close(&observation, &observations[k + 1]),
                "{k}: {observation:?}"
            );
            let last = case["end"]["step"].as_u64() == Some(k as u64 + 1);
            assert_eq!(step.terminated, last && case["end"]["terminated"] == true);
            assert_eq!(step.truncated, last && case["end"]["truncated"] == true);
        }
    }
}
