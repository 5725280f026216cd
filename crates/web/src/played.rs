//! What a page can play with: the models of crate `twin` that it may hold, behind one face.

use recording::Recording;
use serde::Deserialize;
use twin::{Control, Device, ParamError, Ssd, SsdParams, System, SystemParams, TwinError};
use workload::Job;

/// Parameters of a device; `kind` names its model, as for the extension.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Parameters {
    /// A single SSD.
    Ssd(Box<SsdParams>),
    /// Drives behind a fabric or in servers.
    System(Box<SystemParams>),
}

/// A virtual device. Its state lasts from job to job.
pub enum Played {
    /// A single SSD.
    Ssd(Box<Ssd>),
    /// A system.
    System(Box<System>),
}

impl Played {
    /// Returns a fresh device.
    ///
    /// # Errors
    /// The model cannot have these parameters.
    pub fn new(parameters: &Parameters, seed: u64) -> Result<Self, ParamError> {
        Ok(match parameters {
            Parameters::Ssd(parameters) => Self::Ssd(Box::new(Ssd::new(parameters, seed)?)),
            Parameters::System(parameters) => {
                parameters.check()?;
                Self::System(Box::new(System::new(parameters, seed)?))
            }
        })
    }

    /// Bytes that jobs address.
    pub fn capacity_bytes(&self) -> u64 {
        match self {
            Self::Ssd(ssd) => ssd.capacity_bytes(),
            Self::System(system) => system.capacity_bytes(),
        }
    }

    /// Returns simulated capacity / real capacity.
    pub fn scale(&self) -> f64 {
        match self {
            Self::Ssd(ssd) => ssd.scale(),
            Self::System(system) => system.scale(),
        }
    }

    /// Runs a job to its end.
    ///
    /// # Errors
    /// The device cannot run it.
    pub fn run(&mut self, job: &Job, seed: u64) -> Result<Recording, TwinError> {
        match self {
            Self::Ssd(ssd) => twin::run(job, ssd.as_mut(), seed, &Control::default(), |_| {}),
            Self::System(system) => {
                twin::run(job, system.as_mut(), seed, &Control::default(), |_| {})
            }
        }
    }
}
