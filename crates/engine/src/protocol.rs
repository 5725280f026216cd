//! How one target is spoken to over a ring: which entries carry a request, and what a completion says.
//! The load loop is generic over it, so each kind of target has a loop of its own and pays for nothing
//! that only another kind needs.

use io_uring::{cqueue, squeue};
use workload::Request;

use crate::buffers::Buffers;

/// Requests to entries, completions to results.
pub(crate) trait Protocol {
    /// Submission entry: 64 bytes, or 128 for NVMe passthrough.
    type Entry: squeue::EntryMarker;
    /// Completion entry: 16 bytes, or 32 for NVMe passthrough.
    type Completion: cqueue::EntryMarker;

    /// The entry for `request` in `slot`, tagged with the slot, and the result of its success. May move the
    /// request to where the target takes it.
    fn encode(&mut self, request: &Request, slot: u16, buffers: &mut Buffers)
    -> (Self::Entry, i32);

    /// Tag and result of a completion: bytes or 0, or a negative errno (see [`crate::lane::describe_errno`]).
    fn outcome(completion: &Self::Completion) -> (u64, i32);

    /// Hears of each completion before its slot is used again; whether it was good after all.
    #[inline(always)]
    fn settle(&mut self, _slot: u16, succeeded: bool, _buffers: &Buffers) -> bool {
        succeeded
    }

    /// What a reader of the figures must know, once the run is over.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}
