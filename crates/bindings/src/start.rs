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

/// A real target of the engine.
#[pyclass(frozen, module = "fathom._core")]
pub struct EngineTarget {
    spec: engine::TargetSpec,
}

#[pymethods]
impl EngineTarget {
    /// `kind`: `file`, `device`, `nvme-generic` or `null`.
    #[new]
    fn new(path: PathBuf, kind: &str, capacity_bytes: u64) -> PyResult<Self> {
        let kind = match kind {
            "file" => engine::TargetKind::File,
            "device" => engine::TargetKind::BlockDevice,
            "nvme-generic" => engine::TargetKind::NvmeGeneric,
            "null" => engine::TargetKind::Null,
            other => return Err(refuse(format!("unknown kind of target {other:?}"))),
        };
        Ok(Self {
            spec: engine::TargetSpec {
                path,
                kind,
                capacity_bytes,
            },
        })
    }
}

/// Starts a job on real targets, all at once: now, or at a time of the system's clock.
#[pyfunction]
#[pyo3(signature = (job_json, targets, seed, backend = "auto", start_at_unix_ns = None))]
pub fn start_engine(
    py: Python<'_>,
    job_json: &str,
    targets: Vec<Py<EngineTarget>>,
    seed: u64,
    backend: &str,
    start_at_unix_ns: Option<u64>,
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
        start_at: start_at_unix_ns.map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns)),
        ..engine::Options::default()
    };
    py.detach(|| engine::start(&job, &specs, &options))
        .map(Handle::engine)
        .map_err(refuse)
}

/// What a twin is made of; the models are told apart once a job, not once an I/O.
enum Drive {
    Ssd(Box<twin::Ssd>),
    Disk(Box<twin::Disk>),
}

impl Drive {
    /// The model that the parameters' `kind` names; `ssd` where they name none.
    fn new(parameters_json: &str, seed: u64) -> Result<Self, String> {
        let mut parameters: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(parameters_json).map_err(|error| error.to_string())?;
        let kind = parameters.remove("kind");
        let text = serde_json::Value::Object(parameters).to_string();
        let refuse = |error: twin::ParamError| error.to_string();
        match kind.as_ref().map_or(Some("ssd"), |kind| kind.as_str()) {
            Some("ssd") => {
                let parameters = twin::SsdParams::from_json(&text).map_err(refuse)?;
                let ssd = twin::Ssd::new(&parameters, seed).map_err(refuse)?;
                Ok(Self::Ssd(Box::new(ssd)))
            }
            Some("disk") => {
                let parameters = twin::DiskParams::from_json(&text).map_err(refuse)?;
                let disk = twin::Disk::new(&parameters).map_err(refuse)?;
                Ok(Self::Disk(Box::new(disk)))
            }
            _ => Err(format!(
                "no model of kind {}: expected ssd or disk",
                kind.unwrap_or_default()
            )),
        }
    }

    fn capacity_and_scale(&self) -> (u64, f64) {
        match self {
            Self::Ssd(ssd) => (ssd.capacity_bytes(), Device::scale(&**ssd)),
            Self::Disk(disk) => (disk.capacity_bytes(), Device::scale(&**disk)),
        }
    }

    fn run(
        &mut self,
        job: &workload::Job,
        seed: u64,
        control: &twin::Control,
        rule: Option<twin::Precision>,
        deliver: impl FnMut(recording::Interval),
    ) -> Result<recording::Recording, twin::TwinError> {
        match self {
            Self::Ssd(ssd) => {
                twin::run_until_precise(job, &mut **ssd, seed, control, rule, deliver)
            }
            Self::Disk(disk) => {
                twin::run_until_precise(job, &mut **disk, seed, control, rule, deliver)
            }
        }
    }
}

/// A virtual drive. Its state (mapping, wear, caches, virtual clock) lasts from job to job.
#[pyclass(frozen, module = "fathom._core")]
pub struct TwinDevice {
    drive: Arc<Mutex<Drive>>,
    capacity_bytes: u64,
    scale: f64,
}

#[pymethods]
impl TwinDevice {
    /// A fresh drive from its parameters (JSON of plain values; `kind` names the model).
    #[new]
    fn new(py: Python<'_>, parameters_json: &str, seed: u64) -> PyResult<Self> {
        let drive = py
            .detach(|| Drive::new(parameters_json, seed))
            .map_err(refuse)?;
        let (capacity_bytes, scale) = drive.capacity_and_scale();
        Ok(Self {
            drive: Arc::new(Mutex::new(drive)),
            capacity_bytes,
            scale,
        })
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
}

/// When a twin's windows, or the rounds of a precondition, may end before their time.
#[pyclass(frozen, from_py_object, module = "fathom._core")]
#[derive(Clone)]
pub struct Precision(twin::Precision);

#[pymethods]
impl Precision {
    /// `half_width`: half the 95 % interval of the rate, as a fraction of it. `least_count`: fewest
    /// I/O of a window. `least_written_bytes` and `most_written_bytes`: of one that writes.
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
    let drives: Vec<_> = devices
        .iter()
        .map(|device| Arc::clone(&device.get().drive))
        .collect();
    let control = Arc::new(twin::Control::default());
    let stop = {
        let control = Arc::clone(&control);
        Box::new(move || control.stop())
    };
    let rule = precision.map(|Precision(rule)| twin::Precision {
        round_ns: hold_every_ns,
        ..rule
    });
    let twins = Twins::start(drives.len(), hold_every_ns, stop, move |mut side, index| {
        let mut drive = drives[index].lock().unwrap_or_else(PoisonError::into_inner);
        drive
            .run(&job, seeds[index], &control, rule, |interval| {
                side.deliver(interval);
            })
            .map_err(|error| error.to_string())
    });
    Ok(Handle::twins(twins))
}
