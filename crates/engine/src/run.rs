//! Starting a job on its targets, and following it: messages of the load threads become one
//! interval per target and second, in order, and one recording per target at the end.

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use recording::{Interval, Recording};
use workload::{Job, Limits, RequestStream};

use crate::{
    Backend, EngineError, Options, SetupReport, TargetSetup, TargetSpec,
    affinity::allowed_cpus,
    clock::Clock,
    lane::{Message, Post, Shared, Summary, TICK_NS, describe_errno},
    ring,
    target::Target,
    threads::{self, Source, Worker},
    uring::{self, Lane},
};

/// From the last thread's readiness to the common start.
const HEAD_START_NS: u64 = 1_000_000;
/// How much longer than the drain a thread may take to report before it is given up.
const GRACE: Duration = Duration::from_secs(3);
/// Open load: a mean delay of arrivals beyond this is worth a note.
const LATE_NS: f64 = 20_000.0;

/// Starts `job` on every target at once. Each target gets the job's whole load.
///
/// # Errors
/// A target cannot be opened or does not fit the job, or a thread cannot be set up; nothing has
/// been issued then.
pub fn start(job: &Job, targets: &[TargetSpec], options: &Options) -> Result<Run, EngineError> {
    let opened = open_targets(job, targets)?;
    let fallback = match options.backend {
        Backend::IoUring => match ring::refusal() {
            Some(reason) => return Err(EngineError::NoRing { reason }),
            None => None,
        },
        Backend::Auto => ring::refusal(),
        Backend::Threads => Some("asked for".into()),
    };
    let mut starter = Starter::new(job, options, opened.len());
    for (index, target) in opened.iter().enumerate() {
        let spawned = match &fallback {
            None => starter.spawn_lanes(index, target),
            Some(reason) => starter.spawn_workers(index, target, reason),
        };
        if let Err(error) = spawned {
            starter.abort();
            return Err(error);
        }
    }
    starter.release(targets)
}

fn open_targets(job: &Job, targets: &[TargetSpec]) -> Result<Vec<Arc<Target>>, EngineError> {
    if targets.is_empty() {
        return Err(EngineError::NoTarget);
    }
    let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
    let most = ring::MOST_ENTRIES - 1;
    if threads == 0 || iodepth == 0 || iodepth > most {
        return Err(EngineError::BadLoad {
            threads,
            iodepth,
            most,
        });
    }
    targets
        .iter()
        .map(|spec| Target::open(spec, job).map(Arc::new))
        .collect()
}

/// Threads being set up.
struct Starter<'o> {
    job: Arc<Job>,
    options: &'o Options,
    clock: Clock,
    shared: Arc<Shared>,
    sender: mpsc::Sender<Message>,
    receiver: Receiver<Message>,
    cpus: Vec<usize>,
    threads: Vec<Member>,
    setups: Vec<TargetSetup>,
    end_ns: u64,
}

struct Member {
    target: usize,
    member: usize,
    handle: JoinHandle<()>,
}

impl<'o> Starter<'o> {
    fn new(job: &Job, options: &'o Options, targets: usize) -> Self {
        let (sender, receiver) = mpsc::channel();
        let wanted = targets * job.load.threads() as usize;
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
            job: Arc::new(job.clone()),
            options,
            clock: Clock::new(),
            shared: Arc::default(),
            sender,
            receiver,
            cpus,
            threads: Vec::new(),
            setups: vec![setup; targets],
            end_ns: u64::MAX,
        }
    }

    /// The part of each thread: its requests and its limits.
    fn parts(&mut self, target: &Target) -> Result<Vec<(RequestStream, Limits)>, EngineError> {
        let stream_error = |source| EngineError::Stream {
            path: target.spec.path.clone(),
            source,
        };
        let region = self
            .job
            .region
            .resolve(target.geometry)
            .map_err(stream_error)?;
        let limits = self.job.until.resolve(region.size_bytes);
        self.end_ns = self.end_ns.min(limits.time_ns);
        let threads = self.job.load.threads();
        (0..threads)
            .map(|thread| {
                let stream =
                    RequestStream::new(&self.job, target.geometry, self.options.seed, thread);
                Ok((
                    stream.map_err(stream_error)?,
                    limits.of_thread(thread, threads),
                ))
            })
            .collect()
    }

    fn spawn_lanes(&mut self, index: usize, target: &Arc<Target>) -> Result<(), EngineError> {
        for (thread, (stream, limits)) in self.parts(target)?.into_iter().enumerate() {
            let cpu = self.next_cpu(index);
            let lane = Lane {
                job: Arc::clone(&self.job),
                target: Arc::clone(target),
                stream,
                limits,
                clock: self.clock,
                cpu,
                poll: self.options.poll,
                reap_min: self.options.reap_min,
                drain_timeout: self.options.drain_timeout,
                seed: self.member_seed(index, thread),
                post: self.post(index, thread),
            };
            self.spawn(index, target, thread, move || uring::run(lane))?;
        }
        Ok(())
    }

    fn spawn_workers(
        &mut self,
        index: usize,
        target: &Arc<Target>,
        reason: &str,
    ) -> Result<(), EngineError> {
        let iodepth = self.job.load.iodepth() as usize;
        for (thread, (stream, limits)) in self.parts(target)?.into_iter().enumerate() {
            let cpu = self.next_cpu(index);
            let source = Arc::new(Source::new(stream, limits));
            for slot in 0..iodepth {
                let member = thread * iodepth + slot;
                let worker = Worker {
                    job: Arc::clone(&self.job),
                    target: Arc::clone(target),
                    source: Arc::clone(&source),
                    reports_offered: slot == 0,
                    clock: self.clock,
                    end_ns: limits.time_ns,
                    cpu,
                    seed: self.member_seed(index, member),
                    fallback: Some(reason.to_owned()),
                    post: self.post(index, member),
                };
                self.spawn(index, target, member, move || threads::run(worker))?;
            }
        }
        Ok(())
    }

    /// A core of its own for each load thread, where there are enough.
    fn next_cpu(&mut self, target: usize) -> Option<usize> {
        let taken: usize = self.setups.iter().map(|setup| setup.cpus.len()).sum();
        let cpu = self.cpus.get(taken).copied()?;
        self.setups[target].cpus.push(cpu);
        Some(cpu)
    }

    /// Makes the data written differ between threads and targets.
    fn member_seed(&self, target: usize, member: usize) -> u64 {
        self.options.seed ^ (((target as u64) << 12 | member as u64) + 1)
    }

    fn post(&self, target: usize, member: usize) -> Post {
        Post {
            target,
            member,
            sender: self.sender.clone(),
            shared: Arc::clone(&self.shared),
        }
    }

    fn spawn(
        &mut self,
        target: usize,
        opened: &Target,
        member: usize,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<(), EngineError> {
        let handle = thread::Builder::new()
            .name(format!("io-{target}.{member}"))
            .spawn(body)
            .map_err(|source| EngineError::Thread {
                path: opened.spec.path.clone(),
                thread: member as u32,
                source,
            })?;
        self.threads.push(Member {
            target,
            member,
            handle,
        });
        Ok(())
    }

    fn abort(&self) {
        self.shared.abort();
        self.unpark();
    }

    fn unpark(&self) {
        for member in &self.threads {
            member.handle.thread().unpark();
        }
    }

    /// The next thread's set-up. Buffers may take long to fill, so the wait has no limit of its own.
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
        self.shared.release(self.clock.now_ns() + HEAD_START_NS);
        self.unpark();
        let mut tracks: Vec<Track> = targets
            .iter()
            .zip(&self.setups)
            .map(|(spec, setup)| Track::new(spec, setup))
            .collect();
        for member in &self.threads {
            tracks[member.target].next_index.push(0);
        }
        let end = (self.end_ns < u64::MAX)
            .then(|| Instant::now() + Duration::from_nanos(self.end_ns + HEAD_START_NS));
        Ok(Run {
            unfinished: self.threads.len(),
            threads: self.threads,
            shared: self.shared,
            receiver: self.receiver,
            tracks,
            ready: VecDeque::new(),
            setup: SetupReport {
                clock: self.clock.name().into(),
                clock_error_ppm: self.clock.error_ppm(),
                targets: self.setups,
            },
            drain_timeout: self.options.drain_timeout,
            end,
            last_news: Instant::now(),
        })
    }
}

/// Takes over what a thread achieved; threads of a target agree but for their notes.
fn absorb(ours: &mut TargetSetup, theirs: TargetSetup) {
    let (cpus, mut notes) = (
        std::mem::take(&mut ours.cpus),
        std::mem::take(&mut ours.notes),
    );
    for note in &theirs.notes {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    *ours = TargetSetup {
        cpus,
        notes,
        ..theirs
    };
}

/// One target's seconds being put together.
struct Track {
    path: PathBuf,
    /// Seconds that not every member has delivered yet.
    pending: BTreeMap<u32, Interval>,
    /// Per member, the second it will deliver next; `u32::MAX` when it has finished.
    next_index: Vec<u32>,
    recording: Recording,
    failure: Option<String>,
    lateness: (u64, u64),
    lost: u64,
}

impl Track {
    fn new(spec: &TargetSpec, setup: &TargetSetup) -> Self {
        let mut recording = Recording {
            notes: setup.notes.clone(),
            ..Recording::default()
        };
        if let Some(reason) = &setup.fallback {
            recording.notes.push(format!(
                "measured with a thread per outstanding I/O instead of io_uring ({reason}): more CPU per I/O, lower peak IOPS"
            ));
        }
        Self {
            path: spec.path.clone(),
            pending: BTreeMap::new(),
            next_index: Vec::new(),
            recording,
            failure: None,
            lateness: (0, 0),
            lost: 0,
        }
    }

    fn add(&mut self, member: usize, interval: Interval) {
        self.next_index[member] = interval.index + 1;
        match self.pending.entry(interval.index) {
            std::collections::btree_map::Entry::Occupied(mut other) => {
                other.get_mut().merge(&interval)
            }
            std::collections::btree_map::Entry::Vacant(slot) => {
                slot.insert(interval);
            }
        }
    }

    fn finish(&mut self, member: usize, summary: Summary) {
        self.next_index[member] = u32::MAX;
        for (errno, n) in summary.errno {
            *self.recording.errno.entry(errno).or_default() += n;
        }
        self.lost += summary.lost;
        self.lateness.0 += summary.lateness.0;
        self.lateness.1 += summary.lateness.1;
        if self.failure.is_none() {
            self.failure = summary.failure;
        }
    }

    /// Seconds that are complete, in order, added to the recording.
    fn complete(&mut self) -> Vec<Interval> {
        let through = self.next_index.iter().copied().min().unwrap_or(u32::MAX);
        let later = self.pending.split_off(&through);
        let complete = std::mem::replace(&mut self.pending, later);
        complete
            .into_values()
            .inspect(|interval| self.recording.add(interval))
            .collect()
    }

    /// The recording with its notes.
    fn finished(mut self, drain_timeout: Duration) -> Recording {
        for (&errno, n) in &self.recording.errno {
            self.recording
                .notes
                .push(format!("{n} I/O failed: {}", describe_errno(errno)));
        }
        if self.lost > 0 {
            self.recording.notes.push(format!(
                "{} I/O did not return within {} s after the end; they are not in the figures",
                self.lost,
                drain_timeout.as_secs()
            ));
        }
        let (arrivals, delay_ns) = self.lateness;
        let mean_ns = delay_ns as f64 / arrivals.max(1) as f64;
        if mean_ns > LATE_NS {
            self.recording.notes.push(format!(
                "arrivals were issued {:.0} us late on average by the load generator itself; response latency includes that",
                mean_ns / 1000.0
            ));
        }
        self.recording.notes.extend(self.failure);
        self.recording
    }
}

/// A running job.
pub struct Run {
    threads: Vec<Member>,
    unfinished: usize,
    shared: Arc<Shared>,
    receiver: Receiver<Message>,
    tracks: Vec<Track>,
    ready: VecDeque<(usize, Interval)>,
    setup: SetupReport,
    drain_timeout: Duration,
    /// When the job's own time is up.
    end: Option<Instant>,
    last_news: Instant,
}

impl Run {
    /// Intervals that are complete since the last call, of each target in order of time. Does not
    /// wait.
    pub fn poll(&mut self) -> Vec<(usize, Interval)> {
        self.receive(Duration::ZERO);
        self.ready.drain(..).collect()
    }

    /// Ends the run: no further I/O is issued, what is in flight is waited for. Returns at once.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Whether the run has ended and every interval has been polled.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0 && self.ready.is_empty()
    }

    /// What was asked for and what was achieved.
    pub fn setup(&self) -> SetupReport {
        self.setup.clone()
    }

    /// Waits for the end; one recording per target, in the order given. Intervals that were not
    /// polled are in it too.
    ///
    /// # Errors
    /// A target failed; the error holds what was measured until then.
    pub fn join(mut self) -> Result<Vec<Recording>, EngineError> {
        while self.unfinished > 0 {
            self.receive(Duration::from_nanos(TICK_NS));
            self.ready.clear();
        }
        let reporting = |member: &Member| self.tracks[member.target].lost == 0;
        let (reported, stuck): (Vec<_>, Vec<_>) = std::mem::take(&mut self.threads)
            .into_iter()
            .partition(reporting);
        for member in reported {
            // A panic has been noticed by `receive`; a stuck thread would never be joined.
            let _ = member.handle.join();
        }
        drop(stuck);
        let failed = self.tracks.iter().find_map(|track| {
            track
                .failure
                .clone()
                .map(|reason| (track.path.clone(), reason))
        });
        let recordings = std::mem::take(&mut self.tracks)
            .into_iter()
            .map(|track| track.finished(self.drain_timeout))
            .collect();
        match failed {
            None => Ok(recordings),
            Some((path, reason)) => Err(EngineError::TargetFailed {
                path,
                reason,
                recordings,
            }),
        }
    }

    /// Takes in what the threads have sent, waiting up to `wait` for the first.
    fn receive(&mut self, wait: Duration) {
        let mut next = match wait {
            Duration::ZERO => self.receiver.try_recv().ok(),
            wait => self.receiver.recv_timeout(wait).ok(),
        };
        while let Some(message) = next {
            self.take(message);
            next = self.receiver.try_recv().ok();
        }
        self.give_up_silent_threads();
        for (index, track) in self.tracks.iter_mut().enumerate() {
            self.ready.extend(
                track
                    .complete()
                    .into_iter()
                    .map(|interval| (index, interval)),
            );
        }
    }

    fn take(&mut self, message: Message) {
        self.last_news = Instant::now();
        match message {
            Message::Ready { .. } => {}
            Message::Interval {
                target,
                member,
                interval,
            } => self.tracks[target].add(member, interval),
            Message::Finished {
                target,
                member,
                summary,
            } => {
                self.unfinished -= 1;
                self.tracks[target].finish(member, summary);
            }
        }
    }

    /// A thread that is blocked in the kernel (an I/O that never returns) or has died cannot
    /// report: once the run should long be over it is taken as finished, its I/O as lost.
    fn give_up_silent_threads(&mut self) {
        let dead = |member: &Member| member.handle.is_finished();
        let over = self.shared.stopped() || self.end.is_some_and(|end| Instant::now() > end);
        let waited = self.last_news.elapsed() > self.drain_timeout + GRACE;
        for index in 0..self.threads.len() {
            let Member { target, member, .. } = self.threads[index];
            let track = &self.tracks[target];
            if track.next_index[member] == u32::MAX
                || !(over && waited || dead(&self.threads[index]))
            {
                continue;
            }
            // A message may have arrived between the last look and the thread's end.
            if let Ok(message) = self.receiver.try_recv() {
                self.take(message);
                return;
            }
            let failure = dead(&self.threads[index]).then(|| {
                "a load thread ended by a defect; please report it with the method and target"
                    .into()
            });
            let lost = u64::from(failure.is_none());
            self.unfinished -= 1;
            self.tracks[target].finish(
                member,
                Summary {
                    lost,
                    failure,
                    ..Summary::default()
                },
            );
        }
    }
}

impl Drop for Run {
    /// Threads of a run that nobody follows any more stop by themselves.
    fn drop(&mut self) {
        self.shared.stop();
    }
}
