//! The start gate and the stop flags of a run, which all its load threads look at.

use std::{
    sync::{
        OnceLock,
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
