//! Laws beside the measurements they were found in: what the pictures of a fit show.

use ell0::rng::Stream;
use ell0_data::frame::Frame;
use ell0_run::{
    Criterion, DataSettings, Discovery, FitSettings, Followed, Kind, Place, Silent, StatsSettings,
};

fn settings(states: &[&str], criterion: Criterion) -> FitSettings {
    FitSettings {
        criterion: Some(criterion),
        data: DataSettings {
            states: states.iter().map(ToString::to_string).collect(),
            ..DataSettings::default()
        },
        ..FitSettings::default()
    }
}

/// A damped oscillator with noise.
fn oscillator(noise: f64) -> Frame {
    let mut rng = Stream::new(5).at(0);
    let t: Vec<f64> = (0..800).map(|k| 0.02 * f64::from(k)).collect();
    let (mut x, mut v) = (Vec::new(), Vec::new());
    for t in &t {
        let (fall, phase) = ((-0.1 * t).exp(), 2.0 * t);
        x.push(fall * phase.cos() + noise * rng.normal());
        v.push(fall * (-0.1 * phase.cos() - 2.0 * phase.sin()) + noise * rng.normal());
    }
    Frame::new([("t", t), ("x", x), ("v", v)])
}

fn lorenz() -> Frame {
    let step = |[x, y, z]: [f64; 3]| [10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z];
    let moved = |s: [f64; 3], by: [f64; 3], h: f64| [0, 1, 2].map(|i| s[i] + h * by[i]);
    let (mut s, h) = ([1.0, 2.0, 20.0], 0.01);
    let mut columns = vec![Vec::new(); 4];
    for k in 0..4000 {
        columns[0].push(h * f64::from(k));
        columns[1..].iter_mut().zip(s).for_each(|(c, v)| c.push(v));
        let a = step(s);
        let b = step(moved(s, a, 0.5 * h));
        let c = step(moved(s, b, 0.5 * h));
        let d = step(moved(s, c, h));
        s = [0, 1, 2].map(|i| s[i] + h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]));
    }
    let mut columns = columns.into_iter();
    let mut column = || columns.next().expect("a column");
    Frame::new([
        ("t", column()),
        ("x", column()),
        ("y", column()),
        ("z", column()),
    ])
}

fn followed(found: &Discovery) -> &Followed {
    found.followed.as_ref().expect("measurements were there")
}

#[test]
fn a_law_that_is_right_is_followed_from_one_start() {
    let table = oscillator(0.01);
    let found = settings(&["x", "v"], Criterion::Validation).run_on(&[table], &Silent);
    let found = found.expect("a law");
    let followed = followed(&found);
    let [run] = followed.runs.as_slice() else {
        panic!("one run");
    };
    assert_eq!(run.starts, [0]);
    assert_eq!(followed.window, Some(run.time.len()));
    for (target, course) in followed.targets.iter().zip(&run.courses) {
        assert!(target.explained > 0.999, "{target:?}");
        // What is left is the noise.
        let noise = target.noise.expect("it can be told");
        assert!((0.8..1.4).contains(&(target.left / noise)), "{target:?}");
        assert_eq!(course.measured.len(), run.time.len());
        assert!(course.law.iter().all(Option::is_some));
        // Nobody has said how sure the coefficients are.
        assert!(course.band.iter().all(Option::is_none));
    }
    let names: Vec<&str> = found.figures().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["trajectories", "planes", "residuals", "path"]);
}

#[test]
fn a_law_whose_coefficients_have_errors_has_a_band() {
    let found = settings(&["x", "v"], Criterion::Likelihood)
        .run_on(&[oscillator(0.05)], &Silent)
        .expect("a law");
    let followed = followed(&found);
    let course = &followed.runs[0].courses[0];
    let mut widest: f64 = 0.0;
    for (law, band) in course.law.iter().zip(&course.band) {
        let (law, (low, high)) = (law.expect("followed"), band.expect("a band"));
        assert!(low <= law && law <= high);
        widest = widest.max(high - low);
    }
    // From a start that is given, a little of the state after a while.
    assert!((1e-4..0.2).contains(&widest), "{widest}");
    let svg = followed.trajectories(found.data.dynamics).svg();
    assert_eq!(svg.matches("<polygon").count(), 2);
    assert_eq!(svg.matches("class=\"points\"").count(), 2);
}

#[test]
fn a_chaotic_law_is_started_anew() {
    let found = settings(&["x", "y", "z"], Criterion::Validation)
        .run_on(&[lorenz()], &Silent)
        .expect("a law");
    let followed = followed(&found);
    let rows = followed.runs[0].time.len();
    assert!(rows <= 2000);
    // All of the run is seen, with rows left out between.
    assert!(followed.every > 1 && *followed.runs[0].time.last().expect("rows") > 30.0);
    let window = followed.window.expect("a window");
    assert!(window >= 50, "{window}");
    let starts: Vec<usize> = (0..rows).step_by(window).collect();
    assert_eq!(followed.runs[0].starts, starts);
    assert!(followed.targets.iter().all(|t| t.explained > 0.9));
    let planes = followed.planes(found.data.dynamics).expect("planes");
    assert_eq!(planes.charts.len(), 3);
}

/// x⁺ = 3.8·x·(1 − x), and y = a·b: a map and a regression.
#[test]
fn maps_are_iterated_and_regressions_compared() {
    let mut x = vec![0.3];
    (1..300).for_each(|k: usize| x.push(3.8 * x[k - 1] * (1.0 - x[k - 1])));
    let mut map = settings(&["x"], Criterion::Validation);
    map.data.dynamics = Kind::Discrete;
    let found = map
        .run_on(&[Frame::new([("x", x)])], &Silent)
        .expect("a law");
    let seen = followed(&found);
    assert!(seen.targets[0].explained > 0.9 && seen.runs[0].starts.len() > 1);
    let planes = seen.planes(found.data.dynamics).expect("the next value");
    assert_eq!(planes.charts.len(), 1);

    let mut rng = Stream::new(6).at(0);
    let a: Vec<f64> = (0..5000).map(|_| rng.normal()).collect();
    let b: Vec<f64> = (0..5000).map(|_| rng.normal()).collect();
    let y: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a * b).collect();
    let mut plain = settings(&[], Criterion::Validation);
    plain.data.inputs = vec!["a".into(), "b".into()];
    plain.data.targets = vec!["y".into()];
    let found = plain.run_on(&[Frame::new([("a", a), ("b", b), ("y", y)])], &Silent);
    let found = found.expect("a law");
    let seen = followed(&found);
    assert_eq!((seen.window, seen.every), (None, 3));
    assert!(seen.planes(found.data.dynamics).is_none());
    let course = &seen.runs[0].courses[0];
    for (measured, law) in course.measured.iter().zip(&course.law) {
        assert!((measured - law.expect("a value")).abs() < 1e-9);
    }
    assert!((found.equations[0].terms[0].contribution - 1.0).abs() < 1e-9);
}

/// Where there are only statistics of the measurements, nothing is shown of them.
#[test]
fn statistics_have_no_pictures_of_measurements() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = oscillator(0.0);
    let mut csv = String::from("t,x,v\n");
    let columns = table.columns();
    for k in 0..columns[0].len() {
        let cells: Vec<String> = columns.iter().map(|c| c[k].to_string()).collect();
        csv += &(cells.join(",") + "\n");
    }
    let (data, part) = (
        folder.path().join("data.csv"),
        folder.path().join("a.stats"),
    );
    std::fs::write(&data, csv).expect("written");
    let mut of_file = settings(&["x", "v"], Criterion::Validation).data;
    of_file.files = vec![data];
    let evidence = StatsSettings {
        data: of_file,
        ..StatsSettings::default()
    }
    .run(&Silent)
    .expect("statistics");
    std::fs::write(&part, evidence.to_json()).expect("written");
    let mut fit = FitSettings::default();
    fit.data.files = vec![part];
    let found = fit.run(&Silent).expect("a law");
    assert!(found.followed.is_none());
    let place = Place::new(folder.path().join("fit"));
    let written = found.write(&fit, &place, None).expect("written");
    assert!(!written.join("trajectories.csv").exists());
    assert_eq!(Discovery::read(&written).expect("read"), found);
}

/// With a band, with runs of several trajectories, and with names that a table must quote: the folder gives the same value back, and damage is told.
#[test]
fn what_is_shown_can_be_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut fit = settings(&["x, \"m\"", "v"], Criterion::Likelihood);
    let rename = |table: Frame| {
        let mut columns = table.columns().to_vec().into_iter();
        let names = ["t", "x, \"m\"", "v"].into_iter();
        Frame::new(names.zip(columns.by_ref()))
    };
    fit.data.time = Some("t".into());
    let tables = [rename(oscillator(0.01)), rename(oscillator(0.02))];
    let found = fit.run_on(&tables, &Silent).expect("a law");
    assert_eq!(followed(&found).runs.len(), 2);
    let place = Place::new(folder.path().join("fit"));
    let written = found.write(&fit, &place, None).expect("written");
    assert_eq!(Discovery::read(&written).expect("read"), found);
    for name in ["trajectories", "planes", "residuals", "path"] {
        for kind in ["svg", "png", "csv"] {
            let there = written.join(format!("{name}.{kind}")).exists();
            let table = ["trajectories", "path"].contains(&name);
            assert_eq!(there, kind != "csv" || table, "{name}.{kind}");
        }
    }
    let file = written.join("trajectories.csv");
    let text = std::fs::read_to_string(&file).expect("read");
    for damaged in [
        text.replacen("measured", "m", 1),
        text.replacen("\n1,1,", "\n3,1,", 1),
        text.clone() + "1,0,2\n",
        text.clone() + "2,0,5,x,,,,1,,,\n",
    ] {
        std::fs::write(&file, damaged).expect("written");
        let error = Discovery::read(&written).expect_err("damaged").to_string();
        assert!(error.contains("trajectories.csv"), "{error}");
    }
}
