//! Statistics in parts: gathered anywhere, merged, fitted together.

use std::sync::Mutex;

use ell0_data::evidence::Evidence;
use ell0_run::{DataSettings, FitSettings, StatsSettings};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};

use crate::{
    error::{raised, unread},
    law::Found,
    long,
    tables::{Tables, frames},
};

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_class::<Statistics>()
}

/// Statistics of some rows, however many. What was gathered is folded, so that it stays small.
#[pyclass(module = "ell0._ell0", frozen)]
pub struct Statistics {
    data: DataSettings,
    samples: bool,
    parts: Mutex<Vec<Evidence>>,
}

impl Statistics {
    fn add(&self, more: Vec<Evidence>) -> PyResult<()> {
        let mut parts = self.parts.lock().unwrap_or_else(|e| e.into_inner());
        let mut all = std::mem::take(&mut *parts);
        all.extend(more);
        *parts = Evidence::folded(all).map_err(raised)?;
        Ok(())
    }

    fn parts(&self) -> Vec<Evidence> {
        self.parts.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }
}

/// What is pickled.
#[derive(serde::Serialize, serde::Deserialize)]
struct Saved {
    data: DataSettings,
    samples: bool,
    parts: Vec<String>,
}

#[pymethods]
impl Statistics {
    /// Of nothing yet; `data` is JSON: the meaning of the columns.
    #[new]
    fn new(data: &str, samples: bool) -> PyResult<Self> {
        let data = serde_json::from_str(data).map_err(|e| unread("the meaning of columns", &e))?;
        Ok(Statistics {
            data,
            samples,
            parts: Mutex::new(Vec::new()),
        })
    }

    /// Adds tables in memory, or files; each is a trajectory of its own, or several.
    fn update(
        &self,
        py: Python,
        tables: Option<Tables>,
        files: Vec<std::path::PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let settings = StatsSettings {
            data: DataSettings {
                files,
                ..self.data.clone()
            },
            no_samples: !self.samples,
        };
        let tables = tables.map(frames).transpose()?;
        let evidence = long::run(py, progress, |observer| match &tables {
            Some(tables) => settings.run_on(tables, observer),
            None => settings.run(observer),
        })?;
        self.add(vec![evidence])
    }

    /// Adds those of another part.
    fn merge(&self, other: &Statistics) -> PyResult<()> {
        if std::ptr::eq(self, other) {
            return Err(PyValueError::new_err(
                "statistics cannot be merged with themselves: their rows would count twice",
            ));
        }
        if self.data != other.data {
            return Err(PyValueError::new_err(
                "these statistics were asked another question (other columns, another library): make them alike",
            ));
        }
        self.add(other.parts())
    }

    /// Rows so far.
    #[getter]
    fn rows(&self) -> u64 {
        self.parts().iter().map(|e| e.survey.rows).sum()
    }

    /// Parts that they are kept in.
    #[getter]
    fn kept(&self) -> usize {
        self.parts().len()
    }

    /// The law behind all of it; `settings` are those of a fit, its data left aside.
    fn fit(&self, py: Python, settings: &str, progress: Option<Py<PyAny>>) -> PyResult<Found> {
        let mut settings: FitSettings =
            serde_json::from_str(settings).map_err(|e| unread("the settings of a fit", &e))?;
        let parts = self.parts();
        if parts.is_empty() {
            return Err(PyValueError::new_err("there are no rows yet: update first"));
        }
        settings.data = self.data.clone();
        let found = long::run(py, progress, |observer| {
            settings.run_on_statistics(parts, observer)
        })?;
        Ok(Found::new(settings, found))
    }

    /// Everything, to be sent elsewhere.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = Saved {
            data: self.data.clone(),
            samples: self.samples,
            parts: self.parts().iter().map(Evidence::to_json).collect(),
        };
        let bytes = serde_json::to_vec(&saved).map_err(|e| unread("statistics", &e))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let saved: Saved = serde_json::from_slice(bytes).map_err(|e| unread("statistics", &e))?;
        let part = |text: &String| {
            Evidence::from_json(text).map_err(|e| PyValueError::new_err(format!("statistics: {e}")))
        };
        Ok(Statistics {
            data: saved.data,
            samples: saved.samples,
            parts: Mutex::new(saved.parts.iter().map(part).collect::<PyResult<_>>()?),
        })
    }
}
