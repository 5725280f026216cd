//! The start gate and the stop flags of a run, which all its load threads look at.

use std::{
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use crate::clock::Clock;

/// Longest time a thread goes without looking at the stop flag.
pub(crate) const TICK_NS: u64 = 20_000_000;

/// Flags of a run.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// 0: wait; `ABORT`: give up; `AGREED`: at the time agreed on; else the start, on the run's clock.
    gate: AtomicU64,
    /// The start that was agreed on, by the system's clock.
    agreed: OnceLock<SystemTime>,
    /// Held by whoever looks at the gate to sleep until that start; a stop wakes them.
    sleeping: Mutex<()>,
    stopping: Condvar,
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
const AGREED: u64 = ABORT - 1;
/// From the last thread's readiness to the common start, and how long before a time agreed on that start is set.
pub(crate) const HEAD_START: Duration = Duration::from_millis(1);
/// How long a thread spins before the start: a sleep may end that much late.
const SPIN_NS: u64 = 100_000;

impl Shared {
    /// Opens the gate: all threads start at `start_ns`, which is `at` by the system's clock.
    pub(crate) fn release(&self, start_ns: u64, at: SystemTime) {
        self.start.get_or_init(|| at);
        self.gate.store(start_ns.max(1), Ordering::Release);
    }

    /// Opens the gate at a time of the system's clock, or as soon as the run is stopped.
    pub(crate) fn release_at(&self, agreed: SystemTime) {
        self.agreed.get_or_init(|| agreed);
        self.gate.store(AGREED, Ordering::Release);
    }

    /// Releases waiting threads: there will be no run.
    pub(crate) fn abort(&self) {
        self.gate.store(ABORT, Ordering::Release);
    }

    pub(crate) fn stop(&self) {
        self.stopped_at.get_or_init(Instant::now);
        self.stop.store(true, Ordering::Relaxed);
        // Locked, so that nobody misses this between the look at the flag and the sleep.
        drop(self.sleeping.lock());
        self.stopping.notify_all();
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
                AGREED => self.sleep_until_agreed(clock),
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

    /// Sleeps until shortly before the time agreed on, or a stop. The first thread there sets the start: late, so that
    /// it follows what the system's clock was set to meanwhile.
    fn sleep_until_agreed(&self, clock: Clock) {
        let guard = self.sleeping.lock().unwrap_or_else(PoisonError::into_inner);
        if self.gate.load(Ordering::Acquire) != AGREED {
            return;
        }
        let left = match self.agreed.get() {
            Some(agreed) if !self.stopped() => left_until(*agreed),
            _ => Duration::ZERO,
        };
        let asleep = left.saturating_sub(HEAD_START);
        if asleep.is_zero() {
            let start_ns = clock.now_ns() + left.as_nanos() as u64;
            self.release(start_ns, SystemTime::now() + left);
        } else {
            drop(self.stopping.wait_timeout(guard, asleep));
        }
    }
}

/// The clock of a run for whoever is set up before its start: nanoseconds since that, once it is known.
#[derive(Clone, Debug)]
pub(crate) struct RunClock {
    shared: Arc<Shared>,
    clock: Clock,
}

impl RunClock {
    pub(crate) fn new(shared: &Arc<Shared>, clock: Clock) -> Self {
        Self {
            shared: Arc::clone(shared),
            clock,
        }
    }

    /// Returns the clock of a run that never starts.
    #[cfg(test)]
    pub(crate) fn alone() -> Self {
        Self::new(&Arc::default(), Clock::new())
    }

    pub(crate) fn now_ns(&self) -> u64 {
        let start_ns = match self.shared.gate.load(Ordering::Acquire) {
            0 | AGREED | ABORT => 0,
            start_ns => start_ns,
        };
        self.clock.now_ns().saturating_sub(start_ns)
    }
}

/// Returns the time until a moment of the system's clock; 0 once it has passed.
pub(crate) fn left_until(at: SystemTime) -> Duration {
    at.duration_since(SystemTime::now()).unwrap_or_default()
}
