//! The tree of an expression, kept simple as it is built.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{parse::MAX_DEPTH, text::Binding};
use crate::{
    error::{Error, Result, require, require_len},
    features::{Factor, Function, Term},
};

/// A node of an expression. The constructors [`Node::sum`], [`Node::product`] and [`Node::power`] fold constants and flatten.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A constant.
    Number(f64),
    /// A variable, by its index.
    Variable(usize),
    /// Σ.
    Sum(Vec<Node>),
    /// Π.
    Product(Vec<Node>),
    /// A constant power.
    Power(Box<Node>, f64),
    /// A function.
    Call(Function, Box<Node>),
}

impl Node {
    /// Σ of the parts: nested sums are flattened, constants added up, zeros left out.
    pub fn sum(parts: impl IntoIterator<Item = Node>) -> Node {
        let (mut kept, mut constant) = (Vec::new(), 0.0);
        for part in parts {
            match part {
                Node::Number(value) => constant += value,
                Node::Sum(inner) => {
                    for part in inner {
                        match part {
                            Node::Number(value) => constant += value,
                            other => kept.push(other),
                        }
                    }
                }
                other => kept.push(other),
            }
        }
        if constant != 0.0 {
            kept.insert(0, Node::Number(constant));
        }
        match kept.len() {
            0 => Node::Number(constant),
            1 => kept.remove(0),
            _ => Node::Sum(kept),
        }
    }

    /// Π of the parts: nested products are flattened, constants multiplied, ones left out; a factor 0 makes it 0.
    pub fn product(parts: impl IntoIterator<Item = Node>) -> Node {
        let (mut kept, mut constant) = (Vec::new(), 1.0);
        for part in parts {
            match part {
                Node::Number(value) => constant *= value,
                Node::Product(inner) => {
                    for part in inner {
                        match part {
                            Node::Number(value) => constant *= value,
                            other => kept.push(other),
                        }
                    }
                }
                other => kept.push(other),
            }
        }
        if constant == 0.0 {
            return Node::Number(0.0);
        }
        if constant != 1.0 {
            kept.insert(0, Node::Number(constant));
        }
        match kept.len() {
            0 => Node::Number(constant),
            1 => kept.remove(0),
            _ => Node::Product(kept),
        }
    }

    /// A constant. There is one zero: −0 could not be told from 0 in text.
    fn constant(value: f64) -> Node {
        Node::Number(value + 0.0)
    }

    /// The same, built by the constructors throughout: what its text is read back as.
    fn normal(self) -> Node {
        match self {
            Node::Number(value) => Node::constant(value),
            Node::Variable(index) => Node::Variable(index),
            Node::Sum(parts) => Node::sum(parts.into_iter().map(Node::normal)),
            Node::Product(parts) => Node::product(parts.into_iter().map(Node::normal)),
            Node::Power(base, exponent) => Node::power(base.normal(), exponent),
            Node::Call(function, argument) => Node::call(function, argument.normal()),
        }
    }

    /// base^exponent.
    pub fn power(base: Node, exponent: f64) -> Node {
        match base {
            _ if exponent == 0.0 => Node::Number(1.0),
            base if exponent == 1.0 => base,
            Node::Number(value) => Node::constant(value.powf(exponent)),
            // (x^a)^b = x^(ab) for whole numbers; not so for others: √(x²) = |x|.
            Node::Power(inner, a)
                if a.fract() == 0.0 && exponent.fract() == 0.0 && (a * exponent).is_finite() =>
            {
                Node::power(*inner, a * exponent)
            }
            base => Node::Power(Box::new(base), exponent),
        }
    }

    /// f(argument).
    pub fn call(function: Function, argument: Node) -> Node {
        match argument {
            Node::Number(value) => Node::constant(function.apply(value)),
            argument => Node::Call(function, Box::new(argument)),
        }
    }

    /// The expression of a term.
    pub fn term(term: &Term) -> Node {
        Node::product(term.factors().iter().map(|factor| match *factor {
            Factor::Power { input, exponent } => {
                Node::power(Node::Variable(input), f64::from(exponent))
            }
            Factor::Call {
                function,
                frequency,
                input,
            } => {
                let argument = [Node::Number(f64::from(frequency)), Node::Variable(input)];
                Node::call(function, Node::product(argument))
            }
        }))
    }

    /// Whether all constants and exponents are finite.
    pub(super) fn is_finite(&self) -> bool {
        let mut finite = true;
        self.visit(&mut |node| {
            if let Node::Number(value) | Node::Power(_, value) = node {
                finite &= value.is_finite();
            }
        });
        finite
    }

    /// Calls `visit` on this node and all below it.
    pub fn visit(&self, visit: &mut impl FnMut(&Node)) {
        visit(self);
        match self {
            Node::Number(_) | Node::Variable(_) => {}
            Node::Sum(parts) | Node::Product(parts) => {
                parts.iter().for_each(|part| part.visit(visit))
            }
            Node::Power(inner, _) | Node::Call(_, inner) => inner.visit(visit),
        }
    }
}

/// More nodes than this are no law that anybody reads, and their text no text to be read.
pub(super) const MOST_PARTS: usize = 1_000_000;

/// An expression with named variables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct Expression {
    /// Shared by the equations of a model, of which there may be as many as there are names.
    pub(super) variables: Arc<[String]>,
    pub(super) root: Node,
}

/// An expression as it is saved: its variables and its text, with all digits.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    variables: Vec<String>,
    text: String,
}

impl TryFrom<Saved> for Expression {
    type Error = Error;

    fn try_from(saved: Saved) -> Result<Self> {
        Expression::parse(&saved.text, &saved.variables)
    }
}

impl From<Expression> for Saved {
    fn from(expression: Expression) -> Self {
        Saved {
            text: expression.to_string(),
            variables: expression.variables.to_vec(),
        }
    }
}

impl Expression {
    /// An expression of the given variables. Its tree is brought to the form that the constructors of [`Node`] give.
    pub fn new(variables: impl Into<Arc<[String]>>, root: Node) -> Result<Self> {
        let variables = variables.into();
        let (mut largest, mut parts) = (0, 0usize);
        root.visit(&mut |node| {
            parts += 1;
            if let Node::Variable(index) = node {
                largest = largest.max(index + 1);
            }
        });
        if largest > variables.len() {
            require_len("variables of the expression", variables.len(), largest)?;
        }
        require(
            parts <= MOST_PARTS,
            "expression",
            format!("of {parts} parts"),
            "at most 1,000,000 parts",
        )?;
        let root = root.normal();
        Ok(Expression { variables, root })
    }

    /// Σ coefficient · term.
    pub fn linear<'a>(
        variables: impl Into<Arc<[String]>>,
        terms: impl IntoIterator<Item = (f64, &'a Term)>,
    ) -> Result<Self> {
        let parts = terms.into_iter().map(|(coefficient, term)| {
            Node::product([Node::Number(coefficient), Node::term(term)])
        });
        Expression::new(variables, Node::sum(parts))
    }

    /// Checks that its text can be read back.
    pub(super) fn check_writable(&self) -> Result<()> {
        require(
            self.root.is_finite(),
            "expression",
            format!("`{self}`"),
            "its constants must be finite: it divides by zero, or leaves a function's domain",
        )?;
        let levels = self.root.nesting(Binding::Sum) + 1;
        require(
            levels <= MAX_DEPTH,
            "expression",
            format!("with {levels} nested brackets"),
            "less nesting (at most 100 levels)",
        )
    }

    /// Names of the variables, in the order of the values that [`evaluate_row`](Self::evaluate_row) takes.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The tree.
    pub fn root(&self) -> &Node {
        &self.root
    }
}
