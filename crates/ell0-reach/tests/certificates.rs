//! Certificates hold, and nothing that was changed does.

use ell0::rng::Stream;
use ell0_check::{Flaw, check, rejected};
use ell0_control::{
    analysis::{Disturbance, Map, Range, equilibria, on, proved_region},
    environment::make,
    policy::policy_from_text,
};
use ell0_reach::{Basin, Budget, Cells, Question};

/// A law that swings up from everywhere, with little effort to prove.
const LAW: &str = "2*tanh(-4.66*sin_theta - 0.5*theta_dot - 3.82*cos_theta*theta_dot - 12.31*cos_theta*sin_theta)";

struct Proof {
    map: Map,
    basin: Basin,
    text: String,
}

/// The pendulum with this law, with g in a range and rounded observations or not, and limits or not.
fn proof(uncertain: bool, stay: &[(String, Range)]) -> Proof {
    let world = make("pendulum(g=9.81)").expect("a world");
    let form = world.closed_form().expect("a closed form");
    let nominal = form.plant().expect("a plant");
    let plant = if uncertain {
        let ranges = [("g".to_string(), Range::new(9.79, 9.83))];
        let plant = form.plant_within(&ranges).expect("a plant");
        plant.disturbed(&[Disturbance::Rounding]).expect("a plant")
    } else {
        nominal.clone()
    };
    let policy = policy_from_text(LAW, &plant.observation_names(), &plant.action_names());
    let policy = policy.expect("a policy");
    let map = plant.closed(&policy, 1.0).expect("a loop");
    let found = equilibria(
        &nominal,
        &nominal.closed(&policy, 1.0).expect("a loop"),
        &on,
    );
    let region = proved_region(&nominal, &map, &found[0], &on).expect("a region");
    let question = Question {
        stay,
        ..Question::new(&plant, &map, &region.claim)
    };
    let budget = Budget {
        most_attempts: 5_000,
        ..Budget::default()
    };
    let basin = question.prove(budget, &on, |_| {}).expect("a basin");
    let text = basin.certificate(plant.states(), &map).expect("a text");
    Proof { map, basin, text }
}

/// FNV-1a over all but the last line, written anew: what somebody who knows the format would do.
fn with_sum(text: &str) -> String {
    let body = text.rfind("sum ").map_or(text, |at| &text[..at]);
    let sum = body.bytes().fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{body}sum {sum:016x}\n")
}

#[test]
fn certificates_are_verified() {
    let speed = [("theta_dot".to_string(), Range::symmetric(6.0))];
    for (uncertain, stay) in [(false, &[][..]), (true, &[]), (false, &speed)] {
        let Proof { basin, text, .. } = proof(uncertain, stay);
        let verified = check(&text).expect("verified");
        assert_eq!(verified.steps, basin.steps);
        assert!((verified.share - basin.share).abs() < 1e-9);
        let least = if stay.is_empty() { 0.3 } else { 0.1 };
        assert!(basin.share > least, "{uncertain} {}", basin.share);
        assert_eq!(rejected(&text), Ok(vec![]));
        assert_eq!(with_sum(&text), text);
    }
}

/// Another law, another plant, another target, another limit, with a right sum.
#[test]
fn a_proof_of_another_loop_is_rejected() {
    let Proof { text, .. } = proof(false, &[]);
    for (from, to) in [
        ("12.31", "11.31"),
        ("12.31", "13.31"),
        ("3.82*", "3.42*"),
        ("0.5*theta_dot", "0.9*theta_dot"),
        ("0.5*theta_dot", "0.1*theta_dot"),
        ("2*tanh", "1.9*tanh"),
        ("value `torque` -2e0 2e0", "value `torque` -1.8e0 1.8e0"),
        ("0.05*speed", "0.055*speed"),
        ("sin(theta)", "sin(1.01*theta)"),
        ("tanh(", "sin("),
        ("level 3", "level 4"),
        ("level 3", "level 30"),
        ("centre 0e0 0e0", "centre 1e-2 0e0"),
        ("odd\n", ""),
        ("theta_dot` -8e0 8e0\n", "theta_dot` -9e0 9e0\n"),
        ("period 6.28", "period 6.27"),
        ("cells\n", "avoid 1e0 2e0 -1e0 1e0\ncells\n"),
        ("cells\n", "stay -inf inf -4e0 4e0\ncells\n"),
    ] {
        let changed = with_sum(&text.replace(from, to));
        assert!(changed != text, "{from}");
        assert!(check(&changed).is_err(), "{from} → {to}");
    }
    // A bias makes the loop lopsided.
    let biased = with_sum(&text.replace("2*tanh(", "0.01 + 2*tanh("));
    assert_eq!(check(&biased).err(), Some(Flaw::NotOdd));
}

#[test]
fn a_thousand_corruptions_are_rejected() {
    let Proof { text, .. } = proof(false, &[]);
    let stream = Stream::new(3).split("corruptions");
    for k in 0..1000 {
        let mut rng = stream.at(k);
        let mut bytes = text.clone().into_bytes();
        let mut at = |length: usize| (rng.uniform() * length as f64) as usize;
        let place = at(bytes.len());
        match k % 4 {
            0 => bytes[place] = b"0123456789./ \n-e"[at(16)],
            1 => bytes.truncate(place),
            2 => {
                bytes.remove(place);
            }
            _ => bytes.insert(place, b"0123456789./ \n"[at(14)]),
        }
        let changed = String::from_utf8(bytes).expect("ASCII or whole letters");
        if changed != text {
            assert!(check(&changed).is_err(), "{k}");
        }
    }
}

/// With a right sum, what is changed among the cells is rejected, or says less than the proof did, or as much.
#[test]
fn changed_cells_are_rejected_or_claim_no_more() {
    let Proof {
        map, basin, text, ..
    } = proof(false, &[]);
    let Cells::Two(tree, shear) = basin.cells() else {
        panic!("a pendulum has two states");
    };
    let mut cells = Vec::new();
    tree.for_each_leaf(|_, cell, _| cells.push(*cell));
    let start = text.find("cells\n").expect("cells") + 6;
    let end = text.rfind("sum ").expect("a sum");
    let words: Vec<&str> = text[start..end].split_whitespace().collect();
    let stream = Stream::new(5).split("cells");
    let (mut wrong, mut tried) = (0, 0);
    for k in 0..200 {
        let mut rng = stream.at(k);
        let at = (rng.uniform() * words.len() as f64) as usize;
        let mut changed: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        changed[at] = match (k % 4, words[at].split_once('/')) {
            // Fewer steps than it takes.
            (0, Some((after, steps))) if after != "0" => {
                format!("{after}/{}", steps.parse::<u32>().expect("steps") / 2)
            }
            (1, Some((_, steps))) => format!("1/{steps}"),
            (_, Some(_)) => "0/0".into(),
            // A claim where there was none, or a cell where there were two.
            (_, None) => "1/300".into(),
        };
        if changed[at] == words[at] {
            continue;
        }
        tried += 1;
        let all = format!("{}{}\n", &text[..start], changed.join(" "));
        let verdict = check(&with_sum(&format!("{all}sum 0\n")));
        wrong += u32::from(verdict.is_err());
        // What is still verified is true: it is sampled, in as many steps as are claimed now.
        if verdict.is_ok() {
            let leaf = words[..at]
                .iter()
                .filter(|w| w.len() > 1 || **w == ".")
                .count();
            let claimed = changed[at].split_once('/').expect("a claim").1;
            let claimed: u32 = claimed.parse().expect("steps");
            let cell = cells[leaf];
            for _ in 0..200 {
                let y = std::array::from_fn(|k| {
                    cell.low[k] + rng.uniform() * (cell.high[k] - cell.low[k])
                });
                let (mut x, mut room) = (shear.to_point(&y), Default::default());
                let arrives = (0..=claimed).any(|_| {
                    let there = basin.steps_at(&x) == Some(0);
                    map.step(&mut x, &mut room);
                    there
                });
                assert!(arrives, "{k}: {} → {}", words[at], changed[at]);
            }
        }
    }
    assert!(wrong * 10 > tried * 7, "{wrong} of {tried}");
}

/// What is written by hand, with a right sum.
fn by_hand(lines: &[&str]) -> Result<ell0_check::Verified, Flaw> {
    let head = "ell0 certificate 1\n";
    check(&with_sum(&format!("{head}{}\nsum 0\n", lines.join("\n"))))
}

/// One state, z⁺ = 0.5·x in |x| ≤ 1 with the target |x| ≤ 0.5: each line may be another.
fn halving(change: impl Fn(&mut Vec<&'static str>)) -> Result<ell0_check::Verified, Flaw> {
    let mut lines = vec![
        "state `x` -1 1",
        "value `z` = 0.5*x",
        "next `z`",
        "centre 0",
        "p 1",
        "level 0.26",
        "shear 0",
        "odd",
        "cells",
        "0 0/0 1/1",
    ];
    change(&mut lines);
    by_hand(&lines)
}

#[test]
fn what_is_false_is_rejected() {
    assert_eq!(halving(|_| {}).map(|v| v.share), Ok(1.0));
    // −0.85 is in the other half, which is not written down.
    let avoided = halving(|l| l.insert(6, "avoid -0.9 -0.8"));
    assert!(matches!(avoided, Err(Flaw::Head(_))), "{avoided:?}");
    let kept = halving(|l| l.insert(6, "stay -0.7 2"));
    assert!(matches!(kept, Err(Flaw::Head(_))), "{kept:?}");
    // No value near the centre, whatever it is multiplied by, or cut off at.
    for (value, range) in [
        ("2 + exp(log(x^2 - 0.0001))", "-1 1"),
        ("1 + 1e-300*log(x^2 - 0.0001)", "-1 1"),
        ("sign(1 + sqrt(x^2 - 0.0001))", "-1 1"),
        ("(x^2 - 0.0001)^0.5 + 7", "-1 1"),
        ("1/x^2", "-1 1"),
    ] {
        let line: &'static str = format!("value `y` {range} = {value}").leak();
        let undefined = halving(|l| {
            l[1] = "value `z` = 0.5*x*y";
            l.insert(1, line);
        });
        assert!(undefined.is_err(), "{value}: {undefined:?}");
    }
    // 1000·x − 400 is not the same after 1: from 0.5 trajectories come to 1.25, and leave.
    let turned = by_hand(&[
        "state `x` -0.6 0.6 period 1",
        "value `g` 0 1 = 1000*x - 400",
        "value `z` = 0.5*x + g",
        "next `z`",
        "centre 0",
        "p 1",
        "level 0.1",
        "shear 0",
        "cells",
        "0 . 0 . 0 . 1/1",
    ]);
    assert_eq!(turned, Err(Flaw::NotRound { state: "x".into() }));
}

/// None of these takes long, or much memory.
#[test]
fn what_would_take_forever_is_rejected() {
    let tiny = halving(|l| {
        l[4] = "p 1e300";
        l[5] = "level 5e-324";
    });
    assert!(matches!(tiny, Err(Flaw::Target(_))), "{tiny:?}");
    let many = halving(|l| l[9] = "0 0/0 4294967295/4294967295");
    assert!(matches!(many, Err(Flaw::Head(_))), "{many:?}");
    let values: String = (0..2000).map(|k| format!("value `v{k}` = x\n")).collect();
    let values: &'static str = values.trim_end().to_string().leak();
    let long = halving(|l| l.insert(1, values));
    assert!(matches!(long, Err(Flaw::Line { .. })), "{long:?}");
    let inputs: String = (0..2000)
        .map(|k| format!("parameter `u{k}` 0 1\n"))
        .collect();
    let inputs: &'static str = inputs.trim_end().to_string().leak();
    let uncertain = halving(|l| l.insert(1, inputs));
    assert!(matches!(uncertain, Err(Flaw::Line { .. })), "{uncertain:?}");
    let name: &'static str = format!("value `{}` = x", "n".repeat(100_000)).leak();
    assert!(halving(|l| l.insert(1, name)).is_err());
}
