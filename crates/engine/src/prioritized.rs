//! Reads and writes with priorities of their own, drawn for each by the shares of the job: a layer over an [`Encoder`].

use io_uring::{
    cqueue,
    squeue::{Entry, PushError, SubmissionQueue},
};
use workload::{PriorityDraw, Request};

use crate::{buffers::Buffers, protocol::Protocol, submission::Encoder};

pub(crate) struct Prioritized {
    encoder: Encoder,
    draw: PriorityDraw,
}

impl Prioritized {
    pub(crate) fn new(encoder: Encoder, draw: PriorityDraw) -> Self {
        Self { encoder, draw }
    }
}

impl Protocol for Prioritized {
    type Entry = Entry;
    type Completion = cqueue::Entry;

    #[inline(always)]
    fn queue(
        &mut self,
        request: &mut Request,
        slot: u16,
        buffers: &mut Buffers,
        into: &mut SubmissionQueue<'_, Entry>,
    ) -> Result<(), PushError> {
        self.encoder.ioprio = self.draw.value_for(request);
        self.encoder.queue(request, slot, buffers, into)
    }

    #[inline(always)]
    fn success(&self, request: &Request) -> i32 {
        self.encoder.success(request)
    }
}
