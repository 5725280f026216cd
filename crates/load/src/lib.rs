//! Runs a job on targets, real or virtual, behind one [`Handle`].
//!
//! [`start_engine`] loads files and devices in real time, [`start_twins`] loads [`TwinDevice`]s in virtual time. Whoever
//! holds the handle polls intervals, decides whether to go on, and takes the recordings at the end. Nothing here knows
//! Python, sessions, or whether a target may be overwritten.

mod device;
mod error;
mod handle;
mod real;
mod relay;
mod twins;

pub use device::{TwinDevice, ssd_parameters};
pub use error::LoadError;
pub use handle::{Handle, JobProgress};
pub use real::start_engine;
pub use twins::start_twins;
