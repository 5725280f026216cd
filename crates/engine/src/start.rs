//! Starting a job: opens the targets, sets every load thread up, releases them together.

mod release;
mod spawning;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
        mpsc::{self, Receiver},
    },
};

use workload::Job;

use crate::{
    Backend, EngineError, Options, Run, TargetSetup, TargetSpec, affinity::allowed_cpus,
    clock::Clock, gate::Shared, message::Message, ring, run::LoadThread, target::Target,
};

/// Starts `job` on every target at once. Each target gets the job's whole load, or its part of a split one.
///
/// # Errors
/// A target cannot be opened or does not fit the job, or a thread cannot be set up; nothing has
/// been issued then.
pub fn start(job: &Job, targets: &[TargetSpec], options: &Options) -> Result<Run, EngineError> {
    start_unless(job, targets, options, || false)
}

/// Starts as [`start`]. While threads set themselves up, it asks `is_stopped` several times a second. Where that is so,
/// they leave their set-up, and the run that is returned issues nothing.
///
/// # Errors
/// As [`start`].
pub fn start_unless(
    job: &Job,
    targets: &[TargetSpec],
    options: &Options,
    is_stopped: impl FnMut() -> bool,
) -> Result<Run, EngineError> {
    let jobs: Vec<_> = job
        .of_targets(targets.len())?
        .into_iter()
        .map(Arc::new)
        .collect();
    let opened = open_targets(&jobs, targets)?;
    let fallback = why_no_ring(job, &opened, options.backend)?;
    let mut starter = Starter::new(jobs, options, targets);
    for (index, target) in opened.iter().enumerate() {
        let spawned = match &fallback {
            None => starter.spawn_ring_threads(index, target),
            Some(reason) => starter.spawn_workers(index, target, reason),
        };
        if let Err(error) = spawned {
            starter.abort();
            return Err(error);
        }
    }
    starter.release(targets, is_stopped)
}

/// Opens each target as its own job of `jobs` needs it.
fn open_targets(
    jobs: &[Arc<Job>],
    targets: &[TargetSpec],
) -> Result<Vec<Arc<Target>>, EngineError> {
    if targets.is_empty() {
        return Err(EngineError::NoTarget);
    }
    let most = ring::IODEPTH_MAX;
    let open = |(spec, job): (&TargetSpec, &Arc<Job>)| {
        let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
        if threads == 0 || iodepth == 0 || iodepth > most {
            return Err(EngineError::BadLoad {
                threads,
                iodepth,
                most,
            });
        }
        Target::open(spec, job).map(Arc::new)
    };
    targets.iter().zip(jobs).map(open).collect()
}

/// Returns why threads with calls of their own do the I/O in place of rings; `None`: rings do.
fn why_no_ring(
    job: &Job,
    targets: &[Arc<Target>],
    backend: Backend,
) -> Result<Option<String>, EngineError> {
    let refusal = match backend {
        Backend::Threads => Some("asked for".to_owned()),
        Backend::Auto | Backend::IoUring => ring::refusal(),
    };
    let Some(reason) = refusal else {
        return Ok(None);
    };
    if matches!(backend, Backend::IoUring) {
        return Err(EngineError::NoRing { reason });
    }
    if targets.iter().any(|target| target.needs_ring(job)) {
        return Err(EngineError::NoRing {
            reason: format!(
                "{reason}; NVMe passthrough, nop:, sets of files, the pattern zones and verify have no other way"
            ),
        });
    }
    Ok(Some(reason))
}

/// Threads being set up.
struct Starter<'o> {
    /// One job per target.
    jobs: Vec<Arc<Job>>,
    options: &'o Options,
    clock: Clock,
    shared: Arc<Shared>,
    sender: mpsc::Sender<Message>,
    receiver: Receiver<Message>,
    cpus: std::vec::IntoIter<usize>,
    threads: Vec<LoadThread>,
    setups: Vec<TargetSetup>,
    /// Per target, its capacity and its failed I/O.
    failures: Vec<(u64, Arc<AtomicU64>)>,
    /// Per target, whether one of its threads has ended all.
    ended: Vec<Arc<AtomicBool>>,
    /// The earliest end that a job names.
    end_ns: u64,
    /// A number that no other run has, so that its data differ from theirs.
    chance: u64,
}

impl<'o> Starter<'o> {
    fn new(jobs: Vec<Arc<Job>>, options: &'o Options, targets: &[TargetSpec]) -> Self {
        let (sender, receiver) = mpsc::channel();
        let wanted: usize = jobs.iter().map(|job| job.load.threads() as usize).sum();
        let mut cpus = if options.pin {
            allowed_cpus()
        } else {
            Vec::new()
        };
        let mut setup = TargetSetup::default();
        if options.pin && cpus.len() < wanted {
            setup.notes.push(format!(
                "load threads are not pinned: {wanted} threads, {} cores",
                cpus.len()
            ));
            cpus.clear();
        }
        Self {
            jobs,
            options,
            clock: Clock::new(),
            chance: RandomState::new().build_hasher().finish(),
            shared: Arc::default(),
            sender,
            receiver,
            cpus: cpus.into_iter(),
            threads: Vec::new(),
            setups: vec![setup; targets.len()],
            failures: targets
                .iter()
                .map(|spec| (spec.capacity_bytes, Arc::default()))
                .collect(),
            ended: targets.iter().map(|_| Arc::default()).collect(),
            end_ns: u64::MAX,
        }
    }
}
