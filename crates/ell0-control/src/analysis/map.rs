//! Discrete maps in closed form, x⁺ = F(x), with exact derivatives.

use ell0::equation::{Arithmetic, Expression, Interval, Node, Shared};

use super::{plant::Uncertain, value::Range};
use crate::error::Result;

/// A value that is computed from those before it, and brought into a range.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Its name.
    pub name: String,
    /// It in the variables of the map and the values before it.
    pub law: Node,
    /// The range that it is brought into.
    pub range: Option<Range>,
    /// The value and its derivatives by what stands before it.
    program: Shared,
    /// Those that it depends on.
    depends: Vec<usize>,
}

/// A discrete map: values are assigned one after the other, and some of them are the next state. Exact derivatives come with it.
#[derive(Clone, Debug)]
pub struct Map {
    states: Vec<String>,
    actions: Vec<String>,
    /// What is only known to lie in a range: variables after the states.
    uncertain: Vec<Uncertain>,
    assignments: Vec<Assignment>,
    next: Vec<usize>,
}

/// Room for the values of a map that is used again.
#[derive(Clone, Debug)]
pub struct Values<T> {
    values: Vec<T>,
    room: Vec<T>,
    /// The next states.
    pub next: Vec<T>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Values {
            values: Vec::new(),
            room: Vec::new(),
            next: Vec::new(),
        }
    }
}

impl Map {
    /// Its variables are the states, what is uncertain, then the actions.
    pub(super) fn new(
        states: Vec<String>,
        actions: Vec<String>,
        uncertain: Vec<Uncertain>,
    ) -> Self {
        Map {
            states,
            actions,
            uncertain,
            assignments: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Appends a value; its index.
    pub(super) fn assign(&mut self, name: &str, law: Node, range: Option<Range>) -> usize {
        let index = self.variables() + self.assignments.len();
        let before: Vec<usize> = (0..index).collect();
        let program = Shared::gradients([&law], &before);
        let depends = (0..index).filter(|k| !program.is_zero(k + 1)).collect();
        self.assignments.push(Assignment {
            name: name.into(),
            law,
            range,
            program,
            depends,
        });
        index
    }

    /// Which of the inputs and values are the next state.
    pub(super) fn set_next(&mut self, next: Vec<usize>) {
        self.next = next;
    }

    /// Number of inputs: states, and actions if they come from outside.
    pub fn inputs(&self) -> usize {
        self.states.len() + self.actions.len()
    }

    /// What is only known to lie in a range. With numbers it is in the middle of it, with intervals anywhere.
    pub fn uncertain(&self) -> &[Uncertain] {
        &self.uncertain
    }

    /// The values in turn.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    /// Which of [names](Self::names) are the next state.
    pub fn next_states(&self) -> &[usize] {
        &self.next
    }

    /// Names of states, uncertain inputs, actions and values, as laws number them.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let variables = self.states.iter();
        let variables = variables.chain(self.uncertain.iter().map(|u| &u.name));
        let all = variables.chain(&self.actions);
        let all = all.chain(self.assignments.iter().map(|a| &a.name));
        all.cloned().collect()
    }

    /// The law of a value, as text that can be read back.
    pub fn law(&self, value: usize) -> Result<Expression> {
        let names = &self.names()[..self.variables() + value];
        let law = self.assignments[value].law.clone();
        Ok(Expression::new(names.to_vec(), law)?)
    }

    fn variables(&self) -> usize {
        self.inputs() + self.uncertain.len()
    }

    /// The inputs, with what is uncertain in its place.
    fn begin<T: Arithmetic>(&self, inputs: &[T], values: &mut Vec<T>) {
        let (states, actions) = inputs.split_at(self.states.len().min(inputs.len()));
        let uncertain = self.uncertain.iter();
        values.clear();
        values.extend_from_slice(states);
        values.extend(uncertain.map(|u| T::between(u.range.low, u.range.high)));
        values.extend_from_slice(actions);
    }

    /// Values after the variables.
    fn go_on<T: Arithmetic>(&self, values: &mut Vec<T>, room: &mut Vec<T>) {
        for assignment in &self.assignments {
            let mut value = assignment.program.first(values, room);
            if let Some(Range { low, high }) = assignment.range {
                value = value.clamp(low, high);
            }
            values.push(value);
        }
    }

    fn values<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let mut values = Vec::with_capacity(self.variables() + self.assignments.len());
        self.begin(inputs, &mut values);
        self.go_on(&mut values, &mut Vec::new());
        values
    }

    /// The next state.
    pub fn next<T: Arithmetic>(&self, inputs: &[T]) -> Vec<T> {
        let values = self.values(inputs);
        self.next.iter().map(|&k| values[k]).collect()
    }

    /// The next state of one state of a closed loop, with room that is used again. What is uncertain is in the middle of its range.
    pub fn step(&self, state: &mut [f64], room: &mut Values<f64>) {
        self.begin(state, &mut room.values);
        self.go_on(&mut room.values, &mut room.room);
        for (x, &k) in state.iter_mut().zip(&self.next) {
            *x = room.values[k];
        }
    }

    /// The next states of a closed loop with given values of what is uncertain, in `room.next`.
    pub fn image<T: Arithmetic>(&self, states: &[T], uncertain: &[T], room: &mut Values<T>) {
        room.values.clear();
        room.values.extend_from_slice(states);
        room.values.extend_from_slice(uncertain);
        self.go_on(&mut room.values, &mut room.room);
        room.next.clear();
        room.next.extend(self.next.iter().map(|&k| room.values[k]));
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

    /// The next states and their derivatives by all variables, row by row.
    fn linear<T: Arithmetic>(&self, variables: Vec<T>) -> (Vec<T>, Vec<Vec<T>>) {
        let n = self.variables();
        let mut values = variables;
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
                for (sum, below) in row.iter_mut().zip(&slopes[k]) {
                    *sum = sum.add(gradient[k + 1].multiply(*below));
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
        let rows = self.next.iter().map(|&k| slopes[k].clone()).collect();
        (self.next.iter().map(|&k| values[k]).collect(), rows)
    }

    /// The next state and its derivatives by all inputs, row by row: state after state, then actions.
    pub fn jacobian<T: Arithmetic>(&self, inputs: &[T]) -> (Vec<T>, Vec<Vec<T>>) {
        let mut variables = Vec::with_capacity(self.variables() + self.assignments.len());
        self.begin(inputs, &mut variables);
        let (next, mut rows) = self.linear(variables);
        // What is uncertain is no input.
        let first = self.states.len();
        for row in &mut rows {
            row.drain(first..first + self.uncertain.len());
        }
        (next, rows)
    }

    /// The next state of a closed loop with given values of what is uncertain, and its derivatives by states and these, row by row.
    pub fn slopes<T: Arithmetic>(&self, states: &[T], uncertain: &[T]) -> (Vec<T>, Vec<Vec<T>>) {
        let mut variables = Vec::with_capacity(self.variables() + self.assignments.len());
        variables.extend_from_slice(states);
        variables.extend_from_slice(uncertain);
        self.linear(variables)
    }
}
