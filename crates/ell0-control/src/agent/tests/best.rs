//! The best policy that was evaluated is kept, the penalty gives way where the return falls, and gates can open again.

use super::{
    super::{
        selection::{Candidate, Selection, Worth},
        *,
    },
    quick,
};
use crate::{environment::Environment, evaluation::evaluate, testing::Cart};

/// A policy of so many terms with these returns.
fn candidate(episode: u64, size: u64, returns: [f64; 4]) -> Candidate {
    Candidate {
        episode,
        size,
        returns: returns.to_vec(),
        parameters: vec![episode as f32],
    }
}

fn chosen(selection: &Selection, worth: Worth) -> u64 {
    selection.chosen(worth).expect("a policy").episode
}

/// What is worth more at its penalty is chosen, and the smaller one where the difference is within its standard error.
#[test]
fn the_best_at_its_penalty_is_chosen() {
    let worth = Worth::Relative(0.01);
    let mut selection = Selection::default();
    assert!(selection.chosen(worth).is_none());
    selection.offer(candidate(10, 20, [-100.0, -100.0, -100.0, -100.0]), worth);
    // A tenth more return for all of them, and half of the terms.
    selection.offer(candidate(20, 10, [-90.0, -90.0, -90.0, -90.0]), worth);
    assert_eq!(chosen(&selection, worth), 20);
    // A unit is worth 0.9: two terms fewer do not make up for 3 that everyone loses, but do where some gain.
    selection.offer(candidate(30, 8, [-93.0, -93.0, -93.0, -93.0]), worth);
    assert_eq!(chosen(&selection, worth), 20);
    selection.offer(candidate(40, 8, [-99.0, -87.0, -97.0, -88.0]), worth);
    assert_eq!(chosen(&selection, worth), 40);
    // A collapse is never chosen, however small it is; only the best are remembered.
    selection.offer(candidate(50, 1, [-200.0, -190.0, -210.0, -180.0]), worth);
    assert_eq!(chosen(&selection, worth), 40);
    assert_eq!(selection.candidates.len(), 3);
    assert_eq!(selection.runners_up(worth).len(), 2);
}

/// While the return is far behind the best, the penalty falls from evaluation to evaluation; when it is back, it rises to what it was.
#[test]
fn the_penalty_gives_way_and_comes_back() {
    let worth = Worth::Relative(0.01);
    let mut selection = Selection::default();
    let mut offer = |episode, mean: f64| {
        selection.offer(candidate(episode, 5, [mean; 4]), worth);
        (selection.easing, selection.behind)
    };
    assert_eq!(offer(10, 90.0), (1.0, false));
    assert_eq!(
        offer(20, 85.0),
        (1.0, false),
        "it goes up and down by itself"
    );
    let (once, _) = offer(30, -99.0);
    let (twice, behind) = offer(40, 20.0);
    assert!(behind && once < 0.5 && twice < 0.5 * once);
    let mut easing = twice;
    while easing < 1.0 {
        let (next, behind) = offer(50, 89.0);
        assert!(!behind && next > easing);
        easing = next;
    }
    assert_eq!(easing, 1.0);
    assert_eq!(chosen(&selection, worth), 10);
}

/// Training has to show for itself what was measured, not what came after it.
#[test]
fn training_shows_its_best_policy() {
    let cart = Cart::new();
    let mut training =
        Training::new(quick("polynomial(2)"), Box::new(cart.clone())).expect("a training");
    let mut seen = Vec::new();
    while !training.is_over() {
        training.episode().expect("finite");
        assert!(!training.is_evaluated());
        let mean = training.evaluate().expect("a return");
        assert!(training.is_evaluated());
        seen.push((mean, training.actor()));
    }
    let shown = training.policy();
    let of = seen.iter().find(|(_, actor)| *actor == shown);
    let (mean, _) = of.expect("one of those that were evaluated");
    let best = seen.iter().map(|s| s.0).fold(f64::NEG_INFINITY, f64::max);
    // The penalty of a few terms at 0.001 each, and a standard error.
    assert!(*mean >= best - 0.3 * best.abs() - 1.0, "{mean} {best}");
    let steps = training.environment_steps();
    assert_eq!(
        (steps.evaluation, steps.pruning, steps.tuning),
        (steps.evaluation, 0, 0)
    );
    let starts = cart.evaluation_starts();
    assert!(evaluate(&cart, &shown, &starts).expect("a return").steps > 0);
    // Without it, the last one counts, and it is compared where finished policies are.
    let config = TrainConfig {
        keep_best: false,
        ease_lambda: false,
        ..quick("polynomial(2)")
    };
    let mut plain = Training::new(config, Box::new(cart.clone())).expect("a training");
    plain.episode().expect("finite");
    let mean = plain.evaluate().expect("a return");
    plain.episode().expect("finite");
    assert_eq!(plain.policy(), plain.actor());
    let first = plain.history()[0].evaluation_return;
    assert_eq!(first, Some(mean));
}

/// However dear they are, gates stay where they can open again; at test time they are shut, exactly.
#[test]
fn gates_have_a_floor_and_are_shut_there() {
    let closing = |floor: f64| {
        let mut config = TrainConfig {
            lambda: 1e6,
            lambda_from: 0,
            lambda_full: 0,
            updates: 60,
            ..quick("polynomial(2)")
        };
        let AlgorithmConfig::Td3(td3) = &mut config.agent;
        (td3.gate_rate, td3.gate_floor) = (Some(0.3), floor);
        let mut training = Training::new(config, Box::new(Cart::new())).expect("a training");
        while !training.is_over() {
            training.episode().expect("finite");
        }
        let actor = training.actor();
        assert_eq!(actor.terms(), Some(0));
        let open = actor.prob_active().expect("gates");
        open.into_iter().fold(1.0, f32::min)
    };
    assert!((closing(0.01) - 0.01).abs() < 1e-6);
    assert!(closing(0.0) < 1e-3);
    let config = TrainConfig {
        agent: AlgorithmConfig::Td3(Td3Config {
            gate_floor: 0.5,
            ..Td3Config::default()
        }),
        ..quick("polynomial(2)")
    };
    let error = Training::new(config, Box::new(Cart::new()))
        .err()
        .expect("refused");
    assert!(error.to_string().contains("gate_floor = 0.5"), "{error}");
}
