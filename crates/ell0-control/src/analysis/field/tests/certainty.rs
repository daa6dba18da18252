//! Proofs: what is claimed holds, and what does not hold is not claimed.

use proptest::prelude::*;

use ell0::rng::Stream;

use super::worlds::{Linear, Textbook, TextbookMap};
use crate::{
    Error,
    analysis::{FieldLoop, NoProof, ProvedSet, Riccati, linear, on, prove_saturated},
    testing::cases,
};

fn prove(world: &Linear, text: &str) -> Result<ProvedSet, NoProof> {
    let law = world.law(text);
    let found = FieldLoop::new(world, &law).expect("a loop");
    prove_saturated(&found, &on).expect("not stopped")
}

/// y⁺ = 1.2·y + a with |a| ≤ 1 is lost from |y| ≥ 5, whatever is done.
#[test]
fn an_unstable_plant_is_proved_as_far_as_it_can_be() {
    let world = Linear::new(vec![vec![1.2]], vec![vec![1.0]], 1.0);
    for (law, least) in [("-0.7*y0", 4.8), ("tanh(-0.7*y0)", 4.4)] {
        let set = prove(&world, law).expect("a proof");
        let reach = set.reach.as_ref().expect("a set")[0];
        assert!(reach < 5.0 && reach > least, "{law}: {reach}");
        assert_eq!(set.typical_inside, set.typical_states, "{law}");
        assert!((set.uniform.expect("a set") / reach - 1.0).abs() < 1e-9);
        assert!((set.radius.expect("a set") / reach - 1.0).abs() < 1e-9);
    }
    // What is seen and does not change is a number.
    let set = prove(&world, "tanh(-1.4*p*y0)").expect("a proof");
    assert!(set.reach.expect("a set")[0] > 4.4);
}

/// Where the plant is stable by itself, bounded laws can be proved for every state.
#[test]
fn a_stable_plant_is_proved_everywhere() {
    let world = Linear::new(
        vec![vec![0.9, 0.1], vec![-0.1, 0.8]],
        vec![vec![1.0, 0.0], vec![0.0, 1.0]],
        0.5,
    );
    let set = prove(&world, "a0 = 0.5*tanh(-0.4*y0); a1 = -0.3*y1").expect("a proof");
    assert_eq!((set.level, set.corners), (None, 4));
    assert_eq!(set.typical_inside, set.typical_states);
    // Without bounds there is one corner.
    let free = Linear {
        limit: f64::INFINITY,
        ..world
    };
    let set = prove(&free, "a0 = -0.4*y0; a1 = -0.3*y1").expect("a proof");
    assert_eq!((set.level, set.corners), (None, 1));
}

#[test]
fn what_is_not_proved_has_its_reason() {
    let world = Linear::new(
        vec![vec![1.1, 0.1], vec![0.0, 0.8]],
        vec![vec![1.0], vec![0.5]],
        1.0,
    );
    let action = || "a0".to_string();
    for (law, reason) in [
        ("0.1*y0", NoProof::NotStable),
        ("-0.05*y0", NoProof::NotStable),
        ("-0.5*y0 - 0.1*y1^2", NoProof::Law { action: action() }),
        ("-0.5*y0*y1", NoProof::Law { action: action() }),
        ("tanh(tanh(-y0))", NoProof::Law { action: action() }),
        ("tanh(-y0) - 0.1*y0", NoProof::Law { action: action() }),
        ("0.1 - 0.5*y0", NoProof::Constant { action: action() }),
        ("tanh(p - y0)", NoProof::Constant { action: action() }),
    ] {
        assert_eq!(prove(&world, law), Err(reason), "{law}");
    }
    let silent = Linear {
        says_so: false,
        ..world.clone()
    };
    let reason = prove(&silent, "-0.5*y0").expect_err("not linear");
    assert!(reason.to_string().contains("out of reach in 2 dimensions"));
    let many = Linear {
        b: vec![vec![0.1; 13]; 2],
        ..world.clone()
    };
    let laws: Vec<String> = (0..13).map(|k| format!("a{k} = -0.2*y0")).collect();
    let reason = prove(&many, &laws.join("; "));
    assert!(matches!(reason, Err(NoProof::TooManyActions { .. })));
    let law = world.law("-0.5*y0");
    let found = FieldLoop::new(&world, &law).expect("a loop");
    let stopped = prove_saturated(&found, &|| false);
    assert!(matches!(stopped, Err(Error::Stopped)));
    let map = TextbookMap {
        map: Textbook::Logistic,
        r: 2.0,
    };
    let found = FieldLoop::new(&map, &map.law("-x")).expect("a loop");
    let reason = prove_saturated(&found, &on).expect("not stopped");
    assert_eq!(reason, Err(NoProof::NotLinear { states: 1 }));
}

/// A random plant, somewhat unstable more often than not, and the law of its regulator.
fn random_loop(seed: u64, n: usize, m: usize, soft: bool) -> Option<(Linear, String)> {
    let mut rng = Stream::new(seed).at(0);
    let mut matrix = |rows: usize, columns: usize, size: f64| -> Vec<Vec<f64>> {
        (0..rows)
            .map(|_| (0..columns).map(|_| size * rng.normal()).collect())
            .collect()
    };
    let mut a = matrix(n, n, 1.0);
    let b = matrix(n, m, 1.0);
    let target = 0.7 + 0.6 * (seed % 17) as f64 / 16.0;
    let size = linear::spectral_radius(&a);
    a.iter_mut().flatten().for_each(|v| *v *= target / size);
    let riccati = Riccati::new(&a, &b, &vec![1.0; n], &vec![2.0; m]).ok()??;
    let laws: Vec<String> = (0..m)
        .map(|i| {
            let terms: Vec<String> = (0..n)
                .map(|j| format!("({})*y{j}", -riccati.gain[i][j]))
                .collect();
            match soft {
                true => format!("a{i} = 0.7*tanh({})", terms.join(" + ")),
                false => format!("a{i} = {}", terms.join(" + ")),
            }
        })
        .collect();
    Some((Linear::new(a, b, 0.7), laws.join("; ")))
}

proptest! {
    #![proptest_config(cases())]

    /// V falls along every simulated trajectory from the edge of a proved set, which never leaves it and comes to 0.
    #[test]
    fn nothing_escapes_from_what_is_proved(seed in 0u64..1_000_000, n in 1usize..6, m in 1usize..4, soft: bool) {
        let Some((world, text)) = random_loop(seed, n, m, soft) else {
            return Ok(());
        };
        let law = world.law(&text);
        let found = FieldLoop::new(&world, &law).expect("a loop");
        let Ok(set) = prove_saturated(&found, &on).expect("not stopped") else {
            return Ok(());
        };
        let p = set.p.rows();
        let mut rng = Stream::new(seed).split("edge").at(0);
        for _ in 0..40 {
            let mut y: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let size = linear::quadratic(p, &y);
            // On the edge of the set, or far away.
            let level = set.level.unwrap_or(size * 10f64.powf(6.0 * rng.uniform()));
            y.iter_mut().for_each(|v| *v *= (level / size).sqrt());
            let mut before = linear::quadratic(p, &y);
            let first = before;
            for _ in 0..5000 {
                y = found.next(&y);
                let now = linear::quadratic(p, &y);
                prop_assert!(now < before || before < 1e-12 * first, "{before} {now}");
                if now < 1e-12 * first {
                    break;
                }
                before = now;
            }
        }
    }
}

/// Most random loops that are stable are proved at least near 0.
#[test]
fn most_stable_loops_have_a_proof() {
    let (mut proved, mut all) = (0, 0);
    for seed in 0..60 {
        let Some((world, text)) = random_loop(seed, 4, 2, seed % 2 == 0) else {
            continue;
        };
        all += 1;
        proved += usize::from(prove(&world, &text).is_ok());
    }
    assert!(proved * 10 >= all * 9, "{proved} of {all}");
}
