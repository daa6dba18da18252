//! Interrupted at any moment, training goes on to the same bits.

use std::{collections::BTreeMap, fs, path::Path};

use super::{super::*, quick};
use crate::{
    Error,
    environment::{Environment, make},
    testing::Cart,
};

/// Everything that the future depends on, and what was noted.
fn same(a: &Training, b: &Training) -> bool {
    a.agent.memory() == b.agent.memory()
        && a.replay == b.replay
        && a.history == b.history
        && (a.episode, a.steps) == (b.episode, b.steps)
        && a.q_scale.to_bits() == b.q_scale.to_bits()
        && a.steering == b.steering
        && a.selection == b.selection
}

fn config() -> TrainConfig {
    TrainConfig {
        terms: Some(3),
        ..quick("polynomial(2)")
    }
}

fn begin() -> Training {
    Training::new(config(), Box::new(Cart::new())).expect("a training")
}

fn resume(stem: &Path) -> crate::Result<(Training, Saver)> {
    Training::resume(stem, config(), Box::new(Cart::new()))
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read(path).expect("a file"))
        })
        .collect()
}

fn write(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for old in fs::read_dir(folder).expect("a folder") {
        fs::remove_file(old.expect("an entry").path()).expect("deleted");
    }
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).expect("written");
    }
}

/// Saved and resumed after every episode, with evaluations noted before and after a save, while the ring overwrites itself again and again.
#[test]
fn a_resumed_training_goes_on_to_the_same_bits() {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("a.b");
    let mut whole = begin();
    let mut part = begin();
    let mut saver = Saver::create(&stem, &part).expect("a saver");
    let mut moved = false;
    for k in 0..10 {
        whole.episode().expect("finite");
        part.episode().expect("finite");
        if k % 3 == 0 {
            saver.save(&part).expect("saved");
        }
        if k % 2 == 1 {
            part.evaluate().expect("a return");
            whole.evaluate().expect("a return");
        }
        saver.save(&part).expect("saved");
        assert!(Saver::exists(&stem));
        moved |= folder.path().join("a.b.replay2").exists();
        (part, saver) = resume(&stem).expect("a checkpoint");
        assert!(same(&whole, &part), "episode {k}");
        let alone = Actor::load(Saver::policy_file(&stem)).expect("a policy");
        assert_eq!(alone, whole.policy());
        let state = folder.path().join("a.b.safetensors");
        assert_eq!(Actor::of_training(state).expect("a policy"), alone);
        let seen = Saver::read_episodes(&stem).expect("episodes");
        assert_eq!(seen, whole.history());
    }
    assert!(part.is_over() && part.history().len() == 10);
    assert!(moved && part.replay.added() > 2 * part.replay.capacity() as u64);
    // The journal never grows beyond twice the ring.
    let rows = 2 * part.replay.capacity() * part.replay.width() * 4;
    for name in ["a.b.replay", "a.b.replay2"] {
        let size = fs::metadata(folder.path().join(name)).map_or(0, |m| m.len());
        assert!(size < rows as u64 + 4000, "{size}");
    }
}

/// Between two saves a process may die at any moment: after every write, or in the middle of one.
#[test]
fn a_kill_leaves_the_state_of_the_last_save() {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("run");
    let mut training = begin();
    let mut saver = Saver::create(&stem, &training).expect("a saver");
    let mut compactions = 0;
    let mut before = BTreeMap::new();
    let mut state = None;
    for k in 0..10 {
        training.episode().expect("finite");
        saver.save(&training).expect("saved");
        let after = files(folder.path());
        if let Some(old) = &state {
            let switched = before.contains_key("run.replay") != after.contains_key("run.replay");
            compactions += u32::from(switched);
            // What is there at each moment: new rows, then new lines, then the policy, then the state, then the old journal goes.
            let mut now = before.clone();
            for name in ["run.replay", "run.replay2", "run.jsonl", "run.policy"] {
                let Some(new) = after.get(name) else { continue };
                let begun = before.get(name).map_or(0, Vec::len).min(new.len());
                let middle = begun + (new.len() - begun) / 2;
                if name != "run.policy" {
                    for cut in [
                        begun,
                        begun + 1,
                        middle,
                        new.len().saturating_sub(1).max(begun),
                    ] {
                        now.insert(name.into(), new[..cut.min(new.len())].to_vec());
                        write(folder.path(), &now);
                        let (again, _) = resume(&stem).expect("the old state");
                        assert!(same(&again, old), "{name} cut at {cut} in episode {k}");
                    }
                }
                now.insert(name.into(), new.clone());
                write(folder.path(), &now);
                let (again, _) = resume(&stem).expect("the old state");
                assert!(same(&again, old), "{name} in episode {k}");
                // And from there to the same bits.
                let (mut again, mut other) = resume(&stem).expect("the old state");
                again.episode().expect("finite");
                other.save(&again).expect("saved");
                assert!(same(&again, &training));
                assert!(same(&resume(&stem).expect("the new state").0, &training));
            }
            now.insert("run.safetensors".into(), after["run.safetensors"].clone());
            write(folder.path(), &now);
            let (again, _) = resume(&stem).expect("the new state");
            assert!(same(&again, &training), "episode {k}");
            write(folder.path(), &after);
        }
        (training, saver) = resume(&stem).expect("the new state");
        state = Some(resume(&stem).expect("the new state").0);
        before = after;
    }
    assert!(compactions >= 1, "{compactions}");
}

/// Damaged, truncated, foreign: a typed error, never a wrong state.
#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("run");
    let mut training = begin();
    let mut saver = Saver::create(&stem, &training).expect("a saver");
    for _ in 0..4 {
        training.episode().expect("finite");
        saver.save(&training).expect("saved");
    }
    let good = files(folder.path());
    for name in ["run.safetensors", "run.replay", "run.jsonl"] {
        let bytes = &good[name];
        for at in [9, bytes.len() / 2, bytes.len() - 2] {
            let mut damaged = good.clone();
            damaged.get_mut(name).expect("there")[at] ^= 1;
            write(folder.path(), &damaged);
            let error = resume(&stem).err().expect("damaged");
            assert!(error.to_string().contains(name), "{error}");
            let mut short = good.clone();
            short.insert(name.into(), bytes[..at].to_vec());
            write(folder.path(), &short);
            assert!(resume(&stem).is_err(), "{name} cut at {at}");
        }
        let mut missing = good.clone();
        missing.remove(name);
        write(folder.path(), &missing);
        assert!(resume(&stem).is_err(), "{name} is missing");
    }
    write(folder.path(), &good);
    let mut other = config();
    other.lambda *= 2.0;
    let wrong = Training::resume(&stem, other, Box::new(Cart::new()));
    assert!(matches!(wrong.err(), Some(Error::Checkpoint { .. })));
    let pendulum = make("pendulum").expect("a world");
    let wrong = Training::resume(&stem, config(), pendulum);
    let message = wrong.err().expect("another world").to_string();
    assert!(message.contains("another world"), "{message}");
    assert!(resume(&stem).is_ok());
    // A new beginning leaves nothing of the old one.
    drop(Saver::create(&stem, &training).expect("a saver"));
    assert!(!Saver::exists(&stem) && resume(&stem).is_err());
}

/// A saver that comes late, or seldom, saves what is still remembered.
#[test]
fn experience_that_was_forgotten_before_a_save_does_not_matter() {
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("run");
    let mut training = begin();
    let mut early = Saver::create(folder.path().join("early"), &training).expect("a saver");
    early.save(&training).expect("saved");
    while !training.is_over() {
        training.episode().expect("finite");
    }
    assert!(training.replay.added() > 100);
    let mut late = Saver::create(&stem, &training).expect("a saver");
    for (saver, stem) in [(&mut early, folder.path().join("early")), (&mut late, stem)] {
        saver.save(&training).expect("saved");
        assert!(same(&resume(&stem).expect("a checkpoint").0, &training));
    }
    assert!(Cart::new().closed_form().is_none());
}
