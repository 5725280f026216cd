//! A running job as Python holds it. Every call that waits gives the GIL back.

use std::time::{Duration, SystemTime};

use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};

use crate::{
    error::failed,
    results::{Interval, Recording},
    traces::issued_columns,
};

/// A running job. Made by `start_engine` and `start_twins`.
#[pyclass(frozen, module = "fathom._core")]
pub struct Handle(pub Box<dyn load::Handle>);

#[pymethods]
impl Handle {
    /// Intervals finished since the last call. Waits up to `timeout_s` for the first; of twins, which run far ahead of the
    /// clock, for some dozens.
    #[pyo3(signature = (timeout_s = 0.2))]
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<Interval>> {
        if timeout_s.is_nan() {
            let reason = "timeout_s is NaN, expected seconds to wait at most";
            return Err(PyValueError::new_err(reason));
        }
        let most = Duration::from_secs_f64(timeout_s.clamp(0.0, 60.0));
        let signals = || Python::attach(|py| py.check_signals());
        let news = py.detach(|| self.0.poll(most, signals))?;
        let new = |(target, interval)| Interval::new(target, interval);
        Ok(news.into_iter().map(new).collect())
    }

    /// When the last load thread began, ns since 1970 by the system's clock; None for twins.
    #[getter]
    fn started_unix_ns(&self) -> Option<u64> {
        let since = self
            .0
            .started_at()?
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()?;
        Some(since.as_nanos() as u64)
    }

    /// Whether every twin still running waits at a hold and all its intervals have been polled.
    fn held(&self) -> bool {
        self.0.is_held()
    }

    /// Lets held twins go on to their next hold.
    fn proceed(&self) {
        self.0.proceed();
    }

    /// Ends the job, at once and from any thread: no further I/O is issued, what is in flight completes.
    fn stop(&self) {
        self.0.stop();
    }

    /// Ends the job as `stop` does, and gives up at once what is in flight on a real target.
    fn abandon(&self) {
        self.0.abandon();
    }

    /// Whether the job has ended and all its intervals have been polled.
    fn done(&self) -> bool {
        self.0.is_done()
    }

    /// What twins issued that were asked to log it, by time of issue: columns as those of `TraceReader.feed`, and
    /// `arrived_ns`. Empty before the end. Forgets it.
    fn take_log<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        issued_columns(py, self.0.take_log())
    }

    /// The recordings, one per target in the order given. Waits for the end; may be called once.
    fn result(&self, py: Python<'_>) -> PyResult<Vec<Recording>> {
        let recordings = py.detach(|| self.0.result());
        let recordings = recordings.map_err(failed)?;
        Ok(recordings.into_iter().map(Recording::from).collect())
    }
}
