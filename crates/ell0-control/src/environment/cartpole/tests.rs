use ell0::rng::{Generator, Stream};

use super::*;
use crate::{
    analysis::{equilibria, on},
    environment::{Start, check, make},
    policy::{LawPolicy, policy_from_text},
    rollout::rollout,
};

/// A law for the top, by linear-quadratic regulation of the default world.
const HOLD: &str = "2.79*x + 4.7*x_dot + 42.8*sin_theta + 11.1*theta_dot";

fn world(config: CartPoleConfig) -> CartPole {
    CartPole::new(config).expect("a world")
}

/// A track that nobody reaches the end of.
fn endless() -> CartPoleConfig {
    CartPoleConfig {
        track: 1e6,
        ..CartPoleConfig::default()
    }
}

fn draw<const N: usize>(rng: &mut Generator, bounds: [f64; N]) -> [f64; N] {
    bounds.map(|bound| bound * (2.0 * rng.uniform() - 1.0))
}

/// The largest change of energy in ten seconds without a force.
fn drift(dt: f64, start: [f64; 4]) -> f64 {
    let world = world(CartPoleConfig { dt, ..endless() });
    let before = world.energy(start);
    let (mut state, mut most) = (start, 0f64);
    for _ in 0..(10.0 / dt).round() as usize {
        state = world.next(state, 0.0).0;
        most = most.max((world.energy(state) - before).abs());
    }
    most
}

#[test]
fn energy_is_conserved_to_the_order_of_the_integrator() {
    let mut rng = Stream::new(1).at(0);
    for _ in 0..20 {
        let start = draw(&mut rng, [1.0, 1.0, PI, 4.0]);
        // Beside 2mgl, what it takes to lift the pole.
        let lift = 2.0 * 0.1 * 0.5 * 9.81;
        let (coarse, fine) = (drift(0.02, start), drift(0.01, start));
        assert!(coarse < 1e-3 * lift, "{start:?}: {coarse}");
        // Of fourth order: half the step, at most a sixteenth of the error, up to chance.
        assert!(fine < coarse / 12.0 + 1e-12, "{start:?}: {coarse} {fine}");
    }
}

#[test]
fn a_force_gives_its_momentum_and_friction_takes_energy() {
    let free = world(endless());
    let momentum = |[_, speed, theta, turn]: [f64; 4]| 1.1 * speed + 0.05 * turn * theta.cos();
    let (start, mut rng) = ([0.3, -0.2, 2.0, 1.0], Stream::new(2).at(0));
    let (mut state, mut given) = (start, 0.0);
    for _ in 0..200 {
        let [force] = draw(&mut rng, [3.0]);
        state = free.next(state, force).0;
        given += 0.02 * force;
    }
    let gained = momentum(state) - momentum(start);
    assert!((gained - given).abs() < 1e-5, "{gained} {given}");
    for (cart_friction, pole_friction) in [(0.5, 0.0), (0.0, 0.01)] {
        let rough = world(CartPoleConfig {
            cart_friction,
            pole_friction,
            ..endless()
        });
        let mut state = start;
        for _ in 0..200 {
            let next = rough.next(state, 0.0).0;
            assert!(rough.energy(next) < rough.energy(state));
            state = next;
        }
    }
}

/// θ̈ = ±ω²·θ near the top and the bottom, with ω² = g/(l·(4/3 − m/(M + m))).
#[test]
fn the_top_is_unstable_and_the_bottom_a_centre() {
    let world = world(CartPoleConfig::default());
    let map = world.plant().expect("a plant").open();
    let omega = (9.81f64 / (0.5 * (4.0 / 3.0 - 0.1 / 1.1))).sqrt();
    // Of the angle alone: neither place nor speed of the cart has a part in it.
    let block = |theta: f64| {
        let (next, j) = map.jacobian(&[0.0, 0.0, theta, 0.0, 0.0]);
        assert!((next[2] - theta).abs() < 1e-12 && next[3].abs() < 1e-12);
        assert!(j[2..4].iter().flat_map(|row| &row[..2]).all(|v| *v == 0.0));
        let (trace, det) = (j[2][2] + j[3][3], j[2][2] * j[3][3] - j[2][3] * j[3][2]);
        assert!((det - 1.0).abs() < 1e-6, "{det}");
        trace
    };
    // The trace is 2·cosh(ω·Δt): eigenvalues e^±ωΔt.
    let (top, bottom) = (block(0.0), block(PI));
    assert!((top - 2.0 * (0.02 * omega).cosh()).abs() < 1e-6, "{top}");
    assert!(top > 2.0 + 1e-3);
    // 2·cos(ω·Δt): a pair on the unit circle.
    let turning = 2.0 * (0.02 * omega).cos();
    assert!((bottom - turning).abs() < 1e-6, "{bottom}");
    assert!(bottom < 2.0 - 1e-3);
}

#[test]
fn the_closed_form_is_what_really_runs() {
    let rough = CartPoleConfig {
        cart_friction: 0.3,
        pole_friction: 0.02,
        half_length: 0.37,
        pole_mass: 0.4,
        track: 1.3,
        ..CartPoleConfig::default()
    };
    for config in [CartPoleConfig::default(), rough] {
        let mut world = world(config);
        let plant = world.plant().expect("a plant");
        let names = (plant.observation_names(), plant.action_names());
        assert_eq!(names.0, world.observation_space().names());
        assert_eq!(names.1, world.action_space().names());
        assert_eq!(plant.state_names(), world.state_names());
        let law = "12*sin_theta*x - 3*cos_theta*theta_dot + 2*x_dot";
        let law = policy_from_text(law, &names.0, &names.1).expect("a law");
        let action = plant.policy(&law, 1.0).expect("a policy");
        let (open, closed) = (plant.open(), plant.closed(&law, 1.0).expect("a loop"));
        let (mut rng, mut stopped) = (Stream::new(4).at(0), 0);
        for _ in 0..1000 {
            let x = draw(&mut rng, [config.track, 9.0, 2.0 * PI, 12.0]);
            let u = action.next(&x)[0];
            assert!(u.abs() <= config.force);
            world.reset_to(&x).expect("a state");
            world.step(&[u]).expect("a step");
            stopped += usize::from(world.state()[0].abs() == config.track);
            let input = [x[0], x[1], x[2], x[3], u];
            for next in [closed.next(&x), open.next(&input)] {
                for (a, b) in next.iter().zip(world.state()) {
                    assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{x:?}: {a} {b}");
                }
            }
        }
        assert!((10..500).contains(&stopped), "{stopped}");
    }
}

#[test]
fn the_cart_is_stopped_at_the_ends_and_the_blow_adds_no_energy() {
    let mut world = world(CartPoleConfig::default());
    let mut rng = Stream::new(5).at(0);
    for _ in 0..200 {
        let [_, _, theta, turn] = draw(&mut rng, [0.0, 0.0, PI, 8.0]);
        let start = [2.39, 3.0, theta, turn];
        let before = world.energy(start);
        let (after, _) = world.next(start, 0.0);
        assert_eq!((after[0], after[1]), (2.4, 0.0));
        // What the integrator leaves is far less than what the cart loses.
        assert!(world.energy(after) < before, "{start:?}");
    }
    // It stays while it is pushed, the episode goes on, and it can leave again.
    world.reset_to(&[2.4, 0.0, PI, 0.0]).expect("a state");
    for _ in 0..100 {
        assert!(!world.step(&[10.0]).expect("a step").is_over());
        assert_eq!(world.state()[..2], [2.4, 0.0]);
    }
    // Meanwhile the pole swings as if there were no force, and keeps its energy.
    let swing = |force: f64| {
        let mut state = [2.4, 0.0, 2.0, 0.0];
        for _ in 0..100 {
            state = world.next(state, force).0;
        }
        state
    };
    assert_eq!(swing(10.0), swing(7.0));
    assert_eq!(swing(10.0)[..2], [2.4, 0.0]);
    let (before, after) = (
        world.energy([2.4, 0.0, 2.0, 0.0]),
        world.energy(swing(10.0)),
    );
    assert!((before - after).abs() < 1e-6, "{before} {after}");
    for _ in 0..10 {
        world.step(&[-10.0]).expect("a step");
    }
    assert!(world.state()[0] < 2.3 && world.state()[1] < -1.0);
    // A force beyond its bound is the bound.
    let state = [0.1, 0.2, 0.3, 0.4];
    assert_eq!(world.next(state, 99.0), world.next(state, 10.0));
}

#[test]
fn a_linear_law_holds_the_pole() {
    let world = make("cartpole-swingup").expect("a world");
    let plant = world.closed_form().expect("a closed form").plant();
    let plant = plant.expect("a plant");
    let law = policy_from_text(HOLD, &plant.observation_names(), &plant.action_names());
    let law = law.expect("a law");
    let found = equilibria(&plant, &plant.closed(&law, 1.0).expect("a loop"), &on);
    assert_eq!(found[0].state, [0.0; 4]);
    assert!(found[0].is_stable());
    let policy =
        LawPolicy::new(&law, world.observation_space(), world.action_space()).expect("a policy");
    for theta in [-0.3, 0.05, 0.3] {
        let start = Start::State(vec![0.5, 0.0, theta, 0.0]);
        let path = rollout(world.as_ref(), &policy, &start).expect("a path");
        assert_eq!(path.steps(), 500);
        // Upright at rest costs nothing.
        assert!(path.total() > -30.0, "{theta}: {}", path.total());
    }
}

/// From hanging to standing: energy is pumped into the pole, and a linear law catches it.
#[test]
fn the_pole_can_be_swung_up() {
    let mut world = world(CartPoleConfig::default());
    let hold = |[x, speed, theta, turn]: [f64; 4]| {
        2.79 * x + 4.7 * speed + 42.8 * theta.sin() + 11.1 * turn
    };
    let swing = |[x, speed, theta, turn]: [f64; 4]| {
        // Of the pole by itself, beside that at rest at the top.
        let (inertia, lift) = (4.0 / 3.0 * 0.1 * 0.25, 0.1 * 0.5 * 9.81);
        let lacking = lift - (0.5 * inertia * turn * turn + lift * theta.cos());
        -80.0 * lacking * turn * theta.cos() - 4.0 * x - 2.0 * speed
    };
    for k in 0..20 {
        world.reset(&mut Stream::new(6).at(k));
        let mut last = 0.0;
        for _ in 0..500 {
            let state = world.state;
            let force = match state[2].cos() > 0.9 && state[3].abs() < 2.5 {
                true => hold(state),
                false => swing(state),
            };
            last = world
                .step(&[force.clamp(-10.0, 10.0)])
                .expect("a step")
                .reward;
        }
        assert!(last > -0.01, "{k}: {last} {:?}", world.state);
    }
}

#[test]
fn rewards_are_bounded_and_best_at_rest_at_the_top() {
    let world = world(CartPoleConfig::default());
    assert_eq!(world.next([0.0; 4], 0.0).1, 0.0);
    assert!((world.next([0.0, 0.0, PI, 0.0], 0.0).1 + 2.0).abs() < 1e-15);
    let mut rng = Stream::new(7).at(0);
    for _ in 0..1000 {
        let state = draw(&mut rng, [2.4, 20.0, 7.0, 40.0]);
        let reward = world.next(state, 20.0 * rng.normal()).1;
        assert!((-2.21..0.0).contains(&reward), "{state:?}: {reward}");
    }
}

#[test]
fn it_keeps_the_promises_of_a_world() {
    let mut world = make("cartpole-swingup").expect("a world");
    check(world.as_ref()).expect("a world");
    assert_eq!(
        world.text(),
        "cartpole-swingup(cart_mass=1, pole_mass=0.1, half_length=0.5, g=9.81, cart_friction=0, pole_friction=0, track=2.4, force=10, dt=0.02, limit=500)"
    );
    let other = make(" cartpole-swingup( force = 7.5, dt=0.01, limit=900 )").expect("a world");
    let again = make(&other.text()).expect("a world");
    assert_eq!(again.text(), other.text());
    assert_eq!(
        (again.action_space().high(0), again.time_limit()),
        (7.5, Some(900))
    );
    for k in 0..50 {
        world.reset(&mut Stream::new(8).at(k));
        let near = [0.12, 0.05, 0.1, 0.05];
        let hanging = [0.0, 0.0, PI, 0.0];
        for ((s, h), near) in world.state().iter().zip(hanging).zip(near) {
            assert!((s - h).abs() <= near);
        }
        let mut seen = [0f32; 5];
        world.observe(&mut seen);
        assert!(seen[2] < -0.99);
    }
    for _ in 0..499 {
        assert!(!world.step(&[1.0]).expect("a step").is_over());
    }
    let last = world.step(&[1.0]).expect("a step");
    assert!(last.truncated && !last.terminated);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for parameters in [
        "cart_mass=0",
        "pole_mass=-1",
        "half_length=0",
        "g=0",
        "cart_friction=-0.1",
        "pole_friction=inf",
        "track=inf",
        "track=1e300, force=1e300",
        "force=NaN",
        "dt=0",
        "dt=0.5",
        "limit=0",
        "mass=1",
    ] {
        let text = format!("cartpole-swingup({parameters})");
        assert!(make(&text).is_err(), "{text}");
    }
    let mut world = world(CartPoleConfig::default());
    assert!(world.reset_to(&[0.0; 3]).is_err());
    assert!(world.reset_to(&[2.5, 0.0, 0.0, 0.0]).is_err());
    assert!(world.reset_to(&[0.0, f64::NAN, 0.0, 0.0]).is_err());
    assert!(world.step(&[f64::NAN]).is_err());
    assert!(world.step(&[0.0, 0.0]).is_err());
    // Other values of parameters, for robustness.
    let heavier = world.with_parameter("pole_mass", 0.2).expect("a world");
    assert!(heavier.text().contains("pole_mass=0.2"));
    assert!(world.with_parameter("pole_mass", 0.0).is_err());
    assert!(world.with_parameter("mass", 1.0).is_err());
    assert_eq!(world.parameters().len(), 9);
}
