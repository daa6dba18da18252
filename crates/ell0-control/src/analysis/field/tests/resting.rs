//! Where loops rest, and what is said of those that do not.

use ell0::rng::Stream;

use super::worlds::{Linear, Textbook, TextbookMap};
use crate::{
    Error,
    analysis::{Behaviour, FieldLoop, Stability, equilibrium, on, reaching, settle},
    environment::SmoothStep,
};

fn logistic(r: f64) -> TextbookMap {
    TextbookMap {
        map: Textbook::Logistic,
        r,
    }
}

#[test]
fn derivatives_of_the_loop_are_those_of_differences() {
    let world = Linear::new(
        vec![
            vec![0.9, 0.2, 0.0],
            vec![-0.1, 1.1, 0.3],
            vec![0.0, 0.2, 0.7],
        ],
        vec![vec![1.0, 0.0], vec![0.3, 0.5], vec![0.0, -1.0]],
        0.8,
    );
    let law = world.law("a0 = 0.8*tanh(-y0*y1 + p*y2); a1 = 2*y0 - sin(y2)");
    let found = FieldLoop::new(&world, &law).expect("a loop").with_gain(1.2);
    let mut rng = Stream::new(2).at(0);
    for _ in 0..50 {
        let y = world.typical_state(&mut rng);
        let (next, slopes) = found.jacobian(&y);
        assert_eq!(next, found.next(&y));
        for j in 0..3 {
            let moved = |h: f64| {
                let mut y = y.clone();
                y[j] += h;
                found.next(&y)
            };
            let (up, down) = (moved(1e-6), moved(-1e-6));
            // Not where an action is about to reach its limit.
            if found
                .action(&y)
                .iter()
                .any(|a| (a.abs() - 0.8).abs() < 1e-3)
            {
                continue;
            }
            for i in 0..3 {
                let slope = (up[i] - down[i]) / 2e-6;
                assert!((slope - slopes[i][j]).abs() < 1e-6, "{i} {j}");
            }
        }
    }
}

/// 1 − 1/r with the eigenvalue 2 − r.
#[test]
fn a_loop_that_settles_has_its_equilibrium() {
    let world = logistic(2.5);
    let found = FieldLoop::new(&world, &world.law("0*x")).expect("a loop");
    let run = settle(&found, &on).expect("a run");
    assert_eq!(run.behaviour, Behaviour::Settles);
    let rest = equilibrium(&found, &run).expect("an equilibrium");
    assert!((rest.state[0] - 0.6).abs() < 1e-12);
    assert!((rest.eigenvalues[0].re + 0.5).abs() < 1e-12);
    assert!(rest.is_stable() && rest.residual < 1e-10 && rest.conserved == 0);
    let starts = reaching(&found, &rest.state, 50, &on).expect("starts");
    assert_eq!((starts.reached, starts.starts), (50, 50));
    assert!(starts.mean_actions.is_some_and(|t| t > 2.0 && t < 30.0));
}

#[test]
fn loops_that_do_not_settle_are_said_not_to() {
    let behaviour = |r: f64| {
        let world = logistic(r);
        let found = FieldLoop::new(&world, &world.law("0*x")).expect("a loop");
        let run = settle(&found, &on).expect("a run");
        let rest = equilibrium(&found, &run);
        (run.behaviour, rest)
    };
    let (cycle, rest) = behaviour(3.2);
    assert_eq!(cycle, Behaviour::Cycles { period: 2 });
    // The equilibrium that the loop leaves is still there.
    let rest = rest.expect("an equilibrium");
    assert_eq!(rest.stability, Stability::Unstable);
    assert!((rest.state[0] - (1.0 - 1.0 / 3.2)).abs() < 1e-10);
    assert!((rest.eigenvalues[0].re + 1.2).abs() < 1e-9);
    // ln 2 at r = 4; 0.49 at r = 3.9.
    let (chaos, _) = behaviour(3.9);
    let Behaviour::Wanders { exponent } = chaos else {
        panic!("{chaos:?}");
    };
    assert!((exponent - 0.49).abs() < 0.06, "{exponent}");
    let (gone, _) = behaviour(5.0);
    assert!(matches!(gone, Behaviour::Diverges { actions } if actions < 20));
}

/// On a ring what only spreads keeps its mean: an eigenvalue is 1 and says nothing.
#[test]
fn what_a_world_conserves_does_not_count() {
    let n = 12;
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        a[i][i] = 0.4;
        a[i][(i + 1) % n] += 0.3;
        a[i][(i + n - 1) % n] += 0.3;
    }
    // An actuator that takes from one side what it gives to the other.
    let mut b = vec![vec![0.0]; n];
    (b[2][0], b[5][0]) = (0.5, -0.5);
    let mut world = Linear::new(a, b, 1.0);
    let law = world.law("tanh(y5 - y2)");
    let found = FieldLoop::new(&world, &law).expect("a loop");
    let run = settle(&found, &on).expect("a run");
    let rest = equilibrium(&found, &run).expect("an equilibrium");
    assert_eq!((rest.conserved, rest.stability), (1, Stability::Stable));
    assert_eq!(rest.eigenvalues.len(), n - 1);
    let mean = run.state.iter().sum::<f64>() / n as f64;
    assert!(rest.state.iter().all(|y| (y - mean).abs() < 1e-9));
    // An actuator that adds to the mean leaves nothing conserved.
    world.b[5][0] = 0.0;
    let found = FieldLoop::new(&world, &law).expect("a loop");
    let run = settle(&found, &on).expect("a run");
    let rest = equilibrium(&found, &run).expect("an equilibrium");
    assert_eq!(rest.conserved, 0);
}

#[test]
fn starts_are_the_same_on_any_number_of_threads() {
    let world = logistic(3.1);
    let found = FieldLoop::new(&world, &world.law("-0.2*(x - 0.67)")).expect("a loop");
    let run = settle(&found, &on).expect("a run");
    let rest = equilibrium(&found, &run).expect("an equilibrium");
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.expect("threads");
        pool.install(|| reaching(&found, &rest.state, 40, &on).expect("starts"))
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let world = logistic(2.0);
    let other = Linear::new(vec![vec![0.5]], vec![vec![1.0]], 1.0);
    let stranger = other.law("-y0");
    let error = FieldLoop::new(&world, &stranger).map(|_| ());
    assert!(matches!(error, Err(Error::Mismatch { .. })));
    let found = FieldLoop::new(&world, &world.law("0*x")).expect("a loop");
    let other = found.in_world(&other).map(|_| ());
    assert!(matches!(other, Err(Error::Size { .. })), "{other:?}");
    let short = Linear::new(vec![vec![0.5, 0.1]], vec![vec![1.0]], 1.0);
    let error = FieldLoop::new(&short, &short.law("-y0")).map(|_| ());
    assert!(matches!(error, Err(Error::Size { .. })), "{error:?}");
    assert!(matches!(settle(&found, &|| false), Err(Error::Stopped)));
    let stopped = reaching(&found, &[0.5], 3, &|| false);
    assert!(matches!(stopped, Err(Error::Stopped)));
}
