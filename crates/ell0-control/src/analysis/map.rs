//! Discrete maps in closed form, x⁺ = F(x), with exact derivatives.

use ell0::equation::{Arithmetic, Interval, Node, Shared};

use super::value::Range;

/// A value that is computed from those before it, and brought into a range.
#[derive(Clone, Debug)]
struct Assignment {
    /// The value and its derivatives by the values before it.
    program: Shared,
    /// Those that it depends on.
    depends: Vec<usize>,
    range: Option<Range>,
}

/// A discrete map: values are assigned one after the other, and some of them are the next state. Exact derivatives come with it.
#[derive(Clone, Debug)]
pub struct Map {
    inputs: usize,
    assignments: Vec<Assignment>,
    next: Vec<usize>,
}

impl Map {
    pub(super) fn new(inputs: usize) -> Self {
        Map {
            inputs,
            assignments: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Appends a value; its index.
    pub(super) fn assign(&mut self, node: Node, range: Option<Range>) -> usize {
        let index = self.inputs + self.assignments.len();
        let before: Vec<usize> = (0..index).collect();
        let program = Shared::gradients([&node], &before);
        let depends = (0..index).filter(|k| !program.is_zero(k + 1)).collect();
        self.assignments.push(Assignment {
            program,
            depends,
            range,
        });
        index
    }

    /// Which of the inputs and values are the next state.
    pub(super) fn set_next(&mut self, next: Vec<usize>) {
        self.next = next;
    }

    /// Number of inputs: states, and actions if they come from outside.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    fn values<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let mut values = Vec::with_capacity(self.inputs + self.assignments.len());
        values.extend_from_slice(inputs);
        let mut room = Vec::new();
        for assignment in &self.assignments {
            let mut value = assignment.program.first(&values, &mut room);
            if let Some(Range { low, high }) = assignment.range {
                value = value.clamp(low, high);
            }
            values.push(value);
        }
        values
    }

    /// The next state.
    pub fn next<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let values = self.values(inputs);
        self.next.iter().map(|&k| values[k]).collect()
    }

    /// Whether the map has a value everywhere on a box, and no jump there.
    pub fn is_continuous(&self, inputs: &[Interval]) -> bool {
        let values = self.values(inputs);
        let mut programs = self.assignments.iter().map(|a| &a.program);
        programs.all(|program| program.is_continuous(&values))
    }

    /// Whether the map has derivatives at a state.
    pub fn is_smooth(&self, inputs: &[f64]) -> bool {
        let points: Vec<Interval> = inputs.iter().map(|x| Interval::point(*x)).collect();
        let values = self.values(&points);
        let mut programs = self.assignments.iter().map(|a| &a.program);
        programs.all(|program| program.is_smooth(&values))
    }

    /// The values at these indices and their derivatives by all inputs, row by row.
    fn linear<T: Arithmetic>(&self, inputs: &[T], wanted: &[usize]) -> (Vec<T>, Vec<Vec<T>>) {
        let n = self.inputs;
        let mut values = Vec::with_capacity(n + self.assignments.len());
        values.extend_from_slice(inputs);
        let unit = |k: usize| -> Vec<T> {
            (0..n)
                .map(|j| T::number(f64::from(u8::from(j == k))))
                .collect()
        };
        let mut slopes: Vec<Vec<T>> = (0..n).map(unit).collect();
        let (mut room, mut gradient) = (Vec::new(), Vec::new());
        for assignment in &self.assignments {
            let program = &assignment.program;
            program.values_into(&values, &mut room, &mut gradient);
            let mut value = gradient[0];
            let mut row = vec![T::number(0.0); n];
            for &k in &assignment.depends {
                let slope = gradient[k + 1];
                for (sum, below) in row.iter_mut().zip(&slopes[k]) {
                    *sum = sum.add(slope.multiply(*below));
                }
            }
            if let Some(Range { low, high }) = assignment.range {
                let slope = value.clamp_slope(low, high);
                row.iter_mut().for_each(|r| *r = r.multiply(slope));
                value = value.clamp(low, high);
            }
            values.push(value);
            slopes.push(row);
        }
        (
            wanted.iter().map(|&k| values[k]).collect(),
            wanted.iter().map(|&k| slopes[k].clone()).collect(),
        )
    }

    /// The next state and its derivatives by the inputs, row by row.
    pub fn jacobian<T: Arithmetic>(&self, inputs: &[T]) -> (Vec<T>, Vec<Vec<T>>) {
        self.linear(inputs, &self.next)
    }
}
