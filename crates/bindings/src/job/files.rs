//! A job's set of files as a Python class: which files there are, and how large.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;
use workload::{FileThreads, Select, Visit};

use crate::parse::{refuse, to_json};

/// The files that a job works on.
#[pyclass(frozen, module = "fathom._core")]
pub struct FileSet(pub workload::FileSet);

impl FileSet {
    fn text(&self) -> PyResult<String> {
        to_json(&self.0)
    }
}

#[pymethods]
impl FileSet {
    /// Reads what `json` gives.
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        serde_json::from_str(json).map(Self).map_err(refuse)
    }

    #[getter]
    fn json(&self) -> PyResult<String> {
        self.text()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().into_any(), (slf.get().text()?,)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let other = other.cast::<Self>();
        other.is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.text()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    #[getter]
    fn count(&self) -> u32 {
        self.0.count
    }

    #[getter]
    fn total_bytes(&self) -> u64 {
        self.0.total_bytes()
    }

    #[getter]
    fn sizes(&self) -> Vec<(u64, f64)> {
        let sizes = self.0.sizes.iter();
        sizes.map(|size| (size.size_bytes, size.weight)).collect()
    }

    #[getter]
    fn depth(&self) -> u32 {
        self.0.depth
    }

    #[getter]
    fn width(&self) -> u32 {
        self.0.width
    }

    #[getter]
    fn open(&self) -> Option<u32> {
        self.0.open
    }

    #[getter]
    fn select(&self) -> &'static str {
        match self.0.select {
            Select::Roundrobin => "roundrobin",
            Select::Random => "random",
            Select::Zipf { .. } => "zipf",
            Select::Pareto { .. } => "pareto",
        }
    }

    #[getter]
    fn visit(&self) -> Option<u32> {
        match self.0.visit {
            Visit::Requests(count) => Some(count),
            Visit::Whole => None,
        }
    }

    #[getter]
    fn threads(&self) -> &'static str {
        match self.0.threads {
            FileThreads::Apart => "apart",
            FileThreads::Together => "together",
        }
    }

    #[getter]
    fn present(&self) -> Option<f64> {
        self.0.present
    }

    fn other_paths(&self) -> Vec<String> {
        let files = 0..self.0.count;
        let path = |file| self.0.beside(file, &workload::FileSet::other_name(file));
        files.map(path).collect()
    }

    fn made_directories(&self) -> Vec<String> {
        let files = 0..self.0.count;
        let path = |file| {
            self.0
                .beside(file, &workload::FileSet::directory_name(file))
        };
        files.map(path).collect()
    }

    fn directories(&self) -> Vec<String> {
        self.0.directories()
    }

    fn paths(&self) -> Vec<(String, u64)> {
        let files = 0..self.0.count;
        files
            .map(|file| (self.0.path(file), self.0.size_of(file)))
            .collect()
    }

    fn has_layout_of(&self, other: &Self) -> bool {
        self.0.has_layout_of(&other.0)
    }

    fn __repr__(&self) -> String {
        format!("{self:?}", self = self.0)
    }
}
