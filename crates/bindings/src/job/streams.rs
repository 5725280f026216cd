//! The streams of a job: workloads side by side, each a job itself.

use std::collections::BTreeMap;

use pyo3::{prelude::*, types::PyDict};
use workload::Stream;

use super::Job;

#[pymethods]
impl Job {
    #[getter]
    fn streams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let streams = PyDict::new(py);
        for stream in &self.job.streams {
            streams.set_item(&stream.name, Job::of(stream.job.clone())?)?;
        }
        Ok(streams)
    }

    #[getter]
    fn stream_targets(&self) -> BTreeMap<String, Vec<u32>> {
        let named = self
            .job
            .streams
            .iter()
            .filter(|stream| !stream.targets.is_empty());
        named
            .map(|stream| (stream.name.clone(), stream.targets.clone()))
            .collect()
    }

    #[getter]
    fn stream_flows(&self) -> BTreeMap<String, (u32, u64)> {
        let flow = |stream: &Stream| {
            let flow = stream.flow?;
            Some((stream.name.clone(), (flow.weight, flow.pause_ns)))
        };
        self.job.streams.iter().filter_map(flow).collect()
    }

    #[getter]
    fn has_exitall(&self) -> bool {
        self.job.has_exitall()
    }
}
