//! What pruning and tuning promise.

use ell0::rng::Stream;

use super::super::*;
use crate::{
    analysis::on,
    environment::{Environment, Start, make},
    evaluation::evaluate,
};

/// A policy that swings up, with terms that matter and terms that hardly do.
fn policy(world: &dyn Environment) -> Actor {
    let kind = "polynomial(2)".parse().expect("a policy");
    let (seen, chosen) = (world.observation_space(), world.action_space());
    let actor = Actor::new(&kind, seen, chosen, &Stream::new(0)).expect("an actor");
    let names = actor.term_names().expect("a dictionary");
    let coefficients: Vec<f64> = names
        .iter()
        .map(|name| match name.term.as_str() {
            "sin_theta" => -4.66,
            "theta_dot" => -4.0,
            "cos_theta theta_dot" => -30.0,
            "cos_theta sin_theta" => -12.0,
            "cos_theta" => 0.01,
            "theta_dot^2" => -0.02,
            "1" => 0.5,
            _ => 0.0,
        })
        .collect();
    let actor = actor.with_coefficients(&coefficients).expect("a policy");
    assert_eq!(actor.terms(), Some(7), "{names:?}");
    actor
}

/// On its own starts the return does not fall beyond the tolerance, and what is dropped was small.
#[test]
fn pruning_keeps_its_promise() {
    let world = make("pendulum(g=9.81, limit=100)").expect("a world");
    let actor = policy(world.as_ref());
    let stream = Stream::new(3).split("refine");
    let worth = |actor: &Actor| {
        let starts = Start::drawn(&stream, 60);
        evaluate(world.as_ref(), actor, &starts)
            .expect("a return")
            .mean
    };
    let before = worth(&actor);
    let mut dropped = Vec::new();
    for tolerance in [0.0, 0.02, 0.5] {
        let config = PruneConfig {
            threshold: 0.1,
            tolerance,
            starts: 60,
            most: None,
        };
        let pruned = prune(&actor, world.as_ref(), &config, &stream, &on).expect("pruned");
        // Each of the terms that went may have cost the tolerance.
        let terms = actor.terms().unwrap_or(0) - pruned.actor.terms().unwrap_or(0);
        let allowed = before.abs() * ((1.0 + tolerance).powi(terms as i32) - 1.0);
        assert!(
            worth(&pruned.actor) >= before - allowed - 1e-9,
            "{tolerance}"
        );
        let (old, new) = (
            actor.scaled_coefficients(),
            pruned.actor.scaled_coefficients(),
        );
        let (old, new) = (old.expect("a dictionary"), new.expect("a dictionary"));
        for (old, new) in old.iter().zip(&new) {
            assert!(*new == 0.0 && old.abs() <= 0.1 * 30.0 || (old - new).abs() < 1e-6 * old.abs());
        }
        // One measurement before, and one for each of the three small terms.
        assert_eq!(pruned.steps.total(), 4 * 60 * 100);
        dropped.push(terms);
    }
    assert!(dropped.is_sorted() && dropped[2] >= 1, "{dropped:?}");
    let bad = PruneConfig {
        tolerance: f64::NAN,
        ..PruneConfig::default()
    };
    assert!(prune(&actor, world.as_ref(), &bad, &stream, &on).is_err());
}

/// Never worse than before on its own starts; zero stays zero; the same again with the same stream.
#[test]
fn tuning_does_not_make_worse() {
    let world = make("pendulum(g=9.81, limit=100)").expect("a world");
    let actor = policy(world.as_ref());
    let stream = Stream::new(3).split("refine");
    let config = FineTuneConfig {
        generations: 4,
        starts: 30,
    };
    let tuned = fine_tune(&actor, world.as_ref(), &config, &stream, &on).expect("tuned");
    let starts = Start::drawn(&stream.split("starts"), 30);
    let worth = |actor: &Actor| {
        evaluate(world.as_ref(), actor, &starts)
            .expect("a return")
            .mean
    };
    assert!(worth(&tuned.actor) > worth(&actor));
    assert_eq!(tuned.actor.terms(), actor.terms());
    assert_eq!(tuned.steps.tuning, (1 + 4 * (2 * 7 + 8)) * 30 * 100);
    let again = fine_tune(&actor, world.as_ref(), &config, &stream, &on).expect("tuned");
    assert_eq!(again.actor, tuned.actor);
    let none = FineTuneConfig {
        generations: 0,
        ..config
    };
    let same = fine_tune(&actor, world.as_ref(), &none, &stream, &on)
        .expect("tuned")
        .actor;
    assert_eq!(same.scaled_coefficients(), actor.scaled_coefficients());
    // A network has no terms: it is left as it is, and nothing is spent.
    let kind = "network(4)".parse().expect("a policy");
    let network = Actor::new(
        &kind,
        world.observation_space(),
        world.action_space(),
        &stream,
    )
    .expect("an actor");
    let same = fine_tune(&network, world.as_ref(), &none, &stream, &on).expect("untouched");
    assert_eq!((same.actor, same.steps.total()), (network, 0));
}

/// A law that is to have fewer terms keeps those that matter most.
#[test]
fn a_law_is_brought_to_its_number_of_terms() {
    let world = make("pendulum(g=9.81, limit=100)").expect("a world");
    let actor = policy(world.as_ref());
    let config = PruneConfig {
        starts: 40,
        most: Some(4),
        threshold: 0.0,
        ..PruneConfig::default()
    };
    let pruned = prune(&actor, world.as_ref(), &config, &Stream::new(3), &on).expect("pruned");
    assert_eq!(pruned.actor.terms_of_laws(), Some(vec![4]));
    let names = actor.term_names().expect("a dictionary");
    let kept = pruned.actor.scaled_coefficients().expect("a dictionary");
    let kept: Vec<&str> = names
        .iter()
        .zip(&kept)
        .filter(|(_, c)| **c != 0.0)
        .map(|(n, _)| n.term.as_str())
        .collect();
    // The two that are hardly there go first.
    assert!(
        !kept.contains(&"cos_theta") && !kept.contains(&"theta_dot^2"),
        "{kept:?}"
    );
}

/// A law with the wrong term gets the right one for it, and no more terms.
#[test]
fn a_term_that_serves_badly_is_exchanged() {
    let world = make("heat(kappa=0.01, limit=20)").expect("a world");
    let kind = "tied(polynomial(1))".parse().expect("a policy");
    let actor = Actor::in_world(&kind, world.as_ref(), &Stream::new(0)).expect("an actor");
    let names = actor.term_names().expect("a dictionary");
    let at = |term: &str| names.iter().position(|n| n.term == term).expect("a term");
    let mut coefficients = vec![0.0; names.len()];
    coefficients[at("left3")] = -1.0;
    let bad = actor.with_coefficients(&coefficients).expect("a policy");
    let config = ExchangeConfig {
        rounds: 1,
        tried: 2,
        generations: 4,
        starts: 20,
        ..ExchangeConfig::default()
    };
    let stream = Stream::new(5);
    let better = exchange(&bad, world.as_ref(), &config, &stream, &on).expect("exchanged");
    let kept = better.actor.scaled_coefficients().expect("a dictionary");
    assert_eq!(better.actor.terms(), Some(1));
    // The sensor at the actuator's own place.
    assert!(kept[at("here")] < 0.0);
    let starts = world.training_starts(&stream.split("starts"), 20);
    let worth = |a: &Actor| evaluate(world.as_ref(), a, &starts).expect("a return").mean;
    assert!(worth(&better.actor) > worth(&bad));
    let same = exchange(&bad, world.as_ref(), &config, &stream, &on).expect("exchanged");
    assert_eq!(same.actor, better.actor);
    // With room for one more, it gains one, if that is worth something.
    let two = ExchangeConfig {
        most: Some(2),
        ..config
    };
    let more = exchange(&bad, world.as_ref(), &two, &stream, &on).expect("exchanged");
    assert_eq!(more.actor.terms(), Some(2));
    assert!(worth(&more.actor) > worth(&bad));
}

/// A product of many factors gives way to fewer of them where that costs little, and stays where it is needed.
#[test]
fn a_simpler_term_takes_the_place_of_a_product() {
    let world = make("heat(kappa=0.01, limit=20)").expect("a world");
    let kind = "tied(polynomial(3))".parse().expect("a policy");
    let actor = Actor::in_world(&kind, world.as_ref(), &Stream::new(0)).expect("an actor");
    let names = actor.term_names().expect("a dictionary");
    let at = |term: &str| names.iter().position(|n| n.term == term).expect("a term");
    let mut coefficients = vec![0.0; names.len()];
    coefficients[at("here^3")] = -1.0;
    let cubic = actor.with_coefficients(&coefficients).expect("a policy");
    let config = SimplifyConfig {
        generations: 4,
        starts: 20,
        ..SimplifyConfig::default()
    };
    let stream = Stream::new(5);
    let plain = simplify(&cubic, world.as_ref(), &config, &stream, &on).expect("simplified");
    let kept = plain.actor.scaled_coefficients().expect("a dictionary");
    assert_eq!(plain.actor.terms(), Some(1));
    assert!(kept[at("here")] < 0.0, "{kept:?}");
    let starts = world.training_starts(&stream.split("starts"), 20);
    let worth = |a: &Actor| evaluate(world.as_ref(), a, &starts).expect("a return").mean;
    assert!(worth(&plain.actor) >= 1.02 * worth(&cubic));
    let again = simplify(&cubic, world.as_ref(), &config, &stream, &on).expect("simplified");
    assert_eq!(again.actor, plain.actor);

    // The torque of a swing-up must change its sign at the top: neither factor alone will do.
    let world = make("pendulum(g=9.81, limit=100)").expect("a world");
    let actor = policy(world.as_ref());
    let kept = simplify(&actor, world.as_ref(), &config, &stream, &on).expect("simplified");
    let names = actor.term_names().expect("a dictionary");
    let at = names.iter().position(|n| n.term == "cos_theta theta_dot");
    let coefficients = kept.actor.scaled_coefficients().expect("a dictionary");
    assert!(coefficients[at.expect("a term")] < 0.0);
    let bad = SimplifyConfig {
        tolerance: -0.1,
        ..config
    };
    assert!(simplify(&actor, world.as_ref(), &bad, &stream, &on).is_err());
}

/// Who asks it to stop gets the best so far, soon.
#[test]
fn refinement_can_be_stopped() {
    use std::sync::atomic::{AtomicU32, Ordering};
    let world = make("pendulum(g=9.81, limit=50)").expect("a world");
    let actor = policy(world.as_ref());
    let stream = Stream::new(1);
    let beats = AtomicU32::new(0);
    let stop = || beats.fetch_add(1, Ordering::Relaxed) < 2;
    let endless = FineTuneConfig {
        generations: usize::MAX,
        starts: 5,
    };
    let tuned = fine_tune(&actor, world.as_ref(), &endless, &stream, &stop).expect("tuned");
    assert_eq!(tuned.actor.terms(), actor.terms());
    beats.store(0, Ordering::Relaxed);
    let endless = ExchangeConfig {
        rounds: usize::MAX,
        starts: 5,
        ..ExchangeConfig::default()
    };
    let same = exchange(&actor, world.as_ref(), &endless, &stream, &stop).expect("exchanged");
    assert_eq!(same.actor, actor);
}
