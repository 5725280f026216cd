//! Zones as the device has them, and as the thread that writes in one knows it.

use crate::Job;

/// A sequential zone, in bytes from the start of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its number on the device.
    pub number: u32,
    /// Its first byte.
    pub start: u64,
    /// The end of what can be written.
    pub end: u64,
    /// Where the next write must go; `end` when the zone is full.
    pub pointer: u64,
    /// Whether it counts against the device's limit of active zones.
    pub active: bool,
}

impl Zone {
    /// Returns whether it is active and could still be written.
    pub const fn is_begun(&self) -> bool {
        self.pointer < self.end && (self.pointer > self.start || self.active)
    }
}

/// One zone of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnZone {
    /// Its pointer is behind the last write that succeeded.
    pub(super) zone: Zone,
    /// Behind the last write that was issued.
    pub(super) issued: u64,
    pub(super) in_flight: u32,
    pub(super) open: bool,
}

impl OwnZone {
    /// Returns whether it can take the place of another.
    pub(super) const fn is_free(&self) -> bool {
        !self.open && self.in_flight == 0
    }

    pub(super) const fn is_full(&self) -> bool {
        self.issued >= self.zone.end
    }

    pub(super) fn has_room(&self, size_bytes: u64) -> bool {
        self.issued + size_bytes <= self.zone.end
    }

    /// Returns whether an append can go there, or another zone take its place.
    pub(super) fn takes_append(&self, size_bytes: u64) -> bool {
        self.has_room(size_bytes) || self.in_flight == 0
    }

    /// Returns the bytes that one pass of a job writes. With blocks of several sizes it is what the zone takes in any
    /// order of them.
    pub(super) fn takes_bytes(&self, job: &Job) -> u64 {
        let capacity_bytes = self.zone.end - self.zone.start;
        match job.only_size() {
            Some(size_bytes) => capacity_bytes - capacity_bytes % size_bytes,
            None => capacity_bytes.saturating_sub(u64::from(job.largest_block_bytes())),
        }
    }

    /// Blocks that can be read.
    pub(super) fn places(&self, size_bytes: u64) -> u64 {
        (self.zone.pointer - self.zone.start) / size_bytes
    }

    /// Returns whether it is active and could still be written.
    pub(super) fn is_begun(&self) -> bool {
        self.issued < self.zone.end && (self.issued > self.zone.start || self.zone.active)
    }
}
