//! What is proved is true: every trajectory from a proved cell arrives in time, and laws that hold some back are not proved there.

use ell0::rng::Stream;
use ell0_control::{
    analysis::{Claim, Disturbance, Map, Matrix, Plant, Range, on},
    policy::policy_from_text,
};
use ell0_reach::{Basin, Budget, Invariance, NoBasin, Question, prove_invariant};

/// ẍ = u with the law given, Δt = 0.1, on a box ±2, and what is added to u.
fn cart(law: &str, disturbance: Option<Range>) -> (Plant, Map) {
    let mut plant = Plant::builder()
        .state("x", Range::symmetric(2.0))
        .state("v", Range::symmetric(2.0))
        .action("u", Range::symmetric(2.0));
    if let Some(range) = disturbance {
        plant = plant.disturbance("w", range);
    }
    let push = disturbance.map_or("u", |_| "(u + w)");
    let plant = plant
        .assign("faster", format!("v + 0.1*{push}"))
        .next("x", "x + 0.1*faster")
        .next("v", "faster")
        .build()
        .expect("a plant");
    let policy = policy_from_text(law, &plant.observation_names(), &plant.action_names());
    let map = plant
        .closed(&policy.expect("a policy"), 1.0)
        .expect("a loop");
    (plant, map)
}

/// A disc around 0: whether it is left again is another question.
fn disc() -> Claim {
    Claim {
        centre: vec![0.0, 0.0],
        p: Matrix::from_rows(vec![vec![1.0, 0.0], vec![0.0, 1.0]]),
        level: 0.04,
        inner: 0.0,
    }
}

fn budget() -> Budget {
    Budget {
        most_attempts: 15_000,
        enough: 0.995,
        ..Budget::default()
    }
}

fn proved(plant: &Plant, map: &Map) -> Basin {
    let disc = disc();
    let question = Question::new(plant, map, &disc);
    question.prove(budget(), &on, |_| {}).expect("a basin")
}

/// Starts in proved cells, corners among them, that are not in the disc in time, or do not keep to something on the way.
fn late(basin: &Basin, map: &Map, keeps: impl Fn(&[f64]) -> bool) -> Vec<Vec<f64>> {
    let mut rng = Stream::new(7).at(0);
    let mut late = Vec::new();
    basin.for_each_proved(|corners, steps| {
        for start in 0..6 {
            let share = [0, 1].map(|k| match start {
                0..4 => f64::from(u8::from(start >> k & 1 == 1)),
                _ => rng.uniform(),
            });
            let side = |i: usize, j: usize| corners[1 << j][i] - corners[0][i];
            let at = |i: usize| corners[0][i] + share[0] * side(i, 0) + share[1] * side(i, 1);
            // Of an odd loop, the other half as well.
            for sign in [1.0, -1.0].into_iter().take(1 + usize::from(basin.odd)) {
                let first = vec![sign * at(0), sign * at(1)];
                let (mut x, mut k) = (first.clone(), 0);
                // The edge is left to rounding.
                while x[0] * x[0] + x[1] * x[1] > 0.04 * (1.0 + 1e-9) {
                    if k == steps || !keeps(&x) {
                        late.push(first);
                        break;
                    }
                    x = map.next(&x);
                    k += 1;
                }
            }
        }
    });
    late
}

const NONE: Vec<Vec<f64>> = Vec::new();

fn has(basin: &Basin, x: [f64; 2]) -> bool {
    basin.steps_at(&x).is_some()
}

#[test]
fn a_good_law_is_proved_whatever_the_number_of_threads() {
    let (plant, map) = cart("-2*x - 2*v", None);
    let basin = proved(&plant, &map);
    // From the corners of the box it is left: x + 0.1·v is beyond 2.
    assert!(basin.odd && basin.share > 0.8, "{}", basin.share);
    assert_eq!(late(&basin, &map, |_| true), NONE);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let alone = pool.expect("a pool").install(|| proved(&plant, &map));
    let text = |b: &Basin| b.certificate(plant.states(), &map).expect("a certificate");
    assert!(text(&basin) == text(&alone));
}

#[test]
fn a_second_attractor_and_a_cycle_are_not_proved() {
    // x = 0 and 1.5 attract.
    let (plant, map) = cart("-2*x*(x - 1)*(x - 1.5) - 2*v", None);
    let two = proved(&plant, &map);
    assert!(two.share > 0.2, "{}", two.share);
    assert!(!has(&two, [1.5, 0.0]) && !has(&two, [1.4, 0.1]));
    assert_eq!(late(&two, &map, |_| true), NONE);
    // What is outside of the disc stays on a cycle.
    let (plant, map) = cart("2*(0.5 - x^2 - v^2)*v - x", None);
    let cycle = proved(&plant, &map);
    assert!(!has(&cycle, [0.7, 0.0]) && !has(&cycle, [0.0, 0.7]));
    assert_eq!(late(&cycle, &map, |_| true), NONE);
}

#[test]
fn jumps_hold_some_back() {
    for law in [
        "-2*x - 2*v - 0.9*sign(x - 0.5)",
        "-2*x - 2*v + 3.2*(sign(x - 0.799) - sign(x - 0.801))*(1 - abs(v))",
    ] {
        let (plant, map) = cart(law, None);
        let basin = proved(&plant, &map);
        assert!(basin.share > 0.1, "{law}: {}", basin.share);
        assert_eq!(late(&basin, &map, |_| true), NONE, "{law}");
    }
}

/// No value beyond x = 1, at x = 1, and at v = 1, though the action is brought into its range.
#[test]
fn holes_are_not_proved() {
    for (law, hole) in [
        ("-2*x - 2*v + 1e-9*log(1 - x)", [1.2, 0.0]),
        ("-2*x - 2*v + 1e-9*sqrt(1 - x)", [1.2, 0.0]),
        ("-2*x - 2*v + 1e-9/(1 - x)", [1.0, 0.0]),
        ("-2*x - 2*v + 1e-9/(1 - v)^2", [0.0, 1.0]),
        ("-2*x - 2*v + 1e-9*(1 - x)^0.5", [1.2, 0.0]),
        ("-2*x - 2*v + 0.1*sign(log(1 - x))", [1.2, 0.0]),
        ("-2*x - 2*v + 0.1*abs(sqrt(1 - x))", [1.2, 0.0]),
    ] {
        let (plant, map) = cart(law, None);
        let basin = proved(&plant, &map);
        assert!(!has(&basin, hole), "{law}");
        assert_eq!(late(&basin, &map, |_| true), NONE, "{law}");
        assert!(basin.share > 0.1, "{law}: {}", basin.share);
    }
}

/// A disturbance that can hold the cart outside of the disc is not proved away; a weaker one is.
#[test]
fn a_disturbance_is_borne_or_not() {
    let (plant, map) = cart("-2*x - 2*v", Some(Range::symmetric(0.1)));
    let weak = proved(&plant, &map);
    assert!(weak.odd && weak.share > 0.7, "{}", weak.share);
    // w = 1 holds it at x = 0.5.
    let (plant, map) = cart("-2*x - 2*v", Some(Range::symmetric(1.0)));
    assert!(!has(&proved(&plant, &map), [0.5, 0.0]));
}

/// An action that becomes a state as it is hands its disturbance on.
#[test]
fn a_disturbance_is_not_lost_in_memory() {
    let plant = Plant::builder()
        .state("x", Range::symmetric(1.0))
        .state("last", Range::symmetric(1.0))
        .action("u", Range::symmetric(1.0))
        .next("x", "0.9*x + 0.1*last")
        .next("last", "u")
        .build()
        .expect("a plant");
    let added = Disturbance::Added {
        to: "u".into(),
        range: Range::symmetric(0.1),
    };
    let plant = plant.disturbed(&[added]).expect("a plant");
    let policy = policy_from_text("-0.5*x", &plant.observation_names(), &plant.action_names());
    let map = plant
        .closed(&policy.expect("a policy"), 1.0)
        .expect("a loop");
    let mut room = Default::default();
    map.image(&[0.5, 0.0], &[0.1], &mut room);
    assert_eq!(room.next, [0.45, -0.15]);
}

#[test]
fn limits_are_kept_on_the_way() {
    let (plant, map) = cart("-2*x - 2*v", None);
    let disc = disc();
    let stay = [("v".to_string(), Range::symmetric(0.5))];
    let avoid = [vec![
        ("x".to_string(), Range::new(0.6, 0.9)),
        ("v".to_string(), Range::new(-0.3, 0.1)),
    ]];
    let free = proved(&plant, &map);
    let slow = Question {
        stay: &stay,
        ..Question::new(&plant, &map, &disc)
    };
    let slow = slow.prove(budget(), &on, |_| {}).expect("a basin");
    assert!(slow.odd && slow.share > 0.05 && slow.share < free.share);
    assert_eq!(late(&slow, &map, |x| x[1].abs() <= 0.5), NONE);
    let around = Question {
        avoid: &avoid,
        ..Question::new(&plant, &map, &disc)
    };
    let around = around.prove(budget(), &on, |_| {}).expect("a basin");
    assert!(!around.odd && around.share > 0.1 && around.share < free.share);
    let out = |x: &[f64]| !((0.6..=0.9).contains(&x[0]) && (-0.3..=0.1).contains(&x[1]));
    assert_eq!(late(&around, &map, out), NONE);
    // The disc would not fit: a smaller one does.
    let narrow = [("v".to_string(), Range::symmetric(0.1))];
    let narrow = Question {
        stay: &narrow,
        ..Question::new(&plant, &map, &disc)
    };
    let narrow = narrow.prove(budget(), &on, |_| {}).expect("a basin");
    assert!(narrow.claim.level < 0.01, "{}", narrow.claim.level);
}

#[test]
fn boxes_are_left_or_not() {
    let (plant, map) = cart("-2*x - 2*v", None);
    let range = |bound: f64| Range::symmetric(bound);
    let wide = [("x".to_string(), range(1.0)), ("v".to_string(), range(1.0))];
    let found = prove_invariant(plant.states(), &map, &wide, &on).expect("an answer");
    let Invariance::Refuted(state) = found else {
        panic!("{found:?}");
    };
    let next = map.next(&state);
    assert!(next[0].abs() > 1.0 || next[1].abs() > 1.0, "{state:?}");
    // x⁺ = 0.5·x + 0.4·x³ stays in ±1, but not in ±3, where nothing else is looked for.
    let cubic = Plant::builder()
        .state("x", range(1.0))
        .next("x", "0.5*x + 0.4*x^3")
        .build()
        .expect("a plant");
    let open = cubic.open();
    let stay = |low, high| {
        let stay = [("x".to_string(), Range::new(low, high))];
        prove_invariant(cubic.states(), &open, &stay, &on).expect("an answer")
    };
    assert!(matches!(stay(-1.0, 1.0), Invariance::Proved { .. }));
    assert!(matches!(stay(-0.5, 0.5), Invariance::Proved { .. }));
    let Invariance::Refuted(state) = stay(-3.0, 3.0) else {
        panic!("2 goes to 4.2");
    };
    assert!((0.5 * state[0] + 0.4 * state[0].powi(3)).abs() > 3.0);
    assert!(matches!(stay(5.0, 6.0), Invariance::Refuted(_)));
    assert_eq!(stay(f64::NEG_INFINITY, 1.0), Invariance::Open);
    // v falls everywhere, but x leaves its bounds, where nothing was looked at.
    let drifting = Plant::builder()
        .state("x", range(1.0))
        .state("v", range(1.0))
        .next("x", "x + v")
        .next("v", "0.5*v")
        .build()
        .expect("a plant");
    let slow = [("v".to_string(), range(0.5))];
    let found = prove_invariant(drifting.states(), &drifting.open(), &slow, &on);
    assert_eq!(found, Ok(Invariance::Open));
    // Angles come round: from 3.2 to 3.1 is a step within 3 to 3.4, on the other side of π.
    let turning = Plant::builder()
        .angle("a", range(std::f64::consts::PI), std::f64::consts::TAU)
        .next("a", "a + 0.3*sin(a)")
        .build()
        .expect("a plant");
    let around = [("a".to_string(), Range::new(3.0, 3.4))];
    let found = prove_invariant(turning.states(), &turning.open(), &around, &on);
    assert!(matches!(found, Ok(Invariance::Proved { .. })), "{found:?}");
}

#[test]
fn what_cannot_be_asked_is_said() {
    let (plant, map) = cart("-x - v", None);
    let disc = disc();
    let stay = [("speed".to_string(), Range::symmetric(0.5))];
    let question = Question {
        stay: &stay,
        ..Question::new(&plant, &map, &disc)
    };
    let error = question.prove(budget(), &on, |_| {}).err();
    assert!(matches!(error, Some(NoBasin::NoState { .. })), "{error:?}");
    let twice = [1.0, 2.0].map(|bound| ("v".to_string(), Range::symmetric(bound)));
    let question = Question {
        stay: &twice,
        ..Question::new(&plant, &map, &disc)
    };
    let error = question.prove(budget(), &on, |_| {}).err();
    assert!(matches!(error, Some(NoBasin::Twice { .. })), "{error:?}");
    let far = [vec![("x".to_string(), Range::symmetric(1.0))]];
    let question = Question {
        avoid: &far,
        ..Question::new(&plant, &map, &disc)
    };
    let error = question.prove(budget(), &on, |_| {}).err();
    assert_eq!(error, Some(NoBasin::TargetForbidden));
    // Four states.
    let mut four = Plant::builder();
    for name in ["a", "b", "c", "d"] {
        four = four
            .state(name, Range::symmetric(1.0))
            .next(name, format!("0.5*{name}"));
    }
    let four = four.build().expect("a plant");
    let open = four.open();
    let claim = Claim {
        centre: vec![0.0; 4],
        p: Matrix::from_rows(
            (0..4)
                .map(|i| (0..4).map(|j| f64::from(u8::from(i == j))).collect())
                .collect(),
        ),
        level: 0.1,
        inner: 0.0,
    };
    let error = Question::new(&four, &open, &claim).prove(budget(), &on, |_| {});
    assert_eq!(error.err(), Some(NoBasin::TooManyStates { states: 4 }));
    // Half of an angle.
    let half = Plant::builder()
        .angle("phi", Range::symmetric(1.0), 6.0)
        .next("phi", "0.5*phi")
        .build()
        .expect("a plant");
    let claim = Claim {
        centre: vec![0.0],
        p: Matrix::from_rows(vec![vec![1.0]]),
        level: 0.1,
        inner: 0.0,
    };
    let open = half.open();
    let error = Question::new(&half, &open, &claim).prove(budget(), &on, |_| {});
    assert!(matches!(error.err(), Some(NoBasin::NotAround { .. })));
    // 0.5·φ is not the same after a turn.
    let torn = Plant::builder()
        .angle("phi", Range::symmetric(3.0), 6.0)
        .next("phi", "0.5*phi")
        .build()
        .expect("a plant");
    let open = torn.open();
    let error = Question::new(&torn, &open, &claim).prove(budget(), &on, |_| {});
    assert!(matches!(error.err(), Some(NoBasin::NotPeriodic { .. })));
}

/// One and three states, angles among them.
#[test]
fn one_and_three_states() {
    let one = Plant::builder()
        .angle("phi", Range::symmetric(3.0), 6.0)
        .next("phi", "phi - 0.3*sin(1.0471975511965976*phi)")
        .build()
        .expect("a plant");
    let claim = Claim {
        centre: vec![0.0],
        p: Matrix::from_rows(vec![vec![1.0]]),
        level: 0.01,
        inner: 0.0,
    };
    let open = one.open();
    let basin = Question::new(&one, &open, &claim)
        .prove(budget(), &on, |_| {})
        .expect("a basin");
    assert!(basin.odd && basin.share > 0.99, "{}", basin.share);
    let text = basin.certificate(one.states(), &open).expect("a text");
    assert_eq!(ell0_check::check(&text).map(|v| v.steps), Ok(basin.steps));
    let three = Plant::builder()
        .state("x", Range::symmetric(1.0))
        .state("y", Range::symmetric(1.0))
        .state("z", Range::symmetric(1.0))
        .next("x", "0.8*x + 0.1*y*z")
        .next("y", "0.7*y - 0.1*x")
        .next("z", "0.6*z + 0.1*x^2")
        .build()
        .expect("a plant");
    let claim = Claim {
        centre: vec![0.0; 3],
        p: Matrix::from_rows(vec![
            vec![1.0, 0.0, 0.0],
            vec![0.0, 1.0, 0.0],
            vec![0.0, 0.0, 1.0],
        ]),
        level: 0.1,
        inner: 0.0,
    };
    let open = three.open();
    let basin = Question::new(&three, &open, &claim)
        .prove(budget(), &on, |_| {})
        .expect("a basin");
    assert!(basin.share > 0.99, "{}", basin.share);
    let text = basin.certificate(three.states(), &open).expect("a text");
    assert_eq!(ell0_check::check(&text).map(|v| v.steps), Ok(basin.steps));
}
