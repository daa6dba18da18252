//! Models, policies and networks in other languages.

use std::path::PathBuf;

use ell0_run::{ExportSettings, Exportable};
use pyo3::PyResult;

use crate::error::raised;

/// Writes something in another language; the files.
pub fn write(
    what: &Exportable,
    format: &str,
    folder: PathBuf,
    name: Option<String>,
    float: bool,
    replace: bool,
) -> PyResult<Vec<PathBuf>> {
    let settings = ExportSettings {
        format: format.parse().map_err(raised::<ell0::Error>)?,
        name,
        float,
        replace,
    };
    Ok(settings.run(what, folder).map_err(raised)?.files)
}
