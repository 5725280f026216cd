//! Whether the load generator as a whole stood still: a signal stopped it, a control group froze it, or its virtual
//! machine was paused. To load threads that looks like a device that does not answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// Time between two looks at the clock.
const BEAT: Duration = Duration::from_millis(100);
/// A look that comes later than this has not merely waited for a core.
const LATE: Duration = Duration::from_secs(2);

/// Looks at the clock in a thread of its own until it is dropped, and adds up by how much looks came late.
pub(crate) struct Pulse {
    still_ns: Arc<AtomicU64>,
    /// Its end ends the thread.
    _stop: Sender<()>,
}

impl Pulse {
    /// Begins to look. Without a thread to spare nothing is found.
    pub(crate) fn start() -> Self {
        let still_ns = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = mpsc::channel();
        let found = Arc::clone(&still_ns);
        let looks = move || {
            let mut seen = Instant::now();
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                let now = Instant::now();
                found.fetch_add(late_ns(now - seen), Ordering::Relaxed);
                seen = now;
            }
        };
        // A run that cannot have this thread is measured without it.
        let _ = thread::Builder::new().name("pulse".into()).spawn(looks);
        Self {
            still_ns,
            _stop: stop,
        }
    }

    /// Returns the time for which the load generator has stood still.
    pub(crate) fn still(&self) -> Duration {
        Duration::from_nanos(self.still_ns.load(Ordering::Relaxed))
    }
}

/// Returns how late a look is that came `since` after the one before; 0 where it may have waited for a core.
fn late_ns(since: Duration) -> u64 {
    let late = since.saturating_sub(BEAT);
    match late > LATE {
        true => late.as_nanos() as u64,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_may_have_waited_for_a_core_counts_nothing() {
        assert_eq!(late_ns(BEAT), 0);
        assert_eq!(late_ns(BEAT + LATE), 0);
        assert_eq!(late_ns(BEAT + Duration::from_secs(15)), 15_000_000_000);
    }

    #[test]
    fn a_load_generator_that_goes_on_has_not_stood_still() {
        let pulse = Pulse::start();
        thread::sleep(3 * BEAT);
        assert_eq!(pulse.still(), Duration::ZERO);
    }
}
