//! How large one command by passthrough may be: the device has a limit, and the kernel may have one too.

use std::num::NonZeroU64;

use workload::{Job, Op, name_ops};

use crate::{EngineError, queue_attributes::QueueAttributes, target_spec::TargetSpec};

/// By passthrough a block is one command, and nothing splits it: of one `op`, at most `most_bytes(op)`.
pub(super) fn check_command_size(
    spec: &TargetSpec,
    job: &Job,
    most_bytes: impl Fn(Op) -> u64,
) -> Result<(), EngineError> {
    for block in &job.mix.ops {
        let sizes = block.sizes.iter().map(|size| size.size_bytes);
        let (block_bytes, most_bytes) = (sizes.max().unwrap_or(0), most_bytes(block.op));
        if u64::from(block_bytes) > most_bytes {
            return Err(EngineError::CommandSize {
                path: spec.path.clone(),
                op: block.op.name(),
                block_bytes,
                most_bytes,
            });
        }
    }
    Ok(())
}

/// What the kernel lets pass to the device in one command, where it has a block device of the namespace too.
#[derive(Default)]
pub(super) struct KernelLimits {
    transfer_bytes: Option<NonZeroU64>,
    append_bytes: Option<NonZeroU64>,
}

impl KernelLimits {
    pub(super) fn of(queue: &QueueAttributes) -> Self {
        Self {
            transfer_bytes: NonZeroU64::new(queue.number("max_hw_sectors_kb") << 10),
            append_bytes: NonZeroU64::new(queue.number("zone_append_max_bytes")),
        }
    }

    pub(super) fn most_bytes(&self, op: Op) -> u64 {
        let known = match op {
            Op::Read | Op::Write => self.transfer_bytes,
            Op::Append => self.append_bytes.or(self.transfer_bytes),
            Op::Trim | Op::Flush | Op::WriteZeroes | Op::Allocate | name_ops!() => None,
        };
        known.map_or(u64::MAX, NonZeroU64::get)
    }
}
