//! What goes wrong in Rust, as an exception of Python with the same sentence.

use ell0_run::Error;
use pyo3::{
    PyErr,
    exceptions::{
        PyFileExistsError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError,
    },
};

/// The exception of an error: what has to do with files is an `OSError`, an interruption a `KeyboardInterrupt`, all else a `ValueError`.
pub fn raised<E: Into<Error>>(error: E) -> PyErr {
    let error: Error = error.into();
    let text = error.to_string();
    match error.root() {
        Error::Stopped { .. } => PyKeyboardInterrupt::new_err(text),
        Error::FolderExists(_)
        | Error::FileExists(_)
        | Error::OfRun { .. }
        | Error::Changed { .. }
        | Error::InputInside { .. } => PyFileExistsError::new_err(text),
        Error::Io { source, .. } | Error::Data(ell0_data::Error::Io { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound =>
        {
            PyFileNotFoundError::new_err(text)
        }
        Error::Io { .. } | Error::Data(ell0_data::Error::Io { .. }) | Error::Held(_) => {
            PyOSError::new_err(text)
        }
        _ => PyValueError::new_err(text),
    }
}

/// The same for JSON that is not what is wanted. Where in the text is of no use to somebody who wrote none.
pub fn unread(what: &str, error: &serde_json::Error) -> PyErr {
    let text = error.to_string();
    let said = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(said, _)| said);
    PyValueError::new_err(format!("{what}: {said}"))
}
