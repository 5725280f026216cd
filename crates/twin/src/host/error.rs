//! Why a job cannot be run, or not to its end.

use workload::{Op, StreamError};

/// A job that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TwinError {
    /// The job does not fit the device.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A job without an end.
    #[error(
        "the job says neither how long nor how much: set time, bytes, region_multiple or count"
    )]
    Endless,
    /// What a drive makes of a write that waits until it is safe is not known of any twin.
    #[error(
        "sync makes each write wait until it is safe, and twins do not know how long their drives take for that: leave it out, or put flushes behind writes by flush_every = 1"
    )]
    Sync,
    /// No twin has the kernel's I/O scheduler.
    #[error("priority is for the kernel's I/O scheduler, which twins do not have: leave it out")]
    Priority,
    /// A twin is no file.
    #[error("allocate reserves room in a file, and twins have none: leave it out")]
    Allocate,
    /// Nothing keeps write pointers here.
    #[error(
        "the pattern zones needs a host-managed zoned device, which this twin is not: use sequential or uniform"
    )]
    NoZones,
    /// More failed I/O than the job puts up with.
    #[error(
        "{failed} I/O failed, and the job asks to stop then; the last: {} of {size_bytes} bytes at {offset_bytes} (errno {errno})",
        op.name()
    )]
    TooManyErrors {
        /// How many.
        failed: u64,
        /// The last of them.
        op: Op,
        /// Its first byte.
        offset_bytes: u64,
        /// Its length.
        size_bytes: u32,
        /// How it failed.
        errno: i32,
    },
    /// Writes anywhere on a device that takes them in order only.
    #[error(
        "writes at random places, and this host-managed zoned device takes them at the write pointers of its zones only: use pattern {{ zones = N }}, append{}",
        match conventional_bytes {
            0 => String::new(),
            bytes => format!(", or a region within its conventional zones (the first {bytes} bytes)"),
        }
    )]
    OutOfOrder {
        /// Bytes, from the start, that may be written anywhere.
        conventional_bytes: u64,
    },
    /// The pattern `zones` asks for what the device does not have.
    #[error("zones: {0}")]
    Zones(String),
    /// The device will never answer: a defect of the model.
    #[error(
        "the simulated device stopped answering at {now_ns} ns with {in_flight} I/O in flight: please report the device and the job"
    )]
    Stalled {
        /// Virtual time.
        now_ns: u64,
        /// Requests not answered.
        in_flight: u32,
    },
    /// Too much at once.
    #[error("{threads} threads x iodepth {iodepth} is more than {max} I/O in flight")]
    TooDeep {
        /// As asked.
        threads: u32,
        /// As asked.
        iodepth: u32,
        /// What a run can hold.
        max: u32,
    },
}
