//! Starting a job: opens the targets, sets every load thread up, releases them together.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

use workload::{Job, Limits, RequestStream};

use crate::{
    Backend, EngineError, Options, Run, SetupReport, TargetKind, TargetSetup, TargetSpec,
    affinity::allowed_cpus,
    aggregator::Aggregator,
    calls,
    clock::Clock,
    driver::ThreadSpec,
    gate::Shared,
    message::{Message, ThreadContext},
    null, priority, ring,
    run::{LoadThread, Timeouts, Timing},
    target::Target,
    threads::{self, Source, Worker},
    uring,
};

/// From the last thread's readiness to the common start.
const HEAD_START_NS: u64 = 1_000_000;

/// Starts `job` on every target at once. Each target gets the job's whole load, or its part of a split one.
///
/// # Errors
/// A target cannot be opened or does not fit the job, or a thread cannot be set up; nothing has
/// been issued then.
pub fn start(job: &Job, targets: &[TargetSpec], options: &Options) -> Result<Run, EngineError> {
    let jobs: Vec<_> = job
        .of_targets(targets.len())?
        .into_iter()
        .map(Arc::new)
        .collect();
    let opened = open_targets(&jobs, targets)?;
    let fallback = match options.backend {
        Backend::IoUring => match ring::refusal() {
            Some(reason) => return Err(EngineError::NoRing { reason }),
            None => None,
        },
        Backend::Auto => ring::refusal(),
        Backend::Threads => Some("asked for".into()),
    };
    if let Some(reason) = &fallback
        && opened.iter().any(|target| target.needs_ring(job))
    {
        return Err(EngineError::NoRing {
            reason: format!(
                "{reason}; NVMe passthrough, nop:, sets of files, the pattern zones and verify have no other way"
            ),
        });
    }
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
    starter.release(targets)
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

/// What one load thread does.
struct ThreadPart {
    /// The job, or its stream's.
    job: Arc<Job>,
    stream: Option<Arc<str>>,
    exitall: bool,
    /// Its number among the threads of that job.
    number: u32,
    requests: RequestStream,
    limits: Limits,
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
    end_ns: u64,
    /// No other run's.
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

    /// Returns what each thread does: its I/O, its requests and its limits.
    fn parts(&mut self, index: usize, target: &Target) -> Result<Vec<ThreadPart>, EngineError> {
        let job = Arc::clone(&self.jobs[index]);
        let stream_error = |source| EngineError::Stream {
            path: target.spec.path.clone(),
            source,
        };
        self.end_ns = self.end_ns.min(job.until.time_ns.unwrap_or(u64::MAX));
        let streams = job.streams.iter();
        let streams: Vec<(Arc<str>, Arc<Job>)> = streams
            .map(|stream| (stream.name.as_str().into(), Arc::new(stream.job.clone())))
            .collect();
        let seed = self.stream_seed(index);
        let requests = RequestStream::of_threads(&job, target.geometry, seed);
        let parts = requests.map_err(stream_error)?.into_iter().zip(job.parts());
        (0..)
            .zip(parts)
            .map(|(thread, (requests, part))| {
                let stream = part.stream.map(|index| &streams[index]);
                let limits = job.thread_limits(thread, target.geometry);
                let limits = limits.map_err(stream_error)?;
                Ok(ThreadPart {
                    job: Arc::clone(stream.map_or(&job, |(_, job)| job)),
                    stream: stream.map(|(name, _)| Arc::clone(name)),
                    exitall: job.exits_all(part.stream),
                    number: part.thread,
                    limits: requests.limited(limits),
                    requests,
                })
            })
            .collect()
    }

    fn spawn_ring_threads(
        &mut self,
        index: usize,
        target: &Arc<Target>,
    ) -> Result<(), EngineError> {
        for (thread, part) in self.parts(index, target)?.into_iter().enumerate() {
            let cpu = self.cpus.next();
            let reap_min = self.options.reap_min.max(part.job.pace.reap);
            let spec = ThreadSpec {
                job: part.job,
                target: Arc::clone(target),
                stream: part.requests,
                number: part.number,
                limits: part.limits,
                clock: self.clock,
                cpu,
                poll: self.options.poll,
                sqpoll: self.options.sqpoll || self.jobs[index].sqpoll,
                reap_min,
                huge_pages: self.options.huge_pages || self.jobs[index].huge_pages,
                gpu: self.jobs[index].gpu,
                drain_timeout: self.options.drain_timeout,
                seed: self.content_seed(),
                context: self.context(index, thread, part.stream, part.exitall),
            };
            let of = spec.context.clone();
            let names = spec.job.is_metadata();
            let body = match target.spec.kind {
                TargetKind::Null => null::run,
                TargetKind::FileSet if names => calls::run,
                _ => uring::run,
            };
            let job = Arc::clone(&spec.job);
            self.spawn(target, &of, &job, move || body(spec))?;
        }
        Ok(())
    }

    fn spawn_workers(
        &mut self,
        index: usize,
        target: &Arc<Target>,
        reason: &str,
    ) -> Result<(), EngineError> {
        let mut members = 0..;
        for part in self.parts(index, target)? {
            let cpu = self.cpus.next();
            let limits = part.limits;
            let source = Arc::new(Source::new(part.requests, limits));
            for (slot, member) in (0..part.job.load.iodepth()).zip(members.by_ref()) {
                let worker = Worker {
                    job: Arc::clone(&part.job),
                    target: Arc::clone(target),
                    source: Arc::clone(&source),
                    reports_offered: slot == 0,
                    clock: self.clock,
                    end_ns: limits.time_ns,
                    cpu,
                    seed: self.content_seed(),
                    fallback: Some(reason.to_owned()),
                    context: self.context(index, member, part.stream.clone(), part.exitall),
                };
                let of = worker.context.clone();
                self.spawn(target, &of, &part.job, move || threads::run(worker))?;
            }
        }
        Ok(())
    }

    /// Makes the requests of targets differ, so that members of an array are not one drive counted N times.
    fn stream_seed(&self, target: usize) -> u64 {
        self.options.seed ^ (target as u64) << 32
    }

    /// Makes the data written by the next thread differ from those of all others, whatever their targets. Its number
    /// among them is in the bits that its stamps begin with. The data also differ from those of another run, with the
    /// same seed or on another host. A target that keeps equal data once would have them already.
    fn content_seed(&self) -> u64 {
        self.chance ^ (self.threads.len() as u64 + 1)
    }

    fn context(
        &self,
        target: usize,
        member: usize,
        stream: Option<Arc<str>>,
        exitall: bool,
    ) -> ThreadContext {
        let (capacity_bytes, failed) = self.failures[target].clone();
        ThreadContext {
            target,
            member,
            stream,
            sender: self.sender.clone(),
            shared: Arc::clone(&self.shared),
            errors: self.jobs[target].errors,
            failed,
            ended: Arc::clone(&self.ended[target]),
            exitall,
            capacity_bytes,
            issuing: Arc::default(),
        }
    }

    /// Starts the thread that has this post.
    fn spawn(
        &mut self,
        opened: &Target,
        context: &ThreadContext,
        job: &Job,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), EngineError> {
        for asked in job.priorities() {
            priority::check(asked).map_err(|source| EngineError::Priority {
                path: opened.spec.path.clone(),
                class: asked.class.name(),
                source,
            })?;
        }
        let own = job.priority;
        let body = move || {
            // What was checked above is given: a thread has the rights of the one that started it.
            let _given = own.map(priority::take);
            body();
        };
        let handle = thread::Builder::new()
            .name(format!("io-{}.{}", context.target, context.member))
            .spawn(body)
            .map_err(|source| EngineError::Thread {
                path: opened.spec.path.clone(),
                thread: context.member as u32,
                source,
            })?;
        self.threads.push(LoadThread {
            target: context.target,
            member: context.member,
            stream: context.stream.clone(),
            issuing: Arc::clone(&context.issuing),
            handle,
            heard: Instant::now(),
        });
        Ok(())
    }

    /// Gives up, and waits for what the threads hold: a start that failed leaves nothing open, and makes nothing any more.
    fn abort(&self) {
        self.shared.abort();
        self.unpark();
        let give_up = Instant::now().checked_add(self.options.drain_timeout);
        let waits = || give_up.is_none_or(|give_up| Instant::now() < give_up);
        let ended = |member: &LoadThread| member.handle.is_finished();
        while !self.threads.iter().all(ended) && waits() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn unpark(&self) {
        for member in &self.threads {
            member.handle.thread().unpark();
        }
    }

    /// Returns the next thread's set-up. Buffers may take long to fill, so the wait has no limit of its own.
    fn next_ready(&self) -> Result<(usize, TargetSetup), EngineError> {
        loop {
            match self.receiver.recv_timeout(Duration::from_millis(200)) {
                Ok(Message::Ready { target, setup }) => return setup.map(|setup| (target, setup)),
                Ok(_) => {}
                Err(_) => {
                    if let Some(dead) = self.threads.iter().find(|m| m.handle.is_finished()) {
                        return Err(EngineError::Defect {
                            thread: dead.member as u32,
                        });
                    }
                }
            }
        }
    }

    /// Releases all threads and returns the moment of the start: the one asked for, or now where that has passed.
    fn open_gate(&self) -> u64 {
        let head_start = Duration::from_nanos(HEAD_START_NS);
        let left = |at: SystemTime| at.duration_since(SystemTime::now()).unwrap_or_default();
        let asked = self.options.start_at;
        if let Some(at) = asked {
            thread::sleep(left(at).saturating_sub(head_start));
        }
        let wait = asked.map_or(head_start, left);
        let start_ns = self.clock.now_ns() + wait.as_nanos() as u64;
        self.shared.release(start_ns, SystemTime::now() + wait);
        start_ns
    }

    /// Waits until every thread is set up, then starts them together.
    fn release(mut self, targets: &[TargetSpec]) -> Result<Run, EngineError> {
        for _ in 0..self.threads.len() {
            match self.next_ready() {
                Ok((target, setup)) => absorb(&mut self.setups[target], setup),
                Err(error) => {
                    self.abort();
                    return Err(error);
                }
            }
        }
        let start_ns = self.open_gate();
        self.unpark();
        self.threads
            .iter_mut()
            .for_each(|member| member.heard = Instant::now());
        let setup = SetupReport {
            clock: self.clock.name().into(),
            clock_error_ppm: self.clock.error_ppm(),
            targets: self.setups,
        };
        let mut aggregators: Vec<Aggregator> = targets
            .iter()
            .zip(&setup.targets)
            .map(|(spec, target)| Aggregator::new(spec, target, setup.in_words(target, spec.kind)))
            .collect();
        for member in &self.threads {
            aggregators[member.target].add_member();
        }
        let stuck_ns = self.jobs.iter().map(|job| job.errors.stuck_ns).max();
        let own_end = Duration::from_nanos(self.end_ns.saturating_add(HEAD_START_NS));
        Ok(Run::new(
            self.threads,
            self.shared,
            self.receiver,
            aggregators,
            setup,
            Timeouts {
                drain: self.options.drain_timeout,
                stuck: Duration::from_nanos(stuck_ns.unwrap_or(u64::MAX)),
            },
            Timing {
                clock: self.clock.rebased(start_ns),
                end: Instant::now().checked_add(own_end),
            },
        ))
    }
}

/// Takes over what a thread achieved; threads of a target agree but for their cores and notes.
fn absorb(ours: &mut TargetSetup, theirs: TargetSetup) {
    let (mut cpus, mut notes) = (
        std::mem::take(&mut ours.cpus),
        std::mem::take(&mut ours.notes),
    );
    for note in &theirs.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    cpus.extend(&theirs.cpus);
    cpus.sort_unstable();
    cpus.dedup();
    *ours = TargetSetup {
        cpus,
        notes,
        ..theirs
    };
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::buffers::STAMP_SHIFT;

    /// Without io_uring each I/O in flight has a thread.
    const JOB: &str = r#"{"mix": "write", "block": "4KiB", "pattern": "uniform",
        "load": {"threads": 1, "iodepth": 4100}, "until": {"count": 1}}"#;

    #[test]
    fn no_two_threads_write_the_same_data_however_many_a_target_has() {
        let job = Arc::new(Job::from_json(JOB, "job.json").unwrap());
        let specs = ["null:one", "null:other"].map(|name| TargetSpec {
            path: name.into(),
            kind: TargetKind::Null,
            capacity_bytes: 1 << 30,
            held: None,
        });
        let options = Options::default();
        let mut starter = Starter::new(vec![Arc::clone(&job); 2], &options, &specs);
        let mut stamps = HashSet::new();
        for (index, spec) in specs.iter().enumerate() {
            let target = Target::open(spec, &job).unwrap();
            for member in 0..job.load.iodepth() as usize {
                assert!(stamps.insert(starter.content_seed() << STAMP_SHIFT));
                let context = starter.context(index, member, None, false);
                starter.spawn(&target, &context, &job, || ()).unwrap();
            }
        }
    }
}
