//! How one target is spoken to over a ring: which entries carry a request, and what a completion says.
//! The load loop is generic over it, so each kind of target has a loop of its own. No kind pays for what only another
//! needs.

use io_uring::{
    cqueue,
    squeue::{self, PushError, SubmissionQueue},
};
use recording::Remark;
use workload::Request;

use crate::buffers::Buffers;

/// Queues an entry.
#[inline(always)]
pub(crate) fn push<E: squeue::EntryMarker>(
    entry: &E,
    into: &mut SubmissionQueue<'_, E>,
) -> Result<(), PushError> {
    // SAFETY: the buffers that entries name outlive the I/O: they are dropped after the drain, or leaked.
    unsafe { into.push(entry) }
}

/// A completion entry, of either size.
pub(crate) trait Outcome: cqueue::EntryMarker {
    /// Returns tag and result: bytes or 0, or a negative errno (see [`crate::describe_errno`]).
    fn outcome(&self) -> (u64, i32);
}

impl Outcome for cqueue::Entry {
    #[inline(always)]
    fn outcome(&self) -> (u64, i32) {
        (self.user_data(), self.result())
    }
}

/// Requests to entries, completions to results.
pub(crate) trait Protocol {
    /// Submission entry: 64 bytes, or 128 for NVMe passthrough.
    type Entry: squeue::EntryMarker;
    /// Completion entry: 16 bytes, or 32 for NVMe passthrough.
    type Completion: Outcome;

    /// Queues the entry for `request` in `slot`, tagged with the slot. May move the request to where the target takes
    /// it. Fails only where the queue is full.
    ///
    /// Implementations write each kind of entry straight into the queue. An entry that is chosen first and then copied
    /// is read back before its fields have reached the cache. That costs a fifth of the loop's time.
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Self::Entry>,
    ) -> Result<(), PushError>;

    /// Returns whether the target takes a request now; one that does not has others in flight, and takes it when they
    /// end.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        true
    }

    /// Returns whether the target takes no further request, because the job ends with what it has.
    #[inline(always)]
    fn is_over(&self) -> bool {
        false
    }

    /// Returns the result of a request when all went well: the bytes that it moves where the target reports them, else
    /// 0.
    fn success(&self, request: &Request) -> i32;

    /// Hears of each completion before its slot is used again; whether it was good after all.
    #[inline(always)]
    fn settle(&mut self, _slot: u16, succeeded: bool, _buffers: &Buffers) -> bool {
        succeeded
    }

    /// Returns what a failed request in `slot` counts as: what the kernel said, or why it came that far.
    #[inline(always)]
    fn error(&self, _slot: u16, result: i32) -> i32 {
        result
    }

    /// Returns why the run has failed though its I/O may have succeeded, once it is over.
    fn fault(&mut self) -> Option<String> {
        None
    }

    /// Returns what a reader of the figures must know, once the run is over.
    fn remarks(&mut self) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns what else a reader must know, in words.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}
