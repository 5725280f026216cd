//! When a drive cleans without being asked: after so long without a command, until a share of its spare
//! space is free. The next command stops it, except for what the dies are doing at that moment. Pure
//! bookkeeping; `ssd` does the cleaning.

use crate::ssd::geometry::Geometry;
use crate::ssd::params::SsdParams;

/// Cleaning in idle time.
#[derive(Clone)]
pub struct IdleCleaning {
    after_ns: u64,
    /// Free superblocks of a reclaim group at which it stops.
    pub free_superblocks: u32,
    /// When the last command ended.
    pub since_ns: u64,
    /// Whether a look is booked for when the drive will have been idle for long enough.
    pub booked: bool,
}

impl IdleCleaning {
    /// Returns the state; `None` for a drive that cleans only when it has to, and has nothing to fold.
    pub fn new(params: &SsdParams, geometry: &Geometry) -> Option<Self> {
        let holding = (geometry.logical_pages + geometry.map_pages)
            .div_ceil(geometry.superblock_pages)
            + params.streams()
            + geometry.slc_superblocks;
        let spare = geometry.superblocks.saturating_sub(holding) / geometry.groups;
        (params.gc_idle_free_share > 0.0 || params.slc_bytes > 0).then(|| Self {
            after_ns: crate::sim::event::us_to_ns(params.gc_idle_after_us),
            free_superblocks: (f64::from(spare) * params.gc_idle_free_share) as u32,
            since_ns: 0,
            booked: false,
        })
    }

    /// Returns when cleaning may begin, if no command comes.
    pub fn begins_ns(&self) -> u64 {
        self.since_ns + self.after_ns
    }
}
