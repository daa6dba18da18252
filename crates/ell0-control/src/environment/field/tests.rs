use ell0::rng::Stream;
use proptest::prelude::*;

use super::*;
use crate::{
    environment::{check, make},
    evaluation::evaluate,
    policy::{LawPolicy, policy_from_text},
    testing::cases,
};

fn field(text: &str) -> Box<dyn Environment> {
    make(text).expect("a field")
}

/// The mean return of a law of each actuator, in which `#` is its number.
fn worth(world: &dyn Environment, law: &str, starts: &[Start]) -> f64 {
    let laws: Vec<String> = (1..=world.action_space().len())
        .map(|k| format!("a{k} = {}", law.replace('#', &k.to_string())))
        .collect();
    let (observation, action) = (world.observation_space(), world.action_space());
    let model = policy_from_text(&laws.join("; "), observation.names(), action.names());
    let policy = LawPolicy::new(&model.expect("a law"), observation, action).expect("a policy");
    evaluate(world, &policy, starts).expect("finite").mean
}

/// What simple laws reach in the linear problem, as an independent program found it.
#[test]
fn simple_laws_reach_what_they_are_known_to() {
    let world = field("cdr");
    let starts = world.evaluation_starts();
    assert_eq!(starts.len(), 27);
    for (law, expected) in [("0*m#", -66.1), ("-0.1*m#", -4.04), ("-0.4*m#", -0.672)] {
        let found = worth(world.as_ref(), law, &starts);
        assert!((found / expected - 1.0).abs() < 2e-3, "{law}: {found}");
    }
    let grid = world.evaluation_grid();
    let beyond = grid
        .iter()
        .find(|s| s.name == "extrapolation")
        .expect("one");
    // The published example is the first.
    for (law, expected) in [("0*m#", -1695.0), ("-0.1*m#", -44.5), ("-0.4*m#", -2.26)] {
        let found = worth(beyond.world.as_ref(), law, &beyond.starts[..1]);
        assert!((found / expected - 1.0).abs() < 2e-3, "{law}: {found}");
    }
}

/// The regulator that sees everything, as an independent program found it; and nothing of the kind where the equation is not linear.
#[test]
fn the_regulator_reaches_what_it_is_known_to() {
    let world = field("cdr");
    let grid = GridConfig::default();
    let starts = world.evaluation_starts();
    let found = world.optimum(50, &starts, grid).expect("a return");
    let found = found.expect("linear");
    assert_eq!(found.method, crate::environment::OptimumMethod::Riccati);
    assert!((found.worth.mean / -0.563 - 1.0).abs() < 2e-3, "{found:?}");
    let beyond = &world.evaluation_grid()[2];
    let found = world.optimum(50, &beyond.starts[..1], grid);
    let found = found.expect("a return").expect("linear").worth.mean;
    assert!((found / -1.96 - 1.0).abs() < 4e-3, "{found}");
    let chaotic = field("ks(warmup=1)");
    let none = chaotic.optimum(9, &chaotic.evaluation_starts(), grid);
    assert!(none.expect("no error").is_none());
}

#[test]
fn grids_cover_training_and_beyond_with_and_without_noise() {
    for name in ["ks", "cdr", "burgers", "heat"] {
        let world = field(&format!("{name}(limit=3)"));
        let grid = world.evaluation_grid();
        let names: Vec<(&str, bool)> = grid.iter().map(|s| (&s.name[..], s.noise > 0.0)).collect();
        let all = ["training", "interpolation", "extrapolation"];
        let expected: Vec<(&str, bool)> = [false, true]
            .iter()
            .flat_map(|noisy| all.map(|name| (name, *noisy)))
            .collect();
        assert_eq!(names, expected);
        for situation in &grid {
            assert_eq!(situation.world.time_limit(), Some(3));
            assert!(!situation.starts.is_empty());
            let result = worth(situation.world.as_ref(), "-m#", &situation.starts);
            assert!(result.is_finite() && result < 0.0);
        }
    }
    // Parameters that somebody chose have no others beside them.
    assert_eq!(field("ks(mu=0.1, warmup=2)").evaluation_grid().len(), 2);
}

#[test]
fn texts_come_back_and_say_what_is_unusual() {
    for (text, expected) in [
        (
            "ks(mu=0.15, noise=0.25)",
            "ks(mu=0.15, noise=0.25, limit=999)",
        ),
        (
            "ks(mu=[-0.1,0.1])",
            "ks(mu=[-0.1, 0.1], noise=0, limit=999)",
        ),
        (
            "ks(mu=-0.25..0.25, published=true)",
            "ks(mu=-0.25..0.25, noise=0, published=true, limit=999)",
        ),
        (
            "heat(kappa=0.1, limit=7)",
            "heat(kappa=0.1, noise=0, limit=7)",
        ),
    ] {
        let world = field(text);
        assert_eq!(world.text(), expected);
        assert_eq!(field(&world.text()).text(), expected);
    }
    for (text, words) in [
        ("ks(mu=[])", "a list such as"),
        ("ks(mu=0.2..0.1)", "a range such as"),
        ("ks(points=65)", "an even number"),
        ("ks(points=6.5)", "not a whole number"),
        ("ks(published=1)", "neither true nor false"),
        ("ks(substeps=0)", "from 1 to 10,000"),
        ("cdr(substeps=3)", "no parameter `substeps`"),
        ("cdr(nu=-1)", "must not be negative"),
        ("cdr(actuators=200)", "one for two points"),
        ("burgers(width=0)", "must be positive"),
        ("heat(warmup=9999999)", "at most a million"),
        ("ks(warmup=900000, substeps=1000)", "would take minutes"),
        ("ks(hold=9999, substeps=9999)", "would take seconds"),
    ] {
        let Err(error) = make(text) else {
            panic!("{text} is wrong");
        };
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn fields_keep_the_promises_of_worlds() {
    for text in [
        "ks(warmup=20)",
        "cdr",
        "burgers",
        "heat",
        "ks(warmup=2, noise=0.3, sensors=16)",
    ] {
        let mut world = field(text);
        check(world.as_ref()).expect("a sound world");
        let mut rng = Stream::new(3).at(0);
        world.reset(&mut rng);
        let state = world.state().to_vec();
        let mut other = world.copy();
        other.reset_to(&state).expect("its own state");
        let actions: Vec<f64> = (0..8).map(|_| 2.0 * rng.uniform() - 1.0).collect();
        // The state says all: the same step from it gives the same bits.
        let (a, b) = (world.step(&actions), other.step(&actions));
        assert_eq!(a.expect("a step"), b.expect("a step"));
        assert_eq!(world.state(), other.state());
        assert!(world.reset_to(&state[1..]).is_err());
        assert!(world.step(&[f64::NAN; 8]).is_err());
        assert!(world.step(&[0.0; 7]).is_err());
    }
}

#[test]
fn noise_is_on_what_is_seen_and_on_nothing_else() {
    let (mut quiet, mut loud) = (
        field("ks(mu=0.1, warmup=5)"),
        field("ks(mu=0.1, warmup=5, noise=0.25)"),
    );
    let start = quiet.state().to_vec();
    quiet.reset_to(&start).expect("a state");
    loud.reset_to(&start).expect("a state");
    let (mut seen, mut heard) = ([0f32; 9], [0f32; 9]);
    let (mut sum, mut squares, count) = (0.0, 0.0, 500);
    for _ in 0..count {
        let rewards = [&mut quiet, &mut loud].map(|w| w.step(&[0.1; 8]).expect("a step").reward);
        assert_eq!(rewards[0], rewards[1]);
        quiet.observe(&mut seen);
        loud.observe(&mut heard);
        assert_eq!(seen[8], heard[8]);
        for k in 0..8 {
            let noise = f64::from(heard[k] - seen[k]);
            sum += noise;
            squares += noise * noise;
        }
    }
    // 4,000 draws: the mean within 4.5 standard errors, the deviation within 5 %.
    let n = f64::from(8 * count);
    assert!((sum / n).abs() < 4.5 * 0.25 / n.sqrt());
    assert!(((squares / n).sqrt() / 0.25 - 1.0).abs() < 0.05);
    let mut again = [0f32; 9];
    loud.observe(&mut again);
    assert_eq!(heard, again, "looking twice shows the same");
}

/// No NaN passes a reward: a field that breaks down is an error, and the next episode is sound.
#[test]
fn a_field_that_breaks_down_is_an_error() {
    let mut world = field("ks(mu=0, substeps=1, frame=5, warmup=0, hold=40, ceiling=1e8)");
    let mut state = vec![0.0; 64];
    (0..64).for_each(|j| state[j] = 50.0 * (j as f64).sin());
    state.push(0.0);
    world.reset_to(&state).expect("a state");
    let mut broken = false;
    for _ in 0..200 {
        match world.step(&[1.0; 8]) {
            Ok(step) => assert!(step.reward.is_finite()),
            Err(error) => {
                assert!(error.to_string().contains("more substeps"), "{error}");
                broken = true;
                break;
            }
        }
    }
    assert!(broken);
    let mut calm = vec![0.0; 64];
    calm.push(0.0);
    world.reset_to(&calm).expect("a state");
    assert_eq!(world.step(&[0.0; 8]).expect("a step").reward, 0.0);
    assert!(world.state().iter().all(|u| *u == 0.0));
}

/// A field that is out of hand stays so, and every action costs the same: returns are bounded, and getting there is never worth it.
#[test]
fn a_field_that_is_out_of_hand_stays_so() {
    let mut world = field("ks(mu=0, warmup=0)");
    let mut state = vec![5.0; 64];
    state.push(0.0);
    world.reset_to(&state).expect("a state");
    for _ in 0..3 {
        let step = world.step(&[1.0; 8]).expect("a step");
        assert_eq!((step.reward, step.is_over()), (-20.1, false));
        assert_eq!(world.state(), state);
    }
    // All actuators at once push the mean of the field, which nothing damps: every episode goes on to its end.
    world.reset(&mut Stream::new(0).at(0));
    let rewards: Vec<f64> = (0..999)
        .map(|_| world.step(&[1.0; 8]).expect("a step").reward)
        .collect();
    assert!(
        rewards
            .iter()
            .all(|r| (-20.1..0.0).contains(r) || *r == -20.1)
    );
    assert_eq!(rewards[998], -20.1);
}

/// Each derivative beside central differences.
#[test]
fn slopes_are_the_derivatives_of_the_step() {
    for text in [
        "ks(mu=0.1, points=32)",
        "cdr(nu=0.002, c=0.1, r=0.2, points=40)",
        "burgers(points=32)",
        "heat(points=16)",
    ] {
        let world = field(text);
        let form = world.smooth().expect("smooth");
        let mut rng = Stream::new(5).at(1);
        let state = form.typical_state(&mut rng);
        let action: Vec<f64> = form
            .actions()
            .iter()
            .map(|a| 0.5 * a.1[1] * rng.normal().tanh())
            .collect();
        let slopes = form.slopes(&state, &action);
        let h = 1e-5;
        for k in 0..state.len() + action.len() {
            let moved = |h: f64| {
                let (mut state, mut action) = (state.clone(), action.clone());
                match k.checked_sub(state.len()) {
                    None => state[k] += h,
                    Some(a) => action[a] += h,
                }
                form.next(&state, &action)
            };
            let (more, less) = (moved(h), moved(-h));
            for i in 0..state.len() {
                let slope = match k.checked_sub(state.len()) {
                    None => slopes.state[i][k],
                    Some(a) => slopes.action[i][a],
                };
                let expected = (more[i] - less[i]) / (2.0 * h);
                assert!(
                    (slope - expected).abs() < 1e-7,
                    "{text}: {slope} {expected}"
                );
            }
        }
    }
}

/// Heat: every wave decays at its rate, whatever the frames; the mean stays.
#[test]
fn heat_decays_at_its_rate() {
    let mut world = field("heat(kappa=0.01, frame=0.3, hold=3)");
    let wave = |j: usize| (std::f64::consts::TAU * 2.0 * j as f64 / 64.0).sin();
    let mut state: Vec<f64> = (0..64).map(|j| 0.5 + wave(j)).collect();
    state.push(0.01);
    world.reset_to(&state).expect("a state");
    world.step(&[0.0; 8]).expect("a step");
    let decay = (-0.01 * (2.0 * std::f64::consts::TAU).powi(2) * 0.9f64).exp();
    for j in 0..64 {
        assert!((world.state()[j] - 0.5 - decay * wave(j)).abs() < 1e-12);
    }
}

/// Burgers: momentum is only what forces put in, and energy only falls.
#[test]
fn burgers_keeps_momentum_and_loses_energy() {
    let mut world = field("burgers(nu=0.1, force=0)");
    world.reset(&mut Stream::new(1).at(7));
    let sum = |w: &dyn Environment| w.state()[..64].iter().sum::<f64>();
    let energy = |w: &dyn Environment| w.state()[..64].iter().map(|u| u * u).sum::<f64>();
    let (first, mut before) = (sum(world.as_ref()), energy(world.as_ref()));
    for _ in 0..100 {
        world.step(&[0.0; 8]).expect("a step");
        let now = energy(world.as_ref());
        assert!(now < before);
        before = now;
    }
    assert!((sum(world.as_ref()) - first).abs() < 1e-11);
}

/// Shifting the field by the distance of two actuators shifts what tied inputs show by one actuator, where no known force breaks the symmetry.
#[test]
fn tied_inputs_turn_with_the_field() {
    for (text, points, first) in [
        ("ks(mu=0)", 64, "left3"),
        ("cdr(nu=0.001, c=0.1, r=0.1)", 200, "left4"),
    ] {
        let mut world = field(text);
        let tied = world.tied().expect("a ring");
        assert_eq!(tied.names[0], first);
        let parameters = world.state()[points..].to_vec();
        let inputs = |world: &dyn Environment, shown: &mut Vec<Vec<f64>>| {
            let mut seen = vec![0f32; world.observation_space().len()];
            world.observe(&mut seen);
            *shown = tied
                .inputs
                .iter()
                .map(|i| i.iter().map(|(k, w)| f64::from(seen[*k]) * w).collect())
                .collect();
        };
        let shape = |j: usize| (j as f64 * 0.37).sin() + (j as f64 * 0.11).cos();
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (shift, shown) in [(0, &mut here), (points / 8, &mut there)] {
            let mut state: Vec<f64> = (0..points)
                .map(|j| shape((j + points - shift) % points))
                .collect();
            state.extend(&parameters);
            world.reset_to(&state).expect("a state");
            inputs(world.as_ref(), shown);
        }
        let sensors = 8;
        for i in 0..8 {
            assert_eq!(here[i][..sensors], there[(i + 1) % 8][..sensors]);
        }
    }
    assert!(field("ks(sensors=7)").tied().is_none());
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn any_text_is_a_field_or_an_error(text in "(ks|cdr|heat)[(][a-z=,. 0-9)(\\[\\]]*[)]?") {
        // Large fields are sound, and slow to try.
        if let Ok(world) = make(&text) && world.state().len() < 100 {
            let _ = world.text();
        }
    }
}
