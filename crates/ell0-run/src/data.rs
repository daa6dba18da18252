//! Measurements and the meaning of their columns: from files, or from memory.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ell0::{
    equation::Dynamics,
    features::Library,
    wording::{listed, meant, shown},
};
use ell0_data::{
    astray::Screen,
    blemishes::{Blemishes, Spike},
    derivative::{Derivative, Wanted},
    evidence::{Evidence, Question},
    frame::Frame,
    runs::{Roles, Runs},
    series::Recipe,
    short::{Shortage, stretch_lengths},
    survey::{Look, Steps, Survey},
    table::{ReadOptions, Table},
    windows::{Piece, without_gaps},
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{About, Error, Result},
    input_noise::InputNoise,
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
/// | `rates` | none | columns that hold the rates of change, one for each state in the same order; nothing is differenced then, every row counts, and time is not needed |
/// | `inputs`, `targets` | none | columns of a plain regression, instead of states |
/// | `library` | polynomial(3) | candidate terms |
/// | `libraries` | none | candidate terms of single equations, by what they give, instead of those of `library` |
/// | `input_noise` | none | standard deviations of the errors with which inputs were measured, in the units of their columns: one for all, or by their names. Coefficients of regressions, of laws of the next row and of rates that are columns are corrected for them; other laws measure the noise of their states themselves |
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rates: Vec<String>,
    #[serde(default)]
    pub inputs: Vec<String>,
    #[serde(default)]
    pub targets: Vec<String>,
    pub library: Library,
    #[serde(default)]
    pub drop_missing: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub drop_short: bool,
    #[serde(default, skip_serializing_if = "InputNoise::is_unsaid")]
    pub input_noise: InputNoise,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub libraries: BTreeMap<String, Library>,
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
            rates: Vec::new(),
            inputs: Vec::new(),
            targets: Vec::new(),
            library: Library::polynomial(3),
            drop_missing: false,
            drop_short: false,
            input_noise: InputNoise::default(),
            libraries: BTreeMap::new(),
        }
    }
}

/// A number of things, for a sentence.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
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

/// Whether time is of use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Rows stand by themselves.
    Unused,
    /// It is used if there is one.
    IfThere,
    /// Nothing can be done without it.
    Needed,
}

impl Clock {
    /// What a law needs whose rates of change, if it is one of these, are given or not.
    pub fn of(dynamics: Dynamics, rates_given: bool) -> Self {
        match dynamics {
            Dynamics::Regression => Clock::Unused,
            Dynamics::Continuous if !rates_given => Clock::Needed,
            Dynamics::Continuous | Dynamics::Discrete => Clock::IfThere,
        }
    }
}

/// The column of time, where there is one: the one named, or the usual ones.
pub(crate) fn time_column(
    source: Source,
    time: Option<&String>,
    dt: Option<f64>,
    clock: Clock,
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
    if time.is_some() || clock == Clock::Unused {
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
    match (usual, clock) {
        (Some(name), _) => Ok(Some(name.to_string())),
        (None, Clock::Needed) => Err(Error::NoTime { columns: names }),
        (None, _) => Ok(None),
    }
}

/// Rates of change that are columns: one for each state, and for nothing else.
pub(crate) fn check_rates(
    rates: &[String],
    states: &[String],
    dynamics: Dynamics,
    derivative: Wanted,
) -> Result<()> {
    if rates.is_empty() {
        return Ok(());
    }
    if dynamics != Dynamics::Continuous {
        return Err(Error::Settings(
            "columns of rates of change were named, but this is no law of rates of change: leave them out",
        ));
    }
    if derivative != Wanted::Auto {
        return Err(Error::Settings(
            "columns of rates of change were named, and a way to find rates, too: one of them is enough",
        ));
    }
    if rates.len() != states.len() {
        return Err(Error::Unsuitable(format!(
            "{} ({}) for {} ({}): name one column of rates for each state, in the same order",
            counted(rates.len(), "rate"),
            listed(rates),
            counted(states.len(), "state"),
            listed(states)
        )));
    }
    // The rate of one state may well be another state, but not that of two.
    let twice = (0..rates.len()).find(|&k| rates[..k].contains(&rates[k]));
    twice.map_or(Ok(()), |k| {
        Err(Error::Unsuitable(format!(
            "column `{}` is named twice among the rates; each state has its own",
            shown(&rates[k])
        )))
    })
}

/// A step so many times longer than all but one in twenty is a gap in the measurements, not a part of their rhythm.
const GAP: f64 = 4.0;

/// The next row of a discrete law is one usual step away, give or take a half.
const NEXT: f64 = 1.5;

/// Dates that are written as numbers, 20240131, have differences that are no days: from the last of a month to the first of the next it is 70.
fn refuse_dates(roles: &Roles, look: &Look) -> Result<()> {
    let Some(column) = &roles.time else {
        return Ok(());
    };
    let month = |time: f64| -> Option<u64> {
        let date = (time.fract() == 0.0 && (1e7..1e8).contains(&time)).then_some(time as u64)?;
        let (month, day) = (date / 100 % 100, date % 100);
        let sound = (1..=12).contains(&month) && (1..=31).contains(&day);
        sound.then_some(date / 100)
    };
    let pieces = || look.pieces.iter().map(|piece| &piece.time);
    if !pieces().flatten().all(|time| month(*time).is_some()) {
        return Ok(());
    }
    let pairs = || pieces().flat_map(|time| time.windows(2));
    let Some(pair) = pairs().find(|pair| month(pair[0]) != month(pair[1])) else {
        return Ok(());
    };
    Err(Error::Unsuitable(format!(
        "column `{}` seems to hold dates written as numbers: {} comes after {}, and their difference, {}, is no number of days; give the days since the first date instead",
        shown(column),
        pair[1],
        pair[0],
        pair[1] - pair[0]
    )))
}

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
        // Rows stand by themselves.
        Dynamics::Continuous if derivative == Derivative::Given => {}
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
    /// A bounded number of rows.
    pub samples: Vec<Piece>,
    source: Source<'a>,
    roles: Roles,
    options: ReadOptions,
    blemishes: Arc<Blemishes>,
    /// Inputs that are looked at closely.
    states: usize,
    /// Errors of each input that were said.
    pub input_noise: Vec<f64>,
}

impl Prepared<'_> {
    /// Leaves out rows that are astray.
    fn leave_out(&mut self, astray: Vec<Spike>) -> Result<()> {
        let blemishes = Blemishes::of_astray(astray);
        let told = blemishes.told();
        self.blemishes = Arc::new(blemishes);
        let look = Look::new(self.runs()?, self.states, false, |_| ())?;
        self.survey = look.survey;
        self.survey.blemishes = told;
        self.samples = without_gaps(look.pieces, f64::INFINITY);
        Ok(())
    }

    pub fn runs(&self) -> Result<Runs> {
        let runs = self.source.runs(&self.roles, self.options)?;
        Ok(runs.mended(self.blemishes.clone()))
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

    /// What equations are wanted of.
    pub(crate) fn equations(&self) -> &[String] {
        match self.dynamics() {
            Dynamics::Regression => &self.targets,
            _ => &self.states,
        }
    }

    /// The library of each equation, where some have their own; none where all have the same.
    fn own_libraries(&self, inputs: &[String]) -> Result<Vec<Library>> {
        if self.libraries.is_empty() {
            return Ok(vec![]);
        }
        let targets = self.equations();
        if let Some(name) = self.libraries.keys().find(|name| !targets.contains(name)) {
            return Err(Error::Unsuitable(format!(
                "a library is for the equation of `{}`, and there is none{}",
                shown(name),
                meant(name, "equations", targets)
            )));
        }
        let of = |target: &String| {
            let library = self.libraries.get(target).unwrap_or(&self.library);
            let suits = library.features(inputs);
            suits.about(|| format!("the library of `{}`", shown(target)))?;
            Ok(library.clone())
        };
        targets.iter().map(of).collect()
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
        let given = !self.rates.is_empty();
        let dynamics = self.dynamics();
        check_rates(&self.rates, &self.states, dynamics, self.derivative)?;
        let regression = dynamics == Dynamics::Regression;
        let targets = self.equations().to_vec();
        let inputs = match regression {
            true => self.inputs.clone(),
            false => [&self.states[..], &self.controls].concat(),
        };
        let input_noise = self.input_noise.of(&inputs)?;
        if !self.input_noise.is_unsaid() && dynamics == Dynamics::Continuous && !given {
            return Err(Error::Settings(
                "errors of inputs were given, but this law is of rates of change that are found from the states, whose noise is measured and allowed for: leave the errors out",
            ));
        }
        // A library that does not suit the columns is found out before anything is read.
        refuse_twice_named(&inputs)?;
        let libraries = self.own_libraries(&inputs)?;
        let library = match libraries.is_empty() {
            true => self.library.clone(),
            false => Library::union(&libraries),
        };
        refuse_names_of_terms(&inputs, library.features(&inputs)?.names())?;
        let mut roles = Roles {
            inputs: inputs.clone(),
            targets: match regression {
                true => targets.clone(),
                false => self.rates.clone(),
            },
            time: time_column(
                source,
                self.time.as_ref(),
                self.dt,
                Clock::of(dynamics, given),
                &[&inputs[..], &self.rates].concat(),
            )?,
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
        // Rows that stand by themselves have neither noise nor speed that could be seen.
        let timed = !given || roles.time.is_some() || roles.dt.is_some();
        let states = match regression || !timed {
            true => 0,
            false => targets.len(),
        };
        let looking = Task::begin(observer, "looking at the data, rows:", None);
        let smooth = dynamics == Dynamics::Continuous && !given;
        let mut look = Look::new(source.runs(&roles, options)?, states, smooth, |rows| {
            looking.advance(rows)
        })?;
        looking.go_on()?;
        let told = std::mem::take(&mut look.survey.blemishes);
        let blemishes = Arc::new(std::mem::take(&mut look.blemishes));
        let looked = |roles: &Roles| -> Result<Look> {
            let runs = source.runs(roles, options)?.mended(blemishes.clone());
            let mut look = Look::new(runs, states, false, |_| ())?;
            look.survey.blemishes = told.clone();
            Ok(look)
        };
        if !blemishes.is_empty() {
            look = looked(&roles)?;
        }
        let mut question = Question {
            library,
            libraries,
            inputs,
            targets,
            dynamics,
            derivative: Derivative::Given,
        };
        refuse_dates(&roles, &look)?;
        if !given {
            let terms = question.allowed()?.iter().map(Vec::len).max();
            let terms = terms.unwrap_or(0);
            let lengths = || {
                // Bumps do not reach over gaps: what counts is the rows between them.
                let (mut split, weak) = (roles.clone(), Derivative::Weak { half: 1 });
                respect_gaps(&mut split, &look.survey, dynamics, weak)?;
                let runs = source.runs(&split, options)?.mended(blemishes.clone());
                Ok::<_, Error>(stretch_lengths(runs)?)
            };
            question.derivative = match smooth && look.survey.dropped > 0 {
                true => self
                    .derivative
                    .decide_between_gaps(&look.survey, lengths()?, terms)?,
                false => self.derivative.decide(&look.survey, terms)?,
            };
        }
        respect_gaps(&mut roles, &look.survey, dynamics, question.derivative)?;
        let needed = question.recipe().rows_needed();
        if look.survey.shortest < needed {
            refuse_short(
                source,
                &mut roles,
                options,
                &question.recipe(),
                self.drop_short,
            )?;
            // The longest trajectory is still there: noise and speed are as they were.
            look = looked(&roles)?;
        }
        let longest = roles.longest_step.unwrap_or(f64::INFINITY);
        Ok(Prepared {
            question,
            survey: look.survey,
            samples: without_gaps(look.pieces, longest),
            source,
            roles,
            options,
            blemishes,
            states,
            input_noise,
        })
    }

    /// The statistics of the data.
    pub(crate) fn gather(prepared: &mut Prepared, observer: &dyn Observer) -> Result<Evidence> {
        let evidence = Self::gather_all(prepared, observer)?;
        // Time has its own ways to tell what is no measurement.
        let alone = match evidence.dynamics {
            Dynamics::Continuous => evidence.derivative == Derivative::Given,
            Dynamics::Regression => true,
            Dynamics::Discrete => false,
        };
        let screen = match alone {
            true => Screen::new(&prepared.samples, &prepared.question, &prepared.input_noise)?,
            false => None,
        };
        if let Some(screen) = screen
            && screen.suspects(&evidence)?
        {
            let astray = screen.astray(prepared.runs()?, prepared.survey.rows)?;
            if !astray.is_empty() {
                prepared.leave_out(astray)?;
                return Self::gather_all(prepared, observer);
            }
        }
        Ok(evidence)
    }

    fn gather_all(prepared: &Prepared, observer: &dyn Observer) -> Result<Evidence> {
        let reading = Task::begin(observer, "reading rows", Some(prepared.survey.rows));
        let survey = prepared.survey.clone();
        let mut evidence =
            Evidence::gather(prepared.runs()?, &prepared.question, survey, |rows| {
                reading.advance(rows)
            })?;
        evidence.samples.clone_from(&prepared.samples);
        reading.go_on()?;
        if evidence.rows() == 0 && prepared.survey.rows > 0 {
            let longest = stretch_lengths(prepared.runs()?)?.into_iter().max();
            return Err(Error::NoStretch {
                derivative: prepared.question.derivative,
                needed: prepared.question.recipe().rows_needed(),
                longest: longest.unwrap_or(0),
            });
        }
        Ok(evidence)
    }
}
