//! Issues a job to a [`Device`] in virtual time and records what happened.
//!
//! The load generator's own cost is part of the result. A thread is a CPU server that reaps a completion
//! (`complete_us`), then prepares and submits the next request (`submit_us`). Latency runs from the moment a request's
//! slot is free to be used until its completion is reaped. So the I/O in flight of a closed loop is exactly `threads x
//! iodepth`, and Little's law holds to the nanosecond. Under open load, arrivals come on their own clock. An arrival
//! that finds `iodepth` requests in flight waits in the thread's backlog, and the response latency counts from the
//! arrival.
//!
//! Nothing is left in flight when a step ends. The device runs until the last request is back, uncounted, so that the
//! next step starts clean.

mod adapter;
mod backlog;
mod control;
pub mod error;
mod in_step;
mod log;
pub mod meter;
pub mod precision;
mod requests;
mod thread;
mod window;
mod zoned_job;

use recording::{FaultCounter, Interval, Recorder, Recording};
use workload::{Job, Limits, Load, RequestStream};

pub use control::Control;
pub use error::TwinError;
pub use log::Issued;

use crate::device::{Device, Promises, geometry_of};
use crate::host::adapter::Adapter;
use crate::host::meter::Meter;
use crate::host::precision::{Batches, Member, StoppingRule};
use crate::host::zoned_job::Zoning;
use crate::sim::event::us_to_ns;
use crate::sim::slab::Slab;
use requests::{IN_FLIGHT_MAX, Slot};
use thread::Thread;

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
    end_ns: u64,
    /// Whether threads keep step.
    keeps_step: bool,
    /// Threads that have not had their part of the job's volume.
    unfinished: usize,
    offered: u64,
    /// One for each stream of the job, in order; one for a job of one workload.
    recorders: Vec<Recorder>,
    stream_names: Vec<String>,
    batches: Option<Batches<'a>>,
    meter: Meter,
    adapter: Option<Adapter>,
    zoning: Option<Box<Zoning>>,
    /// `None`: nobody asked for it.
    log: Option<Vec<Issued>>,
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

/// Runs as [`run`], but the window may end before the job's time, or go on in rounds that do. It ends as soon as its
/// figures are known to a precision, or those of all devices under the rule together.
///
/// # Errors
/// As [`run`].
pub fn run_until_precise<D: Device>(
    job: &Job,
    device: &mut D,
    seed: u64,
    control: &Control,
    stopping: Option<&StoppingRule>,
    mut on_interval: impl FnMut(Interval),
) -> Result<Recording, TwinError> {
    let member = stopping.map(Member::new);
    let mut driver = Driver::new(job, device, seed)?;
    let medium = Some(driver.meter.medium(driver.device));
    let window_ns = (driver.start_ns, driver.end_ns);
    driver.batches =
        member.map(|member| Batches::new(member, window_ns, driver.recorders.len(), medium));
    driver.log = control.logs().then(Vec::new);
    driver.begin();
    driver.measure(control, &mut on_interval)?;
    driver.drain()?;
    control.keep(driver.log.take().unwrap_or_default());
    if let Some(error) = driver.failed {
        return Err(error);
    }
    driver.recording.faults = driver.faults.into_faults();
    if let Some((remarks, notes)) = driver.zoning.map(|zoning| zoning.into_remarks()) {
        driver.recording.remarks.extend(remarks);
        driver.recording.notes.extend(notes);
    }
    Ok(driver.recording)
}

fn refuse_what_no_twin_does(job: &Job) -> Result<(), TwinError> {
    let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
    let max = IN_FLIGHT_MAX;
    if u64::from(threads) * u64::from(iodepth) > u64::from(max) {
        return Err(TwinError::TooDeep {
            threads,
            iodepth,
            max,
        });
    }
    if !job.sync.is_none() && job.ops().any(workload::Op::writes) {
        return Err(TwinError::Sync);
    }
    if job.ops().any(|op| op == workload::Op::Allocate) {
        return Err(TwinError::Allocate);
    }
    if job.has_priority() {
        return Err(TwinError::Priority);
    }
    Ok(())
}

/// Checks whether `device` does `job`, as far as that does not depend on what was written before.
///
/// # Errors
/// Those of [`run`] before the first I/O.
pub fn check<D: Device>(job: &Job, device: &D) -> Result<(), TwinError> {
    refuse_what_no_twin_does(job)?;
    let region = job.region.resolve(geometry_of(device))?;
    zoned_job::check(job, device, region).map(drop)
}

impl<'a, D: Device> Driver<'a, D> {
    fn new(job: &Job, device: &'a mut D, seed: u64) -> Result<Self, TwinError> {
        refuse_what_no_twin_does(job)?;
        let threads = job.load.threads();
        let geometry = geometry_of(device);
        let region = job.region.resolve(geometry)?;
        let limits = (0..threads).map(|thread| job.thread_limits(thread, geometry));
        let limits = limits.collect::<Result<Vec<_>, _>>()?;
        if limits.iter().any(Limits::is_endless) && !job.has_exitall() {
            return Err(TwinError::Endless);
        }
        let zoning = Zoning::new(job, device, region)?.map(Box::new);
        let host = device.host().clone();
        let requests = RequestStream::of_threads(job, geometry, seed)?.into_iter();
        let made = (0..threads).zip(requests.zip(job.parts()).zip(limits)).map(
            |(thread, ((stream, part), limits))| {
                let mut made = Thread::new(stream, thread % host.cores, &part, limits);
                if zoning.as_ref().is_some_and(|zoning| zoning.is_over(thread)) {
                    made.left.count = 0;
                }
                made.exitall = job.exits_all(part.stream);
                made
            },
        );
        let threads: Vec<_> = made.collect();
        let time_ns = job.until.time_ns.unwrap_or(u64::MAX);
        let start_ns = device.now_ns();
        let open = matches!(job.load, Load::Open { .. });
        let adapter = Adapter::new(&host, start_ns);
        let cores = host.cores.min(job.load.threads());
        let is_direct = adapter.is_none() && zoning.is_none();
        device.rely_on(Promises {
            // One core issues one request after the other; an adapter lets reads pass data of writes.
            in_order: cores == 1 && is_direct,
            in_flight_max: (is_direct && !threads.iter().any(Thread::reacts_with_wakes))
                .then(|| threads.iter().map(|thread| thread.iodepth).sum()),
        });
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
            log: None,
            recording: Recording::default(),
            unfinished: threads
                .iter()
                .filter(|thread| !thread.left.is_spent())
                .count(),
            keeps_step: threads.iter().any(|thread| thread.in_step),
            threads,
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
            end_ns: start_ns.saturating_add(time_ns),
            offered: 0,
            device,
        })
    }
}
