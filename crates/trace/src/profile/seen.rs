//! One I/O of the trace, checked.

use crate::Operation;

/// One I/O, as the parts of a profile see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) issue_ns: u64,
    pub(super) latency_ns: Option<u64>,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u64,
    pub(super) op: Operation,
    pub(super) flags: u8,
    pub(super) device: u32,
    pub(super) process: u32,
}
