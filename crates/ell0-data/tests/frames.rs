//! Measurements in memory are read as those of files are.

use ell0::{equation::Dynamics, features::Library, rng::Stream};
use ell0_data::{
    Error,
    derivative::Derivative,
    evidence::{Evidence, Question, training_rows},
    frame::Frame,
    runs::{Roles, Runs},
    survey::Survey,
    table::ReadOptions,
    write::{TableWriter, Values},
};

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|s| s.to_string()).collect()
}

fn roles() -> Roles {
    Roles {
        inputs: strings(&["x", "u"]),
        time: Some("t".into()),
        ..Roles::default()
    }
}

/// x' = u − x at uneven times, with holes in u, and a column that nobody asks for.
fn columns(rows: usize, seed: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut rng = Stream::new(seed).at(0);
    let (mut t, mut x) = (0.0f64, 1.0);
    let mut columns = [const { Vec::new() }; 4];
    for row in 0..rows {
        let u = (0.3 * t).sin();
        let hole = if row % 97 == 5 { f64::NAN } else { u };
        for (column, value) in columns.iter_mut().zip([x, t, hole, row as f64]) {
            column.push(value);
        }
        let h = 0.01 * (1.0 + 0.5 * rng.uniform());
        t += h;
        x += h * (u - x);
    }
    ["x", "t", "u", "other"].into_iter().zip(columns).collect()
}

/// What a fit rests on, to the last bit.
fn evidence(runs: &dyn Fn() -> Runs) -> (String, Vec<u64>) {
    let survey = Survey::new(runs(), 1, |_| ()).expect("readable");
    let question = Question {
        library: Library::polynomial(2),
        libraries: vec![],
        inputs: strings(&["x", "u"]),
        targets: strings(&["x"]),
        dynamics: Dynamics::Continuous,
        derivative: Derivative::Fd4,
    };
    let rows = training_rows(runs(), &question, &survey, 500).expect("rows");
    assert_eq!(rows.features.len(), 6 * rows.targets.len());
    let bits = rows.features.iter().chain(&rows.targets);
    let bits = bits.map(|v| v.to_bits()).collect();
    let evidence = Evidence::gather(runs(), &question, survey, |_| ()).expect("finite");
    (evidence.to_json(), bits)
}

#[test]
fn the_same_numbers_give_the_same_bits_from_memory_and_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    // More rows than a block has, and fewer.
    let data = [columns(20_000, 1), columns(300, 2)];
    let options = ReadOptions {
        drop_missing: true,
        ..ReadOptions::default()
    };
    let frames: Vec<Frame> = data.iter().cloned().map(Frame::new).collect();
    let memory = evidence(&|| Runs::of_frames(&frames, roles(), options).expect("frames"));
    for extension in ["csv", "parquet"] {
        let mut files = Vec::new();
        for (k, columns) in data.iter().enumerate() {
            let file = folder.path().join(format!("{k}.{extension}"));
            let names: Vec<String> = columns.iter().map(|c| c.0.to_string()).collect();
            let mut writer = TableWriter::create(&file, &names).expect("a writer");
            let values = columns.iter().map(|c| Values::Number(c.1.clone()));
            writer.push(&values.collect::<Vec<_>>()).expect("written");
            writer.finish().expect("written");
            files.push(file);
        }
        let read = evidence(&|| Runs::new(&files, roles(), options));
        assert!(memory == read, "{extension}");
    }
}

#[test]
fn what_is_wrong_with_a_frame_is_told_with_its_name() {
    let good = || columns(50, 1)[..2].to_vec();
    let with_u = |u: Vec<f64>| {
        let mut columns = good();
        columns.push(("u", u));
        Frame::new(columns)
    };
    let whole = with_u(vec![0.5; 50]);
    let strict = ReadOptions::default();
    let run = |frames: &[Frame], options| -> Result<u64, Error> {
        let mut runs = Runs::of_frames(frames, roles(), options)?;
        while runs.next_run()?.is_some() {}
        Ok(runs.dropped())
    };
    assert_eq!(run(std::slice::from_ref(&whole), strict).expect("whole"), 0);
    let told = |frame: Frame| run(&[whole.clone(), frame], strict).expect_err("refused");
    let missing = told(Frame::new(good()));
    assert!(
        matches!(&missing, Error::Column { column, columns, .. } if column == "u" && !columns.is_empty()),
        "{missing}"
    );
    assert!(
        missing
            .to_string()
            .starts_with("frame 2: there is no column `u`")
    );
    let short = told(with_u(vec![0.5; 49]).named("Tuesday")).to_string();
    assert_eq!(short, "Tuesday: column `u` has 49 rows, but `x` has 50");
    let mut u = vec![0.5; 50];
    u[7] = f64::NAN;
    let hole = told(with_u(u.clone()));
    assert!(
        matches!(&hole, Error::Cell { place, column, .. } if place == "row 8" && column == "u"),
        "{hole}"
    );
    let lenient = ReadOptions {
        drop_missing: true,
        ..strict
    };
    assert_eq!(run(&[with_u(u.clone())], lenient).expect("readable"), 1);
    u[7] = f64::INFINITY;
    assert!(matches!(
        run(&[with_u(u)], lenient),
        Err(Error::Cell { .. })
    ));
    let mut back = good();
    back[1].1[3] = back[1].1[1];
    back.push(("u", vec![0.5; 50]));
    let back = told(Frame::new(back));
    assert!(
        matches!(&back, Error::Time { place, .. } if place == "row 4"),
        "{back}"
    );
    let empty = told(Frame::new(["x", "t", "u"].map(|name| (name, Vec::new()))));
    assert_eq!(empty.to_string(), "frame 2: there is no row of data");
    let twice = ["x", "t", "u", "u"].map(|name| (name, vec![0.0, 1.0]));
    assert!(
        told(Frame::new(twice))
            .to_string()
            .contains("several columns are called `u`")
    );
}

/// A column of labels parts a frame into trajectories.
#[test]
fn a_frame_may_hold_several_trajectories() {
    let frame = Frame::new([
        ("run", vec![1.0, 1.0, 7.0, 7.0]),
        ("x", vec![1.0, 2.0, 3.0, 4.0]),
    ]);
    assert_eq!(frame.names(), ["run", "x"]);
    assert_eq!(frame.columns()[1].len(), 4);
    let roles = Roles {
        inputs: strings(&["x"]),
        trajectory: Some("run".into()),
        dt: Some(0.5),
        ..Roles::default()
    };
    let mut runs = Runs::of_frames(&[frame], roles, ReadOptions::default()).expect("a frame");
    let mut all = Vec::new();
    while let Some(run) = runs.next_run().expect("readable") {
        assert!(run.begins);
        all.push(run.columns);
    }
    let half = vec![0.0, 0.5];
    let want = [
        vec![half.clone(), vec![1.0, 2.0]],
        vec![half, vec![3.0, 4.0]],
    ];
    assert_eq!(all, want);
}
