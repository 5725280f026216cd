//! How many I/Os are in flight when another is issued. Only I/Os with a latency count.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use serde::Serialize;

use super::{histogram::Histogram, seen::Seen};

/// I/Os in flight that are followed exactly. The ends of more are rounded, so that memory stays bounded.
const MOST_EXACT: usize = 1 << 16;
/// The distance between rounded ends is at most the latency over 2 to the power of this, doubled.
const ROUNDED_BITS: u32 = 10;

/// Completions to come.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    ends_ns: BinaryHeap<Reverse<u64>>,
    /// Those beyond [`MOST_EXACT`]: I/Os per rounded end, and their sum.
    rounded_ends_ns: BTreeMap<u64, u64>,
    rounded: u64,
    depths: Histogram,
    busy_ns: f64,
    end_ns: u64,
    latency_sum_ns: f64,
}

/// The depth at each issue, that I/O included.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    /// I/Os with a latency.
    ios: u64,
    /// Mean over time: the sum of the latencies over the trace's length (Little's law).
    mean: Option<f64>,
    /// Quantiles 50, 90 and 99 %.
    quantiles: [Option<f64>; 3],
    most: u64,
    /// (least of the bucket, issues).
    depths: Vec<(f64, u64)>,
    /// Share of the time with an I/O in flight.
    busy: Option<f64>,
}

impl InFlight {
    pub(super) fn add(&mut self, io: &Seen) {
        let Some(latency_ns) = io.latency_ns else {
            return;
        };
        while self.ends_ns.peek().is_some_and(|end| end.0 <= io.issue_ns) {
            self.ends_ns.pop();
        }
        while let Some(first) = self.rounded_ends_ns.first_entry()
            && *first.key() <= io.issue_ns
        {
            self.rounded -= first.remove();
        }
        let end_ns = io.issue_ns.saturating_add(latency_ns);
        if self.ends_ns.len() < MOST_EXACT {
            self.ends_ns.push(Reverse(end_ns));
        } else {
            let step_ns = (latency_ns >> ROUNDED_BITS).checked_next_power_of_two();
            let rounded_ns = step_ns.and_then(|step_ns| end_ns.checked_next_multiple_of(step_ns));
            *self
                .rounded_ends_ns
                .entry(rounded_ns.unwrap_or(u64::MAX))
                .or_default() += 1;
            self.rounded += 1;
        }
        self.depths.add(self.ends_ns.len() as u64 + self.rounded);
        self.latency_sum_ns += latency_ns as f64;
        self.busy_ns += end_ns.saturating_sub(self.end_ns.max(io.issue_ns)) as f64;
        self.end_ns = self.end_ns.max(end_ns);
    }

    pub(super) fn report(&self, last_ns: u64) -> Report {
        let length_ns = self.end_ns.max(last_ns) as f64;
        let known = self.depths.count > 0.0 && length_ns > 0.0;
        Report {
            ios: self.depths.count as u64,
            mean: known.then(|| self.latency_sum_ns / length_ns),
            quantiles: [0.5, 0.9, 0.99].map(|share| self.depths.quantile(share)),
            most: self.depths.most,
            depths: self.depths.buckets(),
            busy: known.then(|| self.busy_ns / length_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    /// Depths that a trace of (issue, latency) has at each issue.
    fn depths(ios: impl IntoIterator<Item = (u64, u64)>) -> InFlight {
        let mut in_flight = InFlight::default();
        for (issue_ns, latency_ns) in ios {
            in_flight.add(&Seen {
                issue_ns,
                latency_ns: Some(latency_ns),
                offset_bytes: 0,
                size_bytes: 4096,
                op: Operation::Read,
                flags: 0,
                device: 0,
                process: 0,
            });
        }
        in_flight
    }

    #[test]
    fn a_backlog_counts_however_many_are_in_it_and_comes_down_as_they_end() {
        const BACKLOG: u64 = 200_000;
        let backlog = (0..BACKLOG).map(|io| (0, (io + 1) * 1_000_000));
        let full = depths(backlog.clone());
        assert_eq!(full.depths.most, BACKLOG);
        let half_ended = (BACKLOG / 2 * 1_000_000, 1);
        let late = depths(backlog.chain([half_ended]));
        let last = (late.depths.sum - full.depths.sum) / (BACKLOG / 2) as f64;
        assert!((1.0..1.001).contains(&last), "{last}");
        assert!(late.rounded_ends_ns.len() < 4096);
    }

    #[test]
    fn latencies_beyond_all_time_count_as_in_flight() {
        let endless = depths((0..100_000).map(|io| (io, u64::MAX)));
        assert_eq!(endless.depths.most, 100_000);
    }
}
