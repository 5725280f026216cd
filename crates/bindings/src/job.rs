//! The job as a Python class: what methods, sessions and reports read of it, and the jobs made from it.

mod files;
mod parts;

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use workload::{
    Arrival, Geometry, Load, OperationPositions, Priority, PriorityShare, Split, ThreadPositions,
    Until,
};

pub use self::{
    files::FileSet,
    parts::{Extent, JobOp, Pattern},
};
use crate::parse::{job_from_text, refuse, to_json};

/// A share of the I/O; its operation and block size, `None` for all; its class and level; its command duration limit.
type PriorityShareFacts = (
    f64,
    (Option<&'static str>, Option<u32>),
    (&'static str, u8),
    u8,
);

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

fn arrival_of(name: &str) -> PyResult<Arrival> {
    let mut all = Arrival::ALL.into_iter();
    all.find(|arrival| arrival.name() == name).ok_or_else(|| {
        refuse(format!(
            "unknown arrival {name:?}: expected exponential, uniform, deterministic or recorded"
        ))
    })
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

    #[getter]
    fn ops(&self) -> Vec<JobOp> {
        let ops = self.job.mix.ops.iter().map(|block| JobOp {
            op: block.op.name(),
            weight: block.weight,
            sizes: block
                .sizes
                .iter()
                .map(|share| (share.size_bytes, share.weight))
                .collect(),
            align_bytes: block.align_bytes,
        });
        ops.collect()
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let weights = PyDict::new(py);
        for block in &self.job.mix.ops {
            weights.set_item(block.op.name(), block.weight)?;
        }
        Ok(weights)
    }

    #[getter]
    fn block_sizes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let sizes = PyDict::new(py);
        for block in &self.job.mix.ops {
            let own = block.sizes.iter().map(|share| share.size_bytes);
            let own: Vec<u32> = own.collect();
            sizes.set_item(block.op.name(), PyTuple::new(py, own)?)?;
        }
        Ok(sizes)
    }

    fn block_bytes(&self, op: &str) -> Option<u32> {
        let mut ops = self.job.mix.ops.iter();
        match ops.find(|block| block.op.name() == op)?.sizes[..] {
            [share] => Some(share.size_bytes),
            _ => None,
        }
    }

    #[getter]
    fn largest_block_bytes(&self) -> u32 {
        self.job.largest_block_bytes()
    }

    #[getter]
    fn read_pct(&self) -> Option<f64> {
        let ops = &self.job.mix.ops;
        let all: f64 = ops.iter().map(|block| block.weight).sum();
        let reads = ops.iter().find(|block| block.op == workload::Op::Read);
        let share = 100.0 * reads.map_or(0.0, |block| block.weight) / all;
        self.job.streams.is_empty().then_some(share)
    }

    #[getter]
    fn destructive(&self) -> bool {
        self.job.is_destructive()
    }

    #[getter]
    fn writes(&self) -> bool {
        self.job.writes()
    }

    #[getter]
    fn flush_every(&self) -> u32 {
        self.job.flush_every
    }

    #[getter]
    fn pattern(&self) -> Pattern {
        Pattern::from(&self.job.pattern)
    }

    #[getter]
    fn thread_positions(&self) -> &'static str {
        match self.job.position.threads {
            ThreadPositions::Part => "part",
            ThreadPositions::Start => "start",
            ThreadPositions::Shared => "shared",
        }
    }

    #[getter]
    fn operation_positions(&self) -> Option<&'static str> {
        self.job
            .position
            .operations
            .map(|positions| match positions {
                OperationPositions::Together => "together",
                OperationPositions::Apart => "apart",
            })
    }

    #[getter]
    fn region_start(&self) -> Extent {
        Extent(self.job.region.start)
    }

    #[getter]
    fn region_size(&self) -> Extent {
        Extent(self.job.region.size)
    }

    #[pyo3(signature = (capacity_bytes, block_bytes = 512))]
    fn region_on(&self, capacity_bytes: u64, block_bytes: u32) -> (u64, u64) {
        let span = self.job.region.nominal(Geometry {
            capacity_bytes,
            block_bytes,
        });
        (span.start_bytes, span.size_bytes)
    }

    #[getter]
    fn files(&self) -> Option<FileSet> {
        self.job.files.clone().map(FileSet)
    }

    #[getter]
    fn align_bytes(&self) -> Option<u64> {
        self.job.align_bytes
    }

    #[getter]
    fn compressible(&self) -> f64 {
        self.job.content.compressible
    }

    #[getter]
    fn dedup(&self) -> f64 {
        self.job.content.dedup
    }

    #[getter]
    fn write_pattern(&self) -> Option<String> {
        self.job.content.pattern.map(String::from)
    }

    #[getter]
    fn priority(&self) -> Option<(&'static str, u8)> {
        let priority = self.job.priority?;
        Some((priority.class.name(), priority.level))
    }

    #[getter]
    fn priority_shares(&self) -> Vec<PriorityShareFacts> {
        let facts = |one: &PriorityShare| {
            let op = one.op.map(|op| op.name());
            let of = (op, one.block_bytes);
            let Priority { class, level } = one.priority;
            (one.share, of, (class.name(), level), one.duration_limit)
        };
        self.job.priority_shares.iter().map(facts).collect()
    }

    #[getter]
    fn verifies(&self) -> bool {
        self.job.content.verify.is_some()
    }

    #[getter]
    fn placement(&self) -> Vec<u16> {
        self.job.placement.clone()
    }

    #[getter]
    fn direct(&self) -> bool {
        self.job.direct
    }

    #[getter]
    fn sync(&self) -> Option<&'static str> {
        self.job.sync.name()
    }

    #[getter]
    fn sqpoll(&self) -> bool {
        self.job.sqpoll
    }

    #[getter]
    fn huge_pages(&self) -> bool {
        self.job.huge_pages
    }

    #[getter]
    fn gpu(&self) -> bool {
        self.job.gpu
    }

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
    fn journal(&self) -> Option<&str> {
        self.job.journal.as_deref()
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

    #[getter]
    fn streams<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let streams = PyDict::new(py);
        for stream in &self.job.streams {
            streams.set_item(&stream.name, Job::of(stream.job.clone())?)?;
        }
        Ok(streams)
    }

    #[getter]
    fn stream_targets(&self) -> std::collections::BTreeMap<String, Vec<u32>> {
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
    fn stream_flows(&self) -> std::collections::BTreeMap<String, (u32, u64)> {
        let flow = |stream: &workload::Stream| {
            let flow = stream.flow?;
            Some((stream.name.clone(), (flow.weight, flow.pause_ns)))
        };
        self.job.streams.iter().filter_map(flow).collect()
    }

    #[getter]
    fn has_exitall(&self) -> bool {
        self.job.has_exitall()
    }

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
