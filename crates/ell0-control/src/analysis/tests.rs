use std::sync::atomic::{AtomicU64, Ordering};

use ell0::{
    equation::{Dynamics, Expression, Model},
    rng::{Generator, Stream},
};

use super::*;
use crate::{
    Error,
    environment::{ClosedForm, Environment, Parameter, Space, Start, Step, TimeLimit, make},
    policy::policy_from_text,
};

const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

fn policy(text: &str) -> Model {
    let inputs = ["cos_theta", "sin_theta", "theta_dot"].map(String::from);
    policy_from_text(text, &inputs, &["torque".into()]).expect("a policy")
}

fn world() -> (Box<dyn Environment>, Plant) {
    let world = make("pendulum(g=9.81)").expect("a world");
    let plant = world.closed_form().expect("a closed form").plant();
    let plant = plant.expect("a plant");
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
    let found = equilibria(&plant, &map, &on);
    let upright = &found[0];
    assert_eq!(upright.state, [0.0, 0.0]);
    assert!(upright.is_stable());
    assert!((upright.eigenvalues[0].re / 0.839 - 1.0).abs() < 0.01);
    assert!((upright.eigenvalues[1].re / -0.353 - 1.0).abs() < 0.01);
    // All others are unstable: among them the pendulum at rest below.
    assert!(found.len() >= 2 && found[1..].iter().all(|e| !e.is_stable()));
    let Range { low, high } = gain_margin(&plant, &policy, upright)
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
    let upright = &equilibria(&plant, &map, &on)[0];
    let region = proved_region(&plant, &map, upright, &on).expect("a region");
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
            let v = linear::quadratic(p.rows(), &x);
            if v > *level || v == 0.0 {
                continue;
            }
            tried += 1;
            wrong += u32::from(linear::quadratic(p.rows(), &map.next(&x)) >= v);
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
        p: Matrix::from_rows(p.iter().map(|row| row.to_vec()).collect()),
        level,
        inner: 0.0,
    };
    // A matrix that does not solve the equation: speeds count for nothing near the top.
    let bad = prove(&map, &claim([[1.0, 0.0], [0.0, 1e-3]], 0.1), 1_000_000, &on);
    assert!(!matches!(bad, Verdict::Proved { .. }), "{bad:?}");
    // The right matrix, but a level far beyond what holds: a state in it refutes it.
    let upright = &equilibria(&plant, &map, &on)[0];
    let region = proved_region(&plant, &map, upright, &on).expect("a region");
    let mut far = region.claim.clone();
    far.level *= 50.0;
    let Verdict::Refuted(state) = prove(&map, &far, 5_000_000, &on) else {
        panic!("not refuted")
    };
    assert!(
        linear::quadratic(far.p.rows(), &map.next(&state))
            >= linear::quadratic(far.p.rows(), &state)
    );
    for nonsense in [
        claim([[1.0, 2.0], [2.0, 1.0]], 1.0),
        claim([[1.0, 0.5], [0.0, 1.0]], 1.0),
        claim([[-1.0, 0.0], [0.0, -1.0]], 1.0),
        claim([[1.0, 0.0], [0.0, 1.0]], -1.0),
        claim([[f64::NAN, 0.0], [0.0, 1.0]], 1.0),
    ] {
        assert!(matches!(
            prove(&map, &nonsense, 1000, &on),
            Verdict::Open(_)
        ));
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
        prove(&unstable, &around, 1_000_000, &on),
        Verdict::Proved { .. }
    ));
    assert!(
        equilibria(&plant, &unstable, &on)
            .iter()
            .filter(|e| e.state[0] == 0.0)
            .all(|e| !e.is_stable())
    );
}

/// A law that jumps, or has no value somewhere, is never proved across the jump: with these jumps a state inside the set stays where it is, or leaves.
#[test]
fn jumps_and_holes_are_not_proved_over() {
    let (_, plant) = world();
    let region = |text: &str| {
        let map = plant.closed(&policy(text), 1.0).expect("a loop");
        let mut found = equilibria(&plant, &map, &on).into_iter();
        let main = found.find(|e| e.state == [0.0, 0.0]).expect("the top");
        proved_region(&plant, &map, &main, &on).expect("a region")
    };
    let smooth = region("-8*sin_theta - 2*theta_dot");
    assert!(
        smooth.reach[0].sin() > 0.1,
        "it would reach the jump: {smooth:?}"
    );
    // A jump in sin θ near 0.1: what is proved stays below it.
    let jump = region(
        "-8*sin_theta - 2*theta_dot + 0.5*(sign(sin_theta - 0.09999995) - sign(sin_theta - 0.10000005))*(3.095*sin_theta + 2*theta_dot)",
    );
    assert!(jump.reach[0].sin() < 0.1, "{jump:?}");
    // One in θ̇ near 1.
    let smooth = region("2*tanh(-8*sin_theta - 2*theta_dot)");
    assert!(smooth.reach[1] > 1.0, "it would reach the jump: {smooth:?}");
    let jump = region(
        "2*tanh(-8*sin_theta - 2*theta_dot) + 1.9*sign(theta_dot - 1) - 1.9*sign(theta_dot - 1.000001)",
    );
    assert!(jump.reach[1] < 1.0, "{jump:?}");
    // A root that has no value for fast states: the set stays below them.
    let text = "2*tanh(-8*sin_theta - 2*theta_dot) + 1e-9*(sqrt(2 - theta_dot) - sqrt(2))";
    let hole = region(text);
    assert!(hole.reach[1] <= 2.0, "{hole:?}");
    // At a jump or a corner, and on the unit circle, linearisation decides nothing.
    for text in [
        "2*tanh(-8*sin_theta - 2*theta_dot) - 0.3*sign(theta_dot)",
        "-20*sin_theta",
    ] {
        let map = plant.closed(&policy(text), 1.0).expect("a loop");
        let top = equilibria(&plant, &map, &on)
            .into_iter()
            .find(|e| e.state == [0.0, 0.0]);
        assert!(
            top.is_none_or(|e| e.stability == Stability::Undecided),
            "{text}"
        );
    }
    // An equilibrium that is not exactly representable is proved up to a tiny ball.
    let map = plant
        .closed(&policy("2*tanh(-5*sin_theta - theta_dot - 0.25)"), 1.0)
        .expect("a loop");
    let main = &equilibria(&plant, &map, &on)[0];
    let region = proved_region(&plant, &map, main, &on).expect("a region");
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
    let found = equilibria(&plant, &map, &on);
    let basin = Basin::new(&plant, &map, &found, 21, &on);
    assert!(basin.share(0) > 0.9, "{}", basin.share(0));
    let bench = Robustness::spread(world.as_ref(), 100);
    let level = bench.worth(&policy).expect("a return");
    let effects = bench.terms(&policy, &on).expect("terms");
    assert_eq!(effects.len(), 4);
    assert!(effects.iter().all(|e| e.action == "torque"));
    assert!(
        effects
            .iter()
            .any(|e| e.term.contains("cos_theta*sin_theta") && e.dropped < level - 20.0)
    );
    let ranges = bench
        .ranges(&policy, &[0.0, 0.0], 0.1, &on)
        .expect("ranges");
    assert_eq!(
        ranges.iter().map(|r| &r.name[..]).collect::<Vec<_>>(),
        ["g", "mass", "length"]
    );
    for r in &ranges {
        assert!(
            r.range.contains(r.value) && r.range.width() > 0.0 && r.range.high < 2.0 * r.value,
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
    let points = lorenz.fixed_points(30.0, &on);
    assert_eq!(points.len(), 3);
    let c = 72f64.sqrt();
    assert!(
        (points[1].state[0].abs() - c).abs() < 1e-9 && (points[1].state[2] - 27.0).abs() < 1e-9
    );
    assert!(points.iter().all(|p| p.stability == Stability::Unstable));
    let exponent = lorenz
        .largest_exponent(&[1.0, 1.0, 20.0], 0.01, 60_000, &on)
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
        .largest_exponent(&[0.1, 0.1], 1.0, 100_000, &on)
        .expect("bounded");
    assert!((exponent - 0.419).abs() < 0.01, "{exponent}");
    assert_eq!(henon.fixed_points(3.0, &on).len(), 2);
    // Who asks to stop is heard at once.
    let beats = AtomicU64::new(0);
    let few = || beats.fetch_add(1, Ordering::Relaxed) < 3;
    assert_eq!(
        henon.largest_exponent(&[0.1, 0.1], 1.0, 100_000, &few),
        None
    );
    henon.fixed_points(3.0, &few);
    assert_eq!(beats.into_inner(), 5);
    // A policy is no law.
    assert!(matches!(Law::new(&policy(LAW)), Err(Error::NotALaw)));
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
    let config = ModelPlant {
        other_bounds: Range::symmetric(1.0),
        action_range: Range::symmetric(2.0),
        ..ModelPlant::default()
    };
    let plant = Plant::of_model(&model, &config).expect("a plant");
    let policy = policy_from_text("-3*x - 2*v", &plant.state_names(), &plant.action_names());
    let policy = policy.expect("a policy");
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(&plant, &map, &on);
    assert!(found[0].is_stable() && found[0].state == [0.0, 0.0]);
    // The closed loop is [1, 0.1; −0.2, 0.8]: trace 1.8, determinant 0.82.
    let (a, b) = (found[0].eigenvalues[0], found[0].eigenvalues[1]);
    assert!((a.re + b.re - 1.8).abs() < 1e-12 && (a.re * b.re - a.im * b.im - 0.82).abs() < 1e-12);
    let region = proved_region(&plant, &map, &found[0], &on).expect("a region");
    assert!(region.volume > 0.3, "{region:?}");
    // A plain regression says nothing about the next state.
    let wrong = Plant::of_model(&policy, &config);
    assert!(matches!(wrong, Err(Error::NotATransition { .. })));
    let stranger = ModelPlant {
        bounds: vec![("y".into(), Range::symmetric(1.0))],
        ..config
    };
    let wrong = Plant::of_model(&model, &stranger);
    assert!(matches!(wrong, Err(Error::Mismatch { what: "state", .. })));
}

/// What does not fit together is said, not found out later.
#[test]
fn plants_are_checked_when_they_are_built() {
    let one = Range::symmetric(1.0);
    let good = || {
        let plant = Plant::builder().state("x", one).action("u", one);
        plant.next("x", "0.5*x + u")
    };
    let plant = good().build().expect("a plant");
    assert_eq!(plant.observation_names(), ["x"]);
    assert_eq!(plant.open().next(&[1.0, 2.0]), [2.5]);
    for (builder, words) in [
        (Plant::builder(), "at least one"),
        (good().state("y", one), "its next value is missing"),
        (good().next("x", "x"), "it has two next values"),
        (good().next("z", "x"), "there is no such state"),
        (good().action("x", one), "no two may have the same"),
        (good().action("", one), "everything needs a name"),
        (good().assign("a", "b + 1"), "a known variable"),
        (good().observation("seen", "u"), "a known variable"),
        (
            good().state("y", Range::new(1.0, 1.0)).next("y", "y"),
            "finite bounds",
        ),
        (good().angle("y", one, 0.0).next("y", "y"), "period"),
        (
            good().assign_within("a", "x", Range::new(1.0, f64::NAN)),
            "least to the greatest",
        ),
    ] {
        let error = builder.build().expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// Each value of the state that runs fastest comes as often as the others, and the other state is covered without large gaps.
#[test]
fn starts_are_spread_over_the_whole_grid() {
    let (world, _) = world();
    let all = world.evaluation_starts();
    let some = spread(&all, 500);
    assert_eq!(some.len(), 500);
    let mut counts = std::collections::BTreeMap::new();
    let mut angles = Vec::new();
    for start in &some {
        let Start::State(state) = start else {
            panic!("a state")
        };
        *counts.entry((state[1] * 10.0).round() as i64).or_insert(0) += 1;
        angles.push(state[0]);
    }
    assert!(
        counts.len() == 10 && counts.values().all(|c| *c == 50),
        "{counts:?}"
    );
    angles.sort_by(f64::total_cmp);
    let gap = angles.windows(2).fold(0f64, |m, w| m.max(w[1] - w[0]));
    assert!(gap < 3.0 * std::f64::consts::TAU / 200.0, "{gap}");
    assert_eq!(spread(&all, 5000), all);
    assert_eq!(spread(&all[..7], 3).len(), 3);
}

/// Findings can be written and read.
#[test]
fn findings_are_saved() {
    let (_, plant) = world();
    let map = plant.closed(&policy(LAW), 1.0).expect("a loop");
    let found = equilibria(&plant, &map, &on);
    let text = serde_json::to_string(&found).expect("JSON");
    assert_eq!(
        found,
        serde_json::from_str::<Vec<Equilibrium>>(&text).expect("equilibria")
    );
    let claim = Claim {
        centre: vec![0.0],
        p: Matrix::from_rows(vec![vec![2.0]]),
        level: 1.0,
        inner: 0.0,
    };
    assert_eq!(
        serde_json::to_string(&claim).expect("JSON"),
        r#"{"centre":[0.0],"p":[[2.0]],"level":1.0,"inner":0.0}"#
    );
}

/// A caller's world with two actions and a closed form: a sledge that is pushed and braked.
#[derive(Clone)]
struct Sledge {
    state: [f64; 2],
    mass: f64,
    seen: Space,
    chosen: Space,
}

impl Sledge {
    fn new(mass: f64) -> Self {
        Sledge {
            state: [0.0; 2],
            mass,
            seen: Space::default().unbounded("x").unbounded("v"),
            chosen: Space::default()
                .with("push", -1.0, 2.0)
                .with("brake", 0.0, 0.5),
        }
    }
}

impl Environment for Sledge {
    fn text(&self) -> String {
        "sledge".into()
    }

    fn observation_space(&self) -> &Space {
        &self.seen
    }

    fn action_space(&self) -> &Space {
        &self.chosen
    }

    fn reset(&mut self, rng: &mut Generator) {
        self.state = [rng.normal(), rng.normal()];
    }

    fn observe(&self, observation: &mut [f32]) {
        let pairs = observation.iter_mut().zip(self.state);
        pairs.for_each(|(o, s)| *o = s as f32);
    }

    fn step(&mut self, action: &[f64]) -> crate::Result<Step> {
        let [x, v] = self.state;
        let (push, brake) = (
            self.chosen.clamp(0, action[0]),
            self.chosen.clamp(1, action[1]),
        );
        let v = v + 0.1 * push / self.mass - brake * v;
        self.state = [x + 0.1 * v, v];
        Ok(Step::goes_on(-x * x - 0.1 * v * v))
    }

    fn copy(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn state_names(&self) -> Vec<String> {
        vec!["x".into(), "v".into()]
    }

    fn state(&self) -> &[f64] {
        &self.state
    }

    fn reset_to(&mut self, state: &[f64]) -> crate::Result<()> {
        self.state = [state[0], state[1]];
        Ok(())
    }

    fn time_limit(&self) -> Option<u32> {
        Some(50)
    }

    fn closed_form(&self) -> Option<&dyn ClosedForm> {
        Some(self)
    }
}

impl ClosedForm for Sledge {
    fn plant(&self) -> crate::Result<Plant> {
        Plant::builder()
            .state("x", Range::symmetric(3.0))
            .state("v", Range::symmetric(3.0))
            .action("push", Range::new(-1.0, 2.0))
            .action("brake", Range::new(0.0, 0.5))
            .assign("faster", format!("v + 0.1*push/{} - brake*v", self.mass))
            .next("v", "faster")
            .next("x", "x + 0.1*faster")
            .build()
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("mass", self.mass)]
    }

    fn with_parameter(&self, name: &str, value: f64) -> crate::Result<Box<dyn Environment>> {
        match name {
            "mass" => Ok(Box::new(Sledge::new(value))),
            _ => Err(Error::Parameter {
                name: name.into(),
                value,
                expected: "a sledge has a mass",
            }),
        }
    }
}

/// Everything that is said of the pendulum can be said of a world that a caller wrote, with several actions.
#[test]
fn a_world_of_ones_own_is_analysed() {
    let mut world = Sledge::new(1.0);
    crate::environment::check(&world).expect("a world");
    let plant = world.plant().expect("a plant");
    let names = (plant.observation_names(), plant.action_names());
    let policy = policy_from_text("brake = 0.1*v^2; push = -2*x - 2*v", &names.0, &names.1);
    let policy = policy.expect("a policy");
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let mut rng = Stream::new(1).at(0);
    for _ in 0..100 {
        let x = [2.0 * rng.normal(), 2.0 * rng.normal()];
        let u = plant.policy(&policy, 1.0).expect("a policy").next(&x);
        world.reset_to(&x).expect("a state");
        world.step(&u).expect("a step");
        for (a, b) in map.next(&x).iter().zip(world.state()) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
    let found = equilibria(&plant, &map, &on);
    assert!(found[0].is_stable() && found[0].state == [0.0, 0.0]);
    let margin = gain_margin(&plant, &policy, &found[0]).expect("a loop");
    assert!(margin.expect("stable").contains(1.0));
    assert!(
        proved_region(&plant, &map, &found[0], &on)
            .expect("a region")
            .volume
            > 0.1
    );
    let bench = Robustness::spread(&world, 40);
    assert_eq!(bench.starts(), 40);
    let effects = bench.terms(&policy, &on).expect("terms");
    let told: Vec<(&str, &str)> = effects
        .iter()
        .map(|e| (&e.action[..], &e.term[..]))
        .collect();
    assert_eq!(
        told,
        [("push", "-2*x"), ("push", "-2*v"), ("brake", "0.1*v^2")]
    );
    let ranges = bench
        .ranges(&policy, &[0.0, 0.0], 0.1, &on)
        .expect("ranges");
    assert!(ranges[0].name == "mass" && ranges[0].range.contains(1.0));
    // A time limit around it keeps its closed form, and what is made of it keeps the limit.
    let limited = TimeLimit::new(world, 7);
    let form = limited.closed_form().expect("a closed form");
    let heavier = form.with_parameter("mass", 2.0).expect("a world");
    assert_eq!(heavier.time_limit(), Some(7));
    assert!(form.with_parameter("length", 2.0).is_err());
}
