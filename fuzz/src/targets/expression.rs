//! Expressions.

use ell0::equation::{Dynamics, Expression, Model};

use super::text::{self, Grammar};
use crate::verdict::{Fault, Outcome, Verdict, error};

pub const TARGET: Grammar = Grammar {
    seeds: &SEEDS,
    words: &WORDS,
    run,
};

const VARIABLES: [&str; 4] = ["x", "y", "theta_dot", "a b"];

const SEEDS: [&str; 8] = [
    "2*tanh(-4.66*x - 0.5*theta_dot)",
    "-10*x + 10*y",
    "x*(28 - y) - theta_dot/3",
    "2.5 x^2 sin(1 y)",
    "exp(-x**2)/(1 + abs(y))^1.5",
    "`a b`*sqrt(x) - log(y)*sign(theta_dot)",
    "1e-3 + cos(2*x)*x^-1",
    "((x))",
];

const WORDS: [&str; 33] = [
    "x",
    "y",
    "theta_dot",
    "`a b`",
    "`",
    "z",
    "+",
    "-",
    "*",
    "/",
    "^",
    "**",
    "(",
    ")",
    "exp",
    "log",
    "sqrt",
    "abs",
    "tanh",
    "sign",
    "sin",
    "cos",
    "sin(",
    "exp(",
    "1",
    "0",
    "-1",
    "0.5",
    "1e308",
    "1e-320",
    " ",
    "^0.5",
    "^-2",
];

fn run(bytes: &[u8]) -> Verdict {
    let parse = |text: &str| Expression::parse(text, &VARIABLES);
    text::read(bytes, parse, |expression| {
        let _ = expression.evaluate_row(&[0.5, -1.5, 2.0, 1.0]);
        let _ = (expression.latex(5), expression.mathml(5));
        let slope = match expression.derivative("x") {
            Ok(slope) => slope,
            Err(e) => return error(e),
        };
        let _ = slope.evaluate_row(&[0.5, -1.5, 2.0, 1.0]);
        let columns = [0.5, 1.0, -1.5, 0.0, 2.0, 1.0, 1.0, 3.0];
        match expression.evaluate(&columns, 2) {
            Ok(values) if values.len() == 2 => {}
            Ok(_) => return Err(Fault::wrong("a value for each row", "")),
            Err(e) => return error(e),
        }
        // A model's file is what an expression must survive; one that cannot be written is refused there.
        let variables = VARIABLES.map(String::from).to_vec();
        let laws = vec![("y".into(), expression.clone())];
        match Model::new(variables, laws, Dynamics::Regression) {
            Ok(_) => text::same_again(&expression, &expression.to_string(), parse)?,
            Err(e) => return error(e),
        }
        Ok(Outcome::Valid)
    })
}
