//! Captures of the kernel's block trace. What the kernel refuses is an `OSError` with its number and file.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use capture::{CaptureError, Options, Via};
use pyo3::{exceptions::PyOSError, prelude::*};

fn refused(error: &CaptureError) -> PyErr {
    let text = error.source.to_string();
    let path = error.path.display().to_string();
    PyOSError::new_err((error.source.raw_os_error().unwrap_or(0), text, path))
}

/// A disk after its capture.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct Recorded {
    path: PathBuf,
    files: Vec<PathBuf>,
    lost: u64,
}

/// A capture that goes on.
#[pyclass(frozen, module = "fathom._core")]
pub struct Capture(Mutex<Option<capture::Capture>>);

impl Capture {
    fn capture(&self) -> MutexGuard<'_, Option<capture::Capture>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Capture {
    #[new]
    #[pyo3(signature = (disks, folder, mounted, buffer_bytes, tracepoints = false))]
    fn new(
        py: Python<'_>,
        disks: Vec<PathBuf>,
        folder: PathBuf,
        mounted: PathBuf,
        buffer_bytes: u32,
        tracepoints: bool,
    ) -> PyResult<Self> {
        let via = match tracepoints {
            true => Via::Tracepoints { tracefs: mounted },
            false => Via::BlockTrace { debugfs: mounted },
        };
        let options = Options {
            via,
            folder,
            buffer_bytes,
        };
        let started = py.detach(|| capture::Capture::start(&disks, &options));
        let capture = started.map_err(|error| refused(&error))?;
        Ok(Self(Mutex::new(Some(capture))))
    }

    #[getter]
    fn copied_bytes(&self) -> u64 {
        let capture = self.capture();
        capture.as_ref().map_or(0, capture::Capture::copied_bytes)
    }

    #[getter]
    fn failed(&self) -> bool {
        let capture = self.capture();
        capture.as_ref().is_none_or(capture::Capture::failed)
    }

    fn stop(&self, py: Python<'_>) -> PyResult<Vec<Recorded>> {
        let Some(capture) = self.capture().take() else {
            return Ok(Vec::new());
        };
        let stopped = py.detach(|| capture.stop());
        let recorded = stopped.map_err(|error| refused(&error))?;
        let recorded = recorded.into_iter().map(|one| Recorded {
            path: one.path,
            files: one.files,
            lost: one.lost,
        });
        Ok(recorded.collect())
    }
}

/// Ends a trace that another process has left behind.
#[pyfunction]
pub fn end_capture(py: Python<'_>, disk: PathBuf, tracefs: PathBuf) -> PyResult<()> {
    py.detach(|| capture::end(&disk, &tracefs))
        .map_err(|error| refused(&error))
}
