//! A drive and the jobs that it is asked to run, one after another.

use recording::Recording;
use serde::Deserialize;
use serde_json::json;
use twin::{Control, Device, ParamError, Ssd, SsdParams, TwinError};
use workload::Job;

use crate::figures::Figures;

/// Why a request was refused.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// It is no JSON of the expected form.
    #[error("request: {0}")]
    Request(#[from] serde_json::Error),
    /// Its seed is no number of 64 bits.
    #[error("seed: {0}")]
    Seed(#[from] std::num::ParseIntError),
    /// No drive has these parameters.
    #[error(transparent)]
    Parameters(#[from] ParamError),
    /// The drive cannot run the job.
    #[error(transparent)]
    Twin(#[from] TwinError),
    /// There is no drive yet.
    #[error("make a drive first")]
    NoDrive,
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
    parameters: SsdParams,
    seed: String,
}

#[derive(Deserialize)]
struct Run {
    job: Job,
    seed: String,
}

/// The drive at hand, and what its last job came to.
#[derive(Default)]
pub struct Session {
    drive: Option<Ssd>,
    last: Recording,
}

impl Session {
    /// Makes a fresh SSD from `{"parameters": {...}, "seed": "1"}`. Returns `{"capacity_bytes": N, "scale": S}`.
    ///
    /// # Errors
    /// Parameters that make no drive; the drive before stays.
    pub fn make(&mut self, request: &[u8]) -> Result<Vec<u8>, SessionError> {
        let Make { parameters, seed } = serde_json::from_slice(request)?;
        let drive = Ssd::new(&parameters, seed.parse()?)?;
        let answer = json!({ "capacity_bytes": drive.capacity_bytes(), "scale": drive.scale() });
        self.drive = Some(drive);
        Ok(serde_json::to_vec(&answer)?)
    }

    /// Runs the job, in normal form, of `{"job": {...}, "seed": "1"}` to its end. Returns its [`Figures`].
    ///
    /// # Errors
    /// There is no drive, or it cannot run the job.
    pub fn run(&mut self, request: &[u8]) -> Result<Vec<u8>, SessionError> {
        let Run { job, seed } = serde_json::from_slice(request)?;
        let drive = self.drive.as_mut().ok_or(SessionError::NoDrive)?;
        self.last = twin::run(&job, drive, seed.parse()?, &Control::default(), |_| {})?;
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
