//! Following a running job. Messages of the load threads become one interval per target and second, in order, and one
//! recording per target at the end.

use std::{
    collections::VecDeque,
    sync::{Arc, mpsc::Receiver},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use recording::{InFlight, Interval, Recording};

use crate::{
    EngineError, SetupReport,
    aggregator::Aggregator,
    gate::{RunClock, Shared, TICK_NS},
    message::{Issuing, Message, Summary},
    pulse::Pulse,
};

/// How much longer than the drain a thread may take to report before it is given up.
const GRACE: Duration = Duration::from_secs(3);
/// The grace of a run that is abandoned.
const ABANDONED_GRACE: Duration = Duration::from_millis(200);

/// How long a run waits for what does not come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// At its end, for I/O in flight.
    pub(crate) drain: Duration,
    /// Before, for a thread that an I/O keeps in the kernel.
    pub(crate) stuck: Duration,
}

/// The time of a run.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    pub(crate) clock: RunClock,
    /// When the job's own time is up.
    pub(crate) end: Option<Instant>,
}

/// A load thread of a run.
pub(crate) struct LoadThread {
    pub(crate) target: usize,
    pub(crate) member: usize,
    /// The stream of the job that it belongs to.
    pub(crate) stream: Option<Arc<str>>,
    pub(crate) issuing: Arc<Issuing>,
    pub(crate) handle: JoinHandle<()>,
    /// When it last said something.
    pub(crate) heard: Instant,
}

/// A running job.
pub struct Run {
    threads: Vec<LoadThread>,
    unfinished: usize,
    shared: Arc<Shared>,
    receiver: Receiver<Message>,
    aggregators: Vec<Aggregator>,
    ready: VecDeque<(usize, Interval)>,
    setup: SetupReport,
    timeouts: Timeouts,
    timing: Timing,
    last_news: Instant,
    pulse: Pulse,
}

impl Run {
    pub(crate) fn new(
        threads: Vec<LoadThread>,
        shared: Arc<Shared>,
        receiver: Receiver<Message>,
        aggregators: Vec<Aggregator>,
        setup: SetupReport,
        timeouts: Timeouts,
        timing: Timing,
    ) -> Self {
        Self {
            unfinished: threads.len(),
            threads,
            shared,
            receiver,
            aggregators,
            ready: VecDeque::new(),
            setup,
            timeouts,
            timing,
            last_news: Instant::now(),
            pulse: Pulse::start(),
        }
    }

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

    /// Returns a function that does as [`Run::stop`], for whoever cannot reach the run.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.stop()
    }

    /// Ends the run, and gives up at once what is in flight; for whoever cannot reach the run.
    pub fn abandoner(&self) -> impl Fn() + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.abandon()
    }

    /// Returns when the last of the load threads began, by the system's clock.
    pub fn started_at(&self) -> Option<SystemTime> {
        self.shared.started_at()
    }

    /// Returns whether the run has ended and every interval has been polled.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0 && self.ready.is_empty()
    }

    /// Returns what was asked for and what was achieved.
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
        let reporting = |member: &LoadThread| !self.aggregators[member.target].has_lost();
        let (reported, stuck): (Vec<_>, Vec<_>) = std::mem::take(&mut self.threads)
            .into_iter()
            .partition(reporting);
        for member in reported {
            // A panic has been noticed by `receive`; a stuck thread would never be joined.
            let _ = member.handle.join();
        }
        drop(stuck);
        let failed = self.aggregators.iter().find_map(Aggregator::failure);
        let recordings = std::mem::take(&mut self.aggregators)
            .into_iter()
            .map(|aggregator| aggregator.finished(self.timeouts.drain, self.pulse.still()))
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
        self.notice_stuck_threads();
        self.give_up_silent_threads();
        for (index, aggregator) in self.aggregators.iter_mut().enumerate() {
            self.ready.extend(
                aggregator
                    .complete()
                    .into_iter()
                    .map(|interval| (index, interval)),
            );
            if aggregator.has_all_failed() {
                self.shared.stop();
            }
        }
    }

    /// A thread that was given up may speak after all: what it did is counted as lost.
    fn take(&mut self, message: Message) {
        self.last_news = Instant::now();
        match message {
            Message::Ready { .. } => {}
            Message::AtWork { target, member } => self.hear(target, member),
            Message::Interval { target, member, .. } | Message::Finished { target, member, .. }
                if self.aggregators[target].has_finished(member) => {}
            Message::Interval {
                target,
                member,
                interval,
            } => {
                self.hear(target, member);
                self.aggregators[target].add(member, *interval);
            }
            Message::Finished {
                target,
                member,
                summary,
            } => {
                self.finish(target, member, summary);
            }
        }
    }

    /// Notes that a thread has said something.
    fn hear(&mut self, target: usize, member: usize) {
        let of = |m: &&mut LoadThread| (m.target, m.member) == (target, member);
        if let Some(sender) = self.threads.iter_mut().find(of) {
            sender.heard = Instant::now();
        }
    }

    /// Takes in a thread's last word.
    fn finish(&mut self, target: usize, member: usize, summary: Summary) {
        self.unfinished -= 1;
        let of = |m: &&LoadThread| (m.target, m.member) == (target, member);
        let stream = self.threads.iter().find(of).and_then(|m| m.stream.clone());
        self.aggregators[target].finish(member, stream, summary);
    }

    /// Threads report every second, unless an I/O keeps them in the kernel.
    fn notice_stuck_threads(&mut self) {
        if self.shared.stopped() || self.timing.end.is_some_and(|end| Instant::now() > end) {
            return;
        }
        // Nothing was heard while all stood still.
        let patience = self.timeouts.stuck.saturating_add(GRACE);
        let limit = patience.saturating_add(self.pulse.still());
        for LoadThread {
            target,
            member,
            heard,
            ..
        } in &self.threads
        {
            let aggregator = &mut self.aggregators[*target];
            if !aggregator.has_finished(*member) && heard.elapsed() > limit {
                aggregator.fail(format!(
                    "an I/O does not return: load thread {member} has been in the kernel for {:.1} s",
                    heard.elapsed().as_secs_f64()
                ));
                self.shared.stop();
            }
        }
    }

    /// Takes silent threads as finished, and their I/O as lost, once the run should long be over. A thread that has
    /// died or is blocked in the kernel (an I/O that never returns) cannot report.
    fn give_up_silent_threads(&mut self) {
        let dead = |member: &LoadThread| member.handle.is_finished();
        let over = self.shared.stopped() || self.timing.end.is_some_and(|end| Instant::now() > end);
        let limit = match self.shared.is_abandoned() {
            true => ABANDONED_GRACE,
            false => self.timeouts.drain + GRACE,
        };
        let since_stop = self.shared.stopped_at().map(|at| at.elapsed());
        let waited = self.last_news.elapsed() > limit
            && since_stop.is_none_or(|elapsed| elapsed > ABANDONED_GRACE);
        for index in 0..self.threads.len() {
            let LoadThread { target, member, .. } = self.threads[index];
            if self.aggregators[target].has_finished(member)
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
            let summary = match failure {
                Some(_) => Summary {
                    failure,
                    ..Summary::default()
                },
                None => self.stuck(&self.threads[index]),
            };
            self.finish(target, member, summary);
        }
    }

    /// Returns what is known of a thread that the kernel does not let go: the I/O that it was issuing.
    fn stuck(&self, thread: &LoadThread) -> Summary {
        let mut summary = Summary {
            lost: 1,
            ..Summary::default()
        };
        if let Some((op, issued_ns)) = thread.issuing.last() {
            let now_ns = self.timing.clock.now_ns();
            let since = |at: Instant| at.elapsed().as_nanos() as u64;
            let over_ns = [self.timing.end, self.shared.stopped_at()]
                .into_iter()
                .flatten();
            let over_ns = over_ns.map(|at| now_ns.saturating_sub(since(at))).min();
            let age_ns = over_ns.unwrap_or(now_ns).saturating_sub(issued_ns);
            summary.in_flight.push(InFlight {
                op,
                age_ns,
                response_ns: None,
            });
            summary.lost_age_ns = now_ns.saturating_sub(issued_ns);
        }
        summary
    }
}

impl Drop for Run {
    /// Threads of a run that nobody follows any more stop by themselves.
    fn drop(&mut self) {
        self.shared.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf, sync::mpsc, thread};

    use super::*;
    use crate::{TargetKind, TargetSetup, TargetSpec};

    /// A run of one thread that has said nothing for longer than any may, and what keeps the thread there.
    fn silent() -> (Run, mpsc::Sender<Message>, mpsc::Sender<()>) {
        let spec = TargetSpec {
            path: PathBuf::from("null:"),
            kind: TargetKind::Null,
            capacity_bytes: 1 << 30,
            held: None,
        };
        let mut aggregator = Aggregator::new(&spec, &TargetSetup::default(), BTreeMap::new());
        aggregator.add_member();
        let (sender, receiver) = mpsc::channel();
        let (wake, stuck) = mpsc::channel::<()>();
        let member = LoadThread {
            target: 0,
            member: 0,
            stream: None,
            issuing: Arc::default(),
            handle: thread::spawn(move || stuck.recv().unwrap_or_default()),
            heard: Instant::now() - 2 * GRACE,
        };
        let timeouts = Timeouts {
            drain: Duration::ZERO,
            stuck: Duration::ZERO,
        };
        let setup = SetupReport::default();
        let mut run = Run::new(
            vec![member],
            Arc::default(),
            receiver,
            vec![aggregator],
            setup,
            timeouts,
            Timing {
                clock: RunClock::alone(),
                end: None,
            },
        );
        run.last_news -= 2 * GRACE;
        (run, sender, wake)
    }

    #[test]
    fn a_thread_that_speaks_after_it_was_given_up_is_not_heard() {
        let (mut run, sender, wake) = silent();
        run.stop();
        thread::sleep(2 * ABANDONED_GRACE);
        assert!(run.poll().is_empty() && run.is_done());
        let (target, member) = (0, 0);
        let interval = Box::new(Interval {
            length_ns: TICK_NS,
            ..Interval::default()
        });
        let summary = Summary::default();
        let late = [
            Message::Interval {
                target,
                member,
                interval,
            },
            Message::Finished {
                target,
                member,
                summary,
            },
        ];
        late.into_iter()
            .for_each(|message| sender.send(message).unwrap());
        assert!(run.poll().is_empty() && run.is_done());
        drop(wake);
    }

    #[test]
    fn a_thread_that_says_it_is_at_work_is_waited_for_before_the_end_and_after_it() {
        let (target, member) = (0, 0);
        let (mut run, sender, wake) = silent();
        sender.send(Message::AtWork { target, member }).unwrap();
        assert!(run.poll().is_empty());
        assert!(!run.shared.stopped() && run.aggregators[0].failure().is_none());
        run.stop();
        thread::sleep(2 * ABANDONED_GRACE);
        run.last_news -= 2 * GRACE;
        sender.send(Message::AtWork { target, member }).unwrap();
        assert!(run.poll().is_empty() && !run.is_done());
        drop(wake);
    }
}
