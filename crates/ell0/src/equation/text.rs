//! An expression as plain text, which can be read back: `0.75*sin_theta + 2*x^2*tanh(u) - 1`.

use std::fmt::{self, Display, Write};

use super::{Expression, Node};

/// A name as it is printed: as it is, or between backticks where it could not be read back otherwise.
pub(super) fn name(name: &str) -> String {
    if is_plain(name) {
        name.to_string()
    } else {
        format!("`{}`", name.replace('`', "``"))
    }
}

/// Whether a name is a word of letters, digits, dots and underscores that is not a function's.
fn is_plain(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_')
        && characters.all(|c| c.is_alphanumeric() || c == '_' || c == '.')
        && name.parse::<crate::features::Function>().is_err()
        && !matches!(name, "inf" | "NaN" | "nan")
}

/// A number with so many significant digits, or with all of them; very small and very large ones with an exponent.
fn number(f: &mut impl Write, value: f64, digits: Option<usize>) -> fmt::Result {
    let rounded = match digits {
        Some(digits) => format!("{value:.*e}", digits.saturating_sub(1))
            .parse()
            .unwrap_or(value),
        None => value,
    };
    if rounded == 0.0 || (1e-5..1e16).contains(&rounded.abs()) {
        write!(f, "{rounded}")
    } else {
        write!(f, "{rounded:e}")
    }
}

/// The same as text.
pub(super) fn significant(value: f64, digits: usize) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = number(&mut text, value, Some(digits));
    text
}

/// How tightly a node must bind to stand without brackets.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) enum Binding {
    Sum,
    Product,
    Power,
}

impl Node {
    fn needs_brackets(&self, outer: Binding) -> bool {
        let (own, negative) = match self {
            Node::Sum(_) => (Binding::Sum, false),
            Node::Product(parts) => (
                Binding::Product,
                matches!(parts.first(), Some(Node::Number(v)) if v.is_sign_negative()),
            ),
            // A negative number next to another factor, or under a power, needs brackets.
            Node::Number(value) if value.is_sign_negative() => (Binding::Sum, true),
            Node::Power(..) => (Binding::Product, false),
            _ => (Binding::Power, false),
        };
        own < outer || (negative && outer > Binding::Sum)
    }

    /// How deeply brackets are nested in its text; an exponent counts as one, too.
    pub(super) fn nesting(&self, outer: Binding) -> usize {
        let inner = match self {
            Node::Number(_) | Node::Variable(_) => 0,
            Node::Sum(parts) => parts
                .iter()
                .map(|p| p.nesting(Binding::Sum))
                .max()
                .unwrap_or(0),
            Node::Product(parts) => {
                let levels = parts.iter().map(|p| p.nesting(Binding::Product));
                levels.max().unwrap_or(0)
            }
            Node::Power(inner, _) => inner.nesting(Binding::Power).max(1),
            Node::Call(_, inner) => inner.nesting(Binding::Sum) + 1,
        };
        inner + usize::from(self.needs_brackets(outer))
    }

    fn write(
        &self,
        f: &mut impl Write,
        variables: &[String],
        digits: Option<usize>,
        outer: Binding,
    ) -> fmt::Result {
        let bracket = self.needs_brackets(outer);
        if bracket {
            f.write_char('(')?;
        }
        match self {
            Node::Number(value) => number(f, *value, digits)?,
            Node::Variable(index) => f.write_str(&name(&variables[*index]))?,
            Node::Sum(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    let mut text = String::new();
                    part.write(&mut text, variables, digits, Binding::Sum)?;
                    match (index, text.strip_prefix('-')) {
                        (0, _) => f.write_str(&text)?,
                        (_, Some(rest)) => write!(f, " - {rest}")?,
                        (_, None) => write!(f, " + {text}")?,
                    }
                }
            }
            Node::Product(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    if index == 0
                        && parts.len() > 1
                        && let Node::Number(value) = part
                    {
                        if *value == -1.0 {
                            f.write_char('-')?;
                        } else {
                            number(f, *value, digits)?;
                            f.write_char('*')?;
                        }
                        continue;
                    }
                    if index > 0 && !matches!((index, &parts[0]), (1, Node::Number(_))) {
                        f.write_char('*')?;
                    }
                    part.write(f, variables, digits, Binding::Product)?;
                }
            }
            Node::Power(inner, exponent) => {
                inner.write(f, variables, digits, Binding::Power)?;
                write!(f, "^{exponent}")?;
            }
            Node::Call(function, inner) => {
                write!(f, "{function}(")?;
                inner.write(f, variables, digits, Binding::Sum)?;
                f.write_char(')')?;
            }
        }
        if bracket {
            f.write_char(')')?;
        }
        Ok(())
    }
}

impl Display for Expression {
    /// With all digits, or with as many significant ones as the precision says: `format!("{law:.4}")`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let digits = f.precision();
        let mut text = String::new();
        self.root
            .write(&mut text, &self.variables, digits, Binding::Sum)?;
        f.write_str(&text)
    }
}
