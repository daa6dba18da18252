//! What is proved is true: every trajectory from a proved cell arrives in time, and laws that hold some back are not proved there.

use ell0::rng::Stream;
use ell0_control::analysis::{Claim, Map, Matrix, Plant, Range, on};
use ell0_control::policy::policy_from_text;
use ell0_reach::{Budget, Cell, Ellipsoid, Proved, Question, Shear, Tree, prove_arrival};

/// ẍ = u with the law given, Δt = 0.1, on a box ±2.
fn cart(law: &str, uncertain: &[(&str, Range)]) -> Map {
    let mut plant = Plant::builder()
        .state("x", Range::symmetric(2.0))
        .state("v", Range::symmetric(2.0))
        .action("u", Range::symmetric(2.0));
    for (name, range) in uncertain {
        plant = plant.disturbance(*name, *range);
    }
    let push = if uncertain.is_empty() { "u" } else { "(u + w)" };
    let plant = plant
        .assign("faster", format!("v + 0.1*{push}"))
        .next("x", "x + 0.1*faster")
        .next("v", "faster")
        .build()
        .expect("a plant");
    let policy = policy_from_text(law, &plant.observation_names(), &plant.action_names());
    plant
        .closed(&policy.expect("a policy"), 1.0)
        .expect("a loop")
}

fn question(map: &Map) -> Question<'_, 2> {
    let claim = Claim {
        centre: vec![0.0, 0.0],
        p: Matrix::from_rows(vec![vec![1.0, 0.0], vec![0.0, 1.0]]),
        level: 0.04,
    };
    let periods = [None, None];
    Question {
        map,
        bounds: Cell {
            low: [-2.0, -2.0],
            high: [2.0, 2.0],
        },
        shear: Shear::new([[0.0; 2]; 2], &periods),
        periods,
        target: Ellipsoid::new(&claim).expect("an ellipsoid"),
    }
}

fn proved(question: &Question<2>) -> Tree<2> {
    let budget = Budget {
        most_enclosed: 300_000,
        most_cells: 30_000,
        enough: 0.995,
        ..Budget::default()
    };
    prove_arrival(question, budget, &on, |_| {})
}

/// Starts in proved cells, corners among them, that are not in the target in time.
fn late(tree: &Tree<2>, question: &Question<2>) -> Vec<[f64; 2]> {
    let mut cells = Vec::new();
    tree.for_each_leaf(|_, cell, arrival| cells.extend(arrival.map(|a| (*cell, a))));
    let empty = Tree::new(question.bounds);
    let target = Proved {
        tree: &empty,
        target: &question.target,
        shear: &question.shear,
        periods: question.periods,
    };
    let mut rng = Stream::new(7).at(0);
    let mut late = Vec::new();
    for (cell, arrival) in cells {
        for start in 0..6 {
            let share = |k: usize, s: f64| match start {
                0..4 => f64::from(u8::from(start >> k & 1 == 1)),
                _ => s,
            };
            let at = |k: usize, s: f64| cell.low[k] + (cell.high[k] - cell.low[k]) * share(k, s);
            let start = [at(0, rng.uniform()), at(1, rng.uniform())];
            let mut x = start.to_vec();
            let mut steps = 0;
            while !target.has(&[x[0], x[1]]) {
                if steps == arrival.steps {
                    late.push(start);
                    break;
                }
                x = question.map.next(&x);
                steps += 1;
            }
        }
    }
    late
}

/// Whether a point is in a proved cell.
fn has(tree: &Tree<2>, x: [f64; 2]) -> bool {
    tree.steps(tree.find(&x)).is_some()
}

#[test]
fn a_good_law_is_proved() {
    let map = cart("-2*x - 2*v", &[]);
    let question = question(&map);
    let tree = proved(&question);
    // From the corners of the box it is left: x + 0.1·v is beyond 2.
    assert!(tree.share() > 0.8, "{}", tree.share());
    assert_eq!(late(&tree, &question), Vec::<[f64; 2]>::new());
    // The same bits on any number of threads.
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a pool");
    let alone = pool.install(|| proved(&question));
    let mut leaves = [Vec::new(), Vec::new()];
    tree.for_each_leaf(|_, cell, arrival| leaves[0].push((*cell, arrival)));
    alone.for_each_leaf(|_, cell, arrival| leaves[1].push((*cell, arrival)));
    assert_eq!(leaves[0], leaves[1]);
}

/// A second attractor at x = 1.5, a cycle, a jump, and holes: nothing is proved of what does not arrive.
#[test]
fn a_law_that_holds_states_back_is_not_proved_there() {
    // u = −k·x·(x − 1)·(x − 1.5) − 2·v: x = 0 and 1.5 attract.
    let map = cart("-2*x*(x - 1)*(x - 1.5) - 2*v", &[]);
    let two = question(&map);
    let tree = proved(&two);
    assert!(tree.share() > 0.2, "{}", tree.share());
    assert!(!has(&tree, [1.5, 0.0]) && !has(&tree, [1.4, 0.1]));
    assert_eq!(late(&tree, &two), Vec::<[f64; 2]>::new());
    // Van der Pol: what is outside of the target stays on a cycle.
    let map = cart("2*(0.5 - x^2 - v^2)*v - x", &[]);
    let cycle = question(&map);
    let tree = proved(&cycle);
    assert!(!has(&tree, [0.7, 0.0]) && !has(&tree, [0.0, 0.7]));
    assert_eq!(late(&tree, &cycle), Vec::<[f64; 2]>::new());
    // A jump: friction holds the cart where the law is weak.
    let map = cart("-2*x - 2*v - 0.9*sign(x - 0.5)", &[]);
    let jump = question(&map);
    let tree = proved(&jump);
    assert_eq!(late(&tree, &jump), Vec::<[f64; 2]>::new());
    let map = cart(
        "-2*x - 2*v + 3.2*(sign(x - 0.799) - sign(x - 0.801))*(1 - abs(v))",
        &[],
    );
    let trap = question(&map);
    let tree = proved(&trap);
    assert_eq!(late(&tree, &trap), Vec::<[f64; 2]>::new());
    // Holes: no value beyond x = 1, at x = 1, and at v = 1, though the action is brought into its range.
    for (law, hole) in [
        ("-2*x - 2*v + 0*log(1 - x)", [1.2, 0.0]),
        ("-2*x - 2*v + 1e-9*log(1 - x)", [1.2, 0.0]),
        ("-2*x - 2*v + 1e-9*sqrt(1 - x)", [1.2, 0.0]),
        ("-2*x - 2*v + 1e-9/(1 - x)", [1.0, 0.0]),
        ("-2*x - 2*v + 1e-9/(1 - v)^2", [0.0, 1.0]),
        ("-2*x - 2*v + 1e-9*(1 - x)^0.5", [1.2, 0.0]),
    ] {
        let map = cart(law, &[]);
        let holes = question(&map);
        let tree = proved(&holes);
        if !law.contains("0*log") {
            assert!(!has(&tree, hole), "{law}");
            assert_eq!(late(&tree, &holes), Vec::<[f64; 2]>::new(), "{law}");
        }
        assert!(tree.share() > 0.1, "{law}: {}", tree.share());
    }
}

/// A disturbance that can hold the cart outside of the target is not proved away; a weaker one is.
#[test]
fn a_disturbance_is_borne_or_not() {
    let law = "-2*x - 2*v";
    let weak = cart(law, &[("w", Range::symmetric(0.1))]);
    let weak = question(&weak);
    let tree = proved(&weak);
    assert!(tree.share() > 0.7, "{}", tree.share());
    // w = 1 holds it at x = 0.5.
    let strong = cart(law, &[("w", Range::symmetric(1.0))]);
    let strong = question(&strong);
    assert!(!has(&proved(&strong), [0.5, 0.0]));
}
