//! What some files say of a question: statistics in groups that can still be split into training and validation data when those of several files come together.

use ell0::{
    dictionary::Statistics,
    equation::Dynamics,
    features::{Features, Library},
};
use serde::{Deserialize, Serialize};

use crate::{
    derivative::Derivative,
    error::Result,
    runs::Runs,
    series::{Equations, Recipe, Stretch, for_each_stretch},
    survey::Survey,
};

/// Groups of rows: every group is whole in the training data or in one part of the validation data.
const GROUPS: usize = 25;

/// Parts of the validation data: the spread of the error over them is its uncertainty.
const PARTS: usize = 5;

/// With so many trajectories, whole ones are held out; with fewer, blocks of time.
const ENOUGH: usize = 5;

/// With so many trajectories there are enough held-out ones to be the parts of the validation data; with fewer, each is cut into blocks of time for that.
const MANY: usize = 25;

/// Blocks of time that a trajectory is kept in: as many as may be needed when evidence comes together.
fn blocks(trajectories: usize) -> usize {
    match trajectories {
        0..ENOUGH => GROUPS,
        ENOUGH..MANY => PARTS,
        _ => 1,
    }
}

/// Where a block of time of a trajectory belongs, of so many trajectories in all: 0 is the training data, the others are parts of the validation data. Every fifth
/// trajectory is held out, or every fifth block of time where there are few.
fn place(trajectories: usize, trajectory: usize, block: usize, blocks: usize) -> usize {
    let (unit, part) = match trajectories {
        0..ENOUGH => (block, block / 5),
        ENOUGH..MANY => (trajectory, block * PARTS / blocks),
        _ => (trajectory, trajectory / 5),
    };
    if unit % 5 == 4 { 1 + part % PARTS } else { 0 }
}

fn group_count(trajectories: usize) -> usize {
    trajectories.clamp(1, MANY) * blocks(trajectories)
}

/// The statistics of some files. Evidence that was gathered apart, on other machines perhaps, is fitted together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    format: String,
    version: u32,
    /// The candidate terms.
    pub library: Library,
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
    /// Sums of the squared errors of the targets themselves.
    errors: Vec<f64>,
    errors_of: u64,
    /// Triangles by group: with fewer than 5 trajectories 25 blocks of time for each, with fewer than 25 five, else one for every trajectory modulo 25.
    groups: Vec<(usize, Statistics)>,
}

const FORMAT: &str = "ell0-part";
const VERSION: u32 = 1;

/// What is asked of the data: how the targets depend on the inputs, in which terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The candidate terms.
    pub library: Library,
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

/// Why saved evidence cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// It is no JSON, or has other fields.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// It is something else.
    #[error("its format is `{0}`, not `{FORMAT}`")]
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
    /// Errors or noise that are no sizes.
    #[error("its errors are not finite")]
    Errors,
    /// Its library has no such features.
    #[error(transparent)]
    Model(#[from] ell0::Error),
}

/// Training statistics, parts of the validation data that have rows, and for each target an error below which a model is as good as the targets themselves.
#[derive(Clone, Debug)]
pub struct Split {
    /// Statistics of the training rows.
    pub train: Statistics,
    /// Statistics of the parts of the validation rows.
    pub validation: Vec<Statistics>,
    /// Mean squared error of each target itself.
    pub floors: Vec<f64>,
}

impl Split {
    /// Statistics of all rows, those of the training and of the validation data.
    pub fn all(&self) -> ell0::Result<Statistics> {
        let mut all = self.train.clone();
        for part in &self.validation {
            all.merge(part)?;
        }
        Ok(all)
    }
}

/// Rows of features and of targets, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrainingRows {
    /// Features of each row.
    pub features: Vec<f64>,
    /// Targets of each row.
    pub targets: Vec<f64>,
}

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
        let empty = Statistics::new(features.names().to_vec(), targets.clone())?;
        let mut groups: Vec<Option<Statistics>> = vec![None; group_count(survey.trajectories)];
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
            inputs: question.inputs.clone(),
            targets: targets.clone(),
            dynamics: question.dynamics,
            derivative: question.derivative,
            survey,
            errors,
            errors_of,
            groups: groups.filter_map(|(k, s)| Some((k, s?))).collect(),
        })
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

    /// Brings evidence together and splits its rows into training and validation data, just as that of all the files at once would have been.
    pub fn split(all: &[Evidence]) -> ell0::Result<Split> {
        let Some(first) = all.first() else {
            return Err(ell0::Error::Empty { what: "statistics" });
        };
        let names = first.features()?.names().to_vec();
        let mut places = (0..=PARTS)
            .map(|_| Statistics::new(names.clone(), first.targets.clone()))
            .collect::<ell0::Result<Vec<_>>>()?;
        let trajectories: usize = all.iter().map(|e| e.survey.trajectories).sum();
        let mut earlier = 0;
        for evidence in all {
            let blocks = blocks(evidence.survey.trajectories);
            for (group, statistics) in &evidence.groups {
                let (trajectory, block) = (earlier + group / blocks, group % blocks);
                let place = place(trajectories, trajectory, block, blocks);
                places[place].merge(statistics)?;
            }
            earlier += evidence.survey.trajectories;
        }
        let of: u64 = all.iter().map(|e| e.errors_of).sum();
        // Twice the size of the error: held-out parts may have more than their share of it, and it is an estimate.
        let floor =
            |k: usize| 4.0 * all.iter().map(|e| e.errors[k]).sum::<f64>() / of.max(1) as f64;
        let mut places = places.into_iter();
        Ok(Split {
            floors: (0..first.targets.len()).map(floor).collect(),
            train: match places.next() {
                Some(train) => train,
                None => return Err(ell0::Error::Empty { what: "statistics" }),
            },
            validation: places.filter(|part| part.rows() > 0).collect(),
        })
    }
}

/// The rows of one group from one stretch.
struct GroupRows {
    group: usize,
    statistics: Statistics,
    errors: Vec<f64>,
    errors_of: u64,
}

/// The group that a row belongs to.
fn group_of(survey: &Survey, trajectory: usize, row: usize) -> usize {
    let blocks = blocks(survey.trajectories);
    if blocks == 1 {
        return trajectory % GROUPS;
    }
    let length = survey.lengths.get(trajectory).copied().unwrap_or(1).max(1);
    trajectory * blocks + (row * blocks / length).min(blocks - 1)
}

/// Calls `each` with the rows of a stretch, group by group.
fn by_group(
    recipe: &Recipe,
    features: &Features,
    survey: &Survey,
    stretch: &Stretch,
    mut each: impl FnMut(usize, Equations) -> Result<()>,
) -> Result<()> {
    let mut rows = stretch.rows();
    while !rows.is_empty() {
        let group = group_of(survey, stretch.trajectory, rows.start);
        let end = rows
            .clone()
            .find(|&row| group_of(survey, stretch.trajectory, row) != group)
            .unwrap_or(rows.end);
        let evaluate = |x: &[f64], _| features.evaluate(x);
        let equations = recipe.equations(stretch, &(rows.start..end), &survey.noise, evaluate)?;
        each(group, equations)?;
        rows.start = end;
    }
    Ok(())
}

fn work(
    recipe: &Recipe,
    features: &Features,
    survey: &Survey,
    empty: &Statistics,
    stretch: &Stretch,
) -> Result<Vec<GroupRows>> {
    let mut done = Vec::new();
    by_group(recipe, features, survey, stretch, |group, equations| {
        let mut statistics = empty.clone();
        statistics.push(&equations.phi, &equations.y, equations.rows)?;
        done.push(GroupRows {
            group,
            statistics,
            errors: equations.errors,
            errors_of: equations.errors_of,
        });
        Ok(())
    })?;
    Ok(done)
}

/// Rows of the training data themselves, for a method that statistics are not enough for: at most about `most` of them, evenly spread.
pub fn training_rows(
    mut runs: Runs,
    question: &Question,
    survey: &Survey,
    most: u64,
) -> Result<TrainingRows> {
    let (features, recipe) = (question.features()?, question.recipe());
    let stride = survey.rows.div_ceil(most.max(1)).max(1) as usize;
    let mut all = TrainingRows::default();
    for_each_stretch(
        &mut runs,
        &recipe,
        |_| (),
        |stretch| {
            let mut kept = Vec::new();
            by_group(&recipe, &features, survey, stretch, |group, equations| {
                let blocks = blocks(survey.trajectories);
                let (trajectory, block) = (group / blocks, group % blocks);
                if place(survey.trajectories, trajectory, block, blocks) == 0 {
                    kept.push(equations);
                }
                Ok(())
            })?;
            Ok(kept)
        },
        |kept| {
            for e in kept {
                for row in (0..e.rows).step_by(stride) {
                    let phi = (0..features.len()).map(|j| e.phi[j * e.rows + row]);
                    all.features.extend(phi);
                    let y = (0..recipe.targets).map(|k| e.y[k * e.rows + row]);
                    all.targets.extend(y);
                }
            }
            Ok(())
        },
    )?;
    Ok(all)
}
