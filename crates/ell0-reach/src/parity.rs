//! Whether a closed loop treats left and right alike: F(−x) = −F(x), decided by the form of its expressions.
//!
//! If it does, and the box, the target and the limits do, half of the box is enough: what is proved of x is proved of −x.

use ell0::{equation::Node, features::Function};
use ell0_control::analysis::Map;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parity {
    Even,
    Odd,
    Neither,
}

use Parity::{Even, Neither, Odd};

fn product(a: Parity, b: Parity) -> Parity {
    match (a, b) {
        (Neither, _) | (_, Neither) => Neither,
        (a, b) if a == b => Even,
        _ => Odd,
    }
}

fn parity(node: &Node, known: &[Parity]) -> Parity {
    match node {
        Node::Number(_) => Even,
        Node::Variable(k) => known[*k],
        Node::Sum(parts) => {
            let mut parts = parts.iter().map(|p| parity(p, known));
            let first = parts.next().unwrap_or(Even);
            if parts.all(|p| p == first) {
                first
            } else {
                Neither
            }
        }
        Node::Product(parts) => {
            let parts = parts.iter().map(|p| parity(p, known));
            parts.fold(Even, product)
        }
        Node::Power(base, exponent) => match parity(base, known) {
            Odd if exponent % 2.0 == 0.0 => Even,
            Odd if exponent.fract() == 0.0 => Odd,
            Odd => Neither,
            other => other,
        },
        Node::Call(function, argument) => match (parity(argument, known), function) {
            (Odd, Function::Sin | Function::Tanh | Function::Sign) => Odd,
            (Odd, Function::Cos | Function::Abs) => Even,
            (Odd, _) => Neither,
            (other, _) => other,
        },
    }
}

/// Disturbances for which both signs are tried.
const MOST_FREE: usize = 10;

/// Whether F(−x) = −F(x), as far as the form of the expressions tells. Disturbances with symmetric ranges may change their sign with x, or not.
#[must_use]
pub fn is_odd(map: &Map) -> bool {
    let free = |k: &usize| {
        let u = &map.uncertain()[*k];
        u.varies && u.range.low == -u.range.high
    };
    let free: Vec<usize> = (0..map.uncertain().len()).filter(free).collect();
    let choices = 1usize << free.len().min(MOST_FREE);
    (0..choices).any(|choice| {
        let uncertain = map.uncertain().iter().enumerate().map(|(k, u)| {
            let place = free.iter().position(|f| *f == k);
            match place {
                Some(place) if choice >> place & 1 == 1 => Even,
                Some(_) => Odd,
                None if u.varies => Neither,
                None => Even,
            }
        });
        is_odd_with(map, uncertain)
    })
}

fn is_odd_with(map: &Map, uncertain: impl Iterator<Item = Parity>) -> bool {
    let states = map.next_states().len();
    let mut known = vec![Odd; states];
    known.extend(uncertain);
    for value in map.assignments() {
        let parity = match (parity(&value.law, &known), value.range) {
            (Odd, Some(range)) if range.low != -range.high => Neither,
            (parity, _) => parity,
        };
        known.push(parity);
    }
    map.next_states().iter().all(|&k| known[k] == Odd)
}

#[cfg(test)]
mod tests {
    use ell0_control::{
        analysis::{Disturbance, Plant, Range},
        policy::policy_from_text,
    };

    use super::*;

    fn odd(law: &str, range: Range, disturbance: Option<Range>) -> bool {
        let plant = Plant::builder()
            .state("x", Range::symmetric(1.0))
            .state("v", Range::symmetric(1.0))
            .action("u", range)
            .observation("c", "cos(x)")
            .observation("s", "sin(x)")
            .observation("v", "v")
            .next("x", "x + 0.1*v")
            .next("v", "v + 0.1*u - 0.1*abs(v)*v")
            .build()
            .expect("a plant");
        let error = disturbance.map(|range| Disturbance::Added {
            to: "c".into(),
            range,
        });
        let plant = plant.disturbed(error.as_slice()).expect("a plant");
        let policy = policy_from_text(law, &plant.observation_names(), &plant.action_names());
        let map = plant
            .closed(&policy.expect("a policy"), 1.0)
            .expect("a loop");
        is_odd(&map)
    }

    #[test]
    fn forms_tell() {
        let even = Range::symmetric(2.0);
        for law in ["-s - c*v", "tanh(s^3)", "s*v^2 - sign(v)", "-v/(1 + c^2)"] {
            assert!(odd(law, even, None), "{law}");
            assert!(odd(law, even, Some(Range::symmetric(0.1))), "{law}");
        }
        for law in ["c - s", "-s + 0.1", "exp(s)", "s*v", "s^2", "abs(s)"] {
            assert!(!odd(law, even, None), "{law}");
        }
        assert!(!odd("-s", Range::new(-1.0, 2.0), None));
        assert!(!odd("-s*c", even, Some(Range::new(0.0, 0.1))));
    }
}
