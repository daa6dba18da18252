//! Whether F(x + p) = F(x), but for whole turns, follows from the form of the map, where a state has a period p.

use std::f64::consts::TAU;

use ell0::{
    equation::{Arithmetic, Interval, Node},
    features::Function,
};

use crate::certificate::Certificate;

/// The number of a state that has a period but after which the map is not the same.
pub fn not_round(certificate: &Certificate) -> Option<usize> {
    let states = &certificate.states;
    (0..states.len()).find(|&angle| {
        let Some(period) = states[angle].period else {
            return false;
        };
        // So many periods does each value grow by; None where that is not known.
        let mut grows: Vec<Option<f64>> = vec![Some(0.0); states.len()];
        grows[angle] = Some(1.0);
        grows.resize(states.len() + certificate.uncertain.len(), Some(0.0));
        for value in &certificate.values {
            let by = of(value.law.root(), &grows, period);
            let cut = value.range.is_some();
            grows.push(by.filter(|by| !cut || *by == 0.0));
        }
        !certificate.next.iter().zip(states).all(|(&k, state)| {
            let turns = state.period == Some(period);
            matches!(grows[k], Some(by) if by == 0.0 || turns && by.fract() == 0.0)
        })
    })
}

fn of(node: &Node, grows: &[Option<f64>], period: f64) -> Option<f64> {
    match node {
        Node::Number(_) => Some(0.0),
        Node::Variable(k) => grows[*k],
        Node::Sum(parts) => {
            let mut sum = 0.0;
            for part in parts {
                sum += of(part, grows, period)?;
            }
            Some(sum)
        }
        Node::Product(parts) => {
            // Numbers, times what they are factors of.
            let (mut factor, mut rest) = (1.0, Vec::new());
            for part in parts {
                match part {
                    Node::Number(number) => factor *= number,
                    other => rest.push(of(other, grows, period)?),
                }
            }
            match rest[..] {
                [one] if one != 0.0 => Some(factor * one),
                _ => rest.iter().all(|by| *by == 0.0).then_some(0.0),
            }
        }
        Node::Power(base, _) => of(base, grows, period).filter(|by| *by == 0.0),
        Node::Call(function, argument) => {
            let by = of(argument, grows, period)?;
            let wave = *function == Function::Sin || *function == Function::Cos;
            (by == 0.0 || wave && is_turns(by, period)).then_some(0.0)
        }
    }
}

/// Whether so many periods may be a multiple of 2π, the period being within a unit in the last place of what is written.
fn is_turns(by: f64, period: f64) -> bool {
    let near = |x: f64| Interval::new(x.next_down(), x.next_up());
    let turns = (by * period / TAU).round();
    let apart = near(period)
        .multiply(Interval::point(by))
        .subtract(near(TAU).multiply(Interval::point(turns)));
    apart.contains(0.0)
}
