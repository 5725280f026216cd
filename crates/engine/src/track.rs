//! One target's seconds being put together from those of its load threads.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
    time::Duration,
};

use recording::{Fault, Interval, Recording, merge_faults};

use crate::{
    TargetKind, TargetSetup, TargetSpec,
    lane::{Summary, describe_errno},
};

/// Open load: a mean delay of arrivals beyond this is worth a note.
const LATE_NS: f64 = 20_000.0;
/// Share of the threads' time spent waiting for a core that is worth a note.
const WAITING: f64 = 0.05;

/// Ranges of failed I/O that a note names.
const RANGES_TOLD: usize = 3;

/// One target's seconds being put together.
pub(crate) struct Track {
    path: PathBuf,
    is_device: bool,
    /// Seconds that not every member has delivered yet.
    pending: BTreeMap<u32, Interval>,
    /// Per member, the second it will deliver next; `u32::MAX` when it has finished.
    next_index: Vec<u32>,
    recording: Recording,
    failure: Option<String>,
    lateness: (u64, u64),
    uncounted_ns: u64,
    waiting_ns: u64,
    lost: u64,
}

impl Track {
    /// No thread yet.
    pub(crate) fn new(
        spec: &TargetSpec,
        setup: &TargetSetup,
        in_words: BTreeMap<String, String>,
    ) -> Self {
        let mut recording = Recording {
            setup: in_words,
            notes: setup.notes.clone(),
            ..Recording::default()
        };
        if let Some(reason) = &setup.fallback {
            recording.notes.push(format!(
                "measured with a thread per outstanding I/O instead of io_uring ({reason}): more CPU per I/O, lower peak IOPS"
            ));
        }
        Self {
            path: spec.path.clone(),
            is_device: matches!(spec.kind, TargetKind::BlockDevice | TargetKind::NvmeGeneric),
            pending: BTreeMap::new(),
            next_index: Vec::new(),
            recording,
            failure: None,
            lateness: (0, 0),
            uncounted_ns: 0,
            waiting_ns: 0,
            lost: 0,
        }
    }

    /// Expects the seconds of one more load thread.
    pub(crate) fn add_member(&mut self) {
        self.next_index.push(0);
    }

    /// Takes in one thread's second.
    pub(crate) fn add(&mut self, member: usize, interval: Interval) {
        self.next_index[member] = interval.index + 1;
        match self.pending.entry(interval.index) {
            Entry::Occupied(mut other) => other.get_mut().merge(&interval),
            Entry::Vacant(slot) => {
                slot.insert(interval);
            }
        }
    }

    /// Takes in a thread's last word; it has no more seconds to deliver.
    pub(crate) fn finish(&mut self, member: usize, summary: Summary) {
        self.next_index[member] = u32::MAX;
        for (errno, n) in summary.errno {
            *self.recording.errno.entry(errno).or_default() += n;
        }
        merge_faults(&mut self.recording.faults, summary.faults);
        self.lost += summary.lost;
        self.lateness.0 += summary.lateness.0;
        self.lateness.1 += summary.lateness.1;
        self.uncounted_ns += summary.uncounted_ns;
        self.waiting_ns += summary.waiting_ns;
        for note in summary.notes {
            if !self.recording.notes.contains(&note) {
                self.recording.notes.push(note);
            }
        }
        if let Some(mut reason) = summary.failure {
            if self.is_device && !self.path.exists() {
                reason.push_str(": the device is no longer there");
            }
            self.fail(reason);
        }
    }

    /// Takes the target as failed; the first reason stands.
    pub(crate) fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
    }

    /// Whether a thread has said its last word.
    pub(crate) fn has_finished(&self, member: usize) -> bool {
        self.next_index[member] == u32::MAX
    }

    /// Whether I/O was given up, so that threads may be stuck in the kernel.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The target and why it failed, if it did.
    pub(crate) fn failure(&self) -> Option<(PathBuf, String)> {
        Some((self.path.clone(), self.failure.clone()?))
    }

    /// Seconds that are complete, in order, added to the recording.
    pub(crate) fn complete(&mut self) -> Vec<Interval> {
        let through = self.next_index.iter().copied().min().unwrap_or(u32::MAX);
        let later = self.pending.split_off(&through);
        let complete = std::mem::replace(&mut self.pending, later);
        complete
            .into_values()
            .inspect(|interval| self.recording.add(interval))
            .collect()
    }

    /// The recording with its notes.
    pub(crate) fn finished(mut self, drain_timeout: Duration) -> Recording {
        for (&errno, n) in &self.recording.errno {
            let places = describe_places(&self.recording.faults, errno);
            self.recording
                .notes
                .push(format!("{n} I/O failed: {}{places}", describe_errno(errno)));
        }
        if self.lost > 0 {
            self.recording.notes.push(format!(
                "{} I/O did not return within {} s after the end; they are not in the figures",
                self.lost,
                drain_timeout.as_secs()
            ));
        }
        let (arrivals, delay_ns) = self.lateness;
        let mean_ns = delay_ns as f64 / arrivals.max(1) as f64;
        if mean_ns > LATE_NS {
            self.recording.notes.push(format!(
                "arrivals were issued {:.0} us late on average by the load generator itself; response latency includes that",
                mean_ns / 1000.0
            ));
        }
        if self.uncounted_ns > 0 {
            self.recording.notes.push(format!(
                "arrivals came faster than load threads count them, and those of {:.2} thread-seconds were not counted: the offered rate and the backlog are lower bounds; ask for a lower rate, or for more threads",
                self.uncounted_ns as f64 / 1e9
            ));
        }
        let thread_time_ns = self.recording.window_ns as f64 * self.next_index.len() as f64;
        let waiting = self.waiting_ns as f64 / thread_time_ns.max(1.0);
        if waiting > WAITING {
            self.recording.notes.push(format!(
                "load threads waited {:.0} % of the time for a core that something else had; rates and latencies suffer from that",
                waiting * 100.0
            ));
        }
        self.recording.notes.extend(self.failure);
        self.recording
    }
}

/// `; 3 reads between byte 4096 and byte 16384`, for the ranges in which most I/O failed in this way.
fn describe_places(faults: &[Fault], errno: i32) -> String {
    let mut ranges: Vec<&Fault> = faults.iter().filter(|fault| fault.errno == errno).collect();
    ranges.sort_by_key(|fault| std::cmp::Reverse(fault.n));
    let told = ranges.iter().take(RANGES_TOLD).map(|fault| {
        format!(
            "; {} x {} between byte {} and byte {}",
            fault.n,
            fault.op.name(),
            fault.start_bytes,
            fault.end_bytes
        )
    });
    let mut text: String = told.collect();
    if ranges.len() > RANGES_TOLD {
        text.push_str(&format!(
            "; and in {} more ranges",
            ranges.len() - RANGES_TOLD
        ));
    }
    text
}
