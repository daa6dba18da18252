//! Whether F(−x) = −F(x) follows from the form of the map.

use ell0::{equation::Node, features::Function};

use crate::certificate::{Certificate, Uncertain};

/// Whether the map is odd: the signs of all states change the sign of every next state. Disturbances whose range is symmetric are as good with the other sign as with theirs, so each may change it or not; both are tried.
pub fn is_odd(certificate: &Certificate) -> bool {
    let free = |u: &&Uncertain| u.varies && u.range.low == -u.range.high;
    let count = certificate.uncertain.iter().filter(free).count().min(10);
    (0..1u32 << count).any(|choice| {
        // Some(true): changes its sign. Some(false): stays the same. None: neither.
        let mut known: Vec<Option<bool>> = vec![Some(true); certificate.states.len()];
        let mut place = 0;
        for u in &certificate.uncertain {
            known.push(match (free(&u), u.varies) {
                (true, _) => {
                    place += 1;
                    Some(choice.checked_shr(place - 1).unwrap_or(0) & 1 == 0)
                }
                (false, true) => None,
                (false, false) => Some(false),
            });
        }
        for value in &certificate.values {
            let sign = sign(value.law.root(), &known);
            let lopsided = value.range.is_some_and(|(low, high)| low != -high);
            known.push(sign.filter(|changes| !(*changes && lopsided)));
        }
        certificate.next.iter().all(|&k| known[k] == Some(true))
    })
}

fn sign(node: &Node, known: &[Option<bool>]) -> Option<bool> {
    match node {
        Node::Number(_) => Some(false),
        Node::Variable(k) => known[*k],
        Node::Sum(parts) => {
            let first = sign(parts.first()?, known)?;
            let alike = parts.iter().all(|p| sign(p, known) == Some(first));
            alike.then_some(first)
        }
        Node::Product(parts) => parts
            .iter()
            .try_fold(false, |changes, p| Some(changes ^ sign(p, known)?)),
        Node::Power(base, exponent) => match sign(base, known)? {
            false => Some(false),
            true => (exponent.fract() == 0.0).then_some(exponent % 2.0 != 0.0),
        },
        Node::Call(function, argument) => match (sign(argument, known)?, function) {
            (false, _) | (true, Function::Cos | Function::Abs) => Some(false),
            (true, Function::Sin | Function::Tanh | Function::Sign) => Some(true),
            (true, _) => None,
        },
    }
}
