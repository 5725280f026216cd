//! A whole step on one target: what intervals add up to, and what limited it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::Op;

use crate::censored::{CensoredOps, merge_censored};
use crate::fault::{Fault, merge_faults};
use crate::gpu::Gpu;
use crate::interval::{merge_ops, merge_residence, merge_servers, merge_streams, merge_times, sum};
use crate::remark::{Remark, merge_remarks};
use crate::{Batch, Counters, HalfWidths, Interval, OpStats, Residence, Streams, Utilisation};

/// A whole step on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Length of the measured window, ns.
    pub window_ns: u64,
    /// Per operation over the window.
    pub ops: BTreeMap<Op, OpStats>,
    /// The operations of each stream of the job; empty for a job of one workload.
    #[serde(default, skip_serializing_if = "Streams::is_empty")]
    pub streams: Streams,
    /// Open load: requests that arrived in the window.
    pub offered: Option<u64>,
    /// Open load: requests not issued at the end.
    pub backlog: Option<u64>,
    /// Mean I/O in flight over the window.
    pub mean_outstanding: Option<f64>,
    /// Counters over the window.
    pub counters: Counters,
    /// Mean utilisation over the window.
    pub utilisation: Vec<Utilisation>,
    /// Where I/O spent its time over the window; empty where the target does not report it.
    pub residence: Vec<Residence>,
    /// Known where the load generator watched it; else the seconds' scatter gives it.
    pub half_widths: Option<HalfWidths>,
    /// Latencies in equal parts of the window, in order of time, where the load generator watched it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<Batch>,
    /// Failed I/O by errno; 0 stands for an I/O that moved fewer bytes than asked.
    pub errno: BTreeMap<i32, u64>,
    /// Failed I/O by operation, errno and range.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// How a real load was made, by aspect: what was achieved of what was asked for. Empty for twins.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub setup: BTreeMap<String, String>,
    /// The GPU in whose memory reads end; `None`: they end in the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Gpu>,
    /// I/O in flight at the end for longer than any that returned: it counts with its age.
    #[serde(default, skip_serializing_if = "CensoredOps::is_empty")]
    pub censored: CensoredOps,
    /// The same by stream.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub censored_streams: BTreeMap<String, CensoredOps>,
    /// What is to be said beside the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
    /// The same where it is for people only, in plain words: no program reads them.
    pub notes: Vec<String>,
}

impl Recording {
    /// Returns the sum of a step's intervals, in order of time.
    pub fn from_intervals<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> Self {
        let mut recording = Self::default();
        for interval in intervals {
            recording.add(interval);
        }
        recording
    }

    /// Appends the next interval of the same target. The backlog becomes the interval's; means
    /// are weighted by time.
    pub fn add(&mut self, interval: &Interval) {
        merge_ops(&mut self.ops, &interval.ops);
        merge_streams(&mut self.streams, &interval.streams);
        self.backlog = interval.backlog;
        merge_residence(&mut self.residence, &interval.residence);
        if self.window_ns == 0 {
            self.offered = interval.offered;
            self.mean_outstanding = interval.mean_outstanding;
            self.counters = interval.counters.clone();
            self.utilisation = interval.utilisation.clone();
        } else {
            let (ours, theirs) = (self.window_ns as f64, interval.length_ns as f64);
            self.offered = sum(self.offered, interval.offered);
            self.mean_outstanding = sum(
                self.mean_outstanding.map(|n| n * ours),
                interval.mean_outstanding.map(|n| n * theirs),
            )
            .map(|area| area / (ours + theirs));
            self.counters.merge(&interval.counters);
            merge_times(
                &mut self.utilisation,
                self.window_ns,
                &interval.utilisation,
                interval.length_ns,
            );
        }
        self.window_ns += interval.length_ns;
    }

    /// Adds what another thread, target or host did in the same window. An empty recording is
    /// neutral. The longer window stands.
    pub fn merge(&mut self, other: &Self) {
        if self.window_ns == 0 {
            let before = std::mem::replace(self, other.clone());
            self.merge_metadata(&before);
            return;
        }
        self.merge_metadata(other);
        if other.window_ns == 0 {
            return;
        }
        let window_ns = self.window_ns.max(other.window_ns);
        self.mean_outstanding = sum(
            self.mean_outstanding.map(|n| n * self.window_ns as f64),
            other.mean_outstanding.map(|n| n * other.window_ns as f64),
        )
        .map(|area| area / window_ns as f64);
        self.window_ns = window_ns;
        merge_ops(&mut self.ops, &other.ops);
        merge_streams(&mut self.streams, &other.streams);
        self.offered = sum(self.offered, other.offered);
        self.backlog = sum(self.backlog, other.backlog);
        self.counters.merge(&other.counters);
        merge_residence(&mut self.residence, &other.residence);
        merge_servers(&mut self.utilisation, &other.utilisation);
    }

    /// Takes over what stands beside the figures: failures, I/O that did not return, the set-up, remarks, notes.
    fn merge_metadata(&mut self, other: &Self) {
        merge_censored(&mut self.censored, &other.censored);
        for (stream, theirs) in &other.censored_streams {
            merge_censored(
                self.censored_streams.entry(stream.clone()).or_default(),
                theirs,
            );
        }
        merge_remarks(&mut self.remarks, &other.remarks);
        merge_faults(&mut self.faults, other.faults.iter().cloned());
        for (&code, &n) in &other.errno {
            *self.errno.entry(code).or_default() += n;
        }
        for (aspect, value) in &other.setup {
            let ours = self
                .setup
                .entry(aspect.clone())
                .or_insert_with(|| value.clone());
            if !ours.split("; ").any(|one| one == value) {
                *ours = format!("{ours}; {value}");
            }
        }
        self.gpu = self.gpu.take().or_else(|| other.gpu.clone());
        for note in &other.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

    /// Returns the number of completed I/Os of every operation.
    pub fn completed(&self) -> u64 {
        self.ops.values().map(|stats| stats.service.count()).sum()
    }
}
