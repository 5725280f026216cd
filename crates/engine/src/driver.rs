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

mod accounts;
mod held;
mod loops;
mod slots;
#[cfg(test)]
mod tests;

use std::{io, sync::Arc, time::Duration};

use recording::IoGroup;
use workload::{Job, Limits, Load, Op, Request, RequestStream};

use self::slots::Slots;
use crate::{
    clock::Clock, message::ThreadContext, meter::Meter, queue_pair::QueuePair, target::Target,
};

/// What one load thread is to do.
pub(crate) struct ThreadSpec {
    pub(crate) job: Arc<Job>,
    /// What all threads of the target do together: the job itself, or the one that has it as a stream.
    pub(crate) whole: Arc<Job>,
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
    /// What its data begin with.
    pub(crate) seed: u64,
    /// What is drawn for each request beside the stream begins with it: the same in every run of a seed.
    pub(crate) draw_seed: u64,
    pub(crate) context: ThreadContext,
}

/// Runs the thread's job and drains; the record, and the queues for what they hold.
pub(crate) fn drive<Q: QueuePair>(spec: &ThreadSpec, queues: Q, clock: Clock) -> (Meter, Q) {
    let iodepth = spec.job.load.iodepth() as u16;
    let stream = spec.stream.clone();
    let mut driver = Driver::new(queues, stream, iodepth, spec.limits, clock, &spec.context);
    driver.reap_min = spec.reap_min.max(1) as usize;
    driver.batch = BATCH.max(driver.reap_min);
    if spec.context.shared.stopped() {
        driver.left.count = 0;
    }
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
    driver.hear_queues();
    (driver.meter, driver.queues)
}

const EMPTY_GROUP: IoGroup = IoGroup {
    op: Op::Read,
    service_ns: 0,
    bytes: 0,
    n: 0,
};

/// How long the first request of a batch may wait for the last. On a virtio disk submitting one takes 4 us. There,
/// rounds sent whole made it wait 60 us and lowered the rate at iodepth 32 by an eighth; 12 to 32 us cost nothing.
const HOLD_NS: u64 = 20_000;
/// Requests in the first batch, which shows what submitting one costs.
const BATCH: usize = 8;
/// Fewest requests in a batch: a system call for each would cost more than the wait.
const LEAST_BATCH: usize = 4;

/// The loop's state. `queues` and `meter` outlive it.
struct Driver<Q> {
    queues: Q,
    stream: RequestStream,
    slots: Slots,
    /// Where threads share a trace, the mark of each slot's request; else empty.
    marks: Box<[u32]>,
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
        let marks = match stream.shares_trace() {
            true => vec![0; usize::from(iodepth)].into(),
            false => Box::default(),
        };
        Self {
            queues,
            stream,
            marks,
            slots: Slots::new(iodepth),
            unsent: 0,
            batch: BATCH,
            left: limits,
            issued: 0,
            reap_min: 1,
            clock,
            meter: Meter::new(context.clone(), limits.time_ns),
        }
    }

    fn exhausted(&self) -> bool {
        self.left.is_spent() || self.stream.is_over() || self.queues.is_over()
    }

    /// Returns whether a request can be issued, in a slot that is free.
    #[inline(always)]
    fn takes_more(&self) -> bool {
        !self.exhausted() && !self.stream.is_held() && self.queues.is_ready()
    }

    /// Waits for what is in flight without counting it, for a bounded time.
    fn drain(&mut self, timeout: Duration) -> io::Result<()> {
        let give_up_ns = self.clock.now_ns() + timeout.as_nanos() as u64;
        while self.slots.in_flight() > 0
            && self.clock.now_ns() < give_up_ns
            && !self.meter.is_abandoned()
        {
            self.queues.submit(1)?;
            while let Some((slot, result)) = self.queues.next() {
                let request = &self.slots.get(slot).request;
                // Neither good nor bad is counted any more; the queues still hear of it.
                let _ = self.queues.settle(slot, request, result);
                self.slots.free_up(slot);
            }
        }
        Ok(())
    }

    /// Queues a request in a free slot.
    #[inline(always)]
    fn push(&mut self, mut request: Request, arrival_ns: u64) -> io::Result<()> {
        self.left.spend(request.size_bytes);
        let index = self.slots.take();
        self.queues.queue(&mut request, index)?;
        self.slots.fill(index, request, arrival_ns);
        self.unsent += 1;
        if self.unsent == self.batch && self.slots.free() > 0 {
            self.send()?;
        }
        Ok(())
    }

    /// Stamps what is unsent with the time of issue, which is returned.
    #[inline(always)]
    fn stamp(&mut self) -> u64 {
        let issued_ns = self.clock.now_ns();
        if let Some(last) = self.slots.stamp(self.unsent, issued_ns) {
            self.meter.issuing(last, issued_ns);
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
        if self.queues.send()? >= self.slots.in_flight() {
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
            self.slots.free_up(index);
            let slot = self.slots.get(index);
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
}
