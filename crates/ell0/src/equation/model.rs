//! A finished model: equations for named targets, and the file they are kept in.

use serde::{Deserialize, Serialize};

use super::{Expression, Node, latex::latex_name};
use crate::{
    error::{Error, Result, require, require_len},
    features::Features,
};

/// What the targets of a model are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dynamics {
    /// Values that belong to the inputs: y = f(x).
    #[default]
    Regression,
    /// Rates of change of the states: ẋ = f(x).
    Continuous,
    /// The states one step later: x⁺ = f(x).
    Discrete,
}

/// One term of an equation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TermRecord {
    /// Its name, as PySINDy prints it.
    pub feature: String,
    /// Its coefficient in the user's units.
    pub coefficient: f64,
    /// How sure the data are that the term belongs, where that was computed.
    #[serde(default)]
    pub probability: Option<f64>,
}

/// The equation of one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equation {
    /// What it gives.
    pub target: String,
    /// The whole right-hand side as text with all digits, in the model's inputs.
    pub expression: String,
    /// The terms of a linear combination, for reading; empty for other expressions.
    #[serde(default)]
    pub terms: Vec<TermRecord>,
    /// Significant digits without which the text would not be the law any more: large coefficients may cancel. None if the usual ones suffice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<usize>,
}

/// What a dictionary says of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct DictionaryTarget {
    /// Its name.
    pub target: String,
    /// Coefficients of all features in the user's units.
    pub coefficients: Vec<f64>,
    /// The probability of each feature, if known.
    pub probabilities: Option<Vec<f64>>,
}

/// A closed-form model. The schema of its file, `model.json`, is described in `docs/model-json.md`.
///
/// ```
/// use ell0::equation::{Dynamics, Expression, Model};
/// let law = Expression::parse("-2*x + y", &["x", "y"])?;
/// let model = Model::new(vec!["x".into(), "y".into()], vec![("x".into(), law)], Dynamics::Continuous)?;
/// assert_eq!(model.predict(&[1.0, 0.0, 2.0, 3.0], 2)?, [0.0, 3.0]);
/// let text = model.to_json();
/// assert_eq!(Model::from_json(&text)?, model);
/// # Ok::<(), ell0::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    file: File,
    expressions: Vec<Expression>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    version: u32,
    inputs: Vec<String>,
    dynamics: Dynamics,
    #[serde(default)]
    library: Option<String>,
    equations: Vec<Equation>,
}

const FORMAT: &str = "ell0-model";
const VERSION: u32 = 1;

/// The fewest that commands print: a law that needs no more says nothing of it.
const USUAL_DIGITS: usize = 5;

impl Equation {
    /// The digits that are shown where so many are asked for.
    pub(super) fn shown(&self, asked: usize) -> usize {
        asked.max(self.digits.unwrap_or(0)).clamp(1, 17)
    }
}

impl Model {
    /// A model of given expressions, all in the same inputs.
    pub fn new(
        inputs: Vec<String>,
        equations: Vec<(String, Expression)>,
        dynamics: Dynamics,
    ) -> Result<Self> {
        for (target, expression) in &equations {
            let same = expression.variables() == inputs;
            require(
                same,
                "inputs",
                format!("{:?} (of {target})", expression.variables()),
                "all equations must have the model's inputs",
            )?;
        }
        let equation = |(target, expression): &(String, Expression)| Equation {
            target: target.clone(),
            expression: expression.to_string(),
            terms: Vec::new(),
            digits: None,
        };
        let file = File {
            format: FORMAT.into(),
            version: VERSION,
            inputs,
            dynamics,
            library: None,
            equations: equations.iter().map(equation).collect(),
        };
        Model {
            file,
            expressions: Vec::new(),
        }
        .check()
    }

    /// A dictionary model: for each target, coefficients of all features in the user's units and, if known, the probability of each.
    pub fn dictionary(
        features: &Features,
        library: &str,
        targets: &[DictionaryTarget],
        dynamics: Dynamics,
    ) -> Result<Self> {
        let mut equations = Vec::new();
        for DictionaryTarget {
            target,
            coefficients,
            probabilities,
        } in targets
        {
            require_len(
                format!("coefficients of {target}"),
                coefficients.len(),
                features.len(),
            )?;
            if let Some(probabilities) = probabilities {
                require_len(
                    format!("probabilities of {target}"),
                    probabilities.len(),
                    features.len(),
                )?;
            }
            let used: Vec<usize> = (0..features.len())
                .filter(|&j| coefficients[j] != 0.0)
                .collect();
            let terms = used
                .iter()
                .map(|&j| (coefficients[j], &features.terms()[j]));
            let expression = Expression::linear(features.inputs().to_vec(), terms)?;
            let record = |&j: &usize| TermRecord {
                feature: features.names()[j].clone(),
                coefficient: coefficients[j],
                probability: probabilities.as_ref().map(|p| p[j]),
            };
            equations.push(Equation {
                target: target.clone(),
                expression: expression.to_string(),
                terms: used.iter().map(record).collect(),
                digits: None,
            });
        }
        let file = File {
            format: FORMAT.into(),
            version: VERSION,
            inputs: features.inputs().to_vec(),
            dynamics,
            library: Some(library.into()),
            equations,
        };
        Model {
            file,
            expressions: Vec::new(),
        }
        .check()
    }

    /// Checks what the types do not say, and reads the expressions.
    fn check(mut self) -> Result<Self> {
        let file = &self.file;
        require(
            file.format == FORMAT,
            "format",
            &file.format,
            "expected `ell0-model`",
        )?;
        require(
            file.version == VERSION,
            "version",
            file.version,
            "this program reads version 1",
        )?;
        require(
            !file.equations.is_empty(),
            "equations",
            "none",
            "a model needs at least one equation",
        )?;
        for (index, name) in file.inputs.iter().enumerate() {
            require(
                !file.inputs[..index].contains(name),
                "input",
                name,
                "each input must have its own name",
            )?;
        }
        for (index, equation) in file.equations.iter().enumerate() {
            let twice = file.equations[..index]
                .iter()
                .any(|e| e.target == equation.target);
            require(
                !twice,
                "target",
                &equation.target,
                "each target must have one equation",
            )?;
        }
        let read = |equation: &Equation| Expression::parse(&equation.expression, &file.inputs);
        self.expressions = file.equations.iter().map(read).collect::<Result<_>>()?;
        Ok(self)
    }

    /// Reads a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: File = serde_json::from_str(text).map_err(|e| {
            Error::parameter(
                "model file",
                e,
                "expected a model.json of version 1; see docs/model-json.md",
            )
        })?;
        Model {
            file,
            expressions: Vec::new(),
        }
        .check()
    }

    /// The text of the model's file.
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists of them: nothing that could fail.
        serde_json::to_string_pretty(&self.file).unwrap_or_default()
    }

    /// Names of the inputs.
    pub fn inputs(&self) -> &[String] {
        &self.file.inputs
    }

    /// Names of the targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.file.equations.iter().map(|e| e.target.as_str())
    }

    /// What the targets are.
    pub fn dynamics(&self) -> Dynamics {
        self.file.dynamics
    }

    /// The library the terms were chosen from, as text.
    pub fn library(&self) -> Option<&str> {
        self.file.library.as_deref()
    }

    /// The equations.
    pub fn equations(&self) -> &[Equation] {
        &self.file.equations
    }

    /// The right-hand sides.
    pub fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    /// The targets for many rows; columns of inputs and of targets stand one after the other.
    pub fn predict(&self, columns: &[f64], rows: usize) -> Result<Vec<f64>> {
        require_len(
            "values of the inputs",
            columns.len(),
            rows.saturating_mul(self.inputs().len()),
        )?;
        if self.inputs().is_empty() {
            require(
                rows <= 1 << 24,
                "rows",
                rows,
                "a model without inputs gives at most 2^24 rows at once",
            )?;
        }
        let mut out = vec![0.0; rows * self.expressions.len()];
        if rows > 0 {
            for (expression, out) in self.expressions.iter().zip(out.chunks_exact_mut(rows)) {
                expression.evaluator().evaluate_into(columns, rows, out)?;
            }
        }
        Ok(out)
    }

    /// The left-hand side of an equation: `(x)'`, `(x)[k+1]`, or the target's name.
    fn left(&self, equation: &Equation) -> String {
        match self.file.dynamics {
            Dynamics::Regression => equation.target.clone(),
            Dynamics::Continuous => format!("({})'", equation.target),
            Dynamics::Discrete => format!("({})[k+1]", equation.target),
        }
    }

    /// The equations as PySINDy prints them, a line each, with so many digits after the point: `(x)' = -10.000 x + 10.000 y`.
    pub fn pysindy(&self, digits: usize) -> String {
        let digits = digits.min(17);
        let line = |(equation, expression): (&Equation, &Expression)| {
            let terms: Vec<String> = equation
                .terms
                .iter()
                .map(|t| format!("{:.digits$} {}", t.coefficient, t.feature))
                .collect();
            let right = match (terms.is_empty(), expression.root()) {
                (false, _) => terms.join(" + "),
                (true, Node::Number(0.0)) => format!("{:.digits$}", 0.0),
                (true, _) => expression.to_string(),
            };
            format!("{} = {right}", self.left(equation))
        };
        self.lines(line)
    }

    /// The same model, of which each equation needs so many digits when it is printed, and gets them; see [`Statistics::digits`](crate::dictionary::Statistics::digits).
    pub fn with_digits(mut self, digits: impl IntoIterator<Item = usize>) -> Self {
        for (equation, digits) in self.file.equations.iter_mut().zip(digits) {
            equation.digits = (digits > USUAL_DIGITS).then_some(digits);
        }
        self
    }

    /// The equations in a plainer style, a line each, with so many significant digits, or as many more as an equation needs: `x' = -10*x + 10*y`.
    pub fn text(&self, digits: usize) -> String {
        self.lines(|(equation, expression)| {
            let digits = equation.shown(digits);
            let left = match self.file.dynamics {
                Dynamics::Regression => equation.target.clone(),
                Dynamics::Continuous => format!("{}'", equation.target),
                Dynamics::Discrete => format!("{}[k+1]", equation.target),
            };
            format!("{left} = {expression:.digits$}")
        })
    }

    /// The equations as LaTeX, aligned, with digits as in [`text`](Model::text).
    pub fn latex(&self, digits: usize) -> String {
        let line = |(equation, expression): (&Equation, &Expression)| {
            let name = latex_name(&equation.target);
            let left = match self.file.dynamics {
                Dynamics::Regression => name,
                Dynamics::Continuous => format!("\\frac{{\\mathrm{{d}}}}{{\\mathrm{{d}}t}} {name}"),
                Dynamics::Discrete => format!("{{{name}}}^{{(k+1)}}"),
            };
            format!(
                "{left} &= {} \\\\",
                expression.latex(equation.shown(digits))
            )
        };
        format!("\\begin{{align*}}\n{}\n\\end{{align*}}", self.lines(line))
    }

    fn lines(&self, line: impl Fn((&Equation, &Expression)) -> String) -> String {
        self.file
            .equations
            .iter()
            .zip(&self.expressions)
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    }
}
