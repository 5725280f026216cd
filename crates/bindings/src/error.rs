//! The exception of a job that was not started or did not end well.

use pyo3::{create_exception, exceptions::PyException, prelude::*};

create_exception!(
    _core,
    BackendError,
    PyException,
    "A job that could not be started or did not end well: one line with what, where and what to do."
);

/// The exception for an error of another crate.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    BackendError::new_err(error.to_string())
}
