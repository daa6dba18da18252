//! A world that is written in Python: anything with the interface of Gymnasium and boxes for spaces.

use std::sync::{Arc, Mutex, MutexGuard};

use ell0::rng::{Generator, Stream};
use ell0_control::{
    Error, Result,
    environment::{Environment, Space, Start, Step},
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::{
    Bound, IntoPyObjectExt, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyRuntimeError,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyTuple, PyTypeMethods},
};

/// The first exception that a world raised: it is raised again when the call is over.
pub type Raised = Arc<Mutex<Option<PyErr>>>;

/// Random starts that policies are compared on: each has a world of its own, and those of Python are large and slow.
const STARTS: u64 = 50;

/// Where worlds come from. Those that nobody acts in any more are kept for the next who wants one: every episode begins with a `reset`, and making one may take long.
struct Makers {
    make: Py<PyAny>,
    idle: Mutex<Vec<Py<PyAny>>>,
}

impl Makers {
    fn idle(&self) -> MutexGuard<'_, Vec<Py<PyAny>>> {
        self.idle.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn world(&self, py: Python) -> PyResult<Py<PyAny>> {
        let idle = self.idle().pop();
        idle.map_or_else(|| self.make.call0(py), Ok)
    }
}

/// A world of Python.
pub struct Outside {
    makers: Arc<Makers>,
    /// None for one that could not be made.
    world: Option<Py<PyAny>>,
    /// Whether it never raised anything.
    sound: bool,
    text: String,
    observation: Space,
    action: Space,
    limit: Option<u32>,
    seen: Vec<f32>,
    raised: Raised,
}

impl Outside {
    /// Of a function that makes it.
    pub fn new(
        py: Python,
        make: Py<PyAny>,
        text: String,
        observation: Space,
        action: Space,
        limit: Option<u32>,
    ) -> PyResult<Self> {
        let makers = Makers {
            make,
            idle: Mutex::default(),
        };
        Ok(Outside {
            world: Some(makers.world(py)?),
            makers: Arc::new(makers),
            sound: true,
            text,
            seen: vec![0.0; observation.len()],
            observation,
            action,
            limit,
            raised: Raised::default(),
        })
    }

    /// Where what it raises is kept.
    pub fn raised(&self) -> Raised {
        self.raised.clone()
    }

    fn world<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let world = self.world.as_ref().map(|world| world.bind(py));
        world.ok_or_else(|| PyRuntimeError::new_err("the world could not be made"))
    }

    /// Keeps the first exception; what it said.
    fn keep(&mut self, py: Python, error: PyErr) -> String {
        self.sound = false;
        let reason = error.value(py).to_string();
        let kind = error.get_type(py).name().map(|n| n.to_string());
        let mut slot = self.raised.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(error);
        format!("{}: {reason}", kind.unwrap_or_else(|_| "exception".into()))
    }

    fn look(&mut self, py: Python, seen: &Bound<PyAny>) -> PyResult<()> {
        let numpy = py.import("numpy")?;
        let options = PyDict::new(py);
        options.set_item("dtype", "float32")?;
        let flat = numpy.call_method(
            "ravel",
            (numpy.call_method("asarray", (seen,), Some(&options))?,),
            None,
        )?;
        let flat = flat.cast_into::<PyArray1<f32>>().map_err(PyErr::from)?;
        let flat = flat.readonly();
        let values = flat.as_array();
        if values.len() != self.seen.len() {
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "an observation has {} numbers; the observation space has {}",
                values.len(),
                self.seen.len()
            )));
        }
        self.seen
            .iter_mut()
            .zip(values.iter())
            .for_each(|(s, v)| *s = *v);
        Ok(())
    }

    fn begin(&mut self, py: Python, seed: u32) -> PyResult<()> {
        let options = PyDict::new(py);
        options.set_item("seed", seed)?;
        let both = self.world(py)?.call_method("reset", (), Some(&options))?;
        let seen = both.get_item(0)?;
        self.look(py, &seen)
    }

    fn act(&mut self, py: Python, action: &[f64]) -> PyResult<Step> {
        let action: Vec<f64> = action
            .iter()
            .enumerate()
            .map(|(k, a)| self.action.clamp(k, *a))
            .collect();
        let action = PyArray1::from_vec(py, action);
        let result = self.world(py)?.call_method1("step", (action,))?;
        let result = result.cast_into::<PyTuple>().map_err(PyErr::from)?;
        let seen = result.get_item(0)?;
        self.look(py, &seen)?;
        let truth = |k: usize| -> PyResult<bool> { result.get_item(k)?.is_truthy() };
        Ok(Step {
            reward: result.get_item(1)?.call_method0("__float__")?.extract()?,
            terminated: truth(2)?,
            truncated: truth(3)?,
        })
    }
}

impl Environment for Outside {
    fn text(&self) -> String {
        self.text.clone()
    }

    fn observation_space(&self) -> &Space {
        &self.observation
    }

    fn action_space(&self) -> &Space {
        &self.action
    }

    fn reset(&mut self, rng: &mut Generator) {
        // Its own randomness follows from ours.
        let seed = (rng.uniform() * f64::from(u32::MAX)) as u32;
        let done = Python::attach(|py| self.begin(py, seed).map_err(|e| self.keep(py, e)));
        if done.is_err() {
            // What cannot be seen is an error of whoever looks.
            self.seen.fill(f32::NAN);
        }
    }

    fn observe(&self, observation: &mut [f32]) {
        observation.copy_from_slice(&self.seen);
    }

    fn step(&mut self, action: &[f64]) -> Result<Step> {
        Python::attach(|py| {
            self.act(py, action).map_err(|e| {
                let reason = self.keep(py, e);
                Error::Outside {
                    environment: self.text.clone(),
                    reason,
                }
            })
        })
    }

    fn copy(&self) -> Box<dyn Environment> {
        let mut copy = Outside {
            makers: self.makers.clone(),
            world: None,
            sound: true,
            text: self.text.clone(),
            observation: self.observation.clone(),
            action: self.action.clone(),
            limit: self.limit,
            seen: self.seen.clone(),
            raised: self.raised.clone(),
        };
        // What could not be made is told by the first look at it: a copy cannot fail.
        Python::attach(|py| match self.makers.world(py) {
            Ok(world) => copy.world = Some(world),
            Err(error) => drop(copy.keep(py, error)),
        });
        Box::new(copy)
    }

    fn time_limit(&self) -> Option<u32> {
        self.limit
    }

    fn evaluation_starts(&self) -> Vec<Start> {
        Start::seeds(STARTS)
    }

    fn training_starts(&self, stream: &Stream, count: u64) -> Vec<Start> {
        Start::drawn(stream, count.min(STARTS))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        if let (true, Some(world)) = (self.sound, self.world.take()) {
            self.makers.idle().push(world);
        }
    }
}

/// A policy that is a function of Python: rows of observations in, rows of actions out.
pub struct Callable {
    pub function: Py<PyAny>,
    pub actions: usize,
    pub raised: Raised,
}

impl ell0_control::policy::Policy for Callable {
    fn start(&self, _: usize) -> Result<Box<dyn ell0_control::policy::Act + '_>> {
        Ok(Box::new(self))
    }
}

impl Callable {
    fn call(&self, py: Python, observation: &[f32], rows: usize) -> PyResult<Vec<f64>> {
        let width = observation.len() / rows.max(1);
        let mut matrix = vec![0f32; observation.len()];
        for (k, column) in observation.chunks_exact(rows).enumerate() {
            column
                .iter()
                .enumerate()
                .for_each(|(row, v)| matrix[row * width + k] = *v);
        }
        let matrix = PyArray1::from_vec(py, matrix).reshape([rows, width])?;
        let chosen = self.function.bind(py).call1((matrix.into_py_any(py)?,))?;
        let chosen: numpy::PyReadonlyArray2<f64> = chosen.extract().map_err(|_| {
            pyo3::exceptions::PyTypeError::new_err(
                "a policy must give a matrix of doubles: rows × actions",
            )
        })?;
        let chosen = chosen.as_array();
        if chosen.dim() != (rows, self.actions) {
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "the policy gave {:?} numbers for {rows} observations; {} actions each are needed",
                chosen.dim(),
                self.actions
            )));
        }
        let columns = (0..self.actions).flat_map(|k| (0..rows).map(move |row| [row, k]));
        Ok(columns.map(|at| chosen[at]).collect())
    }
}

impl ell0_control::policy::Act for &Callable {
    fn act(
        &mut self,
        observation: &[f32],
        rows: usize,
        _: &mut [Generator],
        action: &mut [f64],
    ) -> Result<()> {
        Python::attach(|py| match self.call(py, observation, rows) {
            Ok(chosen) => {
                action[..chosen.len()].copy_from_slice(&chosen);
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string();
                let mut slot = self.raised.lock().unwrap_or_else(|e| e.into_inner());
                slot.get_or_insert(error);
                Err(Error::Outside {
                    environment: "the policy".into(),
                    reason,
                })
            }
        })
    }
}
