//! Laws that all actions share, worlds side by side, prices of coefficients, prices of each action.

use ell0::{network::Draw, rng::Stream};

use super::{super::*, quick};
use crate::{
    Error,
    environment::{Environment, Tied, make},
    policy::{LawPolicy, Policy},
    testing::Cart,
};

fn ring() -> Box<dyn Environment> {
    make("ks(warmup=3, limit=4, points=32)").expect("a world")
}

fn random(policy: &str, world: &dyn Environment, seed: u64) -> Actor {
    let kind = policy.parse().expect("a policy");
    let stream = Stream::new(seed);
    let mut actor = Actor::in_world(&kind, world, &stream).expect("an actor");
    let mut rng = stream.at(1);
    let parameters = actor.parameters_mut().iter_mut();
    parameters.for_each(|p| *p = (0.5 * rng.normal()) as f32);
    actor
}

fn chosen(policy: &dyn Policy, seen: &[f32], rows: usize) -> Vec<f64> {
    let mut actions = vec![0.0; rows * 8];
    let mut rng: Vec<_> = (0..rows as u64).map(|k| Stream::new(0).at(k)).collect();
    let mut act = policy.start(rows).expect("a policy at work");
    act.act(seen, rows, &mut rng, &mut actions)
        .expect("actions");
    actions
}

fn seen(rows: usize) -> Vec<f32> {
    let mut rng = Stream::new(8).at(0);
    (0..rows * 9).map(|_| rng.normal() as f32).collect()
}

/// What acts, what is written down for each action, and what is written down once, all agree; so does the file.
#[test]
fn a_shared_law_is_the_same_law_everywhere() {
    let world = ring();
    let actor = random("tied(polynomial(2))", world.as_ref(), 3);
    assert_eq!(actor.laws(), 1);
    assert_eq!(actor.features().map(|f| f.len()), Some(55));
    let rows = 5;
    let seen = seen(rows);
    let acted = chosen(&actor, &seen, rows);
    let model = actor.model().expect("finite").expect("a dictionary");
    let (observation, action) = (world.observation_space(), world.action_space());
    let law = LawPolicy::new(&model, observation, action).expect("a policy");
    let shared = actor.shared_law().expect("finite").expect("a shared law");
    let shared = shared.expressions().next().expect("one").evaluator();
    let tied = world.tied().expect("a ring");
    for (k, (a, b)) in acted.iter().zip(chosen(&law, &seen, rows)).enumerate() {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
        let (action, row) = (k / rows, k % rows);
        let inputs: Vec<f64> = tied.inputs[action]
            .iter()
            .map(|(place, weight)| weight * f64::from(seen[place * rows + row]))
            .collect();
        let mut once = [0.0];
        let mut shared = shared.clone();
        shared
            .evaluate_into(&inputs, 1, &mut once)
            .expect("a value");
        assert!((a - once[0]).abs() < 1e-5);
    }
    let bytes = actor.to_bytes().expect("a file");
    assert_eq!(
        Actor::from_bytes(&bytes, "policy").expect("a policy"),
        actor
    );
    // A quarter turn of what is seen turns what is done, where no force is known.
    let mut turned = vec![0f32; seen.len()];
    for k in 0..8 {
        let to = (k + 2) % 8;
        turned[to * rows..][..rows].copy_from_slice(&seen[k * rows..][..rows]);
    }
    let mut still = seen.clone();
    still[8 * rows..].fill(0.0);
    let (a, b) = (chosen(&actor, &still, rows), chosen(&actor, &turned, rows));
    for k in 0..8 {
        assert_eq!(a[k * rows..][..rows], b[((k + 2) % 8) * rows..][..rows]);
    }
}

/// The gradient of a shared law is the sum of those of eight laws with the same coefficients.
#[test]
fn the_gradient_of_a_shared_law_is_the_sum_of_all() {
    let world = ring();
    let tied = world.tied().expect("a ring");
    let shared = random("tied(polynomial(1))", world.as_ref(), 4);
    let single = random("polynomial(1)", world.as_ref(), 4);
    let coefficients = shared.scaled_coefficients().expect("a dictionary");
    let (shared, p) = (
        shared.with_coefficients(&coefficients).expect("a policy"),
        10,
    );
    let mut all = vec![0.0; 8 * p];
    for (i, inputs) in tied.inputs.iter().enumerate() {
        all[i * p] = coefficients[0];
        for (k, (place, weight)) in inputs.iter().enumerate() {
            all[i * p + 1 + place] = weight * coefficients[1 + k];
        }
    }
    let single = single.with_coefficients(&all).expect("a policy");
    let rows = 6;
    let (seen, mut rng) = (seen(rows), Stream::new(9).at(0));
    let d_action: Vec<f32> = (0..rows * 8).map(|_| rng.normal() as f32).collect();
    let gradient = |actor: &Actor| {
        let mut pass = ActorPass::new(actor, rows);
        let mut gradient = vec![0.0; actor.parameters().len()];
        let parameters = actor.parameters();
        pass.forward(parameters, &seen, rows, Draw::TestTime)
            .expect("finite");
        pass.backward(parameters, &d_action, &mut gradient)
            .expect("finite");
        gradient
    };
    let (one, each) = (gradient(&shared), gradient(&single));
    for k in 0..p {
        let sum: f64 = (0..8)
            .map(|i| match k.checked_sub(1) {
                None => f64::from(each[i]),
                Some(k) => {
                    let (place, weight) = tied.inputs[i][k];
                    weight * f64::from(each[(1 + place) * 8 + i])
                }
            })
            .sum();
        assert!(
            (sum - f64::from(one[k])).abs() < 1e-4 * sum.abs().max(1.0),
            "{k}: {sum} {}",
            one[k]
        );
    }
}

#[test]
fn a_shared_law_needs_actions_that_are_alike() {
    let kind: ActorKind = "tied(polynomial(1))".parse().expect("a policy");
    assert_eq!(kind.to_string(), "tied(polynomial(1))");
    let cart = Cart::new();
    let refused = Actor::in_world(&kind, &cart, &Stream::new(0));
    assert!(matches!(refused, Err(Error::NotTied)));
    let (seen, actions) = (cart.observation_space(), cart.action_space());
    let odd = Tied {
        names: vec!["x".into()],
        inputs: vec![vec![(0, 1.0)]; actions.len()],
    };
    // The two actions of the cart have ranges of their own.
    let refused = Actor::build(&kind, seen, actions, Some(odd), &Stream::new(0));
    assert!(matches!(refused, Err(Error::Space { .. })));
}

/// Several worlds give several episodes at a time, and an interrupted run goes on to the same bits.
#[test]
fn worlds_side_by_side_are_resumed_to_the_same_bits() {
    let config = TrainConfig {
        worlds: 3,
        terms: Some(2),
        ..quick("tied(polynomial(2))")
    };
    let begin = || Training::new(config.clone(), ring()).expect("a training");
    let mut whole = begin();
    let folder = tempfile::tempdir().expect("a folder");
    let stem = folder.path().join("run");
    let mut first = begin();
    let mut saver = Saver::create(&stem, &first).expect("a saver");
    for _ in 0..7 {
        whole.episode().expect("an episode");
        first.episode().expect("an episode");
    }
    saver.save(&first).expect("saved");
    let (mut again, _) = Training::resume(&stem, config.clone(), ring()).expect("resumed");
    for _ in 7..10 {
        assert_eq!(
            whole.episode().expect("an episode"),
            again.episode().expect("an episode")
        );
    }
    assert_eq!(whole.actor(), again.actor());
    let last = whole.history().last().expect("an episode");
    assert_eq!(last.env_steps, 10 * 3 * 4);
    let stored = Actor::of_training(folder.path().join("run.safetensors")).expect("a policy");
    assert_eq!(stored, first.actor());
    let none = TrainConfig {
        worlds: 0,
        ..config.clone()
    };
    assert!(Training::new(none, ring()).is_err());
}

/// What is paid for the size of coefficients makes them small, without any gate.
#[test]
fn coefficients_that_cost_become_small() {
    let size = |lambda: f64| {
        let config = TrainConfig {
            penalty: PenaltyKind::L1,
            lambda,
            relative_lambda: false,
            lambda_from: 0,
            lambda_full: 1,
            updates: 200,
            ..quick("polynomial(1)")
        };
        let mut training = Training::new(config, ring()).expect("a training");
        while !training.is_over() {
            training.episode().expect("an episode");
        }
        let actor = training.actor();
        assert!(actor.prob_active().is_none());
        let coefficients = actor.scaled_coefficients().expect("a dictionary");
        coefficients.iter().map(|c| c.abs()).sum::<f64>()
    };
    let (free, dear) = (size(0.0), size(100.0));
    assert!(dear < 0.2 * free, "{dear} {free}");
}

/// Each action is steered by its own number of terms: a price that is five times higher for one closes its gates first.
#[test]
fn each_law_pays_its_own_price() {
    use ell0::gates::Penalty;
    let world = ring();
    let stream = Stream::new(2);
    let actor = random("polynomial(1)", world.as_ref(), 6);
    let mut agent = Td3::new(
        Td3Config {
            critic_hidden: vec![8],
            batch: 4,
            policy_delay: 1,
            ..Td3Config::default()
        },
        actor.clone(),
        &stream,
    )
    .expect("an agent");
    let batch = crate::replay::Batch {
        rows: 4,
        observation: seen(4),
        action: vec![0.1; 32],
        reward: vec![0.0; 4],
        next_observation: seen(4),
        terminated: vec![false; 4],
        truncated: vec![false; 4],
    };
    let gradient = |agent: &mut Td3, price: &Price| {
        let mut copy = agent.clone();
        copy.draw(&mut stream.at(0));
        copy.update(&batch, price).expect("finite");
        copy.policy_gradient().to_vec()
    };
    let none = gradient(&mut agent, &Price::default());
    let penalty = Penalty::expected_l0(0.1).expect("a price");
    let same = gradient(&mut agent, &penalty.into());
    let mut factors = vec![1.0; 8];
    factors[3] = 5.0;
    let dear = gradient(&mut agent, &Price { penalty, factors });
    for k in 0..none.len() {
        let factor = if k % 8 == 3 { 5.0 } else { 1.0 };
        let expected = none[k] + factor * (same[k] - none[k]);
        assert!((dear[k] - expected).abs() < 1e-5, "{k}");
    }
    let wrong = Price {
        penalty,
        factors: vec![1.0; 3],
    };
    agent.draw(&mut stream.at(0));
    assert!(agent.update(&batch, &wrong).is_err());
}
