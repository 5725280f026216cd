//! Starting jobs: on real targets through the engine, on twins in virtual time.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use pyo3::{create_exception, exceptions::PyException, prelude::*};

use twin::Device;

use crate::{
    handle::{Handle, Twins},
    parse::job_from_text,
};

create_exception!(
    _core,
    BackendError,
    PyException,
    "A job that could not be started or did not end well: one line with what, where and what to do."
);

fn refuse(error: impl std::fmt::Display) -> PyErr {
    BackendError::new_err(error.to_string())
}

/// Where the first 512 bytes begin that are neither blank nor written by the engine; None when there are none.
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
    /// `kind`: `file`, `device`, `nvme-generic`, `null` or `nop`. `held`: device and inode of what was checked.
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
/// core of its own, which is for a process that has the cores to itself; `sqpoll` lets a thread of the kernel submit for each.
#[pyfunction]
#[pyo3(signature = (job_json, targets, seed, backend = "auto", start_at_unix_ns = None, pin = true, sqpoll = false))]
#[expect(
    clippy::too_many_arguments,
    reason = "Python names them, and all but three have defaults"
)]
pub fn start_engine(
    py: Python<'_>,
    job_json: &str,
    targets: Vec<Py<EngineTarget>>,
    seed: u64,
    backend: &str,
    start_at_unix_ns: Option<u64>,
    pin: bool,
    sqpoll: bool,
) -> PyResult<Handle> {
    let job = job_from_text(job_json, "job.json")?;
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
    py.detach(|| engine::start(&job, &specs, &options))
        .map(Handle::engine)
        .map_err(refuse)
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

/// The parameters of an SSD together with those that they leave to the model, as the model takes them; a JSON document.
#[pyfunction]
pub fn ssd_parameters(parameters_json: &str) -> PyResult<String> {
    let (_, text) = kind_and_parameters(parameters_json).map_err(refuse)?;
    let parameters = twin::SsdParams::from_json(&text).map_err(refuse)?;
    serde_json::to_string(&parameters).map_err(refuse)
}

/// The model that parameters name, and the parameters without it.
fn kind_and_parameters(
    parameters_json: &str,
) -> Result<(Option<serde_json::Value>, String), String> {
    let mut parameters: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(parameters_json).map_err(|error| error.to_string())?;
    let kind = parameters.remove("kind");
    Ok((kind, serde_json::Value::Object(parameters).to_string()))
}

/// Runs jobs on one kind of virtual device: a call per job, none per I/O.
trait Runs: Send {
    fn run(
        &mut self,
        job: &workload::Job,
        seed: u64,
        control: &twin::Control,
        stopping: Option<&twin::StoppingRule>,
        on_interval: &mut dyn FnMut(recording::Interval),
    ) -> Result<recording::Recording, twin::TwinError>;
}

impl<D: twin::Device + Send> Runs for D {
    fn run(
        &mut self,
        job: &workload::Job,
        seed: u64,
        control: &twin::Control,
        stopping: Option<&twin::StoppingRule>,
        on_interval: &mut dyn FnMut(recording::Interval),
    ) -> Result<recording::Recording, twin::TwinError> {
        twin::run_until_precise(job, self, seed, control, stopping, on_interval)
    }
}

/// A virtual device: a drive, or a file system over one. Its state (mapping, wear, page cache, virtual
/// clock) lasts from job to job.
#[pyclass(frozen, module = "fathom._core")]
pub struct TwinDevice {
    device: Arc<Mutex<dyn Runs>>,
    capacity_bytes: u64,
    scale: f64,
    dirty_limit_bytes: u64,
}

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
        py.detach(|| Self::make(parameters_json, seed, file_system))
            .map_err(refuse)
    }

    /// Bytes that jobs address: the simulated slice.
    #[getter]
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Simulated capacity / real capacity.
    #[getter]
    fn scale(&self) -> f64 {
        self.scale
    }

    /// Bytes that the page cache takes before writers wait for the drive; 0 without a file system.
    #[getter]
    fn dirty_limit_bytes(&self) -> u64 {
        self.dirty_limit_bytes
    }
}

impl TwinDevice {
    /// The model that the parameters' `kind` names; `ssd` where they name none.
    fn make(parameters_json: &str, seed: u64, file_system: Option<&str>) -> Result<Self, String> {
        let (kind, text) = kind_and_parameters(parameters_json)?;
        let refuse = |error: twin::ParamError| error.to_string();
        match kind.as_ref().map_or(Some("ssd"), |kind| kind.as_str()) {
            Some("ssd") => {
                let parameters = twin::SsdParams::from_json(&text).map_err(refuse)?;
                let ssd = twin::Ssd::new(&parameters, seed).map_err(refuse)?;
                Self::under(ssd, file_system, false)
            }
            Some("disk") => {
                let parameters = twin::DiskParams::from_json(&text).map_err(refuse)?;
                let disk = twin::Disk::new(&parameters).map_err(refuse)?;
                Self::under(disk, file_system, true)
            }
            Some("system") => {
                let parameters = twin::SystemParams::from_json(&text).map_err(refuse)?;
                match file_system {
                    Some(_) => {
                        Err("a system has its own file system, or none: name it bare".into())
                    }
                    None => Ok(Self::of(twin::System::new(&parameters, seed))),
                }
            }
            _ => Err(format!(
                "no model of kind {}: expected ssd, disk or system",
                kind.unwrap_or_default()
            )),
        }
    }

    /// The drive under a file system, or bare.
    fn under<D: Device + Send + 'static>(
        drive: D,
        file_system: Option<&str>,
        rotational: bool,
    ) -> Result<Self, String> {
        let Some(name) = file_system else {
            return Ok(Self::of(drive));
        };
        let params = twin::FsParams::preset(name, rotational);
        let params = match drive.zone_model() {
            Some(zones) => params.and_then(|params| params.on_zones(&zones)),
            None => params,
        };
        let layered = params.and_then(|params| twin::FileSystem::new(drive, &params));
        let layered = layered.map_err(|error| error.to_string())?;
        let dirty_limit_bytes = layered.dirty_limit_bytes();
        Ok(Self {
            dirty_limit_bytes,
            ..Self::of(layered)
        })
    }

    fn of<D: Device + Send + 'static>(device: D) -> Self {
        Self {
            capacity_bytes: device.capacity_bytes(),
            scale: device.scale(),
            dirty_limit_bytes: 0,
            device: Arc::new(Mutex::new(device)),
        }
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
/// With a `precision` their windows, or rounds, end together, as soon as their sum is known so well.
#[pyfunction]
#[pyo3(signature = (job_json, devices, seeds, hold_every_ns = None, precision = None))]
pub fn start_twins(
    job_json: &str,
    devices: Vec<Py<TwinDevice>>,
    seeds: Vec<u64>,
    hold_every_ns: Option<u64>,
    precision: Option<Precision>,
) -> PyResult<Handle> {
    let job = job_from_text(job_json, "job.json")?;
    if seeds.len() != devices.len() {
        return Err(refuse(format!(
            "{} seeds for {} twins",
            seeds.len(),
            devices.len()
        )));
    }
    let jobs = job.of_targets(devices.len()).map_err(refuse)?;
    let drives: Vec<_> = devices
        .iter()
        .map(|device| Arc::clone(&device.get().device))
        .collect();
    let control = Arc::new(twin::Control::default());
    let stop = {
        let control = Arc::clone(&control);
        Arc::new(move || control.stop())
    };
    let stopping = precision.map(|Precision(rule)| {
        let round_ns = hold_every_ns;
        twin::StoppingRule::new(twin::Precision { round_ns, ..rule }, drives.len())
    });
    let twins = Twins::start(drives.len(), hold_every_ns, stop, move |mut side, index| {
        let mut device = drives[index].lock().unwrap_or_else(PoisonError::into_inner);
        device
            .run(
                &jobs[index],
                seeds[index],
                &control,
                stopping.as_ref(),
                &mut |interval| {
                    side.deliver(interval);
                },
            )
            .map_err(|error| error.to_string())
    });
    Ok(Handle::twins(twins))
}
