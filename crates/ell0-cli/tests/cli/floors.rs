//! Nothing is left behind by what ends early.

use std::{fmt::Write, time::Duration};

use crate::fixture::{Desk, Running, lorenz};

/// So many rows that a fit takes a while.
fn long_data() -> String {
    let mut rows = String::from("t,x,y\n");
    for k in 0..400_000 {
        let t = 0.01 * f64::from(k);
        let _ = writeln!(rows, "{t},{},{}", (0.3 * t).sin(), (0.3 * t).cos());
    }
    rows
}

fn signal(desk: &Desk, running: &Running, name: &str) {
    desk.run("kill", &format!("-{name} {}", running.0.id()));
}

#[test]
fn a_signal_during_a_fit_leaves_nothing_behind() {
    let desk = Desk::new().with("data.csv", long_data());
    let before = desk.files();
    for (k, name) in ["INT", "TERM", "HUP"].iter().enumerate() {
        let line = "fit data.csv --states x,y --library polynomial(5)";
        let running = desk.start(line);
        std::thread::sleep(Duration::from_millis(150 * (k as u64 + 1)));
        signal(&desk, &running, name);
        assert_eq!(running.end().0, Some(130), "{name}");
        assert_eq!(desk.files(), before, "{name}");
    }
}

/// A process that is killed cannot clear up; the next one does.
#[test]
fn leftovers_of_killed_processes_go() {
    let desk = Desk::new().with("data.csv", lorenz());
    let leave = |folder: &str| {
        desk.put(&format!("{folder}.ell0-aaaaaaaaaaaa"), "half a file");
        desk.put(&format!("{folder}.ell0-bbbbbbbbbbbb/.lock"), "");
        desk.put(&format!("{folder}.ell0-bbbbbbbbbbbb/model.json"), "{");
    };
    let none_left = |line: &str| {
        let left = desk.files().into_iter().find(|f| f.contains(".ell0-"));
        assert_eq!(left, None, "{line}");
    };
    for (line, folder) in [
        ("fit data.csv --states x,y,z --out found --force", ""),
        ("fit data.csv --states x,y,z", "runs/"),
        ("stats data.csv --states x,y,z --out part.json --force", ""),
        (
            "collect --env pendulum --episodes 1 --out rows.csv --force",
            "",
        ),
        (
            "train --env pendulum(limit=5) --episodes 2 --out trained --force",
            "",
        ),
        ("train --resume --out trained", "trained/"),
        ("train --resume --out trained", "trained/checkpoints/"),
        ("analyze found --out analysis --force", ""),
    ] {
        leave(folder);
        desk.does(line);
        none_left(line);
    }
}

/// Between the last episode and the end a policy is pruned and tuned: a signal is obeyed there, too, and the run goes on to the same bits.
#[test]
fn a_signal_in_the_last_stage_of_a_training_is_obeyed() {
    let desk = Desk::new();
    let line = "train --env pendulum(limit=20) --episodes 3 --fine-tune --out";
    desk.does(&format!("{line} whole"));
    let mut running = desk.start(&format!("{line} stopped"));
    let metrics = desk.path("stopped/metrics.jsonl");
    running.wait_for(&metrics);
    while std::fs::read_to_string(&metrics)
        .expect("a file")
        .lines()
        .count()
        < 3
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&desk, &running, "TERM");
    let (code, said) = running.end();
    assert_ne!(code, Some(0), "it went on to its end: {said}");
    assert!(!desk.exists("stopped/results.json"), "{said}");
    desk.does("train --resume --out stopped");
    let (file, stopped) = ("policies/seed0.json", "stopped/policies/seed0.json");
    assert_eq!(desk.read(stopped), desk.read(&format!("whole/{file}")));
}
