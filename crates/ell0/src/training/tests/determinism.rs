//! The same bits, whatever happens on the way.

use super::*;

#[test]
fn one_thread_or_two_give_the_same_bits() {
    let (train, test) = (data(3000, 1), data(700, 2));
    for gates in gatings() {
        let run = |threads| {
            let config = TrainerConfig {
                threads,
                ..config()
            };
            let mut trainer =
                Trainer::new(model(gates), config, train.clone(), Some(test.clone())).unwrap();
            trainer.fit(&mut Silent).unwrap();
            trainer.set_threads(1).unwrap();
            trainer.to_bytes().unwrap()
        };
        assert_eq!(run(1), run(2));
        assert_eq!(run(1), run(3));
    }
}

/// Interrupted at every step in turn, saved, loaded and gone on: the same bytes in the end, optimizer, average, best and history included.
#[test]
fn resumed_is_bit_identical_to_uninterrupted() {
    let (train, test) = (data(3000, 1), data(700, 2));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    for gates in gatings() {
        let mut whole =
            Trainer::new(model(gates), config(), train.clone(), Some(test.clone())).unwrap();
        assert_eq!(whole.fit(&mut Silent).unwrap(), Outcome::Finished);
        let whole = whole.to_bytes().unwrap();
        for stop in (1..=20).step_by(if gates.is_none() { 1 } else { 3 }) {
            let mut first =
                Trainer::new(model(gates), config(), train.clone(), Some(test.clone())).unwrap();
            assert_eq!(first.fit(&mut StopAt(stop)).unwrap(), Outcome::Interrupted);
            first.save(&path).unwrap();
            drop(first);
            let mut second = Trainer::resume(&path, train.clone(), Some(test.clone())).unwrap();
            assert_eq!(second.steps(), stop);
            assert_eq!(second.fit(&mut Silent).unwrap(), Outcome::Finished);
            assert_eq!(second.to_bytes().unwrap(), whole, "stopped at {stop}");
        }
    }
}
