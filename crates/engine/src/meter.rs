//! One load thread's counts, cut into intervals.

use std::sync::atomic::Ordering;

use recording::{FaultCounter, InFlight, Interval, Recorder, Utilisation};
use workload::{Op, Request};

use crate::{
    affinity::{CpuMeter, CpuTime},
    errno::describe_errno,
    message::{Message, Summary, ThreadContext},
};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
/// Name of the load threads' utilisation.
const GENERATOR_CPU: &str = "load generator CPU";

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
            .is_some_and(|most| failed - 1 == most)
        {
            // Only the thread whose I/O went over the limit speaks: others may fail before they see the stop.
            self.give_up(format!(
                "{failed} I/O failed, and the job asks to stop then; the last: {} of {size_bytes} bytes at {offset_bytes} ({})",
                op.name(),
                describe_errno(errno)
            ));
        }
    }

    /// Ends the run if an I/O has been in flight for longer than the job puts up with. `oldest` is the one that was
    /// issued first, and when.
    pub(crate) fn watch(&mut self, now_ns: u64, oldest: Option<(&Request, u64)>) {
        let Some((request, issued_ns)) = oldest else {
            return;
        };
        let age_ns = now_ns.saturating_sub(issued_ns);
        if age_ns > self.context.errors.stuck_ns {
            self.give_up(format!(
                "an I/O does not return: {} of {} bytes at {} has been in flight for {:.1} s",
                request.op.name(),
                request.size_bytes,
                request.offset_bytes,
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

    /// The thread's last word.
    pub(crate) fn finish(mut self) {
        self.summary.faults = self.faults.into_faults();
        self.context.finished(self.summary);
    }
}
