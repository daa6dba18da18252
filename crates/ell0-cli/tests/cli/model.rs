//! `ell0 show`, `predict`, `score` and `simulate` as a user runs them.

use std::fs;

use crate::{ell0, text};

/// A folder with three models and a table.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let model = |dynamics: &str, inputs: &str, equations: &str| {
        format!(
            r#"{{"format":"ell0-model","version":1,"inputs":[{inputs}],"dynamics":"{dynamics}","library":null,"equations":[{equations}]}}"#
        )
    };
    let put =
        |name: &str, text: String| fs::write(folder.path().join(name), text).expect("written");
    put(
        "oscillator.json",
        model(
            "continuous",
            r#""x","v","u""#,
            r#"{"target":"x","expression":"v"},{"target":"v","expression":"-x + u"}"#,
        ),
    );
    put(
        "henon.json",
        model(
            "discrete",
            r#""x","y""#,
            r#"{"target":"x","expression":"1 - 1.4*x^2 + y"},{"target":"y","expression":"0.3*x"}"#,
        ),
    );
    put(
        "plain.json",
        model(
            "regression",
            r#""a""#,
            r#"{"target":"b","expression":"2*a + 1"}"#,
        ),
    );
    put(
        "burst.json",
        model(
            "continuous",
            r#""x""#,
            r#"{"target":"x","expression":"x^2"}"#,
        ),
    );
    put(
        "data.csv",
        "a,b,x,y\n1,3,0,0\n2,5,1,0\n3,8,-0.4,0.3\n".into(),
    );
    put("unsorted.csv", "time,u\n0,0\n5,1\n2,3\n".into());
    put("controls.csv", "t,u\n0,0\n1,2\n".into());
    folder
}

#[test]
fn models_are_shown_and_predict() {
    let folder = folder();
    let show = ell0(folder.path(), &["show", "henon.json"]);
    assert_eq!(
        text(&show.stdout),
        "x[k+1] = 1 - 1.4*x^2 + y\ny[k+1] = 0.3*x\n"
    );
    assert!(
        text(&ell0(folder.path(), &["show", "oscillator.json", "--latex"]).stdout)
            .contains("\\begin{align*}")
    );
    let predict = ell0(folder.path(), &["predict", "plain.json", "data.csv"]);
    assert_eq!(text(&predict.stdout), "b\n3\n5\n7\n");
    let written = ell0(
        folder.path(),
        &["predict", "plain.json", "data.csv", "--out", "p.csv"],
    );
    assert!(written.status.success() && written.stdout.is_empty());
    assert_eq!(
        fs::read_to_string(folder.path().join("p.csv")).expect("written"),
        "b\n3\n5\n7\n"
    );
    let score = ell0(
        folder.path(),
        &["score", "plain.json", "data.csv", "--json"],
    );
    let object: serde_json::Value = serde_json::from_slice(&score.stdout).expect("JSON");
    assert!((object["scores"][0]["mse"].as_f64().expect("a number") - 1.0 / 3.0).abs() < 1e-12);
    let score = ell0(folder.path(), &["score", "henon.json", "data.csv"]);
    assert!(
        text(&score.stdout).starts_with("x: mean squared error"),
        "{}",
        text(&score.stderr)
    );
    // x' = v, v' = −x + u: a cosine without control.
    let mut csv = String::from("t,x,v,u\n");
    for k in 0..400 {
        let t = f64::from(k) * 0.01;
        csv += &format!("{t},{},{},0\n", t.cos(), -t.sin());
    }
    fs::write(folder.path().join("cosine.csv"), csv).expect("written");
    let score = ell0(
        folder.path(),
        &["score", "oscillator.json", "cosine.csv", "--json"],
    );
    let object: serde_json::Value =
        serde_json::from_slice(&score.stdout).unwrap_or_else(|_| panic!("{}", text(&score.stderr)));
    assert_eq!(object["derivative"], "fd4");
    assert!(
        object["scores"][0]["mse"].as_f64().expect("a number") < 1e-12,
        "{object}"
    );
}

#[test]
fn models_are_simulated() {
    let folder = folder();
    // Controls that a law does not have do no harm; a duration that is no multiple of the step is kept.
    let arguments = [
        "simulate",
        "henon.json",
        "--initial",
        "x=0,y=0",
        "--steps",
        "1",
        "--controls-from",
        "data.csv",
    ];
    let simulate = ell0(folder.path(), &arguments);
    assert_eq!(text(&simulate.stdout), "k,x,y\n0,0,0\n1,1,0\n");
    let arguments = [
        "simulate",
        "burst.json",
        "--initial",
        "x=0.1",
        "--duration",
        "1",
        "--dt",
        "0.4",
    ];
    let simulate = ell0(folder.path(), &arguments);
    let shown = text(&simulate.stdout);
    assert_eq!(shown.lines().count(), 5, "{shown}");
    assert!(
        shown.lines().last().expect("a line").starts_with("1,"),
        "{shown}"
    );
    for (arguments, words) in [
        (
            vec![
                "simulate",
                "henon.json",
                "--initial",
                "x=0,y=0",
                "--steps",
                "4000000000",
            ],
            "at most 10 million",
        ),
        (
            vec![
                "simulate",
                "henon.json",
                "--initial",
                "x=0,y=0,x=1",
                "--steps",
                "4",
            ],
            "gives a state twice",
        ),
        (
            vec![
                "simulate",
                "oscillator.json",
                "--initial",
                "x=0,v=0",
                "--duration",
                "4",
                "--controls-from",
                "unsorted.csv",
            ],
            "time goes from 5 to 2",
        ),
        (
            vec!["predict", "plain.json", "data.csv", "--out", "p.npz"],
            "not as .npz",
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
    let simulate = ell0(
        folder.path(),
        &[
            "simulate",
            "henon.json",
            "--initial",
            "x=0,y=0",
            "--steps",
            "2",
        ],
    );
    assert_eq!(
        text(&simulate.stdout),
        "k,x,y\n0,0,0\n1,1,0\n2,-0.3999999999999999,0.3\n"
    );
    let arguments = [
        "simulate",
        "oscillator.json",
        "--initial",
        "x=1,v=0",
        "--duration",
        "1",
        "--dt",
        "0.5",
        "--controls-from",
        "controls.csv",
    ];
    let simulate = ell0(folder.path(), &arguments);
    let shown = text(&simulate.stdout);
    let last: f64 = shown
        .lines()
        .nth(3)
        .and_then(|l| l.split(',').nth(1))
        .and_then(|v| v.parse().ok())
        .expect("a row");
    assert!(
        (last - 1f64.cos()).abs() < 1e-7,
        "{shown}{}",
        text(&simulate.stderr)
    );
    // What blows up gives its rows, an error, and an exit code.
    let burst = ell0(
        folder.path(),
        &[
            "simulate",
            "burst.json",
            "--initial",
            "x=1",
            "--duration",
            "3",
        ],
    );
    assert_eq!(burst.status.code(), Some(1));
    assert!(
        text(&burst.stderr).contains("the simulation ended early")
            && text(&burst.stdout).lines().count() > 50
    );
}

#[test]
fn mistakes_are_explained() {
    let folder = folder();
    fs::write(folder.path().join("bad.json"), "{\"format\": 3}").expect("written");
    for (arguments, words) in [
        (vec!["show", "none.json"], "cannot read none.json"),
        (vec!["show", "bad.json"], "bad.json is not a model"),
        (
            vec!["predict", "oscillator.json", "data.csv"],
            "there is no column `v`",
        ),
        (
            vec!["score", "burst.json", "data.csv"],
            "no column of time: name it with --time",
        ),
        (
            vec!["simulate", "henon.json", "--initial", "x=0", "--steps", "2"],
            "says nothing of `y`",
        ),
        (
            vec![
                "simulate",
                "henon.json",
                "--initial",
                "x=0,y=0,z=1",
                "--steps",
                "2",
            ],
            "`z` is no state",
        ),
        (
            vec!["simulate", "henon.json", "--initial", "x=0,y=0"],
            "needs --steps",
        ),
        (
            vec![
                "simulate",
                "oscillator.json",
                "--initial",
                "x=0,v=0",
                "--duration",
                "1",
            ],
            "this law has controls (u)",
        ),
        (
            vec!["simulate", "plain.json", "--initial", "b=0", "--steps", "2"],
            "plain regression",
        ),
        (
            vec![
                "simulate",
                "burst.json",
                "--initial",
                "x=1",
                "--duration",
                "-1",
            ],
            "must be positive",
        ),
    ] {
        let output = ell0(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(
            text(&output.stderr).contains(words),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}
