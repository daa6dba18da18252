//! Worlds for Python: one, or thousands side by side.

use std::sync::Mutex;

use ell0::rng::Stream;
use ell0_control::environment::{Component, Environment, Registry, Space, make};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use rayon::prelude::*;

use crate::{error::raised, outside::Outside};

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<World>()?;
    module.add_class::<Worlds>()?;
    module.add_function(wrap_pyfunction!(worlds, module)?)
}

/// The worlds that have a name: their names, and a line about each.
#[pyfunction]
fn worlds() -> Vec<(Vec<String>, String)> {
    let registry = Registry::default();
    let of = |m: &ell0_control::environment::Maker| (m.names().to_vec(), m.help().to_string());
    registry.makers().iter().map(of).collect()
}

/// Name, least and greatest value, and typical size of each component.
type Components = Vec<(String, f64, f64, Option<f64>)>;

fn components(space: &Space) -> Components {
    let of = |c: &Component| (c.name.clone(), c.low, c.high, c.scale);
    space.components().iter().map(of).collect()
}

fn space(components: Components) -> Space {
    let of = |(name, low, high, scale)| Component {
        name,
        low,
        high,
        scale,
    };
    Space::new(components.into_iter().map(of).collect())
}

/// The randomness of episodes: those of a seed, one after the other.
struct Episodes {
    stream: Stream,
    begun: u64,
}

impl Episodes {
    fn new(seed: u64) -> Self {
        Episodes {
            stream: Stream::new(seed).split("episodes"),
            begun: 0,
        }
    }

    fn begin(&mut self, world: &mut dyn Environment) {
        world.reset(&mut self.stream.at(self.begun));
        self.begun += 1;
    }
}

/// A world of ours, or one of Python's that ours can be trained in.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct World {
    inner: Mutex<(Box<dyn Environment>, Episodes)>,
    /// Where a world of Python's keeps what it raised.
    raised: Option<crate::outside::Raised>,
}

impl World {
    /// Another world like it.
    pub fn copy(&self) -> Box<dyn Environment> {
        self.inner
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .0
            .copy()
    }

    /// What a world of Python's raised, if it did.
    pub fn raised(&self) -> Option<PyErr> {
        let slot = self.raised.as_ref()?;
        slot.lock().unwrap_or_else(|e| e.into_inner()).take()
    }

    fn with<T>(&self, work: impl FnOnce(&mut Box<dyn Environment>, &mut Episodes) -> T) -> T {
        let mut inner = self.inner.lock().unwrap_or_else(|e| e.into_inner());
        let (world, episodes) = &mut *inner;
        work(world, episodes)
    }
}

fn seen<'py>(py: Python<'py>, world: &dyn Environment) -> Bound<'py, PyArray1<f32>> {
    let mut values = vec![0f32; world.observation_space().len()];
    world.observe(&mut values);
    PyArray1::from_vec(py, values)
}

/// Steps after which an episode is cut off in a world of Python's that says nothing of it.
const USUAL_LIMIT: u32 = 1000;

#[pymethods]
impl World {
    /// The world that a text such as `pendulum(g=9.81)` names.
    #[staticmethod]
    fn make(text: &str) -> PyResult<Self> {
        let world = make(text).map_err(raised)?;
        Ok(World {
            inner: Mutex::new((world, Episodes::new(0))),
            raised: None,
        })
    }

    /// A world with the interface of Gymnasium, by a function that makes one.
    #[staticmethod]
    fn outside(
        py: Python,
        make: Py<PyAny>,
        text: String,
        observation: Components,
        action: Components,
        limit: Option<u32>,
    ) -> PyResult<Self> {
        let limit = limit.or(Some(USUAL_LIMIT));
        let world = Outside::new(py, make, text, space(observation), space(action), limit)?;
        let raised = Some(world.raised());
        Ok(World {
            inner: Mutex::new((Box::new(world), Episodes::new(0))),
            raised,
        })
    }

    /// The text that makes another just like it.
    #[getter]
    fn text(&self) -> String {
        self.with(|world, _| world.text())
    }

    #[getter]
    fn observation(&self) -> Components {
        self.with(|world, _| components(world.observation_space()))
    }

    #[getter]
    fn action(&self) -> Components {
        self.with(|world, _| components(world.action_space()))
    }

    /// Steps after which an episode is cut off.
    #[getter]
    fn limit(&self) -> Option<u32> {
        self.with(|world, _| world.time_limit())
    }

    #[getter]
    fn state_names(&self) -> Vec<String> {
        self.with(|world, _| world.state_names())
    }

    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.with(|world, _| PyArray1::from_slice(py, world.state()))
    }

    /// Whether its step is known, so that policies can be analysed in it.
    #[getter]
    fn is_known(&self) -> bool {
        self.with(|world, _| world.closed_form().is_some() || world.smooth().is_some())
    }

    /// Begins an episode: the first of a seed, or the next of the last seed; or in a given state.
    fn reset<'py>(
        &self,
        py: Python<'py>,
        seed: Option<u64>,
        state: Option<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        self.with(|world, episodes| {
            if let Some(seed) = seed {
                *episodes = Episodes::new(seed);
            }
            episodes.begin(world);
            if let Some(state) = state {
                world.reset_to(&state).map_err(raised)?;
            }
            Ok(seen(py, world.as_ref()))
        })
    }

    /// Acts: observation, reward, terminated, truncated.
    #[allow(clippy::type_complexity)]
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: Vec<f64>,
    ) -> PyResult<(Bound<'py, PyArray1<f32>>, f64, bool, bool)> {
        self.with(|world, _| {
            let wanted = world.action_space().len();
            if action.len() != wanted {
                return Err(PyValueError::new_err(format!(
                    "an action has {wanted} numbers; {} were given",
                    action.len()
                )));
            }
            let step = world.step(&action).map_err(raised)?;
            let seen = seen(py, world.as_ref());
            Ok((seen, step.reward, step.terminated, step.truncated))
        })
    }
}

/// One world among many.
struct Row {
    world: Box<dyn Environment>,
    episodes: Episodes,
    /// Whether its episode is over, so that it begins anew in the next step, as Gymnasium has it.
    over: bool,
}

/// Many worlds of the same kind, stepped at once.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Worlds {
    rows: Mutex<Vec<Row>>,
    number: usize,
    observations: usize,
    actions: usize,
}

/// Worlds that one thread steps at a time: fewer are not worth the way to another thread.
const PART: usize = 256;

#[pymethods]
impl Worlds {
    #[new]
    fn new(text: &str, number: usize) -> PyResult<Self> {
        if !(1..=1_000_000).contains(&number) {
            return Err(PyValueError::new_err(format!(
                "{number} worlds: from 1 to a million can be stepped at once"
            )));
        }
        let world = make(text).map_err(raised)?;
        let row = |k: usize| Row {
            world: world.copy(),
            episodes: Episodes::new(k as u64),
            over: false,
        };
        Ok(Worlds {
            number,
            observations: world.observation_space().len(),
            actions: world.action_space().len(),
            rows: Mutex::new((0..number).map(row).collect()),
        })
    }

    /// Begins an episode in all of them, or in some; world k with the seed + k.
    fn reset<'py>(
        &self,
        py: Python<'py>,
        seed: Option<u64>,
        which: Option<Vec<bool>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let (n, width) = (self.number, self.observations);
        let mut seen = vec![0f32; n * width];
        py.detach(|| {
            // Locked only where the interpreter's lock is not held: whoever holds it waits for none of ours.
            let mut rows = self.rows.lock().unwrap_or_else(|e| e.into_inner());
            let pairs = rows.iter_mut().zip(seen.chunks_exact_mut(width));
            for (k, (row, seen)) in pairs.enumerate() {
                let wanted = |w: &Vec<bool>| w.get(k).copied().unwrap_or(false);
                if which.as_ref().is_none_or(wanted) {
                    if let Some(seed) = seed {
                        row.episodes = Episodes::new(seed.wrapping_add(k as u64));
                    }
                    row.episodes.begin(&mut row.world);
                    row.over = false;
                }
                row.world.observe(seen);
            }
        });
        PyArray1::from_vec(py, seen).reshape([n, width])
    }

    /// Acts in all of them. One whose episode was over begins anew instead.
    #[allow(clippy::type_complexity)]
    fn step<'py>(
        &self,
        py: Python<'py>,
        action: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(
        Bound<'py, PyArray2<f32>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<bool>>,
        Bound<'py, PyArray1<bool>>,
    )> {
        let view = action.as_array();
        if view.dim() != (self.number, self.actions) {
            return Err(PyValueError::new_err(format!(
                "actions of shape {:?}; {} worlds with {} actions each are stepped",
                view.dim(),
                self.number,
                self.actions
            )));
        }
        let (n, width, actions) = (self.number, self.observations, self.actions);
        let mut seen = vec![0f32; n * width];
        let (mut reward, mut ended, mut cut) = (vec![0f64; n], vec![false; n], vec![false; n]);
        let done = py.detach(|| {
            let mut rows = self.rows.lock().unwrap_or_else(|e| e.into_inner());
            let parts = rows
                .par_chunks_mut(PART)
                .zip(seen.par_chunks_mut(PART * width))
                .zip(reward.par_chunks_mut(PART))
                .zip(ended.par_chunks_mut(PART))
                .zip(cut.par_chunks_mut(PART))
                .enumerate();
            parts.try_for_each(|(part, ((((rows, seen), reward), ended), cut))| {
                let mut chosen = vec![0f64; actions];
                for (k, row) in rows.iter_mut().enumerate() {
                    if row.over {
                        row.episodes.begin(&mut row.world);
                        row.over = false;
                    } else {
                        let at = part * PART + k;
                        (0..actions).for_each(|j| chosen[j] = view[[at, j]]);
                        let step = row.world.step(&chosen)?;
                        (reward[k], ended[k], cut[k]) =
                            (step.reward, step.terminated, step.truncated);
                        row.over = step.is_over();
                    }
                    row.world.observe(&mut seen[k * width..][..width]);
                }
                Ok::<(), ell0_control::Error>(())
            })
        });
        done.map_err(raised)?;
        Ok((
            PyArray1::from_vec(py, seen).reshape([n, width])?,
            PyArray1::from_vec(py, reward),
            PyArray1::from_vec(py, ended),
            PyArray1::from_vec(py, cut),
        ))
    }
}
