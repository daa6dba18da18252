//! Policies: their heads, their closed form, their file.

use ell0::{
    equation::{Expression, Model},
    features::Factor,
    network::{Draw, NoisePer},
    rng::Stream,
};
use proptest::prelude::*;

use super::super::*;
use crate::{
    environment::{Environment, Space},
    policy::{LawPolicy, Policy},
    testing::{Cart, cases},
};

fn actor(policy: &str, observation: &Space, action: &Space, seed: u64) -> Actor {
    let kind = policy.parse().expect("a policy");
    let stream = Stream::new(seed);
    let mut actor = Actor::new(&kind, observation, action, &stream).expect("an actor");
    let mut rng = stream.at(1);
    let parameters = actor.parameters_mut().iter_mut();
    parameters.for_each(|p| *p = (0.8 * rng.normal()) as f32);
    actor
}

fn actions(policy: &dyn Policy, seen: &[f32], rows: usize, width: usize) -> Vec<f64> {
    let mut chosen = vec![0.0; rows * width];
    let mut rng: Vec<_> = (0..rows as u64).map(|k| Stream::new(0).at(k)).collect();
    let mut act = policy.start(rows).expect("a policy at work");
    act.act(seen, rows, &mut rng, &mut chosen).expect("actions");
    chosen
}

/// The law of each action as text: what the tree must be.
fn text(actor: &Actor, k: usize) -> String {
    let (features, scales) = (actor.features().expect("a dictionary"), actor.scales());
    let names = actor.observation_space().names();
    let coefficients = actor.scaled_coefficients().expect("a dictionary");
    let mut inside = String::from("0");
    for (j, term) in features.terms().iter().enumerate() {
        let mut value = coefficients[k * features.len() + j];
        if value == 0.0 {
            continue;
        }
        let mut product = String::new();
        for factor in term.factors() {
            let (name, scale) = (&names[factor.input()], scales[factor.input()]);
            match *factor {
                Factor::Power { exponent: 1, .. } => {
                    value *= 1.0 / scale;
                    product += &format!("*{name}");
                }
                Factor::Power { exponent, .. } => {
                    value *= scale.powi(-exponent);
                    product += &format!("*{name}^{exponent}");
                }
                Factor::Call {
                    function,
                    frequency,
                    ..
                } => product += &format!("*{function}({}*{name})", f64::from(frequency) / scale),
            }
        }
        inside += &format!(" + {value}{product}");
    }
    let space = actor.action_space();
    if space.is_bounded(k) {
        format!("{} + {}*tanh({inside})", space.centre(k), space.half(k))
    } else {
        format!("{}*({inside})", space.scale(k))
    }
}

#[test]
fn the_closed_form_is_the_policy() {
    let cart = Cart::new();
    let one_sided = Space::default()
        .with("lift", 0.0, f64::INFINITY)
        .sized(2.0)
        .unbounded("turn");
    for (space, policy) in [
        (cart.action_space(), "polynomial(3)"),
        (
            cart.action_space(),
            "polynomial(2) + fourier(2, interactions)",
        ),
        (&one_sided, "polynomial(2)"),
    ] {
        let seen = cart.observation_space();
        let actor = actor(policy, seen, space, 3);
        let model = actor.model().expect("finite").expect("a dictionary");
        for (k, law) in model.expressions().enumerate() {
            let parsed = Expression::parse(&text(&actor, k), seen.names()).expect("a law");
            assert_eq!(*law, parsed, "{policy}");
        }
        assert_eq!(Model::from_json(&model.to_json()).expect("a model"), model);
        let rows = 40;
        let mut rng = Stream::new(5).at(0);
        let x: Vec<f32> = (0..3 * rows).map(|_| rng.normal() as f32).collect();
        let direct = actions(&actor, &x, rows, 2);
        let law = LawPolicy::new(&model, seen, space).expect("a policy");
        for (at, (a, b)) in direct.iter().zip(actions(&law, &x, rows, 2)).enumerate() {
            // The world brings what a law asks for into the range of the action.
            let b = space.clamp(at / rows, b);
            assert!(
                (a - b).abs() < 1e-5 * b.abs().max(1.0),
                "{policy} {at}: {a} {b}"
            );
            assert!(space.clamp(at / rows, *a) == *a);
        }
        let names = actor.term_names().expect("a dictionary");
        assert_eq!(names.len(), actor.prob_active().expect("gates").len());
        assert_eq!(names[0].action, space.names()[0]);
        assert_eq!(names[names.len() - 1].action, space.names()[1]);
    }
}

/// Gradients through every head, against central differences; at a bound, only the way back is open.
#[test]
fn gradients_pass_every_head() {
    let seen = Space::symmetric(&[("a", 1.0), ("b", 2.0)]);
    let chosen = Space::default()
        .with("tanh", -1.0, 3.0)
        .unbounded("free")
        .sized(2.5)
        .with("half", 0.0, f64::INFINITY);
    let actor = actor("network(7)", &seen, &chosen, 9);
    let rows = 6;
    let mut rng = Stream::new(2).at(0);
    let x: Vec<f32> = (0..2 * rows).map(|_| rng.normal() as f32).collect();
    let d: Vec<f32> = (0..3 * rows).map(|_| rng.normal() as f32).collect();
    let mut pass = ActorPass::new(&actor, rows);
    let value = |pass: &mut ActorPass, parameters: &[f32]| -> f64 {
        let a = pass
            .forward(parameters, &x, rows, Draw::TestTime)
            .expect("finite");
        a.iter()
            .zip(&d)
            .map(|(a, d)| f64::from(*a) * f64::from(*d))
            .sum()
    };
    // Well within the bounds, so that differences tell the whole gradient.
    let biases = actor.architecture().biases(1);
    let mut inside = actor.parameters().to_vec();
    inside[biases.start + 2] = 20.0;
    let a = pass
        .forward(&inside, &x, rows, Draw::TestTime)
        .expect("finite");
    assert!(a[..rows].iter().all(|a| (-1.0..=3.0).contains(a)));
    assert!(a[2 * rows..].iter().all(|a| *a > 1.0));
    let mut gradient = vec![0.0; inside.len()];
    pass.backward(&inside, &d, &mut gradient).expect("finite");
    for k in 0..gradient.len() {
        let (h, mut moved) = (1e-2, inside.clone());
        moved[k] += h;
        let up = value(&mut pass, &moved);
        moved[k] -= 2.0 * h;
        let down = value(&mut pass, &moved);
        let want = (up - down) / f64::from(2.0 * h);
        let got = f64::from(gradient[k]);
        assert!(
            (got - want).abs() < 0.02 * want.abs().max(1.0),
            "{k}: {got} {want}"
        );
    }
    // The third action alone, at its bound everywhere.
    let mut low = actor.parameters().to_vec();
    low[biases.start + 2] = -100.0;
    for (sign, moves) in [(1.0, false), (-1.0, true)] {
        pass.forward(&low, &x, rows, Draw::TestTime)
            .expect("finite");
        let mut d = vec![0.0; 3 * rows];
        d[2 * rows..].fill(sign);
        pass.backward(&low, &d, &mut gradient).expect("finite");
        assert_eq!(gradient[biases.start + 2] != 0.0, moves);
    }
}

#[test]
fn a_policy_has_a_small_file() {
    let cart = Cart::new();
    let (seen, chosen) = (cart.observation_space(), cart.action_space());
    for policy in ["polynomial(2)", "network(5, 4)", "sparse-network(6)"] {
        let mut actor = actor(policy, seen, chosen, 1);
        if let ActorKind::Dictionary { library, .. } = actor.kind().clone() {
            let kind = ActorKind::Dictionary {
                library,
                noise: NoisePer::Batch,
                scaled: false,
                tied: false,
                gated: false,
            };
            actor = Actor::new(&kind, seen, chosen, &Stream::new(2)).expect("an actor");
        }
        let bytes = actor.to_bytes().expect("bytes");
        assert!(bytes.len() < 4000, "{}", bytes.len());
        assert_eq!(Actor::from_bytes(&bytes, "x").expect("a policy"), actor);
        for at in [3, bytes.len() / 2, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Actor::from_bytes(&damaged, "x").is_err());
            assert!(Actor::from_bytes(&bytes[..at], "x").is_err());
        }
        let mut corrupted = actor.clone();
        corrupted.parameters_mut()[2] = f32::NAN;
        let said =
            Actor::from_bytes(&corrupted.to_bytes().expect("bytes"), "x").expect_err("refused");
        assert!(said.to_string().contains("number 3 of"), "{said}");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p.policy");
        assert!(Actor::load(&path).is_err());
        actor.save(&path).expect("written");
        assert_eq!(Actor::load(&path).expect("a policy"), actor);
    }
}

#[test]
fn a_policy_is_a_model_that_acts_by_the_same_bits() {
    let cart = Cart::new();
    let (seen, chosen) = (cart.observation_space(), cart.action_space());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.json");
    for seed in 0..20 {
        let file = PolicyFile {
            actor: actor("polynomial(2) + fourier(1)", seen, chosen, seed),
            trained_in: (seed % 2 == 0).then(|| TrainedIn {
                environment: Some("cart".into()),
                observation_shape: vec![seen.len(), 1],
                action_shape: vec![chosen.len()],
                action_type: "float64".into(),
            }),
        };
        file.save(&path).expect("written");
        assert_eq!(PolicyFile::read(&path).expect("a policy"), file);
        let text = std::fs::read_to_string(&path).expect("text");
        let model = file.actor.model().expect("finite").expect("a law");
        assert_eq!(
            Model::from_json(&text).expect("a model").to_json(),
            model.to_json()
        );
        // Without what it acts by it is a law, and with other equations it is neither.
        let alone = model.to_json();
        let said = PolicyFile::from_json(&alone, &path)
            .expect_err("a law")
            .to_string();
        assert!(said.contains("without the part `policy`"), "{said}");
        let target = &chosen.names()[0];
        let other = text.replacen(&format!("\"{target}\""), "\"other\"", 1);
        let said = PolicyFile::from_json(&other, &path)
            .expect_err("changed")
            .to_string();
        assert!(said.contains("one of them was changed"), "{said}");
        let fewer = text.replacen("\"parameters\": [", "\"parameters\": [0.5,", 1);
        let said = PolicyFile::from_json(&fewer, &path)
            .expect_err("changed")
            .to_string();
        assert!(said.contains("the parameters of a policy has"), "{said}");
    }
    let network = PolicyFile {
        actor: actor("network(5)", seen, chosen, 1),
        trained_in: None,
    };
    let other = folder.path().join("network.json");
    let said = network.save(&other).expect_err("a network").to_string();
    assert!(
        said.contains("network(5) is no closed form") && !other.exists(),
        "{said}"
    );
    let binary = folder.path().join("network.safetensors");
    network.save(&binary).expect("written");
    assert_eq!(PolicyFile::read(&binary).expect("a policy"), network);
}

#[test]
fn kinds_have_a_text() {
    for text in [
        "network(256, 256)",
        "sparse-network(3)",
        "polynomial(3)",
        "fourier(1) + polynomial(2)",
    ] {
        let kind: ActorKind = text.parse().expect("a policy");
        assert_eq!(
            kind.to_string().parse::<ActorKind>().expect("a policy"),
            kind
        );
        assert_eq!(kind.pays(), text != "network(256, 256)");
    }
    for text in [
        "network(0)",
        "network(",
        "sparse-network(a)",
        "nothing",
        "network(9999)",
    ] {
        assert!(text.parse::<ActorKind>().is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(cases())]
    #[test]
    fn any_text_is_a_policy_or_an_error(text in "(sparse-)?(network|polynomial)?[(]?[a-z0-9,. +)(é]*") {
        let _ = text.parse::<ActorKind>().map_err(|e| e.to_string());
    }
}
