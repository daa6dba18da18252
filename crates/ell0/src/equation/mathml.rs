//! An expression as MathML, which browsers set without help.

use super::{Dynamics, Expression, Model, Node, text::significant};
use crate::features::Function;

/// Text that may stand in a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A name: Greek letters as such, what follows an underscore as an index, a dot for rates of change.
fn name(name: &str) -> String {
    const GREEK: [(&str, &str); 14] = [
        ("alpha", "α"),
        ("beta", "β"),
        ("gamma", "γ"),
        ("delta", "δ"),
        ("epsilon", "ε"),
        ("theta", "θ"),
        ("lambda", "λ"),
        ("mu", "μ"),
        ("rho", "ρ"),
        ("sigma", "σ"),
        ("tau", "τ"),
        ("phi", "φ"),
        ("psi", "ψ"),
        ("omega", "ω"),
    ];
    let word = |word: &str| {
        let greek = GREEK.iter().find(|g| g.0 == word);
        format!("<mi>{}</mi>", greek.map_or(escaped(word), |g| g.1.into()))
    };
    match name.split_once('_') {
        Some((base, "dot")) => format!("<mover>{}<mo>˙</mo></mover>", word(base)),
        Some((base @ ("sin" | "cos"), rest)) if !rest.is_empty() => {
            format!("<mrow><mi>{base}</mi><mo>&#8289;</mo>{}</mrow>", word(rest))
        }
        Some((base, rest)) if !base.is_empty() && !rest.is_empty() => {
            format!("<msub>{}<mrow>{}</mrow></msub>", word(base), word(rest))
        }
        _ => word(name),
    }
}

/// A number that is not negative.
fn number(value: f64, digits: usize) -> String {
    let text = significant(value, digits);
    match text.split_once('e') {
        None => format!("<mn>{text}</mn>"),
        Some((mantissa, exponent)) => format!(
            "<mn>{mantissa}</mn><mo>·</mo><msup><mn>10</mn><mn>{}</mn></msup>",
            exponent.replace('-', "−")
        ),
    }
}

impl Node {
    /// Whether it begins with a minus, and the rest.
    fn signed_mathml(&self, variables: &[String], digits: usize) -> (bool, String) {
        match self {
            Node::Number(value) => (*value < 0.0, number(value.abs(), digits)),
            Node::Product(parts) => match parts.split_first() {
                Some((Node::Number(value), rest)) => {
                    let mut text = String::new();
                    if value.abs() != 1.0 {
                        text += &(number(value.abs(), digits) + "<mo>&#8290;</mo>");
                    }
                    let factors: Vec<String> =
                        rest.iter().map(|p| p.factor(variables, digits)).collect();
                    (*value < 0.0, text + &factors.join("<mo>&#8290;</mo>"))
                }
                _ => {
                    let factors: Vec<String> =
                        parts.iter().map(|p| p.factor(variables, digits)).collect();
                    (false, factors.join("<mo>&#8290;</mo>"))
                }
            },
            other => (false, other.mathml(variables, digits)),
        }
    }

    fn bracketed(&self, variables: &[String], digits: usize) -> String {
        format!(
            "<mrow><mo>(</mo>{}<mo>)</mo></mrow>",
            self.mathml(variables, digits)
        )
    }

    fn factor(&self, variables: &[String], digits: usize) -> String {
        match self {
            Node::Sum(_) => self.bracketed(variables, digits),
            Node::Number(value) if *value < 0.0 => self.bracketed(variables, digits),
            other => other.mathml(variables, digits),
        }
    }

    fn mathml(&self, variables: &[String], digits: usize) -> String {
        match self {
            Node::Variable(index) => name(&variables[*index]),
            Node::Sum(parts) => {
                let mut text = String::new();
                for (k, part) in parts.iter().enumerate() {
                    let (negative, part) = part.signed_mathml(variables, digits);
                    match (k, negative) {
                        (_, true) => text += "<mo>−</mo>",
                        (0, false) => {}
                        (_, false) => text += "<mo>+</mo>",
                    }
                    text += &part;
                }
                text
            }
            Node::Number(_) | Node::Product(_) => {
                let (negative, text) = self.signed_mathml(variables, digits);
                if negative {
                    format!("<mo>−</mo>{text}")
                } else {
                    text
                }
            }
            Node::Power(inner, exponent) => {
                let base = match &**inner {
                    Node::Variable(index) if !variables[*index].contains('_') => {
                        inner.mathml(variables, digits)
                    }
                    other => other.bracketed(variables, digits),
                };
                let exponent = exponent.to_string().replace('-', "−");
                format!("<msup>{base}<mn>{exponent}</mn></msup>")
            }
            Node::Call(function, inner) => match function {
                Function::Sqrt => format!("<msqrt>{}</msqrt>", inner.mathml(variables, digits)),
                Function::Abs => format!(
                    "<mrow><mo>|</mo>{}<mo>|</mo></mrow>",
                    inner.mathml(variables, digits)
                ),
                function => format!(
                    "<mi>{function}</mi><mo>&#8289;</mo>{}",
                    inner.bracketed(variables, digits)
                ),
            },
        }
    }
}

impl Expression {
    /// The expression as MathML, without the `math` element around it, with so many significant digits.
    pub fn mathml(&self, digits: usize) -> String {
        self.root.mathml(&self.variables, digits.clamp(1, 17))
    }
}

impl Model {
    /// Each equation as a MathML element of its own.
    pub fn mathml(&self, digits: usize) -> Vec<String> {
        let line = |(target, expression): (&str, &Expression)| {
            let left = name(target);
            let left = match self.dynamics() {
                Dynamics::Regression => left,
                Dynamics::Continuous => format!("<mover>{left}<mo>˙</mo></mover>"),
                Dynamics::Discrete => {
                    format!("<msup>{left}<mo>+</mo></msup>")
                }
            };
            format!(
                "<math display=\"block\"><mrow>{left}<mo>=</mo>{}</mrow></math>",
                expression.mathml(digits)
            )
        };
        self.targets().zip(self.expressions()).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laws_are_set_as_one_would_write_them() {
        let names = ["cos_theta", "theta_dot", "x"];
        let mathml = |text: &str| Expression::parse(text, &names).expect("a law").mathml(4);
        assert_eq!(
            mathml("-2*x + 0.5*x^2"),
            "<mo>−</mo><mn>2</mn><mo>&#8290;</mo><mi>x</mi><mo>+</mo><mn>0.5</mn><mo>&#8290;</mo><msup><mi>x</mi><mn>2</mn></msup>"
        );
        let law = mathml("2*tanh(-cos_theta*theta_dot)");
        assert!(
            law.contains("<mi>tanh</mi>") && law.contains("<mi>cos</mi><mo>&#8289;</mo><mi>θ</mi>"),
            "{law}"
        );
        assert!(law.contains("<mover><mi>θ</mi><mo>˙</mo></mover>"), "{law}");
        // Every element that is opened is closed.
        for text in ["sqrt(x) - abs(x)^1.5", "1e-9*x - (x + 1)*(x - 2)", "-3"] {
            let law = mathml(text);
            let opened = law.matches('<').count() - law.matches("</").count();
            assert_eq!(opened, law.matches("</").count(), "{law}");
        }
        assert_eq!(name("a<b"), "<mi>a&lt;b</mi>");
    }
}
