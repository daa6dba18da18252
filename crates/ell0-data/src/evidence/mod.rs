//! What some files say of a question: statistics in groups that can still be split into training and validation data when those of several files come together.

mod fold;
mod rows;
mod split;

use ell0::{
    dictionary::Statistics,
    equation::Dynamics,
    features::{Features, Library},
    wording::{shown, told},
};
use serde::{Deserialize, Serialize};

use crate::{
    derivative::Derivative,
    error::{Error, Result},
    runs::Runs,
    series::{Recipe, for_each_stretch},
    survey::Survey,
    windows::Piece,
};

use rows::work;
pub use rows::{TrainingRows, training_rows};
pub use split::Split;
use split::group_count;

/// The statistics of some files. Evidence that was gathered apart, on other machines perhaps, is fitted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    format: String,
    version: u32,
    /// The candidate terms.
    pub library: Library,
    /// Those of each target, where targets have libraries of their own; the terms above are these together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<Library>,
    /// States and controls, or the inputs of a plain regression.
    pub inputs: Vec<String>,
    /// Targets.
    pub targets: Vec<String>,
    /// What the targets are.
    pub dynamics: Dynamics,
    /// How rates of change were found.
    pub derivative: Derivative,
    /// What was seen of the data first.
    pub survey: Survey,
    /// A bounded number of rows, for judging laws by the measurements themselves; none if they were not wanted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Piece>,
    /// Gaps within trajectories, over which nothing was joined.
    #[serde(default)]
    pub gaps: u64,
    /// Trajectories left out because they are too short.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub short: u64,
    /// Sums of the squared errors of the targets themselves.
    errors: Vec<f64>,
    errors_of: u64,
    /// Triangles by group: with fewer than 5 trajectories 25 blocks of time for each, with fewer than 25 five, else one for every trajectory modulo 25.
    groups: Vec<(usize, Statistics)>,
}

/// Programs that know nothing of a number read files in which it is 0.
fn is_zero(number: &u64) -> bool {
    *number == 0
}

const FORMAT: &str = "ell0-part";
const VERSION: u32 = 1;

/// What is asked of the data: how the targets depend on the inputs, in which terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The candidate terms.
    pub library: Library,
    /// Those of each target, where targets have libraries of their own; the terms above are these together.
    pub libraries: Vec<Library>,
    /// States and controls, or the inputs of a plain regression.
    pub inputs: Vec<String>,
    /// Targets; those of a law of states are the first inputs.
    pub targets: Vec<String>,
    /// What the targets are.
    pub dynamics: Dynamics,
    /// How rates of change are found, if the targets are such.
    pub derivative: Derivative,
}

impl Question {
    /// The candidate terms.
    pub fn features(&self) -> ell0::Result<Features> {
        self.library.features(&self.inputs)
    }

    /// The candidate terms of each target, by their place among all.
    pub fn allowed(&self) -> ell0::Result<Vec<Vec<usize>>> {
        allowed(&self.features()?, &self.libraries, self.targets.len())
    }

    /// What the rows of the problem are made from.
    #[must_use]
    pub fn recipe(&self) -> Recipe {
        Recipe {
            dynamics: self.dynamics,
            derivative: self.derivative,
            inputs: self.inputs.len(),
            targets: self.targets.len(),
        }
    }
}

/// The candidate terms of each of so many targets, by their place among all; without libraries of their own all targets have all terms.
fn allowed(
    features: &Features,
    libraries: &[Library],
    targets: usize,
) -> ell0::Result<Vec<Vec<usize>>> {
    if libraries.is_empty() {
        return Ok(vec![(0..features.len()).collect(); targets]);
    }
    libraries.iter().map(|own| own.places(features)).collect()
}

/// Why saved evidence cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// It is no JSON, or has other fields.
    #[error("{}", told(&.0.to_string()))]
    Json(#[from] serde_json::Error),
    /// It is something else.
    #[error("its format is `{}`, not `{FORMAT}`", shown(.0))]
    Format(String),
    /// It was written by another version.
    #[error("it has version {0}; this program reads version {VERSION}")]
    Version(u32),
    /// A group of rows beyond those that its trajectories have.
    #[error("it has groups of rows that do not exist")]
    Groups,
    /// Statistics of other columns.
    #[error("its columns are not those of its library")]
    Columns,
    /// Samples of other columns, or out of order.
    #[error("its samples of rows are not those of its columns")]
    Samples,
    /// Errors or noise that are no sizes.
    #[error("its errors are not finite")]
    Errors,
    /// Its library has no such features.
    #[error(transparent)]
    Model(#[from] ell0::Error),
}

/// Statistics of all groups of rows together: what every computer has.
const MOST_BYTES: f64 = 1e9;

impl Evidence {
    /// Reads all runs and gathers their statistics, on all cores; the bits do not depend on how many there are. `progress` hears the number of rows read.
    pub fn gather(
        mut runs: Runs,
        question: &Question,
        survey: Survey,
        progress: impl Fn(u64) + Sync,
    ) -> Result<Self> {
        let (features, recipe) = (question.features()?, question.recipe());
        let targets = &question.targets;
        let groups = group_count(survey.trajectories);
        let bytes = (features.len() + targets.len()).pow(2) as f64 * 8.0 * groups as f64;
        if bytes > MOST_BYTES {
            return Err(Error::LargeLibrary {
                terms: features.len(),
                groups,
                gigabytes: bytes / 1e9,
            });
        }
        let empty = Statistics::new(features.names().to_vec(), targets.clone())?;
        let mut groups: Vec<Option<Statistics>> = vec![None; groups];
        let (mut errors, mut errors_of) = (vec![0.0; targets.len()], 0);
        for_each_stretch(
            &mut runs,
            &recipe,
            progress,
            |stretch| work(&recipe, &features, &survey, &empty, stretch),
            |done| {
                for piece in done {
                    match &mut groups[piece.group] {
                        Some(sum) => sum.merge(&piece.statistics)?,
                        none => *none = Some(piece.statistics),
                    }
                    errors
                        .iter_mut()
                        .zip(&piece.errors)
                        .for_each(|(e, more)| *e += more);
                    errors_of += piece.errors_of;
                }
                Ok(())
            },
        )?;
        let groups = groups.into_iter().enumerate();
        Ok(Evidence {
            format: FORMAT.into(),
            version: VERSION,
            library: question.library.clone(),
            libraries: question.libraries.clone(),
            inputs: question.inputs.clone(),
            targets: targets.clone(),
            dynamics: question.dynamics,
            derivative: question.derivative,
            survey,
            samples: Vec::new(),
            gaps: runs.gaps(),
            short: runs.short(),
            errors,
            errors_of,
            groups: groups.filter_map(|(k, s)| Some((k, s?))).collect(),
        })
    }

    /// Rows of the problem: fewer than those of the data, where rates of change need neighbours.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|(_, group)| group.rows()).sum()
    }

    /// The saved form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether bytes are the beginning of saved evidence.
    #[must_use]
    pub fn looks_like(bytes: &[u8]) -> bool {
        bytes.starts_with(br#"{"format":"ell0-part""#)
    }

    /// Reads the saved form.
    pub fn from_json(text: &str) -> Result<Self, EvidenceError> {
        let evidence: Evidence = serde_json::from_str(text)?;
        let says = |ok: bool, wrong: EvidenceError| if ok { Ok(()) } else { Err(wrong) };
        let Evidence {
            format, version, ..
        } = &evidence;
        says(format == FORMAT, EvidenceError::Format(format.clone()))?;
        says(*version == VERSION, EvidenceError::Version(*version))?;
        let count = group_count(evidence.survey.trajectories);
        let exist = evidence.groups.iter().all(|(k, _)| *k < count);
        says(exist, EvidenceError::Groups)?;
        let features = evidence.features()?;
        for (_, statistics) in &evidence.groups {
            let same = statistics.features() == features.names()
                && statistics.targets() == evidence.targets;
            says(same, EvidenceError::Columns)?;
        }
        // Targets that are columns of their own.
        let columns =
            evidence.dynamics == Dynamics::Regression || evidence.derivative == Derivative::Given;
        let width = evidence.inputs.len() + usize::from(columns) * evidence.targets.len();
        let whole = evidence.samples.iter().all(|piece| piece.is_sound(width));
        says(whole, EvidenceError::Samples)?;
        let own = evidence.libraries.len();
        says(
            own == 0 || own == evidence.targets.len(),
            EvidenceError::Columns,
        )?;
        evidence.allowed()?;
        let mut numbers = evidence.errors.iter().chain(&evidence.survey.noise);
        let sound = evidence.errors.len() == evidence.targets.len()
            && numbers.all(|e| e.is_finite() && *e >= 0.0);
        says(sound, EvidenceError::Errors)?;
        Ok(evidence)
    }

    /// The candidate terms.
    pub fn features(&self) -> ell0::Result<Features> {
        self.library.features(&self.inputs)
    }

    /// The candidate terms of each target, by their place among all.
    pub fn allowed(&self) -> ell0::Result<Vec<Vec<usize>>> {
        allowed(&self.features()?, &self.libraries, self.targets.len())
    }
}
