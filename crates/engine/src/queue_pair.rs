//! The seam between the load loop and what completes its requests: a submission queue and a completion queue.
//! The loop is generic over it, so a target that no ring is needed for pays for none, and the ring for no choice.

use std::{io, thread, time::Duration};

use recording::Remark;
use workload::Request;

use crate::{clock::Clock, gate::TICK_NS};

/// Open load: a thread sleeps until this long before the next arrival, then spins. Waking up takes
/// tens of microseconds; arrivals closer than this never sleep.
pub(crate) const SPIN_NS: u64 = 50_000;

/// Takes requests, gives back completions. An error means that the pair itself failed, not a request.
pub(crate) trait QueuePair {
    /// Returns whether a request can be queued now; otherwise others are in flight whose end will make it so.
    #[inline(always)]
    fn is_ready(&self) -> bool {
        true
    }

    /// Returns whether nothing more can be queued, because the job ends with what the target has.
    #[inline(always)]
    fn is_over(&self) -> bool {
        false
    }

    /// Queues `request` in `slot`; the loop has at most one request per slot in flight. May move the request to where
    /// the target takes it.
    fn queue(&mut self, request: &mut Request, slot: u16) -> io::Result<()>;

    /// Submits what is queued, without waiting; how many completions have arrived.
    fn send(&mut self) -> io::Result<usize>;

    /// Submits what is queued and waits for `want` completions, at most about a tick; whether they are there.
    fn submit(&mut self, want: usize) -> io::Result<bool>;

    /// Submits what is queued and waits for a completion until `until_ns`, at most about a tick. It sleeps while that
    /// is far and spins when it is near.
    fn submit_until(&mut self, until_ns: u64) -> io::Result<()>;

    /// Returns the next completion that has arrived: its slot, and its result as [`QueuePair::settle`] wants it.
    fn next(&mut self) -> Option<(u16, i32)>;

    /// Judges a completion, before its slot is used again.
    ///
    /// # Errors
    /// The request failed: a negative errno, or the bytes that a short one moved.
    fn settle(&mut self, slot: u16, request: &Request, result: i32) -> Result<(), i32>;

    /// Returns how long the thread has spun so far with nothing to do, ns; `None` where that looks like work.
    fn idle_ns(&self) -> Option<u64>;

    /// Returns why the run has failed though its requests may have succeeded, once it is over.
    fn fault(&mut self) -> Option<String> {
        None
    }

    /// Returns what a reader of the figures must know, once the run is over.
    fn remarks(&mut self) -> Vec<Remark> {
        Vec::new()
    }

    /// Returns what else a reader must know, in words.
    fn notes(&mut self) -> Vec<String>;
}

/// Waits until a moment, at most about a tick, where nothing is in flight that could end sooner. It sleeps while that is
/// far and spins when it is near. Returns how long it spun, ns.
pub(crate) fn wait_until(clock: &Clock, until_ns: u64) -> u64 {
    let begin_ns = clock.now_ns();
    let gap_ns = until_ns.saturating_sub(begin_ns);
    if gap_ns > SPIN_NS {
        thread::sleep(Duration::from_nanos((gap_ns - SPIN_NS).min(TICK_NS)));
        return 0;
    }
    let mut now_ns = begin_ns;
    while now_ns < until_ns {
        std::hint::spin_loop();
        now_ns = clock.now_ns();
    }
    now_ns - begin_ns
}
