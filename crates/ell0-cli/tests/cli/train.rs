//! `ell0 train`, `evaluate`, `rollout` and `optimum` as a user runs them.

use std::fs;

use serde_json::Value;

use crate::{LAW, Running, command, ell0, text};

fn policy(expression: &str) -> String {
    format!(
        r#"{{"format":"ell0-model","version":1,"inputs":["cos_theta","sin_theta","theta_dot"],"dynamics":"regression","equations":[{{"target":"torque","expression":"{expression}"}}]}}"#
    )
}

#[test]
fn a_known_law_has_its_known_return() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("law.json"), policy(LAW)).expect("written");
    let output = ell0(
        folder.path(),
        &[
            "evaluate",
            "law.json",
            "--env",
            "pendulum(g=9.81)",
            "--json",
        ],
    );
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mean = object["return"]["mean"].as_f64().expect("a number");
    assert!((mean + 148.94).abs() < 0.05, "{mean}");
    assert_eq!(object["episodes"], 2000);
    let output = ell0(
        folder.path(),
        &[
            "rollout",
            "law.json",
            "--env",
            "pendulum(g=9.81)",
            "--state",
            "3.14159,0",
            "--out",
            "swing.csv",
        ],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let csv = fs::read_to_string(folder.path().join("swing.csv")).expect("written");
    assert!(
        csv.starts_with("step,theta,theta_dot,torque,reward\n0,3.14159,0,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 201);
    // It ends upright: the last reward is next to nothing.
    let last: f64 = csv
        .trim_end()
        .rsplit(',')
        .next()
        .expect("a cell")
        .parse()
        .expect("a number");
    assert!(last > -0.01, "{last}");
    fs::write(
        folder.path().join("other.json"),
        policy(LAW).replace("\"torque\"", "\"force\""),
    )
    .expect("written");
    for (arguments, words) in [
        (
            vec!["evaluate", "other.json", "--env", "pendulum"],
            "action `torque` is not there",
        ),
        (
            vec!["evaluate", "law.json", "--env", "cartpole"],
            "there is no environment `cartpole`",
        ),
        (
            vec![
                "rollout", "law.json", "--env", "pendulum", "--state", "1", "--out", "x.csv",
            ],
            "1 values, but 2 are needed",
        ),
        (
            vec!["train", "--env", "pendulum", "--policy", "network(0)"],
            "widths of the hidden layers",
        ),
        (
            vec!["train", "--env", "pendulum", "--policy", "polynom(3)"],
            "polynomial",
        ),
        (
            vec!["train", "--env", "pendulum", "--lambda", "-1"],
            "lambda = -1 is not allowed",
        ),
    ] {
        let output = ell0(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
}

/// No policy is better than optimal control, and a finer grid comes closer to it.
#[test]
fn optimal_control_is_the_best() {
    let folder = tempfile::tempdir().expect("a folder");
    let optimum = |points: &str| {
        let arguments = [
            "optimum",
            "--env",
            "pendulum(g=9.81)",
            "--points",
            points,
            "--actions",
            "21",
            "--json",
        ];
        let output = ell0(folder.path(), &arguments);
        let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        object["return"]["mean"].as_f64().expect("a number")
    };
    let (coarse, fine) = (optimum("61"), optimum("121"));
    assert!(
        coarse > -160.0 && fine > coarse && fine < -134.0,
        "{coarse} {fine}"
    );
}

#[test]
fn a_short_training_repeats_and_leaves_its_policy() {
    let folder = tempfile::tempdir().expect("a folder");
    let train = |out: &str| {
        let arguments = [
            "train",
            "--env",
            "pendulum(g=9.81)",
            "--policy",
            "polynomial(2)",
            "--episodes",
            "56",
            "--updates",
            "20",
            "--seeds",
            "2",
            "--out",
            out,
            "--json",
        ];
        let output = ell0(folder.path(), &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let mut rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for row in rows.as_array_mut().expect("rows") {
            row["seconds"] = Value::Null;
        }
        rows
    };
    let (one, other) = (train("one"), train("other"));
    assert_eq!(one, other);
    assert_eq!(one.as_array().map(Vec::len), Some(2));
    assert_eq!(one[0]["env_steps"], 56 * 200);
    // Nobody is better than optimal control.
    assert!(one[0]["gap"].as_f64().expect("a number") > 0.0);
    for name in [
        "metrics.jsonl",
        "policies/seed0.json",
        "policies/seed1.json",
        "config.toml",
        "returns.png",
    ] {
        let read = |out: &str| fs::read(folder.path().join(out).join(name)).expect("written");
        assert_eq!(read("one"), read("other"), "{name}");
    }
    // Killed and resumed, it ends the same.
    let train = [
        "train",
        "--env",
        "pendulum(g=9.81)",
        "--policy",
        "polynomial(2)",
        "--episodes",
        "56",
        "--updates",
        "20",
        "--seeds",
        "2",
        "--out",
        "killed",
    ];
    let mut killed = command(folder.path(), &train);
    let mut killed = Running::new(killed.stderr(std::process::Stdio::null()));
    killed.wait_for(&folder.path().join("killed/config.toml"));
    std::thread::sleep(std::time::Duration::from_millis(250));
    drop(killed);
    let output = ell0(folder.path(), &["train", "--resume", "--out", "killed"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for name in [
        "metrics.jsonl",
        "policies/seed0.json",
        "policies/seed1.json",
        "checkpoints/seed0.safetensors",
    ] {
        let read = |out: &str| fs::read(folder.path().join(out).join(name)).expect("written");
        assert!(read("one") == read("killed"), "{name}");
    }
    for (arguments, words) in [
        (
            vec!["--env", "pendulum", "--out", "one"],
            "`ell0 train --resume --out one` goes on",
        ),
        (
            vec!["--resume", "--out", "nowhere"],
            "holds no run to go on with",
        ),
        (
            vec!["--env", "pendulum(g=1)", "--resume", "--out", "one"],
            "holds a run in pendulum(g=9.81)",
        ),
    ] {
        let output = ell0(folder.path(), &[&["train"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
    fs::write(
        folder.path().join("one/checkpoints/seed0.safetensors"),
        "no",
    )
    .expect("written");
    let output = ell0(folder.path(), &["train", "--resume", "--out", "one"]);
    assert!(
        text(&output.stderr).contains("delete it to train the seed anew"),
        "{}",
        text(&output.stderr)
    );
    // The written policy is the one that was evaluated.
    let output = ell0(
        folder.path(),
        &[
            "evaluate",
            "one/policies/seed1.json",
            "--env",
            "pendulum(g=9.81)",
            "--json",
        ],
    );
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (a, b) = (
        object["return"]["mean"].as_f64(),
        one[1]["return_mean"].as_f64(),
    );
    let (a, b) = (a.expect("a number"), b.expect("a number"));
    assert!((a / b - 1.0).abs() < 1e-3, "{a} {b}");
}

/// Two policies at two prices: a row, a policy and an event file for each; the published behaviour as an option.
#[test]
fn several_agents_are_trained_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = ["train", "--env", "pendulum(limit=20)", "--episodes", "53"];
    let both = [
        "--policy",
        "polynomial(1)",
        "--policy",
        "fourier(1, interactions)",
        "--lambda",
        "0.001,0.1",
        "--updates",
        "2",
        "--out",
        "both",
        "--json",
    ];
    let output = ell0(folder.path(), &[&base[..], &both[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(4));
    assert_eq!(rows[3]["agent"], "fourier-1-interactions-lambda0.1");
    assert_eq!(rows[3]["lambda"], 0.1);
    let place = folder.path().join("both");
    let written = fs::read_to_string(place.join("results.json")).expect("written");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("JSON"), rows);
    let metrics = fs::read_to_string(place.join("metrics.jsonl")).expect("written");
    assert_eq!(metrics.lines().count(), 4 * 53);
    for row in rows.as_array().expect("rows") {
        let name = format!("{}-seed0", row["agent"].as_str().expect("a name"));
        assert!(place.join(format!("policies/{name}.json")).exists());
        let events = fs::read(place.join(format!("events/{name}/events.out.tfevents.ell0")));
        assert_eq!(records(&events.expect("written")), 1 + 53);
    }
    assert!(place.join("frontier.png").exists());
    // Begun anew only in the place of a run.
    let again = [&base[..], &["--out", "both", "--force", "--updates", "1"]].concat();
    assert!(ell0(folder.path(), &again).status.success());
    fs::write(place.join("mine.txt"), "mine").expect("written");
    let output = ell0(folder.path(), &again);
    assert!(text(&output.stderr).contains("holds mine.txt"));
    assert!(place.join("mine.txt").exists());

    let output = ell0(
        folder.path(),
        &[
            &base[..],
            &["--policy", "fourier(1, interactions)", "--reference"],
            &["--updates", "1", "--out", "published"],
        ]
        .concat(),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let config = fs::read_to_string(folder.path().join("published/config.toml")).expect("written");
    for line in [
        "policy = \"fourier(1, published-interactions)\"",
        "relative_lambda = false",
        "scale_inputs = false",
        "gates = \"batch\"",
        "truncation_ends = true",
        "sampled_targets = true",
        "smoothing = 0.0",
        "prune = false",
    ] {
        assert!(config.lines().any(|l| l == line), "{line}:\n{config}");
    }
}

/// Number of records of an event file; a length that does not lead to the next record panics.
fn records(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while !bytes.is_empty() {
        let length = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
        bytes = &bytes[8 + 4 + length + 4..];
        count += 1;
    }
    count
}

#[test]
fn the_tutorial_compares_four_agents() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = ["tutorial", "policy", "--episodes", "52", "--out", "run"];
    let output = ell0(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for words in [
        "network(64, 64)",
        "about -1100",
        "gap",
        "fourier, seed 0: torque = 2*tanh(",
    ] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    let rows = fs::read_to_string(folder.path().join("run/results.json")).expect("written");
    let rows: Value = serde_json::from_str(&rows).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(4));
    for name in [
        "policy",
        "seed",
        "return_mean",
        "return_ci95",
        "gap",
        "terms",
        "equation",
        "env_steps",
        "seconds",
    ] {
        assert!(rows[1].get(name).is_some_and(|v| !v.is_null()), "{name}");
    }
    let output = ell0(folder.path(), &["train", "--resume", "--out", "run"]);
    assert!(text(&output.stderr).contains("holds a run of `ell0 tutorial policy`"));
}
