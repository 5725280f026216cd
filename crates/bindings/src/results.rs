//! Recordings and intervals as Python sees them: read-only, plain numbers in user units.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use pyo3::{exceptions::PyValueError, prelude::*};
use recording::{
    Censored, CensoredOps, Counters, OpStats, SparseHistogram, Streams, bin_bounds_ns, bin_index,
};
use serde::{Serialize, de::DeserializeOwned};
use workload::Op;

/// Fewest samples above a percentile for it to be reported: n (1 - p) >= 100.
const SAMPLES_ABOVE: u64 = 100;

/// The quantile `parts / 100_000` in us, if enough samples lie above it.
fn quantile_us(histogram: &SparseHistogram, parts: u64) -> Option<f64> {
    let enough = histogram.count() * (100_000 - parts) >= SAMPLES_ABOVE * 100_000;
    enough
        .then(|| histogram.quantile_ns(parts as f64 / 100_000.0))
        .flatten()
        .map(|ns| ns / 1e3)
}

fn to_bytes(value: &impl Serialize) -> PyResult<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    serde_json::from_slice(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn cannot_be_counts() -> PyErr {
    PyValueError::new_err("its counts contradict each other, or are too large")
}

fn nothing_to_merge() -> PyErr {
    PyValueError::new_err("nothing to merge")
}

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

/// What returned, and what did not with its age.
fn with<'h>(
    returned: &'h SparseHistogram,
    censored: Option<&SparseHistogram>,
) -> Cow<'h, SparseHistogram> {
    let Some(censored) = censored else {
        return Cow::Borrowed(returned);
    };
    let mut all = returned.clone();
    all.merge(censored);
    Cow::Owned(all)
}

impl OpResult {
    fn new(op: Op, stats: &OpStats, censored: Option<&Censored>) -> Self {
        let late = censored.and_then(|censored| censored.response.as_ref());
        let censored = censored.map(|censored| &censored.service);
        let service = with(&stats.service, censored);
        let response = match (&stats.response, late) {
            (Some(returned), late) => Some(with(returned, late)),
            (None, late) => late.map(Cow::Borrowed),
        };
        let response = response.as_deref();
        let response_us = |parts| response.and_then(|h| quantile_us(h, parts));
        Self {
            op: op.name(),
            n: stats.service.count(),
            bytes: stats.bytes,
            errors: stats.errors,
            mean_us: service.mean_ns().map(|ns| ns / 1e3),
            p50_us: quantile_us(&service, 50_000),
            p95_us: quantile_us(&service, 95_000),
            p99_us: quantile_us(&service, 99_000),
            p999_us: quantile_us(&service, 99_900),
            p9999_us: quantile_us(&service, 99_990),
            p99999_us: quantile_us(&service, 99_999),
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

/// Halves of 95 % intervals of one operation's figures, as fractions of them.
#[pyclass(frozen, get_all, module = "fathom._core")]
#[derive(Clone)]
pub struct OpHalfWidths {
    rate: f64,
    mean_latency: f64,
    mean_response: Option<f64>,
}

/// How well a window is known: by operation, by stream and operation, of the WAF and of the energy.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct HalfWidths {
    ops: BTreeMap<&'static str, OpHalfWidths>,
    streams: BTreeMap<String, BTreeMap<&'static str, OpHalfWidths>>,
    waf: Option<f64>,
    joules: Option<f64>,
}

impl From<&recording::HalfWidths> for HalfWidths {
    fn from(known: &recording::HalfWidths) -> Self {
        let of_ops = |ops: &BTreeMap<Op, recording::OpHalfWidths>| {
            let each = ops.iter().map(|(op, width)| {
                let widths = OpHalfWidths {
                    rate: width.rate,
                    mean_latency: width.mean_latency,
                    mean_response: width.mean_response,
                };
                (op.name(), widths)
            });
            each.collect()
        };
        Self {
            ops: of_ops(&known.ops),
            streams: known
                .streams
                .iter()
                .map(|(name, ops)| (name.clone(), of_ops(ops)))
                .collect(),
            waf: known.waf,
            joules: known.joules,
        }
    }
}

/// How busy a group of equal servers was.
#[pyclass(frozen, get_all, module = "fathom._core")]
#[derive(Clone)]
pub struct Utilisation {
    resource: String,
    servers: u32,
    mean: f64,
    max: f64,
    /// I/O that waited for one of them on average.
    waiting: f64,
}

/// Returns the results of every operation about which something is known.
fn op_results(ops: &BTreeMap<Op, OpStats>, censored: Option<&CensoredOps>) -> Vec<OpResult> {
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

fn stream_results(
    streams: &Streams,
    censored: &BTreeMap<String, CensoredOps>,
) -> BTreeMap<String, Vec<OpResult>> {
    let each = streams.iter();
    each.map(|(name, ops)| (name.clone(), op_results(ops, censored.get(name))))
        .collect()
}

fn utilisation_rows(rows: &[recording::Utilisation]) -> Vec<Utilisation> {
    rows.iter().map(Utilisation::from).collect()
}

impl From<&recording::Utilisation> for Utilisation {
    fn from(row: &recording::Utilisation) -> Self {
        Self {
            resource: row.resource.clone(),
            servers: row.servers,
            mean: row.mean,
            max: row.max,
            waiting: row.waiting,
        }
    }
}

fn residence_us(parts: &[recording::Residence]) -> BTreeMap<String, f64> {
    parts
        .iter()
        .filter_map(|spent| Some((spent.part.clone(), spent.mean_ns()? / 1e3)))
        .collect()
}

/// Group, member, I/O completed, their mean latency in us, and the bytes written and programmed for it.
type ShareRow = (String, u32, u64, Option<f64>, Option<(u64, u64)>);

/// What each member of a system had.
fn share_rows(shares: &[recording::Share]) -> Vec<ShareRow> {
    shares
        .iter()
        .map(|share| {
            let mean_us = share.mean_ns().map(|ns| ns / 1e3);
            (
                share.group.clone(),
                share.member,
                share.n,
                mean_us,
                share.written(),
            )
        })
        .collect()
}

/// Counters that the backend knows, by name with its unit.
fn counter_map(counters: &Counters) -> BTreeMap<&'static str, f64> {
    let whole = |value: Option<u64>| value.map(|v| v as f64);
    [
        ("media_read_bytes", whole(counters.media_read_bytes)),
        ("media_write_bytes", whole(counters.media_write_bytes)),
        ("media_erase_bytes", whole(counters.media_erase_bytes)),
        ("joules", counters.joules),
        ("throttled_ns", whole(counters.throttled_ns)),
        ("temperature_c", counters.temperature_c),
        ("wear_pct", counters.wear_pct),
        ("unmapped_reads", whole(counters.unmapped_reads)),
        ("cpu_user_ns", whole(counters.cpu_user_ns)),
        ("cpu_sys_ns", whole(counters.cpu_sys_ns)),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.map(|v| (name, v)))
    .collect()
}

/// One second of a step on one target.
#[pyclass(frozen, module = "fathom._core")]
pub struct Interval {
    target: usize,
    inner: recording::Interval,
}

impl Interval {
    /// An interval of the target with that index.
    pub fn new(target: usize, inner: recording::Interval) -> Self {
        Self { target, inner }
    }
}

#[pymethods]
impl Interval {
    /// The same second of several targets or hosts as one, by addition, as an interval of `target`.
    #[staticmethod]
    fn merged(parts: Vec<Py<Interval>>, target: usize) -> PyResult<Self> {
        let inner = parts.iter().map(|part| &part.get().inner);
        let mut inner = inner.cloned();
        let mut sum = inner.next().ok_or_else(nothing_to_merge)?;
        inner.for_each(|part| sum.merge(&part));
        Ok(Self::new(target, sum))
    }

    /// The interval for the wire; `from_bytes` reads it.
    fn to_bytes(&self) -> PyResult<Vec<u8>> {
        to_bytes(&self.inner)
    }

    /// An interval of `target` from the wire.
    #[staticmethod]
    fn from_bytes(bytes: &[u8], target: usize) -> PyResult<Self> {
        let inner = from_bytes::<recording::Interval>(bytes)?;
        if !inner.is_sound() {
            return Err(cannot_be_counts());
        }
        Ok(Self::new(target, inner))
    }

    #[getter]
    fn target(&self) -> usize {
        self.target
    }
    #[getter]
    fn index(&self) -> u32 {
        self.inner.index
    }
    #[getter]
    fn start_s(&self) -> f64 {
        self.inner.start_ns as f64 / 1e9
    }
    #[getter]
    fn length_s(&self) -> f64 {
        self.inner.length_ns as f64 / 1e9
    }
    #[getter]
    fn offered(&self) -> Option<u64> {
        self.inner.offered
    }
    #[getter]
    fn backlog(&self) -> Option<u64> {
        self.inner.backlog
    }
    #[getter]
    fn outstanding(&self) -> Option<f64> {
        self.inner.mean_outstanding
    }
    #[getter]
    fn ops(&self) -> Vec<OpResult> {
        op_results(&self.inner.ops, None)
    }
    /// As of a recording.
    #[getter]
    fn streams(&self) -> BTreeMap<String, Vec<OpResult>> {
        stream_results(&self.inner.streams, &BTreeMap::new())
    }
    #[getter]
    fn counters(&self) -> BTreeMap<&'static str, f64> {
        counter_map(&self.inner.counters)
    }
    #[getter]
    fn utilisation(&self) -> Vec<Utilisation> {
        utilisation_rows(&self.inner.utilisation)
    }
    /// Mean time per I/O in each part of a system, us.
    #[getter]
    fn residence_us(&self) -> BTreeMap<String, f64> {
        residence_us(&self.inner.residence)
    }
    /// What each host, port or drive of a system had: (group, member, n, mean latency in us).
    #[getter]
    fn shares(&self) -> Vec<ShareRow> {
        share_rows(&self.inner.shares)
    }
    /// Whether a round ended with it before its time.
    #[getter]
    fn ends_round(&self) -> bool {
        self.inner.ends_round
    }
}

/// What a key of [`Recording::errno`] means, in words.
#[pyfunction]
pub fn describe_errno(code: i32) -> String {
    engine::describe_errno(code)
}

/// A whole step on one target.
#[pyclass(frozen, module = "fathom._core")]
pub struct Recording {
    inner: recording::Recording,
}

impl From<recording::Recording> for Recording {
    fn from(inner: recording::Recording) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl Recording {
    /// Of nothing yet.
    #[new]
    fn new() -> Self {
        recording::Recording::default().into()
    }

    /// With the next interval added: a long step need not be kept to be summed up.
    fn plus(&self, interval: &Interval) -> Self {
        let mut sum = self.inner.clone();
        sum.add(&interval.inner);
        sum.into()
    }

    /// With the failures, set-up, remarks and notes of `parts`, and how well their sum is known.
    fn with_parts(&self, parts: Vec<Py<Recording>>) -> Self {
        let mut sum = self.inner.clone();
        sum.half_widths = recording::HalfWidths::of_sum(parts.iter().map(|part| &part.get().inner));
        for part in &parts {
            let recording::Recording {
                errno,
                setup,
                censored,
                censored_streams,
                remarks,
                notes,
                ..
            } = part.get().inner.clone();
            sum.merge(&recording::Recording {
                errno,
                setup,
                censored,
                censored_streams,
                remarks,
                notes,
                ..recording::Recording::default()
            });
        }
        sum.into()
    }

    /// The recording for the wire; `from_bytes` reads it.
    fn to_bytes(&self) -> PyResult<Vec<u8>> {
        to_bytes(&self.inner)
    }

    /// A recording from the wire.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let inner = from_bytes::<recording::Recording>(bytes)?;
        if !inner.is_sound() {
            return Err(cannot_be_counts());
        }
        Ok(Self::from(inner))
    }

    #[getter]
    fn window_s(&self) -> f64 {
        self.inner.window_ns as f64 / 1e9
    }
    #[getter]
    fn offered(&self) -> Option<u64> {
        self.inner.offered
    }
    #[getter]
    fn backlog(&self) -> Option<u64> {
        self.inner.backlog
    }
    #[getter]
    fn outstanding(&self) -> Option<f64> {
        self.inner.mean_outstanding
    }
    #[getter]
    fn ops(&self) -> Vec<OpResult> {
        op_results(&self.inner.ops, Some(&self.inner.censored))
    }
    /// By name the streams of the job; empty for a job of one workload.
    #[getter]
    fn streams(&self) -> BTreeMap<String, Vec<OpResult>> {
        stream_results(&self.inner.streams, &self.inner.censored_streams)
    }
    #[getter]
    fn counters(&self) -> BTreeMap<&'static str, f64> {
        counter_map(&self.inner.counters)
    }
    #[getter]
    fn utilisation(&self) -> Vec<Utilisation> {
        utilisation_rows(&self.inner.utilisation)
    }
    /// Mean time per I/O in each part of a system, us.
    #[getter]
    fn residence_us(&self) -> BTreeMap<String, f64> {
        residence_us(&self.inner.residence)
    }
    /// Latencies in equal parts of the window, in order of time; empty where nobody watched, or it has seconds enough.
    #[getter]
    fn batches(&self) -> Vec<Batch> {
        self.inner.batches.iter().map(Batch::from).collect()
    }
    /// None where nobody watched.
    #[getter]
    fn half_widths(&self) -> Option<HalfWidths> {
        self.inner.half_widths.as_ref().map(HalfWidths::from)
    }
    #[getter]
    fn errno(&self) -> BTreeMap<i32, u64> {
        self.inner.errno.clone()
    }
    /// How a real load was made, by aspect; empty for twins.
    #[getter]
    fn setup(&self) -> BTreeMap<String, String> {
        self.inner.setup.clone()
    }
    /// What is to be said beside the figures, each as a JSON object with its code and values.
    #[getter]
    fn remarks(&self) -> PyResult<Vec<String>> {
        let each = self.inner.remarks.iter();
        let text = |remark| serde_json::to_string(remark);
        each.map(|remark| text(remark).map_err(|error| PyValueError::new_err(error.to_string())))
            .collect()
    }
    /// The same where it is for people only, in plain words: no rule reads them.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }
    /// What bound the rate, or None where the backend cannot know.
    fn limit(&self) -> Option<Limit> {
        self.inner.limit().map(Limit::from)
    }
}

/// What bound the rate of a step.
#[pyclass(frozen, get_all, module = "fathom._core")]
pub struct Limit {
    /// `saturated`, `queue`, `offered-rate`, `outstanding-io` or `target-or-outstanding-io`.
    kind: &'static str,
    /// What is saturated or waited for.
    resource: Option<Utilisation>,
    /// Arrivals per second of an offered rate; mean I/O in flight of outstanding I/O.
    amount: Option<f64>,
    /// The busiest resource but the limit.
    next: Option<Utilisation>,
}

impl From<recording::Limit> for Limit {
    fn from(limit: recording::Limit) -> Self {
        use recording::LimitedBy;
        let (kind, resource, amount) = match limit.by {
            LimitedBy::Saturated(one) => ("saturated", Some(one), None),
            LimitedBy::Queue(one) => ("queue", Some(one), None),
            LimitedBy::OfferedRate { iops } => ("offered-rate", None, Some(iops)),
            LimitedBy::OutstandingIo { mean } => ("outstanding-io", None, Some(mean)),
            LimitedBy::TargetOrOutstandingIo { mean } => {
                ("target-or-outstanding-io", None, Some(mean))
            }
        };
        Self {
            kind,
            resource: resource.as_ref().map(Utilisation::from),
            amount,
            next: limit.next.as_ref().map(Utilisation::from),
        }
    }
}
