//! The Riccati equation and the regulator.

use super::worlds::Linear;
use crate::{
    analysis::{Regulator, Riccati, linear},
    environment::SmoothStep,
};

/// scipy.linalg.solve_discrete_are, SciPy 1.
#[test]
fn golden_values_of_the_riccati_equation() {
    let a = vec![
        vec![1.1, 0.3, 0.0],
        vec![-0.2, 0.9, 0.4],
        vec![0.1, 0.0, 1.05],
    ];
    let b = vec![vec![0.0, 1.0], vec![0.5, 0.0], vec![1.0, -0.3]];
    let found = Riccati::new(&a, &b, &[1.0, 2.0, 0.5], &[0.1, 3.0]);
    let found = found.expect("sizes").expect("a regulator");
    let p = [
        [
            2.9914727918094277,
            0.037168446195714744,
            0.055904226791342757,
        ],
        [
            0.037168446195714744,
            3.354352108753606,
            -0.06764298100356805,
        ],
        [
            0.055904226791342757,
            -0.06764298100356805,
            0.598749595273882,
        ],
    ];
    let k = [
        [-0.09000957207862782, 1.0120217447508482, 0.8413728180710519],
        [
            0.5388981314045279,
            0.17303545100709655,
            -0.0044911807016464475,
        ],
    ];
    for i in 0..3 {
        for j in 0..3 {
            assert!((found.p[i][j] - p[i][j]).abs() < 1e-12, "{i} {j}");
        }
    }
    for i in 0..2 {
        for j in 0..3 {
            assert!((found.gain[i][j] - k[i][j]).abs() < 1e-12, "{i} {j}");
        }
    }
    // x⁺ = 2x + u with equal weights: p = 2 + √5.
    let one = Riccati::new(&[vec![2.0]], &[vec![1.0]], &[1.0], &[1.0]);
    let one = one.expect("sizes").expect("a regulator");
    assert!((one.p[0][0] - (2.0 + 5f64.sqrt())).abs() < 1e-13);
}

/// A ring on which something is carried along, spreads and grows; a few actuators.
fn ring(n: usize, m: usize) -> Linear {
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        a[i][i] = 0.53;
        a[i][(i + 1) % n] += 0.2;
        a[i][(i + n - 1) % n] += 0.3;
    }
    let width = n as f64 / m as f64;
    let bump = |i: usize, k: usize| {
        let centre = (k as f64 + 0.5) * width;
        let away = (i as f64 - centre).abs();
        let away = away.min(n as f64 - away);
        (-(away / (0.4 * width)).powi(2)).exp()
    };
    let b = (0..n).map(|i| (0..m).map(|k| 0.1 * bump(i, k)).collect());
    Linear::new(a, b.collect(), 0.25)
}

/// The equation is solved, and the limit is that of the plain iteration.
#[test]
fn doubling_is_the_plain_iteration_and_takes_many_states() {
    let world = ring(40, 4);
    let regulator = Regulator::of(&world).expect("sizes").expect("a regulator");
    let (a, b) = (&world.a, &world.b);
    let mut p = vec![vec![0.0; 40]; 40];
    for _ in 0..4000 {
        // p ← q + aᵀ·p·(a − b·k), where k = (r + bᵀpb)⁻¹·bᵀpa.
        let seen = linear::product(&linear::transpose(b), &p);
        let mut within = linear::product(&seen, b);
        (0..4).for_each(|i| within[i][i] += 0.1);
        let inverse = linear::inverse(&within).expect("regular");
        let gain = linear::product(&inverse, &linear::product(&seen, a));
        let applied = linear::product(b, &gain);
        let mut left = a.clone();
        left.iter_mut()
            .flatten()
            .zip(applied.iter().flatten())
            .for_each(|(l, x)| *l -= x);
        let mut next = linear::product(&linear::transpose(a), &linear::product(&p, &left));
        (0..40).for_each(|i| next[i][i] += 1.0);
        p = next;
    }
    let found = regulator.riccati().p.rows();
    let worst = p
        .iter()
        .flatten()
        .zip(found.iter().flatten())
        .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs() / (1.0 + b.abs())));
    assert!(worst < 1e-8, "{worst}");
    assert!(Regulator::of(&ring(200, 8)).expect("sizes").is_some());
}

/// What the regulator costs in a world without limits is xᵀPx.
#[test]
fn returns_are_those_of_the_equation() {
    let mut world = ring(24, 4);
    world.limit = 1e6;
    let regulator = Regulator::of(&world).expect("sizes").expect("a regulator");
    let cost = |state: &[f64], action: &[f64]| {
        let squares = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        -squares(state) - 0.1 * squares(action)
    };
    let mut rng = ell0::rng::Stream::new(5).at(0);
    let starts: Vec<Vec<f64>> = (0..4).map(|_| world.typical_state(&mut rng)).collect();
    let returns = |world: &Linear, regulator: &Regulator| {
        regulator
            .returns(world, &starts, 3000, &|m| cost(m.state, m.action))
            .expect("returns")
    };
    let free = returns(&world, &regulator);
    for (found, start) in free.iter().zip(&starts) {
        let least = regulator.least_cost(start);
        assert!((found + least).abs() < 1e-8 * least, "{found} {least}");
    }
    // Limits cost something.
    world.limit = 1.0;
    let clipped = Regulator::of(&world).expect("sizes").expect("a regulator");
    let limited = returns(&world, &clipped);
    assert!(limited.iter().zip(&free).all(|(a, b)| *a < b + 1e-9));
    assert!(limited.iter().sum::<f64>() < free.iter().sum::<f64>() - 1e-3);
    let wrong = regulator.returns(&world, &[vec![0.0]], 1, &|_| 0.0);
    assert!(wrong.is_err());
}

#[test]
fn what_has_no_regulator_has_none() {
    let unstable = [vec![1.1, 0.0], vec![0.0, 0.5]];
    let blind = [vec![0.0], vec![1.0]];
    let none = Riccati::new(&unstable, &blind, &[1.0, 1.0], &[1.0]);
    assert!(none.expect("sizes").is_none());
    let free = Riccati::new(&unstable, &[vec![1.0], vec![0.0]], &[1.0, 1.0], &[0.0]);
    assert!(free.expect("sizes").is_none());
    assert!(Riccati::new(&unstable, &blind, &[1.0], &[1.0]).is_err());
    let nan = [vec![f64::NAN, 0.0], vec![0.0, 0.5]];
    assert!(Riccati::new(&nan, &blind, &[1.0, 1.0], &[1.0]).is_err());
}
