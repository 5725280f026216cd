//! The deterministic request stream.

use crate::{Job, Op, Request};

/// What a stream must know of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Usable bytes.
    pub capacity_bytes: u64,
    /// Smallest addressable unit (logical block, or the file system's direct-I/O alignment).
    pub block_bytes: u32,
}

/// A job that does not fit a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// The region holds less than one block.
    #[error(
        "region of {region_bytes} bytes is smaller than one block of {block_bytes} bytes: use a larger target or region, or a smaller block"
    )]
    RegionTooSmall {
        /// Bytes in the region on this target.
        region_bytes: u64,
        /// Largest block of the job.
        block_bytes: u32,
    },
    /// A block size is no multiple of the target's block.
    #[error("block size {size_bytes} is not a multiple of the target's {block_bytes}-byte block")]
    Misaligned {
        /// Offending size.
        size_bytes: u32,
        /// The target's block.
        block_bytes: u32,
    },
}

/// Requests of one thread: a pure function of (job, geometry, seed, thread). Infinite; the driver
/// applies [`crate::Until`].
#[derive(Clone, Debug)]
pub struct RequestStream {}

impl RequestStream {
    /// Stream of thread `thread` (0-based) of `job.load.threads()`.
    ///
    /// # Errors
    /// The job does not fit the target.
    pub fn new(
        _job: &Job,
        _geometry: Geometry,
        _seed: u64,
        _thread: u32,
    ) -> Result<Self, StreamError> {
        Ok(Self {})
    }

    /// The next request. Allocates nothing.
    #[inline]
    pub fn next_request(&mut self) -> Request {
        Request {
            offset_bytes: 0,
            size_bytes: 4096,
            placement: 0,
            op: Op::Read,
        }
    }

    /// Open load: the next intended arrival, ns since the start of the step, non-decreasing.
    /// Drawn from its own random sequence, so addresses do not depend on the rate.
    /// Closed load: always 0.
    #[inline]
    pub fn next_arrival_ns(&mut self) -> u64 {
        0
    }
}
