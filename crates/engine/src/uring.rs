//! A load thread on io_uring: sets up its ring, its buffers and its target's protocol. It runs the loop ([`driver`]) on
//! them, and lets go of what it can.

mod queues;

use std::{io, mem, path::Path, ptr, sync::Arc};

use io_uring::{cqueue, opcode, squeue};
use workload::{FileSet, Job, Load, Op, Pattern, PriorityDraw};

use self::queues::Queues;
use crate::{
    EngineError, TargetKind, TargetSetup,
    affinity::pinned,
    buffers::{Buffers, Pages},
    clock::Clock,
    copying_queue::CopyingQueue,
    driver::{self, ThreadSpec},
    file_set::{Directory, open_at_once},
    gate::RunClock,
    gpu::{Gpu, GpuMemory},
    in_set::InSet,
    meter::Meter,
    nvme::Commands,
    prioritized::Prioritized,
    protocol::Protocol,
    ring::{Ring, RingOptions, describe},
    sector::Accepted,
    submission::{Encoder, FILE, Nops, Trims, discard},
    verify::Checked,
    write_journal::WriteJournal,
    zones::{Part, ZoneLayer},
};

/// Completion tag of a probe before the run.
const PROBE: u64 = u64::MAX - 1;

/// The body of a load thread: sets up, waits for the start, runs, drains, reports.
pub(crate) fn run(spec: ThreadSpec) {
    let target = Arc::clone(&spec.target);
    if target.spec.kind == TargetKind::Nop {
        return run_with(&spec, empty);
    }
    if spec.gpu && target.directory.is_none() {
        return match target.namespace {
            None => run_to_gpu(&spec, plain),
            Some(_) => run_to_gpu(&spec, passthrough),
        };
    }
    if target.directory.is_some() {
        return match (spec.gpu, spec.job.content.verify) {
            (true, _) => run_to_gpu(&spec, in_set),
            (false, None) => run_with(&spec, in_set),
            (false, Some(_)) => run_with(&spec, |l, r| checked(l, in_set(l, r)?)),
        };
    }
    if !spec.job.priority_shares.is_empty() {
        return match &target.zoned {
            None => run_with(&spec, prioritized),
            Some(_) => run_with(&spec, |l, r| zoned(l, prioritized(l, r)?)),
        };
    }
    let facts = (&target.namespace, &target.zoned, spec.job.content.verify);
    match facts {
        (None, None, None) => run_with(&spec, plain),
        (None, None, Some(_)) => run_with(&spec, |l, r| checked(l, plain(l, r)?)),
        (Some(_), None, None) => run_with(&spec, passthrough),
        (Some(_), None, Some(_)) => run_with(&spec, |l, r| checked(l, passthrough(l, r)?)),
        (None, Some(_), None) => run_with(&spec, |l, r| zoned(l, plain(l, r)?)),
        (None, Some(_), Some(_)) => run_with(&spec, |l, r| zoned(l, checked(l, plain(l, r)?)?)),
        (Some(_), Some(_), None) => run_with(&spec, |l, r| zoned(l, passthrough(l, r)?)),
        (Some(_), Some(_), Some(_)) => {
            run_with(&spec, |l, r| zoned(l, checked(l, passthrough(l, r)?)?))
        }
    }
}

/// `run` in the protocol that `make` makes.
fn run_with<P: Protocol>(
    spec: &ThreadSpec,
    make: impl FnOnce(&ThreadSpec, &mut Ring<P>) -> Result<P, EngineError>,
) {
    match set_up(spec, make) {
        Ok((prepared, setup)) => {
            spec.context.ready(Ok(setup));
            run_prepared(spec, prepared);
        }
        Err(error) => spec.context.ready(Err(error)),
    }
}

/// Runs as `run_with`, with reads that end in the memory of a GPU. Without a GPU they end in the host's, and a note
/// says so.
fn run_to_gpu<P: Protocol>(
    spec: &ThreadSpec,
    make: impl FnOnce(&ThreadSpec, &mut Ring<P>) -> Result<P, EngineError>,
) {
    let (prepared, mut setup) = match set_up(spec, make) {
        Ok(ready) => ready,
        Err(error) => return spec.context.ready(Err(error)),
    };
    if prepared.buffers.read_bytes() == 0 {
        spec.context.ready(Ok(setup));
        return run_prepared(spec, prepared);
    }
    match Gpu::memory_for(&prepared.buffers, spec.job.load.iodepth()) {
        Ok((gpu, memory)) => {
            setup.gpu = Some(gpu);
            spec.context.ready(Ok(setup));
            run_copying_to_gpu(spec, prepared, memory);
        }
        Err(reason) => {
            setup.notes.push(format!(
                "reads end in host memory, not in a GPU's as the job asks: {reason}"
            ));
            spec.context.ready(Ok(setup));
            run_prepared(spec, prepared);
        }
    }
}

/// What one load thread needs: its ring, its buffers and its target's protocol.
struct Prepared<P: Protocol> {
    ring: Ring<P>,
    buffers: Buffers,
    encoder: P,
}

fn run_prepared<P: Protocol>(spec: &ThreadSpec, prepared: Prepared<P>) {
    run_by(spec, prepared, |queues, clock| {
        let (meter, queues) = driver::drive(spec, queues, clock);
        (meter, queues.into_memory())
    });
}

fn run_copying_to_gpu<P: Protocol>(spec: &ThreadSpec, prepared: Prepared<P>, gpu: GpuMemory) {
    run_by(spec, prepared, |queues, clock| {
        let queue = CopyingQueue::new(queues, gpu, spec.job.load.iodepth(), clock);
        let (meter, queue) = driver::drive(spec, queue, clock);
        let (queues, gpu) = queue.into_parts();
        // The GPU lets go of the buffers before they are unmapped.
        (meter, (gpu, queues.into_memory()))
    });
}

/// Waits for the start and has `drive` run the job. Then lets go of the target and of what I/O in flight may refer to,
/// which `drive` gives back. Last comes the thread's final message.
fn run_by<P: Protocol, M>(
    spec: &ThreadSpec,
    prepared: Prepared<P>,
    drive: impl FnOnce(Queues<'_, P>, Clock) -> (Meter, M),
) {
    let Some(clock) = spec.context.shared.wait_for_start(spec.clock) else {
        return;
    };
    let Prepared {
        mut ring,
        buffers,
        encoder,
    } = prepared;
    let (meter, memory) = drive(Queues::new(&mut ring, encoder, buffers, clock), clock);
    if meter.summary.lost == 0 {
        ring.unregister();
        drop((ring, memory));
    } else {
        // The kernel may still write to the buffers of I/O that has not returned.
        mem::forget(memory);
    }
    meter.finish();
}

fn no_ring(error: io::Error) -> EngineError {
    EngineError::NoRing {
        reason: describe(&error),
    }
}

fn set_up<P: Protocol>(
    spec: &ThreadSpec,
    make: impl FnOnce(&ThreadSpec, &mut Ring<P>) -> Result<P, EngineError>,
) -> Result<(Prepared<P>, TargetSetup), EngineError> {
    let (job, target) = (&*spec.job, &*spec.target);
    let mut notes = Vec::new();
    let cpus = pinned(spec.cpu, &mut notes);
    let poll = spec.poll && target.pollable && only_moves_data(job);
    let iodepth = job.load.iodepth();
    let options = RingOptions {
        poll,
        spin: acts_without_completions(spec),
        sqpoll: spec.sqpoll,
    };
    let mut ring = Ring::new(iodepth, options).map_err(no_ring)?;
    let slots = match target.spec.kind {
        TargetKind::Nop => 0,
        _ => iodepth,
    };
    let is_stopped = || spec.context.shared.stopped();
    let buffers = Buffers::new(job, slots, spec.seed, spec.huge_pages, is_stopped)?;
    match &target.directory {
        None => ring.register(target.fd(), &buffers).map_err(no_ring)?,
        Some(directory) => ring
            .register_table(open_files(spec, directory), &buffers)
            .map_err(|source| files_error(spec, source))?,
    }
    let encoder = make(spec, &mut ring)?;
    let not_huge = spec.huge_pages.then(|| buffers.huge_page_note()).flatten();
    let pages = match not_huge {
        Some(_) => Pages::Small,
        None => buffers.pages,
    };
    notes.extend(not_huge);
    notes.append(&mut ring.notes);
    notes.extend(target.placement_note(job));
    notes.extend(target.cached_note.clone());
    let setup = TargetSetup {
        backend: "io_uring".into(),
        ring: ring.features.clone(),
        registered_buffers: ring.registered_buffers,
        huge_pages: pages.name().into(),
        direct: target.direct,
        poll,
        cpus,
        notes,
        ..TargetSetup::default()
    };
    let prepared = Prepared {
        ring,
        buffers,
        encoder,
    };
    Ok((prepared, setup))
}

/// Returns whether a polled ring takes all that a job issues: only reads and writes are polled for.
fn only_moves_data(job: &Job) -> bool {
    job.flush_every == 0 && job.ops().all(|op| matches!(op, Op::Read | Op::Write))
}

/// Whether the thread may have to act before a completion comes. An arrival, the end of a pause, another thread's I/O
/// and a copy to a GPU ask for it.
fn acts_without_completions(spec: &ThreadSpec) -> bool {
    let job = &*spec.job;
    matches!(job.load, Load::Open { .. })
        || job.pace.think_ns > 0
        || job.pattern.waits()
        || spec.stream.shares_trace()
        || spec.gpu
}

/// Operations that bring no data.
fn empty(spec: &ThreadSpec, ring: &mut Ring<Nops>) -> Result<Nops, EngineError> {
    if spec.gpu {
        ring.notes
            .push("a GPU was asked for and has no effect: nop: brings no data".into());
    }
    Ok(Nops)
}

/// Reads and writes through the kernel's block and file layers.
fn plain<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    spec: &ThreadSpec,
    ring: &mut Ring<P>,
) -> Result<Encoder, EngineError> {
    let (job, target) = (&*spec.job, &*spec.target);
    let trims_device =
        target.spec.kind == TargetKind::BlockDevice && job.mix.ops.iter().any(|b| b.op == Op::Trim);
    let trims = match trims_device {
        true => trims_of_device(ring).map_err(no_ring)?,
        false => Trims::Holes,
    };
    if trims_device && matches!(trims, Trims::Holes) {
        ring.notes.push("trim is done by punching holes: this kernel has no discard command for io_uring (Linux 6.12)".into());
    }
    Ok(Encoder {
        registered_buffers: ring.registered_buffers,
        trims,
        write_streams: target.sends_write_streams(job),
        ioprio: 0,
    })
}

/// Reads and writes whose priority is drawn for each.
fn prioritized<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    spec: &ThreadSpec,
    ring: &mut Ring<P>,
) -> Result<Prioritized, EngineError> {
    let draw = PriorityDraw::new(&spec.job, spec.draw_seed, spec.context.member as u32);
    Ok(Prioritized::new(plain(spec, ring)?, draw))
}

/// Reads and writes in a set of files.
fn in_set<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    spec: &ThreadSpec,
    ring: &mut Ring<P>,
) -> Result<InSet, EngineError> {
    let (job, encoder) = (&*spec.job, plain(spec, ring)?);
    let Some(directory) = &spec.target.directory else {
        return Err(no_ring(io::Error::other("the target is no set of files")));
    };
    let table = ring.table(open_files(spec, directory));
    let part = (spec.number, job.load.threads());
    InSet::new(
        encoder,
        directory,
        &job_set(job, directory),
        table,
        part,
        job.load.iodepth(),
    )
    .map_err(|source| files_error(spec, source))
}

/// Returns how many files the thread has open at once: no fewer than it has I/O in flight, so that one without can make
/// way.
fn open_files(spec: &ThreadSpec, directory: &Directory) -> u32 {
    let (job, set) = (&*spec.job, job_set(&spec.job, directory));
    let own = set.files_of(spec.number, job.load.threads()).len() as u32;
    let all_threads = job.load.threads();
    open_at_once(&set, own, all_threads).max(job.load.iodepth().min(own))
}

/// Returns the files as the thread's job goes through them: streams differ in that.
fn job_set(job: &Job, directory: &Directory) -> FileSet {
    job.files.clone().unwrap_or_else(|| directory.set.clone())
}

fn files_error(spec: &ThreadSpec, source: io::Error) -> EngineError {
    EngineError::Files {
        path: spec.target.spec.path.clone(),
        source,
    }
}

/// NVMe commands to a generic device.
fn passthrough<P: Protocol>(
    spec: &ThreadSpec,
    ring: &mut Ring<P>,
) -> Result<Commands, EngineError> {
    let target = &*spec.target;
    let Some(namespace) = &target.namespace else {
        return Err(no_ring(io::Error::other("the target is no NVMe namespace")));
    };
    Ok(Commands::new(
        namespace,
        &target.placement_ids,
        &spec.job,
        ring.registered_buffers,
    ))
}

/// Blocks that describe themselves, over `below`.
fn checked<P: Protocol>(spec: &ThreadSpec, below: P) -> Result<Checked<P>, EngineError> {
    let (job, thread) = (&*spec.job, spec.context.member);
    let clock = RunClock::new(&spec.context.shared, spec.clock);
    let journal = match (&job.journal, job.content.verify) {
        (Some(directory), Some(verify)) => {
            let (directory, target) = (Path::new(directory), &spec.target.spec.path);
            Some(WriteJournal::create(
                directory,
                target,
                thread,
                verify,
                clock.clone(),
            )?)
        }
        _ => None,
    };
    Ok(Checked::new(
        below,
        job,
        Accepted::by(&spec.whole, spec.target.spec.kind),
        thread,
        clock,
        journal,
    ))
}

/// Returns the rules of zones over `below`.
fn zoned<P: Protocol>(spec: &ThreadSpec, below: P) -> Result<ZoneLayer<P>, EngineError> {
    let (job, target) = (&*spec.job, &*spec.target);
    let Some(device) = &target.zoned else {
        return Err(no_ring(io::Error::other("the target has no zones")));
    };
    let stream_error = |source| EngineError::Stream {
        path: target.spec.path.clone(),
        source,
    };
    let part = match job.pattern {
        Pattern::Zones { open, .. } => Some(Part {
            job,
            region: job.region.resolve(target.geometry).map_err(stream_error)?,
            thread: spec.context.member as u32,
            open,
        }),
        _ => None,
    };
    ZoneLayer::new(below, device, part, job.load.iodepth())
}

/// Asks how trims reach the ring's block device. A discard of nothing is refused as invalid where the command exists, as
/// unsupported where it does not. A read of nothing that must not wait is unsupported where the device may always wait.
fn trims_of_device<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    ring: &mut Ring<P>,
) -> io::Result<Trims> {
    // SAFETY: a discard refers to no memory.
    if unsafe { probe(ring, discard(0, 0)) }? != -libc::EINVAL {
        return Ok(Trims::Holes);
    }
    let read = opcode::Read::new(FILE, ptr::null_mut(), 0).rw_flags(libc::RWF_NOWAIT);
    // SAFETY: a read of nothing refers to no memory.
    let may_always_wait = unsafe { probe(ring, read.build()) }? == -libc::EOPNOTSUPP;
    Ok(match may_always_wait {
        true => Trims::WaitingDiscards,
        false => Trims::Discards,
    })
}

/// Submits an entry, and returns its result.
///
/// # Safety
///
/// The entry must refer to no memory.
unsafe fn probe<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    ring: &mut Ring<P>,
    entry: squeue::Entry,
) -> io::Result<i32> {
    // SAFETY: the caller's entry refers to no memory.
    let pushed = unsafe { ring.io.submission().push(&entry.user_data(PROBE)) };
    pushed.map_err(io::Error::other)?;
    first_result(ring)
}

/// Submits what is queued, and waits for the first result. A signal may end a wait before that is there.
fn first_result<P: Protocol<Entry = squeue::Entry, Completion = cqueue::Entry>>(
    ring: &mut Ring<P>,
) -> io::Result<i32> {
    loop {
        match ring.io.submit_and_wait(1) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            entered => drop(entered?),
        }
        if let Some(completion) = ring.io.completion().next() {
            return Ok(completion.result());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        os::unix::thread::JoinHandleExt,
        thread,
        time::{Duration, Instant},
    };

    use io_uring::{
        opcode,
        types::{Fd, Timespec},
    };

    use super::*;

    extern "C" fn ignore(_signal: libc::c_int) {}

    #[test]
    fn a_probe_that_signals_interrupt_has_its_result_all_the_same() {
        const WAIT: Duration = Duration::from_millis(100);
        // SAFETY: the action is valid, does nothing, and restarts no call that it interrupts.
        unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = ignore as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        }
        let probe = thread::spawn(|| {
            let options = RingOptions {
                poll: false,
                spin: false,
                sqpoll: false,
            };
            let mut ring = Ring::<Encoder>::new(4, options).ok()?;
            let wait = Timespec::from(WAIT);
            let entry = opcode::Timeout::new(&wait).build().user_data(PROBE);
            // SAFETY: the time that the entry names outlives it.
            unsafe { ring.io.submission().push(&entry) }.unwrap();
            Some(first_result(&mut ring))
        });
        let give_up = Instant::now() + 20 * WAIT;
        while !probe.is_finished() {
            assert!(Instant::now() < give_up, "the probe waits for ever");
            // SAFETY: the thread has not been joined, so its handle is valid.
            unsafe { libc::pthread_kill(probe.as_pthread_t(), libc::SIGUSR1) };
            thread::sleep(WAIT / 20);
        }
        match probe.join().unwrap() {
            Some(result) => assert_eq!(result.unwrap(), -libc::ETIME),
            None => eprintln!("skipped: no ring"),
        }
    }

    #[test]
    fn a_job_that_flushes_is_not_polled_because_a_polled_ring_refuses_flushes() {
        let job = |more: &str| {
            let text = format!(
                "mix = \"write\"\nblock = \"4KiB\"\npattern = \"uniform\"\nload = {{}}\nuntil = {{ count = 1 }}\n{more}"
            );
            Job::from_toml(&text, "job.toml").unwrap()
        };
        assert!(only_moves_data(&job("")));
        assert!(!only_moves_data(&job("flush_every = 8")));
        let options = RingOptions {
            poll: true,
            spin: false,
            sqpoll: false,
        };
        let Ok(mut ring) = Ring::<Encoder>::new(4, options) else {
            eprintln!("skipped: no polled ring");
            return;
        };
        // SAFETY: the entry refers to no memory.
        unsafe {
            ring.io
                .submission()
                .push(&opcode::Fsync::new(Fd(0)).build())
        }
        .unwrap();
        ring.io.submit_and_wait(1).unwrap();
        let result = ring.io.completion().next().map(|one| one.result());
        assert_eq!(result, Some(-libc::EINVAL));
    }
}
