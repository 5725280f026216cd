//! Virtual devices from their parameters: a drive, a drive under a file system, or a system.

use std::sync::{Arc, Mutex, PoisonError};

use recording::{Interval, Recording};
use serde_json::{Map, Value};
use twin::Device;
use workload::Job;

use crate::LoadError;

/// A virtual device. Its state (mapping, wear, page cache, virtual clock) lasts from job to job. Clones share it.
#[derive(Clone)]
pub struct TwinDevice {
    device: Arc<Mutex<dyn RunsJobs>>,
    capacity_bytes: u64,
    scale: f64,
    dirty_limit_bytes: u64,
    copy: Arc<dyn Fn() -> TwinDevice + Send + Sync>,
}

impl TwinDevice {
    /// Makes a fresh device from its parameters: JSON of plain values, in which `kind` names the model (`ssd` where it
    /// is missing). A drive gets the named file system.
    ///
    /// # Errors
    /// The model does not exist, cannot have these parameters, or cannot have the file system.
    pub fn new(
        parameters_json: &str,
        seed: u64,
        file_system: Option<&str>,
    ) -> Result<Self, LoadError> {
        let (kind, text) = kind_and_parameters(parameters_json)?;
        match kind.as_ref().map_or(Some("ssd"), Value::as_str) {
            Some("ssd") => {
                let ssd = twin::Ssd::new(&twin::SsdParams::from_json(&text)?, seed)?;
                Self::under(ssd, file_system, false)
            }
            Some("disk") => {
                let disk = twin::Disk::new(&twin::DiskParams::from_json(&text)?)?;
                Self::under(disk, file_system, true)
            }
            Some("system") if file_system.is_some() => Err(LoadError::LayeredSystem),
            Some("system") => {
                let parameters = twin::SystemParams::from_json(&text)?;
                Ok(Self::of(twin::System::new(&parameters, seed)?, 0))
            }
            _ => Err(LoadError::UnknownKind(kind.unwrap_or_default())),
        }
    }

    /// Bytes that jobs address: the simulated slice.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Returns simulated capacity / real capacity.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Bytes that the page cache takes before writers wait for the drive; 0 without a file system.
    pub fn dirty_limit_bytes(&self) -> u64 {
        self.dirty_limit_bytes
    }

    /// Returns a device of its own in the state of this one. Waits for a job that runs on it.
    pub fn copied(&self) -> Self {
        (self.copy)()
    }

    /// Checks whether the device does a job, as far as that does not depend on what was written before. Waits for a job
    /// that runs on it.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn check(&self, job: &Job) -> Result<(), LoadError> {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(device.check(job)?)
    }

    /// Runs a job to its end; waits for another one that runs on the same device.
    pub(crate) fn run(
        &self,
        job: &Job,
        seed: u64,
        control: &twin::Control,
        stopping: Option<&twin::StoppingRule>,
        on_interval: &mut dyn FnMut(Interval),
    ) -> Result<Recording, twin::TwinError> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.run(job, seed, control, stopping, on_interval)
    }

    /// Returns the drive under a file system, or bare.
    fn under<D: Device + Clone + Send + 'static>(
        drive: D,
        file_system: Option<&str>,
        rotational: bool,
    ) -> Result<Self, LoadError> {
        let Some(name) = file_system else {
            return Ok(Self::of(drive, 0));
        };
        let mut params = twin::FsParams::preset(name, rotational)?;
        if let Some(zones) = drive.zone_model() {
            params = params.on_zones(&zones)?;
        }
        let layered = twin::FileSystem::new(drive, &params)?;
        let dirty_limit_bytes = layered.dirty_limit_bytes();
        Ok(Self::of(layered, dirty_limit_bytes))
    }

    fn of<D: Device + Clone + Send + 'static>(device: D, dirty_limit_bytes: u64) -> Self {
        let (capacity_bytes, scale) = (device.capacity_bytes(), device.scale());
        let device = Arc::new(Mutex::new(device));
        let original = Arc::clone(&device);
        let copy = move || {
            let original = original.lock().unwrap_or_else(PoisonError::into_inner);
            Self::of(original.clone(), dirty_limit_bytes)
        };
        Self {
            device,
            capacity_bytes,
            scale,
            dirty_limit_bytes,
            copy: Arc::new(copy),
        }
    }
}

/// Returns the parameters of an SSD with those that they leave to the model.
///
/// # Errors
/// The model cannot have these parameters.
pub fn ssd_parameters(parameters_json: &str) -> Result<twin::SsdParams, LoadError> {
    let (_, text) = kind_and_parameters(parameters_json)?;
    Ok(twin::SsdParams::from_json(&text)?)
}

/// Returns the model that parameters name, and the parameters without it.
fn kind_and_parameters(parameters_json: &str) -> Result<(Option<Value>, String), LoadError> {
    let mut parameters: Map<String, Value> = serde_json::from_str(parameters_json)?;
    let kind = parameters.remove("kind");
    Ok((kind, Value::Object(parameters).to_string()))
}

/// Runs jobs on one kind of virtual device: a dynamic call per job, none per I/O.
trait RunsJobs: Send {
    fn check(&self, job: &Job) -> Result<(), twin::TwinError>;

    fn run(
        &mut self,
        job: &Job,
        seed: u64,
        control: &twin::Control,
        stopping: Option<&twin::StoppingRule>,
        on_interval: &mut dyn FnMut(Interval),
    ) -> Result<Recording, twin::TwinError>;
}

impl<D: Device + Send> RunsJobs for D {
    fn check(&self, job: &Job) -> Result<(), twin::TwinError> {
        twin::check(job, self)
    }

    fn run(
        &mut self,
        job: &Job,
        seed: u64,
        control: &twin::Control,
        stopping: Option<&twin::StoppingRule>,
        on_interval: &mut dyn FnMut(Interval),
    ) -> Result<Recording, twin::TwinError> {
        twin::run_until_precise(job, self, seed, control, stopping, on_interval)
    }
}
