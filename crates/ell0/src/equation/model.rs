//! A finished model: equations for named targets.

use std::{collections::HashSet, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{CompiledModel, Expression, file::File};
use crate::{
    error::{Result, require, require_len},
    features::{Features, Library},
    wording::{listed, shown},
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
    /// The standard error of the coefficient, where it is known; ± 1.96 times it is an interval of 95 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

/// The equation of one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// What it gives.
    pub target: String,
    /// The whole right-hand side, in the model's inputs.
    pub expression: Expression,
    /// The terms of a linear combination, for reading; empty for other expressions.
    pub terms: Vec<TermRecord>,
    /// Significant digits without which the text would not be the law any more: large coefficients may cancel. None if the usual ones suffice.
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
    /// The standard error of each coefficient, if known.
    pub errors: Option<Vec<f64>>,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "File", into = "File")]
pub struct Model {
    inputs: Arc<[String]>,
    dynamics: Dynamics,
    library: Option<Library>,
    equations: Vec<Equation>,
}

/// Most inputs, and most equations.
const MOST_NAMES: usize = 10_000;

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
        let equation = |(target, expression): (String, Expression)| Equation {
            target,
            expression,
            terms: Vec::new(),
            digits: None,
        };
        let equations = equations.into_iter().map(equation).collect();
        Model::of_equations(inputs.into(), equations, dynamics, None)
    }

    /// A dictionary model: for each target, coefficients of all features in the user's units and, if known, the probability of each.
    pub fn dictionary(
        features: &Features,
        library: &Library,
        targets: &[DictionaryTarget],
        dynamics: Dynamics,
    ) -> Result<Self> {
        let inputs: Arc<[String]> = features.inputs().into();
        let mut equations = Vec::new();
        for DictionaryTarget {
            target,
            coefficients,
            probabilities,
            errors,
        } in targets
        {
            require_len(
                format!("coefficients of {target}"),
                coefficients.len(),
                features.len(),
            )?;
            for (what, values) in [("probabilities", probabilities), ("errors", errors)] {
                if let Some(values) = values {
                    require_len(format!("{what} of {target}"), values.len(), features.len())?;
                }
            }
            let used: Vec<usize> = (0..features.len())
                .filter(|&j| coefficients[j] != 0.0)
                .collect();
            let terms = used
                .iter()
                .map(|&j| (coefficients[j], &features.terms()[j]));
            let expression = Expression::linear(inputs.clone(), terms)?;
            let record = |&j: &usize| TermRecord {
                feature: features.names()[j].clone(),
                coefficient: coefficients[j],
                probability: probabilities.as_ref().map(|p| p[j]),
                error: errors.as_ref().map(|e| e[j]).filter(|e| e.is_finite()),
            };
            equations.push(Equation {
                target: target.clone(),
                expression,
                terms: used.iter().map(record).collect(),
                digits: None,
            });
        }
        Model::of_equations(inputs, equations, dynamics, Some(library.clone()))
    }

    /// Checks what the types do not say.
    pub(super) fn of_equations(
        inputs: Arc<[String]>,
        equations: Vec<Equation>,
        dynamics: Dynamics,
        library: Option<Library>,
    ) -> Result<Self> {
        require(
            !equations.is_empty(),
            "equations",
            "none",
            "a model needs at least one equation",
        )?;
        Model::check_inputs(&inputs)?;
        require(
            equations.len() <= MOST_NAMES,
            "equations",
            equations.len(),
            "a model has at most 10,000 of them",
        )?;
        let mut seen = HashSet::new();
        for Equation {
            target, expression, ..
        } in &equations
        {
            require(
                seen.insert(target.as_str()),
                "target",
                format!("`{}`", shown(target)),
                "each target must have one equation",
            )?;
            // Mostly they are the very same list.
            let own = &expression.variables;
            let same = Arc::ptr_eq(own, &inputs) || *own == inputs;
            require(
                same,
                "inputs",
                format!("`{}` (of `{}`)", listed(own), shown(target)),
                "all equations must have the model's inputs",
            )?;
            expression.check_writable()?;
        }
        Ok(Model {
            inputs,
            dynamics,
            library,
            equations,
        })
    }

    /// Checks the names of the inputs.
    pub(super) fn check_inputs(inputs: &[String]) -> Result<()> {
        require(
            inputs.len() <= MOST_NAMES,
            "inputs",
            inputs.len(),
            "a model has at most 10,000 of them",
        )?;
        let mut seen = HashSet::new();
        for name in inputs {
            require(
                seen.insert(name.as_str()),
                "input",
                format!("`{}`", shown(name)),
                "each input must have its own name",
            )?;
        }
        Ok(())
    }

    /// The same model, of which each equation needs so many digits when it is printed, and gets them; see [`Statistics::digits`](crate::dictionary::Statistics::digits).
    #[must_use]
    pub fn with_digits(mut self, digits: impl IntoIterator<Item = usize>) -> Self {
        for (equation, digits) in self.equations.iter_mut().zip(digits) {
            equation.digits = (digits > USUAL_DIGITS).then_some(digits);
        }
        self
    }

    /// Names of the inputs.
    pub fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// Names of the targets.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.equations.iter().map(|e| e.target.as_str())
    }

    /// What the targets are.
    pub fn dynamics(&self) -> Dynamics {
        self.dynamics
    }

    /// The library the terms were chosen from.
    pub fn library(&self) -> Option<&Library> {
        self.library.as_ref()
    }

    /// The equations.
    pub fn equations(&self) -> &[Equation] {
        &self.equations
    }

    /// The right-hand sides.
    pub fn expressions(&self) -> impl ExactSizeIterator<Item = &Expression> + Clone {
        self.equations.iter().map(|e| &e.expression)
    }

    /// The model as a program for many rows.
    #[must_use]
    pub fn compiled(&self) -> CompiledModel {
        CompiledModel::new(self)
    }

    /// The targets for many rows; columns of inputs and of targets stand one after the other. For block after block of rows, see [`Model::compiled`].
    pub fn predict(&self, columns: &[f64], rows: usize) -> Result<Vec<f64>> {
        require_len(
            "values of the inputs",
            columns.len(),
            rows.saturating_mul(self.inputs.len()),
        )?;
        if self.inputs.is_empty() {
            require(
                rows <= 1 << 24,
                "rows",
                rows,
                "a model without inputs gives at most 2^24 rows at once",
            )?;
        }
        let mut out = vec![0.0; rows * self.equations.len()];
        self.compiled().predict_into(columns, rows, &mut out)?;
        Ok(out)
    }
}
