//! One second of a step, and how seconds of several threads become one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::SparseHistogram;

/// What one operation did in an interval, or over a whole step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

impl OpStats {
    /// Adds what the same operation did elsewhere (another thread, target or second).
    pub fn merge(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.service.merge(&other.service);
        if let Some(theirs) = &other.response {
            self.response.get_or_insert_default().merge(theirs);
        }
    }
}

/// What each stream of a job did, by its name and operation.
pub type Streams = BTreeMap<String, BTreeMap<Op, OpStats>>;

pub(crate) fn merge_streams(into: &mut Streams, from: &Streams) {
    for (name, ops) in from {
        match into.get_mut(name) {
            Some(ours) => merge_ops(ours, ops),
            None => {
                into.insert(name.clone(), ops.clone());
            }
        }
    }
}

pub(crate) fn merge_ops(into: &mut BTreeMap<Op, OpStats>, from: &BTreeMap<Op, OpStats>) {
    for (&op, stats) in from {
        into.entry(op).or_default().merge(stats);
    }
}

/// Byte and energy counters over an interval. `None`: this backend cannot know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes read from the medium.
    pub media_read_bytes: Option<u64>,
    /// Bytes written to the medium, cleaning included.
    pub media_write_bytes: Option<u64>,
    /// Bytes of the medium that were erased.
    #[serde(default)]
    pub media_erase_bytes: Option<u64>,
    /// Energy of the device, J.
    pub joules: Option<f64>,
    /// Time that the device held itself back because it was hot, ns.
    #[serde(default)]
    pub throttled_ns: Option<u64>,
    /// Highest of the composite temperatures at the ends of the intervals, degrees Celsius.
    #[serde(default)]
    pub temperature_c: Option<f64>,
    /// Program/erase cycles used at the end, percent of the rated ones; of several devices the most.
    #[serde(default)]
    pub wear_pct: Option<f64>,
    /// Reads of blocks that were never written.
    pub unmapped_reads: Option<u64>,
    /// User CPU time of the load generator, ns.
    pub cpu_user_ns: Option<u64>,
    /// System CPU time of the load generator, ns.
    pub cpu_sys_ns: Option<u64>,
}

impl Counters {
    /// Adds another set. A counter that either side does not know is unknown in the sum: a partial
    /// sum would pass for a total.
    pub fn merge(&mut self, other: &Self) {
        self.media_read_bytes = sum(self.media_read_bytes, other.media_read_bytes);
        self.media_write_bytes = sum(self.media_write_bytes, other.media_write_bytes);
        self.media_erase_bytes = sum(self.media_erase_bytes, other.media_erase_bytes);
        self.joules = sum(self.joules, other.joules);
        self.throttled_ns = sum(self.throttled_ns, other.throttled_ns);
        self.temperature_c = most(self.temperature_c, other.temperature_c);
        self.wear_pct = most(self.wear_pct, other.wear_pct);
        self.unmapped_reads = sum(self.unmapped_reads, other.unmapped_reads);
        self.cpu_user_ns = sum(self.cpu_user_ns, other.cpu_user_ns);
        self.cpu_sys_ns = sum(self.cpu_sys_ns, other.cpu_sys_ns);
    }
}

fn most(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a?.max(b?))
}

pub(crate) fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a? + b?)
}

/// How busy a resource (or a group of equal servers) was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Name as shown to the user: `host CPU`, `PCIe link (read)`, `dies`.
    pub resource: String,
    /// Equal servers in the group.
    pub servers: u32,
    /// Mean busy fraction over the servers, 0..=1.
    pub mean: f64,
    /// Busiest server's fraction, 0..=1.
    pub max: f64,
    /// I/O that waited for one of them, on average; 0 where the target does not report it.
    #[serde(default)]
    pub waiting: f64,
}

/// Time that I/O spent in a part of a system, waiting and being served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residence {
    /// Name as shown to the user.
    pub part: String,
    /// Summed over the I/O.
    pub total_ns: u64,
    /// I/O completed meanwhile.
    pub n: u64,
}

impl Residence {
    /// Returns the mean per I/O, ns; `None` without any.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.n > 0).then(|| self.total_ns as f64 / self.n as f64)
    }
}

/// What one member of a group of equals (hosts, ports, drives of a system) had of the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// What the member is: `host`, `port`, `drive`.
    pub group: String,
    /// Which one, from 1.
    pub member: u32,
    /// I/O completed.
    pub n: u64,
    /// Their latencies added up, ns.
    pub total_ns: u64,
    /// Bytes that it wrote; this and the next are 0 where the target does not report them.
    #[serde(default)]
    pub host_write_bytes: u64,
    /// Programmed for it: its writes, and what cleaning moved of its data.
    #[serde(default)]
    pub media_write_bytes: u64,
}

impl Share {
    /// Returns the mean latency, ns; `None` without any I/O.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.n > 0).then(|| self.total_ns as f64 / self.n as f64)
    }

    /// Returns the bytes written and programmed; `None` where the target does not report them.
    pub fn written(&self) -> Option<(u64, u64)> {
        let written = (self.host_write_bytes, self.media_write_bytes);
        (written != (0, 0)).then_some(written)
    }
}

/// Adds what the same members had elsewhere or later.
pub(crate) fn merge_shares(into: &mut Vec<Share>, from: &[Share]) {
    for theirs in from {
        let same = |ours: &&mut Share| (&ours.group, ours.member) == (&theirs.group, theirs.member);
        match into.iter_mut().find(same) {
            Some(ours) => {
                ours.n += theirs.n;
                ours.total_ns += theirs.total_ns;
                ours.host_write_bytes += theirs.host_write_bytes;
                ours.media_write_bytes += theirs.media_write_bytes;
            }
            None => into.push(theirs.clone()),
        }
    }
}

/// Adds what I/O spent elsewhere or later.
pub(crate) fn merge_residence(into: &mut Vec<Residence>, from: &[Residence]) {
    for theirs in from {
        match into.iter_mut().find(|ours| ours.part == theirs.part) {
            Some(ours) => {
                ours.total_ns += theirs.total_ns;
                ours.n += theirs.n;
            }
            None => into.push(theirs.clone()),
        }
    }
}

/// Joins groups of other servers (threads, targets, hosts): same-named groups become one.
pub(crate) fn merge_servers(into: &mut Vec<Utilisation>, from: &[Utilisation]) {
    for theirs in from {
        match into
            .iter_mut()
            .find(|ours| ours.resource == theirs.resource)
        {
            Some(ours) => {
                let servers = ours.servers + theirs.servers;
                let busy =
                    ours.mean * f64::from(ours.servers) + theirs.mean * f64::from(theirs.servers);
                ours.mean = busy / f64::from(servers.max(1));
                ours.max = ours.max.max(theirs.max);
                ours.waiting += theirs.waiting;
                ours.servers = servers;
            }
            None => into.push(theirs.clone()),
        }
    }
}

/// Joins the same servers over consecutive times, weighted by their lengths. A group that one side
/// lacks was idle there.
pub(crate) fn merge_times(
    into: &mut Vec<Utilisation>,
    into_ns: u64,
    from: &[Utilisation],
    from_ns: u64,
) {
    let share = from_ns as f64 / (into_ns + from_ns).max(1) as f64;
    for ours in into.iter_mut() {
        ours.mean *= 1.0 - share;
        ours.max *= 1.0 - share;
        ours.waiting *= 1.0 - share;
    }
    for theirs in from {
        let (mean, max) = (theirs.mean * share, theirs.max * share);
        let waiting = theirs.waiting * share;
        match into
            .iter_mut()
            .find(|ours| ours.resource == theirs.resource)
        {
            Some(ours) => {
                ours.mean += mean;
                ours.max += max;
                ours.waiting += waiting;
            }
            None => into.push(Utilisation {
                mean,
                max,
                waiting,
                ..theirs.clone()
            }),
        }
    }
}

/// One second of a step on one target. The last interval of a step may be shorter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// 0-based second of the step.
    pub index: u32,
    /// Start, ns since the start of the step.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// Per operation; only those that occurred.
    pub ops: BTreeMap<Op, OpStats>,
    /// The operations of each stream of the job; empty for a job of one workload.
    #[serde(default, skip_serializing_if = "Streams::is_empty")]
    pub streams: Streams,
    /// Open load: requests that arrived in the interval.
    pub offered: Option<u64>,
    /// Open load: requests arrived but not issued, at the end of the interval.
    pub backlog: Option<u64>,
    /// Mean I/O in flight.
    pub mean_outstanding: Option<f64>,
    /// Counters over the interval.
    pub counters: Counters,
    /// Resources of a twin, or the load generator's own CPU.
    pub utilisation: Vec<Utilisation>,
    /// Where I/O spent its time; empty where the target does not report it.
    pub residence: Vec<Residence>,
    /// What each host, port or drive of a system had; empty where the target does not report it.
    pub shares: Vec<Share>,
    /// Whether a round ended with it, before its time, because its figures were known well enough.
    pub ends_round: bool,
}

impl Interval {
    /// Returns the interval as one of the stream of that name.
    #[must_use]
    pub fn of_stream(mut self, name: &str) -> Self {
        self.streams = Streams::from([(name.to_owned(), self.ops.clone())]);
        self
    }

    /// Adds the same second of another thread (or target): counts, counters and outstanding I/O
    /// add; servers of equal name become one group. The longer of the two lengths stands.
    pub fn merge(&mut self, other: &Self) {
        let length_ns = self.length_ns.max(other.length_ns);
        self.mean_outstanding = sum(
            self.mean_outstanding.map(|n| n * self.length_ns as f64),
            other.mean_outstanding.map(|n| n * other.length_ns as f64),
        )
        .map(|area| area / length_ns.max(1) as f64);
        self.start_ns = self.start_ns.min(other.start_ns);
        self.length_ns = length_ns;
        merge_ops(&mut self.ops, &other.ops);
        merge_streams(&mut self.streams, &other.streams);
        self.offered = sum(self.offered, other.offered);
        self.backlog = sum(self.backlog, other.backlog);
        self.counters.merge(&other.counters);
        merge_servers(&mut self.utilisation, &other.utilisation);
        merge_residence(&mut self.residence, &other.residence);
        merge_shares(&mut self.shares, &other.shares);
    }
}
