//! Single files: whole or not at all, and never over a file of a run.

use std::path::{Path, PathBuf};

use ell0_run::OutFile;
use pyo3::prelude::*;

use crate::error::raised;

/// Where something is saved: over a file that is there, for that is what saving means in Python.
pub fn place(path: PathBuf) -> PyResult<PathBuf> {
    let place = OutFile::new(path).replacing(true);
    place.check::<&Path>(&[]).map_err(raised)?;
    Ok(place.path().into())
}

/// Writes a file, over one that is there.
#[pyfunction]
fn save(path: PathBuf, content: &[u8]) -> PyResult<()> {
    let place = OutFile::new(path).replacing(true);
    place.write(content).map_err(raised)
}

pub fn register(module: &Bound<PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(save, module)?)
}
