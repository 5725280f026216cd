//! The load loop on io_uring. One thread, one ring, `iodepth` slots.
//!
//! A round fills every free slot from the request stream, reads the clock, submits and waits in one
//! system call, reads the clock, and counts every completion there is. Per I/O that leaves: one
//! request drawn, one 64-byte entry written, one completion read, one histogram bin counted.
//! A tick (a timeout entry every 20 ms) wakes a thread whose I/O does not return, so the stop flag
//! and the interval's end are seen without a timer or a system call of their own.

use std::{collections::VecDeque, io, iter, mem, time::Duration};

use io_uring::{
    CompletionQueue, SubmissionQueue, Submitter, opcode,
    types::{SubmitArgs, Timespec},
};
use recording::Alike;
use workload::{Limits, Op, Request, RequestStream};

use super::Lane;
use crate::{
    buffers::Buffers,
    clock::Clock,
    lane::{Meter, Offered, TICK_NS},
    protocol::Protocol,
    ring::{Ring, register_ring_fd},
    verify::MISMATCH,
};

/// Completion tag of the tick.
const TICK: u64 = u64::MAX;
/// Open load: a thread sleeps until this long before the next arrival, then spins. Waking up takes
/// tens of microseconds; arrivals closer than this never sleep.
const SPIN_NS: u64 = 50_000;
/// How often room in a full submission ring is waited for: a wait that a signal ends early is repeated.
const MOST_WAITS: usize = 1000;

/// One I/O in flight.
#[derive(Clone, Copy)]
struct Slot {
    issued_ns: u64,
    arrival_ns: u64,
    /// As it was queued.
    request: Request,
}

// Half a cache line: two slots share one, none straddles two.
const _: () = assert!(mem::size_of::<Slot>() == 32);

const NOTHING: Request = Request {
    offset_bytes: 0,
    size_bytes: 0,
    placement: 0,
    op: Op::Read,
};

const NOTHING_ALIKE: Alike = Alike {
    op: Op::Read,
    service_ns: 0,
    bytes: 0,
    n: 0,
};

/// The loop's state. `encoder`, `buffers` and `meter` outlive it.
pub(super) struct Driver<'r, P: Protocol> {
    submitter: Submitter<'r>,
    submissions: SubmissionQueue<'r, P::Entry>,
    completions: CompletionQueue<'r, P::Completion>,
    pub(super) encoder: P,
    pub(super) buffers: Buffers,
    stream: RequestStream,
    slots: Box<[Slot]>,
    /// Free slots, a stack of `free_len`. What lies above was handed out last.
    free: Box<[u16]>,
    free_len: usize,
    left: Limits,
    issued: u64,
    reap_min: usize,
    polls: bool,
    sqpoll: bool,
    flags_taskrun: bool,
    tick: Box<Timespec>,
    tick_armed: bool,
    clock: Clock,
    pub(super) meter: Meter,
}

impl<'r, P: Protocol> Driver<'r, P> {
    pub(super) fn new(
        lane: &Lane,
        ring: &'r mut Ring<P>,
        buffers: Buffers,
        encoder: P,
        clock: Clock,
    ) -> Self {
        let iodepth = lane.job.load.iodepth() as u16;
        let idle = Slot {
            issued_ns: 0,
            arrival_ns: 0,
            request: NOTHING,
        };
        let (polls, sqpoll, flags_taskrun) = (ring.polls, ring.sqpoll, ring.flags_taskrun);
        let (mut submitter, submissions, completions) = ring.io.split();
        register_ring_fd(&mut submitter);
        Self {
            submitter,
            submissions,
            completions,
            encoder,
            buffers,
            stream: lane.stream.clone(),
            slots: vec![idle; usize::from(iodepth)].into(),
            free: (0..iodepth).rev().collect(),
            free_len: usize::from(iodepth),
            left: lane.limits,
            issued: 0,
            reap_min: lane.reap_min.max(1) as usize,
            polls,
            sqpoll,
            flags_taskrun,
            tick: Box::new(Timespec::from(Duration::from_nanos(TICK_NS))),
            tick_armed: false,
            clock,
            meter: Meter::new(lane.post.clone(), lane.limits.time_ns),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free_len
    }

    fn exhausted(&self) -> bool {
        self.left.count == 0 || self.left.bytes == 0
    }

    /// `iodepth` in flight at all times.
    pub(super) fn closed(&mut self) -> io::Result<()> {
        loop {
            let free_before = self.free_len;
            while self.free_len > 0 && !self.exhausted() {
                let request = self.stream.next_request();
                self.push(request, 0)?;
            }
            self.stamp(free_before);
            if self.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            self.submit(self.reap_min.min(self.in_flight()))?;
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            self.reap::<false>(now_ns);
        }
    }

    /// As `closed`, but each of the `iodepth` pauses between a completion and its next request.
    pub(super) fn thinking(&mut self, think_ns: u64) -> io::Result<()> {
        let mut ready_ns = VecDeque::from(vec![0; self.slots.len()]);
        loop {
            let now_ns = self.clock.now_ns();
            let free_before = self.free_len;
            while ready_ns.front().is_some_and(|&at_ns| at_ns <= now_ns) && !self.exhausted() {
                ready_ns.pop_front();
                let request = self.stream.next_request();
                self.push(request, 0)?;
            }
            self.stamp(free_before);
            if self.exhausted() && self.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            match ready_ns.front() {
                Some(&at_ns) if !self.exhausted() => self.submit_until(at_ns)?,
                _ => self.submit(1)?,
            }
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            let free_before = self.free_len;
            self.reap::<false>(now_ns);
            let returned = self.free_len - free_before;
            ready_ns.extend(iter::repeat_n(now_ns + think_ns, returned));
        }
    }

    /// Requests arrive on their own clock; those that find no free slot wait in the backlog.
    pub(super) fn open(&mut self) -> io::Result<()> {
        let mut offered = Offered::new(&self.stream, self.left.count);
        let mut arrival_ns = self.stream.next_arrival_ns();
        let mut waited_for_slot = false;
        loop {
            let now_ns = self.clock.now_ns();
            let free_before = self.free_len;
            while arrival_ns <= now_ns && self.free_len > 0 && !self.exhausted() {
                let request = self.stream.next_request();
                self.push(request, arrival_ns)?;
                if !waited_for_slot {
                    self.meter.summary.lateness.0 += 1;
                    self.meter.summary.lateness.1 += now_ns - arrival_ns;
                }
                arrival_ns = self.stream.next_arrival_ns();
            }
            self.stamp(free_before);
            waited_for_slot = self.free_len == 0;
            if self.exhausted() && self.in_flight() == 0 {
                self.cut_last(Some(&mut offered));
                return Ok(());
            }
            if self.free_len == 0 || self.exhausted() {
                self.submit(1)?;
            } else {
                self.submit_until(arrival_ns)?;
            }
            let now_ns = self.clock.now_ns();
            offered.advance(now_ns.min(self.meter.due_ns));
            if self.meter.is_due(now_ns) && self.look_up(now_ns, Some(&mut offered)) {
                return Ok(());
            }
            self.reap::<true>(now_ns);
        }
    }

    /// Waits for what is in flight without counting it, for a bounded time.
    pub(super) fn drain(&mut self, timeout: Duration) -> io::Result<()> {
        let give_up_ns = self.clock.now_ns() + timeout.as_nanos() as u64;
        while self.in_flight() > 0 && self.clock.now_ns() < give_up_ns {
            self.submit(1)?;
            for completion in &mut self.completions {
                match P::outcome(&completion) {
                    (TICK, _) => self.tick_armed = false,
                    (slot, result) => {
                        let request = &self.slots[slot as usize].request;
                        let succeeded = result == self.encoder.success(request);
                        self.encoder.settle(slot as u16, succeeded, &self.buffers);
                        self.free[self.free_len] = slot as u16;
                        self.free_len += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Queues a request in a free slot.
    #[inline(always)]
    fn push(&mut self, mut request: Request, arrival_ns: u64) -> io::Result<()> {
        if self.submissions.is_full() {
            self.make_room()?;
        }
        let bytes = u64::from(request.size_bytes);
        self.left.bytes = self.left.bytes.saturating_sub(bytes);
        self.left.count -= 1;
        self.free_len -= 1;
        let index = self.free[self.free_len];
        let queued = self.encoder.queue(
            &mut request,
            index,
            &mut self.buffers,
            &mut self.submissions,
        );
        queued.map_err(io::Error::other)?;
        let slot = &mut self.slots[usize::from(index)];
        slot.arrival_ns = arrival_ns;
        slot.request = request;
        Ok(())
    }

    /// Waits until the kernel's submitting thread has freed entries: it does so after their completions, at the end of
    /// its batch.
    #[cold]
    fn make_room(&mut self) -> io::Result<()> {
        for _ in 0..MOST_WAITS {
            self.submissions.sync();
            if !self.submissions.is_full() {
                break;
            }
            self.enter(Submitter::submit)?;
            self.enter(Submitter::squeue_wait)?;
        }
        Ok(())
    }

    /// Stamps the slots handed out since `free_before` with the time of issue.
    #[inline(always)]
    fn stamp(&mut self, free_before: usize) {
        let issued_ns = self.clock.now_ns();
        for &index in &self.free[self.free_len..free_before] {
            self.slots[usize::from(index)].issued_ns = issued_ns;
        }
        self.issued += (free_before - self.free_len) as u64;
    }

    /// Submits what is queued and waits for `want` completions or the tick.
    #[inline(always)]
    fn submit(&mut self, want: usize) -> io::Result<()> {
        if !self.tick_armed && !self.polls {
            self.arm_tick()?;
        }
        self.submissions.sync();
        match self.sqpoll {
            false => self.enter(|submitter| submitter.submit_and_wait(want)),
            true => self.await_kernel_thread(want),
        }
    }

    /// Watches the completion queue for a while, then sleeps: until a completion, or for a tick where there is none.
    #[cold]
    fn await_kernel_thread(&mut self, want: usize) -> io::Result<()> {
        self.enter(Submitter::submit)?;
        let until_ns = self.clock.now_ns() + SPIN_NS;
        while self.completions.len() < want && self.clock.now_ns() < until_ns {
            std::hint::spin_loop();
            self.completions.sync();
        }
        if self.completions.len() >= want {
            return Ok(());
        }
        let tick = Timespec::from(Duration::from_nanos(TICK_NS));
        let arguments = SubmitArgs::new().timespec(&tick);
        self.enter(|submitter| submitter.submit_with_args(want, &arguments))
    }

    /// Submits what is queued and waits for a completion until `until_ns`: asleep while that is
    /// far, spinning when it is near.
    fn submit_until(&mut self, until_ns: u64) -> io::Result<()> {
        if !self.tick_armed && !self.polls {
            self.arm_tick()?;
        }
        self.submissions.sync();
        let gap_ns = until_ns.saturating_sub(self.clock.now_ns());
        if gap_ns > SPIN_NS && !self.polls {
            let timeout = Timespec::from(Duration::from_nanos(gap_ns - SPIN_NS));
            let arguments = SubmitArgs::new().timespec(&timeout);
            self.enter(|submitter| submitter.submit_with_args(1, &arguments))?;
        } else if !self.submissions.is_empty() {
            self.enter(Submitter::submit)?;
        }
        while self.completions.is_empty() && self.clock.now_ns() < until_ns {
            self.submissions.sync();
            if self.polls || (self.flags_taskrun && self.submissions.taskrun()) {
                self.enter(Submitter::submit)?;
            }
            std::hint::spin_loop();
            self.completions.sync();
        }
        Ok(())
    }

    #[inline(always)]
    fn enter(&mut self, call: impl Fn(&Submitter<'r>) -> io::Result<usize>) -> io::Result<()> {
        let entered = call(&self.submitter);
        self.submissions.sync();
        self.completions.sync();
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }

    #[cold]
    fn arm_tick(&mut self) -> io::Result<()> {
        if self.submissions.is_full() {
            self.make_room()?;
        }
        let entry = P::Entry::from(
            opcode::Timeout::new(&raw const *self.tick)
                .build()
                .user_data(TICK),
        );
        // SAFETY: the kernel copies the timespec at submission; the box outlives that.
        unsafe { self.submissions.push(&entry) }.map_err(io::Error::other)?;
        self.tick_armed = true;
        Ok(())
    }

    /// Counts every completion there is, all at `now_ns`. Those that were issued together share a latency under closed
    /// load, and are counted together.
    #[inline(always)]
    fn reap<const OPEN: bool>(&mut self, now_ns: u64) {
        let mut alike = NOTHING_ALIKE;
        for completion in &mut self.completions {
            let (tag, result) = P::outcome(&completion);
            if tag == TICK {
                self.tick_armed = false;
                continue;
            }
            let slot = &self.slots[tag as usize];
            self.free[self.free_len] = tag as u16;
            self.free_len += 1;
            let Request { op, size_bytes, .. } = slot.request;
            let service_ns = now_ns - slot.issued_ns;
            let bytes = u64::from(size_bytes);
            let returned = result == self.encoder.success(&slot.request);
            let good = self.encoder.settle(tag as u16, returned, &self.buffers);
            if !good {
                let error = if returned { MISMATCH } else { result };
                let place = (slot.request.offset_bytes, size_bytes);
                self.meter.fail(op, place, error, service_ns);
            } else if OPEN {
                let response_ns = now_ns - slot.arrival_ns;
                self.meter
                    .recorder
                    .record_open(op, service_ns, response_ns, bytes);
            } else if service_ns == alike.service_ns && op == alike.op {
                alike.n += 1;
                alike.bytes += bytes;
            } else {
                self.meter.recorder.record_alike(alike);
                alike = Alike {
                    op,
                    service_ns,
                    bytes,
                    n: 1,
                };
            }
        }
        self.meter.recorder.record_alike(alike);
    }

    /// Cuts the intervals that are due; whether the run is over.
    #[cold]
    fn look_up(&mut self, now_ns: u64, mut offered: Option<&mut Offered>) -> bool {
        let issued = self.issued;
        let (slots, free) = (&self.slots, &self.free[..self.free_len]);
        let age_ns = |at_ns| age_of_busy(slots, free, at_ns);
        self.meter.cut_due(now_ns, age_ns, |at_ns| {
            Some(offered.as_mut()?.report(at_ns, issued))
        });
        self.meter.watch(now_ns, oldest(slots, free));
        if !self.meter.is_over(now_ns) {
            return false;
        }
        self.cut_last(offered);
        true
    }

    /// Ends the record now.
    fn cut_last(&mut self, mut offered: Option<&mut Offered>) {
        let (now_ns, issued) = (self.clock.now_ns(), self.issued);
        let (slots, free) = (&self.slots, &self.free[..self.free_len]);
        let age_ns = |at_ns| age_of_busy(slots, free, at_ns);
        self.meter.cut_last(now_ns, age_ns, |at_ns| {
            Some(offered.as_mut()?.report(at_ns, issued))
        });
    }
}

/// The I/O in flight that was issued first.
fn oldest(slots: &[Slot], free: &[u16]) -> Option<(Op, u64, u32, u64)> {
    let mut busy = vec![true; slots.len()];
    free.iter()
        .for_each(|&index| busy[usize::from(index)] = false);
    let in_flight = slots.iter().zip(busy).filter(|(_, busy)| *busy);
    let (slot, _) = in_flight.min_by_key(|(slot, _)| slot.issued_ns)?;
    let Request {
        op,
        offset_bytes,
        size_bytes,
        ..
    } = slot.request;
    Some((op, offset_bytes, size_bytes, slot.issued_ns))
}

/// Summed age at `at_ns` of the I/O in flight: of all slots less that of the free ones.
fn age_of_busy(slots: &[Slot], free: &[u16], at_ns: u64) -> u64 {
    let age = |slot: &Slot| at_ns.saturating_sub(slot.issued_ns);
    let all: u64 = slots.iter().map(age).sum();
    let idle: u64 = free
        .iter()
        .map(|&index| age(&slots[usize::from(index)]))
        .sum();
    all - idle
}
