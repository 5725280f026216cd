//! One target's seconds being put together from those of its load threads.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use recording::{CensoredOps, InFlight, Interval, Recording, Remark, censor, merge_faults};

use crate::{
    TargetKind, TargetSetup, TargetSpec,
    errno::describe_errno,
    message::{Lateness, Summary},
    meter::SECOND_NS,
};

/// Open load: a mean delay of arrivals beyond this is worth a note.
const LATE_NS: f64 = 20_000.0;
/// Share of the threads' time spent waiting for a core that is worth a note.
const WAITING: f64 = 0.05;

/// One target's seconds being put together.
pub(crate) struct Aggregator {
    path: PathBuf,
    is_device: bool,
    /// Seconds that not every member has delivered yet.
    pending: BTreeMap<u32, Interval>,
    /// Per member, the second it will deliver next; `u32::MAX` when it has finished.
    next_index: Vec<u32>,
    recording: Recording,
    failure: Option<String>,
    /// Whether every I/O of a whole second failed, of all members together.
    all_failed: bool,
    lateness: Lateness,
    uncounted_ns: u64,
    waiting_ns: u64,
    /// When the window ended, by stream.
    in_flight: BTreeMap<Option<Arc<str>>, Vec<InFlight>>,
    lost: u64,
    lost_age_ns: u64,
}

impl Aggregator {
    /// No thread yet.
    pub(crate) fn new(
        spec: &TargetSpec,
        setup: &TargetSetup,
        in_words: BTreeMap<String, String>,
    ) -> Self {
        let mut recording = Recording {
            setup: in_words,
            gpu: setup.gpu.clone(),
            notes: setup.notes.clone(),
            ..Recording::default()
        };
        if let Some(reason) = setup.fallback.clone() {
            recording.remarks.push(Remark::Fallback { reason });
        }
        Self {
            path: spec.path.clone(),
            is_device: matches!(spec.kind, TargetKind::BlockDevice | TargetKind::NvmeGeneric),
            pending: BTreeMap::new(),
            next_index: Vec::new(),
            recording,
            failure: None,
            all_failed: false,
            lateness: Lateness::default(),
            uncounted_ns: 0,
            waiting_ns: 0,
            in_flight: BTreeMap::new(),
            lost: 0,
            lost_age_ns: 0,
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

    /// Takes in the last word of a thread, which was that stream's; it has no more seconds to deliver.
    pub(crate) fn finish(&mut self, member: usize, stream: Option<Arc<str>>, summary: Summary) {
        self.next_index[member] = u32::MAX;
        for (errno, n) in summary.errno {
            *self.recording.errno.entry(errno).or_default() += n;
        }
        merge_faults(&mut self.recording.faults, summary.faults);
        let in_flight = self.in_flight.entry(stream).or_default();
        in_flight.extend(summary.in_flight);
        self.lost += summary.lost;
        self.lost_age_ns = self.lost_age_ns.max(summary.lost_age_ns);
        self.recording.remarks.extend(summary.remarks);
        self.lateness.absorb(summary.lateness);
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

    /// Returns whether a thread has said its last word.
    pub(crate) fn has_finished(&self, member: usize) -> bool {
        self.next_index[member] == u32::MAX
    }

    /// Returns whether I/O was given up, so that threads may be stuck in the kernel.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// Returns the target and why it failed, if it did.
    pub(crate) fn failure(&self) -> Option<(PathBuf, String)> {
        Some((self.path.clone(), self.reason()?))
    }

    /// Returns whether a second has ended in which every I/O failed: the target is gone, whatever the errno.
    pub(crate) fn has_all_failed(&self) -> bool {
        self.all_failed
    }

    /// Returns why the target failed. The members give the errno with their last words.
    fn reason(&self) -> Option<String> {
        if self.failure.is_some() || !self.all_failed {
            return self.failure.clone();
        }
        let errno = self.recording.errno.keys().next_back();
        let errno = errno.copied().unwrap_or(0);
        // Linux takes a removed block device for one of no size.
        let removed = match errno {
            libc::ENOSPC => ": a file system is full, or a block device was removed",
            0 => ": a file was cut short, or a block device was removed",
            _ => "",
        };
        let gone = match self.is_device && !self.path.exists() {
            true => ": the device is no longer there",
            false => "",
        };
        Some(format!(
            "every I/O of a whole second failed ({}{removed}){gone}",
            describe_errno(errno)
        ))
    }

    /// Seconds that are complete, in order, added to the recording.
    pub(crate) fn complete(&mut self) -> Vec<Interval> {
        let through = self.next_index.iter().copied().min().unwrap_or(u32::MAX);
        let later = self.pending.split_off(&through);
        let complete = std::mem::replace(&mut self.pending, later);
        complete
            .into_values()
            .inspect(|interval| {
                self.all_failed |= is_total_failure(interval);
                self.recording.add(interval);
            })
            .collect()
    }

    /// Returns the recording with its remarks. I/O that was given up was waited for during `drain`. The load generator
    /// stood still for `still`.
    pub(crate) fn finished(mut self, drain: Duration, still: Duration) -> Recording {
        self.censor();
        let failed = self.recording.errno.iter();
        let failed: Vec<Remark> = failed
            .map(|(&errno, &n)| Remark::failed_io(errno, n, &self.recording.faults))
            .collect();
        self.recording.remarks.extend(failed);
        let lost = (self.lost > 0).then_some(Remark::LostIo {
            n: self.lost,
            waited_ns: drain.as_nanos() as u64,
            age_ns: self.lost_age_ns,
        });
        let mean_ns = self.lateness.mean_ns();
        let late = (mean_ns > LATE_NS).then_some(Remark::LateArrivals { mean_ns });
        let uncounted = (self.uncounted_ns > 0).then_some(Remark::UncountedArrivals {
            thread_ns: self.uncounted_ns,
        });
        let thread_time_ns = self.recording.window_ns as f64 * self.next_index.len() as f64;
        // A thread that gets no core at the end counts what it waited beyond the window too.
        let share = (self.waiting_ns as f64 / thread_time_ns.max(1.0)).min(1.0);
        let waited = (share > WAITING).then_some(Remark::CpuWait { share });
        let still_ns = still.as_nanos() as u64;
        let stood = (still_ns > 0).then_some(Remark::StoodStill { still_ns });
        let remarks = [lost, late, uncounted, waited, stood];
        self.recording.remarks.extend(remarks.into_iter().flatten());
        let reason = self.reason();
        self.recording.notes.extend(reason);
        self.recording
    }

    /// Counts I/O in flight at the end for longer than any that returned.
    fn censor(&mut self) {
        let all = self.in_flight.values().flatten();
        self.recording.censored = censor(all, &self.recording.ops);
        let of_streams = self.in_flight.iter().filter_map(|(stream, in_flight)| {
            let stream = stream.as_deref()?;
            let censored = censor(in_flight, self.recording.streams.get(stream)?);
            (!censored.is_empty()).then(|| (stream.to_owned(), censored))
        });
        self.recording.censored_streams = of_streams.collect::<BTreeMap<String, CensoredOps>>();
    }
}

/// Returns whether it is a whole second in which every I/O failed.
fn is_total_failure(interval: &Interval) -> bool {
    let failed = interval.ops.values().any(|stats| stats.errors > 0);
    let completed = interval.ops.values().any(|stats| stats.service.count() > 0);
    failed && !completed && interval.length_ns >= SECOND_NS
}
