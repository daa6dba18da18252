use super::*;
use crate::{
    frame::Frame,
    runs::{Roles, Runs},
    survey::Look,
    table::ReadOptions,
};
use ell0::rng::Stream;

fn look(x: Vec<f64>, dt: f64) -> Look {
    let t: Vec<f64> = (0..x.len()).map(|k| k as f64 * dt).collect();
    let roles = Roles {
        inputs: vec!["x".into()],
        time: Some("t".into()),
        ..Roles::default()
    };
    let frames = [Frame::new([("t", t), ("x", x)])];
    let runs = Runs::of_frames(&frames, roles, ReadOptions::default()).unwrap();
    Look::new(runs, 1, true, |_| ()).unwrap()
}

fn wave(rows: usize, noise: f64, seed: u64) -> Vec<f64> {
    let mut rng = Stream::new(seed).at(0);
    let value = |k: usize| (0.05 * k as f64).sin() + noise * rng.normal();
    (0..rows).map(value).collect()
}

#[test]
fn one_value_far_off_is_found_wherever_it_stands() {
    for noise in [0.0, 0.01, 0.1] {
        for place in [0, 3, 500, 8190, 8193, 8999] {
            let mut x = wave(9000, noise, 3);
            let truth = x[place];
            x[place] = -999.0;
            let Blemishes { spikes, still, .. } = look(x, 0.01).blemishes;
            assert_eq!(
                (spikes.len(), still.len()),
                (1, 0),
                "{noise} {place}: {spikes:?}"
            );
            let Spike {
                row,
                value,
                expected,
                ..
            } = spikes[0].clone();
            assert_eq!((row, value), (place as u64, -999.0));
            assert!(
                (expected - truth).abs() < 0.05 + 6.0 * noise,
                "{expected} {truth}"
            );
        }
    }
}

#[test]
fn one_in_a_hundred_is_found_beside_others() {
    let mut x = wave(20_000, 0.01, 5);
    let mut rng = Stream::new(9).at(0);
    let mut truth = Vec::new();
    for k in 20..19_980 {
        if rng.uniform() < 0.01 {
            x[k] += if rng.uniform() < 0.5 { -1.0 } else { 1.0 } * (0.5 + 5.0 * rng.uniform());
            truth.push(k as u64);
        }
    }
    let found: Vec<u64> = look(x, 0.01)
        .blemishes
        .spikes
        .iter()
        .map(|s| s.row)
        .collect();
    let right = found.iter().filter(|row| truth.contains(row)).count();
    assert!(
        right as f64 > 0.95 * truth.len() as f64,
        "{right} of {}",
        truth.len()
    );
    assert!(
        found.len() - right <= truth.len() / 100,
        "{} too many",
        found.len() - right
    );
}

/// Values of a state that jumps, has kinks, moves fast at times, is rounded, or is nothing but noise: none of them is an accident.
#[test]
fn what_the_data_are_is_left_alone() {
    let rows = 10_000;
    let time = |k: usize| k as f64 * 0.01;
    let square: Vec<f64> = (0..rows)
        .map(|k| f64::from(time(k + 5).sin() > 0.0))
        .collect();
    let kinks: Vec<f64> = (0..rows)
        .map(|k| (time(k).rem_euclid(2.0) - 1.0).abs())
        .collect();
    let rounded: Vec<f64> = (0..rows).map(|k| (20.0 * time(k).sin()).round()).collect();
    let pulses: Vec<f64> = (0..rows)
        .map(|k| (60.0 * (time(k).sin() - 1.0)).exp())
        .collect();
    // Van der Pol's oscillator with a stiff spring, by small steps.
    let (mut x, mut v, mut stiff) = (2.0, 0.0, Vec::new());
    for _ in 0..rows {
        for _ in 0..100 {
            let a = 20.0 * (1.0 - x * x) * v - x;
            (x, v) = (x + 1e-4 * 5.0 * v, v + 1e-4 * 5.0 * a);
        }
        stiff.push(x);
    }
    for noise in [0.0, 1e-4, 0.01, 0.1] {
        let all = [
            ("square", &square),
            ("kinks", &kinks),
            ("pulses", &pulses),
            ("stiff", &stiff),
        ];
        for (name, clean) in all {
            let mut rng = Stream::new(11).at(0);
            let x = clean.iter().map(|x| x + noise * rng.normal()).collect();
            let found = look(x, 0.01).blemishes;
            assert!(found.is_empty(), "{name} {noise}: {found:?}");
        }
    }
    let found = look(rounded, 0.01).blemishes;
    assert!(found.is_empty(), "rounded: {found:?}");
    let mut rng = Stream::new(12).at(0);
    let found = look((0..50_000).map(|_| rng.normal()).collect(), 0.01).blemishes;
    assert!(found.is_empty(), "noise: {found:?}");
}

#[test]
fn a_state_that_stands_still_for_no_reason_is_found() {
    let mut x = wave(3000, 0.01, 4);
    let value = x[1000];
    x[1000..1060].fill(value);
    let found = look(x, 0.01).blemishes;
    assert!(found.spikes.is_empty(), "{found:?}");
    assert_eq!(found.still.len(), 1);
    let Still { row, rows, .. } = found.still[0];
    assert_eq!((row, rows), (1000, 60));
    assert_eq!(found.still[0].place, "row 1001 of frame 1");
    // At rest, without noise: nothing is wrong.
    let rest: Vec<f64> = (0..3000)
        .map(|k| f64::from((600 - k).max(0)) * 0.01)
        .collect();
    assert!(look(rest, 0.01).blemishes.is_empty());
}

#[test]
fn what_is_read_again_is_mended() {
    let mut x = wave(2000, 0.01, 6);
    x[700] = 1e6;
    let value = x[1200];
    x[1200..1230].fill(value);
    let t: Vec<f64> = (0..2000).map(|k| k as f64 * 0.01).collect();
    let roles = Roles {
        inputs: vec!["x".into()],
        time: Some("t".into()),
        ..Roles::default()
    };
    let frames = [Frame::new([("t", t), ("x", x.clone())])];
    let runs = || Runs::of_frames(&frames, roles.clone(), ReadOptions::default()).unwrap();
    let blemishes = Look::new(runs(), 1, true, |_| ()).unwrap().blemishes;
    let mut mended = runs().mended(blemishes.into());
    let (mut rows, mut gaps) = (Vec::new(), 0);
    while let Some(run) = mended.next_run().unwrap() {
        gaps += usize::from(run.gap);
        rows.extend(run.columns[1].iter().copied());
    }
    assert_eq!((rows.len(), gaps), (1970, 1));
    assert_eq!(rows[..700], x[..700]);
    assert!(rows[700].abs() < 2.0);
    assert_eq!(rows[1200..], x[1230..]);
}
