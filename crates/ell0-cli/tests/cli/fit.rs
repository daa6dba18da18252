//! `ell0 fit` and `ell0 stats` as a user runs them.

use std::fmt::Write;

use crate::fixture::{Desk, list, lorenz, model, near, number};

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

/// y = 2 a − 3 a b.
fn plain(rows: i32) -> String {
    let row = |k: i32| {
        let (a, b) = ((f64::from(k) * 0.7).sin(), (f64::from(k) * 1.3).cos());
        format!("{a},{b},{}\n", 2.0 * a - 3.0 * a * b)
    };
    String::from("a,b,y\n") + &(0..rows).map(row).collect::<String>()
}

/// Rates that were measured may be off in the last digits.
#[track_caller]
fn has_the_rate_of_x(shown: &str) {
    let law = shown.lines().find_map(|l| l.trim().strip_prefix("x' = "));
    let law = law.unwrap_or_else(|| panic!("no law in\n{shown}"));
    let factor = law.strip_suffix('v').map(|f| f.trim_end_matches('*'));
    let factor = factor.map(|f| if f.is_empty() { Ok(1.0) } else { f.parse() });
    near(factor.expect("v alone").expect("a number"), 1.0, 0.01);
}

#[test]
fn a_law_with_a_control_is_found_and_written() {
    let desk = Desk::new().with("data.csv", oscillator(3000, 1.0));
    let line = "fit data.csv --states x,v --controls u --json --out run";
    let done = desk.ell0(line).ok();
    let first = done.stdout.clone();
    let object = done.json();
    let laws: [(&str, &[(&str, f64)]); 2] = [
        ("x", &[("v", 1.0)]),
        ("v", &[("x", -1.0), ("v", -0.2), ("u", 0.5)]),
    ];
    assert_eq!(list(&object["equations"]).len(), laws.len());
    for (equation, (target, want)) in list(&object["equations"]).iter().zip(laws) {
        assert_eq!(equation["target"], target);
        let terms = list(&equation["terms"]);
        assert_eq!(terms.len(), want.len(), "{equation}");
        for (term, (feature, coefficient)) in terms.iter().zip(want) {
            assert_eq!(term["feature"], *feature);
            near(number(&term["coefficient"]), *coefficient, 0.01);
        }
    }
    assert_eq!(object["selected"]["terms"], 4);
    assert!(list(&object["path"]).len() > 10);
    assert_eq!(object["run_dir"], "run");
    // The run directory holds a model that reads back, and the same command gives the same bytes.
    let model = ell0::equation::Model::from_json(&desk.read("run/model.json")).expect("a model");
    assert_eq!(model.inputs(), ["x", "v", "u"]);
    // What is long has files of its own.
    assert!(object["followed"]["targets"][0]["explained"].is_number());
    assert!(object["followed"].get("runs").is_none());
    for name in [
        "equations.txt",
        "equations.tex",
        "path.csv",
        "trajectories.csv",
    ] {
        assert!(desk.exists(&format!("run/{name}")), "{name}");
    }
    assert_eq!(desk.ell0(&format!("{line} --force")).out(), first);
    desk.all_fail(&format!("{line} | exists; choose another one, or --force"));
}

#[test]
fn experiments_are_told_apart_by_a_column() {
    // Time starts anew in each.
    let mut csv = String::from("t,x,v,u,run\n");
    for run in 0..6 {
        for line in oscillator(400, 0.5 + 0.3 * f64::from(run)).lines().skip(1) {
            writeln!(csv, "{line},{run}").expect("written");
        }
    }
    let desk = Desk::new().with("runs.csv", csv);
    let forgotten = "fit runs.csv --states x,v --controls u";
    desk.all_fail(&format!("{forgotten} | line 402: time goes from 7.98 to 0"));
    let done = desk.ell0(&format!("{forgotten} --trajectory run"));
    has_the_rate_of_x(&done.shows("2400 rows in 6 trajectories"));
}

#[test]
fn regression_and_discrete_maps_are_understood() {
    let mut henon = String::from("x,y\n");
    let (mut x, mut y) = (0.1, 0.1);
    for _ in 0..500 {
        writeln!(henon, "{x},{y}").expect("written");
        (x, y) = (1.0 - 1.4 * x * x + y, 0.3 * x);
    }
    let desk = Desk::new()
        .with("plain.csv", plain(200))
        .with("henon.csv", henon);
    let regression = desk.ell0("fit plain.csv --inputs a,b --targets y");
    regression.shows("y = 2*a - 3*a*b");
    let map = desk.ell0("fit henon.csv --states x,y --dynamics discrete");
    map.shows("x[k+1] = 1 + 1*y - 1.4*x^2\ny[k+1] = 0.3*x");
}

#[test]
fn mistakes_are_explained() {
    let desk = Desk::new();
    for (name, content) in [
        ("data.csv", &*oscillator(100, 1.0)),
        ("text.csv", "t,x\n0,1\n1,two\n"),
        ("empty.csv", "t,x\n"),
        ("one.csv", "t,x\n0,1\n"),
        ("gap.csv", "t,x\n0,1\n1,\n2,3\n"),
        ("ragged.csv", "t,x\n0,1\n1\n"),
        ("back.csv", "t,x\n0,1\n1,2\n1,3\n"),
        ("bare.csv", "x\n1\n2\n"),
        (
            "still.csv",
            "t,x,u\n0,1,7\n1,2,7\n2,4,7\n3,7,7\n4,7,7\n5,8,7\n",
        ),
        ("short.csv", "t,x\n0,1\n1,2\n2,4\n3,7\n"),
        ("cut.parquet", "PAR1 and then nothing"),
        ("cut.npz", "PK\u{3}\u{4} and then nothing"),
        ("bad.stats", "{}"),
        ("back2.csv", "run,x\na,1\nb,2\na,3\n"),
        ("twice.csv", "t,x,x\n0,1,2\n"),
    ] {
        desk.put(name, content);
    }
    desk.all_fail("
        fit data.csv --states x,w | there is no column `w`; the columns are t, x, v, u
        fit text.csv --states x | line 3, column `x` holds `two`
        fit empty.csv --states x | there is no row of data
        fit one.csv --states x | one.csv: its trajectory, line 2, has only 1 row;
        fit gap.csv --states x | holds nothing
        fit ragged.csv --states x | line 3 has 1 cells, but the header has 2
        fit back.csv --states x | line 4: time goes from 1 to 1
        fit bare.csv --states x | no column of time: name it with --time
        fit no.csv --states x | cannot read no.csv
        fit data.csv --states x,v --terms 99 | the path has models of 0, 1, 2
        fit data.csv --states x,v --lambda -1 | lambda = -1
        fit data.csv --states x,v --prior 1 | --prior 1 is not allowed
        fit back2.csv --states x --trajectory run --dt 1 | line 4: an experiment of column `run` that was over comes back
        fit twice.csv --states x | several columns are called `x`
        fit still.csv --states x --controls u | column `u` is 7 in every row
        fit short.csv --states x --derivative fd4 | short.csv: its trajectory, lines 2 to 5, has only 4 rows; --derivative fd4 needs 5 (one, and 2 on either side): take a longer one
        fit cut.parquet --states x | cannot be read as a Parquet file
        fit cut.npz --states x | cannot be read as an NPZ or NPY file
        fit bad.stats | does not hold statistics
        fit data.csv --states x,v --out data.csv/run | data.csv is a file
        fit data.csv --states x,v --out data.csv --force | data.csv is a file
        fit --config data.csv | not the config.toml
    ");
    desk.all_misused(
        "
        fit data.csv --states x --library polynom(3) | `polynomial(…)`
        fit data.csv --states x --library polynomial(3 | ^
        fit data.csv --states x --derivative fd3 | expected auto, fd2, fd4, savgol or weak
        fit data.csv --states x --method sindy | exact, sampled, stlsq, lasso or ols
        fit data.csv | --states
        fit | no file of measurements
        fit --config c.toml --terms 2 | leave the files and all options
        fit data.csv --config c.toml | leave the files and all options
    ",
    );
}

/// The law, the bits and the place are the same for the same command; config.toml repeats it; other files of the same rows give the same law.
#[test]
fn runs_repeat_and_formats_agree() {
    let desk = Desk::new().with("data.csv", oscillator(1500, 1.0));
    let of = |file: &str| {
        let line = format!("fit {file} --states x,v --controls u");
        desk.ell0(&line).out()
    };
    let shown = of("data.csv");
    assert_eq!(shown, of("data.csv"));
    let place = shown.trim_end().rsplit(' ').next().expect("a place");
    assert!(place.starts_with("runs/data-"), "{shown}");
    for name in ["equations.txt", "equations.tex"] {
        assert!(desk.exists(&format!("{place}/{name}")), "{name}");
    }
    let runs = std::fs::read_dir(desk.path("runs")).expect("a folder");
    assert_eq!(runs.count(), 1);
    desk.does(&format!("fit --config {place}/config.toml --out again"));
    for name in "config.toml model.json path.csv path.svg path.png trajectories.csv trajectories.svg trajectories.png planes.svg residuals.png".split(' ') {
        let read = |folder: &str| desk.bytes(&format!("{folder}/{name}"));
        assert!(read(place) == read("again"), "{name}");
    }
    // The same rows as Parquet: what a model that changes nothing predicts.
    let same = ["t", "x", "v", "u"].map(|name| (name, name));
    desk.put("same.json", model("regression", &same.map(|s| s.0), &same));
    desk.does("predict same.json data.csv --out data.parquet");
    assert!(desk.bytes("data.parquet").starts_with(b"PAR1"));
    let law = |shown: &str| -> Vec<String> {
        let lines = shown.lines().filter(|l| !l.contains("runs/"));
        lines.map(String::from).collect()
    };
    assert_eq!(law(&of("data.parquet")), law(&shown));
}

#[test]
fn statistics_made_in_parts_give_the_law_of_the_whole() {
    let desk = Desk::new();
    for (name, start) in [("0.csv", 0.5), ("1.csv", 1.0), ("2.csv", 1.7)] {
        desk.put(name, oscillator(800, start));
    }
    let columns = "--states x,v --controls u --library polynomial(2)";
    desk.does(&format!("stats 0.csv 2.csv --out a.stats {columns}"));
    desk.does(&format!("stats 1.csv --out b.stats {columns}"));
    let law = |line: &str| -> Vec<String> {
        let shown = desk.ell0(line).out();
        let lines = shown
            .lines()
            .filter(|l| l.contains("' = ") || l.contains('→'));
        lines.map(String::from).collect()
    };
    let whole = law(&format!("fit 0.csv 2.csv 1.csv {columns}"));
    assert_eq!(whole.len(), 4, "{whole:?}");
    assert_eq!(whole, law("fit a.stats b.stats"));
    // What does not fit together is refused.
    desk.does("stats 1.csv --states x,v --out c.stats");
    desk.all_fail(
        "
        fit a.stats c.stats | make them alike
        fit a.stats 1.csv | fit them apart
        fit a.stats --states x | leave out --states, --inputs
        fit a.stats --library polynomial(1) | leave out --states, --inputs, --library
        fit a.stats --method sampled | needs the rows themselves
    ",
    );
}

/// Rows that are left out leave a hole: nothing is learned across it, and time goes on meanwhile.
#[test]
fn holes_are_not_bridged() {
    let holes = |csv: &str| -> String {
        let line = |(k, line): (usize, &str)| {
            let rest = line.split_once(',').map(|r| format!(",{}", r.1));
            match k > 0 && k % 7 == 0 {
                true => format!("NaN{}\n", rest.unwrap_or_default()),
                false => format!("{line}\n"),
            }
        };
        csv.lines().enumerate().map(line).collect()
    };
    let without_time = |line: &str| line.split_once(',').expect("cells").1.to_string() + "\n";
    let untimed: String = oscillator(2000, 1.0).lines().map(without_time).collect();
    let desk = Desk::new()
        .with("map.csv", holes(&logistic(600, 0.3, 0.0)))
        .with("untimed.csv", holes(&untimed));
    desk.ell0("fit map.csv --states z --dynamics discrete --drop-missing")
        .shows("z[k+1] = 3.7*z - 3.7*z^2 | 85 rows with missing cells left out");
    // Without a column of time, rows that were left out count as time.
    let line =
        "fit untimed.csv --states x,v --controls u --dt 0.02 --derivative fd4 --drop-missing";
    has_the_rate_of_x(&desk.ell0(line).out());
}

#[test]
fn uneven_steps_are_no_noise() {
    let mut csv = String::from("time,x,y\n");
    for k in 0..2000 {
        let t = 0.01 * (f64::from(k) + 0.6 * (f64::from(k) * 7.3).sin().abs());
        let (size, (sin, cos)) = ((-0.1 * t).exp(), (2.0 * t).sin_cos());
        writeln!(csv, "{t},{},{}", size * cos, -size * sin).expect("written");
    }
    let done = Desk::new()
        .with("uneven.csv", csv)
        .ell0("fit uneven.csv --states x,y");
    done.shows("rates of change by fd4 | x' = -0.1*x + 2*y\ny' = -2*x - 0.1*y");
}

/// A single held-out trajectory, too, has a standard error.
#[test]
fn few_trajectories_are_validated_in_parts() {
    let desk = Desk::new();
    for k in 0..5u32 {
        let start = 0.2 + 0.1 * f64::from(k);
        desk.put(&format!("{k}.csv"), logistic(300, start, 0.01));
    }
    let line =
        "fit 0.csv 1.csv 2.csv 3.csv 4.csv --states z --dynamics discrete --library polynomial(8)";
    let shown = desk.ell0(line).out();
    assert!(!shown.contains("0.000e0"), "{shown}");
    let law = shown.lines().find(|l| l.starts_with("z[k+1]"));
    let law = law.expect("a law");
    assert!(law.contains("*z - 3.") && law.ends_with("*z^2"), "{law}");
}

/// Only what a run has put there is replaced.
#[test]
fn foreign_folders_are_kept() {
    let desk = Desk::new().with("data.csv", oscillator(300, 1.0));
    desk.all_fail("fit data.csv --states x,v --out . --force | lies in the folder . that would be replaced; choose another --out");
    let nowhere = "fit data.csv --states x,v --out '' --force";
    desk.all_misused(&format!("{nowhere} | a value is required for '--out"));
    assert_eq!(desk.read("data.csv"), oscillator(300, 1.0));
}

/// Gates trained by sampling find the terms, perhaps with others; the same seed gives the same bytes.
#[test]
fn sampled_gates_find_the_terms() {
    let desk = Desk::new().with("plain.csv", plain(2000));
    let line =
        "fit plain.csv --inputs a,b --targets y --library polynomial(2) --method sampled --terms 2";
    let first = desk.ell0(line).shows("y = 2*a - 3*a*b");
    assert_eq!(desk.ell0(line).out(), first);
}

/// A full disk is an error that names the file.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let desk = Desk::new().with("data.csv", oscillator(500, 1.0));
    let line = "stats data.csv --states x,v --out /dev/full";
    desk.all_fail(&format!("{line} | cannot write /dev/full"));
    let device = desk.path("/dev/full").metadata();
    assert!(device.is_ok_and(|m| !m.is_file()), "it was replaced");
}

#[test]
fn the_likelihood_tells_what_is_explained() {
    let desk = Desk::new().with("data.csv", lorenz());
    let fit = "fit data.csv --library polynomial(2) --criterion likelihood";
    desk.ell0(&format!("{fit} --states x,y,z --out whole"))
        .shows(
            "95 % interval | x: explained to the noise | z: explained to the noise | most likely",
        );
    let law = desk.json("whole/model.json");
    let terms = &law["equations"][1]["terms"];
    let truth = [("x", 28.0), ("y", -1.0), ("x z", -1.0)];
    assert_eq!(terms.as_array().map(Vec::len), Some(truth.len()), "{terms}");
    for (k, (name, value)) in truth.into_iter().enumerate() {
        assert_eq!(terms[k]["feature"], name);
        let number = |key: &str| terms[k][key].as_f64().expect("a number");
        let (off, error) = (number("coefficient") - value, number("error"));
        assert!(off.abs() < 4.0 * error, "{terms}");
    }
    // A state that nobody measured.
    let hidden = desk.ell0(&format!("{fit} --states x,y --out hidden --json"));
    let hidden = hidden.json();
    assert_eq!(hidden["judgement"]["equations"][1]["verdict"], "partly");
    // It is the default, and a number of terms is kept to.
    let asked =
        "fit data.csv --library polynomial(2) --states x,y,z --terms 2,2,2 --json --out asked";
    let asked = desk.ell0(asked).json();
    for equation in asked["equations"].as_array().expect("equations") {
        let terms = equation["terms"].as_array().expect("terms");
        assert_eq!(terms.len(), 2);
        assert!(terms.iter().all(|t| t["error"].is_number()), "{equation}");
    }
    // Rows that stand by themselves have a likelihood, too.
    desk.ell0(&format!("{fit} --states x,y,z --dynamics discrete"))
        .shows("95 % interval | x: explained");
    desk.all_misused("fit data.csv --states x --criterion luck | there is no criterion `luck`");
}

/// y = 1 + 2a, with errors of a fifth in `a`, and b, which says nothing.
fn with_errors() -> String {
    let mut rng = ell0::rng::Stream::new(5).at(0);
    let mut csv = String::from("a,b,y\n");
    for _ in 0..2000 {
        let (a, b) = (rng.normal(), rng.normal());
        let y = 1.0 + 2.0 * a + 0.02 * rng.normal();
        writeln!(csv, "{},{b},{y}", a + 0.2 * rng.normal()).expect("written");
    }
    csv
}

/// Errors of inputs that nobody speaks of are warned of, on the screen and on the page; those that are said are corrected, and a run is repeated with them.
#[test]
fn errors_of_inputs_are_told_or_corrected() {
    let desk = Desk::new().with("data.csv", with_errors());
    let line = "fit data.csv --inputs a,b --targets y --library polynomial(1)";
    desk.ell0(&format!("{line} --out plain")).shows(
        "y: explained: 20 % of its deviation is left | caution: inputs count as exact; if a was measured with errors of 0.2 (19 % of its standard deviation) | the coefficient of a would be about 1.99 | (--input-noise)",
    );
    let page = desk.read("plain/report.html");
    assert!(page.contains("if a was measured with errors"));
    let corrected = desk.ell0(&format!(
        "{line} --input-noise a=0.2 --out corrected --json"
    ));
    let object = corrected.json();
    let terms = list(&object["equations"][0]["terms"]);
    assert_eq!(terms.len(), 2, "{object}");
    let (c, error) = (number(&terms[1]["coefficient"]), number(&terms[1]["error"]));
    assert!((c - 2.0).abs() < 3.0 * error && error < 0.03, "{terms:?}");
    assert_eq!(object["data"]["input_noise"]["a"], 0.2);
    let again = desk.ell0("fit --config corrected/config.toml --out again");
    again.shows("y: explained to the noise | corrected for the errors of the inputs");
    assert_eq!(
        desk.read("again/model.json"),
        desk.read("corrected/model.json")
    );
    // One number is for all inputs.
    desk.ell0(&format!("{line} --input-noise 0.2 --out all"))
        .shows("corrected for the errors of the inputs");
    desk.all_fail(&format!(
        "{line} --input-noise c=1 | the input `c` were given"
    ));
    desk.all_fail(&format!("{line} --input-noise -1 | not negative"));
    desk.all_misused(&format!(
        "{line} --input-noise a | name=value, for example x=0.1"
    ));
    let states = "fit data.csv --states a,b --dt 0.1 --input-noise 0.1";
    desk.all_fail(&format!("{states} | leave the errors out"));
}
