//! The exception of a job that was not started or did not end well.

use pyo3::{create_exception, exceptions::PyException, prelude::*, types::PyTuple};

use crate::results::Recording;

create_exception!(
    _core,
    BackendError,
    PyException,
    "A job that could not be started or did not end well: one line with what, where and what to do."
);

/// Gives exceptions without them the attributes `path` and `recordings` too: None, and none.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    let kind = py.get_type::<BackendError>();
    kind.setattr("path", py.None())?;
    kind.setattr("recordings", PyTuple::empty(py))
}

/// The exception for a job that was not started or did not end well. It has the path that its message names, and what was
/// measured before.
pub fn failed(error: load::LoadError) -> PyErr {
    let exception = BackendError::new_err(error.to_string());
    let completed = Python::attach(|py| {
        let value = exception.value(py);
        if let Some(path) = error.path() {
            value.setattr("path", path)?;
        }
        let recordings = error.into_recordings().into_iter().map(Recording::from);
        let recordings = recordings.map(|one| Py::new(py, one));
        let recordings: Vec<_> = recordings.collect::<PyResult<_>>()?;
        value.setattr("recordings", PyTuple::new(py, recordings)?)
    });
    match completed {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// The exception for an error of another crate.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    BackendError::new_err(error.to_string())
}
