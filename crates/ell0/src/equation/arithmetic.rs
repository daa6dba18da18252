//! Expressions over other numbers than `f64`.

use super::{Expression, Node};
use crate::features::Function;

/// What an expression can be evaluated in: numbers, or [intervals](super::Interval) of them.
pub trait Arithmetic: Copy {
    /// A constant.
    fn number(value: f64) -> Self;
    /// What is only known to lie in a range: all of it for intervals, its middle for numbers.
    fn between(low: f64, high: f64) -> Self;
    /// a + b.
    fn add(self, other: Self) -> Self;
    /// a·b.
    fn multiply(self, other: Self) -> Self;
    /// A constant power.
    fn power(self, exponent: f64) -> Self;
    /// A function.
    fn call(self, function: Function) -> Self;
    /// Brought into a range.
    fn clamp(self, low: f64, high: f64) -> Self;
    /// The slope of [`clamp`](Self::clamp): 1 inside the range, 0 outside of it.
    fn clamp_slope(self, low: f64, high: f64) -> Self;
}

impl Arithmetic for f64 {
    fn number(value: f64) -> Self {
        value
    }

    fn between(low: f64, high: f64) -> Self {
        low + 0.5 * (high - low)
    }

    fn add(self, other: Self) -> Self {
        self + other
    }

    fn multiply(self, other: Self) -> Self {
        self * other
    }

    fn power(self, exponent: f64) -> Self {
        super::evaluate::power(self, exponent)
    }

    fn call(self, function: Function) -> Self {
        function.apply(self)
    }

    fn clamp(self, low: f64, high: f64) -> Self {
        f64::clamp(self, low, high)
    }

    fn clamp_slope(self, low: f64, high: f64) -> Self {
        f64::from((low..=high).contains(&self))
    }
}

impl Node {
    /// The value for one row of variables.
    ///
    /// # Panics
    ///
    /// If the row has fewer values than the node has variables.
    pub fn value<T: Arithmetic>(&self, row: &[T]) -> T {
        match self {
            Node::Number(value) => T::number(*value),
            Node::Variable(index) => row[*index],
            Node::Sum(parts) => {
                let mut total = T::number(0.0);
                for part in parts {
                    total = total.add(part.value(row));
                }
                total
            }
            Node::Product(parts) => {
                let mut total = T::number(1.0);
                for part in parts {
                    total = total.multiply(part.value(row));
                }
                total
            }
            Node::Power(inner, exponent) => inner.value(row).power(*exponent),
            Node::Call(function, inner) => inner.value(row).call(*function),
        }
    }

    /// The same node with other nodes in the place of its variables.
    pub fn substitute(&self, variables: &impl Fn(usize) -> Node) -> Node {
        match self {
            Node::Number(value) => Node::Number(*value),
            Node::Variable(index) => variables(*index),
            Node::Sum(parts) => Node::sum(parts.iter().map(|p| p.substitute(variables))),
            Node::Product(parts) => Node::product(parts.iter().map(|p| p.substitute(variables))),
            Node::Power(inner, exponent) => Node::power(inner.substitute(variables), *exponent),
            Node::Call(function, inner) => Node::call(*function, inner.substitute(variables)),
        }
    }
}

impl Expression {
    /// The value for one row of variables.
    ///
    /// # Panics
    ///
    /// If the row has fewer values than there are variables.
    pub fn value<T: Arithmetic>(&self, row: &[T]) -> T {
        self.root.value(row)
    }
}
