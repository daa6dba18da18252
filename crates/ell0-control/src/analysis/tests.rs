use ell0::{
    equation::{Dynamics, Expression, Model},
    rng::Stream,
};

use super::*;
use crate::environment::{Environment, make};

const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

fn policy(text: &str) -> Model {
    let inputs: Vec<String> = ["cos_theta", "sin_theta", "theta_dot"]
        .map(String::from)
        .into();
    let law = Expression::parse(text, &inputs).expect("a law");
    Model::new(inputs, vec![("torque".into(), law)], Dynamics::Regression).expect("a policy")
}

fn world() -> (Box<dyn Environment>, Plant) {
    let world = make("pendulum(g=9.81)").expect("a world");
    let plant = world.plant().expect("a closed form");
    (world, plant)
}

/// The closed form is the world, step by step.
#[test]
fn the_map_is_what_really_runs() {
    let (mut world, plant) = world();
    let map = plant.closed(&policy(LAW), 1.0).expect("a loop");
    let open = plant.open();
    let action = plant.policy(&policy(LAW), 1.0).expect("a policy");
    let mut rng = Stream::new(3).at(0);
    for _ in 0..500 {
        let x = [8.0 * rng.uniform() - 4.0, 16.0 * rng.uniform() - 8.0];
        let u = action.next(&x);
        world.reset_to(&x).expect("a state");
        world.step(&u).expect("a step");
        for (k, next) in [map.next(&x), open.next(&[x[0], x[1], u[0]])]
            .iter()
            .enumerate()
        {
            for (a, b) in next.iter().zip(world.state()) {
                assert!((a - b).abs() < 1e-12, "{k}: {a} {b}");
            }
        }
        // The derivatives, against central differences where no limit is near.
        let (_, jacobian) = map.jacobian(&x);
        let h = 1e-6;
        for j in 0..2 {
            let moved = |h: f64| {
                let mut x = x;
                x[j] += h;
                map.next(&x)
            };
            let (up, down) = (moved(h), moved(-h));
            for i in 0..2 {
                let want = (up[i] - down[i]) / (2.0 * h);
                let near_limit = up[1].abs() > 7.99 || down[1].abs() > 7.99;
                assert!(near_limit || (jacobian[i][j] - want).abs() < 1e-5 * want.abs().max(1.0));
            }
        }
    }
}

/// The figures that are known for this law.
#[test]
fn a_known_loop_has_its_known_margins() {
    let (_, plant) = world();
    let policy = policy(LAW);
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(&plant, &map);
    let upright = &found[0];
    assert_eq!(upright.state, [0.0, 0.0]);
    assert!(upright.stable);
    assert!((upright.eigenvalues[0].0 / 0.839 - 1.0).abs() < 0.01);
    assert!((upright.eigenvalues[1].0 / -0.353 - 1.0).abs() < 0.01);
    // All others are unstable: among them the pendulum at rest below.
    assert!(found.len() >= 2 && found[1..].iter().all(|e| !e.stable));
    let (low, high) = gain_margin(&plant, &policy, upright)
        .expect("a loop")
        .expect("stable");
    assert!(
        (low / 0.145 - 1.0).abs() < 0.01 && (high / 1.418 - 1.0).abs() < 0.01,
        "{low} {high}"
    );
    let delay = tolerated_delay(&plant, &policy, upright)
        .expect("a loop")
        .expect("stable");
    // With one step more, the linear loop with a queue of actions grows.
    let grows = |delay: usize| {
        let (open, action) = (plant.open(), plant.policy(&policy, 1.0).expect("a policy"));
        let mut x = vec![1e-9, 0.0];
        let mut queue = vec![vec![0.0]; delay];
        for _ in 0..400 {
            queue.push(action.next(&x));
            let u = queue.remove(0);
            x = open.next(&[x[0], x[1], u[0]]);
        }
        x[0].abs() > 1e-9
    };
    assert!(!grows(delay) && grows(delay + 1), "{delay}");
}

/// A region is proved; ten million points of it bear the proof out, and so does the world itself.
#[test]
fn a_proved_region_has_no_counter_example() {
    let (_, plant) = world();
    let map = plant.closed(&policy(LAW), 1.0).expect("a loop");
    let upright = &equilibria(&plant, &map)[0];
    let region = proved_region(&plant, &map, upright).expect("a region");
    assert!(region.volume > 0.05, "{region:?}");
    assert_eq!(region.inner_radius, 0.0);
    let Claim { p, level, .. } = &region.claim;
    use rayon::prelude::*;
    let stream = Stream::new(8).split("points");
    let wrong = (0..10_000u64).into_par_iter().map(|part| {
        let mut rng = stream.at(part);
        let mut wrong = 0;
        let mut tried = 0;
        while tried < 1000 {
            let x = [0, 1].map(|k| region.reach[k] * (2.0 * rng.uniform() - 1.0));
            let v = linear::quadratic(p, &x);
            if v > *level || v == 0.0 {
                continue;
            }
            tried += 1;
            wrong += u32::from(linear::quadratic(p, &map.next(&x)) >= v);
        }
        wrong
    });
    assert_eq!(wrong.sum::<u32>(), 0);
}

/// Claims that are wrong, or nonsense, are never proved.
#[test]
fn a_wrong_claim_cannot_pass() {
    let (_, plant) = world();
    let map = plant.closed(&policy(LAW), 1.0).expect("a loop");
    let claim = |p: [[f64; 2]; 2], level: f64| Claim {
        centre: vec![0.0, 0.0],
        p: p.iter().map(|row| row.to_vec()).collect(),
        level,
    };
    // A matrix that does not solve the equation: speeds count for nothing near the top.
    let bad = prove(&map, &claim([[1.0, 0.0], [0.0, 1e-3]], 0.1), 1_000_000);
    assert!(!matches!(bad, Verdict::Proved { .. }), "{bad:?}");
    // The right matrix, but a level far beyond what holds: a state in it refutes it.
    let upright = &equilibria(&plant, &map)[0];
    let region = proved_region(&plant, &map, upright).expect("a region");
    let mut far = region.claim.clone();
    far.level *= 50.0;
    let Verdict::Refuted(state) = prove(&map, &far, 5_000_000) else {
        panic!("not refuted")
    };
    assert!(linear::quadratic(&far.p, &map.next(&state)) >= linear::quadratic(&far.p, &state));
    for nonsense in [
        claim([[1.0, 2.0], [2.0, 1.0]], 1.0),
        claim([[1.0, 0.5], [0.0, 1.0]], 1.0),
        claim([[-1.0, 0.0], [0.0, -1.0]], 1.0),
        claim([[1.0, 0.0], [0.0, 1.0]], -1.0),
        claim([[f64::NAN, 0.0], [0.0, 1.0]], 1.0),
    ] {
        assert!(matches!(prove(&map, &nonsense, 1000), Verdict::Open(_)));
    }
    // An unstable loop: the torque pushes the wrong way.
    let unstable = plant
        .closed(&policy("2*tanh(3*sin_theta)"), 1.0)
        .expect("a loop");
    let around = Claim {
        level: 1e-3,
        ..region.claim
    };
    assert!(!matches!(
        prove(&unstable, &around, 1_000_000),
        Verdict::Proved { .. }
    ));
    assert!(
        equilibria(&plant, &unstable)
            .iter()
            .filter(|e| e.state[0] == 0.0)
            .all(|e| !e.stable)
    );
}

/// A law that jumps, or has no value somewhere, is never proved across the jump: with these jumps a state inside the set stays where it is, or leaves.
#[test]
fn jumps_and_holes_are_not_proved_over() {
    let (_, plant) = world();
    for text in [
        "-8*sin_theta - 2*theta_dot + 0.5*(sign(sin_theta - 0.09999995) - sign(sin_theta - 0.10000005))*(3.095*sin_theta + 2*theta_dot)",
        "2*tanh(-8*sin_theta - 2*theta_dot) + 1.9*sign(theta_dot - 1) - 1.9*sign(theta_dot - 1.000001)",
    ] {
        let map = plant.closed(&policy(text), 1.0).expect("a loop");
        let upright = equilibria(&plant, &map)
            .into_iter()
            .find(|e| e.state == [0.0, 0.0]);
        let upright = upright.expect("the top");
        if let Ok(region) = proved_region(&plant, &map, &upright) {
            // What is proved stays away from the jump.
            let (sin, speed) = (region.reach[0].sin(), region.reach[1]);
            assert!(sin < 0.1 || speed < 1.0, "{text}: {region:?}");
        }
    }
    // A root that has no value for fast states: the set stays below them.
    let map = plant.closed(
        &policy("2*tanh(-8*sin_theta - 2*theta_dot) + 1e-9*sqrt(2 - theta_dot)"),
        1.0,
    );
    let map = map.expect("a loop");
    let found = equilibria(&plant, &map);
    if let Ok(region) = proved_region(&plant, &map, &found[0]) {
        assert!(region.reach[1] <= 2.0, "{region:?}");
    }
    // At a jump or a corner, and on the unit circle, linearisation decides nothing.
    for text in [
        "2*tanh(-8*sin_theta - 2*theta_dot) - 0.3*sign(theta_dot)",
        "-20*sin_theta",
    ] {
        let map = plant.closed(&policy(text), 1.0).expect("a loop");
        let top = equilibria(&plant, &map)
            .into_iter()
            .find(|e| e.state == [0.0, 0.0]);
        assert!(top.is_none_or(|e| !e.decided && !e.stable), "{text}");
    }
    // An equilibrium that is not exactly representable is proved up to a tiny ball.
    let map = plant
        .closed(&policy("2*tanh(-5*sin_theta - theta_dot - 0.25)"), 1.0)
        .expect("a loop");
    let main = &equilibria(&plant, &map)[0];
    let region = proved_region(&plant, &map, main).expect("a region");
    assert!(
        region.inner_radius > 0.0 && region.inner_radius < 1e-6,
        "{region:?}"
    );
}

#[test]
fn basins_and_terms_tell_what_matters() {
    let (world, plant) = world();
    let policy = policy(LAW);
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(&plant, &map);
    let basin = Basin::new(&plant, &map, &found, 21);
    assert!(basin.share(0) > 0.9, "{}", basin.share(0));
    let bench = Bench::new(world.as_ref(), 20);
    let level = bench.worth(&policy).expect("a return");
    let effects = bench.terms(&policy).expect("terms");
    assert_eq!(effects.len(), 4);
    assert!(
        effects
            .iter()
            .any(|e| e.term.contains("cos_theta*sin_theta") && e.dropped < level - 20.0)
    );
    let ranges = bench.ranges(&policy, &[0.0, 0.0], 0.1).expect("ranges");
    assert_eq!(
        ranges.iter().map(|r| r.name).collect::<Vec<_>>(),
        ["g", "mass", "length"]
    );
    for r in &ranges {
        assert!(
            r.range.0 < r.value && r.value < r.range.1 && r.range.1 < 2.0 * r.value,
            "{r:?}"
        );
    }
}

/// Lorenz' system: its three fixed points, and the exponent that the literature gives (0.906, Sprott 2003).
#[test]
fn the_laws_of_lorenz_and_henon_have_their_known_exponents() {
    let names: Vec<String> = ["x", "y", "z"].map(String::from).into();
    let law = |text: &str| Expression::parse(text, &names).expect("a law");
    let equations = vec![
        ("x".to_string(), law("10*(y - x)")),
        ("y".into(), law("x*(28 - z) - y")),
        ("z".into(), law("x*y - 2.6666666666666667*z")),
    ];
    let model = Model::new(names.clone(), equations, Dynamics::Continuous).expect("a model");
    let lorenz = Law::new(&model).expect("a law");
    let points = lorenz.fixed_points(30.0);
    assert_eq!(points.len(), 3);
    let c = 72f64.sqrt();
    assert!(
        (points[1].state[0].abs() - c).abs() < 1e-9 && (points[1].state[2] - 27.0).abs() < 1e-9
    );
    assert!(points.iter().all(|p| !p.stable));
    let exponent = lorenz
        .largest_exponent(&[1.0, 1.0, 20.0], 0.01, 60_000)
        .expect("bounded");
    assert!((exponent - 0.906).abs() < 0.03, "{exponent}");

    let names: Vec<String> = ["x", "y"].map(String::from).into();
    let law = |text: &str| Expression::parse(text, &names).expect("a law");
    let equations = vec![
        ("x".to_string(), law("1 - 1.4*x^2 + y")),
        ("y".into(), law("0.3*x")),
    ];
    let model = Model::new(names.clone(), equations, Dynamics::Discrete).expect("a model");
    let henon = Law::new(&model).expect("a law");
    let exponent = henon
        .largest_exponent(&[0.1, 0.1], 1.0, 100_000)
        .expect("bounded");
    assert!((exponent - 0.419).abs() < 0.01, "{exponent}");
    assert_eq!(henon.fixed_points(3.0).len(), 2);
    // A policy is no law.
    assert!(Law::new(&policy(LAW)).is_err());
}

/// A learned transition model in the place of the world: the same loop, written as a discrete law.
#[test]
fn a_transition_model_is_a_plant() {
    let names: Vec<String> = ["x", "v", "u"].map(String::from).into();
    let law = |text: &str| Expression::parse(text, &names).expect("a law");
    let equations = vec![
        ("x".to_string(), law("x + 0.1*v")),
        ("v".into(), law("v + 0.1*x + 0.1*u")),
    ];
    let model = Model::new(names.clone(), equations, Dynamics::Discrete).expect("a model");
    let plant = Plant::of_model(&model, &[(-1.0, 1.0), (-1.0, 1.0)], (-2.0, 2.0)).expect("a plant");
    let inputs: Vec<String> = ["x", "v"].map(String::from).into();
    let law = Expression::parse("-3*x - 2*v", &inputs).expect("a law");
    let policy =
        Model::new(inputs, vec![("u".into(), law)], Dynamics::Regression).expect("a policy");
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(&plant, &map);
    assert!(found[0].stable && found[0].state == [0.0, 0.0]);
    // The closed loop is [1, 0.1; −0.2, 0.8]: trace 1.8, determinant 0.82.
    let (a, b) = (found[0].eigenvalues[0], found[0].eigenvalues[1]);
    assert!((a.0 + b.0 - 1.8).abs() < 1e-12 && (a.0 * b.0 - a.1 * b.1 - 0.82).abs() < 1e-12);
    let region = proved_region(&plant, &map, &found[0]).expect("a region");
    assert!(region.volume > 0.3, "{region:?}");
    // A plain regression says nothing about the next state.
    assert!(Plant::of_model(&policy, &[], (-1.0, 1.0)).is_err());
}
