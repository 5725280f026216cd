//! Starting jobs: on real targets through the engine, on twins in virtual time.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use pyo3::prelude::*;

use crate::{
    error::{failed, refuse},
    handle::Handle,
    job::Job,
};

/// Returns where the first 512 bytes begin that are neither blank nor written by the engine; None when there are none.
#[pyfunction]
pub fn first_foreign(data: &[u8]) -> Option<usize> {
    engine::first_foreign(data)
}

/// A real target of the engine.
#[pyclass(frozen, module = "fathom._core")]
pub struct EngineTarget {
    spec: engine::TargetSpec,
}

#[pymethods]
impl EngineTarget {
    /// `kind`: `file`, `files`, `device`, `nvme-generic`, `null` or `nop`. `held`: device and inode of what was checked.
    #[new]
    #[pyo3(signature = (path, kind, capacity_bytes, held = None))]
    fn new(
        path: PathBuf,
        kind: &str,
        capacity_bytes: u64,
        held: Option<(u64, u64)>,
    ) -> PyResult<Self> {
        let kind = match kind {
            "file" => engine::TargetKind::File,
            "files" => engine::TargetKind::FileSet,
            "device" => engine::TargetKind::BlockDevice,
            "nvme-generic" => engine::TargetKind::NvmeGeneric,
            "null" => engine::TargetKind::Null,
            "nop" => engine::TargetKind::Nop,
            other => return Err(refuse(format!("unknown kind of target {other:?}"))),
        };
        Ok(Self {
            spec: engine::TargetSpec {
                path,
                kind,
                capacity_bytes,
                held: held.map(|(device, inode)| engine::FileId { device, inode }),
            },
        })
    }
}

/// Starts a job on real targets, all at once: now, or at a time of the system's clock. `pin` gives each load thread a
/// core of its own; it is for a process that has the cores to itself. `sqpoll` lets a thread of the kernel submit for
/// each. `is_stopped` is asked while the threads are set up: a job that is stopped then does no I/O.
#[pyfunction]
#[pyo3(signature = (
    job, targets, seed, backend = "auto", start_at_unix_ns = None, pin = true, sqpoll = false, is_stopped = None
))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python names them, and all but three have defaults"
)]
pub fn start_engine(
    py: Python<'_>,
    job: &Job,
    targets: Vec<Py<EngineTarget>>,
    seed: u64,
    backend: &str,
    start_at_unix_ns: Option<u64>,
    pin: bool,
    sqpoll: bool,
    is_stopped: Option<Py<PyAny>>,
) -> PyResult<Handle> {
    let job = job.inner();
    let backend = match backend {
        "auto" => engine::Backend::Auto,
        "io_uring" => engine::Backend::IoUring,
        "threads" => engine::Backend::Threads,
        other => return Err(refuse(format!("unknown backend {other:?}"))),
    };
    let specs: Vec<_> = targets
        .iter()
        .map(|target| target.get().spec.clone())
        .collect();
    let options = engine::Options {
        seed,
        backend,
        pin,
        sqpoll,
        start_at: start_at_unix_ns.map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)),
        ..engine::Options::default()
    };
    let mut signalled = Ok(false);
    let asked = || {
        signalled = Python::attach(|py| {
            py.check_signals()?;
            let asked = is_stopped.as_ref().map(|one| one.bind(py).call0());
            asked.map_or(Ok(false), |said| said?.is_truthy())
        });
        !matches!(signalled, Ok(false))
    };
    let handle = py
        .detach(|| load::start_engine(&job, &specs, &options, asked))
        .map_err(failed)?;
    signalled?;
    Ok(Handle(handle))
}

/// Looks for every write that the journals in a directory say was acknowledged; a JSON document.
#[pyfunction]
#[pyo3(signature = (directory, target = None))]
pub fn verify_journal(
    py: Python<'_>,
    directory: PathBuf,
    target: Option<PathBuf>,
) -> PyResult<String> {
    let report = py
        .detach(|| engine::verify_journal(&directory, target.as_deref()))
        .map_err(refuse)?;
    serde_json::to_string(&report).map_err(refuse)
}

/// Returns the parameters of an SSD together with those that they leave to the model, as the model takes them; a JSON
/// document.
#[pyfunction]
pub fn ssd_parameters(parameters_json: &str) -> PyResult<String> {
    let parameters = load::ssd_parameters(parameters_json).map_err(refuse)?;
    serde_json::to_string(&parameters).map_err(refuse)
}

/// A virtual device: a drive, or a file system over one. Its state (mapping, wear, page cache, virtual
/// clock) lasts from job to job.
#[pyclass(frozen, module = "fathom._core")]
pub struct TwinDevice(load::TwinDevice);

#[pymethods]
impl TwinDevice {
    /// A fresh drive from its parameters (JSON of plain values; `kind` names the model), with a file
    /// system of that name on it.
    #[new]
    #[pyo3(signature = (parameters_json, seed, file_system = None))]
    fn new(
        py: Python<'_>,
        parameters_json: &str,
        seed: u64,
        file_system: Option<&str>,
    ) -> PyResult<Self> {
        let device = py.detach(|| load::TwinDevice::new(parameters_json, seed, file_system));
        device.map(Self).map_err(refuse)
    }

    /// A device of its own in the state of this one. Waits for a job that runs on it.
    fn copied(&self, py: Python<'_>) -> Self {
        Self(py.detach(|| self.0.copied()))
    }

    /// Passes when the device does a job, as far as that does not depend on what was written before. Waits for a job that
    /// runs on it.
    fn check(&self, py: Python<'_>, job: &Job) -> PyResult<()> {
        let job = job.inner();
        py.detach(|| self.0.check(&job)).map_err(refuse)
    }

    /// Bytes that jobs address: the simulated slice.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.0.capacity_bytes()
    }

    /// Returns simulated capacity / real capacity.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// Bytes that the page cache takes before writers wait for the drive; 0 without a file system.
    #[getter]
    fn dirty_limit_bytes(&self) -> u64 {
        self.0.dirty_limit_bytes()
    }
}

/// When a twin's windows, or the rounds of a precondition, may end before their time.
#[pyclass(frozen, from_py_object, module = "fathom._core")]
#[derive(Clone)]
pub struct Precision(twin::Precision);

#[pymethods]
impl Precision {
    /// `half_width`: half the 95 % interval of the rate, as a fraction of it. `least_count`: fewest
    /// I/O of a window. `least_written_bytes` and `most_written_bytes`: of one that writes. All of the
    /// twins together.
    #[new]
    fn new(
        half_width: f64,
        least_count: u64,
        least_written_bytes: u64,
        most_written_bytes: u64,
    ) -> Self {
        Self(twin::Precision {
            half_width,
            least_count,
            least_written_bytes,
            most_written_bytes,
            round_ns: None,
        })
    }
}

/// Starts a job on twins, all at once, each in its own virtual time and with requests of its own
/// seed. With `hold_every_ns` each waits after each such time (a round) for `Handle.proceed` or `Handle.stop`.
/// With a `precision` their windows, or rounds, end together, as soon as their sum is known so well. With `log`,
/// `Handle.take_log` has every I/O.
#[pyfunction]
#[pyo3(signature = (job, devices, seeds, hold_every_ns = None, precision = None, log = false))]
pub fn start_twins(
    job: &Job,
    devices: Vec<Py<TwinDevice>>,
    seeds: Vec<u64>,
    hold_every_ns: Option<u64>,
    precision: Option<Precision>,
    log: bool,
) -> PyResult<Handle> {
    let job = job.inner();
    let devices: Vec<_> = devices
        .iter()
        .map(|device| device.get().0.clone())
        .collect();
    let precision = precision.map(|Precision(rule)| rule);
    load::start_twins(&job, &devices, &seeds, hold_every_ns, precision, log)
        .map(Handle)
        .map_err(failed)
}
