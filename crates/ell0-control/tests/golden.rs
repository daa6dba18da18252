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

/// The cases of a file, each with its start and its steps.
fn cases(file: &str) -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/");
    let text = std::fs::read_to_string(format!("{folder}{file}")).expect("readable");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let cases = all["cases"].as_array().expect("a list").clone();
    assert!(!cases.is_empty());
    cases
}

/// Step by step from the given states: states to 1e-9, rewards and observations to 1e-6.
fn follows(world: &mut dyn Environment, case: &Value, parameters: &[f64]) {
    let close = |found: &[f64], expected: &[f64], tolerance: f64| {
        assert_eq!(found.len(), expected.len());
        for (f, e) in found.iter().zip(expected) {
            assert!((f - e).abs() <= tolerance, "{f} {e}");
        }
    };
    let seen = |world: &dyn Environment| -> Vec<f64> {
        let mut seen = vec![0f32; world.observation_space().len()];
        world.observe(&mut seen);
        seen.into_iter().map(f64::from).collect()
    };
    let full = |state: &[f64]| [state, parameters].concat();
    let mut state = numbers(&case["start"]);
    world.reset_to(&full(&state)).expect("a state");
    close(&seen(world), &numbers(&case["first_observation"]), 1e-6);
    for step in case["steps"].as_array().expect("a list") {
        world.reset_to(&full(&state)).expect("a state");
        let done = world.step(&numbers(&step["action"])).expect("finite");
        close(
            &[done.reward],
            &[step["reward"].as_f64().expect("a number")],
            1e-6,
        );
        state = numbers(&step["state"]);
        close(world.state(), &full(&state), 1e-9);
        close(&seen(world), &numbers(&step["observation"]), 1e-6);
    }
}

/// The Kuramoto–Sivashinsky equation, corrected and with the mistakes of the published code; and where its long run without control ends.
#[test]
fn golden_ks() {
    let mut published = 0;
    for case in cases("ks.json") {
        let mu = case["mu"].as_f64().expect("a number");
        let mistaken = case["published"].as_bool().expect("a flag");
        published += u32::from(mistaken);
        let text = format!("ks(mu={mu}, published={mistaken})");
        let mut world = make(&text).expect("an environment");
        follows(world.as_mut(), &case, &[mu]);
    }
    assert!(published > 0);
}

#[test]
fn golden_cdr() {
    for case in cases("cdr.json") {
        let parameters = ["nu", "c", "r"].map(|p| case[p].as_f64().expect("a number"));
        let [nu, c, r] = parameters;
        let mut world = make(&format!("cdr(nu={nu}, c={c}, r={r})")).expect("an environment");
        follows(world.as_mut(), &case, &parameters);
    }
}
