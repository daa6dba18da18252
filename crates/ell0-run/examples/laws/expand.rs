//! An expression multiplied out: coefficients of products of powers and functions of single variables, where it is a sum of such.

use std::collections::BTreeMap;

use ell0::{
    equation::Node,
    features::{Factor, Features, Function, Term},
};

/// Σ coefficient · term.
pub struct Terms(BTreeMap<Term, f64>);

/// Powers of sums up to this one are multiplied out.
const LARGEST_POWER: f64 = 20.0;

/// Coefficients that are this small beside the largest are what rounding left of terms that cancel.
const ROUNDING: f64 = 1e-12;

impl Terms {
    /// The terms of an expression; none if it is no such sum.
    pub fn of(node: &Node) -> Option<Self> {
        match node {
            Node::Number(value) => Some(Terms::single(Term::one(), *value)),
            Node::Variable(input) => {
                let power = Factor::Power {
                    input: *input,
                    exponent: 1,
                };
                Some(Terms::single(Term::of(power), 1.0))
            }
            Node::Sum(parts) => {
                let mut sum = Terms(BTreeMap::new());
                for part in parts {
                    sum.add(Terms::of(part)?);
                }
                Some(sum)
            }
            Node::Product(parts) => {
                let one = Terms::single(Term::one(), 1.0);
                let multiply = |product: Terms, part| Some(product.times(&Terms::of(part)?));
                parts.iter().try_fold(one, multiply)
            }
            Node::Power(base, exponent) => {
                let whole = exponent.fract() == 0.0 && (1.0..=LARGEST_POWER).contains(exponent);
                let base = whole.then(|| Terms::of(base))??;
                let one = Terms::single(Term::one(), 1.0);
                Some((0..*exponent as u32).fold(one, |power, _| power.times(&base)))
            }
            Node::Call(function, argument) => Terms::call(*function, argument),
        }
    }

    /// f(k x) with a whole k > 0; for other functions than sin and cos, k = 1.
    fn call(function: Function, argument: &Node) -> Option<Self> {
        let (frequency, input) = match argument {
            Node::Variable(input) => (1.0, *input),
            Node::Product(parts) => match parts[..] {
                [Node::Number(k), Node::Variable(input)] => (k, input),
                _ => return None,
            },
            _ => return None,
        };
        let waves = matches!(function, Function::Sin | Function::Cos);
        let fits = frequency == 1.0
            || waves && frequency.fract() == 0.0 && (1.0..=1000.0).contains(&frequency);
        let factor = Factor::Call {
            function,
            frequency: frequency as u32,
            input,
        };
        fits.then(|| Terms::single(Term::of(factor), 1.0))
    }

    fn single(term: Term, coefficient: f64) -> Self {
        Terms(BTreeMap::from([(term, coefficient)]))
    }

    fn add(&mut self, other: Terms) {
        for (term, coefficient) in other.0 {
            *self.0.entry(term).or_insert(0.0) += coefficient;
        }
    }

    fn times(&self, other: &Terms) -> Terms {
        let mut product = Terms(BTreeMap::new());
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                product.add(Terms::single(sorted(&a.product(b)), x * y));
            }
        }
        product
    }

    /// Coefficients by the number of the term in a library; none if the library lacks one.
    pub fn among(&self, features: &Features) -> Option<Vec<(usize, f64)>> {
        let largest = self.0.values().fold(0.0, |m: f64, c| m.max(c.abs()));
        let kept = self.0.iter().filter(|(_, c)| c.abs() > ROUNDING * largest);
        let place = |term: &Term| features.terms().iter().position(|t| sorted(t) == *term);
        let found = kept.map(|(term, c)| Some((place(term)?, *c)));
        found.collect()
    }
}

/// The same term with its factors in order.
fn sorted(term: &Term) -> Term {
    let mut factors = term.factors().to_vec();
    factors.sort_unstable();
    factors.into_iter().fold(Term::one(), Term::times)
}
