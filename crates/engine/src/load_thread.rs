//! What load threads of every backend share: the start gate and stop flag, and the messages to the [`crate::Run`]. Also
//! the meter that cuts a thread's counts into intervals.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    hint::black_box,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::Sender,
    },
    time::{Duration, Instant, SystemTime},
};

use recording::{Fault, FaultCounter, InFlight, Interval, Recorder, Remark, Utilisation};
use workload::{Errors, Op, RequestStream};

use crate::{
    EngineError, TargetSetup,
    affinity::{CpuMeter, CpuTime},
    clock::Clock,
    nvme::{NVME_STATUS, describe_status},
};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
/// Longest time a thread goes without looking at the stop flag.
pub(crate) const TICK_NS: u64 = 20_000_000;
/// Name of the load threads' utilisation.
const GENERATOR_CPU: &str = "load generator CPU";

/// Flags of a run.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// 0: wait; `ABORT`: give up; else the start, on the run's clock.
    gate: AtomicU64,
    /// The start by the system's clock.
    start: OnceLock<SystemTime>,
    /// The most that a thread passed the gate after the start, ns.
    late_ns: AtomicU64,
    stop: AtomicBool,
    /// When the stop was asked for.
    stopped_at: OnceLock<Instant>,
    /// Nobody waits for I/O in flight any more.
    abandoned: AtomicBool,
}

const ABORT: u64 = u64::MAX;
/// How long a thread spins before the start: a sleep may end that much late.
const SPIN_NS: u64 = 100_000;

impl Shared {
    /// Opens the gate: all threads start at `start_ns`, which is `at` by the system's clock.
    pub(crate) fn release(&self, start_ns: u64, at: SystemTime) {
        self.start.get_or_init(|| at);
        self.gate.store(start_ns.max(1), Ordering::Release);
    }

    /// Releases waiting threads: there will be no run.
    pub(crate) fn abort(&self) {
        self.gate.store(ABORT, Ordering::Release);
    }

    pub(crate) fn stop(&self) {
        self.stopped_at.get_or_init(Instant::now);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns when [`Shared::stop`] was called first.
    pub(crate) fn stopped_at(&self) -> Option<Instant> {
        self.stopped_at.get().copied()
    }

    /// Stops, and gives up what is in flight.
    pub(crate) fn abandon(&self) {
        self.stop();
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns when the last of the threads passed the gate; `None`: it is closed.
    pub(crate) fn started_at(&self) -> Option<SystemTime> {
        let late = Duration::from_nanos(self.late_ns.load(Ordering::Relaxed));
        self.start.get().map(|start| *start + late)
    }

    /// Waits at the gate; `None`: there will be no run. The clock returned reads 0 at the start.
    pub(crate) fn wait_for_start(&self, clock: Clock) -> Option<Clock> {
        let start_ns = loop {
            match self.gate.load(Ordering::Acquire) {
                0 => std::thread::park(),
                ABORT => return None,
                start_ns => break start_ns,
            }
        };
        // Where threads share a core, one that spins for long would have the core when the others are to start.
        let asleep_ns = start_ns.saturating_sub(clock.now_ns() + SPIN_NS);
        std::thread::sleep(Duration::from_nanos(asleep_ns));
        while clock.now_ns() < start_ns {
            std::hint::spin_loop();
        }
        let late_ns = clock.now_ns() - start_ns;
        self.late_ns.fetch_max(late_ns, Ordering::Relaxed);
        Some(clock.rebased(start_ns))
    }
}

/// What a load thread reports to the run.
pub(crate) enum Message {
    /// Set up and waiting at the gate, or not.
    Ready {
        target: usize,
        setup: Result<TargetSetup, EngineError>,
    },
    /// A second of one thread.
    Interval {
        target: usize,
        member: usize,
        interval: Box<Interval>,
    },
    /// The thread's last message.
    Finished {
        target: usize,
        member: usize,
        summary: Summary,
    },
}

/// What a load thread has to say besides its intervals.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// Failed I/O by errno; 0: short.
    pub(crate) errno: BTreeMap<i32, u64>,
    /// The same by operation and range.
    pub(crate) faults: Vec<Fault>,
    /// I/O in flight when the window ended.
    pub(crate) in_flight: Vec<InFlight>,
    /// I/O that had not returned when the drain was given up.
    pub(crate) lost: u64,
    /// Age of the oldest of it then.
    pub(crate) lost_age_ns: u64,
    /// Why the target is taken as failed.
    pub(crate) failure: Option<String>,
    /// Open load: (I/O issued on arrival, their summed delay in ns).
    pub(crate) lateness: (u64, u64),
    /// Open load: the time at the end whose arrivals were not counted.
    pub(crate) uncounted_ns: u64,
    /// Time ready to run while something else had the core.
    pub(crate) waiting_ns: u64,
    /// What the target's protocol has to say.
    pub(crate) remarks: Vec<Remark>,
    /// The same in words.
    pub(crate) notes: Vec<String>,
}

/// The name of one load thread in messages, and the way to the run.
#[derive(Clone)]
pub(crate) struct ThreadContext {
    pub(crate) target: usize,
    pub(crate) member: usize,
    /// The stream of the job that it belongs to.
    pub(crate) stream: Option<Arc<str>>,
    pub(crate) sender: Sender<Message>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) errors: Errors,
    /// Failed I/O of all threads of the target.
    pub(crate) failed: Arc<AtomicU64>,
    /// Whether a thread of the target has ended all of them.
    pub(crate) ended: Arc<AtomicBool>,
    /// Whether this one does when its volume is done.
    pub(crate) exitall: bool,
    pub(crate) capacity_bytes: u64,
    pub(crate) issuing: Arc<Issuing>,
}

/// What a load thread has given to the kernel last: all that is known of one that the kernel does not let go.
#[derive(Debug, Default)]
pub(crate) struct Issuing(AtomicU64);

impl Issuing {
    const OP_BITS: u32 = 5;

    /// Notes an I/O that is issued now.
    #[inline(always)]
    pub(crate) fn note(&self, op: Op, issued_ns: u64) {
        let noted = issued_ns << Self::OP_BITS | (op as u64 + 1);
        self.0.store(noted, Ordering::Relaxed);
    }

    /// Returns the operation noted last and when it was issued.
    pub(crate) fn last(&self) -> Option<(Op, u64)> {
        let noted = self.0.load(Ordering::Relaxed);
        let op = (noted & ((1 << Self::OP_BITS) - 1)).checked_sub(1)?;
        let op = Op::ALL.get(op as usize)?;
        Some((*op, noted >> Self::OP_BITS))
    }
}

const _: () = assert!(Op::COUNT < 1 << Issuing::OP_BITS);

impl ThreadContext {
    /// A run that was dropped no longer listens; its threads end by the stop flag.
    fn send(&self, message: Message) {
        let _ = self.sender.send(message);
    }

    pub(crate) fn ready(&self, setup: Result<TargetSetup, EngineError>) {
        self.send(Message::Ready {
            target: self.target,
            setup,
        });
    }

    pub(crate) fn finished(&self, summary: Summary) {
        self.send(Message::Finished {
            target: self.target,
            member: self.member,
            summary,
        });
    }
}

/// Fewest nanoseconds of the run per arrival counted. Drawing one takes 2 to 8 ns on most machines, so counting leaves
/// time to the load, whatever rate is asked for. Issuing one takes about 25 ns where the target does nothing.
const COUNT_NS: u64 = 16;
/// Where drawing takes longer than a quarter of that, counting has this part of a thread's time.
const COUNT_TIMES: u64 = 4;
/// What drawing takes is timed in a few rounds of draws; the fastest counts.
const TRIAL_ROUNDS: u32 = 4;
const TRIAL_DRAWS: u32 = 128;
/// Arrivals that may be counted besides: of a burst after a time with fewer.
const SPARE: u64 = 1 << 20;

/// Returns what drawing an arrival takes on this machine, ns: about ten microseconds of trial.
fn draw_ns(stream: &RequestStream) -> u64 {
    let mut trial = stream.clone();
    let round = |_| {
        let start = Instant::now();
        for _ in 0..TRIAL_DRAWS {
            black_box(trial.next_arrival_ns());
        }
        start.elapsed().as_nanos() as u64 / u64::from(TRIAL_DRAWS)
    };
    (0..TRIAL_ROUNDS).map(round).min().unwrap_or_default()
}

/// Arrivals that are counted before the load goes on: where drawing takes longer than was found, the load still does.
const AT_ONCE: u64 = 1 << 12;

/// Counts arrivals of an open load on its own copy of the stream. So the backlog is known exactly and needs no memory
/// however long it grows. Where arrivals come faster than they may be counted, the count falls behind and is a lower
/// bound.
#[derive(Debug)]
pub(crate) struct Offered {
    arrivals: RequestStream,
    next_ns: u64,
    limit: u64,
    arrived: u64,
    reported: u64,
    /// Nanoseconds of the run per arrival counted.
    count_ns: u64,
    /// Arrivals that may be counted, and until when they were allowed.
    allowed: u64,
    allowed_ns: u64,
    uncounted_ns: u64,
}

impl Offered {
    /// Counts the arrivals of `stream`, at most `limit`.
    pub(crate) fn new(stream: &RequestStream, limit: u64) -> Self {
        let mut arrivals = stream.clone();
        let next_ns = arrivals.next_arrival_ns();
        Self {
            arrivals,
            next_ns,
            limit,
            arrived: 0,
            reported: 0,
            count_ns: COUNT_NS.max(COUNT_TIMES * draw_ns(stream)),
            allowed: SPARE,
            allowed_ns: 0,
            uncounted_ns: 0,
        }
    }

    /// Counts what arrives before `until_ns`, as far as may be counted by then and at once.
    #[inline]
    pub(crate) fn advance(&mut self, until_ns: u64) {
        self.advance_by(until_ns, AT_ONCE);
    }

    #[inline]
    fn advance_by(&mut self, until_ns: u64, most: u64) {
        let more = until_ns.saturating_sub(self.allowed_ns) / self.count_ns;
        self.allowed += more;
        self.allowed_ns += more * self.count_ns;
        let last = self.arrived.saturating_add(self.allowed.min(most));
        let before = self.arrived;
        while self.next_ns < until_ns && self.arrived < self.limit.min(last) {
            self.arrived += 1;
            self.next_ns = self.arrivals.next_arrival_ns();
        }
        self.allowed = (self.allowed - (self.arrived - before)).min(SPARE);
    }

    /// Returns (arrived since the last call, arrived but not among the `issued`), at `at_ns`.
    pub(crate) fn report(&mut self, at_ns: u64, issued: u64) -> (u64, u64) {
        self.advance_by(at_ns, u64::MAX);
        let all = self.arrived == self.limit;
        self.uncounted_ns = if all {
            0
        } else {
            at_ns.saturating_sub(self.next_ns)
        };
        let arrived = match self.uncounted_ns {
            0 => self.arrived,
            _ => self.arrived.max(issued),
        };
        let new = arrived.saturating_sub(self.reported);
        self.reported = self.reported.max(arrived);
        (new, arrived.saturating_sub(issued))
    }

    /// Returns the time before the last report whose arrivals are not among those reported.
    pub(crate) fn uncounted_ns(&self) -> u64 {
        self.uncounted_ns
    }
}

/// Cuts one thread's counts into intervals and decides when its time is up.
pub(crate) struct Meter {
    pub(crate) recorder: Recorder,
    pub(crate) summary: Summary,
    faults: FaultCounter,
    /// The next moment at which something is due: the interval's end or the run's.
    pub(crate) due_ns: u64,
    end_ns: u64,
    interval_start_ns: u64,
    cpu_meter: CpuMeter,
    cpu: CpuTime,
    /// Time spent spinning with nothing to do, from the start; `None`: looks like work.
    idle_ns: Option<u64>,
    /// What of it has been accounted for.
    idle_seen_ns: u64,
    context: ThreadContext,
}

impl Meter {
    pub(crate) fn new(context: ThreadContext, end_ns: u64) -> Self {
        let cpu_meter = CpuMeter::new();
        Self {
            cpu: cpu_meter.read(),
            cpu_meter,
            recorder: Recorder::default(),
            summary: Summary::default(),
            faults: FaultCounter::new(context.capacity_bytes),
            due_ns: SECOND_NS.min(end_ns),
            end_ns,
            interval_start_ns: 0,
            idle_ns: Some(0),
            idle_seen_ns: 0,
            context,
        }
    }

    /// Returns whether the thread must look up from its loop.
    #[inline]
    pub(crate) fn is_due(&self, now_ns: u64) -> bool {
        now_ns >= self.due_ns || self.is_ended()
    }

    #[inline]
    fn is_ended(&self) -> bool {
        self.context.shared.stopped() || self.context.ended.load(Ordering::Relaxed)
    }

    /// Ends all threads of the target where the thread's stream does so, and returns whether it does: its volume is done.
    pub(crate) fn end_others(&self) -> bool {
        if self.context.exitall {
            self.context.ended.store(true, Ordering::Relaxed);
        }
        self.context.exitall
    }

    /// Returns whether nobody waits for I/O in flight any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.context.shared.is_abandoned()
    }

    /// Notes an I/O that is issued now.
    #[inline(always)]
    pub(crate) fn issuing(&self, op: Op, issued_ns: u64) {
        self.context.issuing.note(op, issued_ns);
    }

    /// Notes what is in flight when the window ends, each as its operation, issue and, of an open load, arrival.
    pub(crate) fn note_in_flight(
        &mut self,
        now_ns: u64,
        in_flight: impl Iterator<Item = (Op, u64, Option<u64>)>,
    ) {
        let at_ns = now_ns.min(self.end_ns);
        let ages = in_flight.map(|(op, issued_ns, arrival_ns)| InFlight {
            op,
            age_ns: at_ns.saturating_sub(issued_ns),
            response_ns: arrival_ns.map(|arrival_ns| at_ns.saturating_sub(arrival_ns)),
        });
        self.summary.in_flight = ages.collect();
    }

    /// Returns whether the run is over for this thread.
    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns || self.is_ended()
    }

    /// Notes how long the thread has spun with nothing to do since the start, before intervals are cut.
    pub(crate) fn set_idle(&mut self, idle_ns: Option<u64>) {
        self.idle_ns = idle_ns;
    }

    /// Counts a failed I/O. `result` is the negative errno or the bytes a short one moved.
    #[cold]
    pub(crate) fn fail(
        &mut self,
        op: Op,
        (offset_bytes, size_bytes): (u64, u32),
        result: i32,
        service_ns: u64,
    ) {
        let errno = if result < 0 { -result } else { 0 };
        *self.summary.errno.entry(errno).or_default() += 1;
        self.faults.count(op, errno, offset_bytes, size_bytes);
        self.recorder.fail(op, service_ns);
        let failed = 1 + self.context.failed.fetch_add(1, Ordering::Relaxed);
        if matches!(
            errno,
            libc::ENODEV | libc::ENXIO | libc::EBADF | libc::ENOTCONN
        ) {
            self.give_up(format!("the device is gone ({})", describe_errno(errno)));
        } else if self
            .context
            .errors
            .most
            .is_some_and(|most| failed == most + 1)
        {
            // Only the thread whose I/O went over the limit speaks: others may fail before they see the stop.
            self.give_up(format!(
                "{failed} I/O failed, and the job asks to stop then; the last: {} of {size_bytes} bytes at {offset_bytes} ({})",
                op.name(),
                describe_errno(errno)
            ));
        }
    }

    /// Ends the run if an I/O has been in flight for longer than the job puts up with. `oldest` is what, where,
    /// how long and since when.
    pub(crate) fn watch(&mut self, now_ns: u64, oldest: Option<(Op, u64, u32, u64)>) {
        let Some((op, offset_bytes, size_bytes, issued_ns)) = oldest else {
            return;
        };
        let age_ns = now_ns.saturating_sub(issued_ns);
        if age_ns > self.context.errors.stuck_ns {
            self.give_up(format!(
                "an I/O does not return: {} of {size_bytes} bytes at {offset_bytes} has been in flight for {:.1} s",
                op.name(),
                age_ns as f64 / 1e9
            ));
        }
    }

    /// Ends the run because the target failed.
    pub(crate) fn give_up(&mut self, reason: String) {
        self.summary.failure.get_or_insert(reason);
        self.context.shared.stop();
    }

    /// Cuts the intervals that ended by `now_ns`. `age_ns` is the summed age of the I/O in flight
    /// at a time; `offered` gives arrivals and backlog at a time.
    pub(crate) fn cut_due(
        &mut self,
        now_ns: u64,
        age_ns: impl Fn(u64) -> u64,
        mut offered: impl FnMut(u64) -> Option<(u64, u64)>,
    ) {
        while now_ns >= self.due_ns && self.interval_start_ns < self.end_ns {
            self.cut(self.due_ns, &age_ns, &mut offered);
        }
    }

    /// Cuts the last interval at `now_ns`, or at the end of the run if that was earlier.
    pub(crate) fn cut_last(
        &mut self,
        now_ns: u64,
        age_ns: impl Fn(u64) -> u64,
        mut offered: impl FnMut(u64) -> Option<(u64, u64)>,
    ) {
        self.cut_due(now_ns, &age_ns, &mut offered);
        if now_ns.min(self.end_ns) > self.interval_start_ns {
            self.cut(now_ns.min(self.end_ns), &age_ns, &mut offered);
        }
    }

    fn cut(
        &mut self,
        at_ns: u64,
        age_ns: &impl Fn(u64) -> u64,
        offered: &mut impl FnMut(u64) -> Option<(u64, u64)>,
    ) {
        self.notice_total_failure(at_ns);
        let mut interval = self.recorder.cut(at_ns, age_ns(at_ns));
        if let Some((arrived, backlog)) = offered(at_ns) {
            interval.offered = Some(arrived);
            interval.backlog = Some(backlog);
        }
        if let Some(name) = &self.context.stream {
            interval = interval.of_stream(name);
        }
        self.account_cpu(&mut interval);
        self.context.send(Message::Interval {
            target: self.context.target,
            member: self.context.member,
            interval: Box::new(interval),
        });
        self.interval_start_ns = at_ns;
        self.due_ns = (at_ns + 1).next_multiple_of(SECOND_NS).min(self.end_ns);
    }

    /// A thread that wanted the core all the time is at its limit, whoever had the core. Spinning until the next
    /// arrival wants it for nothing; a thread that the kernel polls in wants it always, which shows nothing.
    fn account_cpu(&mut self, interval: &mut Interval) {
        let (before, now) = (self.cpu, self.cpu_meter.read());
        self.cpu = now;
        let (user_ns, sys_ns) = (now.user_ns - before.user_ns, now.sys_ns - before.sys_ns);
        let waiting_ns = now.waiting_ns - before.waiting_ns;
        self.summary.waiting_ns += waiting_ns;
        interval.counters.cpu_user_ns = Some(user_ns);
        interval.counters.cpu_sys_ns = Some(sys_ns);
        let Some(idle_ns) = self.idle_ns else { return };
        let spun_ns = idle_ns - self.idle_seen_ns;
        self.idle_seen_ns = idle_ns;
        let wanted_ns = (user_ns + sys_ns + waiting_ns).saturating_sub(spun_ns) as f64;
        let busy = (wanted_ns / interval.length_ns.max(1) as f64).min(1.0);
        interval.utilisation.push(Utilisation {
            resource: GENERATOR_CPU.into(),
            servers: 1,
            mean: busy,
            max: busy,
            waiting: 0.0,
        });
    }

    /// A whole second in which every I/O failed means that the target is gone, whatever the errno.
    fn notice_total_failure(&mut self, at_ns: u64) {
        let (completed, failed) = self.recorder.counted();
        if completed == 0 && failed > 0 && at_ns - self.interval_start_ns >= SECOND_NS {
            let errno = self.summary.errno.keys().next_back().copied().unwrap_or(0);
            // Linux takes a removed block device for one of no size.
            let removed = match errno {
                libc::ENOSPC => ": a file system is full, or a block device was removed",
                0 => ": a file was cut short, or a block device was removed",
                _ => "",
            };
            self.give_up(format!(
                "every I/O of a whole second failed ({}{removed})",
                describe_errno(errno)
            ));
        }
    }

    /// The thread's last word.
    pub(crate) fn finish(mut self) {
        self.summary.faults = self.faults.into_faults();
        self.context.finished(self.summary);
    }
}

/// Returns a failure in words: an errno, 0 for a short I/O, from 0x10000 on a status of the NVMe device.
pub fn describe_errno(errno: i32) -> String {
    match errno {
        0 => "fewer bytes moved than asked".into(),
        NVME_STATUS.. => describe_status(errno - NVME_STATUS),
        libc::EILSEQ => "the data read are not those written (verify)".into(),
        errno => std::io::Error::from_raw_os_error(errno).to_string(),
    }
}
