//! How many zones a job may keep open on a device.

use crate::{Job, Op};

/// Most zones that a device has open, and active, at a time; 0: no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct ZoneLimits {
    /// Open.
    pub open: u32,
    /// Open or closed: partly written.
    pub active: u32,
}

impl ZoneLimits {
    /// Returns how many of its `zones` a thread keeps open where a job asks for `open`; 0 is all that the limits allow.
    /// `foreign` zones are active outside the region.
    pub fn open_of(self, job: &Job, open: u32, zones: u32, foreign: u32) -> u32 {
        if open > 0 {
            return open;
        }
        let active = (self.active > 0).then(|| self.active.saturating_sub(foreign));
        let limits = [(self.open > 0).then_some(self.open), active];
        let most = limits.into_iter().flatten().min();
        let each = most.map_or(zones, |most| most / job.load.threads());
        each.clamp(1, zones.max(1))
    }

    /// Returns how many partly written zones each thread of a job may keep beside its `open` ones. `begun` are those of
    /// all threads, and `foreign` ones are active outside the region.
    pub fn kept_of(self, job: &Job, open: u32, begun: u32, foreign: u32) -> u32 {
        let threads = job.load.threads();
        let most = self.active.saturating_sub(foreign + threads * open);
        match self.active > 0 && begun > most {
            true => most / threads,
            false => u32::MAX,
        }
    }

    /// Checks whether the blocks of a job fit into zones that take `capacity_bytes` each.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn check_blocks(job: &Job, capacity_bytes: u64) -> Result<(), String> {
        match u64::from(job.largest_block_bytes()) {
            largest if largest > capacity_bytes => Err(format!(
                "a block of {largest} bytes does not fit into a zone, which takes {capacity_bytes}: use smaller blocks"
            )),
            _ => Ok(()),
        }
    }

    /// Checks whether a job can keep `open` zones open per thread. A thread has `zones` of its own, and `foreign` ones
    /// outside the region are active.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub fn check(self, job: &Job, open: u32, zones: u32, foreign: u32) -> Result<(), String> {
        let (threads, iodepth) = (job.load.threads(), job.load.iodepth());
        let has = |op| job.mix.ops.iter().any(|block| block.op == op);
        if zones < open.max(1) {
            return Err(format!(
                "the region gives each of {threads} thread(s) {zones} sequential zone(s), {open} shall be open: use a larger region or fewer open zones"
            ));
        }
        if has(Op::Write) && iodepth > open {
            return Err(format!(
                "iodepth {iodepth} with {open} open zone(s) a thread: a zone takes one write at a time; use iodepth {open}, zones = {iodepth}, or append"
            ));
        }
        let wanted = threads * open;
        let most = [self.open, self.active]
            .into_iter()
            .filter(|&most| most > 0);
        match most.min() {
            _ if !has(Op::Write) && !has(Op::Append) => Ok(()),
            Some(most) if wanted > most => Err(format!(
                "{threads} thread(s) x {open} open zones = {wanted}, the device allows {most}: use fewer"
            )),
            _ if self.active > 0 && wanted + foreign > self.active => Err(format!(
                "{wanted} open zones and {foreign} partly written outside the region, the device allows {} active: reset those or use fewer",
                self.active
            )),
            _ => Ok(()),
        }
    }
}
