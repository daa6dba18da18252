//! Runs of networks as a whole.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};

use ell0_data::frame::Frame;
use tempfile::tempdir;

use super::*;
use crate::{
    error::Error,
    folder::growing::Site,
    observer::{Event, Silent},
};

/// Two columns tell the class, two others say nothing.
fn csv(rows: usize) -> String {
    let mut rng = ell0::rng::Stream::new(3).at(0);
    let mut text = String::from("a,b,c,d,kind\n");
    for _ in 0..rows {
        let [a, b, c, d] = [(); 4].map(|()| rng.normal());
        let kind = match (a > 0.0, b > 0.5) {
            (true, true) => "both",
            (true, false) => "left",
            _ => "none",
        };
        text += &format!("{a},{b},{c},{d},{kind}\n");
    }
    text
}

fn settings(file: &std::path::Path) -> NetworkRunSettings {
    NetworkRunSettings {
        path: Vec::new(),
        data: NetworkData {
            files: vec![file.into()],
            class: Some("kind".into()),
            ..NetworkData::default()
        },
        network: NetworkSettings {
            hidden: vec![16],
            lambda: vec![10.0],
            epochs: 150,
            ..NetworkSettings::default()
        },
    }
}

#[test]
fn a_table_becomes_a_small_network_that_can_be_read_back() {
    let place = tempdir().expect("a folder");
    let file = place.path().join("kinds.csv");
    std::fs::write(&file, csv(1500)).expect("written");
    let site = Site::new(place.path().join("run"));
    let run = settings(&file).run(Some(&site), &Silent).expect("a run");
    let (result, network) = run.chosen().expect("a network");
    assert_eq!(network.names.classes, ["both", "left", "none"]);
    assert_eq!(result.inputs_read, ["a", "b"]);
    assert_eq!(result.measured_on, MeasuredOn::Test);
    assert!(result.error() < 0.05 && result.baseline < 0.6, "{result:?}");
    assert!(result.compaction_error < 1e-6);
    assert!(result.units[1] < 16 && result.parameters < result.parameters_before);
    let Quality::Classification {
        rows, confusion, ..
    } = &result.quality
    else {
        panic!("classes");
    };
    assert_eq!(*rows, 300);
    assert_eq!(confusion.iter().flatten().sum::<u64>(), 300);
    assert_eq!(NetworkRun::read(&site.folder).expect("read back"), run);
    for name in [
        "report.html",
        "gates.png",
        "export/network.c",
        "export/network.onnx",
    ] {
        assert!(site.folder.join(name).exists(), "{name}");
    }
    // What it says of the rows, and how good that is.
    let score = NetworkScoreSettings {
        files: vec![file.clone()],
        ..NetworkScoreSettings::default()
    };
    let network = SparseNetwork::read(&site.folder).expect("a network");
    assert!(score.run(&network).expect("scored").error() < 0.05);
    let mut said = Vec::new();
    network
        .predict_file(&file, |columns| {
            assert_eq!(columns.len(), 4);
            said.extend((0..columns[0].len()).map(|row| columns[0].cell(row)));
            Ok(())
        })
        .expect("predicted");
    let text = std::fs::read_to_string(&file).expect("text");
    let right = text
        .lines()
        .skip(1)
        .zip(&said)
        .filter(|(line, said)| line.ends_with(said.as_str()));
    assert!(right.count() > 1425);
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let place = tempdir().expect("a folder");
    let file = place.path().join("kinds.csv");
    std::fs::write(&file, csv(600)).expect("written");
    let settings = NetworkRunSettings {
        path: vec![0.5, 2.0],
        network: NetworkSettings {
            validation: 0.2,
            epochs: 40,
            class_weights: ClassWeights::Balanced,
            ..settings(&file).network
        },
        ..settings(&file)
    };
    let whole = settings.run(None, &Silent).expect("a run");
    let site = Site::new(place.path().join("run"));
    let heard = AtomicU64::new(0);
    let stops = |event: Event| match event {
        Event::Reached { .. } if heard.fetch_add(1, Ordering::Relaxed) >= 13 => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let stopped = settings.run(Some(&site), &stops);
    assert!(matches!(stopped, Err(Error::Stopped { folder: Some(_) })));
    // What it has done so far has a page.
    crate::report::write(&site.folder).expect("a page");
    let resumed = NetworkRunSettings::resume(&site, &Silent).expect("a run");
    assert_eq!(resumed, whole);
    // Finished, it is the same again.
    assert_eq!(
        NetworkRunSettings::resume(&site, &Silent).expect("a run"),
        whole
    );
    // Other data are refused.
    std::fs::write(&file, csv(601)).expect("written");
    let said = NetworkRunSettings::resume(&site, &Silent).expect_err("other data");
    assert!(said.to_string().contains("other training data"), "{said}");
}

#[test]
fn a_price_that_is_too_high_is_not_chosen() {
    let place = tempdir().expect("a folder");
    let file = place.path().join("kinds.csv");
    std::fs::write(&file, csv(1000)).expect("written");
    let run = NetworkRunSettings {
        path: vec![0.1, 1.0, 1000.0],
        network: NetworkSettings {
            validation: 0.2,
            ..settings(&file).network
        },
        ..settings(&file)
    };
    let run = run.run(None, &Silent).expect("a run");
    let sizes: Vec<usize> = run.rows().iter().map(|r| r.parameters).collect();
    assert!(sizes[2] < sizes[0], "{sizes:?}");
    assert!(run.rows()[2].inputs_read.is_empty(), "{:?}", run.rows()[2]);
    let (chosen, _) = run.chosen().expect("a network");
    assert!(
        chosen.lambda[0] < 100.0 && chosen.error() < 0.06,
        "{chosen:?}"
    );
}

#[test]
fn numbers_from_memory() {
    let mut rng = ell0::rng::Stream::new(7).at(0);
    let n = 800;
    let [a, b, c] = [(); 3].map(|()| (0..n).map(|_| rng.normal()).collect::<Vec<f64>>());
    let y: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 100.0 + 5.0 * a * b).collect();
    let frame = Frame::new([("a", a), ("b", b), ("c", c), ("y", y)]);
    let settings = NetworkRunSettings {
        data: NetworkData {
            targets: vec!["y".into()],
            ..NetworkData::default()
        },
        network: NetworkSettings {
            lambda: vec![1.0],
            ..NetworkSettings::default()
        },
        ..NetworkRunSettings::default()
    };
    let run = settings.run_on(&[frame], None, &Silent).expect("a run");
    let (result, _) = run.chosen().expect("a network");
    assert_eq!(result.inputs_read, ["a", "b"]);
    assert!(result.error() < 0.1 * result.baseline, "{result:?}");
}

#[test]
fn mistakes_are_sentences() {
    let place = tempdir().expect("a folder");
    let said = |text: &str, change: &dyn Fn(&mut NetworkRunSettings)| {
        let file = place.path().join("table.csv");
        std::fs::write(&file, text).expect("written");
        let mut settings = settings(&file);
        settings.network.epochs = 1;
        change(&mut settings);
        settings
            .run(None, &Silent)
            .expect_err("a mistake")
            .to_string()
    };
    let good = csv(100);
    let unchanged = |_: &mut NetworkRunSettings| ();
    let quantity: String = (0..50).map(|k| format!("1,{k},0.{k}1\n")).collect();
    let other = place.path().join("other.csv");
    std::fs::write(&other, "a,b,c,d,kind\n1,2,3,4,strange\n").expect("written");
    for (found, words) in [
        (
            said(&format!("x,z,kind\n{quantity}"), &unchanged),
            "50 different values in 50 rows: that is a quantity",
        ),
        (
            said("x,kind\n1,a\n2,a\n", &unchanged),
            "only one class, `a`",
        ),
        (
            said("x,z,kind\n1,5,a\n1,5,b\n", &unchanged),
            "every input is the same in all 2 rows",
        ),
        (
            said("x,kind\nNaN,a\n2,b\n", &unchanged),
            "line 2, column `x`",
        ),
        (
            said(&good, &|s| s.data.test = vec![other.clone()]),
            "class `strange`, which was not among",
        ),
        (said(&good, &|s| s.data.class = Some("king".into())), "king"),
        (
            said(&good, &|s| s.data.inputs = vec!["kind".into()]),
            "`kind` is named twice",
        ),
        (
            said(&good, &|s| s.data.labels = vec![other.clone()]),
            "what is to come out?",
        ),
        (
            said(&good, &|s| s.network.patience = Some(3)),
            "rows must be held out",
        ),
        (
            said(&good, &|s| s.path = vec![1.0, 2.0]),
            "prices are compared on held-out rows",
        ),
        (
            said(&good, &|s| s.network.lambda = vec![1.0; 3]),
            "3 prices",
        ),
        (
            said(&good, &|s| {
                s.network.class_weights = ClassWeights::Named(vec![("x".into(), 1.0)]);
            }),
            "no class `x`",
        ),
    ] {
        assert!(found.contains(words), "{found}");
    }
}

/// An IDX file of bytes.
fn idx(shape: &[u32], values: impl Iterator<Item = u8>) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, shape.len() as u8];
    bytes.extend(shape.iter().flat_map(|n| n.to_be_bytes()));
    bytes.extend(values);
    bytes
}

#[test]
fn images_with_labels_of_their_own() {
    let place = tempdir().expect("a folder");
    let put = |name: &str, bytes: Vec<u8>| {
        let path = place.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let mut rng = ell0::rng::Stream::new(1).at(0);
    let mut labels = Vec::new();
    let mut pixels = Vec::new();
    for _ in 0..500 {
        let label = rng.index(3);
        labels.push(label as u8);
        // A row of the image is bright.
        pixels.extend((0..16).map(|p| {
            if p / 4 == label {
                200
            } else {
                rng.index(60) as u8
            }
        }));
    }
    let (first, last) = pixels.split_at(400 * 16);
    let images = put("images", idx(&[400, 4, 4], first.iter().copied()));
    let classes = put("labels", idx(&[400], labels.iter().copied().take(400)));
    let others = put("others", idx(&[100, 4, 4], last.iter().copied()));
    let their = put("their", idx(&[100], labels.iter().copied().skip(400)));
    let settings = |labels: &std::path::PathBuf| NetworkRunSettings {
        data: NetworkData {
            files: vec![images.clone()],
            labels: vec![labels.clone()],
            test: vec![others.clone()],
            test_labels: vec![their.clone()],
            ..NetworkData::default()
        },
        network: NetworkSettings {
            hidden: vec![8],
            epochs: 30,
            ..NetworkSettings::default()
        },
        ..NetworkRunSettings::default()
    };
    let run = settings(&classes).run(None, &Silent).expect("a run");
    let (result, network) = run.chosen().expect("a network");
    assert_eq!(result.error(), 0.0);
    assert_eq!(network.names.classes, ["0", "1", "2"]);
    let few = put("few", idx(&[399], labels.iter().copied().take(399)));
    let said = settings(&few)
        .run(None, &Silent)
        .expect_err("few")
        .to_string();
    assert!(said.contains("399 labels for 400 rows"), "{said}");
    let large = put("large", idx(&[16, 5, 5], pixels.iter().copied().take(400)));
    let score = NetworkScoreSettings {
        files: vec![large.clone()],
        labels: vec![classes.clone()],
        ..NetworkScoreSettings::default()
    };
    let said = score.run(network).expect_err("large").to_string();
    assert!(
        said.contains("25 numbers `x_…`, and 16 are needed"),
        "{said}"
    );
    let said = network
        .predict_file(&large, |_| Ok(()))
        .expect_err("large")
        .to_string();
    assert!(said.contains("images of another size"), "{said}");
    let mut cut = idx(&[400, 4, 4], first.iter().copied());
    cut.truncate(3000);
    let cut = put("cut", cut);
    let said = network
        .predict_file(&cut, |_| Ok(()))
        .expect_err("cut")
        .to_string();
    assert!(said.contains("truncated"), "{said}");
}
