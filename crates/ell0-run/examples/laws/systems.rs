//! The systems of `benchmarks/laws/systems.toml`: what is known of each, and which terms its law has.

use std::{collections::HashSet, path::Path};

use ell0::{
    equation::{Dynamics, Expression, Model},
    features::{Features, Library},
    wording::{shown, shown_path},
};
use serde::{Deserialize, Serialize};

use crate::{Failure, expand::Terms};

/// The one library of the study `textbook`.
pub const FIXED: &str = "polynomial(3) + fourier(1)";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Pysindy,
    Textbook,
}

/// What may be looked at while a method is made, and what only when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    Tune,
    Report,
}

/// A system as the file describes it; the file says what the fields mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    pub name: String,
    pub group: Group,
    pub half: Half,
    #[serde(default)]
    pub nine: bool,
    pub states: Vec<String>,
    pub laws: Vec<String>,
    pub initial: Vec<f64>,
    pub second: Vec<f64>,
    pub duration: f64,
    pub step: f64,
    pub library: Option<String>,
    pub fixed: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    system: Vec<System>,
}

/// For each state, the coefficient of each term of a library that the law has.
pub type Coefficients = Vec<Vec<(usize, f64)>>;

/// Reads the systems and checks what can be checked of them.
pub fn read(file: &Path) -> Result<Vec<System>, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|e| format!("cannot read {}: {e}", shown_path(file)))?;
    let File { system: systems } = toml::from_str(&text)
        .map_err(|e| format!("{} is no list of systems: {e}", shown_path(file)))?;
    let mut names = HashSet::new();
    for system in &systems {
        let wrong = |what: String| format!("system {}: {what}", shown(&system.name));
        if !names.insert(system.name.to_lowercase()) {
            return Err(wrong("there are two of this name".into()).into());
        }
        system.check().map_err(|e| wrong(e.to_string()))?;
    }
    Ok(systems)
}

impl System {
    fn check(&self) -> Result<(), Failure> {
        let n = self.states.len();
        if [self.laws.len(), self.initial.len(), self.second.len()] != [n; 3] {
            return Err("there must be a law and two initial values for each state".into());
        }
        if self.states.iter().any(|state| state == "t") {
            return Err("a state cannot be called t: that is the time".into());
        }
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(self.step) || !positive(self.duration) || self.rows() < 20 {
            return Err("the step must be positive and the duration at least 20 steps".into());
        }
        if let Some(library) = self.library()?
            && self.truth(&self.features(&library)?)?.is_none()
        {
            return Err(format!("its law has terms that `{library}` has not").into());
        }
        let inside = self.truth(&self.features(&FIXED.parse()?)?)?.is_some();
        if inside != self.fixed {
            return Err(format!("`fixed` should be {inside}").into());
        }
        Ok(())
    }

    /// Rows of the natural run.
    pub fn rows(&self) -> usize {
        (self.duration / self.step).round() as usize
    }

    /// Its own library, if one has all terms of its law.
    pub fn library(&self) -> Result<Option<Library>, Failure> {
        Ok(self.library.as_deref().map(str::parse).transpose()?)
    }

    pub fn features(&self, library: &Library) -> Result<Features, Failure> {
        Ok(library.features(&self.states)?)
    }

    fn expressions(&self) -> Result<Vec<Expression>, Failure> {
        let parse = |law: &String| Expression::parse(law, &self.states);
        Ok(self.laws.iter().map(parse).collect::<Result<_, _>>()?)
    }

    /// Its law.
    pub fn model(&self) -> Result<Model, Failure> {
        let equations = self.states.iter().cloned().zip(self.expressions()?);
        let states = self.states.clone();
        Ok(Model::new(
            states,
            equations.collect(),
            Dynamics::Continuous,
        )?)
    }

    /// The true coefficients of a library's terms; none if the law has others.
    pub fn truth(&self, features: &Features) -> Result<Option<Coefficients>, Failure> {
        let laws = self.expressions()?;
        let of_library = |law: &Expression| Terms::of(law.root())?.among(features);
        Ok(laws.iter().map(of_library).collect())
    }
}
