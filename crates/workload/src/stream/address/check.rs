//! Whether a job's sizes and distances fit the target's block.

use crate::{Geometry, Job};

use crate::stream::error::StreamError;

/// Checks that a distance of offsets fits the target's block.
pub(super) fn check_alignment(align_bytes: u64, geometry: Geometry) -> Result<(), StreamError> {
    let block_bytes = geometry.block_bytes.max(1);
    match align_bytes % u64::from(block_bytes) {
        0 => Ok(()),
        _ => Err(StreamError::MisalignedOffsets {
            align_bytes,
            block_bytes,
        }),
    }
}

/// Returns the largest block of the job, once every size and the alignment fit the target's block.
pub(super) fn check_blocks(job: &Job, geometry: Geometry) -> Result<u32, StreamError> {
    let block_bytes = geometry.block_bytes.max(1);
    let aligns = job.mix.ops.iter().map(|block| block.align_bytes);
    for align_bytes in aligns.chain([job.align_bytes]) {
        check_alignment(align_bytes.unwrap_or(0), geometry)?;
    }
    let mut largest_bytes = 0;
    for size in job.mix.ops.iter().flat_map(|block| &block.sizes) {
        if size.size_bytes == 0 || size.size_bytes % block_bytes != 0 {
            return Err(StreamError::Misaligned {
                size_bytes: size.size_bytes,
                block_bytes,
            });
        }
        largest_bytes = largest_bytes.max(size.size_bytes);
    }
    Ok(largest_bytes)
}
