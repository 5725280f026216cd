//! The page map on its way to flash: which parts have changed, when they are due, and how many per page of host data.
//! Pure counting; `ssd` writes the pages.
//!
//! Firmware keeps the map in DRAM and a journal of its changes; before the journal is full, the
//! changed parts of the map are written. That costs programming time, and it leaves superblocks in which nothing is
//! valid any more. When cleaning comes to one, it gains a whole superblock for nothing. The host has the drive to
//! itself until that is used up. Changes that cleaning makes are not counted: they are found again from what is stored
//! with each page.

use crate::sim::bits::Bits;
use crate::ssd::geometry::{Geometry, MAP_PAGE_ENTRIES};
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// Shares and arrears are counted in 1/1024 of a page.
const FRACTION: u64 = 1024;

/// What is to be written of the map.
#[derive(Clone)]
pub struct MapFlush {
    /// Logical number of the first map page: they follow the user's.
    first: u32,
    pages: u32,
    changed: Bits,
    /// Logical pages that one page of the map describes, as a power of two.
    described_log2: u32,
    /// Host pages between two flushes.
    interval: u64,
    written: u64,
    /// Map pages for each host page, and how far behind that the flush is.
    share: u64,
    arrears: u64,
    /// Next map page to look at; `pages` when no flush is under way.
    cursor: u32,
}

impl MapFlush {
    /// Returns a flush with nothing changed; `None` for a drive that never writes its map.
    pub fn new(params: &SsdParams, geometry: &Geometry) -> Option<Self> {
        let pages = geometry.map_pages;
        let unit = u64::from(UNIT_BYTES);
        let interval = params.map_flush_bytes / u64::from(params.slice_denominator) / unit;
        (pages > 0).then(|| Self {
            first: geometry.logical_pages,
            pages,
            changed: Bits::new(pages as usize),
            described_log2: (MAP_PAGE_ENTRIES * params.indirection_unit_bytes / UNIT_BYTES).ilog2(),
            interval: interval.max(1),
            written: 0,
            share: (params.map_flush_share * FRACTION as f64).round() as u64,
            arrears: 0,
            cursor: pages,
        })
    }

    /// The mapping of these logical pages changes: of fewer than [`MAP_PAGE_ENTRIES`].
    #[inline]
    pub fn change(&mut self, logical: u32, count: u32) {
        let first = logical >> self.described_log2;
        let last = (logical + count - 1) >> self.described_log2;
        self.changed.set(first);
        if last != first {
            self.changed.set(last);
        }
    }

    /// The host has written `count` pages.
    #[inline]
    pub fn host_wrote(&mut self, count: u32) {
        self.written += u64::from(count);
        if self.cursor < self.pages {
            self.arrears += u64::from(count) * self.share;
        } else if self.written >= self.interval {
            self.written = 0;
            self.cursor = 0;
        }
    }

    /// Returns whether `pages` map pages or more are overdue.
    #[inline]
    pub fn owes(&self, pages: u32) -> bool {
        self.arrears >= u64::from(pages) * FRACTION
    }

    /// Takes the next changed map page, by its logical number. `None` ends the flush.
    pub fn next(&mut self) -> Option<u32> {
        while self.cursor < self.pages {
            let page = self.cursor;
            self.cursor += 1;
            if self.changed.get(page) {
                self.changed.clear(page);
                self.arrears = self.arrears.saturating_sub(FRACTION);
                return Some(self.first + page);
            }
        }
        self.arrears = 0;
        None
    }
}
