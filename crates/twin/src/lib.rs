//! Issues a job to a virtual device, in virtual time.
//!
//! The function [`run`] drives any [`Device`] with the requests that the engine would issue to a real one, and records
//! the same things. An [`Ssd`] is a drive made of host, link, controller, write buffer, page map, channels and dies.
//! Each is a queue with a server; throughput and latency come out and are never put in. A [`Disk`] is a drive of one
//! arm over turning platters, behind a command queue and a cache. See `docs/explanation/ssd-twin.md` and
//! `disk-twin.md`.
//!
//! Everything is deterministic: one thread, integer time, no clock, randomness only from the seed.

mod device;
mod disk;
mod fs;
mod host;
mod sim;
mod ssd;
mod system;
#[cfg(test)]
mod tests;

pub use device::params::{HostParams, ParamError};
pub use device::{Account, Completion, CompletionKind, Device};
pub use disk::{Disk, DiskParams};
pub use fs::{FileSystem, FsParams};
pub use host::meter::HOST_CPU;
pub use host::precision::{Precision, StoppingRule};
pub use host::{Control, Issued, TwinError, check, run, run_until_precise};
pub use ssd::Ssd;
pub use ssd::params::SsdParams;
pub use system::{System, SystemParams};
