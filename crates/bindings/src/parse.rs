//! Methods, jobs, sizes and durations for Python: text in, the normal form as JSON out.

use pyo3::{create_exception, exceptions::PyException, prelude::*};
use workload::{Job, Method};

create_exception!(
    _core,
    ParseError,
    PyException,
    "A refused method, job, size or duration: one line with file, line and what was expected."
);

/// The error of Python's for a refusal.
pub fn refuse(error: impl std::fmt::Display) -> PyErr {
    ParseError::new_err(error.to_string())
}

/// The normal form.
pub fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refuse)
}

/// Parses a method; `quick` applies its own shortening. Returns its normal form as JSON.
#[pyfunction]
#[pyo3(signature = (text, file, quick = false))]
pub fn parse_method(text: &str, file: &str, quick: bool) -> PyResult<String> {
    let method = if file.ends_with(".json") {
        Method::from_json(text, file)
    } else {
        Method::from_toml(text, file)
    }
    .map_err(refuse)?;
    if !quick {
        return to_json(&method);
    }
    if method.quick.is_none() {
        return Err(refuse(format!(
            "{file}: method {} has no [quick] table, so it cannot be shortened: run it without --quick",
            method.name
        )));
    }
    to_json(&method.shortened())
}

/// Returns the job that a Python caller hands over.
pub fn job_from_text(text: &str, file: &str) -> PyResult<Job> {
    if file.ends_with(".json") {
        Job::from_json(text, file)
    } else {
        Job::from_toml(text, file)
    }
    .map_err(refuse)
}

/// Bytes of a size such as `4KiB`.
#[pyfunction]
pub fn parse_size_bytes(text: &str) -> PyResult<u64> {
    workload::parse_size_bytes(text).map_err(refuse)
}

/// Nanoseconds of a duration such as `10min`.
#[pyfunction]
pub fn parse_duration_ns(text: &str) -> PyResult<u64> {
    workload::parse_duration_ns(text).map_err(refuse)
}
