//! Issues a job to a virtual device, in virtual time.
//!
//! [`run`] drives any [`Device`] with the requests that the engine would issue to a real one and
//! records the same things. [`Ssd`] is a drive made of host, link, controller, write buffer, page
//! map, channels and dies: each is a queue with a server, and throughput and latency are what comes
//! out, never what was put in. [`Disk`] is a drive of one arm over turning platters, behind a command
//! queue and a cache. See `docs/explanation/ssd-twin.md` and `disk-twin.md`.
//!
//! Everything is deterministic: one thread, integer time, no clock, randomness only from the seed.

mod adapter;
mod bits;
mod calendar;
mod device;
mod disk;
mod driver;
mod event;
mod flash;
mod fs;
mod ftl;
mod geometry;
mod governor;
mod idle;
mod link;
mod map_flush;
mod meter;
mod page_numbers;
mod params;
mod precision;
mod rest;
mod server;
mod slab;
mod slc;
mod ssd;
mod system;
#[cfg(test)]
mod tests;
mod victim;
mod wear;
mod zoned;
mod zones;

pub use device::{Account, Completion, CompletionKind, Device, Residence, ResourceTime, Share};
pub use disk::{Disk, DiskParams, Scheduling, Tracks};
pub use driver::{Control, TwinError, run, run_until_precise};
pub use fs::{FileSystem, FsParams, Placement};
pub use params::{HostParams, Isolation, ParamError, SenseTime, SsdParams, VictimPolicy};
pub use precision::{Judge, Precision};
pub use ssd::Ssd;
pub use system::{Between, ClusterParams, DriveParams, FabricParams, System, SystemParams};
pub use wear::EraseCounts;
pub use zoned::{Condition, Refusal, ZoneAction, ZoneInfo, ZoneModel};
