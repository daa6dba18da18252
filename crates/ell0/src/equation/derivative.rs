//! Symbolic differentiation.

use super::{Expression, Node};
use crate::{
    error::{Error, Result},
    features::Function,
};

impl Expression {
    /// ∂/∂variable.
    pub fn derivative(&self, variable: &str) -> Result<Expression> {
        let Some(index) = self.variables.iter().position(|name| name == variable) else {
            let known = self.variables.join(", ");
            return Err(Error::parameter(
                "variable",
                variable,
                format!("the variables are {known}"),
            ));
        };
        Ok(Expression {
            variables: self.variables.clone(),
            root: self.root.derivative(index),
        })
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
