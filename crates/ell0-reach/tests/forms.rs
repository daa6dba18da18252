//! Sets hold what they say: images of points of a cell are in the set that encloses them, step after step.

use ell0::rng::Stream;
use ell0_control::analysis::{Map, Plant, Range};
use ell0_control::policy::policy_from_text;
use ell0_reach::{Cell, Enclosure, Flow, Shear, Steps};

const LAWS: [&str; 8] = [
    "2*tanh(-4*sin(x) - 0.5*v - 3*cos(x)*v - 12*cos(x)*sin(x))",
    "-x^3 + x*v^2 - 0.3*v^5",
    "exp(-x^2) - sqrt(abs(v) + 0.1)",
    "log(x^2 + 0.5) - abs(v)*x",
    "sign(x + v) - x",
    "1/(x^2 + 1) - v/(2 + cos(v))",
    "(abs(x) + 0.2)^1.5 - (v^2 + 1)^(-0.5)",
    "tanh(5*x)*tanh(-3*v) - sin(7*x + v)",
];

/// A loop with a parameter that is known, or lies in a range.
fn closed(law: &str, g: Option<f64>) -> Map {
    let plant = Plant::builder()
        .state("x", Range::symmetric(3.0))
        .state("v", Range::symmetric(3.0))
        .action("u", Range::symmetric(1.5));
    let (plant, g) = match g {
        Some(g) => (plant, g.to_string()),
        None => (plant.parameter("g", Range::new(0.9, 1.1)), "g".into()),
    };
    let faster = format!("v + 0.2*u - 0.1*{g}*sin(x)");
    let plant = plant
        .assign_within("faster", faster, Range::symmetric(2.0))
        .next("x", "x + 0.2*faster")
        .next("v", "faster")
        .build()
        .expect("a plant");
    let policy = policy_from_text(law, &plant.observation_names(), &plant.action_names());
    let policy = policy.expect("a policy");
    plant.closed(&policy, 1.0).expect("a loop")
}

#[test]
fn every_image_is_in_the_set() {
    for law in LAWS {
        let map = closed(law, None);
        // Parameters at both ends of their range and in between.
        let known = [0.9, 0.97, 1.1].map(|g| closed(law, Some(g)));
        let shear = Shear::new([[0.0, 0.3], [0.0, 0.0]], &[Some(6.0), None]);
        let flow = Flow::new(&map, [6.0, 6.0]);
        let mut rng = Stream::new(11).at(0);
        let mut numbers = Default::default();
        for _ in 0..300 {
            let size = [0.5f64, 0.1, 0.01, 1e-6][(rng.uniform() * 4.0) as usize];
            let low = [4.0 * rng.uniform() - 2.0, 4.0 * rng.uniform() - 2.0];
            let cell = Cell {
                low,
                high: [low[0] + size * rng.uniform(), low[1] + size * rng.uniform()],
            };
            // The set, step by step, and points.
            let (mut set, mut room) = (Enclosure::new(), Steps::default());
            flow.begin(&cell, &shear, &mut set);
            let mut points: Vec<(&Map, [f64; 2])> = (0..30)
                .map(|point| {
                    let at = |k: usize, s: f64| cell.low[k] + (cell.high[k] - cell.low[k]) * s;
                    let y = [at(0, rng.uniform().round()), at(1, rng.uniform())];
                    (&known[point % 3], shear.to_point(&y))
                })
                .collect();
            for step in 0..12 {
                for (_, x) in &points {
                    for k in 0..2 {
                        // Points are rounded, too.
                        let slack = 1e-12;
                        let (low, high) = (set.hull[k].low - slack, set.hull[k].high + slack);
                        assert!((low..=high).contains(&x[k]), "{law} {step} {x:?} {set:?}");
                        // And in the zonotope, across each of its own generators.
                        let normal = [-set.generators[k][1], set.generators[k][0]];
                        let dot = |g: &[f64; 2]| normal[0] * g[0] + normal[1] * g[1];
                        let away = dot(&[x[0] - set.centre[0], x[1] - set.centre[1]]).abs();
                        let width: f64 = set.generators.iter().map(|g| dot(g).abs()).sum();
                        let edge =
                            normal[0].abs() * set.radius[0] + normal[1].abs() * set.radius[1];
                        let slack = 1e-12 * (normal[0].abs() + normal[1].abs());
                        assert!(away <= width + edge + slack, "{law} {step} {x:?} {set:?}");
                    }
                }
                if !flow.step(&mut set, &mut room) {
                    break;
                }
                for (map, x) in &mut points {
                    map.step(x, &mut numbers);
                }
            }
        }
    }
}
