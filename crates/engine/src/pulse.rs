//! Whether the load generator as a whole stood still: a signal stopped it, a control group froze it, or its virtual
//! machine was paused. To load threads that looks like a device that does not answer.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
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
    looks: Arc<Mutex<Looks>>,
    /// Whether the thread began. Without it nothing is found.
    beats: bool,
    /// Its end ends the thread.
    _stop: Sender<()>,
}

/// The last look, and by how much looks before it came late.
struct Looks {
    last: Instant,
    still: Duration,
}

impl Looks {
    /// Looks at the clock, and returns by how much looks have come late.
    fn look(&mut self, now: Instant) -> Duration {
        self.still += late(now.saturating_duration_since(self.last));
        self.last = now;
        self.still
    }
}

impl Pulse {
    /// Begins to look.
    pub(crate) fn start() -> Self {
        let looks = Arc::new(Mutex::new(Looks {
            last: Instant::now(),
            still: Duration::ZERO,
        }));
        let (stop, stopped) = mpsc::channel();
        let seen = Arc::clone(&looks);
        let beat = move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                look(&seen);
            }
        };
        let thread = thread::Builder::new().name("pulse".into()).spawn(beat);
        Self {
            looks,
            beats: thread.is_ok(),
            _stop: stop,
        }
    }

    /// Returns the time for which the load generator has stood still.
    pub(crate) fn still(&self) -> Duration {
        match self.beats {
            true => look(&self.looks),
            false => Duration::ZERO,
        }
    }
}

/// Looks at the clock. The run does too: at the end of a pause it may be the first.
fn look(looks: &Mutex<Looks>) -> Duration {
    let mut looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
    looks.look(Instant::now())
}

/// Returns how late a look is that came `since` after the one before; 0 where it may have waited for a core.
fn late(since: Duration) -> Duration {
    let late = since.saturating_sub(BEAT);
    match late > LATE {
        true => late,
        false => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_look_that_is_later_than_a_wait_for_a_core_counts() {
        let start = Instant::now();
        let mut looks = Looks {
            last: start,
            still: Duration::ZERO,
        };
        assert_eq!(looks.look(start + BEAT), Duration::ZERO);
        assert_eq!(looks.look(start + 2 * BEAT + LATE), Duration::ZERO);
        let held = Duration::from_secs(15);
        assert_eq!(looks.look(start + 3 * BEAT + LATE + held), held);
        assert_eq!(looks.look(start + 4 * BEAT + LATE + held), held);
    }

    #[test]
    fn a_load_generator_that_goes_on_has_not_stood_still() {
        let pulse = Pulse::start();
        thread::sleep(3 * BEAT);
        assert_eq!(pulse.still(), Duration::ZERO);
    }
}
