//! One recorded I/O, placed on the target.

use crate::Request;

/// An I/O of a trace. `arrival_ns` counts from the trace's begin, or from the end of the I/O that it waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) arrival_ns: u64,
    pub(super) request: Request,
}
