//! Symbolic differentiation.

use super::{Expression, Node, expression::MOST_PARTS};
use crate::{
    error::{Error, Result, require},
    features::Function,
};

impl Expression {
    /// ∂/∂variable, written out. For derivatives that are only evaluated, see [`Shared`](super::Shared).
    pub fn derivative(&self, variable: &str) -> Result<Expression> {
        let Some(index) = self.variables.iter().position(|name| name == variable) else {
            let known = self.variables.join(", ");
            return Err(Error::parameter(
                "variable",
                variable,
                format!("the variables are {known}"),
            ));
        };
        let parts = self.root.parts().of_derivative;
        require(
            parts <= MOST_PARTS as f64,
            "derivative",
            format!("with about {parts:.1e} parts"),
            "at most 1,000,000 parts; `Shared::gradients` has no such limit",
        )?;
        Ok(Expression {
            variables: self.variables.clone(),
            root: self.root.derivative(index),
        })
    }
}

/// Numbers of nodes: as numbers that do not overflow.
#[derive(Clone, Copy, Default)]
struct Parts {
    own: f64,
    of_derivative: f64,
}

impl Node {
    /// Its nodes, and at most so many of its derivative written out.
    fn parts(&self) -> Parts {
        let (own, of_derivative) = match self {
            Node::Number(_) | Node::Variable(_) => (0.0, 0.0),
            Node::Sum(parts) => parts.iter().fold((0.0, 0.0), |(own, of), part| {
                let part = part.parts();
                (own + part.own, of + part.of_derivative)
            }),
            Node::Product(parts) => {
                let (own, of) = parts.iter().fold((0.0, 0.0), |(own, of), part| {
                    let part = part.parts();
                    (own + part.own, of + part.of_derivative)
                });
                // Every factor beside the derivative of every other.
                (own, of + own * parts.len() as f64)
            }
            Node::Power(inner, _) | Node::Call(_, inner) => {
                let inner = inner.parts();
                (inner.own, inner.of_derivative + inner.own + 5.0)
            }
        };
        Parts {
            own: own + 1.0,
            of_derivative: of_derivative + 1.0,
        }
    }
}

impl Node {
    /// ∂/∂variable.
    pub fn derivative(&self, variable: usize) -> Node {
        match self {
            Node::Number(_) => Node::Number(0.0),
            Node::Variable(index) => Node::Number(f64::from(*index == variable)),
            Node::Sum(parts) => Node::sum(parts.iter().map(|part| part.derivative(variable))),
            Node::Product(parts) => Node::sum((0..parts.len()).map(|k| {
                let factor = |(i, part): (usize, &Node)| {
                    if i == k {
                        part.derivative(variable)
                    } else {
                        part.clone()
                    }
                };
                Node::product(parts.iter().enumerate().map(factor))
            })),
            Node::Power(inner, exponent) => Node::product([
                Node::Number(*exponent),
                Node::power((**inner).clone(), exponent - 1.0),
                inner.derivative(variable),
            ]),
            Node::Call(function, inner) => {
                let argument = || (**inner).clone();
                let outer = match function {
                    Function::Exp => Node::call(Function::Exp, argument()),
                    Function::Log => Node::power(argument(), -1.0),
                    Function::Sqrt => {
                        Node::product([Node::Number(0.5), Node::power(self.clone(), -1.0)])
                    }
                    Function::Abs => Node::call(Function::Sign, argument()),
                    // 0 almost everywhere.
                    Function::Sign => Node::Number(0.0),
                    Function::Sin => Node::call(Function::Cos, argument()),
                    Function::Cos => {
                        Node::product([Node::Number(-1.0), Node::call(Function::Sin, argument())])
                    }
                    Function::Tanh => Node::sum([
                        Node::Number(1.0),
                        Node::product([Node::Number(-1.0), Node::power(self.clone(), 2.0)]),
                    ]),
                };
                Node::product([outer, inner.derivative(variable)])
            }
        }
    }
}
