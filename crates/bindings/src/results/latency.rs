//! Counts and latencies of operations, by stream and by part of a window.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use pyo3::prelude::*;
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

/// Latencies of one operation in a part of a window, as those of an `OpResult`.
#[pyclass(frozen, get_all, module = "fathom._core")]
#[derive(Clone)]
pub struct OpBins {
    op: &'static str,
    service_bins: Vec<(u64, u64, u64)>,
    response_bins: Vec<(u64, u64, u64)>,
}

/// One of equally long parts of a window.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct Batch {
    ops: Vec<OpBins>,
    streams: BTreeMap<String, Vec<OpBins>>,
}

impl From<&recording::Batch> for Batch {
    fn from(batch: &recording::Batch) -> Self {
        let of_ops = |ops: &BTreeMap<Op, recording::OpBins>| {
            let each = ops.iter().map(|(op, latency)| OpBins {
                op: op.name(),
                service_bins: bins(latency.service.as_slice()),
                response_bins: bins(latency.response.as_slice()),
            });
            each.collect::<Vec<_>>()
        };
        let streams = batch.streams.iter();
        Self {
            ops: of_ops(&batch.ops),
            streams: streams
                .map(|(name, ops)| (name.clone(), of_ops(ops)))
                .collect(),
        }
    }
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
