//! What equilibria bear: gain, delay, other parameters.

use super::worlds::{Linear, Textbook, TextbookMap};
use crate::{
    Error,
    analysis::{
        Crossing, Ending, FieldEquilibrium, FieldLoop, ParameterReach, Plant, Range, equilibria,
        equilibrium, field_delay, field_gain_margin, on, parameter_reach, settle, tolerated_delay,
    },
    policy::policy_from_text,
};

fn rest(found: &FieldLoop) -> FieldEquilibrium {
    let run = settle(found, &on).expect("a run");
    equilibrium(found, &run).expect("an equilibrium")
}

fn crossing(ending: Ending) -> Option<Crossing> {
    match ending {
        Ending::Unstable { crossing, .. } => Some(crossing),
        _ => None,
    }
}

/// 1.5 − gain is inside the circle for gains from 0.5 to 2.5.
#[test]
fn known_eigenvalues_and_gain_margins() {
    let world = Linear::new(
        vec![vec![1.5, 0.0], vec![0.0, 0.25]],
        vec![vec![1.0], vec![0.0]],
        100.0,
    );
    let found = FieldLoop::new(&world, &world.law("-y0")).expect("a loop");
    let rest = rest(&found);
    assert_eq!(rest.state, [0.0, 0.0]);
    let values: Vec<f64> = rest.eigenvalues.iter().map(|z| z.re).collect();
    assert!((values[0] - 0.5).abs() < 1e-12 && (values[1] - 0.25).abs() < 1e-12);
    let margin = field_gain_margin(&found, &rest, &on).expect("gains");
    let margin = margin.expect("a margin");
    assert!((margin.low.value - 0.5).abs() < 1e-4, "{margin:?}");
    assert!((margin.high.value - 2.5).abs() < 1e-4, "{margin:?}");
    assert_eq!(crossing(margin.low.ending), Some(Crossing::One));
    assert_eq!(crossing(margin.high.ending), Some(Crossing::MinusOne));
    let stopped = field_gain_margin(&found, &rest, &|| false);
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert!(matches!(
        field_delay(&found, &rest, &|| false),
        Err(Error::Stopped)
    ));
}

/// The same cart as a plant in closed form and as a world of rows.
#[test]
fn delays_are_those_of_plants_in_closed_form() {
    let world = Linear::new(
        vec![vec![1.0, 0.1], vec![-0.1, 0.95]],
        vec![vec![0.0], vec![0.1]],
        50.0,
    );
    let plant = Plant::builder()
        .state("y0", Range::symmetric(1.0))
        .state("y1", Range::symmetric(1.0))
        .action("a0", Range::symmetric(50.0))
        .next("y0", "y0 + 0.1*y1")
        .next("y1", "-0.1*y0 + 0.95*y1 + 0.1*a0")
        .build()
        .expect("a plant");
    for text in ["-3*y0 - 2*y1", "-0.5*y0 - 2*y1", "-8*y0 - 6*y1"] {
        let names = (plant.observation_names(), plant.action_names());
        let law = policy_from_text(text, &names.0, &names.1).expect("a law");
        let map = plant.closed(&law, 1.0).expect("a loop");
        let known = equilibria(&plant, &map, &on);
        let known = tolerated_delay(&plant, &law, &known[0]).expect("a delay");
        let found = FieldLoop::new(&world, &law).expect("a loop");
        let delay = field_delay(&found, &rest(&found), &on).expect("a delay");
        let delay = delay.expect("a stable loop");
        assert!(delay.ends, "{text}");
        assert_eq!(Some(delay.tolerated), known, "{text}");
    }
}

fn reach(map: Textbook, r: f64) -> ParameterReach {
    let world = TextbookMap { map, r };
    let found = FieldLoop::new(&world, &world.law("0*x")).expect("a loop");
    let all = parameter_reach(&found, &rest(&found), &on).expect("parameters");
    assert_eq!((all.len(), all[0].value), (1, r));
    all[0].clone()
}

#[test]
fn known_bifurcations_are_found() {
    let logistic = reach(Textbook::Logistic, 2.0);
    assert!((logistic.low.value - 1.0).abs() < 3e-4, "{logistic:?}");
    assert!((logistic.high.value - 3.0).abs() < 3e-4, "{logistic:?}");
    assert_eq!(crossing(logistic.low.ending), Some(Crossing::One));
    assert_eq!(crossing(logistic.high.ending), Some(Crossing::MinusOne));
    let delayed = reach(Textbook::DelayedLogistic, 1.5);
    assert!((delayed.high.value - 2.0).abs() < 3e-4, "{delayed:?}");
    assert_eq!(crossing(delayed.high.ending), Some(Crossing::Pair));
    let fold = reach(Textbook::Fold, 1.0);
    assert!(fold.low.value.abs() < 3e-4, "{fold:?}");
    assert_eq!(fold.low.ending, Ending::Lost);
    assert_eq!(fold.high.value, 11.0);
    assert_eq!(fold.high.ending, Ending::Searched);
    let refused = reach(Textbook::Fold, 20.0);
    assert!((refused.high.value - 50.0).abs() < 3e-3, "{refused:?}");
    assert_eq!(refused.high.ending, Ending::Refused);
}

/// With a law in its loop the logistic map flips later: x⁺ = r·x·(1 − x) − k·(x − x*).
#[test]
fn a_law_moves_the_bifurcation() {
    let world = TextbookMap {
        map: Textbook::Logistic,
        r: 2.0,
    };
    let found = FieldLoop::new(&world, &world.law("0.5*(x - 0.5)")).expect("a loop");
    let all = parameter_reach(&found, &rest(&found), &on).expect("parameters");
    // The equilibrium: r·x·(1 − x) + (x − 0.5)/2 = x; it flips where r·(1 − 2x) + 1/2 = −1.
    let end = all[0].high.value;
    let x = (end + 1.5) / (2.0 * end);
    let left = end * x * (1.0 - x) + 0.5 * (x - 0.5) - x;
    assert!(left.abs() < 1e-3, "{end} {x} {left}");
    assert!(end > 3.1, "{end}");
}
