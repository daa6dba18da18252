//! Files that are there stay, whatever is asked for.

use crate::fixture::{Desk, LAW, lorenz, model, policy};

/// A desk with data, a law and a policy.
fn desk() -> Desk {
    let laws = [("x", "-x"), ("y", "-y"), ("z", "-z")];
    Desk::new()
        .with("data.csv", lorenz())
        .with("law.json", model("continuous", &["x", "y", "z"], &laws))
        .with("policy.json", policy(LAW))
}

/// Commands that write one file.
const WRITERS: [&str; 5] = [
    "predict law.json data.csv",
    "stats data.csv --states x,y,z",
    "simulate law.json --initial x=1,y=1,z=1 --duration 1",
    "collect --env pendulum --episodes 1",
    "rollout policy.json --env pendulum",
];

#[test]
fn a_file_that_exists_is_replaced_only_if_that_is_wished() {
    let desk = desk();
    for line in WRITERS {
        desk.put("thesis.csv", "mine");
        desk.all_fail(&format!("{line} --out thesis.csv | --force"));
        desk.does(&format!("{line} --out thesis.csv --force"));
        assert_ne!(desk.read("thesis.csv"), "mine", "{line}");
        // What is no file cannot be lost.
        desk.does(&format!("{line} --out /dev/null"));
    }
}

#[test]
fn a_file_that_is_read_is_never_written() {
    let desk = desk();
    for (line, read) in [
        (WRITERS[0], "data.csv"),
        (WRITERS[0], "law.json"),
        (WRITERS[1], "./data.csv"),
        (WRITERS[2], "law.json"),
        (WRITERS[4], "policy.json"),
    ] {
        desk.all_fail(&format!("{line} --out {read} --force | is being read"));
    }
}

#[test]
fn an_empty_folder_is_as_good_as_none() {
    let desk = desk();
    let analyze = format!("analyze --policy '{LAW}' --env pendulum --prove-seconds 0.2");
    let train = "train --env pendulum(limit=20) --episodes 2";
    for (k, line) in [
        "fit data.csv --states x,y,z",
        analyze.as_str(),
        train,
        "tutorial figures --quick",
    ]
    .iter()
    .enumerate()
    {
        let folder = desk.path(&format!("empty{k}"));
        std::fs::create_dir(&folder).expect("a folder");
        desk.does(&format!("{line} --out empty{k}"));
        assert!(folder.join("report.html").exists(), "{line}");
        desk.all_fail(&format!("{line} --out empty{k} | exists"));
    }
}

#[test]
fn rows_count_once_and_time_is_respected() {
    desk().all_fail(
        "
        fit data.csv ./data.csv --states x,y,z | ./data.csv is given twice
        stats data.csv data.csv --states x,y,z --out s | data.csv is given twice
        score law.json data.csv data.csv | data.csv is given twice
        fit data.csv --states x,y,z --dt 0.1 | column `t` is the time
        score law.json data.csv --dt 0.1 | leave --dt out
    ",
    );
}
