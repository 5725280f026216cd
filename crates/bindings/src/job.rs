//! The job as a Python class. Its methods stand in the modules below, one for each question that a caller has.

mod files;
mod load;
mod parts;
mod place;
mod requests;
mod streams;
mod variants;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use pyo3::prelude::*;

pub use self::{
    files::FileSet,
    parts::{Extent, JobOp, Pattern},
};
use crate::parse::{job_from_text, to_json};

/// One step's I/O, checked. Jobs made from it are checked too, and raise `ParseError`.
#[pyclass(frozen, module = "fathom._core")]
pub struct Job {
    job: Arc<workload::Job>,
    json: String,
}

impl Job {
    /// The job for the engine and the twins.
    pub fn inner(&self) -> Arc<workload::Job> {
        Arc::clone(&self.job)
    }

    fn of(job: workload::Job) -> PyResult<Self> {
        let json = to_json(&job)?;
        Ok(Self {
            job: Arc::new(job),
            json,
        })
    }

    /// A changed job, checked as one from outside is.
    fn changed(job: &workload::Job) -> PyResult<Self> {
        Self::of(job_from_text(&to_json(job)?, "job.json")?)
    }
}

#[pymethods]
impl Job {
    /// Reads a job from JSON, or from TOML where the file's name does not end in `.json`.
    #[new]
    #[pyo3(signature = (text, file = "job.json"))]
    fn new(text: &str, file: &str) -> PyResult<Self> {
        Self::of(job_from_text(text, file)?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (String,)) {
        (slf.get_type().into_any(), (slf.get().json.clone(),))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| other.get().json == self.json)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.json.hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("Job({})", self.json)
    }

    /// The normal form.
    #[getter]
    fn json(&self) -> &str {
        &self.json
    }
}
