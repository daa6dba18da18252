//! Sparse networks.

use std::path::PathBuf;

use ell0::wording::shown_path;
use ell0_run::{
    Error, Exportable, NetworkRun as Run, NetworkRunSettings, NetworkSettings, Site,
    SparseNetwork as Trained,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::{raised, unread},
    export, long, tables,
};

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<SparseNetwork>()?;
    module.add_class::<NetworkRun>()?;
    module.add_function(wrap_pyfunction!(network, module)?)?;
    module.add_function(wrap_pyfunction!(resume_network, module)?)?;
    module.add_function(wrap_pyfunction!(train_network, module)?)
}

/// Networks that were trained on tables.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct NetworkRun {
    run: Run,
}

#[pymethods]
impl NetworkRun {
    /// Of the folder of a run.
    #[staticmethod]
    fn read(folder: PathBuf) -> PyResult<Self> {
        let run = Run::read(folder).map_err(raised)?;
        Ok(NetworkRun { run })
    }

    /// The results: JSON.
    fn rows(&self) -> PyResult<String> {
        serde_json::to_string(self.run.rows()).map_err(|e| unread("the results", &e))
    }

    /// On which rows each was measured, in sentences, and what is wrong with it.
    fn told(&self) -> Vec<(Vec<String>, Option<String>)> {
        let pairs = self.run.rows().iter().zip(&self.run.networks);
        pairs
            .map(|(result, network)| (result.measured_told(), result.warning(&network.names)))
            .collect()
    }

    /// All epochs: JSON.
    fn epochs(&self) -> PyResult<String> {
        serde_json::to_string(&self.run.metrics).map_err(|e| unread("the epochs", &e))
    }

    /// The networks, in the order of the results.
    fn networks(&self) -> Vec<SparseNetwork> {
        let all = self.run.networks.iter().cloned();
        all.map(|network| SparseNetwork { network }).collect()
    }
}

/// Trains networks on tables in files or, if there are some, in memory.
#[pyfunction]
fn network(
    py: Python,
    settings: &str,
    data: Option<tables::Tables>,
    site: Option<(PathBuf, bool)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<NetworkRun> {
    let settings: NetworkRunSettings =
        serde_json::from_str(settings).map_err(|e| unread("the settings of a network", &e))?;
    let frames = data.map(tables::frames).transpose()?;
    let site = site.map(|(folder, replace)| Site {
        replace,
        ..Site::new(folder)
    });
    let run = long::run(py, progress, |observer| match &frames {
        Some(frames) => settings.run_on(frames, site.as_ref(), observer),
        None => settings.run(site.as_ref(), observer),
    })?;
    Ok(NetworkRun { run })
}

/// Goes on with the run in a folder.
#[pyfunction]
fn resume_network(
    py: Python,
    folder: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<NetworkRun> {
    let run = long::run(py, progress, |observer| {
        let run = NetworkRunSettings::resume(&Site::new(folder.clone()), observer);
        run.map_err(|error| match error.root() {
            // Its settings name no files.
            Error::NoData => Error::Unsuitable(format!(
                "{} learned from tables in memory, which it does not keep: train again with these, and force=True",
                shown_path(&folder)
            )),
            _ => error,
        })
    })?;
    Ok(NetworkRun { run })
}

/// A network that was trained, without what its closed gates leave out.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct SparseNetwork {
    network: Trained,
}

/// The rows of a matrix, one after the other.
fn rows(matrix: &PyReadonlyArray2<f64>) -> Vec<f64> {
    matrix.as_array().iter().copied().collect()
}

/// Targets: a matrix of numbers, or classes 0, 1, ….
#[derive(FromPyObject)]
enum Targets<'py> {
    Numbers(PyReadonlyArray2<'py, f64>),
    Classes(PyReadonlyArray1<'py, i64>),
}

impl Targets<'_> {
    /// Number of rows, and the numbers row by row.
    fn rows(&self) -> (usize, Vec<f64>) {
        match self {
            Targets::Numbers(matrix) => (matrix.as_array().nrows(), rows(matrix)),
            Targets::Classes(classes) => {
                let classes = classes.as_array();
                (classes.len(), classes.iter().map(|c| *c as f64).collect())
            }
        }
    }
}

/// Trains on rows of inputs and targets.
#[pyfunction]
fn train_network(
    py: Python,
    settings: &str,
    x: PyReadonlyArray2<f64>,
    y: Targets,
    progress: Option<Py<PyAny>>,
) -> PyResult<SparseNetwork> {
    let settings: NetworkSettings =
        serde_json::from_str(settings).map_err(|e| unread("the settings of a network", &e))?;
    let (n, inputs) = x.as_array().dim();
    let (m, y) = y.rows();
    if m != n {
        return Err(PyValueError::new_err(format!(
            "{n} rows of inputs and {m} of targets"
        )));
    }
    let x = rows(&x);
    let network = long::run(py, progress, |observer| {
        settings.run_on(&x, inputs, &y, observer)
    })?;
    Ok(SparseNetwork { network })
}

#[pymethods]
impl SparseNetwork {
    /// Outputs for rows: of a regression the targets, of classes a number for each.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (n, width) = x.as_array().dim();
        let wanted = self.network.compact().original_inputs();
        if width != wanted {
            return Err(PyValueError::new_err(format!(
                "there are {width} columns; the network has {wanted} inputs"
            )));
        }
        let x = rows(&x);
        let outputs = self.network.compact().network().architecture().outputs();
        let y = match n {
            0 => Vec::new(),
            _ => py.detach(|| self.network.predict(&x)).map_err(raised)?,
        };
        PyArray1::from_vec(py, y).reshape([n, outputs])
    }

    /// Its epochs: JSON.
    fn history(&self) -> PyResult<String> {
        serde_json::to_string(&self.network.history).map_err(|e| unread("the epochs", &e))
    }

    /// What goes in and what comes out is called: JSON.
    fn names(&self) -> PyResult<String> {
        serde_json::to_string(&self.network.names).map_err(|e| unread("the names", &e))
    }

    /// Whether it says the same of all rows.
    fn says_the_same_of(&self, x: PyReadonlyArray2<f64>) -> PyResult<bool> {
        self.network.says_the_same_of(&[&rows(&x)]).map_err(raised)
    }

    /// How good it is on rows: JSON.
    fn quality(&self, x: PyReadonlyArray2<f64>, y: Targets) -> PyResult<String> {
        let (_, y) = y.rows();
        let quality = self.network.quality(&rows(&x), &y).map_err(raised)?;
        serde_json::to_string(&quality).map_err(|e| unread("the quality", &e))
    }

    /// Units that are left in each layer, inputs first.
    #[getter]
    fn widths(&self) -> Vec<usize> {
        self.network.widths()
    }

    /// Inputs that are still read.
    #[getter]
    fn inputs_read(&self) -> Vec<usize> {
        self.network.compact().inputs().to_vec()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.network.to_bytes().map_err(raised)?))
    }

    /// Of a file, or the folder of a run.
    #[staticmethod]
    fn read(path: PathBuf) -> PyResult<Self> {
        let network = Trained::read(path).map_err(raised)?;
        Ok(SparseNetwork { network })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let network = Trained::from_bytes(bytes, "the bytes of a network").map_err(raised)?;
        Ok(SparseNetwork { network })
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
        let what = Exportable::Network(self.network.exportable().map_err(raised)?);
        export::write(&what, format, folder, name, float, replace)
    }
}
