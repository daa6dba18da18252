//! `ell0 collect` and `ell0 tutorial` as a user runs them.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, time::Duration};

use serde_json::Value;

use crate::{Running, command, ell0, text};

#[test]
fn collected_experience_gives_the_law_of_the_pendulum() {
    let folder = tempfile::tempdir().expect("a folder");
    let collect = |out: &str| {
        let arguments = [
            "collect",
            "--env",
            "pendulum(g=9.81)",
            "--episodes",
            "300",
            "--out",
            out,
        ];
        let output = ell0(folder.path(), &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        fs::read(folder.path().join(out)).expect("written")
    };
    assert_eq!(collect("data.parquet"), collect("again.parquet"));
    let csv = text(&collect("data.csv"));
    assert_eq!(
        csv.lines().next(),
        Some(
            "cos_theta,sin_theta,theta_dot,torque,reward,next_cos_theta,next_sin_theta,next_theta_dot,terminated,truncated,episode,step"
        )
    );
    assert_eq!(csv.lines().count(), 1 + 300 * 200);
    let last = csv.lines().last().expect("a row");
    assert!(last.ends_with(",0,1,299,199"), "{last}");
    let output = ell0(
        folder.path(),
        &[
            "fit",
            "data.parquet",
            "--inputs",
            "cos_theta,sin_theta,theta_dot,torque",
            "--targets",
            "next_theta_dot",
            "--terms",
            "3",
            "--json",
        ],
    );
    let object: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let terms = object["equations"][0]["terms"].as_array().expect("terms");
    // θ̇ + 0.05·(1.5·g·sin θ + 3u), but for the few rows where the speed limit binds.
    let expected = [("sin_theta", 0.73575), ("theta_dot", 1.0), ("torque", 0.15)];
    for (term, (name, value)) in terms.iter().zip(expected) {
        assert_eq!(term["feature"], name);
        let found = term["coefficient"].as_f64().expect("a number");
        assert!((found / value - 1.0).abs() < 0.02, "{name}: {found}");
    }
    for (arguments, code, words) in [
        (
            vec!["collect", "--env", "pendulm", "--out", "x.csv"],
            1,
            "there is no environment `pendulm`",
        ),
        (
            vec!["collect", "--env", "pendulum(gg=1)", "--out", "x.csv"],
            1,
            "did you mean `g`?",
        ),
        (
            vec!["collect", "--env", "pendulum", "--out", "no/such/x.csv"],
            1,
            "cannot write no/such/x.csv",
        ),
        (
            vec![
                "collect",
                "--env",
                "pendulum",
                "--episodes",
                "0",
                "--out",
                "x.csv",
            ],
            2,
            "0 is not in",
        ),
    ] {
        let output = ell0(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(code));
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
        assert!(!folder.path().join("x.csv").exists());
    }
}

/// Everything in a run's folder but the clocks.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for inside in ["", "models", "checkpoints"] {
        for entry in fs::read_dir(folder.join(inside)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() || path.extension().is_some_and(|e| e == "seconds") {
                continue;
            }
            let name = path
                .strip_prefix(folder)
                .expect("inside")
                .display()
                .to_string();
            let mut bytes = fs::read(&path).expect("readable");
            if name == "results.json" {
                let mut rows: Value = serde_json::from_slice(&bytes).expect("JSON");
                for row in rows.as_array_mut().expect("rows") {
                    row["seconds"] = Value::Null;
                }
                bytes = rows.to_string().into_bytes();
            }
            all.insert(name, bytes);
        }
    }
    all
}

/// Killed again and again and resumed, a run ends as if it had not been.
#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = |out: &'static str| {
        let arguments = [
            "tutorial", "reward", "--epochs", "8", "--seed", "3", "--out", out,
        ];
        command(folder.path(), &arguments)
    };
    let whole = begin("whole").output().expect("the binary runs");
    assert!(whole.status.success(), "{}", text(&whole.stderr));
    let shown = text(&whole.stdout);
    for words in [
        "sparse network",
        "polynomial+fourier, exact",
        "published",
        "FLOPs",
        "reward = ",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    let mut killed = 0;
    let mut next = begin("parts");
    for milliseconds in [150, 1300, 1700, 2300, 900] {
        let mut run = Running::new(next.stdout(Stdio::null()).stderr(Stdio::null()));
        run.wait_for(&folder.path().join("parts/config.toml"));
        std::thread::sleep(Duration::from_millis(milliseconds));
        if run.0.try_wait().expect("a status").is_none() {
            killed += 1;
        }
        drop(run);
        next = command(
            folder.path(),
            &["tutorial", "reward", "--resume", "--out", "parts"],
        );
    }
    assert!(killed >= 2, "killed {killed} times");
    let resumed = next.output().expect("the binary runs");
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    let (one, other) = (
        contents(&folder.path().join("whole")),
        contents(&folder.path().join("parts")),
    );
    assert_eq!(
        one.keys().collect::<Vec<_>>(),
        other.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &one {
        // How a run began, and the page that says so, differ: another folder.
        let says_how = name.ends_with("command.txt") || name.ends_with("report.html");
        assert!(says_how || bytes == &other[name], "{name} differs");
    }
    for name in [
        "results.json",
        "metrics.jsonl",
        "figure.svg",
        "figure.png",
        "config.toml",
    ] {
        assert!(one.contains_key(name), "{name}");
    }
    let rows: Value = serde_json::from_slice(&one["results.json"]).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(8));
    let lines = text(&one["metrics.jsonl"]);
    assert_eq!(lines.lines().count(), 5 * 8);
    // What cannot be is said.
    for (arguments, words) in [
        (
            vec!["--out", "whole"],
            "`ell0 tutorial reward --resume --out whole` goes on",
        ),
        (
            vec!["--out", "nowhere", "--resume"],
            "holds no run to go on with",
        ),
        (vec!["--out", ".", "--force"], "which no run has put there"),
        (
            vec!["--out", "new", "--lambda-factor", "-1"],
            "--lambda-factor -1 is not allowed",
        ),
    ] {
        let arguments = [&["tutorial", "reward"], &arguments[..]].concat();
        let output = ell0(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
    // What belongs to another run, another model or nobody is neither used nor deleted.
    let whole = folder.path().join("whole");
    let resume = |words: &str| {
        let output = ell0(
            folder.path(),
            &["tutorial", "reward", "--resume", "--out", "whole"],
        );
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    };
    let config = fs::read_to_string(whole.join("config.toml")).expect("readable");
    let network = whole.join("checkpoints/network.safetensors");
    let kept = fs::read(&network).expect("readable");
    fs::write(
        whole.join("config.toml"),
        config.replace("epochs = 8", "epochs = 9"),
    )
    .expect("written");
    resume("delete it to train the model anew");
    fs::write(
        whole.join("config.toml"),
        config.replace("epochs = 8", "epochs = 0"),
    )
    .expect("written");
    resume("at least one epoch");
    fs::write(whole.join("config.toml"), &config).expect("written");
    fs::copy(
        whole.join("checkpoints/sparse-network.safetensors"),
        &network,
    )
    .expect("copied");
    resume("is not a checkpoint of this model");
    fs::write(&network, &kept).expect("written");
    let output = ell0(
        folder.path(),
        &[
            "tutorial", "reward", "--resume", "--out", "whole", "--seed", "4",
        ],
    );
    assert!(text(&output.stderr).contains("holds a run with seed 3"));
    fs::write(whole.join("models/thesis.txt"), "mine").expect("written");
    let output = ell0(
        folder.path(),
        &[
            "tutorial", "reward", "--epochs", "1", "--out", "whole", "--force",
        ],
    );
    assert!(
        text(&output.stderr).contains("holds thesis.txt"),
        "{}",
        text(&output.stderr)
    );
    assert!(whole.join("models/thesis.txt").exists());
    let output = ell0(
        folder.path(),
        &["tutorial", "dynamics", "--resume", "--out", "whole"],
    );
    assert!(text(&output.stderr).contains("holds a run of `ell0 tutorial reward`"));
}

/// Two processes do not write into one folder, and an end by a signal says how to go on.
#[cfg(unix)]
#[test]
fn a_folder_belongs_to_one_process_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = ["tutorial", "--quick", "--skip", "figures", "--out", "all"];
    let mut first = command(folder.path(), &whole);
    let mut first = Running::new(first.stdout(Stdio::null()).stderr(Stdio::piped()));
    first.wait_for(&folder.path().join("all/dynamics/.lock"));
    let stage = ["tutorial", "dynamics", "--resume", "--out", "all/dynamics"];
    let anew = ["tutorial", "--quick", "--force", "--out", "all"];
    for arguments in [&whole[..], &stage, &anew] {
        let second = ell0(folder.path(), arguments);
        assert_eq!(second.status.code(), Some(1));
        let error = text(&second.stderr);
        assert!(error.contains("another process"), "{error}");
    }
    // The signal reaches the first process alone; its stage ends, too.
    let interrupt = ["-INT", &first.0.id().to_string()];
    let sent = std::process::Command::new("kill").args(interrupt).status();
    assert!(sent.expect("kill runs").success());
    let (code, error) = first.end();
    assert_eq!(code, Some(1), "{error}");
    assert!(
        error.contains("interrupted in the stage dynamics; the same command goes on with it"),
        "{error}"
    );
    // Nobody holds it now. What others put into it is kept, wherever it is.
    let mine = folder.path().join("all/dynamics/models/thesis.txt");
    fs::write(&mine, "mine").expect("written");
    let refused = ell0(folder.path(), &anew);
    assert_eq!(refused.status.code(), Some(1));
    let error = text(&refused.stderr);
    assert!(error.contains("holds thesis.txt"), "{error}");
    assert!(mine.exists());
}
