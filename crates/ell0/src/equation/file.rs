//! A model as the file it is kept in, `model.json`: the only place where its expressions are text.

use serde::{Deserialize, Serialize, de::IgnoredAny};

use std::sync::Arc;

use super::{Dynamics, Equation, Expression, Model, TermRecord, parse::places};
use crate::error::{Error, Result, require};

const FORMAT: &str = "ell0-model";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    format: String,
    version: u32,
    inputs: Vec<String>,
    dynamics: Dynamics,
    #[serde(default)]
    library: Option<String>,
    equations: Vec<Line>,
    /// What a policy acts by; the equations say the same to all who read a model.
    #[serde(default, skip_serializing, rename = "policy")]
    _policy: Option<IgnoredAny>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    target: String,
    /// With all digits, in the model's inputs.
    expression: String,
    #[serde(default)]
    terms: Vec<TermRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digits: Option<usize>,
}

impl From<&Model> for File {
    fn from(model: &Model) -> Self {
        let line = |equation: &Equation| Line {
            target: equation.target.clone(),
            expression: equation.expression.to_string(),
            terms: equation.terms.clone(),
            digits: equation.digits,
        };
        File {
            format: FORMAT.into(),
            version: VERSION,
            inputs: model.inputs().to_vec(),
            dynamics: model.dynamics(),
            library: model.library().map(ToString::to_string),
            equations: model.equations().iter().map(line).collect(),
            _policy: None,
        }
    }
}

impl From<Model> for File {
    fn from(model: Model) -> Self {
        File::from(&model)
    }
}

impl TryFrom<File> for Model {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        let expected = "expected `ell0-model`";
        require(file.format == FORMAT, "format", &file.format, expected)?;
        require(
            file.version == VERSION,
            "version",
            file.version,
            "this program reads version 1",
        )?;
        Model::check_inputs(&file.inputs)?;
        let inputs: Arc<[String]> = file.inputs.into();
        let places = places(&inputs);
        let read = |line: Line| -> Result<Equation> {
            Ok(Equation {
                expression: Expression::parse_in(&line.expression, &inputs, &places)?,
                target: line.target,
                terms: line.terms,
                digits: line.digits,
            })
        };
        let equations = file.equations.into_iter().map(read);
        let equations = equations.collect::<Result<Vec<_>>>()?;
        let library = file.library.map(|text| text.parse()).transpose()?;
        Model::of_equations(inputs.clone(), equations, file.dynamics, library)
    }
}

impl Model {
    /// Reads a model file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: File = serde_json::from_str(text).map_err(|e| {
            Error::parameter(
                "model file",
                e,
                "expected a model.json of version 1; see docs/model-json.md",
            )
        })?;
        file.try_into()
    }

    /// The text of the model's file.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists of them: nothing that could fail.
        serde_json::to_string_pretty(&File::from(self)).unwrap_or_default()
    }
}
