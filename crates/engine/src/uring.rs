//! The load loop on io_uring. One thread, one ring, `iodepth` slots.
//!
//! A round fills every free slot from the request stream, reads the clock, submits and waits in one
//! system call, reads the clock, and counts every completion there is. Per I/O that leaves: one
//! request drawn, one 64-byte entry written, one completion read, one histogram bin counted.
//! A tick (a timeout entry every 20 ms) wakes a thread whose I/O does not return, so the stop flag
//! and the interval's end are seen without a timer or a system call of their own.

use std::{collections::VecDeque, io, iter, mem, path::Path, sync::Arc, time::Duration};

use io_uring::{
    CompletionQueue, SubmissionQueue, Submitter, cqueue, opcode, squeue,
    types::{SubmitArgs, Timespec},
};
use workload::{Job, Limits, Load, Op, Pattern, Request, RequestStream};

use crate::{
    EngineError, TargetKind, TargetSetup,
    affinity::pin_to,
    buffers::Buffers,
    clock::Clock,
    journal::Journal,
    lane::{Meter, Offered, Post, TICK_NS},
    nvme::Commands,
    protocol::Protocol,
    ring::{Ring, Wishes, register_ring_fd},
    submission::{Encoder, discard},
    target::Target,
    verify::{Checked, MISMATCH},
    zones::{Layer, Part},
};

/// Completion tag of the tick.
const TICK: u64 = u64::MAX;
/// Completion tag of a probe before the run.
const PROBE: u64 = u64::MAX - 1;
/// Open load: a thread sleeps until this long before the next arrival, then spins. Waking up takes
/// tens of microseconds; arrivals closer than this never sleep.
const SPIN_NS: u64 = 50_000;
/// How often room in a full submission ring is waited for: a wait that a signal ends early is repeated.
const MOST_WAITS: usize = 1000;

/// What one load thread is to do.
pub(crate) struct Lane {
    pub(crate) job: Arc<Job>,
    pub(crate) target: Arc<Target>,
    pub(crate) stream: RequestStream,
    pub(crate) limits: Limits,
    pub(crate) clock: Clock,
    pub(crate) cpu: Option<usize>,
    pub(crate) poll: bool,
    pub(crate) sqpoll: bool,
    pub(crate) reap_min: u32,
    pub(crate) huge_pages: bool,
    pub(crate) drain_timeout: Duration,
    pub(crate) seed: u64,
    pub(crate) post: Post,
}

/// The body of a load thread: sets up, waits for the start, runs, drains, reports.
pub(crate) fn run(lane: Lane) {
    let target = Arc::clone(&lane.target);
    let facts = (&target.namespace, &target.zoned, lane.job.content.verify);
    match facts {
        (None, None, None) => run_with(&lane, plain),
        (None, None, Some(_)) => run_with(&lane, |l, r| checked(l, plain(l, r)?)),
        (Some(_), None, None) => run_with(&lane, passthrough),
        (Some(_), None, Some(_)) => run_with(&lane, |l, r| checked(l, passthrough(l, r)?)),
        (None, Some(_), None) => run_with(&lane, |l, r| zoned(l, plain(l, r)?)),
        (None, Some(_), Some(_)) => run_with(&lane, |l, r| zoned(l, checked(l, plain(l, r)?)?)),
        (Some(_), Some(_), None) => run_with(&lane, |l, r| zoned(l, passthrough(l, r)?)),
        (Some(_), Some(_), Some(_)) => {
            run_with(&lane, |l, r| zoned(l, checked(l, passthrough(l, r)?)?))
        }
    }
}

/// `run` in the protocol that `make` makes.
fn run_with<P: Protocol>(
    lane: &Lane,
    make: impl FnOnce(&Lane, &mut Ring<P>) -> Result<P, EngineError>,
) {
    let (mut ring, buffers, encoder) = match set_up(lane, make) {
        Ok((ring, buffers, encoder, setup)) => {
            lane.post.ready(Ok(setup));
            (ring, buffers, encoder)
        }
        Err(error) => return lane.post.ready(Err(error)),
    };
    let Some(clock) = lane.post.shared.wait_for_start(lane.clock) else {
        return;
    };
    let (meter, buffers, encoder) = drive(lane, &mut ring, buffers, encoder, clock);
    if meter.summary.lost == 0 {
        ring.unregister();
        drop((ring, buffers, encoder));
    } else {
        // The kernel may still write to the buffers of I/O that has not returned.
        mem::forget((buffers, encoder));
    }
    meter.finish();
}

/// Runs the job and drains; what is left is the record and the memory that I/O may refer to.
fn drive<P: Protocol>(
    lane: &Lane,
    ring: &mut Ring<P>,
    buffers: Buffers,
    encoder: P,
    clock: Clock,
) -> (Meter, Buffers, P) {
    let mut driver = Driver::new(lane, ring, buffers, encoder, clock);
    let ended = match (lane.job.load, lane.job.pace.think_ns) {
        (Load::Closed { .. }, 0) => driver.closed(),
        (Load::Closed { .. }, think_ns) => driver.thinking(think_ns),
        (Load::Open { .. }, _) => driver.open(),
    };
    let drained = driver.drain(lane.drain_timeout);
    if let Err(error) = ended.and(drained) {
        driver.meter.give_up(format!("io_uring failed: {error}"));
    }
    driver.meter.summary.lost = driver.in_flight() as u64;
    driver.meter.summary.notes = driver.encoder.notes();
    (driver.meter, driver.buffers, driver.encoder)
}

fn no_ring(error: io::Error) -> EngineError {
    EngineError::NoRing {
        reason: error.to_string(),
    }
}

fn set_up<P: Protocol>(
    lane: &Lane,
    make: impl FnOnce(&Lane, &mut Ring<P>) -> Result<P, EngineError>,
) -> Result<(Ring<P>, Buffers, P, TargetSetup), EngineError> {
    let (job, target) = (&*lane.job, &*lane.target);
    let mut notes = Vec::new();
    if let Some(Err(error)) = lane.cpu.map(pin_to) {
        notes.push(format!(
            "a load thread could not be pinned to its core: {error}"
        ));
    }
    let only_moves_data = job
        .mix
        .ops
        .iter()
        .all(|b| matches!(b.op, Op::Read | Op::Write));
    let poll = lane.poll && target.pollable && only_moves_data;
    let iodepth = job.load.iodepth();
    let wishes = Wishes {
        poll,
        spin: matches!(job.load, Load::Open { .. }) || job.pace.think_ns > 0,
        sqpoll: lane.sqpoll,
    };
    let mut ring = Ring::new(iodepth, wishes).map_err(no_ring)?;
    let slots = if target.spec.kind == TargetKind::Null {
        0
    } else {
        iodepth
    };
    let buffers = Buffers::new(job, slots, lane.seed, lane.huge_pages)?;
    ring.register(target.fd(), &buffers).map_err(no_ring)?;
    let encoder = make(lane, &mut ring)?;
    notes.append(&mut ring.notes);
    notes.extend(target.placement_note(job));
    let setup = TargetSetup {
        backend: "io_uring".into(),
        ring: ring.features.clone(),
        registered_buffers: ring.registered_buffers,
        huge_pages: buffers.pages.name().into(),
        direct: target.direct,
        poll,
        notes,
        ..TargetSetup::default()
    };
    Ok((ring, buffers, encoder, setup))
}

/// Reads and writes through the kernel's block and file layers.
fn plain<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    lane: &Lane,
    ring: &mut Ring<P>,
) -> Result<Encoder, EngineError> {
    let (job, target) = (&*lane.job, &*lane.target);
    let trims_device =
        target.spec.kind == TargetKind::BlockDevice && job.mix.ops.iter().any(|b| b.op == Op::Trim);
    let discard_command = trims_device && knows_discard(ring).map_err(no_ring)?;
    if trims_device && !discard_command {
        ring.notes.push("trim is done by punching holes: this kernel has no discard command for io_uring (Linux 6.12)".into());
    }
    Ok(Encoder {
        kind: target.spec.kind,
        registered_buffers: ring.registered_buffers,
        discard_command,
        write_streams: target.sends_write_streams(job),
    })
}

/// NVMe commands to a generic device.
fn passthrough<P: Protocol>(lane: &Lane, ring: &mut Ring<P>) -> Result<Commands, EngineError> {
    let target = &*lane.target;
    let Some(namespace) = &target.namespace else {
        return Err(no_ring(io::Error::other("the target is no NVMe namespace")));
    };
    Ok(Commands::new(
        namespace,
        &target.placement_ids,
        &lane.job,
        ring.registered_buffers,
    ))
}

/// Blocks that describe themselves, over `below`.
fn checked<P: Protocol>(lane: &Lane, below: P) -> Result<Checked<P>, EngineError> {
    let (job, thread) = (&*lane.job, lane.post.member);
    let journal = match (&job.journal, job.content.verify) {
        (Some(directory), Some(verify)) => {
            let (directory, target) = (Path::new(directory), &lane.target.spec.path);
            Some(Journal::create(
                directory, target, thread, verify, lane.clock,
            )?)
        }
        _ => None,
    };
    Ok(Checked::new(below, job, thread, lane.clock, journal))
}

/// The rules of zones over `below`.
fn zoned<P: Protocol>(lane: &Lane, below: P) -> Result<Layer<P>, EngineError> {
    let (job, target) = (&*lane.job, &*lane.target);
    let Some(device) = &target.zoned else {
        return Err(no_ring(io::Error::other("the target has no zones")));
    };
    let stream_error = |source| EngineError::Stream {
        path: target.spec.path.clone(),
        source,
    };
    let part = match job.pattern {
        Pattern::Zones { open } => Some(Part {
            region: job.region.resolve(target.geometry).map_err(stream_error)?,
            thread: lane.post.member as u32,
            threads: job.load.threads(),
            open,
            iodepth: job.load.iodepth(),
            writes: job.mix.ops.iter().any(|block| block.op.is_destructive()),
            ordered: job.mix.ops.iter().any(|block| block.op == Op::Write),
        }),
        _ => None,
    };
    Layer::new(below, device, part, job.load.iodepth())
}

/// Asks for a discard of nothing: refused as invalid where the command exists, as unsupported
/// where it does not.
fn knows_discard<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    ring: &mut Ring<P>,
) -> io::Result<bool> {
    // SAFETY: the entry refers to no memory.
    let pushed = unsafe { ring.io.submission().push(&discard(0, 0).user_data(PROBE)) };
    pushed.map_err(io::Error::other)?;
    ring.io.submit_and_wait(1)?;
    let result = ring
        .io
        .completion()
        .next()
        .map(|completion| completion.result());
    Ok(result == Some(-libc::EINVAL))
}

/// One I/O in flight.
#[derive(Clone, Copy)]
struct Slot {
    issued_ns: u64,
    arrival_ns: u64,
    offset_bytes: u64,
    size_bytes: u32,
    op: Op,
    /// Whether a success tells its bytes; else 0.
    tells_bytes: bool,
}

// Half a cache line: two slots share one, none straddles two.
const _: () = assert!(mem::size_of::<Slot>() == 32);

impl Slot {
    /// The completion's result when all went well.
    #[inline(always)]
    fn success(&self) -> i32 {
        if self.tells_bytes {
            self.size_bytes as i32
        } else {
            0
        }
    }
}

struct Driver<'r, P: Protocol> {
    submitter: Submitter<'r>,
    submissions: SubmissionQueue<'r, P::Entry>,
    completions: CompletionQueue<'r, P::Completion>,
    encoder: P,
    buffers: Buffers,
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
    meter: Meter,
}

impl<'r, P: Protocol> Driver<'r, P> {
    fn new(lane: &Lane, ring: &'r mut Ring<P>, buffers: Buffers, encoder: P, clock: Clock) -> Self {
        let iodepth = lane.job.load.iodepth() as u16;
        let idle = Slot {
            issued_ns: 0,
            arrival_ns: 0,
            offset_bytes: 0,
            size_bytes: 0,
            op: Op::Read,
            tells_bytes: false,
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

    fn in_flight(&self) -> usize {
        self.slots.len() - self.free_len
    }

    fn exhausted(&self) -> bool {
        self.left.count == 0 || self.left.bytes == 0
    }

    /// `iodepth` in flight at all times.
    fn closed(&mut self) -> io::Result<()> {
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
    fn thinking(&mut self, think_ns: u64) -> io::Result<()> {
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
    fn open(&mut self) -> io::Result<()> {
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
    fn drain(&mut self, timeout: Duration) -> io::Result<()> {
        let give_up_ns = self.clock.now_ns() + timeout.as_nanos() as u64;
        while self.in_flight() > 0 && self.clock.now_ns() < give_up_ns {
            self.submit(1)?;
            for completion in &mut self.completions {
                match P::outcome(&completion) {
                    (TICK, _) => self.tick_armed = false,
                    (slot, result) => {
                        let succeeded = result == self.slots[slot as usize].success();
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
    fn push(&mut self, request: Request, arrival_ns: u64) -> io::Result<()> {
        self.left.count -= 1;
        self.left.bytes = self
            .left
            .bytes
            .saturating_sub(u64::from(request.size_bytes));
        if self.submissions.is_full() {
            self.make_room()?;
        }
        self.free_len -= 1;
        let index = self.free[self.free_len];
        let queued = self
            .encoder
            .queue(&request, index, &mut self.buffers, &mut self.submissions);
        let success = queued.map_err(io::Error::other)?;
        let slot = &mut self.slots[usize::from(index)];
        slot.arrival_ns = arrival_ns;
        slot.offset_bytes = request.offset_bytes;
        slot.size_bytes = request.size_bytes;
        slot.tells_bytes = success != 0;
        slot.op = request.op;
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

    /// Counts every completion there is, all at `now_ns`.
    #[inline(always)]
    fn reap<const OPEN: bool>(&mut self, now_ns: u64) {
        for completion in &mut self.completions {
            let (tag, result) = P::outcome(&completion);
            if tag == TICK {
                self.tick_armed = false;
                continue;
            }
            let slot = &self.slots[tag as usize];
            self.free[self.free_len] = tag as u16;
            self.free_len += 1;
            let service_ns = now_ns - slot.issued_ns;
            let bytes = u64::from(slot.size_bytes);
            let returned = result == slot.success();
            let good = self.encoder.settle(tag as u16, returned, &self.buffers);
            if !good {
                let error = if returned { MISMATCH } else { result };
                let place = (slot.offset_bytes, slot.size_bytes);
                self.meter.fail(slot.op, place, error, service_ns);
            } else if OPEN {
                let response_ns = now_ns - slot.arrival_ns;
                self.meter
                    .recorder
                    .record_open(slot.op, service_ns, response_ns, bytes);
            } else {
                self.meter.recorder.record(slot.op, service_ns, bytes);
            }
        }
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
    Some((slot.op, slot.offset_bytes, slot.size_bytes, slot.issued_ns))
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
