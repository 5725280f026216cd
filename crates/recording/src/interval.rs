//! One second of a step, and the whole of a step.

use std::collections::BTreeMap;

use workload::Op;

use crate::SparseHistogram;

/// What one operation did in an interval, or over a whole step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpStats {
    /// Bytes moved by successful I/O.
    pub bytes: u64,
    /// Failed I/O (not in the histograms).
    pub errors: u64,
    /// Issue to completion.
    pub service: SparseHistogram,
    /// Intended start to completion; only under open load.
    pub response: Option<SparseHistogram>,
}

/// Byte and energy counters over an interval. `None`: this backend cannot know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counters {
    /// Bytes read from the medium.
    pub media_read_bytes: Option<u64>,
    /// Bytes written to the medium, cleaning included.
    pub media_write_bytes: Option<u64>,
    /// Energy of the device, J.
    pub joules: Option<f64>,
    /// Reads of blocks that were never written.
    pub unmapped_reads: Option<u64>,
    /// User CPU time of the load generator, ns.
    pub cpu_user_ns: Option<u64>,
    /// System CPU time of the load generator, ns.
    pub cpu_sys_ns: Option<u64>,
}

/// How busy a resource (or a group of equal servers) was.
#[derive(Clone, Debug, PartialEq)]
pub struct Utilisation {
    /// Name as shown to the user: `host CPU`, `PCIe link (read)`, `dies`.
    pub resource: String,
    /// Equal servers in the group.
    pub servers: u32,
    /// Mean busy fraction over the servers, 0..=1.
    pub mean: f64,
    /// Busiest server's fraction, 0..=1.
    pub max: f64,
}

/// One second of a step on one target. The last interval of a step may be shorter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// 0-based second of the step.
    pub index: u32,
    /// Start, ns since the start of the step.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// Per operation; only those that occurred.
    pub ops: BTreeMap<Op, OpStats>,
    /// Open load: requests that arrived in the interval.
    pub offered: Option<u64>,
    /// Open load: requests arrived but not issued, at the end of the interval.
    pub backlog: Option<u64>,
    /// Mean I/O in flight.
    pub mean_outstanding: Option<f64>,
    /// Counters over the interval.
    pub counters: Counters,
    /// Resources of a twin.
    pub utilisation: Vec<Utilisation>,
}

/// A whole step on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Length of the measured window, ns.
    pub window_ns: u64,
    /// Per operation over the window.
    pub ops: BTreeMap<Op, OpStats>,
    /// Open load: offered rate over the window.
    pub offered: Option<u64>,
    /// Open load: requests not issued at the end.
    pub backlog: Option<u64>,
    /// Mean I/O in flight over the window.
    pub mean_outstanding: Option<f64>,
    /// Counters over the window.
    pub counters: Counters,
    /// Mean utilisation over the window.
    pub utilisation: Vec<Utilisation>,
    /// Failed I/O by errno.
    pub errno: BTreeMap<i32, u64>,
    /// What was asked for and not achieved, in plain words.
    pub notes: Vec<String>,
}
