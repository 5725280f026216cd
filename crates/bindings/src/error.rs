//! The exception of a job that was not started or did not end well.

use pyo3::{create_exception, exceptions::PyException, prelude::*};

create_exception!(
    _core,
    BackendError,
    PyException,
    "A job that could not be started or did not end well: one line with what, where and what to do."
);

/// Gives the exceptions that name no path an attribute `path` too: None.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    py.get_type::<BackendError>().setattr("path", py.None())
}

/// The exception for a job that was not started or did not end well, with the path that its message names.
pub fn failed(error: &load::LoadError) -> PyErr {
    let exception = BackendError::new_err(error.to_string());
    let named = error.path();
    Python::attach(
        |py| match named.map(|path| exception.value(py).setattr("path", path)) {
            None | Some(Ok(())) => exception,
            Some(Err(other)) => other,
        },
    )
}

/// The exception for an error of another crate.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    BackendError::new_err(error.to_string())
}
