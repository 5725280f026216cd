//! How many I/Os are in flight when another is issued. Only I/Os with a latency count.

use std::{cmp::Reverse, collections::BinaryHeap};

use serde::Serialize;

use super::{histogram::Histogram, seen::Seen};

/// I/Os in flight that are followed; more count as that many.
const MOST: usize = 1 << 16;

/// Completions to come.
#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    ends_ns: BinaryHeap<Reverse<u64>>,
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
        let end_ns = io.issue_ns.saturating_add(latency_ns);
        if self.ends_ns.len() < MOST {
            self.ends_ns.push(Reverse(end_ns));
        }
        self.depths.add(self.ends_ns.len() as u64);
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
