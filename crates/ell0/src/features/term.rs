//! A term: a product of simple functions of single inputs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Function {
    /// eˣ.
    Exp,
    /// Natural logarithm.
    Log,
    /// √x.
    Sqrt,
    /// |x|.
    Abs,
    /// tanh x.
    Tanh,
    /// −1, 0 or 1.
    Sign,
    /// sin x.
    Sin,
    /// cos x.
    Cos,
}

impl Function {
    /// All functions and their names.
    pub const ALL: [(Function, &'static str); 8] = [
        (Function::Exp, "exp"),
        (Function::Log, "log"),
        (Function::Sqrt, "sqrt"),
        (Function::Abs, "abs"),
        (Function::Tanh, "tanh"),
        (Function::Sign, "sign"),
        (Function::Sin, "sin"),
        (Function::Cos, "cos"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Function::ALL
            .iter()
            .find(|(f, _)| *f == self)
            .map_or("", |(_, name)| name)
    }

    /// f(x); NaN outside the domain.
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Function::Exp => x.exp(),
            Function::Log => x.ln(),
            Function::Sqrt => x.sqrt(),
            Function::Abs => x.abs(),
            Function::Tanh => x.tanh(),
            Function::Sign if x == 0.0 => 0.0,
            Function::Sign => x.signum(),
            Function::Sin => x.sin(),
            Function::Cos => x.cos(),
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Function {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Function::ALL
            .iter()
            .find(|(_, n)| *n == name)
            .map(|(f, _)| *f)
            .ok_or_else(|| Error::Unknown {
                kind: "function",
                name: name.into(),
                expected: "exp, log, sqrt, abs, tanh, sign, sin, cos, reciprocal",
            })
    }
}

/// A simple function of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// xᵏ with k ≠ 0; k = −1 is the reciprocal.
    Power {
        /// Which input.
        input: usize,
        /// k.
        exponent: i32,
    },
    /// f(frequency · x).
    Call {
        /// f.
        function: Function,
        /// Factor inside; 1 but for Fourier terms.
        frequency: u32,
        /// Which input.
        input: usize,
    },
}

impl Factor {
    /// Which input it reads.
    pub fn input(&self) -> usize {
        match *self {
            Factor::Power { input, .. } | Factor::Call { input, .. } => input,
        }
    }

    /// Its value for one number.
    pub fn apply(&self, x: f64) -> f64 {
        match *self {
            Factor::Power { exponent, .. } => x.powi(exponent),
            Factor::Call {
                function,
                frequency,
                ..
            } => function.apply(f64::from(frequency) * x),
        }
    }
}

/// A product of factors; the empty product is the constant 1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Term {
    factors: Vec<Factor>,
}

impl Term {
    /// The constant 1.
    pub fn one() -> Self {
        Term::default()
    }

    /// A single factor.
    pub fn of(factor: Factor) -> Self {
        Term::one().times(factor)
    }

    /// The factors.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// The product with a factor; powers of the same input merge.
    pub fn times(mut self, factor: Factor) -> Self {
        if let Factor::Power { input, exponent } = factor {
            let same = self
                .factors
                .iter_mut()
                .position(|f| matches!(f, Factor::Power { input: i, .. } if *i == input));
            if let Some(place) = same
                && let Factor::Power { exponent: e, .. } = &mut self.factors[place]
            {
                *e = e.saturating_add(exponent);
                if *e == 0 {
                    self.factors.remove(place);
                }
                return self;
            }
            if exponent == 0 {
                return self;
            }
        }
        self.factors.push(factor);
        self
    }

    /// The product with another term.
    pub fn product(&self, other: &Term) -> Self {
        other
            .factors
            .iter()
            .fold(self.clone(), |term, &factor| term.times(factor))
    }

    /// The value for one row of inputs.
    pub fn apply(&self, row: &[f64]) -> f64 {
        self.factors
            .iter()
            .map(|factor| factor.apply(row[factor.input()]))
            .product()
    }

    /// The name as PySINDy prints it, with the given names of the inputs: `x0^2 x1`, `sin(1 x0)`, `1`.
    pub fn name(&self, inputs: &[String]) -> String {
        if self.factors.is_empty() {
            return "1".into();
        }
        let factor = |factor: &Factor| {
            let input = &inputs[factor.input()];
            match *factor {
                Factor::Power { exponent: 1, .. } => input.clone(),
                Factor::Power { exponent, .. } => format!("{input}^{exponent}"),
                Factor::Call {
                    function: f @ (Function::Sin | Function::Cos),
                    frequency,
                    ..
                } => {
                    format!("{f}({frequency} {input})")
                }
                Factor::Call { function, .. } => format!("{function}({input})"),
            }
        };
        self.factors
            .iter()
            .map(factor)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The same term up to the order of its factors.
    pub(crate) fn canonical(&self) -> Term {
        let mut factors = self.factors.clone();
        factors.sort_unstable();
        Term { factors }
    }
}
