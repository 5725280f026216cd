//! The load loop where io_uring is not to be had: one thread per outstanding I/O, each doing
//! `pread` and `pwrite`. The `iodepth` threads of a load thread draw from one request stream behind a lock. So the I/O
//! is the same as io_uring's; the cost per I/O is not, and the setup says so.

use std::{
    collections::BTreeSet,
    io, iter,
    os::fd::RawFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use workload::{Job, Limits, Load, Op, Pattern, Request, RequestStream, Waiting, name_ops};

use crate::{
    Options, TargetKind, TargetSetup, affinity::pinned, buffers::Buffers, clock::Clock,
    gate::TICK_NS, message::ThreadContext, meter::Meter, offered::Offered, target::Target,
};

/// `BLKDISCARD` and `BLKZEROOUT` of `linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;
const BLKZEROOUT: libc::c_ulong = 0x127f;
const KEEP_SIZE: libc::c_int = libc::FALLOC_FL_KEEP_SIZE;

/// How soon a thread looks again for I/Os that wait for others: one of another thread may return.
const LOOK_NS: u64 = 50_000;

/// What one I/O thread is to do.
pub(crate) struct Worker {
    pub(crate) job: Arc<Job>,
    pub(crate) target: Arc<Target>,
    /// Shared by the `iodepth` threads of a load thread.
    pub(crate) source: Arc<Source>,
    /// Its number among those.
    pub(crate) place: u32,
    /// What of the job is not done.
    pub(crate) notes: Vec<String>,
    pub(crate) clock: Clock,
    pub(crate) end_ns: u64,
    pub(crate) cpu: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) fallback: Option<String>,
    pub(crate) context: ThreadContext,
}

/// Requests of one load thread.
#[derive(Debug)]
pub(crate) struct Source {
    state: Mutex<SourceState>,
    /// Requests that threads have drawn and not counted yet.
    out: AtomicU32,
}

#[derive(Debug)]
struct SourceState {
    stream: RequestStream,
    offered: Offered,
    left: Limits,
    issued: u64,
    /// Threads that have not found everything drawn. The first of them reports arrivals and backlog for all.
    drawing: BTreeSet<u32>,
    /// A trace whose I/Os wait for others, in place of the stream.
    waiting: Option<Waiting>,
}

/// What a thread that leaves says of the arrivals.
#[derive(Debug, Default)]
struct LastReport {
    arrived: u64,
    backlog: u64,
    /// The time whose arrivals nobody will count.
    uncounted_ns: u64,
}

/// What a source has for a thread.
enum Drawn {
    /// A request, its arrival, and its number in a trace whose I/Os wait for others, or its mark in a shared one.
    Request(Request, u64, u32),
    /// Nothing before this time.
    Wait(u64),
    /// Nothing any more.
    Over,
}

impl Source {
    /// Returns the source of as many threads as `iodepth`.
    pub(crate) fn new(stream: RequestStream, limits: Limits, iodepth: u32) -> Self {
        Self {
            state: Mutex::new(SourceState {
                offered: Offered::new(&stream, limits.count),
                waiting: stream.waiting(),
                stream,
                left: limits,
                issued: 0,
                drawing: (0..iodepth).collect(),
            }),
            out: AtomicU32::new(0),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SourceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next request.
    fn next(&self, now_ns: u64) -> Drawn {
        let mut state = self.lock();
        let drawn = Self::draw(&mut state, now_ns);
        let is_one = matches!(drawn, Drawn::Request(..));
        self.out.fetch_add(u32::from(is_one), Ordering::Relaxed);
        drawn
    }

    fn draw(state: &mut SourceState, now_ns: u64) -> Drawn {
        let SourceState {
            stream,
            left,
            waiting,
            ..
        } = state;
        let Some(trace) = waiting else {
            if left.is_spent() {
                stream.leave();
                return Drawn::Over;
            }
            if stream.is_held() {
                return Drawn::Wait(now_ns.saturating_add(stream.pause_ns().max(LOOK_NS)));
            }
            let mark = stream.next_mark();
            let request = stream.next_request();
            left.spend(request.size_bytes);
            return Drawn::Request(request, stream.next_arrival_ns(), mark);
        };
        if left.is_spent() {
            return Drawn::Over;
        }
        let Some((row, due_ns, request)) = trace.take_due(now_ns) else {
            let look_ns = now_ns + LOOK_NS;
            return Drawn::Wait(
                trace
                    .next_due_ns()
                    .map_or(look_ns, |at_ns| at_ns.min(look_ns)),
            );
        };
        left.spend(request.size_bytes);
        Drawn::Request(request, due_ns, row)
    }

    /// Notes that a request has returned.
    fn returned(&self, row: u32, now_ns: u64) {
        let mut drawn = self.lock();
        match &mut drawn.waiting {
            Some(trace) => trace.returned(row, now_ns, |_| {}),
            None => drawn.stream.returned(row, now_ns),
        }
    }

    fn issued_one(&self) {
        self.lock().issued += 1;
    }

    /// Notes that a request has been counted.
    fn counted_one(&self) {
        self.out.fetch_sub(1, Ordering::Release);
    }

    /// Returns whether the whole volume has been counted.
    fn is_done(&self) -> bool {
        self.lock().left.is_spent() && self.out.load(Ordering::Acquire) == 0
    }

    /// Returns arrivals and backlog at a time: to one thread those of all, nothing to the others.
    fn report(&self, place: u32, at_ns: u64) -> (u64, u64) {
        let mut state = self.lock();
        let issued = state.issued;
        match state.drawing.first() == Some(&place) {
            true => state.offered.report(at_ns, issued),
            false => (0, 0),
        }
    }

    /// Takes in that a thread has ended, `over` where it found everything drawn. Others may wait for arrivals yet; one of
    /// them reports from then on.
    fn leave(&self, place: u32, at_ns: u64, over: bool) -> LastReport {
        let mut state = self.lock();
        let reports = state.drawing.first() == Some(&place);
        let goes_on = over && state.drawing.remove(&place) && !state.drawing.is_empty();
        if !reports {
            return LastReport::default();
        }
        let issued = state.issued;
        let (arrived, backlog) = state.offered.report(at_ns, issued);
        // What others have drawn and not issued yet is no backlog: they report after it.
        match goes_on {
            true => LastReport {
                arrived,
                ..LastReport::default()
            },
            false => LastReport {
                arrived,
                backlog,
                uncounted_ns: state.offered.uncounted_ns(),
            },
        }
    }
}

/// Returns what a job asks for that is not done without a ring, in words. `job` is one stream of `whole`, or all of it.
pub(crate) fn not_done(job: &Job, whole: &Job, target: &Target, options: &Options) -> Vec<String> {
    let placed = !job.placement.is_empty();
    let placement = target.placement_note(job).or_else(|| {
        placed.then(|| "placement handles are not sent: that needs io_uring".to_owned())
    });
    let sqpoll = options.sqpoll || whole.sqpoll;
    let huge_pages = options.huge_pages || whole.huge_pages;
    let reap = options.reap_min.max(job.pace.reap) > 1;
    let others = [
        (
            sqpoll,
            "SQPOLL was asked for and has no effect without io_uring",
        ),
        (huge_pages, "huge pages are not used without io_uring"),
        (
            reap,
            "reap has no effect without io_uring: each I/O is waited for by itself",
        ),
        (
            whole.gpu,
            "reads end in host memory, not in a GPU's as the job asks: that needs io_uring",
        ),
    ];
    let others = others.into_iter().filter(|(asked, _)| *asked);
    placement
        .into_iter()
        .chain(others.map(|(_, note)| note.to_owned()))
        .collect()
}

/// The body of an I/O thread.
pub(crate) fn run(mut worker: Worker) {
    let mut notes = std::mem::take(&mut worker.notes);
    let cpus = pinned(worker.cpu, &mut notes);
    let slots = u32::from(worker.target.fd().is_some());
    let is_stopped = || worker.context.shared.stopped();
    let buffers = match Buffers::new(&worker.job, slots, worker.seed, false, is_stopped) {
        Ok(buffers) => buffers,
        Err(error) => return worker.context.ready(Err(error)),
    };
    notes.extend(worker.target.cached_note.clone());
    worker.context.ready(Ok(TargetSetup {
        backend: "threads".into(),
        fallback: worker.fallback.clone(),
        huge_pages: buffers.pages.name().into(),
        direct: worker.target.direct,
        cpus,
        notes,
        ..TargetSetup::default()
    }));
    let Some(clock) = worker.context.shared.wait_for_start(worker.clock) else {
        return;
    };
    let meter = Meter::new(worker.context.clone(), worker.end_ns);
    let mut thread = Thread {
        worker: &worker,
        buffers,
        clock,
        meter,
        over: false,
    };
    thread.run();
    thread.meter.finish();
}

struct Thread<'w> {
    worker: &'w Worker,
    buffers: Buffers,
    clock: Clock,
    meter: Meter,
    /// Nothing is left to draw.
    over: bool,
}

impl Thread<'_> {
    fn run(&mut self) {
        let is_open = matches!(self.worker.job.load, Load::Open { .. });
        let think_ns = self.worker.job.pace.think_ns;
        let replays = matches!(self.worker.job.pattern, Pattern::Replay { .. });
        while let Some((request, arrival_ns, row)) = self.next() {
            let waits = is_open && self.clock.now_ns() < arrival_ns;
            if is_open && !self.sleep_until(arrival_ns) {
                break;
            }
            // Before the clock is read: waiting for the other threads' lock is no part of an I/O.
            self.worker.source.issued_one();
            let issued_ns = self.clock.now_ns();
            if waits {
                let delay_ns = issued_ns.saturating_sub(arrival_ns);
                self.meter.summary.lateness.count(delay_ns);
            }
            self.meter.issuing(request.op, issued_ns);
            let result = perform(&self.worker.target, &request, &mut self.buffers);
            let now_ns = self.clock.now_ns();
            self.cut_due(now_ns, Some(issued_ns));
            if self.meter.is_over(now_ns) {
                let in_flight = (request.op, issued_ns, is_open.then_some(arrival_ns));
                self.meter.note_in_flight(now_ns, iter::once(in_flight));
                break;
            }
            if replays {
                self.worker.source.returned(row, now_ns);
            }
            let service_ns = now_ns - issued_ns;
            let bytes = u64::from(request.size_bytes);
            match result {
                Err(result) => {
                    let place = (request.offset_bytes, request.size_bytes);
                    self.meter.fail(request.op, place, result, service_ns);
                }
                Ok(()) if is_open => {
                    let response_ns = now_ns - arrival_ns.min(now_ns);
                    self.meter
                        .recorder
                        .record_open(request.op, service_ns, response_ns, bytes);
                }
                Ok(()) => self.meter.recorder.record(request.op, service_ns, bytes),
            }
            self.worker.source.counted_one();
            if think_ns > 0 && !self.sleep_until(now_ns.saturating_add(think_ns)) {
                break;
            }
        }
        let now_ns = self.clock.now_ns();
        let source = &self.worker.source;
        if source.is_done() {
            self.meter.end_others();
        }
        self.meter.cut_due(now_ns, |_| 0, offered(self.worker));
        let mut last = None;
        if is_open {
            let at_ns = now_ns.min(self.worker.end_ns);
            let report = source.leave(self.worker.place, at_ns, self.over);
            self.meter.summary.uncounted_ns = report.uncounted_ns;
            last = Some((report.arrived, report.backlog));
        }
        self.meter.cut_last(now_ns, |_| 0, |_| last);
    }

    /// Returns the next request, its arrival and its number; waits for one that waits for others.
    fn next(&mut self) -> Option<(Request, u64, u32)> {
        loop {
            if self.worker.context.shared.stopped() {
                return None;
            }
            match self.worker.source.next(self.clock.now_ns()) {
                Drawn::Request(request, arrival_ns, row) => {
                    return Some((request, arrival_ns, row));
                }
                Drawn::Wait(until_ns) if self.sleep_until(until_ns) => {}
                Drawn::Wait(_) => return None,
                Drawn::Over => {
                    self.over = true;
                    return None;
                }
            }
        }
    }

    /// Returns whether the run still goes on at `until_ns`.
    fn sleep_until(&mut self, until_ns: u64) -> bool {
        loop {
            let now_ns = self.clock.now_ns();
            self.cut_due(now_ns, None);
            if self.meter.is_over(now_ns) {
                return false;
            }
            match until_ns.saturating_sub(now_ns) {
                0 => return true,
                gap_ns => std::thread::sleep(Duration::from_nanos(gap_ns.min(TICK_NS))),
            }
        }
    }

    fn cut_due(&mut self, now_ns: u64, issued_ns: Option<u64>) {
        if self.meter.is_due(now_ns) {
            let age_ns =
                |at_ns: u64| issued_ns.map_or(0, |issued_ns| at_ns.saturating_sub(issued_ns));
            let offered = offered(self.worker);
            self.meter.cut_due(now_ns, age_ns, offered);
        }
    }
}

/// Arrivals and backlog of an open load at a time, as far as the thread reports them.
fn offered(worker: &Worker) -> impl FnMut(u64) -> Option<(u64, u64)> {
    move |at_ns| match worker.job.load {
        Load::Closed { .. } => None,
        Load::Open { .. } => Some(worker.source.report(worker.place, at_ns)),
    }
}

/// Does one request; the error is what io_uring would have given as result: the negative errno or
/// the bytes that a short transfer moved.
fn perform(target: &Target, request: &Request, buffers: &mut Buffers) -> Result<(), i32> {
    let Some(fd) = target.fd() else { return Ok(()) };
    let (size, at) = (
        request.size_bytes as usize,
        request.offset_bytes as libc::off_t,
    );
    let (result, success) = match request.op {
        // SAFETY: the buffer of slot 0 is at least as long as the job's largest block.
        Op::Read => (
            unsafe { libc::pread(fd, buffers.read_at(0).cast(), size, at) },
            size,
        ),
        Op::Write | Op::Append => {
            let data = buffers.write_from(0, request.size_bytes);
            // SAFETY: as for reads.
            (unsafe { libc::pwrite(fd, data.cast(), size, at) }, size)
        }
        // SAFETY: a system call on an open descriptor, no memory involved.
        Op::Flush => (unsafe { libc::fsync(fd) } as isize, 0),
        Op::Trim => (deallocate(target, fd, request), 0),
        Op::WriteZeroes => (write_zeroes(target, fd, request), 0),
        Op::Allocate => (fallocate(fd, 0, request), 0),
        // Operations on names need a set of files, and that a ring.
        name_ops!() => return Err(-libc::EINVAL),
    };
    match result {
        -1 => Err(-io::Error::last_os_error()
            .raw_os_error()
            .unwrap_or(libc::EIO)),
        moved if moved == success as isize => Ok(()),
        moved => Err(moved as i32),
    }
}

fn deallocate(target: &Target, fd: RawFd, request: &Request) -> isize {
    match target.spec.kind {
        TargetKind::BlockDevice => device_range(fd, BLKDISCARD, request),
        _ => fallocate(fd, libc::FALLOC_FL_PUNCH_HOLE | KEEP_SIZE, request),
    }
}

fn write_zeroes(target: &Target, fd: RawFd, request: &Request) -> isize {
    match target.spec.kind {
        TargetKind::BlockDevice => device_range(fd, BLKZEROOUT, request),
        _ => fallocate(fd, libc::FALLOC_FL_ZERO_RANGE | KEEP_SIZE, request),
    }
}

fn device_range(fd: RawFd, command: libc::c_ulong, request: &Request) -> isize {
    let range = [request.offset_bytes, u64::from(request.size_bytes)];
    // SAFETY: both commands read two u64, start and length.
    (unsafe { libc::ioctl(fd, command as _, range.as_ptr()) }) as isize
}

fn fallocate(fd: RawFd, mode: libc::c_int, request: &Request) -> isize {
    let (at, bytes) = (
        request.offset_bytes as libc::off_t,
        request.size_bytes as libc::off_t,
    );
    // SAFETY: a system call on an open descriptor, no memory involved.
    (unsafe { libc::fallocate(fd, mode, at, bytes) }) as isize
}
