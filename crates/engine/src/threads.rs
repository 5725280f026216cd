//! The load loop where io_uring is not to be had: one thread per outstanding I/O, each doing
//! `pread` and `pwrite`. The `iodepth` threads of a load thread draw from one request stream behind a lock. So the I/O
//! is the same as io_uring's; the cost per I/O is not, and the setup says so.

use std::{
    io, iter,
    os::fd::RawFd,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use workload::{Job, Limits, Load, Op, Pattern, Request, RequestStream, Waiting, name_ops};

use crate::{
    TargetKind, TargetSetup, affinity::pinned, buffers::Buffers, clock::Clock, gate::TICK_NS,
    message::ThreadContext, meter::Meter, offered::Offered, target::Target,
};

/// `BLKDISCARD` and `BLKZEROOUT` of `linux/fs.h`.
const BLKDISCARD: libc::c_ulong = 0x1277;
const BLKZEROOUT: libc::c_ulong = 0x127f;

/// How soon a thread looks again for I/Os that wait for others: one of another thread may return.
const LOOK_NS: u64 = 50_000;

/// What one I/O thread is to do.
pub(crate) struct Worker {
    pub(crate) job: Arc<Job>,
    pub(crate) target: Arc<Target>,
    /// Shared by the `iodepth` threads of a load thread.
    pub(crate) source: Arc<Source>,
    /// One of them reports arrivals and backlog for all.
    pub(crate) reports_offered: bool,
    pub(crate) clock: Clock,
    pub(crate) end_ns: u64,
    pub(crate) cpu: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) fallback: Option<String>,
    pub(crate) context: ThreadContext,
}

/// Requests of one load thread.
#[derive(Debug)]
pub(crate) struct Source(Mutex<SourceState>);

#[derive(Debug)]
struct SourceState {
    stream: RequestStream,
    offered: Offered,
    left: Limits,
    issued: u64,
    /// A trace whose I/Os wait for others, in place of the stream.
    waiting: Option<Waiting>,
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
    pub(crate) fn new(stream: RequestStream, limits: Limits) -> Self {
        Self(Mutex::new(SourceState {
            offered: Offered::new(&stream, limits.count),
            waiting: stream.waiting(),
            stream,
            left: limits,
            issued: 0,
        }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, SourceState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next request.
    fn next(&self, now_ns: u64) -> Drawn {
        let mut drawn = self.lock();
        let SourceState {
            stream,
            left,
            waiting,
            ..
        } = &mut *drawn;
        let Some(trace) = waiting else {
            if left.is_spent() {
                stream.leave();
                return Drawn::Over;
            }
            if stream.is_held() {
                return Drawn::Wait(now_ns + stream.pause_ns().max(LOOK_NS));
            }
            let mark = stream.next_mark();
            let request = stream.next_request();
            left.spend(request.size_bytes);
            return Drawn::Request(request, stream.next_arrival_ns(), mark);
        };
        if left.is_spent() || trace.left() == 0 {
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

    fn report(&self, at_ns: u64) -> (u64, u64) {
        let mut drawn = self.lock();
        let issued = drawn.issued;
        drawn.offered.report(at_ns, issued)
    }

    fn uncounted_ns(&self) -> u64 {
        self.lock().offered.uncounted_ns()
    }
}

/// The body of an I/O thread.
pub(crate) fn run(worker: Worker) {
    let mut notes = Vec::new();
    let cpus = pinned(worker.cpu, &mut notes);
    let slots = u32::from(worker.target.fd().is_some());
    let buffers = match Buffers::new(&worker.job, slots, worker.seed, false) {
        Ok(buffers) => buffers,
        Err(error) => return worker.context.ready(Err(error)),
    };
    notes.extend(worker.target.cached_note.clone());
    if worker.job.huge_pages {
        notes.push("huge pages are not used without io_uring".into());
    }
    if worker.job.gpu {
        notes.push(
            "reads end in host memory, not in a GPU's as the job asks: that needs io_uring".into(),
        );
    }
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
    };
    thread.run();
    thread.meter.finish();
}

struct Thread<'w> {
    worker: &'w Worker,
    buffers: Buffers,
    clock: Clock,
    meter: Meter,
}

impl Thread<'_> {
    fn run(&mut self) {
        let is_open = matches!(self.worker.job.load, Load::Open { .. });
        let think_ns = self.worker.job.pace.think_ns;
        let replays = matches!(self.worker.job.pattern, Pattern::Replay { .. });
        while let Some((request, arrival_ns, row)) = self.next() {
            if is_open && !self.sleep_until(arrival_ns) {
                break;
            }
            let issued_ns = self.clock.now_ns();
            self.worker.source.issued_one();
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
            if think_ns > 0 && !self.sleep_until(now_ns + think_ns) {
                break;
            }
        }
        let now_ns = self.clock.now_ns();
        if self.worker.source.lock().left.is_spent() {
            self.meter.end_others();
        }
        let offered = offered(self.worker);
        self.meter.cut_last(now_ns, |_| 0, offered);
        if self.worker.reports_offered {
            self.meter.summary.uncounted_ns = self.worker.source.uncounted_ns();
        }
    }

    /// Returns the next request, its arrival and its number; waits for one that waits for others.
    fn next(&mut self) -> Option<(Request, u64, u32)> {
        loop {
            match self.worker.source.next(self.clock.now_ns()) {
                Drawn::Request(request, arrival_ns, row) => {
                    return Some((request, arrival_ns, row));
                }
                Drawn::Wait(until_ns) if self.sleep_until(until_ns) => {}
                Drawn::Wait(_) | Drawn::Over => return None,
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

/// Arrivals and backlog at a time: from one thread for all that share a source, nothing from the
/// others.
fn offered(worker: &Worker) -> impl FnMut(u64) -> Option<(u64, u64)> {
    move |at_ns| match worker.job.load {
        Load::Closed { .. } => None,
        Load::Open { .. } if worker.reports_offered => Some(worker.source.report(at_ns)),
        Load::Open { .. } => Some((0, 0)),
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
        _ => fallocate(fd, libc::FALLOC_FL_PUNCH_HOLE, request),
    }
}

fn write_zeroes(target: &Target, fd: RawFd, request: &Request) -> isize {
    match target.spec.kind {
        TargetKind::BlockDevice => device_range(fd, BLKZEROOUT, request),
        _ => fallocate(fd, libc::FALLOC_FL_ZERO_RANGE, request),
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
    (unsafe { libc::fallocate(fd, mode | libc::FALLOC_FL_KEEP_SIZE, at, bytes) }) as isize
}
