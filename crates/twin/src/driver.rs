//! Issues a job to a [`Device`] in virtual time and records what happened.
//!
//! The load generator's own cost is part of the result: a thread is a CPU server that reaps a
//! completion (`complete_us`), then prepares and submits the next request (`submit_us`); latency
//! runs from the moment a request's slot is free to be used until its completion is reaped, so the
//! I/O in flight of a closed loop is exactly `threads x iodepth` and Little's law holds to the
//! nanosecond. Open load: arrivals come on their own clock; an arrival that finds `iodepth` requests
//! in flight waits in the thread's backlog, and the response latency counts from the arrival.
//!
//! Nothing is left in flight when a step ends: the device runs until the last request is back,
//! uncounted, so that the next step starts clean.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use recording::{FaultCounter, Interval, Recorder, Recording};
use workload::{Geometry, Job, Limits, Load, Op, Request, RequestStream, StreamError};

use crate::adapter::{Adapter, Way};
use crate::device::{Completion, CompletionKind, Device};
use crate::event::us_to_ns;
use crate::meter::Meter;
use crate::precision::{Batches, Judge, Seat};
use crate::slab::Slab;
use crate::zones::Zoning;

/// Virtual length of an interval.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Requests drawn ahead of their use, so that the device can prefetch.
const LOOK_AHEAD: usize = 32;
/// How many are drawn at once: the processor then looks for the addresses of several map entries at the same time.
const BURST: usize = 16;
/// Tag bit of an arrival of open load; the rest is the thread.
const ARRIVAL: u32 = 1 << 27;
/// Tag bit of a read whose data has crossed the adapter; the rest is the slot.
const CROSSED: u32 = 1 << 26;
/// Tag bit of a zone's reset; the rest is the slot of the write that waits for it.
const RESET: u32 = 1 << 25;
/// Completions between two looks at the stop flag.
const STOP_CHECK: u32 = 4096;

/// Stops a run from another thread. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<AtomicBool>);

impl Control {
    /// Asks the run to end; it returns what it has recorded.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A job that cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TwinError {
    /// The job does not fit the device.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A job without an end.
    #[error(
        "the job says neither how long nor how much: set time, bytes, region_multiple or count"
    )]
    Endless,
    /// Nothing keeps write pointers here.
    #[error(
        "the pattern zones needs a host-managed zoned device, which this twin is not: use sequential or uniform"
    )]
    NoZones,
    /// More failed I/O than the job puts up with.
    #[error(
        "{failed} I/O failed, and the job asks to stop then; the last: {} of {size_bytes} bytes at {offset_bytes} (errno {errno})",
        op.name()
    )]
    TooManyErrors {
        /// How many.
        failed: u64,
        /// The last of them.
        op: Op,
        /// Its first byte.
        offset_bytes: u64,
        /// Its length.
        size_bytes: u32,
        /// How it failed.
        errno: i32,
    },
    /// Writes anywhere on a device that takes them in order only.
    #[error(
        "writes at random places, and this host-managed zoned device takes them at the write pointers of its zones only: use pattern {{ zones = N }}, append{}",
        match conventional_bytes {
            0 => String::new(),
            bytes => format!(", or a region within its conventional zones (the first {bytes} bytes)"),
        }
    )]
    OutOfOrder {
        /// Bytes, from the start, that may be written anywhere.
        conventional_bytes: u64,
    },
    /// The pattern `zones` asks for what the device does not have.
    #[error("zones: {0}")]
    Zones(String),
    /// The device will never answer: a defect of the model.
    #[error(
        "the simulated device stopped answering at {now_ns} ns with {in_flight} I/O in flight: please report the device and the job"
    )]
    Stalled {
        /// Virtual time.
        now_ns: u64,
        /// Requests not answered.
        in_flight: u32,
    },
    /// Too much at once.
    #[error("{threads} threads x iodepth {iodepth} is more than {max} I/O in flight")]
    TooDeep {
        /// As asked.
        threads: u32,
        /// As asked.
        iodepth: u32,
        /// What a run can hold.
        max: u32,
    },
}

/// One submitting thread.
struct Thread {
    stream: RequestStream,
    /// Requests drawn ahead in a ring, and the place of the next of them.
    ahead: Vec<Request>,
    next: usize,
    core: u32,
    /// Which recorder counts its I/O: its stream's.
    recorder: u32,
    iodepth: u32,
    open: bool,
    /// Closed load: pause of a slot between its requests.
    think_ns: u64,
    in_flight: u32,
    /// Open load: a second copy of the stream replays the arrival times as requests are issued, so
    /// a backlog of any length takes no memory.
    arrivals: RequestStream,
    backlog: u64,
    /// Whether the device will wake the thread for its next arrival.
    awaits: bool,
}

/// What is known of a request in flight; its index is the tag.
#[derive(Clone, Copy)]
struct Slot {
    issued_ns: u64,
    arrived_ns: u64,
    offset_bytes: u64,
    size_bytes: u32,
    thread: u32,
    op: Op,
    in_flight: bool,
}

struct Driver<'a, D> {
    device: &'a mut D,
    threads: Vec<Thread>,
    slots: Slab<Slot>,
    core_free_ns: Vec<u64>,
    submit_ns: u64,
    complete_ns: u64,
    wake_ns: u64,
    start_ns: u64,
    /// Whether all threads are under open load: only then are arrivals those of the whole job.
    open: bool,
    /// Closed load: requests that pause before the next one of their slot.
    thinking: usize,
    errors_most: Option<u64>,
    faults: FaultCounter,
    failed: Option<TwinError>,
    limits: Limits,
    end_ns: u64,
    issued: u64,
    completed: u64,
    completed_bytes: u64,
    offered: u64,
    /// One for each stream of the job, in order; one for a job of one workload.
    recorders: Vec<Recorder>,
    stream_names: Vec<String>,
    batches: Option<Batches<'a>>,
    meter: Meter,
    adapter: Option<Adapter>,
    zoning: Option<Box<Zoning>>,
    recording: Recording,
}

/// Runs `job` on `device` and returns what happened; `on_interval` gets each virtual second as it
/// ends. Equal job, device state and seed give equal results, bit for bit.
///
/// # Errors
/// The job does not fit the device, or has no end.
pub fn run<D: Device>(
    job: &Job,
    device: &mut D,
    seed: u64,
    control: &Control,
    on_interval: impl FnMut(Interval),
) -> Result<Recording, TwinError> {
    run_until_precise(job, device, seed, control, None, on_interval)
}

/// As [`run`], but the window may end before the job's time, or go on in rounds that do, as soon as
/// its figures, or those of all devices of the judge together, are known to a precision.
///
/// # Errors
/// As [`run`].
pub fn run_until_precise<D: Device>(
    job: &Job,
    device: &mut D,
    seed: u64,
    control: &Control,
    judge: Option<&Judge>,
    mut on_interval: impl FnMut(Interval),
) -> Result<Recording, TwinError> {
    let seat = judge.map(Seat::new);
    let mut driver = Driver::new(job, device, seed)?;
    driver.batches = seat.map(|seat| Batches::new(seat, driver.start_ns));
    driver.begin();
    driver.measure(control, &mut on_interval)?;
    driver.drain()?;
    if let Some(error) = driver.failed {
        return Err(error);
    }
    driver.recording.faults = driver.faults.into_faults();
    let notes = driver.zoning.map(|zoning| zoning.notes());
    driver.recording.notes.extend(notes.into_iter().flatten());
    Ok(driver.recording)
}

impl<'a, D: Device> Driver<'a, D> {
    fn new(job: &Job, device: &'a mut D, seed: u64) -> Result<Self, TwinError> {
        let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
        let max = RESET - 1;
        if u64::from(threads) * u64::from(iodepth) > u64::from(max) {
            return Err(TwinError::TooDeep {
                threads,
                iodepth,
                max,
            });
        }
        let geometry = Geometry {
            capacity_bytes: device.capacity_bytes(),
            block_bytes: device.block_bytes(),
        };
        let region = job.region.resolve(geometry)?;
        let limits = job.until.resolve(region.size_bytes);
        if [limits.time_ns, limits.bytes, limits.count] == [u64::MAX; 3] {
            return Err(TwinError::Endless);
        }
        let zoning = Zoning::new(job, device, region)?.map(Box::new);
        let host = device.host().clone();
        let streams = (0..threads)
            .zip(job.parts())
            .map(|(thread, part)| {
                let stream = RequestStream::new(job, geometry, seed, thread)?;
                Ok(Thread {
                    arrivals: stream.clone(),
                    stream,
                    ahead: Vec::with_capacity(LOOK_AHEAD),
                    next: 0,
                    core: thread % host.cores,
                    recorder: part.stream.unwrap_or(0) as u32,
                    iodepth: part.job.load.iodepth(),
                    open: matches!(part.job.load, Load::Open { .. }),
                    think_ns: part.job.pace.think_ns,
                    in_flight: 0,
                    backlog: 0,
                    awaits: false,
                })
            })
            .collect::<Result<Vec<_>, StreamError>>()?;
        let start_ns = device.now_ns();
        let open = matches!(job.load, Load::Open { .. });
        let adapter = Adapter::new(&host, start_ns);
        let cores = host.cores.min(threads);
        // One core issues one request after the other; an adapter lets reads pass data of writes.
        device.expect_in_order(cores == 1 && adapter.is_none() && zoning.is_none());
        Ok(Self {
            recorders: (0..job.streams.len().max(1))
                .map(|_| Recorder::new(0))
                .collect(),
            stream_names: job
                .streams
                .iter()
                .map(|stream| stream.name.clone())
                .collect(),
            batches: None,
            meter: Meter::new(device, cores),
            adapter,
            zoning,
            recording: Recording::default(),
            threads: streams,
            slots: Slab::default(),
            core_free_ns: vec![start_ns; cores as usize],
            submit_ns: us_to_ns(host.submit_us),
            complete_ns: us_to_ns(host.complete_us),
            wake_ns: us_to_ns(host.wake_us),
            start_ns,
            open,
            thinking: 0,
            errors_most: job.errors.most,
            faults: FaultCounter::new(device.capacity_bytes()),
            failed: None,
            end_ns: start_ns.saturating_add(limits.time_ns),
            limits,
            issued: 0,
            completed: 0,
            completed_bytes: 0,
            offered: 0,
            device,
        })
    }

    /// Fills the queues (closed load) or waits for the first arrivals (open load).
    fn begin(&mut self) {
        for thread in 0..self.threads.len() as u32 {
            let Thread { open, iodepth, .. } = self.threads[thread as usize];
            if open {
                self.next_arrival(thread);
            } else {
                for _ in 0..iodepth {
                    self.issue(thread, self.start_ns, self.start_ns);
                }
            }
        }
    }

    fn measure(
        &mut self,
        control: &Control,
        on_interval: &mut impl FnMut(Interval),
    ) -> Result<(), TwinError> {
        let mut until_check = STOP_CHECK;
        let mut cut_ns = self.next_cut_ns();
        loop {
            let batch_ns = self.batches.as_ref().map_or(u64::MAX, Batches::end_ns);
            self.advance_to(cut_ns.min(batch_ns), control, &mut until_check);
            let now_ns = self.device.now_ns();
            let over = now_ns >= self.end_ns || self.moved_enough() || control.is_stopped();
            let settled = self.look(now_ns);
            if !over && !settled && now_ns < cut_ns {
                self.check_alive()?;
                continue;
            }
            let (ends_round, ends_job) = self.end_round(now_ns, settled);
            let mut interval = self.cut();
            interval.ends_round = ends_round;
            self.recording.add(&interval);
            on_interval(interval);
            if over || ends_job || control.is_stopped() {
                let batches = self.batches.as_ref();
                self.recording.half_widths = batches.and_then(Batches::half_widths);
                return Ok(());
            }
            self.check_alive()?;
            cut_ns = self.next_cut_ns();
        }
    }

    /// When the interval that begins now ends at the latest.
    fn next_cut_ns(&self) -> u64 {
        let round_ns = self
            .batches
            .as_ref()
            .map_or(u64::MAX, Batches::round_end_ns);
        (self.device.now_ns() + INTERVAL_NS)
            .min(self.end_ns)
            .min(round_ns)
    }

    /// Runs to a virtual time, to the job's volume, or to the stop.
    fn advance_to(&mut self, limit_ns: u64, control: &Control, until_check: &mut u32) {
        while let Some(completion) = self.device.advance(limit_ns) {
            self.take(completion);
            *until_check -= 1;
            if *until_check == 0 {
                *until_check = STOP_CHECK;
                if control.is_stopped() {
                    return;
                }
            }
            if self.moved_enough() {
                return;
            }
        }
    }

    fn check_alive(&self) -> Result<(), TwinError> {
        let in_flight = self.threads.iter().map(|thread| thread.in_flight).sum();
        if in_flight > 0 && !self.device.is_busy() {
            let now_ns = self.device.now_ns();
            return Err(TwinError::Stalled { now_ns, in_flight });
        }
        Ok(())
    }

    /// Closes a batch whose time has come. Returns whether the window is known well enough.
    fn look(&mut self, now_ns: u64) -> bool {
        let Some(batches) = &mut self.batches else {
            return false;
        };
        let mut counted = self.recorders[0].tallies();
        for recorder in &self.recorders[1..] {
            let of_stream = recorder.tallies();
            counted
                .iter_mut()
                .zip(&of_stream)
                .for_each(|(sum, own)| sum.add(own));
        }
        batches.see(&counted);
        batches.close(now_ns)
    }

    /// Whether a round ended before its time, and whether the job did.
    fn end_round(&mut self, now_ns: u64, settled: bool) -> (bool, bool) {
        let Some(batches) = &mut self.batches else {
            return (false, false);
        };
        batches.forget_seen();
        if batches.ends_job() {
            return (false, settled);
        }
        (batches.end_round(now_ns, settled) && settled, false)
    }

    #[inline]
    fn take(&mut self, completion: Completion) {
        let Completion { at_ns, tag, kind } = completion;
        if tag & (ARRIVAL | CROSSED | RESET) == RESET {
            return self.write_into_reset(tag & !RESET, at_ns);
        }
        match kind {
            CompletionKind::Wake if tag & ARRIVAL != 0 => self.arrival(tag & !ARRIVAL, at_ns),
            CompletionKind::Wake => self.reap(tag & !CROSSED, at_ns, 0),
            CompletionKind::Done => {
                let Slot { op, size_bytes, .. } = self.slots[tag];
                match self.cross(at_ns, Way::ToHost, op, size_bytes) {
                    Some(crossed_ns) => self.device.wake(crossed_ns, CROSSED | tag),
                    None => self.reap(tag, at_ns, 0),
                }
            }
            CompletionKind::Failed(errno) => self.reap(tag, at_ns, errno),
        }
    }

    /// Passes data through the adapter, where there is one.
    #[inline]
    fn cross(&mut self, now_ns: u64, way: Way, op: Op, bytes: u32) -> Option<u64> {
        self.adapter.as_mut()?.cross_ns(now_ns, way, op, bytes)
    }

    fn moved_enough(&self) -> bool {
        self.completed_bytes >= self.limits.bytes
            || self.completed >= self.limits.count
            || self.failed.is_some()
    }

    /// Ends the interval at the present.
    fn cut(&mut self) -> Interval {
        let now_ns = self.device.now_ns();
        let mut ages_ns = vec![0; self.recorders.len()];
        for slot in self.slots.iter().filter(|slot| slot.in_flight) {
            let recorder = self.threads[slot.thread as usize].recorder as usize;
            ages_ns[recorder] += now_ns.saturating_sub(slot.issued_ns);
        }
        let elapsed_ns = now_ns - self.start_ns;
        let recorders = self.recorders.iter_mut().zip(ages_ns);
        let mut cuts = recorders.map(|(recorder, age_ns)| recorder.cut(elapsed_ns, age_ns));
        let mut interval = match self.stream_names.as_slice() {
            [] => cuts.next().unwrap_or_default(),
            names => {
                let mut named = cuts.zip(names).map(|(cut, name)| cut.of_stream(name));
                let mut whole = named.next().unwrap_or_default();
                named.for_each(|stream| whole.merge(&stream));
                whole
            }
        };
        if self.open {
            interval.offered = Some(std::mem::take(&mut self.offered));
            interval.backlog = Some(self.threads.iter().map(|thread| thread.backlog).sum());
        }
        self.meter
            .read(self.device, &self.core_free_ns, &mut interval);
        if let Some(adapter) = &mut self.adapter {
            interval.utilisation.extend(adapter.utilisation(now_ns));
        }
        interval
    }

    /// Lets the requests in flight end, uncounted.
    fn drain(&mut self) -> Result<(), TwinError> {
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

    /// Takes the thread's CPU for `work_ns` from `ready_ns` on; gives the end.
    #[inline]
    fn work(&mut self, thread: u32, ready_ns: u64, work_ns: u64) -> u64 {
        let core = self.threads[thread as usize].core as usize;
        let end_ns = self.core_free_ns[core].max(ready_ns) + work_ns;
        self.core_free_ns[core] = end_ns;
        self.meter.core_busy_ns[core] += work_ns;
        end_ns
    }

    /// Issues the thread's next request in a slot that has been free since `free_ns`.
    #[inline]
    fn issue(&mut self, thread: u32, free_ns: u64, arrived_ns: u64) {
        if self.issued >= self.limits.count {
            return;
        }
        self.issued += 1;
        let request = self.draw(thread);
        let slot = Slot {
            issued_ns: free_ns,
            arrived_ns,
            offset_bytes: request.offset_bytes,
            size_bytes: request.size_bytes,
            thread,
            op: request.op,
            in_flight: true,
        };
        let tag = self.slots.add(slot);
        self.threads[thread as usize].in_flight += 1;
        let ready_ns = self.work(thread, free_ns, self.submit_ns);
        let at_ns = self
            .cross(ready_ns, Way::ToDevice, slot.op, slot.size_bytes)
            .unwrap_or(ready_ns);
        let Some(zoning) = &mut self.zoning else {
            return self.device.submit_from(thread, at_ns, tag, request);
        };
        let (request, reset) = zoning.place(thread, tag, request, self.device);
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

    /// The next request of the thread's stream, drawn ahead.
    #[inline]
    fn draw(&mut self, thread: u32) -> Request {
        let Thread {
            stream,
            ahead,
            next,
            ..
        } = &mut self.threads[thread as usize];
        if ahead.is_empty() {
            ahead.extend((0..LOOK_AHEAD).map(|_| stream.next_request()));
        } else if next.is_multiple_of(BURST) {
            let used = (*next + LOOK_AHEAD - BURST) % LOOK_AHEAD;
            for request in &mut ahead[used..used + BURST] {
                *request = stream.next_request();
                self.device.prefetch(request);
            }
        }
        let request = ahead[*next];
        *next = (*next + 1) % LOOK_AHEAD;
        request
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
        // What failed is part of the volume: a job that can only fail ends too.
        self.completed += 1;
        self.completed_bytes += bytes;
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
        if !open && think_ns > 0 {
            self.thinking += 1;
            self.device
                .wake(reaped_ns + think_ns, ARRIVAL | slot.thread);
        } else if !open {
            self.issue(slot.thread, reaped_ns, reaped_ns);
        } else if self.threads[slot.thread as usize].backlog > 0 {
            self.issue_arrived(slot.thread, reaped_ns);
        }
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

    /// An arrival of an open load, or the end of a pause in a closed one.
    fn arrival(&mut self, thread: u32, now_ns: u64) {
        if !self.threads[thread as usize].open {
            self.thinking -= 1;
            return self.issue(thread, now_ns, now_ns);
        }
        self.offered += 1;
        let state = &mut self.threads[thread as usize];
        state.backlog += 1;
        if state.in_flight < state.iodepth {
            self.issue_arrived(thread, now_ns);
        }
        self.next_arrival(thread);
    }

    fn issue_arrived(&mut self, thread: u32, now_ns: u64) {
        let state = &mut self.threads[thread as usize];
        state.backlog -= 1;
        let arrived_ns = self.start_ns + state.arrivals.next_arrival_ns();
        self.issue(thread, now_ns, arrived_ns);
    }

    /// Has the thread woken for its next arrival. One beyond the window is never counted, and the drain would have to
    /// wait for it: of an idle step, whose only arrival is that one, for decades.
    fn next_arrival(&mut self, thread: u32) {
        let state = &mut self.threads[thread as usize];
        let at_ns = self.start_ns + state.stream.next_arrival_ns();
        state.awaits = at_ns <= self.end_ns;
        if state.awaits {
            self.device.wake(at_ns, ARRIVAL | thread);
        }
    }
}
