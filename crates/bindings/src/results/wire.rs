//! Recordings and intervals as bytes between hosts.

use pyo3::{exceptions::PyValueError, prelude::*};
use serde::{Serialize, de::DeserializeOwned};

pub(super) fn to_bytes(value: &impl Serialize) -> PyResult<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(super) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    serde_json::from_slice(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(super) fn cannot_be_counts() -> PyErr {
    PyValueError::new_err("its counts contradict each other, or are too large")
}

pub(super) fn nothing_to_merge() -> PyErr {
    PyValueError::new_err("nothing to merge")
}
