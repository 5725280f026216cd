//! Jobs made from a job: at another load, for another time, on a part of its place.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use workload::{Arrival, Geometry, Until};

use super::Job;
use crate::parse::refuse;

#[pymethods]
impl Job {
    #[pyo3(signature = (threads = None, iodepth = None))]
    fn with_load(&self, threads: Option<u32>, iodepth: Option<u32>) -> PyResult<Self> {
        let (own, depth) = (self.job.load.threads(), self.job.load.iodepth());
        let loaded = self
            .job
            .with_load(threads.unwrap_or(own), iodepth.unwrap_or(depth));
        Self::changed(&loaded)
    }

    #[pyo3(signature = (rate_iops, arrival, stream = None))]
    fn with_rate(&self, rate_iops: f64, arrival: &str, stream: Option<&str>) -> PyResult<Self> {
        let arrival = arrival_of(arrival)?;
        let job = match stream {
            None => self.job.with_rate(rate_iops, arrival),
            Some(name) => self
                .job
                .with_stream_rate(name, rate_iops, arrival)
                .ok_or_else(|| refuse(format!("the job has no stream {name:?}")))?,
        };
        Self::changed(&job)
    }

    #[pyo3(signature = (time_ns = None, bytes = None, region_multiple = None, count = None))]
    fn with_until(
        &self,
        time_ns: Option<u64>,
        bytes: Option<u64>,
        region_multiple: Option<f64>,
        count: Option<u64>,
    ) -> PyResult<Self> {
        Self::changed(&self.job.with_until(Until {
            time_ns,
            bytes,
            region_multiple,
            count,
        }))
    }

    fn lasting(&self, time_ns: u64) -> PyResult<Self> {
        Self::changed(&self.job.with_until(Until {
            time_ns: Some(time_ns),
            ..self.job.until
        }))
    }

    fn in_region_of(&self, other: &Job) -> PyResult<Self> {
        Self::changed(&self.job.with_region(other.job.region))
    }

    fn in_part(&self, number: u32, of: u32) -> PyResult<Self> {
        Self::changed(&self.job.in_part(number, of))
    }

    fn without_placement(&self) -> PyResult<Self> {
        Self::changed(&self.job.without_placement())
    }

    fn without_reads(&self) -> PyResult<Option<Self>> {
        self.job
            .without_reads()
            .as_ref()
            .map(Self::changed)
            .transpose()
    }

    fn on_threads(&self, most: u32) -> PyResult<Self> {
        Self::changed(&self.job.on_threads(most))
    }

    fn continued(&self, moved_bytes: BTreeMap<String, u64>) -> PyResult<Self> {
        Self::changed(&self.job.continued(&moved_bytes))
    }

    fn on_hosts(&self, hosts: u32) -> PyResult<Self> {
        Self::changed(&self.job.on_hosts(hosts))
    }

    #[pyo3(signature = (parts, hosts = false))]
    fn of_parts(&self, parts: usize, hosts: bool) -> PyResult<Vec<Self>> {
        let jobs = if hosts {
            self.job.of_hosts(parts)
        } else {
            self.job.of_targets(parts)
        };
        let jobs = jobs.map_err(refuse)?;
        jobs.iter().map(Self::changed).collect()
    }

    #[pyo3(signature = (capacity_bytes, dirty_bytes, block_bytes, overwrites))]
    fn ramp(
        &self,
        capacity_bytes: u64,
        dirty_bytes: u64,
        block_bytes: u32,
        overwrites: f64,
    ) -> PyResult<Option<Self>> {
        let geometry = Geometry {
            capacity_bytes,
            block_bytes: 512,
        };
        let ramp = self
            .job
            .ramp(geometry, dirty_bytes, block_bytes, overwrites);
        ramp.as_ref().map(Self::changed).transpose()
    }
}

fn arrival_of(name: &str) -> PyResult<Arrival> {
    let mut all = Arrival::ALL.into_iter();
    all.find(|arrival| arrival.name() == name).ok_or_else(|| {
        refuse(format!(
            "unknown arrival {name:?}: expected exponential, uniform, deterministic or recorded"
        ))
    })
}
