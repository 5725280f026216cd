//! Streams in step with each other: each issues its part of the I/Os of all (fio's `flow`).

use serde::{Deserialize, Serialize};

/// A stream's part of the I/Os of all streams that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Relative to the weights of the others. Each thread of the stream has it.
    pub weight: u32,
    /// A thread that is ahead waits until its own I/Os have returned, and then for this time.
    /// Without one it issues nothing until the others have caught up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pause_ns: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(time_ns: &u64) -> bool {
    *time_ns == 0
}

impl Flow {
    /// Largest weight.
    pub const WEIGHT_MAX: u32 = 1_000_000;
}
