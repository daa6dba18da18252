//! The update against reference values and finite differences.

use ell0::{
    features::Library,
    network::{Draw, NoisePer},
    rng::Stream,
};
use serde_json::Value;

use super::super::*;
use crate::{
    environment::{Space, make},
    replay::Batch,
};

fn flat(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Array(list) => list.iter().for_each(|v| flat(v, out)),
        v => out.push(v.as_f64().expect("a number")),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    flat(value, &mut out);
    out
}

/// Row-major to column-major, in single precision.
fn columns(value: &Value) -> Vec<f32> {
    let rows = value.as_array().expect("rows").len();
    let values = numbers(value);
    let width = values.len() / rows;
    (0..width)
        .flat_map(|c| (0..rows).map(move |r| (r, c)))
        .map(|(r, c)| values[r * width + c] as f32)
        .collect()
}

fn close(got: &[f32], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let size = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    for (g, w) in got.iter().zip(want) {
        assert!(
            (f64::from(*g) - w).abs() <= 1e-5 * size.max(1e-3),
            "{what}: {g} {w}"
        );
    }
}

#[test]
fn golden_td3_update() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/golden/td3_update.json"
    );
    let text = std::fs::read_to_string(path).expect("readable");
    let case: Value = serde_json::from_str(&text).expect("JSON");
    let rows = case["obs"].as_array().expect("rows").len();
    let hidden: Vec<usize> = [0, 2]
        .map(|layer| case["actor"][layer][0].as_array().expect("a row").len())
        .to_vec();
    let max = case["amax"].as_f64().expect("a number");
    let observation = Space::symmetric(&[("a", 1.0), ("b", 1.0), ("c", 1.0)]);
    let action = Space::symmetric(&[("u", max)]);
    let stream = Stream::new(0);
    let actor = Actor::new(
        &ActorKind::Network(hidden.clone()),
        &observation,
        &action,
        &stream,
    )
    .expect("an actor");
    let config = Td3Config {
        discount: case["discount"].as_f64().expect("a number"),
        tau: case["tau"].as_f64().expect("a number"),
        policy_delay: 1,
        batch: rows,
        critic_hidden: hidden,
        ..Td3Config::default()
    };
    let mut agent = Td3::new(config, actor, &stream).expect("an agent");
    let set = |room: &mut [f32], name: &str| {
        let values = numbers(&case[name]);
        assert_eq!(room.len(), values.len(), "{name}");
        room.iter_mut().zip(values).for_each(|(r, v)| *r = v as f32);
    };
    let (policy, target) = agent.policy_parameters_mut();
    set(policy, "actor");
    set(target, "target_actor");
    for ((now, target), k) in agent.critic_parameters_mut().into_iter().zip(1..) {
        set(now, &format!("q{k}"));
        set(target, &format!("target_q{k}"));
    }
    let batch = Batch {
        rows,
        observation: columns(&case["obs"]),
        action: columns(&case["act"]),
        reward: columns(&case["reward"]),
        next_observation: columns(&case["next_obs"]),
        terminated: numbers(&case["terminated"])
            .iter()
            .map(|t| *t == 1.0)
            .collect(),
        truncated: vec![true; rows],
    };
    agent.draw(&mut stream.at(0));
    agent.noise_mut().smoothing = columns(&case["eps"]);
    let record = agent.update(&batch, &Price::default()).expect("finite");
    let expected = &case["expected"];
    let near = |got: f64, name: &str| {
        let want = expected[name].as_f64().expect("a number");
        assert!(
            (got - want).abs() <= 1e-5 * want.abs(),
            "{name}: {got} {want}"
        );
    };
    near(record.critic_loss, "critic_loss");
    near(
        record.actor_loss.expect("an update of the policy"),
        "actor_loss",
    );
    close(
        agent.policy_gradient(),
        &numbers(&expected["grad_actor"]),
        "grad_actor",
    );
    let check = |got: &[f32], name: &str| close(got, &numbers(&expected[name]), name);
    let (policy, target) = agent.policy_parameters_mut();
    check(policy, "actor");
    check(target, "target_actor");
    for ((now, target), k) in agent.critic_parameters_mut().into_iter().zip(1..) {
        check(now, &format!("q{k}"));
        check(target, &format!("target_q{k}"));
    }
}

/// The gradient of −mean Q(s, π(s)) + penalty by the coefficients and gates of a dictionary, against central differences of an independent double-precision computation.
#[test]
fn the_gradient_reaches_coefficients_and_gates() {
    let environment = make("pendulum").expect("an environment");
    let (observation, action) = (environment.observation_space(), environment.action_space());
    for noise_per in [NoisePer::Batch, NoisePer::Row] {
        let stream = Stream::new(5);
        let library: Library = "polynomial(2)".parse().expect("a library");
        let kind = ActorKind::Dictionary {
            library: library.clone(),
            noise: noise_per,
            scaled: true,
            tied: false,
            gated: true,
        };
        let mut actor = Actor::new(&kind, observation, action, &stream).expect("an actor");
        let mut rng = stream.at(9);
        actor
            .parameters_mut()
            .iter_mut()
            .for_each(|p| *p = (0.7 * rng.normal()) as f32);
        let rows = 5;
        let x: Vec<f32> = (0..rows * 3).map(|_| rng.normal() as f32).collect();
        let d_action: Vec<f32> = (0..rows).map(|_| rng.normal() as f32).collect();
        let architecture = actor.architecture().clone();
        let mut shared = vec![0.0; architecture.shared_noise_len()];
        let mut by_row = vec![0.0; architecture.row_noise_len(rows)];
        rng.fill_uniform(&mut shared);
        rng.fill_uniform(&mut by_row);
        let draw = Draw::Sampled(ell0::network::Noise {
            shared: &shared,
            rows: &by_row,
        });
        let mut pass = ActorPass::new(&actor, rows);
        let parameters = actor.parameters().to_vec();
        let actions = pass
            .forward(&parameters, &x, rows, draw)
            .expect("finite")
            .to_vec();
        let mut gradient = vec![0.0; parameters.len()];
        pass.backward(&parameters, &d_action, &mut gradient)
            .expect("finite");

        let (features, scales) = (actor.features().expect("a dictionary"), actor.scales());
        let gate = ell0::gates::HardConcrete::default();
        let p = features.len();
        // Σ d·a, with a = 2·tanh(Σ z w φ), in double precision from the formulas.
        let value = |parameters: &[f64]| -> f64 {
            (0..rows)
                .map(|row| {
                    let scaled: Vec<f64> = (0..3)
                        .map(|k| f64::from(x[k * rows + row]) / scales[k])
                        .collect();
                    let phi = features.evaluate(&scaled).expect("finite");
                    let inside: f64 = (0..p)
                        .map(|j| {
                            let u = if noise_per == NoisePer::Batch {
                                shared[j]
                            } else {
                                by_row[j * rows + row]
                            };
                            let log_alpha = parameters[p + j];
                            let u = f64::from(u);
                            let s = 1.0
                                / (1.0 + (-((u / (1.0 - u)).ln() + log_alpha) / gate.beta()).exp());
                            let z = (s * 1.2 - 0.1).clamp(0.0, 1.0);
                            z * parameters[j] * phi[j]
                        })
                        .sum();
                    f64::from(d_action[row]) * 2.0 * inside.tanh()
                })
                .sum()
        };
        let at: Vec<f64> = parameters.iter().map(|p| f64::from(*p)).collect();
        let direct: f64 = actions
            .iter()
            .zip(&d_action)
            .map(|(a, d)| f64::from(a * d))
            .sum();
        assert!((direct - value(&at)).abs() < 1e-5 * direct.abs().max(1.0));
        for k in 0..at.len() {
            let shifted = |h: f64| {
                let mut moved = at.clone();
                moved[k] += h;
                value(&moved)
            };
            let h = 1e-5;
            let want = (shifted(h) - shifted(-h)) / (2.0 * h);
            assert!(
                (f64::from(gradient[k]) - want).abs() < 1e-5 * want.abs().max(1.0),
                "{noise_per:?} {k}: {} {want}",
                gradient[k]
            );
        }
    }
}

/// DDPG is TD3 with one critic, a policy that is updated every time, and targets without noise.
#[test]
fn ddpg_is_td3_with_its_switches_set() {
    let environment = make("pendulum").expect("an environment");
    let (observation, action) = (environment.observation_space(), environment.action_space());
    let stream = Stream::new(3);
    let kind = "network(8)".parse().expect("a policy");
    let actor = Actor::new(&kind, observation, action, &stream).expect("an actor");
    let rows = 4;
    let config = Td3Config {
        batch: rows,
        critic_hidden: vec![8],
        tau: 1.0,
        ..Td3Config::ddpg()
    };
    let mut agent = Td3::new(config, actor, &stream).expect("an agent");
    assert_eq!(agent.critic_parameters_mut().len(), 1);
    let mut rng = stream.at(1);
    let mut random = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.normal() as f32).collect() };
    let batch = Batch {
        rows,
        observation: random(rows * 3),
        action: random(rows),
        reward: random(rows),
        next_observation: random(rows * 3),
        terminated: vec![false, true, false, false],
        truncated: vec![true, false, false, false],
    };
    let (mut one, mut other) = (agent.clone(), agent);
    for update in 1..=2 {
        let before = one.actor().parameters().to_vec();
        one.draw(&mut stream.at(2));
        other.draw(&mut stream.at(3));
        let record = one.update(&batch, &Price::default()).expect("finite");
        let same = other.update(&batch, &Price::default()).expect("finite");
        // The noise that smooths the targets of TD3 does nothing here.
        assert_eq!(record, same);
        assert!(record.actor_loss.is_some(), "update {update}");
        assert_ne!(before, one.actor().parameters());
    }
    // With τ = 1 the target is the policy itself.
    let (now, target) = one.policy_parameters_mut();
    assert_eq!(now, target);
    // A reward that is not finite is found before anything is learned from it.
    let mut bad = batch;
    bad.reward[2] = f32::NAN;
    let before = one.actor().parameters().to_vec();
    let critic = one.critic_parameters_mut()[0].0.to_vec();
    assert!(one.update(&bad, &Price::default()).is_err());
    assert_eq!(before, one.actor().parameters());
    assert_eq!(critic, one.critic_parameters_mut()[0].0);
}

/// The bootstrap is cut where an episode ended, and only there.
#[test]
fn nothing_comes_after_an_end() {
    let environment = make("pendulum").expect("an environment");
    let (observation, action) = (environment.observation_space(), environment.action_space());
    let stream = Stream::new(4);
    let rows = 3;
    let config = Td3Config {
        batch: rows,
        critic_hidden: vec![8],
        ..Td3Config::default()
    };
    let kind = "network(8)".parse().expect("a policy");
    let actor = Actor::new(&kind, observation, action, &stream).expect("an actor");
    let mut agent = Td3::new(config, actor, &stream).expect("an agent");
    agent.draw(&mut stream.at(0));
    let mut rng = stream.at(1);
    let mut random = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.normal() as f32).collect() };
    let batch = Batch {
        rows,
        observation: random(rows * 3),
        action: random(rows),
        reward: random(rows),
        next_observation: random(rows * 3),
        terminated: vec![false, true, false],
        truncated: vec![false, false, true],
    };
    let loss = |row: usize| {
        let mut changed = batch.clone();
        for k in 0..3 {
            changed.next_observation[k * rows + row] += 1.0;
        }
        let record = agent.clone().update(&changed, &Price::default());
        record.expect("finite").critic_loss
    };
    let same = agent.clone().update(&batch, &Price::default());
    let same = same.expect("finite").critic_loss;
    assert_eq!([0, 1, 2].map(|row| loss(row) == same), [false, true, false]);
    // A batch of other sizes is refused.
    for change in [
        |b: &mut Batch| b.rows = 2,
        |b: &mut Batch| b.action.truncate(2),
        |b: &mut Batch| b.reward.truncate(2),
        |b: &mut Batch| b.terminated.clear(),
        |b: &mut Batch| b.next_observation.truncate(1),
    ] {
        let mut wrong = batch.clone();
        change(&mut wrong);
        assert!(agent.clone().update(&wrong, &Price::default()).is_err());
    }
}
