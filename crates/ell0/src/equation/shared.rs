//! Expressions as a list of steps in which equal parts stand once, with derivatives that share them, too.
//!
//! A derivative written out as a tree grows with the square of a product's factors, and faster with nesting: every factor is repeated beside the derivative of every other. Here the derivatives by all
//! variables take a few times the steps of the expression itself, whatever it looks like.

use std::collections::HashMap;

use super::{Arithmetic, Interval, Node};
use crate::features::Function;

/// How a value is made of values before it. Numbers by their bits, so that steps can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Number(u64),
    Variable(usize),
    Add(usize, usize),
    Multiply(usize, usize),
    Power(usize, u64),
    Call(Function, usize),
}

/// Several values of the same variables, of which equal parts are computed once.
///
/// ```
/// use ell0::equation::{Expression, Shared};
/// let law = Expression::parse("x^3*sin(y)", &["x", "y"])?;
/// let gradient = Shared::gradients([law.root()], &[0, 1]);
/// // The value, and the derivatives by x and y.
/// assert_eq!(gradient.values(&[2.0, 0.0]), [0.0, 0.0, 8.0]);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shared {
    steps: Vec<Step>,
    /// Which steps are asked for.
    wanted: Vec<usize>,
}

#[derive(Default)]
struct Builder {
    steps: Vec<Step>,
    known: HashMap<Step, usize>,
}

impl Builder {
    fn step(&mut self, step: Step) -> usize {
        let steps = &mut self.steps;
        *self.known.entry(step).or_insert_with(|| {
            steps.push(step);
            steps.len() - 1
        })
    }

    fn number(&mut self, value: f64) -> usize {
        // There is one zero.
        self.step(Step::Number((value + 0.0).to_bits()))
    }

    fn constant(&self, at: usize) -> Option<f64> {
        match self.steps[at] {
            Step::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    fn add(&mut self, a: usize, b: usize) -> usize {
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => self.number(a + b),
            (Some(0.0), None) => b,
            (None, Some(0.0)) => a,
            _ => self.step(Step::Add(a.min(b), a.max(b))),
        }
    }

    fn multiply(&mut self, a: usize, b: usize) -> usize {
        match (self.constant(a), self.constant(b)) {
            (Some(a), Some(b)) => self.number(a * b),
            (Some(0.0), None) | (None, Some(0.0)) => self.number(0.0),
            (Some(1.0), None) => b,
            (None, Some(1.0)) => a,
            // A square is never negative; intervals know that of powers only.
            _ if a == b => self.power(a, 2.0),
            _ => self.step(Step::Multiply(a.min(b), a.max(b))),
        }
    }

    fn power(&mut self, base: usize, exponent: f64) -> usize {
        if exponent == 0.0 {
            self.number(1.0)
        } else if exponent == 1.0 {
            base
        } else {
            self.step(Step::Power(base, exponent.to_bits()))
        }
    }

    /// Π of the parts, equal ones gathered in powers.
    fn product(&mut self, parts: &[Node]) -> usize {
        let mut powers: Vec<(usize, f64)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for part in parts {
            // Whole powers above 0 may be added up; others would lose their poles and domains.
            let (base, exponent) = match part {
                Node::Power(base, exponent) if *exponent > 0.0 && exponent.fract() == 0.0 => {
                    (self.node(base), *exponent)
                }
                part => (self.node(part), 1.0),
            };
            let place = *places.entry(base).or_insert_with(|| {
                powers.push((base, 0.0));
                powers.len() - 1
            });
            powers[place].1 += exponent;
        }
        let mut total = self.number(1.0);
        for (base, exponent) in powers {
            let factor = self.power(base, exponent);
            total = self.multiply(total, factor);
        }
        total
    }

    fn node(&mut self, node: &Node) -> usize {
        match node {
            Node::Number(value) => self.number(*value),
            Node::Variable(index) => self.step(Step::Variable(*index)),
            Node::Sum(parts) => {
                let mut total = self.number(0.0);
                for part in parts {
                    let part = self.node(part);
                    total = self.add(total, part);
                }
                total
            }
            Node::Product(parts) => self.product(parts),
            Node::Power(inner, exponent) => {
                let inner = self.node(inner);
                self.power(inner, *exponent)
            }
            Node::Call(function, inner) => {
                let inner = self.node(inner);
                self.step(Step::Call(*function, inner))
            }
        }
    }

    /// The slope of f at the step it is applied to; `call` is the step of f itself.
    fn slope(&mut self, function: Function, argument: usize, call: usize) -> usize {
        match function {
            Function::Exp => call,
            Function::Log => self.power(argument, -1.0),
            Function::Sqrt => {
                let (half, reciprocal) = (self.number(0.5), self.power(call, -1.0));
                self.multiply(half, reciprocal)
            }
            Function::Abs => self.step(Step::Call(Function::Sign, argument)),
            // 0 almost everywhere.
            Function::Sign => self.number(0.0),
            Function::Sin => self.step(Step::Call(Function::Cos, argument)),
            Function::Cos => {
                let minus = self.number(-1.0);
                let sin = self.step(Step::Call(Function::Sin, argument));
                self.multiply(minus, sin)
            }
            Function::Tanh => {
                let (one, minus) = (self.number(1.0), self.number(-1.0));
                let square = self.power(call, 2.0);
                let less = self.multiply(minus, square);
                self.add(one, less)
            }
        }
    }

    /// Derivatives of a step by these variables, from the last step back to the first: each hands its own derivative on to what it was made of.
    fn gradient(&mut self, root: usize, variables: &[usize]) -> Vec<usize> {
        let zero = self.number(0.0);
        let mut slopes = vec![zero; root + 1];
        slopes[root] = self.number(1.0);
        for at in (0..=root).rev() {
            let slope = slopes[at];
            if slope == zero {
                continue;
            }
            let mut hand_on = |builder: &mut Builder, to: usize, by: usize| {
                let part = builder.multiply(slope, by);
                slopes[to] = builder.add(slopes[to], part);
            };
            match self.steps[at] {
                Step::Number(_) | Step::Variable(_) => {}
                Step::Add(a, b) => {
                    let one = self.number(1.0);
                    hand_on(self, a, one);
                    hand_on(self, b, one);
                }
                Step::Multiply(a, b) => {
                    hand_on(self, a, b);
                    hand_on(self, b, a);
                }
                Step::Power(base, exponent) => {
                    let exponent = f64::from_bits(exponent);
                    let (factor, lower) = (self.number(exponent), self.power(base, exponent - 1.0));
                    let by = self.multiply(factor, lower);
                    hand_on(self, base, by);
                }
                Step::Call(function, argument) => {
                    let by = self.slope(function, argument, at);
                    hand_on(self, argument, by);
                }
            }
        }
        let by = |index: &usize| match self.known.get(&Step::Variable(*index)) {
            Some(&at) if at <= root => slopes[at],
            _ => zero,
        };
        variables.iter().map(by).collect()
    }
}

impl Shared {
    /// Nodes, each followed by its derivatives by these variables.
    #[must_use]
    pub fn gradients<'a>(nodes: impl IntoIterator<Item = &'a Node>, variables: &[usize]) -> Self {
        let mut builder = Builder::default();
        let mut wanted = Vec::new();
        for node in nodes {
            let root = builder.node(node);
            wanted.push(root);
            wanted.extend(builder.gradient(root, variables));
        }
        Shared {
            steps: builder.steps,
            wanted,
        }
    }

    /// Whether a value is 0 whatever the variables are.
    #[must_use]
    pub fn is_zero(&self, value: usize) -> bool {
        self.steps[self.wanted[value]] == Step::Number(0)
    }

    /// Number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The first value alone, with room that is used again.
    ///
    /// # Panics
    ///
    /// If the row has fewer values than there are variables.
    pub fn first<T: Arithmetic>(&self, row: &[T], room: &mut Vec<T>) -> T {
        let at = self.wanted[0];
        self.run(row, room, at + 1);
        room[at]
    }

    /// All values for one row of variables.
    ///
    /// # Panics
    ///
    /// If the row has fewer values than there are variables.
    pub fn values<T: Arithmetic>(&self, row: &[T]) -> Vec<T> {
        let mut room = Vec::new();
        self.run(row, &mut room, self.steps.len());
        self.wanted.iter().map(|&at| room[at]).collect()
    }

    /// The same, with room that is used again.
    ///
    /// # Panics
    ///
    /// If the row has fewer values than there are variables.
    pub fn values_into<T: Arithmetic>(&self, row: &[T], room: &mut Vec<T>, out: &mut Vec<T>) {
        self.run(row, room, self.steps.len());
        out.clear();
        out.extend(self.wanted.iter().map(|&at| room[at]));
    }

    /// Whether the first value is there everywhere on a box, and has no jump: logarithms, roots and reciprocals of what they are defined for, signs of what does not change its own.
    pub fn is_continuous(&self, row: &[Interval]) -> bool {
        self.every(row, |step, at| match step {
            Step::Number(bits) => f64::from_bits(bits).is_finite(),
            Step::Power(base, exponent) => {
                let (base, exponent) = (at[base], f64::from_bits(exponent));
                (exponent.fract() == 0.0 || base.low >= 0.0)
                    && (exponent >= 0.0 || !base.contains(0.0))
            }
            Step::Call(Function::Log, argument) => at[argument].low > 0.0,
            Step::Call(Function::Sqrt, argument) => at[argument].low >= 0.0,
            Step::Call(Function::Sign, argument) => !at[argument].contains(0.0),
            _ => true,
        })
    }

    /// Whether the first value is continuous on a box and has no corner there either.
    pub fn is_smooth(&self, row: &[Interval]) -> bool {
        self.is_continuous(row)
            && self.every(row, |step, at| match step {
                Step::Call(Function::Abs | Function::Sqrt, argument) => !at[argument].contains(0.0),
                Step::Power(base, exponent) => {
                    f64::from_bits(exponent).fract() == 0.0 || !at[base].contains(0.0)
                }
                _ => true,
            })
    }

    /// Whether something holds for all steps of the first value.
    fn every(&self, row: &[Interval], holds: impl Fn(Step, &[Interval]) -> bool) -> bool {
        let (mut room, steps) = (Vec::new(), self.wanted[0] + 1);
        self.run(row, &mut room, steps);
        self.steps[..steps].iter().all(|step| holds(*step, &room))
    }

    fn run<T: Arithmetic>(&self, row: &[T], room: &mut Vec<T>, steps: usize) {
        room.clear();
        room.reserve(steps);
        for step in &self.steps[..steps] {
            room.push(match *step {
                Step::Number(bits) => T::number(f64::from_bits(bits)),
                Step::Variable(index) => row[index],
                Step::Add(a, b) => room[a].add(room[b]),
                Step::Multiply(a, b) => room[a].multiply(room[b]),
                Step::Power(base, exponent) => room[base].power(f64::from_bits(exponent)),
                Step::Call(function, argument) => room[argument].call(function),
            });
        }
    }
}
