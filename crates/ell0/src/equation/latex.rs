//! An expression as LaTeX.

use super::{Expression, Node};
use crate::{features::Function, wording::on_one_line};

impl Expression {
    /// The expression as LaTeX, with so many significant digits.
    pub fn latex(&self, digits: usize) -> String {
        self.root.latex(&self.variables, digits.clamp(1, 17))
    }
}

/// A name as LaTeX: Greek letters by name, what follows an underscore as an index, the rest upright.
pub(crate) fn latex_name(name: &str) -> String {
    const GREEK: [&str; 22] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda",
        "mu", "nu", "xi", "pi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "iota",
    ];
    let word = |word: &str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &word[letters.len()..];
        let escaped: String = letters
            .chars()
            .flat_map(|c| match c {
                '\\' => "\\backslash ".chars().collect::<Vec<_>>(),
                '^' | '~' => vec!['\\', c, '{', '}'],
                '#' | '$' | '%' | '&' | '{' | '}' | '_' => vec!['\\', c],
                c => vec![c],
            })
            .collect();
        let base = if GREEK.contains(&letters) {
            format!("\\{letters}")
        } else if letters.chars().count() == 1 {
            escaped
        } else {
            format!("\\mathrm{{{escaped}}}")
        };
        if digits.is_empty() {
            base
        } else if letters.is_empty() {
            digits.to_string()
        } else {
            format!("{base}_{{{digits}}}")
        }
    };
    // What could not be seen stands there escaped, as it does in messages.
    let name = on_one_line(name);
    match name.split_once('_') {
        Some((base, "dot")) => format!("\\dot{{{}}}", word(base)),
        Some((base @ ("sin" | "cos"), rest)) => format!("\\{base} {}", word(rest)),
        Some((base, rest)) if !base.is_empty() && !rest.is_empty() => {
            let parts: Vec<String> = rest.split('_').map(word).collect();
            let head = word(base);
            if head.contains('_') {
                format!("{{{head}}}_{{{}}}", parts.join(","))
            } else {
                format!("{head}_{{{}}}", parts.join(","))
            }
        }
        _ => word(&name),
    }
}

/// A number as LaTeX: 1.2\cdot10^{-5} where that is shorter.
pub(crate) fn latex_number(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let text = format!("{value:.*e}", digits.saturating_sub(1));
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return text.parse::<f64>().map_or(text.clone(), |v| v.to_string());
    }
    let mantissa = mantissa
        .parse::<f64>()
        .map_or(mantissa.to_string(), |v| v.to_string());
    format!("{mantissa} \\cdot 10^{{{exponent}}}")
}

impl Node {
    fn latex(&self, variables: &[String], digits: usize) -> String {
        let bracketed = |node: &Node| format!("\\left({}\\right)", node.latex(variables, digits));
        match self {
            Node::Number(value) => latex_number(*value, digits),
            Node::Variable(index) => latex_name(&variables[*index]),
            Node::Sum(parts) => {
                let mut text = String::new();
                for (index, part) in parts.iter().enumerate() {
                    let part = part.latex(variables, digits);
                    match part.strip_prefix('-') {
                        _ if index == 0 => text += &part,
                        Some(rest) => text += &format!(" - {}", rest.trim_start()),
                        None => text += &format!(" + {part}"),
                    }
                }
                text
            }
            Node::Product(parts) => {
                let mut factors = Vec::new();
                for (index, part) in parts.iter().enumerate() {
                    factors.push(match part {
                        Node::Number(value) if index == 0 && *value == -1.0 => "-".to_string(),
                        Node::Number(value) if index > 0 && *value < 0.0 => bracketed(part),
                        Node::Sum(_) => bracketed(part),
                        part => part.latex(variables, digits),
                    });
                }
                factors.join(" \\, ")
            }
            Node::Power(inner, exponent) => {
                let base = match **inner {
                    Node::Variable(index) if !variables[index].contains('_') => {
                        inner.latex(variables, digits)
                    }
                    _ => bracketed(inner),
                };
                format!("{base}^{{{exponent}}}")
            }
            Node::Call(function, inner) => {
                let argument = inner.latex(variables, digits);
                match function {
                    Function::Sqrt => format!("\\sqrt{{{argument}}}"),
                    Function::Abs => format!("\\left|{argument}\\right|"),
                    Function::Sign => format!("\\operatorname{{sign}}\\left({argument}\\right)"),
                    function => format!("\\{function}\\left({argument}\\right)"),
                }
            }
        }
    }
}
