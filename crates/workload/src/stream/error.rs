//! Why a job gives no requests on a target.

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
    /// The region ends behind the target.
    #[error(
        "region of {size_bytes} bytes at {start_bytes} ends beyond the target's {capacity_bytes} bytes: use a larger target, or a region in percent"
    )]
    RegionBeyondTarget {
        /// First byte of the region.
        start_bytes: u64,
        /// Length of the region.
        size_bytes: u64,
        /// The target's capacity.
        capacity_bytes: u64,
    },
    /// A block size is not a multiple of the target's block.
    #[error("block size {size_bytes} is not a multiple of the target's {block_bytes}-byte block")]
    Misaligned {
        /// Offending size.
        size_bytes: u32,
        /// The target's block.
        block_bytes: u32,
    },
    /// The job's alignment is not a multiple of the target's block.
    #[error("alignment {align_bytes} is not a multiple of the target's {block_bytes}-byte block")]
    MisalignedOffsets {
        /// The job's alignment.
        align_bytes: u64,
        /// The target's block.
        block_bytes: u32,
    },
    /// A hot-spot band is narrower than one block.
    #[error(
        "hot spot {band} covers less than one block of the {region_bytes}-byte region: use a larger target or region, or a wider area"
    )]
    EmptyBand {
        /// 1-based position of the band.
        band: usize,
        /// Bytes in the region on this target.
        region_bytes: u64,
    },
    /// Not every thread has a block of its own to visit.
    #[error(
        "{blocks} blocks cannot be visited once by {threads} threads: use fewer threads, or a larger region"
    )]
    TooFewBlocks {
        /// Blocks in the region on this target.
        blocks: u64,
        /// Threads of the job.
        threads: u32,
    },
    /// An order names a block that the region lacks.
    #[error(
        "the order names block {block}, and the region has {units}: use a larger region, or blocks below that"
    )]
    NoBlock {
        /// Number of the block, from 0.
        block: u32,
        /// Blocks in the region on this target.
        units: u64,
    },
    /// A prepared trace cannot be replayed on the target.
    #[error("trace {file}: {reason}")]
    Replay {
        /// The prepared trace.
        file: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// The mix has no operation, or an operation has no block size.
    #[error("the job's mix issues nothing: give it an operation with a block size")]
    EmptyMix,
}
