//! A request's way: its thread issues it when a slot is free or when it has arrived. It passes the host's CPU and the
//! adapter to the device, and back. Those still out when the window is over are waited for.

use workload::{Op, Request};

use super::thread::Thread;
use super::{Driver, TwinError};
use crate::device::{Completion, CompletionKind, Device};
use crate::host::adapter::Direction;

/// Tag bit of an arrival of open load; the rest is the thread.
pub(super) const ARRIVAL: u32 = 1 << 27;
/// Tag bit of a read whose data has crossed the adapter; the rest is the slot.
const CROSSED: u32 = 1 << 26;
/// Tag bit of a zone's reset; the rest is the slot of the write that waits for it.
const RESET: u32 = 1 << 25;
/// Requests that can be in flight at once: their tags lie below those bits.
pub(super) const IN_FLIGHT_MAX: u32 = RESET - 1;

/// What is known of a request in flight; its index is the tag.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub(super) issued_ns: u64,
    pub(super) arrived_ns: u64,
    pub(super) offset_bytes: u64,
    pub(super) size_bytes: u32,
    pub(super) thread: u32,
    /// Its number in a trace whose I/Os wait for others, or its mark in one that threads share.
    pub(super) row: u32,
    pub(super) op: Op,
    pub(super) in_flight: bool,
}

impl<D: Device> Driver<'_, D> {
    /// Fills the queues (closed load) or waits for the first arrivals (open load).
    pub(super) fn begin(&mut self) {
        for thread in 0..self.threads.len() as u32 {
            let Thread { open, iodepth, .. } = self.threads[thread as usize];
            if self.threads[thread as usize].waiting.is_some() {
                self.await_due(thread);
            } else if open {
                self.next_arrival(thread);
            } else {
                for _ in 0..iodepth {
                    self.issue(thread, self.start_ns, self.start_ns);
                }
            }
        }
        self.keep_step(self.start_ns);
    }

    #[inline]
    pub(super) fn take(&mut self, completion: Completion) {
        let Completion { at_ns, tag, kind } = completion;
        if tag & (ARRIVAL | CROSSED | RESET) == RESET {
            return self.write_into_reset(tag & !RESET, at_ns);
        }
        match kind {
            CompletionKind::Wake if tag & ARRIVAL != 0 => self.arrival(tag & !ARRIVAL, at_ns),
            CompletionKind::Wake => self.reap(tag & !CROSSED, at_ns, 0),
            CompletionKind::Done => {
                let Slot { op, size_bytes, .. } = self.slots[tag];
                match self.cross(at_ns, Direction::ToHost, op, size_bytes) {
                    Some(crossed_ns) => self.device.wake(crossed_ns, CROSSED | tag),
                    None => self.reap(tag, at_ns, 0),
                }
            }
            CompletionKind::Failed(errno) => self.reap(tag, at_ns, errno),
        }
    }

    /// Passes data through the adapter, where there is one.
    #[inline]
    fn cross(&mut self, now_ns: u64, direction: Direction, op: Op, bytes: u32) -> Option<u64> {
        self.adapter
            .as_mut()?
            .cross_ns(now_ns, direction, op, bytes)
    }

    /// Takes the thread's CPU for `work_ns` from `ready_ns` on; gives the end.
    #[inline]
    fn work(&mut self, thread: u32, ready_ns: u64, work_ns: u64) -> u64 {
        let core = self.threads[thread as usize].core as usize;
        let begin_ns = self.core_free_ns[core].max(ready_ns);
        let end_ns = begin_ns + work_ns;
        self.core_free_ns[core] = end_ns;
        self.meter.core_waited_ns += begin_ns - ready_ns;
        self.meter.core_busy_ns[core] += work_ns;
        end_ns
    }

    /// Returns whether the thread's next request can be placed, and waits for none of another thread.
    #[inline]
    pub(super) fn is_ready(&self, thread: u32) -> bool {
        let (zoning, state) = (self.zoning.as_ref(), &self.threads[thread as usize]);
        zoning.is_none_or(|zoning| zoning.is_ready(thread))
            && !state.stream.is_held()
            && !state.rests
    }

    /// Notes a request of a trace that threads share, and issues what waited for it.
    #[cold]
    fn returned_to_all(&mut self, slot: Slot, now_ns: u64) {
        let state = &self.threads[slot.thread as usize];
        state.stream.returned(slot.row, now_ns);
        for thread in 0..self.threads.len() as u32 {
            if self.threads[thread as usize].shares_trace {
                self.issue_held(thread, now_ns);
            }
        }
    }

    /// Issues what waited for a zone or for other requests, now that nothing keeps it any more.
    #[cold]
    pub(super) fn issue_held(&mut self, thread: u32, now_ns: u64) {
        while self.threads[thread as usize].held > 0 && self.is_ready(thread) {
            self.threads[thread as usize].held -= 1;
            self.issue(thread, now_ns, now_ns);
        }
        while self.threads[thread as usize].waits() && self.is_ready(thread) {
            self.issue_arrived(thread, now_ns);
        }
    }

    /// Issues the thread's next request in a slot that has been free since `free_ns`.
    #[inline]
    fn issue(&mut self, thread: u32, free_ns: u64, arrived_ns: u64) {
        let is_ready = self.is_ready(thread);
        let state = &mut self.threads[thread as usize];
        if state.left.is_spent() {
            return;
        }
        if !is_ready {
            state.held += 1;
            return;
        }
        let mark = state.stream.next_mark();
        // What it waited for may have returned on a core that is ahead of this one.
        let free_ns = free_ns.max(state.stream.earliest_ns());
        let request = state.next_request(self.device);
        self.send(thread, request, mark, free_ns, arrived_ns);
    }

    /// Sends a request on its way, in a slot that has been free since `free_ns`.
    #[inline(always)]
    fn send(&mut self, thread: u32, request: Request, row: u32, free_ns: u64, arrived_ns: u64) {
        let state = &mut self.threads[thread as usize];
        state.left.spend(request.size_bytes);
        state.in_flight += 1;
        let slot = Slot {
            issued_ns: free_ns,
            arrived_ns,
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            thread,
            row,
            op: request.op,
            in_flight: true,
        };
        let tag = self.slots.add(slot);
        let ready_ns = self.work(thread, free_ns, self.submit_ns);
        let at_ns = self
            .cross(ready_ns, Direction::ToDevice, slot.op, slot.size_bytes)
            .unwrap_or(ready_ns);
        let Some(zoning) = &mut self.zoning else {
            return self.device.submit_from(thread, at_ns, tag, request);
        };
        let (request, reset) = zoning.place(thread, tag, request, self.device);
        if zoning.is_over(thread) {
            self.threads[thread as usize].left.count = 0;
        }
        self.slots[tag].offset_bytes = request.offset_bytes;
        match reset {
            Some(reset) => self.device.submit(at_ns, RESET | tag, reset),
            None => self.device.submit(at_ns, tag, request),
        }
    }

    /// A zone is empty: the write that needed it goes out. What it failed with, the write will fail with.
    #[cold]
    fn write_into_reset(&mut self, tag: u32, at_ns: u64) {
        if let Some(zoning) = &self.zoning {
            self.device.submit(at_ns, tag, zoning.after_reset(tag));
        }
    }

    /// A completion reaches its thread, which reaps it and issues the next request.
    #[inline]
    fn reap(&mut self, tag: u32, at_ns: u64, errno: i32) {
        let slot = self.slots[tag];
        if let Some(zoning) = &mut self.zoning {
            zoning.settle(slot.thread, tag, errno, self.device);
        }
        let reaped_ns = self.work(slot.thread, at_ns + self.wake_ns, self.complete_ns);
        self.slots.release(tag);
        self.slots[tag].in_flight = false;
        self.threads[slot.thread as usize].in_flight -= 1;
        let (service_ns, bytes) = (reaped_ns - slot.issued_ns, u64::from(slot.size_bytes));
        let Thread {
            recorder,
            open,
            think_ns,
            ..
        } = self.threads[slot.thread as usize];
        let recorder = &mut self.recorders[recorder as usize];
        if errno != 0 {
            self.fail(slot, errno, service_ns);
        } else if open {
            let response_ns = reaped_ns - slot.arrived_ns;
            recorder.record_open(slot.op, service_ns, response_ns, bytes);
        } else {
            recorder.record(slot.op, service_ns, bytes);
        }
        self.note(&slot, service_ns);
        if self.threads[slot.thread as usize].shares_trace {
            self.returned_to_all(slot, reaped_ns);
        }
        if self.threads[slot.thread as usize].waiting.is_some() {
            self.returned(slot, reaped_ns);
        } else if !open && think_ns > 0 {
            self.thinking += 1;
            self.device
                .wake(reaped_ns + think_ns, ARRIVAL | slot.thread);
        } else if !open {
            self.issue(slot.thread, reaped_ns, reaped_ns);
        } else if self.threads[slot.thread as usize].waits() && self.is_ready(slot.thread) {
            self.issue_arrived(slot.thread, reaped_ns);
        }
        if self.zoning.is_some() {
            self.issue_held(slot.thread, reaped_ns);
        }
        // What failed is part of the volume: a job that can only fail ends too.
        let Thread {
            in_flight, left, ..
        } = &self.threads[slot.thread as usize];
        if *in_flight == 0 && left.is_spent() {
            self.finish(slot.thread);
        }
        self.keep_step(reaped_ns);
    }

    /// Counts a failed I/O, and ends the run when it is one too many.
    #[cold]
    fn fail(&mut self, slot: Slot, errno: i32, service_ns: u64) {
        let Slot {
            op,
            offset_bytes,
            size_bytes,
            ..
        } = slot;
        let recorder = self.threads[slot.thread as usize].recorder;
        self.recorders[recorder as usize].fail(op, service_ns);
        self.faults.count(op, errno, offset_bytes, size_bytes);
        *self.recording.errno.entry(errno).or_default() += 1;
        let failed = self.recording.errno.values().sum();
        if self.errors_most.is_some_and(|most| failed > most) {
            self.failed.get_or_insert(TwinError::TooManyErrors {
                failed,
                op,
                offset_bytes,
                size_bytes,
                errno,
            });
        }
    }

    /// Has the thread woken for what is due in a trace whose I/Os wait for others, before any has returned.
    fn await_due(&mut self, thread: u32) {
        let Some(trace) = &self.threads[thread as usize].waiting else {
            return;
        };
        trace.each_due(|due_ns| {
            self.thinking += 1;
            self.device
                .wake(self.start_ns.saturating_add(due_ns), ARRIVAL | thread);
        });
    }

    /// Has the thread woken for what waited for an I/O that has returned, and issues what waited for a slot.
    fn returned(&mut self, slot: Slot, reaped_ns: u64) {
        let Some(trace) = &mut self.threads[slot.thread as usize].waiting else {
            return;
        };
        trace.returned(slot.row, reaped_ns - self.start_ns, |due_ns| {
            self.thinking += 1;
            self.device
                .wake(self.start_ns.saturating_add(due_ns), ARRIVAL | slot.thread);
        });
        self.issue_due(slot.thread, reaped_ns);
    }

    /// Issues what is due, as far as there are slots.
    fn issue_due(&mut self, thread: u32, now_ns: u64) {
        loop {
            let state = &mut self.threads[thread as usize];
            if state.in_flight == state.iodepth || state.left.is_spent() {
                return;
            }
            let trace = state.waiting.as_mut();
            let Some((row, _, request)) =
                trace.and_then(|trace| trace.take_due(now_ns - self.start_ns))
            else {
                return;
            };
            self.send(thread, request, row, now_ns, now_ns);
        }
    }

    /// An arrival of an open load, or the end of a pause in a closed one.
    fn arrival(&mut self, thread: u32, now_ns: u64) {
        if self.threads[thread as usize].waiting.is_some() {
            self.thinking -= 1;
            return self.issue_due(thread, now_ns);
        }
        if self.threads[thread as usize].rests {
            self.thinking -= 1;
            return self.end_rest(thread, now_ns);
        }
        if !self.threads[thread as usize].open {
            self.thinking -= 1;
            return self.issue(thread, now_ns, now_ns);
        }
        self.offered += 1;
        let state = &mut self.threads[thread as usize];
        state.backlog.push(state.arrives_ns, &state.stream);
        if state.waits() && self.is_ready(thread) {
            self.issue_arrived(thread, now_ns);
        }
        self.keep_step(now_ns);
        self.next_arrival(thread);
    }

    fn issue_arrived(&mut self, thread: u32, now_ns: u64) {
        let state = &mut self.threads[thread as usize];
        if let Some(arrived_ns) = state.backlog.pop() {
            self.issue(thread, now_ns, self.start_ns + arrived_ns);
        }
    }

    /// Has the thread woken for its next arrival. One beyond the window is never counted, and the drain would have to
    /// wait for it. In an idle step it is the only arrival, and decades away.
    fn next_arrival(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        state.arrives_ns = state.stream.next_arrival_ns();
        let at_ns = self.start_ns + state.arrives_ns;
        state.awaits = at_ns < self.end_ns && state.to_arrive > 0;
        if state.awaits {
            state.to_arrive -= 1;
            self.device.wake(at_ns, ARRIVAL | thread);
        }
    }

    /// Lets the requests in flight end, uncounted.
    pub(super) fn drain(&mut self) -> Result<(), TwinError> {
        let mut left: u32 = self.threads.iter().map(|thread| thread.in_flight).sum();
        let awaiting = self.threads.iter().filter(|thread| thread.awaits).count();
        let mut wakes = awaiting + self.thinking;
        while left > 0 || wakes > 0 {
            if !self.device.is_busy() {
                let now_ns = self.device.now_ns();
                return Err(TwinError::Stalled {
                    now_ns,
                    in_flight: left,
                });
            }
            match self.device.advance(u64::MAX) {
                Some(Completion { kind, tag, .. })
                    if kind == CompletionKind::Wake && tag & ARRIVAL != 0 =>
                {
                    wakes -= 1;
                }
                Some(_) => left -= 1,
                None => {}
            }
        }
        Ok(())
    }
}
