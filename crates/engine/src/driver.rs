//! The load loop. One thread, one pair of queues, `iodepth` slots.
//!
//! A round fills every free slot from the request stream, reads the clock, submits and waits,
//! reads the clock, and counts every completion there is. Per I/O that leaves: one request drawn and
//! queued, one completion read, one histogram bin counted. What queueing and waiting are is the
//! business of the [`QueuePair`].
//!
//! A batch costs one system call, and its first request waits until the last is submitted. A target that completes
//! requests within the call gains by long batches. A device that works on its own could have begun meanwhile, so its
//! wait is bounded. Which of the two a target is shows once a second.

mod in_step;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, io, iter, mem, sync::Arc, thread, time::Duration};

use recording::IoGroup;
use workload::{Job, Limits, Load, Op, Request, RequestStream, Waiting};

use crate::{
    clock::Clock, message::ThreadContext, meter::Meter, offered::Offered, queue_pair::QueuePair,
    target::Target,
};

/// What one load thread is to do.
pub(crate) struct ThreadSpec {
    pub(crate) job: Arc<Job>,
    pub(crate) target: Arc<Target>,
    pub(crate) stream: RequestStream,
    /// Its number among the threads of the job.
    pub(crate) number: u32,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) cpu: Option<usize>,
    pub(crate) poll: bool,
    pub(crate) sqpoll: bool,
    pub(crate) reap_min: u32,
    pub(crate) huge_pages: bool,
    /// Reads end in a GPU's memory.
    pub(crate) gpu: bool,
    pub(crate) drain_timeout: Duration,
    pub(crate) seed: u64,
    pub(crate) context: ThreadContext,
}

/// Runs the thread's job and drains; the record, and the queues for what they hold.
pub(crate) fn drive<Q: QueuePair>(spec: &ThreadSpec, queues: Q, clock: Clock) -> (Meter, Q) {
    let iodepth = spec.job.load.iodepth() as u16;
    let stream = spec.stream.clone();
    let mut driver = Driver::new(queues, stream, iodepth, spec.limits, clock, &spec.context);
    driver.reap_min = spec.reap_min.max(1) as usize;
    driver.batch = BATCH.max(driver.reap_min);
    if driver.exhausted() {
        driver.stream.leave();
    }
    let ended = match (spec.job.load, spec.job.pace.think_ns, spec.stream.waiting()) {
        (_, _, Some(trace)) => driver.waiting(trace),
        (Load::Closed { .. }, 0, None) => driver.closed(),
        (Load::Closed { .. }, think_ns, None) => driver.thinking(think_ns),
        (Load::Open { .. }, _, None) => driver.open(),
    };
    let ends_all = driver.exhausted() && driver.meter.end_others();
    if !ends_all {
        driver.stream.leave();
    }
    let drained = driver.drain(spec.drain_timeout);
    if let Err(error) = ended.and(drained) {
        driver.meter.give_up(format!("the load failed: {error}"));
    }
    driver.count_lost();
    driver.meter.summary.remarks = driver.queues.remarks();
    driver.meter.summary.notes = driver.queues.notes();
    (driver.meter, driver.queues)
}

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

const EMPTY_GROUP: IoGroup = IoGroup {
    op: Op::Read,
    service_ns: 0,
    bytes: 0,
    n: 0,
};

/// How long the first request of a batch may wait for the last. On a virtio disk submitting one takes 4 us. There,
/// rounds sent whole made it wait 60 us and lowered the rate at iodepth 32 by an eighth; 12 to 32 us cost nothing.
const HOLD_NS: u64 = 20_000;
/// How soon a thread looks again at a request that waits for those of other threads.
const HELD_NS: u64 = 5_000;
/// Requests in the first batch, which shows what submitting one costs.
const BATCH: usize = 8;
/// Fewest requests in a batch: a system call for each would cost more than the wait.
const LEAST_BATCH: usize = 4;

/// The loop's state. `queues` and `meter` outlive it.
struct Driver<Q> {
    queues: Q,
    stream: RequestStream,
    slots: Box<[Slot]>,
    /// Where threads share a trace, the mark of each slot's request; else empty.
    marks: Box<[u32]>,
    /// Free slots, a stack of `free_len`. What lies above was handed out last.
    free: Box<[u16]>,
    free_len: usize,
    /// Requests queued since the last were sent: the slots handed out last.
    unsent: usize,
    /// Requests to send at once.
    batch: usize,
    left: Limits,
    issued: u64,
    reap_min: usize,
    clock: Clock,
    meter: Meter,
}

impl<Q: QueuePair> Driver<Q> {
    fn new(
        queues: Q,
        stream: RequestStream,
        iodepth: u16,
        limits: Limits,
        clock: Clock,
        context: &ThreadContext,
    ) -> Self {
        let idle = Slot {
            issued_ns: 0,
            arrival_ns: 0,
            request: NOTHING,
        };
        let marks = match stream.shares_trace() {
            true => vec![0; usize::from(iodepth)].into(),
            false => Box::default(),
        };
        Self {
            queues,
            stream,
            marks,
            slots: vec![idle; usize::from(iodepth)].into(),
            free: (0..iodepth).rev().collect(),
            free_len: usize::from(iodepth),
            unsent: 0,
            batch: BATCH,
            left: limits,
            issued: 0,
            reap_min: 1,
            clock,
            meter: Meter::new(context.clone(), limits.time_ns),
        }
    }

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free_len
    }

    fn exhausted(&self) -> bool {
        self.left.is_spent() || self.stream.is_over() || self.queues.is_over()
    }

    /// Returns whether a request can be issued, in a slot that is free.
    #[inline(always)]
    fn takes_more(&self) -> bool {
        !self.exhausted() && !self.stream.is_held() && self.queues.is_ready()
    }

    /// Returns whether the next request waits for others of the trace.
    #[inline(always)]
    fn is_held(&self) -> bool {
        (!self.marks.is_empty() || self.stream.is_in_step())
            && !self.exhausted()
            && self.stream.is_held()
    }

    /// Returns the next request, for the slot that is handed out next.
    #[inline(always)]
    fn next_request(&mut self) -> Request {
        if !self.marks.is_empty() {
            let slot = self.free[self.free_len - 1];
            self.marks[usize::from(slot)] = self.stream.next_mark();
        }
        self.stream.next_request()
    }

    /// Waits for requests of other threads that the next one waits for, or for an own one. With none out there is
    /// nothing to look for, and another thread may need the core.
    fn wait_for_others(&mut self) -> io::Result<()> {
        if self.in_flight() == 0 {
            thread::yield_now();
            return Ok(());
        }
        self.queues.submit_until(self.clock.now_ns() + HELD_NS)
    }

    /// Notes in the stream which requests have returned since `free_before` slots were free.
    #[inline(always)]
    fn note_returned(&self, free_before: usize, now_ns: u64) {
        if self.marks.is_empty() {
            return;
        }
        for &slot in &self.free[free_before..self.free_len] {
            let mark = self.marks[usize::from(slot)];
            self.stream.returned(mark, now_ns);
        }
    }

    /// Keeps `iodepth` in flight at all times.
    fn closed(&mut self) -> io::Result<()> {
        loop {
            while self.free_len > 0 && self.takes_more() {
                let request = self.next_request();
                self.push(request, 0)?;
            }
            self.stamp();
            if self.in_flight() == 0 && self.exhausted() {
                self.cut_last(None);
                return Ok(());
            }
            let returned = if self.free_len > 0 && self.is_held() {
                if self.stream.pause_ns() > 0 && self.rest()? {
                    return Ok(());
                }
                self.wait_for_others()?;
                true
            } else {
                self.queues.submit(self.reap_min.min(self.in_flight()))?
            };
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            if returned {
                let free_before = self.free_len;
                self.reap::<false>(now_ns);
                self.note_returned(free_before, now_ns);
            }
        }
    }

    /// Runs as `closed`, but each of the `iodepth` pauses between a completion and its next request.
    fn thinking(&mut self, think_ns: u64) -> io::Result<()> {
        let mut ready_ns = VecDeque::from(vec![0; self.slots.len()]);
        loop {
            let now_ns = self.clock.now_ns();
            while ready_ns.front().is_some_and(|&at_ns| at_ns <= now_ns) && self.takes_more() {
                ready_ns.pop_front();
                let request = self.stream.next_request();
                self.push(request, 0)?;
            }
            self.stamp();
            if self.exhausted() && self.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            match ready_ns.front() {
                Some(&at_ns) if self.takes_more() => self.queues.submit_until(at_ns)?,
                _ => {
                    self.queues.submit(1)?;
                }
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

    /// Issues a trace whose I/Os wait for others.
    fn waiting(&mut self, mut trace: Waiting) -> io::Result<()> {
        let mut rows = vec![0; self.slots.len()];
        loop {
            let now_ns = self.clock.now_ns();
            while self.free_len > 0 && self.takes_more() {
                let Some((row, _, request)) = trace.take_due(now_ns) else {
                    break;
                };
                rows[usize::from(self.free[self.free_len - 1])] = row;
                self.push(request, 0)?;
            }
            self.stamp();
            let over = self.exhausted() || trace.left() == 0;
            if over && self.in_flight() == 0 {
                self.cut_last(None);
                return Ok(());
            }
            match trace.next_due_ns() {
                Some(at_ns) if self.free_len > 0 && self.takes_more() => {
                    self.queues.submit_until(at_ns)?;
                }
                _ => {
                    self.queues.submit(1)?;
                }
            }
            let now_ns = self.clock.now_ns();
            if self.meter.is_due(now_ns) && self.look_up(now_ns, None) {
                return Ok(());
            }
            let free_before = self.free_len;
            self.reap::<false>(now_ns);
            for &slot in &self.free[free_before..self.free_len] {
                trace.returned(rows[usize::from(slot)], now_ns, |_| {});
            }
        }
    }

    /// Requests arrive on their own clock; those that find no free slot wait in the backlog.
    fn open(&mut self) -> io::Result<()> {
        let mut offered = Offered::new(&self.stream, self.left.count);
        let ended = self.issue_on_arrival(&mut offered);
        self.meter.summary.uncounted_ns = offered.uncounted_ns();
        ended
    }

    fn issue_on_arrival(&mut self, offered: &mut Offered) -> io::Result<()> {
        let mut arrival_ns = self.stream.next_arrival_ns();
        let mut waited_for_slot = false;
        loop {
            let now_ns = self.clock.now_ns();
            while arrival_ns <= now_ns && self.free_len > 0 && self.takes_more() {
                let request = self.next_request();
                self.push(request, arrival_ns)?;
                if !waited_for_slot {
                    self.meter.summary.lateness.0 += 1;
                    self.meter.summary.lateness.1 += now_ns - arrival_ns;
                }
                arrival_ns = self.stream.next_arrival_ns();
            }
            self.stamp();
            let held = arrival_ns <= now_ns && self.is_held();
            waited_for_slot = self.free_len == 0 || held || !self.queues.is_ready();
            if self.exhausted() && self.in_flight() == 0 {
                self.cut_last(Some(offered));
                return Ok(());
            }
            if self.free_len > 0 && held {
                self.wait_for_others()?;
            } else if self.free_len == 0 || self.exhausted() || !self.queues.is_ready() {
                self.queues.submit(1)?;
            } else {
                self.queues.submit_until(arrival_ns)?;
            }
            let now_ns = self.clock.now_ns();
            offered.advance(now_ns.min(self.meter.due_ns));
            if self.meter.is_due(now_ns) && self.look_up(now_ns, Some(offered)) {
                return Ok(());
            }
            let free_before = self.free_len;
            self.reap::<true>(now_ns);
            self.note_returned(free_before, now_ns);
        }
    }

    /// Waits for what is in flight without counting it, for a bounded time.
    fn drain(&mut self, timeout: Duration) -> io::Result<()> {
        let give_up_ns = self.clock.now_ns() + timeout.as_nanos() as u64;
        while self.in_flight() > 0 && self.clock.now_ns() < give_up_ns && !self.meter.is_abandoned()
        {
            self.queues.submit(1)?;
            while let Some((slot, result)) = self.queues.next() {
                let request = &self.slots[usize::from(slot)].request;
                // Neither good nor bad is counted any more; the queues still hear of it.
                let _ = self.queues.settle(slot, request, result);
                self.free[self.free_len] = slot;
                self.free_len += 1;
            }
        }
        Ok(())
    }

    /// Counts what is still in flight as lost.
    fn count_lost(&mut self) {
        let oldest = oldest(&self.slots, &self.free[..self.free_len]);
        let age_ns = oldest.map(|(.., issued_ns)| self.clock.now_ns().saturating_sub(issued_ns));
        self.meter.summary.lost = self.in_flight() as u64;
        self.meter.summary.lost_age_ns = age_ns.unwrap_or_default();
    }

    /// Queues a request in a free slot.
    #[inline(always)]
    fn push(&mut self, mut request: Request, arrival_ns: u64) -> io::Result<()> {
        self.left.spend(request.size_bytes);
        self.free_len -= 1;
        let index = self.free[self.free_len];
        self.queues.queue(&mut request, index)?;
        let slot = &mut self.slots[usize::from(index)];
        slot.arrival_ns = arrival_ns;
        slot.request = request;
        self.unsent += 1;
        if self.unsent == self.batch && self.free_len > 0 {
            self.send()?;
        }
        Ok(())
    }

    /// Stamps what is unsent with the time of issue, which is returned.
    #[inline(always)]
    fn stamp(&mut self) -> u64 {
        let issued_ns = self.clock.now_ns();
        for &index in &self.free[self.free_len..][..self.unsent] {
            self.slots[usize::from(index)].issued_ns = issued_ns;
        }
        if self.unsent > 0 {
            let last = usize::from(self.free[self.free_len]);
            self.meter.issuing(self.slots[last].request.op, issued_ns);
        }
        self.issued += self.unsent as u64;
        self.unsent = 0;
        issued_ns
    }

    /// Sends a batch on its way, and finds the next one's length by what this one took. One that returns with
    /// everything in flight was completed within the call: until the next look up, rounds are sent whole.
    fn send(&mut self) -> io::Result<()> {
        let sent = self.unsent as u64;
        let issued_ns = self.stamp();
        if self.queues.send()? >= self.in_flight() {
            self.batch = usize::MAX;
        } else {
            let request_ns = (self.clock.now_ns() - issued_ns) / sent;
            let held = (HOLD_NS / request_ns.max(1)) as usize;
            self.batch = held.max(LEAST_BATCH).max(self.reap_min);
        }
        Ok(())
    }

    /// Counts every completion there is, all at `now_ns`. Those that were issued together share a latency under closed
    /// load, and are counted together.
    #[inline(always)]
    fn reap<const OPEN: bool>(&mut self, now_ns: u64) {
        let mut group = EMPTY_GROUP;
        while let Some((index, result)) = self.queues.next() {
            let slot = &self.slots[usize::from(index)];
            self.free[self.free_len] = index;
            self.free_len += 1;
            let Request { op, size_bytes, .. } = slot.request;
            let service_ns = now_ns - slot.issued_ns;
            let bytes = u64::from(size_bytes);
            if let Err(error) = self.queues.settle(index, &slot.request, result) {
                let place = (slot.request.offset_bytes, size_bytes);
                self.meter.fail(op, place, error, service_ns);
            } else if OPEN {
                let response_ns = now_ns - slot.arrival_ns;
                self.meter
                    .recorder
                    .record_open(op, service_ns, response_ns, bytes);
            } else if service_ns == group.service_ns && op == group.op {
                group.n += 1;
                group.bytes += bytes;
            } else {
                self.meter.recorder.record_group(group);
                group = IoGroup {
                    op,
                    service_ns,
                    bytes,
                    n: 1,
                };
            }
        }
        self.meter.recorder.record_group(group);
    }

    /// Cuts the intervals that are due; whether the run is over.
    #[cold]
    fn look_up(&mut self, now_ns: u64, mut offered: Option<&mut Offered>) -> bool {
        self.batch = BATCH.max(self.reap_min);
        self.meter.set_idle(self.queues.idle_ns());
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
        self.meter.set_idle(self.queues.idle_ns());
        let (now_ns, issued) = (self.clock.now_ns(), self.issued);
        let (slots, free) = (&self.slots, &self.free[..self.free_len]);
        let is_open = offered.is_some();
        let each = busy(slots, free).map(|slot| {
            let arrival_ns = is_open.then_some(slot.arrival_ns);
            (slot.request.op, slot.issued_ns, arrival_ns)
        });
        self.meter.note_in_flight(now_ns, each);
        let age_ns = |at_ns| age_of_busy(slots, free, at_ns);
        self.meter.cut_last(now_ns, age_ns, |at_ns| {
            Some(offered.as_mut()?.report(at_ns, issued))
        });
    }
}

/// Slots of I/O in flight.
fn busy<'s>(slots: &'s [Slot], free: &[u16]) -> impl Iterator<Item = &'s Slot> {
    let mut busy = vec![true; slots.len()];
    free.iter()
        .for_each(|&index| busy[usize::from(index)] = false);
    let each = slots.iter().zip(busy);
    each.filter(|(_, busy)| *busy).map(|(slot, _)| slot)
}

/// Returns the I/O in flight that was issued first.
fn oldest(slots: &[Slot], free: &[u16]) -> Option<(Op, u64, u32, u64)> {
    let slot = busy(slots, free).min_by_key(|slot| slot.issued_ns)?;
    let Request {
        op,
        offset_bytes,
        size_bytes,
        ..
    } = slot.request;
    Some((op, offset_bytes, size_bytes, slot.issued_ns))
}

/// Returns the summed age at `at_ns` of the I/O in flight: of all slots less that of the free ones.
fn age_of_busy(slots: &[Slot], free: &[u16], at_ns: u64) -> u64 {
    let age = |slot: &Slot| at_ns.saturating_sub(slot.issued_ns);
    let all: u64 = slots.iter().map(age).sum();
    let idle: u64 = free
        .iter()
        .map(|&index| age(&slots[usize::from(index)]))
        .sum();
    all - idle
}
