//! Whether a closed loop is the same after a whole turn of an angle: F(x + p) = F(x) + whole turns, decided by the form of its expressions.
//!
//! Every value on the way grows by some multiple m of p when the angle grows by p: m = 1 for the angle itself, 0 for what does not see it; sums add, numbers multiply, and sin(a·x) and cos(a·x) do not change if a·p is a multiple of 2π. Whatever else is made of a value that has grown is not decided.

use std::f64::consts::TAU;

use ell0::{
    equation::{Arithmetic, Interval, Node},
    features::Function,
};
use ell0_control::analysis::{Map, State};

use crate::error::NoBasin;

/// By how many periods a value grows.
fn growth(node: &Node, known: &[Option<f64>], period: f64) -> Option<f64> {
    match node {
        Node::Number(_) => Some(0.0),
        Node::Variable(k) => known[*k],
        Node::Sum(parts) => parts
            .iter()
            .try_fold(0.0, |sum, part| Some(sum + growth(part, known, period)?)),
        Node::Product(parts) => {
            let parts = parts.iter();
            let grown: Vec<f64> = parts
                .clone()
                .map(|part| growth(part, known, period))
                .collect::<Option<_>>()?;
            if grown.iter().all(|m| *m == 0.0) {
                return Some(0.0);
            }
            // Numbers, and one factor that grows.
            let factors = parts.zip(grown).map(|(part, m)| match part {
                Node::Number(number) => (*number, false),
                _ => (m, true),
            });
            let (product, others) = factors.fold((1.0, 0), |(product, others), (m, other)| {
                (product * m, others + u32::from(other))
            });
            (others == 1).then_some(product)
        }
        Node::Power(base, exponent) => {
            growth(base, known, period).filter(|m| *m == 0.0 || *exponent == 1.0)
        }
        Node::Call(function, argument) => {
            let grown = growth(argument, known, period)?;
            let wave = matches!(function, Function::Sin | Function::Cos);
            let same = grown == 0.0 || wave && turns(grown, period);
            same.then_some(0.0)
        }
    }
}

/// Whether m·p is a multiple of 2π, for a p and a 2π within a unit in the last place of the numbers.
fn turns(grown: f64, period: f64) -> bool {
    let around = |x: f64| Interval::new(x.next_down(), x.next_up());
    let angle = Interval::point(grown).multiply(around(period));
    let whole = around(TAU).multiply(Interval::point((grown * period / TAU).round()));
    angle.low <= whole.high && whole.low <= angle.high
}

/// Whether every angle may grow by its period, and nothing else happens than that angles grow by whole periods of theirs.
pub fn comes_round(states: &[State], map: &Map) -> Result<(), NoBasin> {
    let angles = states.iter().enumerate();
    for (k, state, period) in angles.filter_map(|(k, s)| Some((k, s, s.period?))) {
        let mut known: Vec<Option<f64>> = (0..states.len())
            .map(|i| Some(f64::from(u8::from(i == k))))
            .collect();
        known.extend(map.uncertain().iter().map(|_| Some(0.0)));
        for value in map.assignments() {
            let grown = growth(&value.law, &known, period);
            known.push(grown.filter(|m| *m == 0.0 || value.range.is_none()));
        }
        let mut next = map.next_states().iter().zip(states);
        let whole = next.all(|(&at, other)| {
            known[at].is_some_and(|m| m == 0.0 || other.period == Some(period) && m.fract() == 0.0)
        });
        if !whole {
            let state = state.name.clone();
            return Err(NoBasin::NotPeriodic { state, period });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ell0_control::analysis::{Plant, Range};

    use super::*;

    fn round(next: &str, period: f64) -> bool {
        let plant = Plant::builder()
            .angle("a", Range::symmetric(0.5 * period), period)
            .state("v", Range::symmetric(1.0))
            .assign_within("torque", "2*sin(a)", Range::symmetric(1.0))
            .next("a", next)
            .next("v", "v + 0.1*torque")
            .build()
            .expect("a plant");
        comes_round(plant.states(), &plant.open()).is_ok()
    }

    #[test]
    fn forms_tell() {
        for next in [
            "a + 0.1*v",
            "-a + cos(3*a)*v",
            "2*(a - 0.5*a) + sin(a)^2",
            "3*a - v*tanh(sin(a + v))",
            "v",
        ] {
            assert!(round(next, TAU), "{next}");
        }
        for next in [
            "0.5*a",
            "a*v",
            "a^2",
            "a + sin(0.5*a)",
            "a + tanh(a)",
            "a + cos(1.0000001*a)",
        ] {
            assert!(!round(next, TAU), "{next}");
        }
        // 2*sin(a) is not the same after 6.
        assert!(!round("a + 0.1*v", 6.0));
    }
}
