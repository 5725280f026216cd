//! A whole step on one target.

use std::collections::BTreeMap;

use pyo3::{exceptions::PyValueError, prelude::*};

use super::half_widths::HalfWidths;
use super::interval::Interval;
use super::latency::{OpResult, PartBins, op_results, part_bins, stream_results};
use super::resources::{Gpu, Limit, Utilisation, counter_map, residence_us, utilisation_rows};
use super::wire::{cannot_be_counts, from_bytes, to_bytes};

/// What a key of [`Recording::errno`] means, in words.
#[pyfunction]
pub fn describe_errno(code: i32) -> String {
    engine::describe_errno(code)
}

/// A whole step on one target.
#[pyclass(frozen, module = "fathom._core")]
pub struct Recording {
    inner: recording::Recording,
}

impl From<recording::Recording> for Recording {
    fn from(inner: recording::Recording) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Recording {
    /// A recording of nothing yet.
    #[new]
    fn new() -> Self {
        recording::Recording::default().into()
    }

    /// With the next interval added: a long step need not be kept to be summed up.
    fn plus(&self, interval: &Interval) -> Self {
        let mut sum = self.inner.clone();
        sum.add(interval.inner());
        sum.into()
    }

    /// With the failures, set-up, remarks and notes of `parts`, and how well their sum is known.
    fn with_parts(&self, parts: Vec<Py<Recording>>) -> Self {
        let mut sum = self.inner.clone();
        sum.half_widths = recording::HalfWidths::of_sum(parts.iter().map(|part| &part.get().inner));
        for part in &parts {
            let recording::Recording {
                errno,
                setup,
                gpu,
                censored,
                censored_streams,
                remarks,
                notes,
                ..
            } = part.get().inner.clone();
            sum.merge(&recording::Recording {
                errno,
                setup,
                gpu,
                censored,
                censored_streams,
                remarks,
                notes,
                ..recording::Recording::default()
            });
        }
        sum.into()
    }

    /// The recording for the wire; `from_bytes` reads it.
    fn to_bytes(&self) -> PyResult<Vec<u8>> {
        to_bytes(&self.inner)
    }

    /// A recording from the wire.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let inner = from_bytes::<recording::Recording>(bytes)?;
        if !inner.is_sound() {
            return Err(cannot_be_counts());
        }
        Ok(Self::from(inner))
    }

    #[getter]
    fn window_s(&self) -> f64 {
        self.inner.window_ns as f64 / 1e9
    }
    #[getter]
    fn offered(&self) -> Option<u64> {
        self.inner.offered
    }
    #[getter]
    fn backlog(&self) -> Option<u64> {
        self.inner.backlog
    }
    #[getter]
    fn outstanding(&self) -> Option<f64> {
        self.inner.mean_outstanding
    }
    #[getter]
    fn ops(&self) -> Vec<OpResult> {
        op_results(&self.inner.ops, Some(&self.inner.censored))
    }
    /// By name the streams of the job; empty for a job of one workload.
    #[getter]
    fn streams(&self) -> BTreeMap<String, Vec<OpResult>> {
        stream_results(&self.inner.streams, &self.inner.censored_streams)
    }
    #[getter]
    fn counters(&self) -> BTreeMap<&'static str, f64> {
        counter_map(&self.inner.counters)
    }
    #[getter]
    fn utilisation(&self) -> Vec<Utilisation> {
        utilisation_rows(&self.inner.utilisation)
    }
    /// Mean time per I/O in each part of a system, us.
    #[getter]
    fn residence_us(&self) -> BTreeMap<String, f64> {
        residence_us(&self.inner.residence)
    }
    /// The number of equally long parts of the window whose latencies `part_bins` has; 0 where nobody watched, or it
    /// has seconds enough.
    #[getter]
    fn parts(&self) -> usize {
        self.inner.batches.len()
    }
    /// Latencies in those parts, of a stream or of all I/O.
    #[pyo3(signature = (stream=None))]
    fn part_bins(&self, stream: Option<&str>) -> Vec<PartBins> {
        part_bins(&self.inner.batches, stream)
    }
    /// None where nobody watched.
    #[getter]
    fn half_widths(&self) -> Option<HalfWidths> {
        self.inner.half_widths.as_ref().map(HalfWidths::from)
    }
    #[getter]
    fn errno(&self) -> BTreeMap<i32, u64> {
        self.inner.errno.clone()
    }
    /// How a real load was made, by aspect; empty for twins.
    #[getter]
    fn setup(&self) -> BTreeMap<String, String> {
        self.inner.setup.clone()
    }
    /// The GPU in whose memory reads ended; None where they ended in the host's.
    #[getter]
    fn gpu(&self) -> Option<Gpu> {
        self.inner.gpu.as_ref().map(Gpu::from)
    }
    /// What is to be said beside the figures, each as a JSON object with its code and values.
    #[getter]
    fn remarks(&self) -> PyResult<Vec<String>> {
        let each = self.inner.remarks.iter();
        let text = |remark| serde_json::to_string(remark);
        each.map(|remark| text(remark).map_err(|error| PyValueError::new_err(error.to_string())))
            .collect()
    }
    /// The same where it is for people only, in plain words: no rule reads them.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }
    /// What bound the rate, or None where the backend cannot know.
    fn limit(&self) -> Option<Limit> {
        self.inner.limit().map(Limit::from)
    }
}
