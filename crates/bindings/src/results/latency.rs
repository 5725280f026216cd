//! Counts and latencies of operations, by stream and by part of a window.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use pyo3::{prelude::*, types::PyBytes};
use recording::{
    Censored, CensoredOps, OpStats, SparseHistogram, Streams, bin_bounds_ns, bin_index,
    with_censored,
};
use workload::Op;

/// One operation over an interval or a whole step.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct OpResult {
    op: &'static str,
    n: u64,
    bytes: u64,
    errors: u64,
    mean_us: Option<f64>,
    p50_us: Option<f64>,
    p95_us: Option<f64>,
    p99_us: Option<f64>,
    p999_us: Option<f64>,
    p9999_us: Option<f64>,
    p99999_us: Option<f64>,
    max_us: Option<f64>,
    response_mean_us: Option<f64>,
    response_p50_us: Option<f64>,
    response_p95_us: Option<f64>,
    response_p99_us: Option<f64>,
    response_p999_us: Option<f64>,
    response_p9999_us: Option<f64>,
    response_p99999_us: Option<f64>,
    /// `(low_ns, high_ns, count)` of the occupied bins of service latency.
    service_bins: Vec<(u64, u64, u64)>,
    /// Bins of response latency; empty under closed load.
    response_bins: Vec<(u64, u64, u64)>,
    /// I/O that was in flight at the end for longer than any that returned. It counts with its age in the mean,
    /// percentiles and maximum, and not in `n`.
    censored: u64,
    /// From here on service latencies are lower bounds.
    censored_us: Option<f64>,
    /// As `censored_us`, for response latency; only under open load.
    response_censored_us: Option<f64>,
    censored_service_bins: Vec<(u64, u64, u64)>,
    censored_response_bins: Vec<(u64, u64, u64)>,
}

fn bins(occupied: &[(u16, u64)]) -> Vec<(u64, u64, u64)> {
    occupied
        .iter()
        .map(|&(bin, count)| {
            let (low, high) = bin_bounds_ns(usize::from(bin));
            (low, high.min(i64::MAX as u64), count)
        })
        .collect()
}

/// The lower edge of the bin of the least value, us.
fn least_us(histogram: &SparseHistogram) -> Option<f64> {
    let (low_ns, _) = bin_bounds_ns(bin_index(histogram.min_ns()?));
    Some(low_ns as f64 / 1e3)
}

impl OpResult {
    fn new(op: Op, stats: &OpStats, censored: Option<&Censored>) -> Self {
        let late = censored.and_then(|censored| censored.response.as_ref());
        let censored = censored.map(|censored| &censored.service);
        let service = with_censored(&stats.service, censored);
        let response = match (&stats.response, late) {
            (Some(returned), late) => Some(with_censored(returned, late)),
            (None, late) => late.map(Cow::Borrowed),
        };
        let response = response.as_deref();
        let response_us = |parts| response.and_then(|h| h.percentile_us(parts));
        Self {
            op: op.name(),
            n: stats.service.count(),
            bytes: stats.bytes,
            errors: stats.errors,
            mean_us: service.mean_ns().map(|ns| ns / 1e3),
            p50_us: service.percentile_us(50_000),
            p95_us: service.percentile_us(95_000),
            p99_us: service.percentile_us(99_000),
            p999_us: service.percentile_us(99_900),
            p9999_us: service.percentile_us(99_990),
            p99999_us: service.percentile_us(99_999),
            max_us: service.max_ns().map(|ns| ns as f64 / 1e3),
            response_mean_us: response
                .and_then(SparseHistogram::mean_ns)
                .map(|ns| ns / 1e3),
            response_p50_us: response_us(50_000),
            response_p95_us: response_us(95_000),
            response_p99_us: response_us(99_000),
            response_p999_us: response_us(99_900),
            response_p9999_us: response_us(99_990),
            response_p99999_us: response_us(99_999),
            service_bins: bins(stats.service.bins()),
            response_bins: stats
                .response
                .as_ref()
                .map(|h| bins(h.bins()))
                .unwrap_or_default(),
            censored: censored.map_or(0, SparseHistogram::count),
            censored_us: censored.and_then(least_us),
            response_censored_us: late.and_then(least_us),
            censored_service_bins: censored.map(|h| bins(h.bins())).unwrap_or_default(),
            censored_response_bins: late.map(|h| bins(h.bins())).unwrap_or_default(),
        }
    }
}

#[pymethods]
impl OpResult {
    /// The lower and upper edges in ns of the occupied bins of service latency, and their counts. A bin has one 64-bit
    /// integer in each, in the machine's byte order.
    fn service_columns<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        columns(py, &self.service_bins)
    }

    /// Likewise of response latency; empty under closed load.
    fn response_columns<'py>(&self, py: Python<'py>) -> [Bound<'py, PyBytes>; 3] {
        columns(py, &self.response_bins)
    }
}

/// Returns bins as columns: as Python objects, a second's bins would cost more than its simulation.
fn columns<'py>(py: Python<'py>, bins: &[(u64, u64, u64)]) -> [Bound<'py, PyBytes>; 3] {
    let column = |of: fn(&(u64, u64, u64)) -> u64| {
        let values: Vec<u8> = bins.iter().flat_map(|bin| of(bin).to_ne_bytes()).collect();
        PyBytes::new(py, &values)
    };
    [
        column(|&(low_ns, ..)| low_ns),
        column(|&(_, high_ns, _)| high_ns),
        column(|&(.., count)| count),
    ]
}

/// The occupied bins of one latency in equally long parts of a window, in order of time. Each column has one 64-bit
/// integer a bin, in the machine's byte order: as Python objects, a window's bins would cost more than its simulation.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct PartBins {
    op: &'static str,
    /// `service` or `response`.
    latency: &'static str,
    part: Vec<u8>,
    low_ns: Vec<u8>,
    high_ns: Vec<u8>,
    count: Vec<u8>,
}

impl PartBins {
    fn new(op: Op, latency: &'static str) -> Self {
        let op = op.name();
        let (part, low_ns, high_ns, count) = Default::default();
        Self {
            op,
            latency,
            part,
            low_ns,
            high_ns,
            count,
        }
    }

    fn add(&mut self, part: u64, occupied: &[(u16, u64)]) {
        for (low_ns, high_ns, count) in bins(occupied) {
            self.part.extend(part.to_ne_bytes());
            self.low_ns.extend(low_ns.to_ne_bytes());
            self.high_ns.extend(high_ns.to_ne_bytes());
            self.count.extend(count.to_ne_bytes());
        }
    }
}

/// Returns the bins of each operation's latencies, as far as any are occupied: those of a stream, or of all I/O.
pub(super) fn part_bins(batches: &[recording::Batch], stream: Option<&str>) -> Vec<PartBins> {
    let mut found: BTreeMap<Op, [PartBins; 2]> = BTreeMap::new();
    for (part, batch) in (0..).zip(batches) {
        let ops = match stream {
            Some(name) => batch.streams.get(name),
            None => Some(&batch.ops),
        };
        for (&op, own) in ops.into_iter().flatten() {
            let kinds = || ["service", "response"].map(|latency| PartBins::new(op, latency));
            let [service, response] = found.entry(op).or_insert_with(kinds);
            service.add(part, own.service.as_slice());
            response.add(part, own.response.as_slice());
        }
    }
    let each = found.into_values().flatten();
    each.filter(|one| !one.part.is_empty()).collect()
}

/// Returns the results of every operation about which something is known.
pub(super) fn op_results(
    ops: &BTreeMap<Op, OpStats>,
    censored: Option<&CensoredOps>,
) -> Vec<OpResult> {
    let of = |op| censored.and_then(|censored| censored.get(op));
    let nothing = OpStats::default();
    let known: BTreeSet<&Op> = ops
        .keys()
        .chain(censored.into_iter().flat_map(BTreeMap::keys))
        .collect();
    let each = known.into_iter();
    each.map(|op| OpResult::new(*op, ops.get(op).unwrap_or(&nothing), of(op)))
        .collect()
}

pub(super) fn stream_results(
    streams: &Streams,
    censored: &BTreeMap<String, CensoredOps>,
) -> BTreeMap<String, Vec<OpResult>> {
    let each = streams.iter();
    each.map(|(name, ops)| (name.clone(), op_results(ops, censored.get(name))))
        .collect()
}
