//! A load thread on io_uring: sets up its ring, its buffers and the protocol that its target is spoken to in, runs the
//! loop ([`driver`]), and lets go of what it can.

mod driver;

use std::{io, mem, path::Path, sync::Arc, time::Duration};

use io_uring::{cqueue, squeue};
use workload::{Job, Limits, Load, Op, Pattern, RequestStream};

use self::driver::Driver;
use crate::{
    EngineError, TargetKind, TargetSetup,
    affinity::pin_to,
    buffers::Buffers,
    clock::Clock,
    journal::Journal,
    lane::{Meter, Post},
    nvme::Commands,
    protocol::Protocol,
    ring::{Ring, Wishes},
    submission::{Encoder, discard},
    target::Target,
    verify::Checked,
    zones::{Layer, Part},
};

/// Completion tag of a probe before the run.
const PROBE: u64 = u64::MAX - 1;

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
    notes.extend(target.cached_note.clone());
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
            job,
            region: job.region.resolve(target.geometry).map_err(stream_error)?,
            thread: lane.post.member as u32,
            open,
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
