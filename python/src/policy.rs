//! Policies: trained, read, at work.

use std::path::PathBuf;

use ell0_control::{
    agent::{Actor, PolicyFile, TrainedIn},
    policy::{LawPolicy, Policy as Acts},
};
use ell0_run::{
    Exportable, Place, ProofSettings, Site, TrainPlan, TrainSettings, TrainingRun, analyze_policy,
    measure, optimum,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::{raised, unread},
    export,
    law::Equations,
    long,
    outside::{Callable, Raised},
    save,
    world::World,
};

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<Policy>()?;
    module.add_class::<Training>()?;
    module.add_function(wrap_pyfunction!(train, module)?)?;
    module.add_function(wrap_pyfunction!(resume, module)?)?;
    module.add_function(wrap_pyfunction!(evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(optimal, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)
}

/// A policy with parameters.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Policy {
    actor: Actor,
    trained_in: Option<TrainedIn>,
}

impl Policy {
    fn of(actor: Actor) -> Self {
        Policy {
            actor,
            trained_in: None,
        }
    }
}

#[pymethods]
impl Policy {
    /// Of a file `policies/NAME.safetensors`, or one that was saved.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let PolicyFile { actor, trained_in } = PolicyFile::read(path).map_err(raised)?;
        Ok(Policy { actor, trained_in })
    }

    /// Saves it, by the ending of the file as a `model.json` or as tensors, and with it where it was trained: JSON.
    fn save(&self, path: PathBuf, trained_in: &str) -> PyResult<()> {
        let trained_in: TrainedIn = serde_json::from_str(trained_in)
            .map_err(|e| unread("where a policy was trained", &e))?;
        let file = PolicyFile {
            actor: self.actor.clone(),
            trained_in: Some(trained_in),
        };
        file.save(save::place(path)?).map_err(raised)
    }

    /// Where it was trained, as its file tells: JSON.
    #[getter]
    fn trained_in(&self) -> PyResult<Option<String>> {
        let told = self.trained_in.as_ref().map(serde_json::to_string);
        told.transpose()
            .map_err(|e| unread("where a policy was trained", &e))
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.actor.to_bytes().map_err(raised)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let actor = Actor::from_bytes(bytes, "the bytes of a policy").map_err(raised)?;
        Ok(Policy::of(actor))
    }

    /// What it is: the text of its kind.
    #[getter]
    fn kind(&self) -> String {
        self.actor.kind().to_string()
    }

    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.actor.observation_space().names().to_vec()
    }

    #[getter]
    fn outputs(&self) -> Vec<String> {
        self.actor.action_space().names().to_vec()
    }

    /// Terms of all laws together; none for a network.
    #[getter]
    fn terms(&self) -> Option<usize> {
        self.actor.terms()
    }

    /// The laws of all actions in closed form; none for a network.
    fn law(&self) -> PyResult<Option<Equations>> {
        Ok(self.actor.model().map_err(raised)?.map(Equations::new))
    }

    /// The law that all actions share, if they do.
    fn shared_law(&self) -> PyResult<Option<Equations>> {
        Ok(self.actor.shared_law().map_err(raised)?.map(Equations::new))
    }

    /// The actions for rows of observations.
    fn act<'py>(
        &self,
        py: Python<'py>,
        observation: PyReadonlyArray2<'py, f32>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let view = observation.as_array();
        let (rows, width) = view.dim();
        let wanted = self.actor.observation_space().len();
        if width != wanted {
            return Err(PyValueError::new_err(format!(
                "an observation has {wanted} numbers; {width} were given"
            )));
        }
        let columns = (0..width).flat_map(|k| (0..rows).map(move |row| [row, k]));
        let columns: Vec<f32> = columns.map(|at| view[at]).collect();
        let actions = self.actor.action_space().len();
        let mut chosen = vec![0.0; rows * actions];
        let mut act = self.actor.start(rows).map_err(raised)?;
        act.act(&columns, rows, &mut [], &mut chosen)
            .map_err(raised)?;
        let mut matrix = vec![0.0; rows * actions];
        for (k, column) in chosen.chunks_exact(rows.max(1)).enumerate() {
            column
                .iter()
                .enumerate()
                .for_each(|(row, v)| matrix[row * actions + k] = *v);
        }
        PyArray1::from_vec(py, matrix).reshape([rows, actions])
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
        let what = Exportable::of_actor(&self.actor).map_err(raised)?;
        export::write(&what, format, folder, name, float, replace)
    }
}

/// A training, finished or under way.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Training {
    run: TrainingRun,
}

#[pymethods]
impl Training {
    /// Of the folder of a training.
    #[staticmethod]
    fn read(folder: PathBuf) -> PyResult<Self> {
        let run = TrainingRun::read(folder).map_err(raised)?;
        Ok(Training { run })
    }

    /// The rows of its results: JSON.
    fn rows(&self) -> PyResult<String> {
        serde_json::to_string(self.run.rows()).map_err(|e| unread("the results", &e))
    }

    /// All episodes: JSON.
    fn episodes(&self) -> PyResult<String> {
        serde_json::to_string(&self.run.metrics).map_err(|e| unread("the episodes", &e))
    }

    /// Names of the policies, and the policies, in the order of the rows.
    fn policies(&self) -> Vec<(String, Policy)> {
        let of = |p: &ell0_run::TrainedPolicy| (p.name.clone(), Policy::of(p.actor.clone()));
        self.run.policies.iter().map(of).collect()
    }

    #[getter]
    fn environment(&self) -> String {
        self.run.settings.environment().to_string()
    }
}

/// What a world or a policy of Python's raised stands before what came of it.
fn first<T>(done: PyResult<T>, raised: impl FnOnce() -> Option<PyErr>) -> PyResult<T> {
    done.map_err(|error| raised().unwrap_or(error))
}

/// Trains in a world; `plan` is JSON in the words of `ell0 train`.
#[pyfunction]
fn train(
    py: Python,
    world: &World,
    environment: &str,
    plan: &str,
    folder: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Training> {
    let plan: TrainPlan = serde_json::from_str(plan).map_err(|e| unread("a training", &e))?;
    let copy = world.copy();
    let settings = plan.settings(environment, copy.as_ref()).map_err(raised)?;
    let site = folder.map(|(folder, replace)| Site {
        folder,
        replace,
        command: None,
    });
    let done = long::run_to_an_end(py, progress, |observer| {
        settings.run_in(copy.as_ref(), site.as_ref(), observer)
    });
    Ok(Training {
        run: first(done, || world.raised())?,
    })
}

/// Goes on with the training in a folder.
#[pyfunction]
fn resume(
    py: Python,
    world: &World,
    folder: PathBuf,
    episodes: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Training> {
    let copy = world.copy();
    let site = Site::new(folder);
    let done = long::run_to_an_end(py, progress, |observer| {
        TrainSettings::resume_in(copy.as_ref(), &site, episodes, observer)
    });
    Ok(Training {
        run: first(done, || world.raised())?,
    })
}

/// What acts: a policy, a law, or a function of rows of observations.
#[derive(FromPyObject)]
enum Acting<'py> {
    Policy(PyRef<'py, Policy>),
    Law(PyRef<'py, Equations>),
    Function(Py<PyAny>),
}

/// Measures what acts in a world, from the starts that policies are compared on: JSON.
#[pyfunction]
fn evaluate(
    py: Python,
    world: &World,
    acting: Acting,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let copy = world.copy();
    let slot = Raised::default();
    let policy: Box<dyn Acts + Send> = match acting {
        Acting::Policy(policy) => Box::new(policy.actor.clone()),
        Acting::Law(law) => {
            let (seen, chosen) = (copy.observation_space(), copy.action_space());
            Box::new(LawPolicy::new(law.model(), seen, chosen).map_err(raised)?)
        }
        Acting::Function(function) => Box::new(Callable {
            function,
            actions: copy.action_space().len(),
            raised: slot.clone(),
        }),
    };
    let done = long::run(py, progress, |_| measure(copy.as_ref(), policy.as_ref()));
    let other = || slot.lock().unwrap_or_else(|e| e.into_inner()).take();
    let measured = first(done, || world.raised().or_else(other))?;
    serde_json::to_string(&measured).map_err(|e| unread("what was measured", &e))
}

/// What optimal control would reach, where that is known: JSON.
#[pyfunction]
fn optimal(py: Python, world: &World) -> PyResult<String> {
    let copy = world.copy();
    let found = long::run(py, None, |_| optimum(copy.as_ref(), Default::default()))?;
    serde_json::to_string(&found).map_err(|e| unread("what was found", &e))
}

/// Analyses a law that acts in a world whose step is known, with settings of the proof: JSON. With a folder, its page is left there.
#[pyfunction]
fn analyze(
    py: Python,
    law: &Equations,
    world: &World,
    proof: &str,
    folder: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let copy = world.copy();
    let policy = law.model();
    let proof: ProofSettings =
        serde_json::from_str(proof).map_err(|e| unread("what is to be proved", &e))?;
    let analyzed = long::run(py, progress, |observer| {
        let analyzed = analyze_policy(policy, copy.as_ref(), &proof, observer)?;
        if let Some((folder, replace)) = folder {
            analyzed.write(&Place::Named { folder, replace }, None)?;
        }
        Ok(analyzed)
    })?;
    serde_json::to_string(&analyzed.analysis.findings).map_err(|e| unread("what was found", &e))
}
