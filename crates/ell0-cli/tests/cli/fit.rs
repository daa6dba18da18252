//! `ell0 fit` as a user runs it.

use std::{fmt::Write, fs, path::Path, process::Output};

use serde_json::Value;

use crate::{ell0, text};

fn fit(folder: &Path, arguments: &[&str]) -> Output {
    ell0(folder, &[&["fit"], arguments].concat())
}

/// A damped oscillator x'' = −x − 0.2 x' with a control on it, by small steps of the midpoint rule.
fn oscillator(rows: usize, start: f64) -> String {
    let mut csv = String::from("t,x,v,u\n");
    let (mut x, mut v) = (start, 0.0f64);
    let (h, substeps) = (0.02, 20);
    for row in 0..rows {
        let t = row as f64 * h;
        let u = (0.7 * t).sin();
        writeln!(csv, "{t},{x},{v},{u}").expect("written");
        for k in 0..substeps {
            let s = h / f64::from(substeps);
            let rate = |x: f64, v: f64, t: f64| (v, -x - 0.2 * v + 0.5 * (0.7 * t).sin());
            let now = t + f64::from(k) * s;
            let (a, b) = rate(x, v, now);
            let (a, b) = rate(x + s / 2.0 * a, v + s / 2.0 * b, now + s / 2.0);
            (x, v) = (x + s * a, v + s * b);
        }
    }
    csv
}

#[test]
fn a_law_with_a_control_is_found_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), oscillator(3000, 1.0)).expect("written");
    let arguments = [
        "data.csv",
        "--states",
        "x,v",
        "--controls",
        "u",
        "--json",
        "--out",
        "run",
    ];
    let output = fit(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let terms = |index: usize| -> Vec<(String, f64)> {
        let terms = object["equations"][index]["terms"]
            .as_array()
            .expect("a list");
        terms
            .iter()
            .map(|t| {
                (
                    t["feature"].as_str().expect("a name").into(),
                    t["coefficient"].as_f64().expect("a number"),
                )
            })
            .collect()
    };
    let near = |got: &[(String, f64)], want: &[(&str, f64)]| {
        got.len() == want.len()
            && got
                .iter()
                .zip(want)
                .all(|(g, w)| g.0 == w.0 && (g.1 - w.1).abs() < 0.01)
    };
    assert_eq!(object["equations"][0]["target"], "x");
    assert!(near(&terms(0), &[("v", 1.0)]), "{:?}", terms(0));
    assert!(
        near(&terms(1), &[("x", -1.0), ("v", -0.2), ("u", 0.5)]),
        "{:?}",
        terms(1)
    );
    assert_eq!(object["selected"]["terms"], 4);
    assert!(object["path"].as_array().expect("a list").len() > 10);
    assert_eq!(object["run_dir"], "run");
    // The run directory holds a model that reads back, and the same command gives the same bytes.
    let model = fs::read_to_string(folder.path().join("run/model.json")).expect("written");
    let model = ell0::equation::Model::from_json(&model).expect("a model");
    assert_eq!(model.inputs(), ["x", "v", "u"]);
    for name in ["equations.txt", "equations.tex", "path.csv"] {
        assert!(folder.path().join("run").join(name).exists(), "{name}");
    }
    let again = fit(
        folder.path(),
        &[
            "data.csv",
            "--states",
            "x,v",
            "--controls",
            "u",
            "--json",
            "--out",
            "run",
            "--force",
        ],
    );
    assert_eq!(again.stdout, output.stdout);
    let kept = fit(folder.path(), &arguments);
    assert_eq!(kept.status.code(), Some(1));
    assert!(text(&kept.stderr).contains("exists; choose another one, or --force"));
}

#[test]
fn trajectories_regression_and_discrete_maps_are_understood() {
    let folder = tempfile::tempdir().expect("a folder");
    // Six experiments in one file, told apart by a column; time starts anew in each.
    let mut csv = String::from("t,x,v,u,run\n");
    for run in 0..6 {
        for line in oscillator(400, 0.5 + 0.3 * f64::from(run)).lines().skip(1) {
            writeln!(csv, "{line},{run}").expect("written");
        }
    }
    fs::write(folder.path().join("runs.csv"), csv).expect("written");
    let output = fit(
        folder.path(),
        &[
            "runs.csv",
            "--states",
            "x,v",
            "--controls",
            "u",
            "--trajectory",
            "run",
        ],
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("2400 rows in 6 trajectories"),
        "{shown}{}",
        text(&output.stderr)
    );
    assert!(
        shown.contains("x' = 1*v") || shown.contains("x' = v") || shown.contains("x' = 0.9999"),
        "{shown}"
    );
    let forgotten = fit(
        folder.path(),
        &["runs.csv", "--states", "x,v", "--controls", "u"],
    );
    assert!(
        text(&forgotten.stderr).contains("line 402: time goes from 7.98 to 0"),
        "{}",
        text(&forgotten.stderr)
    );

    let mut csv = String::from("a,b,y\n");
    for k in 0..200 {
        let (a, b) = ((f64::from(k) * 0.7).sin(), (f64::from(k) * 1.3).cos());
        writeln!(csv, "{a},{b},{}", 2.0 * a - 3.0 * a * b).expect("written");
    }
    fs::write(folder.path().join("plain.csv"), &csv).expect("written");
    let output = fit(
        folder.path(),
        &["plain.csv", "--inputs", "a,b", "--targets", "y"],
    );
    assert!(
        text(&output.stdout).contains("y = 2*a - 3*a*b"),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );

    let mut csv = String::from("x,y\n");
    let (mut x, mut y) = (0.1, 0.1);
    for _ in 0..500 {
        writeln!(csv, "{x},{y}").expect("written");
        (x, y) = (1.0 - 1.4 * x * x + y, 0.3 * x);
    }
    fs::write(folder.path().join("henon.csv"), &csv).expect("written");
    let output = fit(
        folder.path(),
        &["henon.csv", "--states", "x,y", "--dynamics", "discrete"],
    );
    assert!(
        text(&output.stdout).contains("x[k+1] = 1 + 1*y - 1.4*x^2\ny[k+1] = 0.3*x"),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

#[test]
fn mistakes_are_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let put =
        |name: &str, content: &str| fs::write(folder.path().join(name), content).expect("written");
    put("data.csv", &oscillator(100, 1.0));
    put("text.csv", "t,x\n0,1\n1,two\n");
    put("empty.csv", "t,x\n");
    put("one.csv", "t,x\n0,1\n");
    put("gap.csv", "t,x\n0,1\n1,\n2,3\n");
    put("ragged.csv", "t,x\n0,1\n1\n");
    put("back.csv", "t,x\n0,1\n1,2\n1,3\n");
    put("bare.csv", "x\n1\n2\n");
    put(
        "still.csv",
        "t,x,u\n0,1,7\n1,2,7\n2,4,7\n3,7,7\n4,7,7\n5,8,7\n",
    );
    put("short.csv", "t,x\n0,1\n1,2\n2,4\n3,7\n");
    put("cut.parquet", "PAR1 and then nothing");
    put("cut.npz", "PK\u{3}\u{4} and then nothing");
    put("bad.stats", "{}");
    put("back2.csv", "run,x\na,1\nb,2\na,3\n");
    put("twice.csv", "t,x,x\n0,1,2\n");
    for (arguments, code, words) in [
        (
            vec!["data.csv", "--states", "x,w"],
            1,
            "there is no column `w`; did you mean",
        ),
        (
            vec!["text.csv", "--states", "x"],
            1,
            "line 3, column `x` holds `two`",
        ),
        (
            vec!["empty.csv", "--states", "x"],
            1,
            "there is no row of data",
        ),
        (
            vec!["one.csv", "--states", "x"],
            1,
            "a trajectory has only 1 rows",
        ),
        (vec!["gap.csv", "--states", "x"], 1, "holds nothing"),
        (
            vec!["ragged.csv", "--states", "x"],
            1,
            "line 3 has 1 cells, but the header has 2",
        ),
        (
            vec!["back.csv", "--states", "x"],
            1,
            "line 4: time goes from 1 to 1",
        ),
        (
            vec!["bare.csv", "--states", "x"],
            1,
            "no column of time: name it with --time",
        ),
        (vec!["no.csv", "--states", "x"], 1, "cannot read no.csv"),
        (
            vec!["data.csv", "--states", "x,v", "--terms", "99"],
            1,
            "the path has models of 0, 1, 2",
        ),
        (
            vec!["data.csv", "--states", "x,v", "--lambda", "-1"],
            1,
            "lambda = -1",
        ),
        (
            vec!["data.csv", "--states", "x", "--library", "polynom(3)"],
            2,
            "`polynomial(…)`",
        ),
        (
            vec!["data.csv", "--states", "x", "--derivative", "fd3"],
            2,
            "expected auto, fd2, fd4, savgol or weak",
        ),
        (
            vec!["data.csv", "--states", "x", "--method", "sindy"],
            2,
            "exact, sampled, stlsq, lasso or ols",
        ),
        (vec!["data.csv"], 2, "--states"),
        (vec![], 2, "no file of measurements"),
        (
            vec!["data.csv", "--states", "x,v", "--prior", "1"],
            1,
            "--prior 1 is not allowed",
        ),
        (
            vec!["--config", "c.toml", "--terms", "2"],
            2,
            "leave the files and all options",
        ),
        (
            vec![
                "back2.csv",
                "--states",
                "x",
                "--trajectory",
                "run",
                "--dt",
                "1",
            ],
            1,
            "line 4: an experiment of column `run` that was over comes back",
        ),
        (
            vec!["twice.csv", "--states", "x"],
            1,
            "several columns are called `x`",
        ),
        (
            vec!["still.csv", "--states", "x", "--controls", "u"],
            1,
            "column `u` is 7 in every row",
        ),
        (
            vec!["short.csv", "--states", "x", "--derivative", "fd4"],
            1,
            "a trajectory has only 4 rows; --derivative fd4 needs 5",
        ),
        (
            vec!["cut.parquet", "--states", "x"],
            1,
            "cannot be read as a Parquet file",
        ),
        (
            vec!["cut.npz", "--states", "x"],
            1,
            "cannot be read as an NPZ file",
        ),
        (vec!["bad.stats"], 1, "does not hold statistics"),
        (
            vec!["data.csv", "--states", "x,v", "--out", "data.csv/run"],
            1,
            "cannot write the folder data.csv/run",
        ),
        (
            vec![
                "data.csv", "--states", "x,v", "--out", "data.csv", "--force",
            ],
            1,
            "data.csv is a file",
        ),
        (vec!["--config", "data.csv"], 1, "is not the config.toml"),
        (
            vec!["data.csv", "--config", "c.toml"],
            2,
            "leave the files and all options",
        ),
        (
            vec!["data.csv", "--states", "x", "--library", "polynomial(3"],
            2,
            "^",
        ),
    ] {
        let output = fit(folder.path(), &arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.contains(words), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty());
        // Nothing half-made is left behind.
        let left = fs::read_dir(folder.path().join("runs"));
        assert!(left.is_err() || left.is_ok_and(|mut l| l.next().is_none()));
    }
}

/// The law, the bits and the place are the same for the same command; config.toml repeats it; other files of the same rows give the same law.
#[test]
fn runs_repeat_and_formats_agree() {
    use ell0_data::write::{TableWriter, Values};
    let folder = tempfile::tempdir().expect("a folder");
    let csv = oscillator(1500, 1.0);
    fs::write(folder.path().join("data.csv"), &csv).expect("written");
    let arguments = ["--states", "x,v", "--controls", "u"];
    let of = |file: &str| fit(folder.path(), &[&[file], &arguments[..]].concat());
    let (first, second) = (of("data.csv"), of("data.csv"));
    assert!(first.status.success(), "{}", text(&first.stderr));
    assert_eq!(first.stdout, second.stdout);
    let shown = text(&first.stdout);
    let place = shown
        .lines()
        .last()
        .expect("a line")
        .rsplit(' ')
        .next()
        .expect("a place");
    assert!(place.starts_with("runs/data-"), "{shown}");
    let place = folder.path().join(place);
    for name in [
        "config.toml",
        "model.json",
        "path.csv",
        "path.svg",
        "path.png",
        "equations.txt",
        "equations.tex",
    ] {
        assert!(place.join(name).exists(), "{name}");
    }
    assert_eq!(
        fs::read_dir(folder.path().join("runs"))
            .expect("a folder")
            .count(),
        1
    );
    let config = place.join("config.toml");
    let config = config.to_str().expect("a name");
    let again = fit(folder.path(), &["--config", config, "--out", "again"]);
    assert!(again.status.success(), "{}", text(&again.stderr));
    for name in [
        "config.toml",
        "model.json",
        "path.csv",
        "path.svg",
        "path.png",
    ] {
        let read = |folder: &Path| fs::read(folder.join(name)).expect("readable");
        assert_eq!(read(&place), read(&folder.path().join("again")), "{name}");
    }
    // The same rows as Parquet.
    let rows: Vec<Vec<f64>> = csv
        .lines()
        .skip(1)
        .map(|l| l.split(',').map(|c| c.parse().expect("a number")).collect())
        .collect();
    let names = ["t", "x", "v", "u"].map(String::from);
    let mut writer =
        TableWriter::create(folder.path().join("data.parquet"), &names).expect("a file");
    let column = |k: usize| Values::Number(rows.iter().map(|r| r[k]).collect());
    writer
        .push(&[column(0), column(1), column(2), column(3)])
        .expect("written");
    writer.finish().expect("written");
    let parquet = of("data.parquet");
    let without_place = |s: &str| {
        s.lines()
            .filter(|l| !l.contains("runs/"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(without_place(&text(&parquet.stdout)), without_place(&shown));
}

#[test]
fn statistics_made_in_parts_give_the_law_of_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let ell0 = |arguments: &[&str]| {
        let output = crate::ell0(folder.path(), arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
        text(&output.stdout)
    };
    for (k, start) in [0.5, 1.0, 1.7].iter().enumerate() {
        fs::write(
            folder.path().join(format!("{k}.csv")),
            oscillator(800, *start),
        )
        .expect("written");
    }
    let columns = [
        "--states",
        "x,v",
        "--controls",
        "u",
        "--library",
        "polynomial(2)",
    ];
    ell0(
        &[
            &["stats", "0.csv", "2.csv", "--out", "a.stats"],
            &columns[..],
        ]
        .concat(),
    );
    ell0(&[&["stats", "1.csv", "--out", "b.stats"], &columns[..]].concat());
    let whole = ell0(&[&["fit", "0.csv", "2.csv", "1.csv"], &columns[..]].concat());
    let parts = ell0(&["fit", "a.stats", "b.stats"]);
    let law = |shown: &str| {
        shown
            .lines()
            .filter(|l| l.contains("' = ") || l.contains('→'))
            .map(String::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(law(&whole).len(), 4, "{whole}");
    assert_eq!(law(&whole), law(&parts));
    // What does not fit together is refused.
    ell0(&["stats", "1.csv", "--states", "x,v", "--out", "c.stats"]);
    for (arguments, words) in [
        (vec!["a.stats", "c.stats"], "make them alike"),
        (vec!["a.stats", "1.csv"], "fit them apart"),
        (
            vec!["a.stats", "--states", "x"],
            "leave out --states, --inputs",
        ),
        (
            vec!["a.stats", "--library", "polynomial(1)"],
            "leave out --states, --inputs, --library",
        ),
        (
            vec!["a.stats", "--method", "sampled"],
            "needs the rows themselves",
        ),
    ] {
        let output = fit(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
}

/// A logistic map z ← r z (1 − z), with a little noise on what is read.
fn logistic(rows: usize, start: f64, noise: f64) -> String {
    let mut csv = String::from("z\n");
    let (mut z, mut wobble) = (start, 0.4f64);
    for _ in 0..rows {
        wobble = 3.99 * wobble * (1.0 - wobble);
        writeln!(csv, "{}", z + noise * (wobble - 0.5)).expect("written");
        z = 3.7 * z * (1.0 - z);
    }
    csv
}

/// Rows that are left out leave a hole: nothing is learned across it, and time goes on meanwhile.
#[test]
fn holes_are_not_bridged() {
    let folder = tempfile::tempdir().expect("a folder");
    let holes = |csv: &str, column: usize| -> String {
        let line = |(k, line): (usize, &str)| {
            let mut cells: Vec<&str> = line.split(',').collect();
            if k > 0 && k % 7 == 0 {
                cells[column] = "NaN";
            }
            cells.join(",") + "\n"
        };
        csv.lines().enumerate().map(line).collect()
    };
    let put =
        |name: &str, text: String| fs::write(folder.path().join(name), text).expect("written");
    put("map.csv", holes(&logistic(600, 0.3, 0.0), 0));
    let output = fit(
        folder.path(),
        &[
            "map.csv",
            "--states",
            "z",
            "--dynamics",
            "discrete",
            "--drop-missing",
        ],
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("z[k+1] = 3.7*z - 3.7*z^2"),
        "{shown}{}",
        text(&output.stderr)
    );
    assert!(
        shown.contains("85 rows with missing cells left out"),
        "{shown}"
    );
    // Without a column of time, rows that were left out count as time.
    let untimed: String = oscillator(2000, 1.0)
        .lines()
        .map(|l| l.split_once(',').expect("cells").1.to_string() + "\n")
        .collect();
    put("untimed.csv", holes(&untimed, 0));
    let output = fit(
        folder.path(),
        &[
            "untimed.csv",
            "--states",
            "x,v",
            "--controls",
            "u",
            "--dt",
            "0.02",
            "--derivative",
            "fd4",
            "--drop-missing",
        ],
    );
    let shown = text(&output.stdout);
    assert!(
        shown.contains("x' = 0.99") || shown.contains("x' = 1*v") || shown.contains("x' = 1.00"),
        "{shown}{}",
        text(&output.stderr)
    );
}

/// Noise is told from uneven sampling.
#[test]
fn uneven_steps_are_no_noise() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut csv = String::from("time,x,y\n");
    for k in 0..2000 {
        let t = 0.01 * (f64::from(k) + 0.6 * (f64::from(k) * 7.3).sin().abs());
        let size = (-0.1 * t).exp();
        writeln!(
            csv,
            "{t},{},{}",
            size * (2.0 * t).cos(),
            -size * (2.0 * t).sin()
        )
        .expect("written");
    }
    fs::write(folder.path().join("uneven.csv"), csv).expect("written");
    let output = fit(folder.path(), &["uneven.csv", "--states", "x,y"]);
    let shown = text(&output.stdout);
    assert!(
        shown.contains("rates of change by fd4"),
        "{shown}{}",
        text(&output.stderr)
    );
    assert!(
        shown.contains("x' = -0.1*x + 2*y\ny' = -2*x - 0.1*y"),
        "{shown}"
    );
}

/// A single held-out trajectory, too, has a standard error.
#[test]
fn few_trajectories_are_validated_in_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = (0..5).map(|k| format!("{k}.csv")).collect();
    for (k, name) in names.iter().enumerate() {
        fs::write(
            folder.path().join(name),
            logistic(300, 0.2 + 0.1 * k as f64, 0.01),
        )
        .expect("written");
    }
    let mut arguments: Vec<&str> = names.iter().map(String::as_str).collect();
    arguments.extend([
        "--states",
        "z",
        "--dynamics",
        "discrete",
        "--library",
        "polynomial(8)",
    ]);
    let output = fit(folder.path(), &arguments);
    let shown = text(&output.stdout);
    assert!(!shown.contains("0.000e0"), "{shown}");
    let law = shown
        .lines()
        .find(|l| l.starts_with("z[k+1]"))
        .expect("a law");
    assert!(law.contains("*z - 3.") && law.ends_with("*z^2"), "{law}");
}

/// Only what a run has put there is replaced.
#[test]
fn foreign_folders_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), oscillator(300, 1.0)).expect("written");
    for out in [".", ""] {
        let output = fit(
            folder.path(),
            &["data.csv", "--states", "x,v", "--out", out, "--force"],
        );
        assert_eq!(
            output.status.code(),
            Some(if out.is_empty() {
                output.status.code().unwrap_or(1)
            } else {
                1
            })
        );
        assert!(folder.path().join("data.csv").exists());
    }
    let output = fit(
        folder.path(),
        &["data.csv", "--states", "x,v", "--out", ".", "--force"],
    );
    assert!(
        text(&output.stderr).contains("holds data.csv, which no run has put there"),
        "{}",
        text(&output.stderr)
    );
}

/// Gates trained by sampling find the terms, perhaps with others; the same seed gives the same bytes.
#[test]
fn sampled_gates_find_the_terms() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut csv = String::from("a,b,y\n");
    for k in 0..2000 {
        let (a, b) = ((f64::from(k) * 0.7).sin(), (f64::from(k) * 1.3).cos());
        writeln!(csv, "{a},{b},{}", 2.0 * a - 3.0 * a * b).expect("written");
    }
    fs::write(folder.path().join("plain.csv"), &csv).expect("written");
    let run = || {
        fit(
            folder.path(),
            &[
                "plain.csv",
                "--inputs",
                "a,b",
                "--targets",
                "y",
                "--library",
                "polynomial(2)",
                "--method",
                "sampled",
                "--terms",
                "2",
            ],
        )
    };
    let output = run();
    assert!(
        text(&output.stdout).contains("y = 2*a - 3*a*b"),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    assert_eq!(run().stdout, output.stdout);
}

/// A full disk is an error that names the file.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data.csv"), oscillator(500, 1.0)).expect("written");
    let arguments = ["stats", "data.csv", "--states", "x,v", "--out", "/dev/full"];
    let output = ell0(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("cannot write /dev/full"),
        "{}",
        text(&output.stderr)
    );
    assert!(
        Path::new("/dev/full")
            .metadata()
            .is_ok_and(|m| !m.is_file())
    );
}
