//! An expression in another language, worked out in the order of `equation::evaluate`: parts from left to right, constants last.

use super::power::whole;
use crate::{equation::Node, features::Function};

/// What differs between the languages.
pub(super) trait Dialect {
    /// The sign of multiplication.
    fn times(&self) -> &'static str {
        " * "
    }
    /// A number that is not negative.
    fn number(&self, value: f64) -> String;
    /// A function of an argument.
    fn call(&self, function: Function, argument: &str) -> String;
    /// A power with a small whole exponent.
    fn whole_power(&self, base: &str, exponent: i32) -> String;
    /// Any other power.
    fn power(&self, base: &str, exponent: f64) -> String;
}

/// How tightly a text binds.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Product,
    Atom,
}

/// A part of an expression; its sign apart, so that a sum can subtract.
struct Text {
    negative: bool,
    body: String,
    binding: Binding,
}

impl Text {
    fn atom(body: String) -> Self {
        Text {
            negative: false,
            body,
            binding: Binding::Atom,
        }
    }

    fn signed(self) -> String {
        if self.negative {
            format!("-{}", self.body)
        } else {
            self.body
        }
    }

    /// The text without its sign, in brackets if it binds less tightly than needed.
    fn at_least(&self, binding: Binding) -> String {
        if self.binding < binding {
            format!("({})", self.body)
        } else {
            self.body.clone()
        }
    }
}

/// The expression with the given names of its variables.
pub(super) fn print(node: &Node, names: &[String], dialect: &impl Dialect) -> String {
    text(node, names, dialect).signed()
}

fn text(node: &Node, names: &[String], dialect: &impl Dialect) -> Text {
    let inside = |node: &Node| text(node, names, dialect);
    match node {
        Node::Number(value) => Text {
            negative: *value < 0.0,
            ..Text::atom(dialect.number(value.abs()))
        },
        Node::Variable(index) => Text::atom(names[*index].clone()),
        Node::Call(function, inner) => Text::atom(dialect.call(*function, &inside(inner).signed())),
        Node::Power(inner, exponent) => {
            let base = inside(inner).signed();
            Text::atom(match whole(*exponent) {
                Some(exponent) => dialect.whole_power(&base, exponent),
                None => dialect.power(&base, *exponent),
            })
        }
        Node::Sum(parts) if parts.is_empty() => Text::atom(dialect.number(0.0)),
        Node::Sum(parts) => {
            let mut sum = String::new();
            for part in constants_last(parts) {
                let part = inside(part);
                let sign = match (sum.is_empty(), part.negative) {
                    (true, false) => "",
                    (true, true) => "-",
                    (false, false) => " + ",
                    (false, true) => " - ",
                };
                sum += sign;
                sum += &part.at_least(Binding::Product);
            }
            Text {
                negative: false,
                body: sum,
                binding: Binding::Sum,
            }
        }
        Node::Product(parts) => {
            let (mut negative, mut factors) = (false, Vec::new());
            for part in constants_last(parts) {
                let text = inside(part);
                negative ^= text.negative;
                let one = matches!(part, Node::Number(value) if value.abs() == 1.0);
                if !one || factors.is_empty() {
                    factors.push(text.at_least(Binding::Atom));
                }
            }
            if factors.is_empty() {
                factors.push(dialect.number(1.0));
            }
            Text {
                negative,
                binding: if factors.len() == 1 {
                    Binding::Atom
                } else {
                    Binding::Product
                },
                body: factors.join(dialect.times()),
            }
        }
    }
}

fn constants_last(parts: &[Node]) -> impl Iterator<Item = &Node> {
    let constant = |part: &&Node| matches!(part, Node::Number(_));
    let others = parts.iter().filter(move |part| !constant(part));
    others.chain(parts.iter().filter(constant))
}
