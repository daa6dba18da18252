//! Evaluation of an expression, for one row or for many.

use super::{Expression, Node};
use crate::{
    error::{Result, require_len},
    features::Function,
    simd,
};

impl Expression {
    /// The value for one row of variables.
    ///
    /// # Panics
    /// If the row has fewer values than there are variables.
    pub fn evaluate_row(&self, row: &[f64]) -> f64 {
        self.root.evaluate(row)
    }

    /// A program for evaluating many rows.
    pub fn evaluator(&self) -> Evaluator {
        Evaluator::new(self)
    }

    /// The values for many rows; columns stand one after the other.
    pub fn evaluate(&self, columns: &[f64], rows: usize) -> Result<Vec<f64>> {
        require_len(
            "values of the variables",
            columns.len(),
            rows.saturating_mul(self.variables.len()),
        )?;
        let mut out = vec![0.0; rows];
        self.evaluator().evaluate_into(columns, rows, &mut out)?;
        Ok(out)
    }
}

pub(super) fn power(x: f64, exponent: f64) -> f64 {
    // powi for whole numbers: exact for squares, and much faster.
    if exponent.fract() == 0.0 && exponent.abs() <= 64.0 {
        x.powi(exponent as i32)
    } else {
        x.powf(exponent)
    }
}

impl Node {
    fn evaluate(&self, row: &[f64]) -> f64 {
        match self {
            Node::Number(value) => *value,
            Node::Variable(index) => row[*index],
            // Constants last, as the evaluator of many rows does: both give the same bits.
            Node::Sum(parts) => constants_last(parts).map(|part| part.evaluate(row)).sum(),
            Node::Product(parts) => constants_last(parts)
                .map(|part| part.evaluate(row))
                .product(),
            Node::Power(inner, exponent) => power(inner.evaluate(row), *exponent),
            Node::Call(function, inner) => function.apply(inner.evaluate(row)),
        }
    }
}

fn constants_last(parts: &[Node]) -> impl Iterator<Item = &Node> {
    let constant = |part: &&Node| matches!(part, Node::Number(_));
    parts
        .iter()
        .filter(move |part| !constant(part))
        .chain(parts.iter().filter(constant))
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Number(f64),
    Variable(usize),
    Add,
    Multiply,
    AddNumber(f64),
    MultiplyNumber(f64),
    Power(f64),
    Call(Function),
}

/// Rows that are worked on together: a few columns of them stay in the fastest cache.
const BLOCK: usize = 256;

/// An expression as a program for a stack of columns. Made once; evaluating allocates nothing.
#[derive(Clone, Debug)]
pub struct Evaluator {
    operations: Vec<Operation>,
    variables: usize,
    stack: Vec<[f64; BLOCK]>,
}

impl Evaluator {
    fn new(expression: &Expression) -> Self {
        let mut evaluator = Evaluator {
            operations: Vec::new(),
            variables: expression.variables.len(),
            stack: Vec::new(),
        };
        let depth = evaluator.compile(&expression.root);
        evaluator.stack = vec![[0.0; BLOCK]; depth];
        evaluator
    }

    /// Appends the operations of a node; returns the height of stack they need.
    fn compile(&mut self, node: &Node) -> usize {
        match node {
            Node::Number(value) => {
                self.operations.push(Operation::Number(*value));
                1
            }
            Node::Variable(index) => {
                self.operations.push(Operation::Variable(*index));
                1
            }
            Node::Power(inner, exponent) => {
                let depth = self.compile(inner);
                self.operations.push(Operation::Power(*exponent));
                depth
            }
            Node::Call(function, inner) => {
                let depth = self.compile(inner);
                self.operations.push(Operation::Call(*function));
                depth
            }
            Node::Sum(parts) | Node::Product(parts) => {
                let sum = matches!(node, Node::Sum(_));
                // A constant is applied last, to the whole: no column is filled with it.
                let (constant, others): (Vec<&Node>, Vec<&Node>) = parts
                    .iter()
                    .partition(|part| matches!(part, Node::Number(_)));
                let mut depth = 0;
                for (index, part) in others.iter().enumerate() {
                    depth = depth.max(self.compile(part) + usize::from(index > 0));
                    if index > 0 {
                        self.operations.push(if sum {
                            Operation::Add
                        } else {
                            Operation::Multiply
                        });
                    }
                }
                for part in constant {
                    let Node::Number(value) = *part else { continue };
                    self.operations.push(match (depth, sum) {
                        (0, _) => Operation::Number(value),
                        (_, true) => Operation::AddNumber(value),
                        (_, false) => Operation::MultiplyNumber(value),
                    });
                    depth = depth.max(1);
                }
                depth
            }
        }
    }

    /// The values for many rows; columns of the variables stand one after the other.
    pub fn evaluate_into(&mut self, columns: &[f64], rows: usize, out: &mut [f64]) -> Result<()> {
        require_len(
            "values of the variables",
            columns.len(),
            rows.saturating_mul(self.variables),
        )?;
        require_len("room for the values", out.len(), rows)?;
        for (block, out) in out.chunks_mut(BLOCK).enumerate() {
            let start = block * BLOCK;
            self.block(columns, rows, start, out);
        }
        Ok(())
    }

    fn block(&mut self, columns: &[f64], rows: usize, start: usize, out: &mut [f64]) {
        let n = out.len();
        let mut height = 0;
        for &operation in &self.operations {
            match operation {
                Operation::Number(value) => {
                    self.stack[height][..n].fill(value);
                    height += 1;
                }
                Operation::Variable(index) => {
                    self.stack[height][..n].copy_from_slice(&columns[index * rows + start..][..n]);
                    height += 1;
                }
                Operation::Add | Operation::Multiply => {
                    height -= 1;
                    let (below, top) = self.stack.split_at_mut(height);
                    let (a, b) = (&mut below[height - 1][..n], &top[0][..n]);
                    let add = matches!(operation, Operation::Add);
                    simd::vectorised(
                        #[inline(always)]
                        || {
                            for (a, &b) in a.iter_mut().zip(b) {
                                *a = if add { *a + b } else { *a * b };
                            }
                        },
                    );
                }
                Operation::AddNumber(value) => self.stack[height - 1][..n]
                    .iter_mut()
                    .for_each(|x| *x += value),
                Operation::MultiplyNumber(value) => {
                    self.stack[height - 1][..n]
                        .iter_mut()
                        .for_each(|x| *x *= value);
                }
                Operation::Power(exponent) => {
                    self.stack[height - 1][..n]
                        .iter_mut()
                        .for_each(|x| *x = power(*x, exponent));
                }
                Operation::Call(function) => {
                    self.stack[height - 1][..n]
                        .iter_mut()
                        .for_each(|x| *x = function.apply(*x));
                }
            }
        }
        out.copy_from_slice(&self.stack[0][..n]);
    }
}
