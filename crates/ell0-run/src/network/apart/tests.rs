//! Networks are measured on rows that they did not learn from, whatever the files hold.

use std::path::{Path, PathBuf};

use ell0::rng::Stream;
use tempfile::{TempDir, tempdir};

use super::*;
use crate::{
    MeasuredOn, NetworkResult, NetworkRunSettings, NetworkSettings, Quality, Silent, error::Result,
    observer::Event,
};

/// Rows of two inputs that say nothing, and a class drawn by lot.
fn random(rows: std::ops::Range<u64>) -> Vec<String> {
    let row = |k: u64| {
        let mut rng = Stream::new(11).at(k);
        let kind = ["heads", "tails"][rng.index(2)];
        format!("{},{},{kind}\n", rng.normal(), rng.normal())
    };
    rows.map(row).collect()
}

/// So few rows of each kind in turn.
fn both_kinds(rows: u64) -> Vec<String> {
    let kind = |k: u64| {
        if k.is_multiple_of(2) {
            "heads"
        } else {
            "tails"
        }
    };
    (0..rows)
        .map(|k| format!("{k},{},{}\n", k % 3, kind(k)))
        .collect()
}

fn put(place: &TempDir, name: &str, rows: &[String]) -> PathBuf {
    let file = place.path().join(name);
    std::fs::write(&file, format!("a,b,kind\n{}", rows.concat())).expect("written");
    file
}

/// Learns rows by heart, if it can.
fn settings(file: &Path, test: &[PathBuf]) -> NetworkRunSettings {
    NetworkRunSettings {
        data: NetworkData {
            files: vec![file.into()],
            class: Some("kind".into()),
            test: test.to_vec(),
            ..NetworkData::default()
        },
        network: NetworkSettings {
            hidden: vec![32],
            lambda: vec![0.0],
            epochs: 60,
            learning_rate: 0.02,
            ..NetworkSettings::default()
        },
        ..NetworkRunSettings::default()
    }
}

fn trained(settings: &NetworkRunSettings) -> Result<NetworkResult> {
    let run = settings.run(None, &Silent)?;
    Ok(run.chosen().expect("a network").0.clone())
}

fn rows_measured(result: &NetworkResult) -> usize {
    match result.quality {
        Quality::Classification { rows, .. } | Quality::Regression { rows, .. } => rows,
    }
}

#[test]
fn the_file_to_learn_from_is_none_to_test_on() {
    let place = tempdir().expect("a folder");
    let file = put(&place, "rows.csv", &random(0..40));
    let twin = put(&place, "twin.csv", &random(0..40));
    let other = put(&place, "other.csv", &random(40..60));
    let roundabout = place
        .path()
        .join("../")
        .join(place.path().file_name().expect("a name"));
    let mut same = vec![file.clone(), roundabout.join("rows.csv")];
    #[cfg(unix)]
    {
        let link = place.path().join("link.csv");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        same.push(link);
    }
    for test in same {
        let said = trained(&settings(&file, &[other.clone(), test]));
        let said = said.expect_err("refused").to_string();
        assert!(
            said.contains("rows.csv is a file to learn from and one to test on")
                || said.contains("link.csv is a file"),
            "{said}"
        );
    }
    let hard = place.path().join("hard.csv");
    std::fs::hard_link(&file, &hard).expect("a link");
    for test in [twin, hard] {
        let said = trained(&settings(&file, &[test]))
            .expect_err("refused")
            .to_string();
        assert!(
            said.contains("all 40 rows to test on have the inputs of rows to learn from"),
            "{said}"
        );
    }
    let said = trained(&settings(&file, &[other.clone(), other])).expect_err("refused");
    assert!(said.to_string().contains("other.csv"), "{said}");
}

#[test]
fn rows_to_test_on_that_were_learned_from_are_left_out() {
    let place = tempdir().expect("a folder");
    let file = put(&place, "rows.csv", &random(0..300));
    // 100 of the rows are to be learned from, two of the others are the same.
    let mixed = [random(200..400), random(399..400)].concat();
    let test = put(&place, "test.csv", &mixed);
    let found = trained(&settings(&file, &[test])).expect("a network");
    assert_eq!(
        (found.left_out, found.copies, rows_measured(&found)),
        (100, 1, 101)
    );
    let (_, high) = match found.quality {
        Quality::Classification { interval, .. } => interval,
        Quality::Regression { .. } => unreachable!("classes"),
    };
    assert!(high < 0.75, "{found:?}");
    assert_eq!(
        found.measured_told().join(" "),
        "Measured on rows that nothing was learned from. Left out: 100 rows to test on with the same inputs as a row to learn from. 1 row with the same inputs as an earlier one: such rows stand on one side, and each of them counts."
    );
}

#[test]
fn labels_by_lot_cannot_be_told_though_every_row_is_there_five_times() {
    let place = tempdir().expect("a folder");
    let mut rows = random(0..200);
    rows = [&rows[..]; 5].concat();
    // −0 is 0.
    rows.extend(["0,1,heads\n".into(), "-0,1,tails\n".into()]);
    let file = put(&place, "rows.csv", &rows);
    let test = settings(&file, &[]);
    let held = NetworkRunSettings {
        data: NetworkData {
            test_share: 0.0,
            ..test.data.clone()
        },
        network: NetworkSettings {
            validation: 0.2,
            ..test.network.clone()
        },
        path: vec![1.0, 2.0],
    };
    for (settings, on) in [(test, MeasuredOn::Test), (held, MeasuredOn::Validation)] {
        let found = trained(&settings).expect("a network");
        assert_eq!((found.measured_on, found.copies), (on, 801));
        assert!(rows_measured(&found) > 180, "{found:?}");
        // 40 kinds of rows: a share of 0.5 ± 0.08.
        assert!(found.error() > 0.25, "{found:?}");
        let told = found.measured_told().join(" ");
        assert!(told.contains("801 rows with the same inputs"), "{told}");
    }
}

#[test]
fn rows_that_cannot_be_held_out_are_missed() {
    let place = tempdir().expect("a folder");
    let file = put(&place, "rows.csv", &both_kinds(4));
    let mut settings = settings(&file, &[]);
    settings.network.validation = 0.1;
    settings.data.test_share = 0.0;
    assert_eq!(
        trained(&settings).expect("a network").measured_on,
        MeasuredOn::Training
    );
    let mut impatient = settings.clone();
    impatient.network.patience = Some(3);
    settings.path = vec![1.0, 2.0];
    for settings in [settings, impatient] {
        let said = trained(&settings).expect_err("refused").to_string();
        assert!(
            said.contains("validation = 0.1") && said.contains("of 4 rows"),
            "{said}"
        );
    }
}

#[test]
fn a_network_that_says_the_same_of_every_row_is_told() {
    let place = tempdir().expect("a folder");
    let mut rows = random(0..100);
    rows.extend((0..100).map(|k| format!("{k},{},tails\n", k % 7)));
    let file = put(&place, "rows.csv", &rows);
    let mut dear = settings(&file, &[]);
    dear.network.lambda = vec![1e4];
    dear.network.epochs = 100;
    let mut numbers = dear.clone();
    numbers.data.class = None;
    numbers.data.inputs = vec!["a".into()];
    numbers.data.targets = vec!["b".into()];
    for (settings, words) in [(dear, "the class `tails`"), (numbers, "the same")] {
        let run = settings.run(None, &Silent).expect("a run");
        let (result, network) = run.chosen().expect("a network");
        assert!(result.same_for_all);
        let warning = result.warning(&network.names).expect("a warning");
        let expected = format!("the network gives {words} for every row that it learned from");
        assert!(
            warning.starts_with(&expected) && warning.contains("a lower price"),
            "{warning}"
        );
    }
    // A network that tells rows apart is not warned of.
    let kind = |k: u32| if k < 50 { "heads" } else { "tails" };
    let rows: Vec<String> = (0..100)
        .map(|k| format!("{k},{},{}\n", k % 7, kind(k)))
        .collect();
    let file = put(&place, "apart.csv", &rows);
    let run = settings(&file, &[]).run(None, &Silent).expect("a run");
    let (result, network) = run.chosen().expect("a network");
    assert!(!result.same_for_all && result.warning(&network.names).is_none());
}

#[test]
fn a_run_on_copies_goes_on_to_the_same_bits() {
    use crate::folder::growing::Site;
    use std::{
        ops::ControlFlow,
        sync::atomic::{AtomicU64, Ordering},
    };
    let place = tempdir().expect("a folder");
    let file = put(&place, "rows.csv", &[random(0..60), random(0..30)].concat());
    let mut settings = settings(&file, &[]);
    settings.network.validation = 0.3;
    let whole = settings.run(None, &Silent).expect("a run");
    let site = Site::new(place.path().join("run"));
    let heard = AtomicU64::new(0);
    let stops = |event: Event| match event {
        Event::Reached { .. } if heard.fetch_add(1, Ordering::Relaxed) >= 13 => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    settings.run(Some(&site), &stops).expect_err("stopped");
    let resumed = NetworkRunSettings::resume(&site, &Silent).expect("a run");
    assert_eq!(resumed, whole);
    assert_eq!(resumed.rows()[0].copies, 30);
}

/// Rows of categories are measurements of their own: a class is never put aside as a whole.
#[test]
fn rows_of_categories_stand_on_both_sides() {
    let place = tempdir().expect("a folder");
    let row = |k: u64| {
        format!(
            "{},{},{}\n",
            k % 2,
            k % 3,
            ["heads", "tails"][(k % 2) as usize]
        )
    };
    let file = put(&place, "rows.csv", &(0..600).map(row).collect::<Vec<_>>());
    let found = trained(&settings(&file, &[])).expect("a network");
    assert!(found.error() < 0.01 && found.categories, "{found:?}");
    assert_eq!(rows_measured(&found), 120);
    let told = found.measured_told().join(" ");
    assert!(told.contains("the inputs are categories"), "{told}");
}
