//! What can be said of a policy or a law before it is put to work.
//!
//! - [`analyze_loop`]: a policy in the loop it runs in, a world or a learned transition model.
//! - [`analyze_field`]: a policy in a world of many states.
//! - [`analyze_law`]: a law of states on its own.
//! - [`AnalyzeSettings`]: either of them, from files and text.

mod basin;
mod closed_loop;
mod field;
mod law;
mod page;
mod portrait;

use std::path::{Path, PathBuf};

use ell0::equation::Model;
use ell0_control::{
    analysis::{Behaviour, ModelPlant, Plant, Range},
    environment::{Environment, make},
    policy::policy_from_text,
};
use ell0_plot::Figure;
use serde::{Deserialize, Serialize};

pub use basin::{BasinReport, LimitsReport, ProofSettings, UncertainReport};
pub use closed_loop::{
    EquilibriumReport, LoopAnalysis, ParameterReport, RegionEnding, RegionReport, ReturnReport,
    TermReport, analyze_loop,
};
pub use field::{FieldAnalysis, FieldEquilibriumReport, analyze_field};
pub use law::{FixedPointReport, LawAnalysis, Recording, ValidityReport, analyze_law};

use crate::{
    error::{Error, Result},
    files,
    folder::{Folder, Place},
    model::read_model,
    observer::Observer,
};

/// What was found, with what it was found of.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// The policy or the law.
    pub model: Model,
    /// What was found of it.
    pub findings: Findings,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "one at a time")]
pub enum Findings {
    /// Of a policy in its loop.
    Loop(LoopAnalysis),
    /// Of a policy in the loop of a world of many states.
    Field(FieldAnalysis),
    /// Of a law on its own.
    Law(LawAnalysis),
}

/// An analysis with its phase portrait, not yet written.
#[derive(Clone, Debug)]
pub struct Analyzed {
    /// What was found.
    pub analysis: Analysis,
    /// The phase portrait of a loop.
    pub portrait: Option<Figure>,
    /// The proof of arrival, for `ell0-check`.
    pub certificate: Option<String>,
}

/// What is analysed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A model file, or the folder of a fit.
    File(PathBuf),
    /// A policy as text, in the observations of the world; several actions as `a = …; b = …`.
    Policy(String),
}

/// What is analysed, and in which loop.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `subject` | | a policy or a law |
/// | `environment` | none | the world that the policy acts in, by its name |
/// | `model` | none | the learned transition model that it acts in instead: a discrete law, or targets `next_x` for inputs `x` |
/// | `bounds` | ±10 each | where the states of that model are looked for |
/// | `data` | none | held-out trajectories of a law, one a file: how long its predictions are valid |
/// | `proof` | 20 s | what is to be proved of a loop: see [`ProofSettings`] |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct AnalyzeSettings {
    pub subject: Subject,
    pub environment: Option<String>,
    pub model: Option<PathBuf>,
    #[serde(default)]
    pub bounds: Vec<(String, Range)>,
    #[serde(default)]
    pub data: Vec<PathBuf>,
    #[serde(default)]
    pub proof: ProofSettings,
}

/// The file with what was found.
const RESULT: &str = "analysis.json";

/// What such a run is called.
pub(crate) const KIND: &str = "analysis";

impl AnalyzeSettings {
    /// Of a subject alone.
    #[must_use]
    pub fn new(subject: Subject) -> Self {
        AnalyzeSettings {
            subject,
            environment: None,
            model: None,
            bounds: Vec::new(),
            data: Vec::new(),
            proof: ProofSettings::default(),
        }
    }

    /// Whether the folder of an analysis could be put there: asked before the work begins.
    pub fn check_place(&self, place: &Place) -> Result<()> {
        place.check(KIND, self.inputs())
    }

    /// The files and folders that are read.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        let subject = match &self.subject {
            Subject::File(path) => Some(path),
            Subject::Policy(_) => None,
        };
        let paths = subject.into_iter().chain(&self.model).chain(&self.data);
        paths.map(PathBuf::as_path)
    }

    /// Analyses the subject in the loop that the settings name, or a law on its own.
    pub fn run(&self, observer: &dyn Observer) -> Result<Analyzed> {
        if let Some(name) = &self.environment {
            let world = make(name)?;
            return self.run_in(world.as_ref(), observer);
        }
        if let Some(path) = &self.model {
            let config = ModelPlant {
                bounds: self.bounds.clone(),
                ..ModelPlant::default()
            };
            let plant = Plant::of_model(&read_model(path)?, &config)?;
            let (observations, actions) = (plant.observation_names(), plant.action_names());
            let policy = self.subject(&observations, &actions)?;
            return analyze_loop(&policy, &plant, None, &self.proof, observer);
        }
        let Subject::File(path) = &self.subject else {
            return Err(Error::NoLoop);
        };
        if self.proof.asks() {
            return Err(Error::Settings(
                "what is uncertain, and limits, are for a policy in its loop: nothing is proved of a law on its own, whose trajectories would have to be enclosed between its steps",
            ));
        }
        let law = read_model(path)?;
        let data = self.data.iter().map(|path| Recording::read(&law, path));
        analyze_law(&law, &data.collect::<Result<Vec<_>>>()?, observer)
    }

    /// Analyses the policy in a world of the caller's own.
    pub fn run_in(&self, world: &dyn Environment, observer: &dyn Observer) -> Result<Analyzed> {
        if !self.data.is_empty() {
            return Err(Error::Settings(
                "data are for laws of states; a policy is measured in its environment",
            ));
        }
        let (observation, action) = (world.observation_space(), world.action_space());
        let policy = self.subject(observation.names(), action.names())?;
        analyze_policy(&policy, world, &self.proof, observer)
    }

    fn subject(&self, observations: &[String], actions: &[String]) -> Result<Model> {
        Ok(match &self.subject {
            Subject::File(path) => read_model(path)?,
            Subject::Policy(text) => policy_from_text(text, observations, actions)?,
        })
    }
}

/// Analyses a policy in a world whose step is known in closed form, or with its derivatives.
pub fn analyze_policy(
    policy: &Model,
    world: &dyn Environment,
    proof: &ProofSettings,
    observer: &dyn Observer,
) -> Result<Analyzed> {
    match (world.closed_form(), world.smooth()) {
        (Some(form), _) => analyze_loop(policy, &form.plant()?, Some(world), proof, observer),
        (None, Some(_)) if proof.asks() => Err(Error::Settings(
            "what is uncertain, and limits, are for loops whose step is known in closed form",
        )),
        (None, Some(smooth)) => analyze_field(policy, smooth, world, observer),
        (None, None) => Err(Error::NoClosedForm {
            environment: world.text(),
        }),
    }
}

impl Analyzed {
    /// Writes the folder of an analysis, and says where it is.
    pub fn write(&self, place: &Place, command: Option<&str>) -> Result<PathBuf> {
        let mut folder = Folder::new(place, KIND, [])?;
        folder.put(RESULT, files::to_json(&self.analysis.findings)?)?;
        folder.put("model.json", self.analysis.model.to_json())?;
        if let Some(certificate) = &self.certificate {
            folder.put("certificate.txt", certificate.as_bytes())?;
        }
        if let Some(portrait) = &self.portrait {
            folder.draw("portrait", portrait)?;
        }
        if let Findings::Field(FieldAnalysis {
            equilibrium: Some(rest),
            ..
        }) = &self.analysis.findings
        {
            folder.draw("eigenvalues", &rest.figure())?;
        }
        folder.report(command)?;
        folder.finish()
    }
}

impl Analysis {
    /// Reads the analysis in a folder.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        /// What tells the findings apart: only a loop has a policy, and only one of many states a behaviour.
        #[derive(Deserialize)]
        struct Kind {
            policy: Option<String>,
            behaviour: Option<Behaviour>,
        }
        let file = folder.join(RESULT);
        let kind = files::read_json::<Kind>(&file)?;
        let findings = match (kind.policy, kind.behaviour) {
            (Some(_), Some(_)) => Findings::Field(files::read_json(&file)?),
            (Some(_), None) => Findings::Loop(files::read_json(&file)?),
            (None, _) => Findings::Law(files::read_json(&file)?),
        };
        Ok(Analysis {
            findings,
            model: read_model(folder.join("model.json"))?,
        })
    }
}
