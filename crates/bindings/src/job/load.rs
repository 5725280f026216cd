//! How hard a job loads its target, and when it ends.

use pyo3::prelude::*;
use workload::{Load, Split};

use super::Job;

#[pymethods]
impl Job {
    #[getter]
    fn threads(&self) -> u32 {
        self.job.load.threads()
    }

    #[getter]
    fn iodepth(&self) -> u32 {
        self.job.load.iodepth()
    }

    #[getter]
    fn rate_iops(&self) -> Option<f64> {
        match self.job.load {
            Load::Open { rate_iops, .. } => Some(rate_iops),
            Load::Closed { .. } => None,
        }
    }

    #[getter]
    fn arrival(&self) -> Option<&'static str> {
        match self.job.load {
            Load::Open { arrival, .. } => Some(arrival.name()),
            Load::Closed { .. } => None,
        }
    }

    #[getter]
    fn rate_changes(&self) -> bool {
        !self.job.pace.rates.is_empty()
    }

    #[getter]
    fn think_ns(&self) -> u64 {
        self.job.pace.think_ns
    }

    #[getter]
    fn thinks(&self) -> bool {
        self.job.pace.think_ns > 0 || self.job.pattern.waits()
    }

    #[getter]
    fn reap(&self) -> u32 {
        self.job.pace.reap
    }

    #[pyo3(signature = (hosts = false))]
    fn is_split(&self, hosts: bool) -> bool {
        match self.job.pace.split {
            Split::Each => false,
            Split::Drives => !hosts,
            Split::Even | Split::Shares(_) => true,
        }
    }

    #[getter]
    fn uneven(&self) -> bool {
        matches!(self.job.pace.split, Split::Shares(_))
    }

    #[getter]
    fn errors_most(&self) -> Option<u64> {
        self.job.errors.most
    }

    #[getter]
    fn time_ns(&self) -> Option<u64> {
        self.job.until.time_ns
    }

    #[getter]
    fn time_s(&self) -> Option<f64> {
        self.job.until.time_ns.map(|ns| ns as f64 / 1e9)
    }

    #[getter]
    fn bytes(&self) -> Option<u64> {
        self.job.until.bytes
    }

    #[getter]
    fn region_multiple(&self) -> Option<f64> {
        self.job.until.region_multiple
    }

    #[getter]
    fn count(&self) -> Option<u64> {
        self.job.until.count
    }

    #[getter]
    fn ends_by_time(&self) -> bool {
        self.job.ends_by_time()
    }
}
