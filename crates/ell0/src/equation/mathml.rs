//! An expression as MathML, which browsers set without help.

use super::{Dynamics, Equation, Expression, Model, Node, text::significant};
use crate::features::Function;

/// Text that may stand in a page.
fn escaped(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Between factors: an invisible sign with a little room.
const TIMES: &str = "<mo rspace=\"0.17em\">&#8290;</mo>";

/// A rate of change.
fn dotted(text: &str) -> String {
    format!("<mover accent=\"true\">{text}<mo stretchy=\"false\">˙</mo></mover>")
}

/// A name, to a power if there is one: Greek letters as such, what follows an underscore as an index, a dot for rates of change.
fn name(name: &str, exponent: Option<&str>) -> String {
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
    let raised = |base: String| match exponent {
        Some(exponent) => format!("<msup>{base}<mn>{exponent}</mn></msup>"),
        None => base,
    };
    match name.split_once('_') {
        Some(("next", rest)) if !rest.is_empty() && exponent.is_none() => {
            format!(
                "<msup><mrow>{}</mrow><mo>+</mo></msup>",
                self::name(rest, None)
            )
        }
        Some((base, "dot")) if !base.is_empty() => raised(dotted(&word(base))),
        // cos²θ, as one writes it.
        Some((base @ ("sin" | "cos"), rest)) if !rest.is_empty() => {
            let of = |base: String| {
                let argument = self::name(rest, None);
                format!("<mrow>{base}<mspace width=\"0.17em\"/>{argument}</mrow>")
            };
            let function = format!("<mi>{base}</mi>");
            // sin⁻¹ θ would be the arcsine.
            match exponent.map(str::parse::<u32>) {
                Some(Ok(_)) => of(raised(function)),
                _ => raised(match exponent {
                    Some(_) => format!("<mrow><mo>(</mo>{}<mo>)</mo></mrow>", of(function)),
                    None => of(function),
                }),
            }
        }
        Some((base, rest)) if !base.is_empty() && !rest.is_empty() => raised(format!(
            "<msub>{}<mrow>{}</mrow></msub>",
            word(base),
            word(rest)
        )),
        _ => raised(word(name)),
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

/// The factors of a product, functions last: θ̇ cos θ, since cos θ θ̇ would read as the cosine of a product.
fn factors(parts: &[Node], variables: &[String], digits: usize) -> Vec<String> {
    let mut parts: Vec<&Node> = parts.iter().collect();
    parts.sort_by_key(|part| part.is_function(variables));
    parts.iter().map(|p| p.factor(variables, digits)).collect()
}

impl Node {
    /// Whether it is set as a function and its argument.
    fn is_function(&self, variables: &[String]) -> bool {
        match self {
            Node::Variable(index) => {
                let name = &variables[*index];
                name.starts_with("sin_") || name.starts_with("cos_")
            }
            Node::Power(inner, _) => inner.is_function(variables),
            Node::Call(function, _) => !matches!(function, Function::Sqrt | Function::Abs),
            _ => false,
        }
    }

    /// Whether it begins with a minus, and the rest.
    fn signed_mathml(&self, variables: &[String], digits: usize) -> (bool, String) {
        match self {
            Node::Number(value) => (*value < 0.0, number(value.abs(), digits)),
            Node::Product(parts) => match parts.split_first() {
                Some((Node::Number(value), rest)) => {
                    let mut text = String::new();
                    if value.abs() != 1.0 {
                        text += &(number(value.abs(), digits) + TIMES);
                    }
                    (
                        *value < 0.0,
                        text + &factors(rest, variables, digits).join(TIMES),
                    )
                }
                _ => (false, factors(parts, variables, digits).join(TIMES)),
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
            Node::Variable(index) => name(&variables[*index], None),
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
                let exponent = exponent.to_string().replace('-', "−");
                match &**inner {
                    Node::Variable(index) => name(&variables[*index], Some(&exponent)),
                    other => format!(
                        "<msup>{}<mn>{exponent}</mn></msup>",
                        other.bracketed(variables, digits)
                    ),
                }
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

impl Node {
    /// The terms of a sum, each with its sign, also where a function, and perhaps a factor before it, holds the whole sum: places where a long law may go on in the next line.
    fn pieces(&self, variables: &[String], digits: usize) -> Vec<String> {
        match self {
            Node::Sum(parts) => {
                let piece = |(k, part): (usize, &Node)| {
                    let (negative, text) = part.signed_mathml(variables, digits);
                    match (k, negative) {
                        (0, false) => text,
                        (0, true) => format!("<mo form=\"prefix\">−</mo>{text}"),
                        (_, false) => format!("<mo form=\"infix\" lspace=\"0\">+</mo>{text}"),
                        (_, true) => format!("<mo form=\"infix\" lspace=\"0\">−</mo>{text}"),
                    }
                };
                parts.iter().enumerate().map(piece).collect()
            }
            Node::Call(function, inner)
                if matches!(**inner, Node::Sum(_))
                    && !matches!(function, Function::Sqrt | Function::Abs) =>
            {
                let mut pieces = inner.pieces(variables, digits);
                let opening =
                    format!("<mi>{function}</mi><mo form=\"prefix\" stretchy=\"false\">(</mo>");
                if let Some(first) = pieces.first_mut() {
                    first.insert_str(0, &opening);
                }
                if let Some(last) = pieces.last_mut() {
                    last.push_str("<mo form=\"postfix\" stretchy=\"false\">)</mo>");
                }
                pieces
            }
            Node::Product(parts) => match &parts[..] {
                [Node::Number(value), call @ Node::Call(..)] => {
                    let mut pieces = call.pieces(variables, digits);
                    let (negative, factor) = Node::Number(*value).signed_mathml(variables, digits);
                    let sign = if negative {
                        "<mo form=\"prefix\">−</mo>"
                    } else {
                        ""
                    };
                    let factor = match value.abs() {
                        1.0 => String::new(),
                        _ => factor + TIMES,
                    };
                    if let Some(first) = pieces.first_mut() {
                        first.insert_str(0, &format!("{sign}{factor}"));
                    }
                    pieces
                }
                _ => vec![self.mathml(variables, digits)],
            },
            _ => vec![self.mathml(variables, digits)],
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
    /// Each equation as MathML elements, one for each term, so that a long one can be broken between lines.
    pub fn mathml(&self, digits: usize) -> Vec<String> {
        let line = |equation: &Equation| {
            let expression = &equation.expression;
            let left = name(&equation.target, None);
            let left = match self.dynamics() {
                Dynamics::Regression => left,
                Dynamics::Continuous => dotted(&left),
                Dynamics::Discrete => {
                    format!("<msup>{left}<mo>+</mo></msup>")
                }
            };
            let pieces = expression
                .root
                .pieces(&expression.variables, equation.shown(digits));
            let begin = format!("<math>{left}<mo form=\"infix\" rspace=\"0\">=</mo></math>");
            let pieces = pieces.iter().map(|p| format!("<math>{p}</math>"));
            std::iter::once(begin)
                .chain(pieces)
                .collect::<Vec<_>>()
                .join("\n")
        };
        self.equations().iter().map(line).collect()
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
            format!(
                "<mo>−</mo><mn>2</mn>{TIMES}<mi>x</mi><mo>+</mo><mn>0.5</mn>{TIMES}<msup><mi>x</mi><mn>2</mn></msup>"
            )
        );
        let law = mathml("2*tanh(-cos_theta*theta_dot)");
        assert!(
            law.contains("<mi>tanh</mi>")
                && law.contains("<mi>cos</mi><mspace width=\"0.17em\"/><mi>θ</mi>"),
            "{law}"
        );
        assert!(law.contains(&dotted("<mi>θ</mi>")), "{law}");
        // Every element that is opened is closed.
        let closed = |law: &str| {
            let alone = law.matches("/>").count();
            let opened = law.matches('<').count() - law.matches("</").count() - alone;
            assert_eq!(opened, law.matches("</").count(), "{law}");
        };
        for text in ["sqrt(x) - abs(x)^1.5", "1e-9*x - (x + 1)*(x - 2)", "-3"] {
            closed(&mathml(text));
        }
        assert!(mathml("cos_theta^2").starts_with("<mrow><msup><mi>cos</mi><mn>2</mn></msup>"));
        // Not the arccosine.
        assert!(mathml("cos_theta^-1").starts_with("<msup><mrow><mo>(</mo>"));
        // A long law can be broken at each term, inside of the function, too.
        let law = Expression::parse("-2*tanh(x - 3*theta_dot)", &names).expect("a law");
        let minus = Expression::parse("-tanh(x - 3*theta_dot)", &names).expect("a law");
        assert!(!minus.root.pieces(&minus.variables, 4)[0].contains("<mn>1</mn>"));
        let pieces = law.root.pieces(&law.variables, 4);
        assert_eq!(pieces.len(), 2);
        pieces.iter().for_each(|p| closed(p));
        assert!(pieces[0].starts_with("<mo form=\"prefix\">−</mo><mn>2</mn>"));
        assert!(pieces[1].ends_with(")</mo>"));
        assert_eq!(name("a<b", None), "<mi>a&lt;b</mi>");
    }
}
