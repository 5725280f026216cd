//! A virtual device and the jobs that it is asked to run, one after another.

use recording::Recording;
use serde::Deserialize;
use serde_json::json;
use twin::{ParamError, TwinError};
use workload::Job;

use crate::{
    figures::Figures,
    played::{Parameters, Played},
};

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is no JSON of the expected form.
    #[error("request: {0}")]
    Request(#[from] serde_json::Error),
    /// Its seed is no number of 64 bits.
    #[error("seed: {0}")]
    Seed(#[from] std::num::ParseIntError),
    /// Nothing has these parameters.
    #[error(transparent)]
    Parameters(#[from] ParamError),
    /// The device cannot run the job.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// There is no device yet.
    #[error("make a drive or a system first")]
    NoDevice,
}

impl SessionError {
    /// Returns the answer that says so.
    pub fn to_json(&self) -> Vec<u8> {
        json!({ "error": self.to_string() })
            .to_string()
            .into_bytes()
    }
}

/// A seed is text: numbers of JavaScript have 53 bits.
#[derive(Deserialize)]
struct Make {
    parameters: Parameters,
    seed: String,
}

#[derive(Deserialize)]
struct Run {
    job: Job,
    seed: String,
    /// Hosts that each have the job's threads.
    #[serde(default = "one")]
    hosts: u32,
}

const fn one() -> u32 {
    1
}

/// The device at hand, and what its last job came to.
#[derive(Default)]
pub struct Session {
    device: Option<Played>,
    last: Recording,
}

impl Session {
    /// Makes a fresh device from `{"parameters": {"kind": "ssd", ...}, "seed": "1"}`; the kind is `ssd` or `system`.
    /// Returns `{"capacity_bytes": N, "scale": S}`.
    ///
    /// # Errors
    /// Parameters that nothing has; the device before stays.
    pub fn make(&mut self, request: &[u8]) -> Result<Vec<u8>, SessionError> {
        let Make { parameters, seed } = serde_json::from_slice(request)?;
        let device = Played::new(&parameters, seed.parse()?)?;
        let answer = json!({ "capacity_bytes": device.capacity_bytes(), "scale": device.scale() });
        self.device = Some(device);
        Ok(serde_json::to_vec(&answer)?)
    }

    /// Runs the job, in normal form, of `{"job": {...}, "seed": "1", "hosts": 4}` to its end. Each of the
    /// hosts has its threads; `hosts` is 1 where it is missing. Returns its [`Figures`].
    ///
    /// # Errors
    /// There is no device, or it cannot run the job.
    pub fn run(&mut self, request: &[u8]) -> Result<Vec<u8>, SessionError> {
        let Run { job, seed, hosts } = serde_json::from_slice(request)?;
        let device = self.device.as_mut().ok_or(SessionError::NoDevice)?;
        let job = if hosts > 1 { job.on_hosts(hosts) } else { job };
        self.last = device.run(&job, seed.parse()?)?;
        Ok(serde_json::to_vec(&Figures::of(&self.last))?)
    }

    /// Returns the whole recording of the last job.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn recording(&self) -> Result<Vec<u8>, SessionError> {
        Ok(serde_json::to_vec(&self.last)?)
    }
}

#[cfg(test)]
mod tests;
