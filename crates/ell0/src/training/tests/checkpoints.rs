//! Checkpoints: whole, foreign, damaged, and under a process that is killed.

use super::*;

#[test]
fn a_checkpoint_gives_its_network_without_the_data() {
    let (train, test) = (data(500, 1), data(200, 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    for (average, test) in [(None, None), (Some(0.9), None), (Some(0.9), Some(test))] {
        let config = TrainerConfig {
            epochs: 2,
            batch_size: 50,
            average,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(
            model(Some(GateSpec::default())),
            config,
            train.clone(),
            test,
        )
        .unwrap();
        trainer.fit(&mut Silent).unwrap();
        trainer.save(&path).unwrap();
        assert_eq!(Mlp::from_checkpoint(&path).unwrap(), trainer.best_model());
    }
}

/// A checkpoint of a short run, and the data it belongs to.
fn saved() -> (Arc<Dataset>, Vec<u8>) {
    let train = data(100, 1);
    let config = TrainerConfig {
        batch_size: 32,
        average: Some(0.9),
        ..TrainerConfig::default()
    };
    let mut trainer = Trainer::new(
        model(Some(GateSpec::default())),
        config,
        train.clone(),
        None,
    )
    .unwrap();
    trainer.fit(&mut StopAt(2)).unwrap();
    let bytes = trainer.to_bytes().unwrap();
    (train, bytes)
}

fn load(bytes: &[u8], train: &Arc<Dataset>) -> crate::Result<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    fs::write(&path, bytes).unwrap();
    Trainer::resume(&path, train.clone(), None).map(|trainer| trainer.steps())
}

#[test]
fn foreign_and_damaged_checkpoints_are_refused() {
    let (train, bytes) = saved();
    assert_eq!(load(&bytes, &train).unwrap(), 2);
    let refuse = |bytes: &[u8], words: &str| {
        let error = load(bytes, &train).unwrap_err();
        assert!(matches!(error, Error::Checkpoint { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    for cut in [0, 5, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        refuse(&bytes[..cut], "truncated");
    }
    refuse(
        b"PK\x03\x04 this is a zip file, not a checkpoint",
        "safetensors",
    );
    let mut damaged = bytes.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 1;
    refuse(&damaged, "checksum");
    // A digit of the header: as bad as one of the tensors.
    let mut damaged = bytes.clone();
    let place = damaged
        .windows(12)
        .position(|w| w == br#"\"steps\":2,"#)
        .unwrap();
    damaged[place + 10] = b'3';
    refuse(&damaged, "checksum");
    let empty = safetensors::serialize(
        Vec::<(String, safetensors::tensor::TensorView)>::new(),
        None,
    )
    .unwrap();
    refuse(&empty, "without an `ell0` header");
    let mut newer = bytes.clone();
    let place = newer
        .windows(13)
        .position(|w| w == br#"\"version\":3"#)
        .unwrap();
    newer[place + 12] = b'7';
    refuse(&newer, "format version 7; this program reads version 3");

    let other = data(100, 9);
    let error = load(&bytes, &other).unwrap_err().to_string();
    assert!(error.contains("other training data"), "{error}");
    let missing = Trainer::resume("no/such/file", train.clone(), None).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }), "{missing}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_old_one() {
    let (train, bytes) = saved();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    fs::write(&path, &bytes).unwrap();
    let trainer = Trainer::resume(&path, train.clone(), None).unwrap();
    let error = trainer
        .save(folder.path().join("missing/run.safetensors"))
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot write"), "{error}");
    // A folder in the file's place: the rename fails, and no scrap is left behind.
    fs::create_dir(folder.path().join("taken")).unwrap();
    assert!(trainer.save(folder.path().join("taken")).is_err());
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["run.safetensors", "taken"]);
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

proptest! {
    #![proptest_config(proptest_config(200))]

    /// Any change to the bytes is found or harmless; nothing panics.
    #[test]
    fn corrupted_checkpoints_never_panic(place: prop::sample::Index, value: u8, cut: prop::sample::Index) {
        let (train, bytes) = saved();
        let mut changed = bytes.clone();
        let at = place.index(changed.len());
        changed[at] = value;
        if let Ok(steps) = load(&changed, &train) {
            prop_assert_eq!(steps, 2);
        }
        prop_assert!(load(&bytes[..cut.index(bytes.len())], &train).is_err());
    }

    #[test]
    fn random_bytes_are_not_a_checkpoint(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let train = data(10, 1);
        prop_assert!(load(&bytes, &train).is_err());
    }
}

/// Set for the child process of the test below: where to write checkpoints, over and over.
const WRITER: &str = "ELL0_TEST_CHECKPOINT_WRITER";

/// A process that does nothing but write checkpoints is killed at many moments; what is on the disk can always be resumed.
#[test]
fn killed_at_any_moment_leaves_a_readable_checkpoint() {
    let train = data(500, 1);
    if let Some(path) = std::env::var_os(WRITER) {
        let config = TrainerConfig {
            batch_size: 32,
            epochs: 1_000_000,
            ..TrainerConfig::default()
        };
        let mut trainer = Trainer::new(
            model(Some(GateSpec::default())),
            config,
            train.clone(),
            None,
        )
        .unwrap();
        // Should the parent die first, the child still ends.
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(30) {
            trainer.step().unwrap();
            trainer.save(PathBuf::from(&path)).unwrap();
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let written = || fs::metadata(&path).and_then(|m| m.modified()).ok();
    for round in 0..12 {
        let before = written();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "training::tests::checkpoints::killed_at_any_moment_leaves_a_readable_checkpoint",
            ])
            .env(WRITER, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let start = Instant::now();
        while written() == before {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the writer wrote nothing"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        // Spread over the cycle of a step, a write, a sync and a rename over the file of the round before.
        std::thread::sleep(Duration::from_micros(1_000 + 777 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let trainer = Trainer::resume(&path, train.clone(), None).unwrap();
        assert!(trainer.steps() >= 1);
    }
}
