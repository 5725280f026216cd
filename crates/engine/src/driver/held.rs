//! A thread whose next request waits: for requests of other threads that share its trace, or for threads in step with
//! it that are behind.

use std::{io, thread};

use workload::Request;

use super::Driver;
use crate::queue_pair::QueuePair;

/// How soon a thread looks again at a request that waits for those of other threads, ns.
const HELD_NS: u64 = 5_000;

impl<Q: QueuePair> Driver<Q> {
    /// Returns whether the next request waits for others of the trace.
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        (!self.marks.is_empty() || self.stream.is_in_step())
            && !self.exhausted()
            && self.stream.is_held()
    }

    /// Returns the next request, for the slot that is handed out next.
    #[inline(always)]
    pub(super) fn next_request(&mut self) -> Request {
        if !self.marks.is_empty() {
            let slot = self.slots.next_free();
            self.marks[usize::from(slot)] = self.stream.next_mark();
        }
        self.stream.next_request()
    }

    /// Waits for requests of other threads that the next one waits for, or for an own one. With none out there is
    /// nothing to look for, and another thread may need the core.
    pub(super) fn wait_for_others(&mut self) -> io::Result<()> {
        if self.slots.in_flight() == 0 {
            thread::yield_now();
            return Ok(());
        }
        self.queues.submit_until(self.clock.now_ns() + HELD_NS)
    }

    /// Notes in the stream which requests have returned since `free_before` slots were free.
    #[inline(always)]
    pub(super) fn note_returned(&self, free_before: usize, now_ns: u64) {
        if self.marks.is_empty() {
            return;
        }
        for &slot in self.slots.freed_since(free_before) {
            let mark = self.marks[usize::from(slot)];
            self.stream.returned(mark, now_ns);
        }
    }

    /// Waits until the thread's own requests have returned, and then for the pause, as fio's `flow_sleep`. Returns
    /// whether the run is over.
    #[cold]
    pub(super) fn rest(&mut self) -> io::Result<bool> {
        while self.slots.in_flight() > 0 {
            self.queues.submit(self.slots.in_flight())?;
            if self.looks_over() {
                return Ok(true);
            }
            self.reap::<false>(self.clock.now_ns());
        }
        let until_ns = self.clock.now_ns().saturating_add(self.stream.pause_ns());
        while self.clock.now_ns() < until_ns {
            self.queues.submit_until(until_ns)?;
            if self.looks_over() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn looks_over(&mut self) -> bool {
        let now_ns = self.clock.now_ns();
        self.meter.is_due(now_ns) && self.look_up(now_ns, None)
    }
}
