//! Measurements and the meaning of their columns: from files, or from memory.

use std::path::PathBuf;

use ell0::{equation::Dynamics, features::Library};
use ell0_data::{
    derivative::{Derivative, Wanted},
    evidence::{Evidence, Question},
    frame::Frame,
    runs::{Roles, Runs},
    series::Recipe,
    short::Shortage,
    survey::{Steps, Survey},
    table::{ReadOptions, Table},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, Result},
    observer::{Observer, Task},
};

/// Where measurements come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// Files; each is a trajectory of its own, or several.
    Files(&'a [PathBuf]),
    /// Tables in memory; each is a trajectory of its own, or several.
    Frames(&'a [Frame]),
}

impl Source<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Source::Files(files) => files.is_empty(),
            Source::Frames(frames) => frames.is_empty(),
        }
    }

    /// The trajectories.
    pub(crate) fn runs(&self, roles: &Roles, options: ReadOptions) -> Result<Runs> {
        Ok(match self {
            Source::Files(files) => Runs::new(files, roles.clone(), options),
            Source::Frames(frames) => Runs::of_frames(frames, roles.clone(), options)?,
        })
    }

    /// Names of the columns of the first table.
    fn names(&self) -> Result<Vec<String>> {
        Ok(match self {
            Source::Files(files) => {
                let Some(first) = files.first() else {
                    return Ok(Vec::new());
                };
                let table = Table::open(first, &[], ReadOptions::default())?;
                table.names().to_vec()
            }
            Source::Frames(frames) => frames
                .first()
                .map_or(Vec::new(), |frame| frame.names().to_vec()),
        })
    }
}

/// What a law of states gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Rates of change.
    #[default]
    Continuous,
    /// The next row.
    Discrete,
}

/// Measurements and the meaning of their columns.
///
/// | setting | default | meaning |
/// | --- | --- | --- |
/// | `files` | none | CSV (also .gz), Parquet, NPZ or NPY files; each is a trajectory of its own. Leave them out for data in memory |
/// | `states` | none | columns whose law is wanted |
/// | `controls` | none | columns that act on the states from outside |
/// | `time` | `t` or `time`, if there is one | column of time |
/// | `dt` | none | time between rows, where there is no column of time |
/// | `trajectory` | none | column that tells the experiments apart; rows of one must stand together |
/// | `dynamics` | continuous | what the law gives |
/// | `derivative` | auto | how rates of change are found |
/// | `inputs`, `targets` | none | columns of a plain regression, instead of states |
/// | `library` | polynomial(3) | candidate terms |
/// | `drop_missing` | no | whether rows with empty or NaN cells are left out |
/// | `drop_short` | no | whether trajectories with fewer rows than are needed are left out |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the table above documents every field")]
pub struct DataSettings {
    #[serde(default)]
    pub files: Vec<PathBuf>,
    #[serde(default)]
    pub states: Vec<String>,
    #[serde(default)]
    pub controls: Vec<String>,
    pub time: Option<String>,
    pub dt: Option<f64>,
    pub trajectory: Option<String>,
    #[serde(default)]
    pub dynamics: Kind,
    #[serde(default)]
    pub derivative: Wanted,
    #[serde(default)]
    pub inputs: Vec<String>,
    #[serde(default)]
    pub targets: Vec<String>,
    pub library: Library,
    #[serde(default)]
    pub drop_missing: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_short: bool,
}

impl Default for DataSettings {
    fn default() -> Self {
        DataSettings {
            files: Vec::new(),
            states: Vec::new(),
            controls: Vec::new(),
            time: None,
            dt: None,
            trajectory: None,
            dynamics: Kind::default(),
            derivative: Wanted::default(),
            inputs: Vec::new(),
            targets: Vec::new(),
            library: Library::polynomial(3),
            drop_missing: false,
            drop_short: false,
        }
    }
}

/// Rows must not count twice: neither as the same name nor as two names of one file.
pub(crate) fn refuse_twice(files: &[PathBuf]) -> Result<()> {
    let places: Vec<_> = files.iter().map(|f| f.canonicalize().ok()).collect();
    for (k, file) in files.iter().enumerate() {
        let same =
            |i: &usize| files[*i] == *file || places[*i].is_some() && places[*i] == places[k];
        if (0..k).any(|i| same(&i)) {
            return Err(Error::Twice(file.clone()));
        }
    }
    Ok(())
}

/// A column has one part to play.
fn refuse_twice_named(inputs: &[String]) -> Result<()> {
    let twice = (0..inputs.len()).find(|&k| inputs[..k].contains(&inputs[k]));
    twice.map_or(Ok(()), |k| Err(Error::ColumnTwice(inputs[k].clone())))
}

/// No column must be called as a candidate term is: the constant `1`, or `x^2` beside a column `x`.
fn refuse_names_of_terms(inputs: &[String], terms: &[String]) -> Result<()> {
    let often = |name: &&String| terms.iter().filter(|term| *term == *name).count() > 1;
    match inputs.iter().find(often) {
        Some(column) => Err(Error::NameOfTerm {
            column: column.clone(),
        }),
        None => Ok(()),
    }
}

/// The column of time, where one is needed: the one named, or the usual ones.
pub(crate) fn time_column(
    source: Source,
    time: Option<&String>,
    dt: Option<f64>,
    dynamics: Dynamics,
    inputs: &[String],
) -> Result<Option<String>> {
    if let Some(dt) = dt
        && !(dt > 0.0 && dt.is_finite())
    {
        return Err(Error::setting(
            "dt",
            dt,
            "the time between rows must be positive",
        ));
    }
    if time.is_some() || dynamics == Dynamics::Regression {
        return Ok(time.cloned());
    }
    let names = source.names()?;
    // A state or a control of such a name is no time.
    let usual = ["t", "time"]
        .iter()
        .find(|name| names.iter().any(|n| n == *name) && !inputs.iter().any(|n| n == *name));
    if dt.is_some() {
        return match usual {
            Some(column) => Err(Error::TimeTwice {
                column: column.to_string(),
            }),
            None => Ok(None),
        };
    }
    match (usual, dynamics) {
        (Some(name), _) => Ok(Some(name.to_string())),
        (None, Dynamics::Continuous) => Err(Error::NoTime { columns: names }),
        (None, _) => Ok(None),
    }
}

/// A step so many times longer than all but one in twenty is a gap in the measurements, not a part of their rhythm.
const GAP: f64 = 4.0;

/// The next row of a discrete law is one usual step away, give or take a half.
const NEXT: f64 = 1.5;

/// Lets nothing be joined over a gap: neither differences nor bumps, nor the two rows of a pair.
pub(crate) fn respect_gaps(
    roles: &mut Roles,
    survey: &Survey,
    dynamics: Dynamics,
    derivative: Derivative,
) -> Result<()> {
    let Steps { usual, most } = survey.steps;
    let timed = roles.time.is_some() && usual > 0.0;
    match dynamics {
        Dynamics::Regression => {}
        Dynamics::Continuous => {
            roles.split_at_gaps = matches!(derivative, Derivative::Weak { .. });
            roles.longest_step = timed.then_some(GAP * most);
        }
        Dynamics::Discrete => {
            if timed && most > NEXT * usual {
                return Err(Error::UnevenSteps { usual, most });
            }
            roles.longest_step = timed.then_some(NEXT * usual);
        }
    }
    Ok(())
}

/// Refuses data with trajectories that are too short, or lets them be left out, if they may be and there are others.
pub(crate) fn refuse_short(
    source: Source,
    roles: &mut Roles,
    options: ReadOptions,
    recipe: &Recipe,
    drop_short: bool,
) -> Result<()> {
    let needed = recipe.rows_needed();
    let Some(shortage) = Shortage::of(source.runs(roles, options)?, needed)? else {
        return Ok(());
    };
    let derivative = (recipe.dynamics == Dynamics::Continuous).then_some(recipe.derivative);
    if shortage.short == shortage.trajectories && shortage.trajectories > 1 {
        return Err(Error::AllShort {
            trajectories: shortage.trajectories,
            longest: shortage.longest,
            needed,
            derivative,
        });
    }
    if !drop_short || shortage.trajectories == 1 {
        return Err(Error::TooShort {
            shortage: Box::new(shortage),
            needed,
            derivative,
        });
    }
    roles.fewest_rows = needed;
    Ok(())
}

/// Data looked at once: what they are and how they are worked on.
pub(crate) struct Prepared<'a> {
    pub question: Question,
    pub survey: Survey,
    source: Source<'a>,
    roles: Roles,
    options: ReadOptions,
}

impl Prepared<'_> {
    pub fn runs(&self) -> Result<Runs> {
        self.source.runs(&self.roles, self.options)
    }
}

impl DataSettings {
    fn dynamics(&self) -> Dynamics {
        match self.dynamics {
            _ if !self.inputs.is_empty() => Dynamics::Regression,
            Kind::Continuous => Dynamics::Continuous,
            Kind::Discrete => Dynamics::Discrete,
        }
    }

    /// Looks at the data once and decides how they are worked on.
    pub(crate) fn prepare<'a>(
        &self,
        source: Source<'a>,
        observer: &dyn Observer,
    ) -> Result<Prepared<'a>> {
        if source.is_empty() {
            return Err(Error::NoData);
        }
        if self.states.is_empty() && self.inputs.is_empty() {
            return Err(Error::NoColumns);
        }
        if let Source::Files(files) = source {
            refuse_twice(files)?;
        }
        if self.time.is_some() && self.dt.is_some() {
            return Err(Error::Settings(
                "both a column of time and a time between rows were given; one of them is enough",
            ));
        }
        let dynamics = self.dynamics();
        let regression = dynamics == Dynamics::Regression;
        let (inputs, targets): (Vec<String>, _) = if regression {
            (self.inputs.clone(), self.targets.clone())
        } else {
            let inputs = self.states.iter().chain(&self.controls).cloned();
            (inputs.collect(), self.states.clone())
        };
        // A library that does not suit the columns is found out before anything is read.
        refuse_twice_named(&inputs)?;
        let features = self.library.features(&inputs)?;
        refuse_names_of_terms(&inputs, features.names())?;
        let mut roles = Roles {
            inputs: inputs.clone(),
            targets: if regression { targets.clone() } else { vec![] },
            time: time_column(source, self.time.as_ref(), self.dt, dynamics, &inputs)?,
            dt: self.dt,
            trajectory: self.trajectory.clone(),
            split_at_gaps: dynamics == Dynamics::Discrete,
            longest_step: None,
            fewest_rows: 0,
        };
        let options = ReadOptions {
            drop_missing: self.drop_missing,
            ..ReadOptions::default()
        };
        let states = if regression { 0 } else { targets.len() };
        let looking = Task::begin(observer, "looking at the data, rows:", None);
        let mut survey = Survey::new(source.runs(&roles, options)?, states, |rows| {
            looking.advance(rows)
        })?;
        looking.go_on()?;
        let question = Question {
            library: self.library.clone(),
            inputs,
            targets,
            dynamics,
            derivative: self.derivative.decide(&survey, features.len()),
        };
        respect_gaps(&mut roles, &survey, dynamics, question.derivative)?;
        let needed = question.recipe().rows_needed();
        if survey.shortest < needed {
            refuse_short(
                source,
                &mut roles,
                options,
                &question.recipe(),
                self.drop_short,
            )?;
            // The longest trajectory is still there: noise and speed are as they were.
            survey = Survey::new(source.runs(&roles, options)?, states, |_| ())?;
        }
        Ok(Prepared {
            question,
            survey,
            source,
            roles,
            options,
        })
    }

    /// The statistics of the data.
    pub(crate) fn gather(prepared: &Prepared, observer: &dyn Observer) -> Result<Evidence> {
        let reading = Task::begin(observer, "reading rows", Some(prepared.survey.rows));
        let survey = prepared.survey.clone();
        let evidence = Evidence::gather(prepared.runs()?, &prepared.question, survey, |rows| {
            reading.advance(rows)
        })?;
        reading.go_on()?;
        Ok(evidence)
    }
}
