//! Laws: found in data, read from files, at work.

use std::{
    path::PathBuf,
    sync::{Mutex, OnceLock},
};

use ell0::{
    equation::{CompiledModel, Dynamics, Model},
    features::Library,
};
use ell0_run::{
    Discovery, Exportable, FitSettings, Place, Recording, ScoreSettings, Unfollowed, analyze_law,
    read_model,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    error::{raised, unread},
    export, long,
    tables::{Tables, frames},
};

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<Found>()?;
    module.add_class::<Equations>()?;
    module.add_function(wrap_pyfunction!(fit, module)?)?;
    module.add_function(wrap_pyfunction!(terms, module)?)
}

/// What a fit found.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Found {
    settings: FitSettings,
    found: Discovery,
    /// What is needed for pictures, which most calls are not asked for.
    unfollowed: Option<Unfollowed>,
    followed: OnceLock<Discovery>,
}

impl Found {
    /// Of what is known whole.
    pub fn new(settings: FitSettings, found: Discovery) -> Self {
        Found {
            settings,
            found,
            unfollowed: None,
            followed: OnceLock::new(),
        }
    }

    /// With the law beside the measurements.
    fn followed(&self) -> &Discovery {
        match &self.unfollowed {
            None => &self.found,
            Some(unfollowed) => self.followed.get_or_init(|| Discovery {
                followed: unfollowed.follow(),
                ..self.found.clone()
            }),
        }
    }
}

/// The law behind tables in memory, or behind the files of the settings.
#[pyfunction]
fn fit(
    py: Python,
    settings: &str,
    tables: Option<Tables>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Found> {
    let settings: FitSettings =
        serde_json::from_str(settings).map_err(|e| unread("the settings of a fit", &e))?;
    let tables = tables.map(frames).transpose()?;
    let (found, unfollowed) = long::run(py, progress, |observer| match &tables {
        Some(tables) => {
            let (found, rest) = settings.find_in(tables, observer)?;
            Ok((found, Some(rest)))
        }
        None => Ok((settings.run(observer)?, None)),
    })?;
    Ok(Found {
        unfollowed,
        ..Found::new(settings, found)
    })
}

/// The names of the terms of a library, in the order of PySINDy.
#[pyfunction]
fn terms(library: &str, inputs: Vec<String>) -> PyResult<Vec<String>> {
    let library: Library = library.parse().map_err(raised::<ell0::Error>)?;
    let features = library.features(&inputs).map_err(raised)?;
    Ok(features.names().to_vec())
}

#[pymethods]
impl Found {
    /// Reads the folder of a fit.
    #[staticmethod]
    fn read(folder: PathBuf) -> PyResult<Self> {
        let settings = FitSettings::read(folder.join("config.toml")).map_err(raised)?;
        let found = Discovery::read(folder).map_err(raised)?;
        Ok(Found::new(settings, found))
    }

    /// Everything that was found, as `ell0 fit --json` prints it, but for the law beside the measurements.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.found).map_err(|e| unread("what was found", &e))
    }

    /// The settings it was found with.
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.settings).map_err(|e| unread("the settings", &e))
    }

    /// What is said of each equation: how far it explains the data, and what would do as well.
    fn words(&self) -> Vec<(String, String, Vec<String>)> {
        let Some(judgement) = &self.found.judgement else {
            return Vec::new();
        };
        let of = |(equation, judged): (&ell0_run::DiscoveredEquation, &ell0_run::Judged)| {
            let others = judged.alternatives.iter().map(|a| a.words());
            (equation.target.clone(), judged.words(), others.collect())
        };
        let pairs = self.found.equations.iter().zip(&judgement.equations);
        pairs.map(of).collect()
    }

    /// The verdict on each equation: in a word, and in a sentence.
    fn verdicts(&self) -> PyResult<Vec<(String, String, String)>> {
        let Some(judgement) = &self.found.judgement else {
            return Ok(Vec::new());
        };
        let pairs = self.found.equations.iter().zip(&judgement.equations);
        let of = |(equation, judged): (&ell0_run::DiscoveredEquation, &ell0_run::Judged)| {
            let verdict =
                serde_json::to_value(judged.verdict).map_err(|e| unread("a verdict", &e))?;
            let word = verdict.as_str().unwrap_or_default().to_string();
            Ok((equation.target.clone(), word, judged.words()))
        };
        pairs.map(of).collect()
    }

    /// Sentences about what was left out of the data.
    fn left_out(&self) -> Vec<String> {
        let blemishes = self.found.blemishes_told();
        blemishes
            .into_iter()
            .chain(self.found.outliers_told())
            .chain(self.found.ended_told())
            .collect()
    }

    /// Sentences about what to beware of.
    fn cautions(&self) -> Vec<String> {
        let judged = self.found.judgement.iter().flat_map(|j| &j.equations);
        let equations = self.found.equations.iter().zip(judged);
        let inputs = equations.filter_map(|(equation, judged)| {
            let words = judged.caution.as_ref()?.words();
            Some(format!("{}: {words}", equation.target))
        });
        inputs.chain(self.found.cautions_told()).collect()
    }

    /// The law.
    fn model(&self) -> Equations {
        Equations::new(self.found.model.clone())
    }

    /// Writes the folder that `ell0 fit` leaves, and says where it is.
    fn write(&self, py: Python, folder: PathBuf, replace: bool) -> PyResult<PathBuf> {
        let place = Place::Named { folder, replace };
        py.detach(|| self.followed().write(&self.settings, &place, None))
            .map_err(raised)
    }

    /// Pictures of the fit by their names: SVG.
    fn figures(&self, py: Python) -> Vec<(String, String)> {
        let drawn = || {
            let svg = |(name, figure): (&str, ell0_plot::Figure)| (name.to_string(), figure.svg());
            self.followed().figures().into_iter().map(svg).collect()
        };
        py.detach(drawn)
    }
}

/// A finished model in closed form.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Equations {
    model: Model,
    compiled: Mutex<CompiledModel>,
}

impl Equations {
    pub fn new(model: Model) -> Self {
        let compiled = Mutex::new(model.compiled());
        Equations { model, compiled }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    fn evaluate(&self, columns: &[f64], rows: usize, out: &mut [f64]) -> ell0::Result<()> {
        // Whoever was interrupted in the middle left nothing behind that matters.
        let mut compiled = self.compiled.lock().unwrap_or_else(|e| e.into_inner());
        compiled.predict_into(columns, rows, out)
    }
}

/// Rows that are evaluated at once.
const BLOCK: usize = 8192;

/// Up to so many rows are evaluated without letting other threads run, which would cost more.
const FEW: usize = 64;

#[pymethods]
impl Equations {
    /// Of the text of a `model.json`.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Equations::new(Model::from_json(text).map_err(raised)?))
    }

    /// A policy as text, in the observations of a world; several actions as `a = …; b = …`.
    #[staticmethod]
    fn of_policy(text: &str, observations: Vec<String>, actions: Vec<String>) -> PyResult<Self> {
        let model = ell0_control::policy::policy_from_text(text, &observations, &actions);
        Ok(Equations::new(model.map_err(raised)?))
    }

    /// Of a `model.json`, or of the folder of a fit.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        Ok(Equations::new(read_model(path).map_err(raised)?))
    }

    /// The text of its `model.json`.
    fn to_json(&self) -> String {
        self.model.to_json() + "\n"
    }

    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.model.inputs().to_vec()
    }

    #[getter]
    fn targets(&self) -> Vec<String> {
        self.model.targets().map(String::from).collect()
    }

    #[getter]
    fn dynamics(&self) -> &'static str {
        match self.model.dynamics() {
            Dynamics::Regression => "regression",
            Dynamics::Continuous => "continuous",
            Dynamics::Discrete => "discrete",
        }
    }

    #[getter]
    fn library(&self) -> Option<String> {
        self.model.library().map(ToString::to_string)
    }

    /// Inputs that are no states.
    #[getter]
    fn controls(&self) -> PyResult<Vec<String>> {
        self.model.controls().map_err(raised)
    }

    fn text(&self, digits: usize) -> String {
        self.model.text(digits)
    }

    /// As PySINDy prints it.
    fn pysindy(&self, digits: usize) -> String {
        self.model.pysindy(digits)
    }

    fn latex(&self, digits: usize) -> String {
        self.model.latex(digits)
    }

    fn mathml(&self, digits: usize) -> Vec<String> {
        self.model.mathml(digits)
    }

    /// Terms of each equation: name, coefficient, probability, standard error.
    #[allow(clippy::type_complexity)]
    fn terms(&self) -> Vec<(String, Vec<(String, f64, Option<f64>, Option<f64>)>)> {
        let of = |e: &ell0::equation::Equation| {
            let term = |t: &ell0::equation::TermRecord| {
                (t.feature.clone(), t.coefficient, t.probability, t.error)
            };
            (e.target.clone(), e.terms.iter().map(term).collect())
        };
        self.model.equations().iter().map(of).collect()
    }

    /// The targets for the rows of a matrix whose columns are the inputs.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let view = x.as_array();
        let (rows, width) = view.dim();
        let (inputs, targets) = (self.model.inputs().len(), self.model.equations().len());
        if width != inputs {
            return Err(PyValueError::new_err(format!(
                "there are {width} columns; the law has {inputs} inputs: {}",
                self.model.inputs().join(", ")
            )));
        }
        let mut all = vec![0.0; rows * targets];
        let mut work = || -> ell0::Result<()> {
            let (mut columns, mut out) = (Vec::new(), Vec::new());
            for from in (0..rows).step_by(BLOCK) {
                let n = BLOCK.min(rows - from);
                columns.clear();
                for k in 0..width {
                    columns.extend((from..from + n).map(|row| view[[row, k]]));
                }
                out.resize(n * targets, 0.0);
                self.evaluate(&columns, n, &mut out)?;
                for (k, column) in out.chunks_exact(n).enumerate() {
                    for (row, value) in column.iter().enumerate() {
                        all[(from + row) * targets + k] = *value;
                    }
                }
            }
            Ok(())
        };
        let done = if rows <= FEW { work() } else { py.detach(work) };
        done.map_err(raised)?;
        PyArray1::from_vec(py, all).reshape([rows, targets])
    }

    /// The trajectory from an initial state at some times, with the values of the controls from some moments on; and why it ended early, if it did.
    #[allow(clippy::type_complexity)]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        initial: Vec<f64>,
        times: Vec<f64>,
        clock: Vec<f64>,
        controls: Vec<Vec<f64>>,
    ) -> PyResult<(Vec<f64>, Bound<'py, PyArray2<f64>>, Option<String>)> {
        let needed = self.model.controls().map_err(raised)?;
        if controls.len() != needed.len() || controls.iter().any(|c| c.len() != clock.len()) {
            return Err(PyValueError::new_err(match needed.is_empty() {
                true => "this law has no controls".into(),
                false => format!(
                    "this law has controls: a column of {} for each of {} moments is needed",
                    needed.join(", "),
                    clock.len()
                ),
            }));
        }
        let simulation = py.detach(|| {
            self.model.simulate(&initial, &times, |t, values| {
                let row = clock.partition_point(|c| *c <= t).saturating_sub(1);
                let pairs = values.iter_mut().zip(&controls);
                pairs.for_each(|(value, column)| *value = column[row]);
            })
        });
        let simulation = simulation.map_err(raised)?;
        let width = initial.len();
        let flat: Vec<f64> = simulation.states.iter().flatten().copied().collect();
        let rows = simulation.states.len();
        let states = PyArray1::from_vec(py, flat).reshape([rows, width])?;
        let stopped = simulation.stopped.map(|s| s.to_string());
        Ok((simulation.time, states, stopped))
    }

    /// How well it does on other data: JSON.
    fn score(&self, py: Python, settings: &str, tables: Option<Tables>) -> PyResult<String> {
        let settings: ScoreSettings =
            serde_json::from_str(settings).map_err(|e| unread("the settings of a score", &e))?;
        let tables = tables.map(frames).transpose()?;
        let scores = py.detach(|| match &tables {
            Some(tables) => settings.run_on(&self.model, tables),
            None => settings.run(&self.model),
        });
        serde_json::to_string(&scores.map_err(raised)?).map_err(|e| unread("the scores", &e))
    }

    /// Writes it in another language; the files.
    fn export(
        &self,
        format: &str,
        folder: PathBuf,
        name: Option<String>,
        float: bool,
        replace: bool,
    ) -> PyResult<Vec<PathBuf>> {
        let what = Exportable::Equations(self.model.clone());
        export::write(&what, format, folder, name, float, replace)
    }

    /// Fixed points, predictability and, with held-out trajectories, how long predictions are valid: JSON. With a folder, its page is left there.
    fn analyze(
        &self,
        py: Python,
        recordings: Vec<(Vec<f64>, Vec<Vec<f64>>)>,
        folder: Option<(PathBuf, bool)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let recordings = recordings.into_iter().map(|(t, x)| Recording::new(t, x));
        let recordings = recordings
            .collect::<ell0_run::Result<Vec<_>>>()
            .map_err(raised)?;
        let analyzed = long::run(py, progress, |observer| {
            let analyzed = analyze_law(&self.model, &recordings, observer)?;
            if let Some((folder, replace)) = folder {
                analyzed.write(&Place::Named { folder, replace }, None)?;
            }
            Ok(analyzed)
        })?;
        serde_json::to_string(&analyzed.analysis.findings).map_err(|e| unread("what was found", &e))
    }
}
