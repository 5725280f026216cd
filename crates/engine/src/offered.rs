//! The arrivals of an open load, counted whether or not the load keeps up with them.

#[cfg(test)]
mod tests;

use std::{hint::black_box, time::Instant};

use workload::RequestStream;

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
