//! When a window is long enough, and how well its figures are known: the method of batch means.
//!
//! Virtual time costs real time. A mean that is known to 1 % after half a second is not known any better for a reader
//! after a minute. The window is cut into batches of equal virtual length; the scatter of their means gives the 95 %
//! interval of rate and mean latency (`batch_means`). Batches that are alike their neighbours understate it, so
//! neighbours are joined as the window grows.
//!
//! Devices that are loaded at once are one target: their windows end together, when their *sum* is known well enough.
//! Batches of equal virtual time are added up, and each device waits for the others at every look. So the verdict does
//! not depend on which of them runs faster.

mod batch_means;

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use recording::HalfWidths;
use workload::Op;

use self::batch_means::{Batch, Latencies, add, half_widths, is_drifting, of_all};
pub(crate) use self::batch_means::{Medium, Tallies};

/// Batches at which neighbours are joined.
const MOST_BATCHES: usize = 64;
/// Length of the first batches.
const FIRST_BATCH_NS: u64 = 1_000_000;
/// Batches between two looks.
const LOOK_EVERY: usize = 4;
/// A window of this length has seconds enough to show how well its percentiles are known: batches keep no latencies.
const ENOUGH_SECONDS_NS: u64 = 16_000_000_000;
/// How much less well than the rate the mean latency has to be known.
const LATENCY_WIDENING: f64 = 2.0;

/// When a window (or a round of a precondition) may end before its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Half the 95 % interval of the rate, as a fraction of it; of the mean latency twice that.
    pub half_width: f64,
    /// Fewest I/O in the window.
    pub least_count: u64,
    /// Least that a window with writes writes. Neighbouring moments agree with each other however
    /// far the drive is from its steady state.
    pub least_written_bytes: u64,
    /// A window that has written this ends, however well its figures are known. A drive that still changes by then is
    /// no nearer to rest than a real one of full size after its whole window.
    pub most_written_bytes: u64,
    /// Given: the job goes on in rounds of at most this length, each judged anew.
    pub round_ns: Option<u64>,
}

/// Decides when the windows of devices that are loaded at once end: of one, or of all together.
#[derive(Debug)]
pub struct StoppingRule {
    rule: Precision,
    state: Mutex<StoppingState>,
    changed: Condvar,
}

#[derive(Debug)]
struct StoppingState {
    /// Devices whose job goes on, and those of them that wait for the verdict.
    running: usize,
    waiting: usize,
    sum: Vec<Tallies>,
    /// Batches of the longest of their full windows.
    full: f64,
    /// Whether one of those that wait still writes what came before its window.
    one_drains: bool,
    looks: u64,
    settled: bool,
}

impl StoppingRule {
    /// Returns the rule for `devices` devices; each runs one job.
    pub fn new(rule: Precision, devices: usize) -> Self {
        Self {
            rule,
            state: Mutex::new(StoppingState {
                running: devices,
                waiting: 0,
                sum: Vec::new(),
                full: 0.0,
                one_drains: false,
                looks: 0,
                settled: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, StoppingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a device's batches and waits for those of the others. Returns whether all know enough. A full window has
    /// `full` batches of this length; a device that `drains` has not.
    fn agree(&self, batches: &[Tallies], full: f64, drains: bool) -> bool {
        let mut state = self.state();
        if state.sum.len() < batches.len() {
            state.sum.resize(batches.len(), Tallies::default());
        }
        for (sum, own) in state.sum.iter_mut().zip(batches) {
            add(sum, own);
        }
        state.waiting += 1;
        let look = state.looks;
        state.full = state.full.max(full);
        state.one_drains |= drains;
        self.decide(&mut state);
        while state.looks == look {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.settled
    }

    /// Gives the verdict once nobody is missing.
    fn decide(&self, state: &mut StoppingState) {
        if state.waiting > 0 && state.waiting == state.running {
            state.settled = !state.one_drains && is_settled(&self.rule, &state.sum, state.full);
            state.sum.clear();
            state.full = 0.0;
            state.one_drains = false;
            state.waiting = 0;
            state.looks += 1;
            self.changed.notify_all();
        }
    }
}

/// A device under a stopping rule; when its job is over, the others no longer wait for it.
pub(crate) struct Member<'a>(&'a StoppingRule);

impl<'a> Member<'a> {
    pub(crate) fn new(stopping: &'a StoppingRule) -> Self {
        Self(stopping)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running -= 1;
        self.0.decide(&mut state);
    }
}

/// The batches of a window.
pub(crate) struct Batches<'a> {
    member: Member<'a>,
    /// When the job's time is up.
    limit_ns: u64,
    length_ns: u64,
    start_ns: u64,
    end_ns: u64,
    full: Vec<Batch>,
    open: Batch,
    /// What the recorders had counted when they were last asked.
    seen: Vec<Tallies>,
    /// The device's totals by then.
    seen_medium: Option<Medium>,
    /// Latencies that the recorders had counted by then; empty once batches keep none.
    seen_latency: Vec<Latencies>,
}

impl<'a> Batches<'a> {
    /// Begins batches now, to `limit_ns` at the latest, for a job of `streams` streams (one at least) on a device with
    /// these totals.
    pub(crate) fn new(
        member: Member<'a>,
        (now_ns, limit_ns): (u64, u64),
        streams: usize,
        medium: Option<Medium>,
    ) -> Self {
        let mut batches = Self {
            member,
            limit_ns,
            length_ns: 0,
            start_ns: 0,
            end_ns: 0,
            full: Vec::with_capacity(MOST_BATCHES),
            open: Batch::default(),
            seen: vec![Tallies::default(); streams],
            seen_medium: medium,
            seen_latency: Vec::new(),
        };
        if batches.ends_job() {
            batches.seen_latency = vec![Latencies::default(); streams];
        }
        batches.restart(now_ns);
        batches
    }

    fn rule(&self) -> &Precision {
        &self.member.0.rule
    }

    /// Begins a window or round.
    fn restart(&mut self, now_ns: u64) {
        self.length_ns = FIRST_BATCH_NS;
        self.start_ns = now_ns;
        self.end_ns = now_ns + FIRST_BATCH_NS;
        self.full.clear();
        self.open = self.none_yet();
    }

    fn none_yet(&self) -> Batch {
        Batch {
            streams: vec![Tallies::default(); self.seen.len()],
            medium: self.seen_medium.map(|_| Medium::default()),
            latency: vec![Latencies::default(); self.seen_latency.len()],
        }
    }

    /// Returns when the open batch ends.
    pub(crate) fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Takes in what the recorders have counted since their last cut, and the device's totals.
    pub(crate) fn see(&mut self, counted: &[Tallies], medium: Option<Medium>) {
        let streams = self.open.streams.iter_mut().zip(&mut self.seen);
        for ((open, seen), counted) in streams.zip(counted) {
            for (op, now) in counted.iter().enumerate() {
                open[op].add(&now.since(&seen[op]));
            }
            *seen = *counted;
        }
        let gained = medium
            .zip(self.seen_medium)
            .map(|(now, seen)| now.since(seen));
        self.open.medium = self
            .open
            .medium
            .zip(gained)
            .map(|(open, own)| open.plus(own));
        self.seen_medium = medium;
    }

    /// Returns whether it asks for [`Self::see_latency`].
    pub(crate) fn watches_latency(&self) -> bool {
        !self.seen_latency.is_empty()
    }

    /// Takes in the latencies that the recorders have counted since their last cut.
    pub(crate) fn see_latency(&mut self, counted: impl Iterator<Item = Latencies>, now_ns: u64) {
        if now_ns - self.start_ns >= ENOUGH_SECONDS_NS {
            self.seen_latency.clear();
            self.open.latency.clear();
            self.full.iter_mut().for_each(|batch| batch.latency.clear());
            return;
        }
        let streams = self.open.latency.iter_mut().zip(&mut self.seen_latency);
        for ((open, seen), counted) in streams.zip(counted) {
            for ((open, seen), now) in open.iter_mut().zip(seen.iter()).zip(&counted) {
                open.merge(&now.since(seen));
            }
            *seen = counted;
        }
    }

    /// Latencies of each batch, as a recording has them; none of a window of seconds enough.
    pub(crate) fn recorded(&self, stream_names: &[String]) -> Vec<recording::Batch> {
        let watched = self.watches_latency().then_some(&self.full);
        let each = watched.into_iter().flatten();
        each.map(|batch| batch.recorded(stream_names)).collect()
    }

    /// The recorders have been cut: they count from zero.
    pub(crate) fn forget_seen(&mut self) {
        self.seen.fill(Tallies::default());
        self.seen_latency.fill(Latencies::default());
    }

    /// Ends the open batch if its time has come. Returns whether the window is long enough.
    pub(crate) fn close(&mut self, now_ns: u64) -> bool {
        if now_ns < self.end_ns {
            return false;
        }
        let fresh = self.none_yet();
        self.full.push(std::mem::replace(&mut self.open, fresh));
        let settled = self.full.len().is_multiple_of(LOOK_EVERY) && {
            let ops: Vec<Tallies> = self.full.iter().map(Batch::ops).collect();
            self.member.0.agree(&ops, self.full_window(), self.drains())
        };
        if self.full.len() == MOST_BATCHES {
            self.join();
        }
        self.end_ns = now_ns + self.length_ns;
        settled
    }

    /// Returns whether the medium is still being written under a load that writes nothing: what the load before left in
    /// the buffer, or cleaning. Its batches agree with each other, and the next ones are several times as fast.
    fn drains(&self) -> bool {
        let later = &self.full[self.full.len() / 2..];
        let (mut moved, mut written, mut programmed) = (0, 0, 0);
        for batch in later {
            for (tally, op) in batch.ops().iter().zip(Op::ALL) {
                moved += tally.bytes;
                written += if op.is_destructive() { tally.bytes } else { 0 };
            }
            programmed += batch.medium.map_or(0, |medium| medium.write_bytes);
        }
        written == 0 && programmed as f64 > self.rule().half_width * moved as f64
    }

    /// Ends a round that is settled or whose time is up. Returns whether one ended.
    pub(crate) fn end_round(&mut self, now_ns: u64, settled: bool) -> bool {
        let over = self
            .rule()
            .round_ns
            .is_some_and(|length_ns| settled || now_ns.saturating_sub(self.start_ns) >= length_ns);
        if over {
            self.restart(now_ns);
        }
        over
    }

    /// Returns whether a settled window is the end of the job.
    pub(crate) fn ends_job(&self) -> bool {
        self.rule().round_ns.is_none()
    }

    /// Returns when the round ends at the latest.
    pub(crate) fn round_end_ns(&self) -> u64 {
        self.start_ns
            .saturating_add(self.rule().round_ns.unwrap_or(u64::MAX))
    }

    /// Batches of the present length in a full window.
    fn full_window(&self) -> f64 {
        self.limit_ns.saturating_sub(self.start_ns) as f64 / self.length_ns as f64
    }

    fn join(&mut self) {
        let mut each = std::mem::take(&mut self.full).into_iter();
        while let (Some(first), Some(second)) = (each.next(), each.next()) {
            self.full.push(first.plus(&second));
        }
        self.length_ns *= 2;
    }

    /// Returns how well the figures are known; `None` with too few batches.
    pub(crate) fn half_widths(&self, stream_names: &[String]) -> Option<HalfWidths> {
        half_widths(&self.full, stream_names)
    }
}

fn is_settled(rule: &Precision, batches: &[Tallies], full: f64) -> bool {
    let tallies = batches.iter().flat_map(|batch| batch.iter().zip(Op::ALL));
    let (count, written_bytes) = tallies.fold((0, 0), |(count, written), (tally, op)| {
        let bytes = if op.is_destructive() { tally.bytes } else { 0 };
        (count + tally.count, written + bytes)
    });
    let too_little = written_bytes > 0 && written_bytes < rule.least_written_bytes;
    if count < rule.least_count || too_little {
        return false;
    }
    if written_bytes >= rule.most_written_bytes {
        return true;
    }
    of_all(batches).is_some_and(|(known_rate, known_latency)| {
        let (rate, latency) = (rule.half_width, rule.half_width * LATENCY_WIDENING);
        known_rate <= rate
            && known_latency <= latency
            && (rule.round_ns.is_some() || !is_drifting(batches, full, rate, latency))
    })
}

#[cfg(test)]
mod tests;
