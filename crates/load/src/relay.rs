//! What twin threads and their reader share: intervals one way, turns the other.
//!
//! A twin runs far ahead of any reader, and a decision to stop must not depend on how fast the reader is. A relay
//! therefore *holds* a twin after every `hold_every_ns` of virtual time, and at the end of a round, until
//! [`Relay::proceed`] or [`Relay::stop`].

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use recording::Interval;

use crate::handle::JobProgress;

/// Intervals that twins may be ahead of their reader.
const QUEUE_LIMIT: usize = 1024;
/// Intervals for which a waiting reader is woken: one by one they would cost it twice as much, and the twins its turns.
const READ_AT_ONCE: usize = 32;

/// Carries intervals from twins to their reader, and holds the twins.
#[derive(Default)]
pub(crate) struct Relay {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(usize, Interval)>,
    running: usize,
    /// Twins that wait for the next turn. Whoever begins it clears this: a twin that has not woken yet is not held.
    held: usize,
    turn: u64,
    stopped: bool,
}

impl State {
    fn awaits_more(&self) -> bool {
        self.queue.len() < READ_AT_ONCE && self.running > self.held
    }
}

impl Relay {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, guard: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed
            .wait(guard)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the side of a twin, which counts as running until it is dropped.
    pub(crate) fn side(self: &Arc<Self>, target: usize, hold_every_ns: Option<u64>) -> TwinSide {
        self.lock().running += 1;
        TwinSide {
            relay: Arc::clone(self),
            target,
            hold_every_ns,
            held_at_ns: 0,
        }
    }

    /// Returns what is in the queue, unless it is `few` and more will come.
    pub(crate) fn take(&self, few: bool) -> JobProgress {
        let mut state = self.lock();
        if state.awaits_more() && !few {
            return JobProgress::default();
        }
        let intervals = state.queue.drain(..).collect();
        self.changed.notify_all();
        JobProgress {
            intervals,
            is_over: state.running <= state.held,
        }
    }

    /// Waits until `take` returns more than a few, for at most `time`.
    pub(crate) fn wait_for_news(&self, time: Duration) {
        let woken = self
            .changed
            .wait_timeout_while(self.lock(), time, |state| state.awaits_more());
        drop(woken.unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns whether every twin that still runs is held, and the queue is empty.
    pub(crate) fn is_held(&self) -> bool {
        let state = self.lock();
        state.running > 0 && state.held == state.running && state.queue.is_empty()
    }

    /// Returns whether every twin has ended, and the queue is empty.
    pub(crate) fn is_done(&self) -> bool {
        let state = self.lock();
        state.running == 0 && state.queue.is_empty()
    }

    /// Lets held twins go on to their next hold.
    pub(crate) fn proceed(&self) {
        let mut state = self.lock();
        state.turn += 1;
        state.held = 0;
        drop(state);
        self.changed.notify_all();
    }

    /// Lets held twins go on to their end, and holds none again.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.held = 0;
        drop(state);
        self.changed.notify_all();
    }
}

/// One twin thread's side of a relay.
pub(crate) struct TwinSide {
    relay: Arc<Relay>,
    target: usize,
    hold_every_ns: Option<u64>,
    held_at_ns: u64,
}

impl TwinSide {
    /// Hands an interval over, and waits where the relay holds.
    pub(crate) fn deliver(&mut self, interval: Interval) {
        let end_ns = interval.start_ns + interval.length_ns;
        let ends_round = interval.ends_round;
        let relay = &self.relay;
        let mut state = relay.lock();
        while state.queue.len() >= QUEUE_LIMIT && !state.stopped {
            state = relay.wait(state);
        }
        state.queue.push_back((self.target, interval));
        if state.queue.len() >= READ_AT_ONCE {
            relay.changed.notify_all();
        }
        if let Some(every_ns) = self.hold_every_ns
            && (ends_round || end_ns >= self.held_at_ns + every_ns)
        {
            self.held_at_ns = end_ns;
            if state.stopped {
                return;
            }
            state.held += 1;
            let turn = state.turn;
            relay.changed.notify_all();
            while state.turn == turn && !state.stopped {
                state = relay.wait(state);
            }
        }
    }
}

impl Drop for TwinSide {
    fn drop(&mut self) {
        self.relay.lock().running -= 1;
        self.relay.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
