//! One second of a step.

use std::collections::BTreeMap;

use pyo3::prelude::*;

use super::latency::{OpResult, op_results, stream_results};
use super::resources::{
    ShareRow, Utilisation, counter_map, residence_us, share_rows, utilisation_rows,
};
use super::wire::{cannot_be_counts, from_bytes, nothing_to_merge, to_bytes};

/// One second of a step on one target.
#[pyclass(frozen, module = "fathom._core")]
pub struct Interval {
    target: usize,
    inner: recording::Interval,
}

impl Interval {
    /// An interval of the target with that index.
    pub fn new(target: usize, inner: recording::Interval) -> Self {
        Self { target, inner }
    }

    /// The interval for a recording to add.
    pub fn inner(&self) -> &recording::Interval {
        &self.inner
    }
}

#[pymethods]
impl Interval {
    /// The same second of several targets or hosts as one, by addition, as an interval of `target`.
    #[staticmethod]
    fn merged(parts: Vec<Py<Interval>>, target: usize) -> PyResult<Self> {
        let inner = parts.iter().map(|part| &part.get().inner);
        let mut inner = inner.cloned();
        let mut sum = inner.next().ok_or_else(nothing_to_merge)?;
        inner.for_each(|part| sum.merge(&part));
        Ok(Self::new(target, sum))
    }

    /// The interval for the wire; `from_bytes` reads it.
    fn to_bytes(&self) -> PyResult<Vec<u8>> {
        to_bytes(&self.inner)
    }

    /// An interval of `target` from the wire.
    #[staticmethod]
    fn from_bytes(bytes: &[u8], target: usize) -> PyResult<Self> {
        let inner = from_bytes::<recording::Interval>(bytes)?;
        if !inner.is_sound() {
            return Err(cannot_be_counts());
        }
        Ok(Self::new(target, inner))
    }

    #[getter]
    fn target(&self) -> usize {
        self.target
    }
    #[getter]
    fn index(&self) -> u32 {
        self.inner.index
    }
    #[getter]
    fn start_s(&self) -> f64 {
        self.inner.start_ns as f64 / 1e9
    }
    #[getter]
    fn length_s(&self) -> f64 {
        self.inner.length_ns as f64 / 1e9
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
        op_results(&self.inner.ops, None)
    }
    /// As of a recording.
    #[getter]
    fn streams(&self) -> BTreeMap<String, Vec<OpResult>> {
        stream_results(&self.inner.streams, &BTreeMap::new())
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
    /// What each host, port or drive of a system had: (group, member, n, mean latency in us).
    #[getter]
    fn shares(&self) -> Vec<ShareRow> {
        share_rows(&self.inner.shares)
    }
    /// Whether a round ended with it before its time.
    #[getter]
    fn ends_round(&self) -> bool {
        self.inner.ends_round
    }
}
