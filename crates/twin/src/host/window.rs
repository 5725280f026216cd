//! The window that is measured: virtual seconds and batches until the job's time, volume or precision is reached, and
//! the report on each second.

use recording::{Interval, Recorder};

use super::{Control, Driver, TwinError};
use crate::device::Device;
use crate::host::precision::{Batches, Tallies};

/// Virtual length of an interval.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Completions between two looks at the stop flag.
const STOP_CHECK: u32 = 4096;

impl<D: Device> Driver<'_, D> {
    pub(super) fn measure(
        &mut self,
        control: &Control,
        on_interval: &mut impl FnMut(Interval),
    ) -> Result<(), TwinError> {
        let mut until_check = STOP_CHECK;
        let mut cut_ns = self.next_cut_ns();
        loop {
            let batch_ns = self.batches.as_ref().map_or(u64::MAX, Batches::end_ns);
            self.advance_to(cut_ns.min(batch_ns), control, &mut until_check);
            let now_ns = self.device.now_ns();
            let over = now_ns >= self.end_ns || self.moved_enough() || control.is_stopped();
            let settled = self.look(now_ns);
            if !over && !settled && now_ns < cut_ns {
                self.check_alive()?;
                continue;
            }
            let (ends_round, ends_job) = self.end_round(now_ns, settled);
            let mut interval = self.cut();
            interval.ends_round = ends_round;
            self.recording.add(&interval);
            on_interval(interval);
            if over || ends_job || control.is_stopped() {
                if let Some(batches) = &self.batches {
                    self.recording.half_widths = batches.half_widths(&self.stream_names);
                    self.recording.batches = batches.recorded(&self.stream_names);
                }
                return Ok(());
            }
            self.check_alive()?;
            cut_ns = self.next_cut_ns();
        }
    }

    /// Returns when the interval that begins now ends at the latest.
    fn next_cut_ns(&self) -> u64 {
        let round_ns = self
            .batches
            .as_ref()
            .map_or(u64::MAX, Batches::round_end_ns);
        (self.device.now_ns() + INTERVAL_NS)
            .min(self.end_ns)
            .min(round_ns)
    }

    /// Runs to a virtual time, to the job's volume, or to the stop.
    fn advance_to(&mut self, limit_ns: u64, control: &Control, until_check: &mut u32) {
        while let Some(completion) = self.device.advance(limit_ns) {
            self.take(completion);
            *until_check -= 1;
            if *until_check == 0 {
                *until_check = STOP_CHECK;
                if control.is_stopped() {
                    return;
                }
            }
            if self.moved_enough() {
                return;
            }
        }
    }

    fn check_alive(&self) -> Result<(), TwinError> {
        let in_flight = self.threads.iter().map(|thread| thread.in_flight).sum();
        if in_flight > 0 && !self.device.is_busy() {
            let now_ns = self.device.now_ns();
            return Err(TwinError::Stalled { now_ns, in_flight });
        }
        Ok(())
    }

    /// Closes a batch whose time has come. Returns whether the window is known well enough.
    fn look(&mut self, now_ns: u64) -> bool {
        let Some(batches) = &mut self.batches else {
            return false;
        };
        let counted: Vec<Tallies> = self.recorders.iter().map(Recorder::tallies).collect();
        batches.see(&counted, Some(self.meter.medium(self.device)));
        if batches.watches_latency() {
            batches.see_latency(self.recorders.iter().map(Recorder::bins), now_ns);
        }
        batches.close(now_ns)
    }

    /// Returns whether a round ended before its time, and whether the job did.
    fn end_round(&mut self, now_ns: u64, settled: bool) -> (bool, bool) {
        let Some(batches) = &mut self.batches else {
            return (false, false);
        };
        batches.forget_seen();
        if batches.ends_job() {
            return (false, settled);
        }
        (batches.end_round(now_ns, settled) && settled, false)
    }

    fn moved_enough(&self) -> bool {
        self.unfinished == 0 || self.failed.is_some()
    }

    /// Ends the interval at the present.
    fn cut(&mut self) -> Interval {
        let now_ns = self.device.now_ns();
        let mut ages_ns = vec![0; self.recorders.len()];
        for slot in self.slots.iter().filter(|slot| slot.in_flight) {
            let recorder = self.threads[slot.thread as usize].recorder as usize;
            ages_ns[recorder] += now_ns.saturating_sub(slot.issued_ns);
        }
        let elapsed_ns = now_ns - self.start_ns;
        let recorders = self.recorders.iter_mut().zip(ages_ns);
        let mut cuts = recorders.map(|(recorder, age_ns)| recorder.cut(elapsed_ns, age_ns));
        let mut interval = match self.stream_names.as_slice() {
            [] => cuts.next().unwrap_or_default(),
            names => {
                let mut named = cuts.zip(names).map(|(cut, name)| cut.of_stream(name));
                let mut whole = named.next().unwrap_or_default();
                named.for_each(|stream| whole.merge(&stream));
                whole
            }
        };
        if self.open {
            interval.offered = Some(std::mem::take(&mut self.offered));
            interval.backlog = Some(self.threads.iter().map(|thread| thread.backlog.len()).sum());
        }
        self.meter
            .read(self.device, &self.core_free_ns, &mut interval);
        if let Some(adapter) = &mut self.adapter {
            interval.utilisation.extend(adapter.utilisation(now_ns));
        }
        interval
    }
}
