//! Rates, latency and working set over time. As a trace goes on, windows double, so that their number stays bounded.

use serde::Serialize;

use super::{distinct::Distinct, seen::Seen};
use crate::Operation;

const MOST_WINDOWS: usize = 256;
const FIRST_WIDTH_NS: u64 = 1_000_000;

/// One window of time.
#[derive(Clone, Debug, Default)]
struct Window {
    ios: [u64; 4],
    bytes: [u64; 4],
    latency_sum_ns: f64,
    latencies: u64,
    latency_most_ns: u64,
    touched: Distinct,
}

impl Window {
    fn merge(&mut self, later: &Self) {
        for op in 0..4 {
            self.ios[op] += later.ios[op];
            self.bytes[op] = self.bytes[op].saturating_add(later.bytes[op]);
        }
        self.latency_sum_ns += later.latency_sum_ns;
        self.latencies += later.latencies;
        self.latency_most_ns = self.latency_most_ns.max(later.latency_most_ns);
        self.touched.merge(&later.touched);
    }
}

/// The windows so far.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    width_ns: u64,
    windows: Vec<Window>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ns: FIRST_WIDTH_NS,
            windows: Vec::new(),
        }
    }
}

/// Windows of equal length; the lists have an entry for each.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    width_ns: u64,
    /// I/Os by operation.
    ios: Vec<[u64; 4]>,
    /// Bytes by operation.
    bytes: Vec<[u64; 4]>,
    /// Mean latency of those that have one.
    latency_mean_ns: Vec<Option<f64>>,
    latency_most_ns: Vec<u64>,
    /// Different units touched in the window.
    working_set_units: Vec<f64>,
    /// The same from the beginning to its end.
    footprint_units: Vec<f64>,
}

impl Timeline {
    pub(super) fn add(&mut self, io: &Seen) {
        while io.issue_ns / self.width_ns >= MOST_WINDOWS as u64 {
            self.double();
        }
        let place = (io.issue_ns / self.width_ns) as usize;
        if place >= self.windows.len() {
            self.windows.resize_with(place + 1, Window::default);
        }
        let window = &mut self.windows[place];
        window.ios[io.op as usize] += 1;
        if io.op != Operation::Flush {
            let bytes = &mut window.bytes[io.op as usize];
            *bytes = bytes.saturating_add(io.size_bytes);
        }
        if let Some(latency_ns) = io.latency_ns {
            window.latency_sum_ns += latency_ns as f64;
            window.latencies += 1;
            window.latency_most_ns = window.latency_most_ns.max(latency_ns);
        }
    }

    /// Counts a unit of the I/O that was added last.
    #[inline]
    pub(super) fn touch(&mut self, hash: u64) {
        if let Some(window) = self.windows.last_mut() {
            window.touched.add(hash);
        }
    }

    fn double(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let pairs = self.windows.chunks(2).map(|pair| {
            let mut window = pair[0].clone();
            if let Some(later) = pair.get(1) {
                window.merge(later);
            }
            window
        });
        self.windows = pairs.collect();
    }

    pub(super) fn report(&self) -> Report {
        let mut footprint = Distinct::default();
        let footprints = self.windows.iter().map(|window| {
            footprint.merge(&window.touched);
            footprint.count()
        });
        let mean = |window: &Window| {
            (window.latencies > 0).then(|| window.latency_sum_ns / window.latencies as f64)
        };
        Report {
            width_ns: self.width_ns,
            footprint_units: footprints.collect(),
            ios: self.windows.iter().map(|window| window.ios).collect(),
            bytes: self.windows.iter().map(|window| window.bytes).collect(),
            latency_mean_ns: self.windows.iter().map(mean).collect(),
            latency_most_ns: self
                .windows
                .iter()
                .map(|window| window.latency_most_ns)
                .collect(),
            working_set_units: self
                .windows
                .iter()
                .map(|window| window.touched.count())
                .collect(),
        }
    }
}
