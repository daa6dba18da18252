//! Evaluation of all terms over a block of rows.

use std::collections::HashMap;

use super::{Factor, Function, Term};
use crate::{
    error::{Result, require, require_len},
    simd,
};

/// Where a column of numbers lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Input(usize),
    Output(usize),
    Temporary(usize),
}

/// How a column is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    One,
    Copy(Column),
    Product(Column, Column),
    Reciprocal(Column),
    Call(Function, f64, Column),
}

/// The terms of a library for given columns, ready to be evaluated.
///
/// Each term is one operation on columns that are there already: x0² x1 is the product of the columns x0² and x1.
#[derive(Clone, Debug)]
pub struct Features {
    inputs: Vec<String>,
    terms: Vec<Term>,
    repeated: Vec<Term>,
    names: Vec<String>,
    steps: Vec<(Column, Operation)>,
    temporaries: usize,
}

/// Columns that are no terms themselves but are needed on the way. Made once, for blocks of at most so many rows.
#[derive(Clone, Debug)]
pub struct Workspace {
    rows: usize,
    columns: Vec<f64>,
}

struct Compiler {
    steps: Vec<(Column, Operation)>,
    made: HashMap<Term, Column>,
    temporaries: usize,
}

impl Compiler {
    /// The column of a term, made as a temporary if it is not there.
    fn column(&mut self, term: &Term) -> Column {
        if let [Factor::Power { input, exponent: 1 }] = *term.factors() {
            return Column::Input(input);
        }
        if let Some(&column) = self.made.get(&term.canonical()) {
            return column;
        }
        let operation = self.operation(term);
        let column = Column::Temporary(self.temporaries);
        self.temporaries += 1;
        self.steps.push((column, operation));
        self.made.insert(term.canonical(), column);
        column
    }

    fn operation(&mut self, term: &Term) -> Operation {
        match *term.factors() {
            [] => Operation::One,
            [Factor::Power { input, exponent: 1 }] => Operation::Copy(Column::Input(input)),
            [
                Factor::Power {
                    input,
                    exponent: -1,
                },
            ] => Operation::Reciprocal(Column::Input(input)),
            [Factor::Power { input, exponent }] => {
                // Half and half: few multiplications even for high powers, and x³ = x²·x.
                let half = (exponent.abs() / 2 + exponent.abs() % 2) * exponent.signum();
                let power = |exponent| Term::of(Factor::Power { input, exponent });
                Operation::Product(
                    self.column(&power(half)),
                    self.column(&power(exponent - half)),
                )
            }
            [
                Factor::Call {
                    function,
                    frequency,
                    input,
                },
            ] => Operation::Call(function, f64::from(frequency), Column::Input(input)),
            [ref first @ .., last] => {
                let first = first
                    .iter()
                    .fold(Term::one(), |term, &factor| term.times(factor));
                Operation::Product(self.column(&first), self.column(&Term::of(last)))
            }
        }
    }
}

impl Features {
    pub(super) fn new(inputs: Vec<String>, terms: Vec<Term>, repeated: Vec<Term>) -> Result<Self> {
        let mut compiler = Compiler {
            steps: Vec::new(),
            made: HashMap::new(),
            temporaries: 0,
        };
        for (index, term) in terms.iter().enumerate() {
            let canonical = term.canonical();
            let operation = match compiler.made.get(&canonical) {
                Some(&column) => Operation::Copy(column),
                None => compiler.operation(term),
            };
            compiler.steps.push((Column::Output(index), operation));
            compiler
                .made
                .entry(canonical)
                .or_insert(Column::Output(index));
        }
        let names = terms.iter().map(|term| term.name(&inputs)).collect();
        Ok(Features {
            inputs,
            terms,
            repeated,
            names,
            steps: compiler.steps,
            temporaries: compiler.temporaries,
        })
    }

    /// Features of given terms.
    pub fn from_terms(inputs: Vec<String>, terms: Vec<Term>) -> Result<Self> {
        require(
            !inputs.is_empty(),
            "inputs",
            "none",
            "at least one input column",
        )?;
        require(!terms.is_empty(), "terms", "none", "at least one term")?;
        for (index, name) in inputs.iter().enumerate() {
            require(
                !inputs[..index].contains(name),
                "input",
                name,
                "each column must have its own name",
            )?;
        }
        for factor in terms.iter().flat_map(Term::factors) {
            let input = factor.input();
            require(
                input < inputs.len(),
                "input of a term",
                input,
                "it must be one of the inputs",
            )?;
            if let Factor::Power { exponent, .. } = *factor {
                let ok = exponent != 0 && exponent.unsigned_abs() <= 1000;
                require(
                    ok,
                    "exponent",
                    exponent,
                    "it must not be 0, and at most 1000",
                )?;
            }
        }
        Features::new(inputs, terms, Vec::new())
    }

    /// Names of the columns the terms read.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// The terms.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Terms that the library made more than once; they are kept once.
    pub fn repeated(&self) -> Vec<String> {
        self.repeated
            .iter()
            .map(|term| term.name(&self.inputs))
            .collect()
    }

    /// Names of the terms, as PySINDy prints them.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Number of terms.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there are no terms; never true.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Operations that it takes to compute all terms of one row: products, reciprocals and calls of functions.
    pub fn operations(&self) -> usize {
        let free = |operation: &Operation| matches!(operation, Operation::One | Operation::Copy(_));
        self.steps.iter().filter(|(_, o)| !free(o)).count()
    }

    /// Room for blocks of at most `rows` rows.
    pub fn workspace(&self, rows: usize) -> Workspace {
        Workspace {
            rows,
            columns: vec![0.0; rows * self.temporaries],
        }
    }

    /// All terms for all rows; columns of inputs and of terms stand one after the other.
    pub fn evaluate(&self, inputs: &[f64]) -> Result<Vec<f64>> {
        let rows = inputs.len() / self.inputs.len();
        let mut out = vec![0.0; rows * self.len()];
        self.evaluate_into(inputs, rows, &mut out, &mut self.workspace(rows))?;
        Ok(out)
    }

    /// The same into given room, without allocating.
    pub fn evaluate_into(
        &self,
        inputs: &[f64],
        rows: usize,
        out: &mut [f64],
        workspace: &mut Workspace,
    ) -> Result<()> {
        require_len(
            "input values of the features",
            inputs.len(),
            rows * self.inputs.len(),
        )?;
        require_len("room for the features", out.len(), rows * self.len())?;
        if rows > workspace.rows {
            require_len("rows of the workspace", workspace.rows, rows)?;
        }
        self.run(inputs, rows, out, workspace, |_| true);
        Ok(())
    }

    /// Whether each step of the evaluation is needed for some of the terms.
    pub(super) fn needed(&self, terms: &[usize], needed: &mut Vec<bool>) {
        needed.clear();
        needed.resize(self.steps.len(), false);
        let (mut outputs, mut temporaries) =
            (vec![false; self.len()], vec![false; self.temporaries]);
        terms.iter().for_each(|&k| outputs[k] = true);
        // Steps read only columns made before them.
        for (&(target, operation), needed) in self.steps.iter().zip(needed).rev() {
            *needed = match target {
                Column::Output(k) => outputs[k],
                Column::Temporary(k) => temporaries[k],
                Column::Input(_) => false,
            };
            if !*needed {
                continue;
            }
            let mut read = |column: Column| match column {
                Column::Output(k) => outputs[k] = true,
                Column::Temporary(k) => temporaries[k] = true,
                Column::Input(_) => {}
            };
            match operation {
                Operation::One => {}
                Operation::Product(a, b) => {
                    read(a);
                    read(b);
                }
                Operation::Copy(a) | Operation::Reciprocal(a) | Operation::Call(_, _, a) => read(a),
            }
        }
    }

    /// Runs the steps that are needed; sizes have been checked.
    pub(super) fn run(
        &self,
        inputs: &[f64],
        rows: usize,
        out: &mut [f64],
        workspace: &mut Workspace,
        needed: impl Fn(usize) -> bool,
    ) {
        let temporaries = &mut workspace.columns[..rows * self.temporaries];
        for (index, &(target, operation)) in self.steps.iter().enumerate() {
            if !needed(index) {
                continue;
            }
            // Steps read only columns made before them, so what is to be written splits off from what is read.
            let (done_out, done_temporary, target) = match target {
                Column::Output(k) => {
                    let (done, rest) = out.split_at_mut(k * rows);
                    (&*done, &*temporaries, &mut rest[..rows])
                }
                Column::Temporary(k) => {
                    let (done, rest) = temporaries.split_at_mut(k * rows);
                    (&*out, &*done, &mut rest[..rows])
                }
                Column::Input(_) => continue,
            };
            let column = |column: Column| -> &[f64] {
                match column {
                    Column::Input(k) => &inputs[k * rows..][..rows],
                    Column::Output(k) => &done_out[k * rows..][..rows],
                    Column::Temporary(k) => &done_temporary[k * rows..][..rows],
                }
            };
            match operation {
                Operation::One => target.fill(1.0),
                Operation::Copy(a) => target.copy_from_slice(column(a)),
                Operation::Product(a, b) => {
                    let (a, b) = (column(a), column(b));
                    simd::vectorised(
                        #[inline(always)]
                        || {
                            for ((target, &a), &b) in target.iter_mut().zip(a).zip(b) {
                                *target = a * b;
                            }
                        },
                    );
                }
                Operation::Reciprocal(a) => {
                    for (target, &a) in target.iter_mut().zip(column(a)) {
                        *target = 1.0 / a;
                    }
                }
                Operation::Call(function, frequency, a) => {
                    for (target, &a) in target.iter_mut().zip(column(a)) {
                        *target = function.apply(frequency * a);
                    }
                }
            }
        }
    }
}
