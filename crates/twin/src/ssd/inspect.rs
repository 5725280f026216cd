//! What tests ask of a drive that its users cannot: where pages lie, and how many are where.

use super::Ssd;
use crate::ssd::ftl::Stream;
use crate::ssd::params::UNIT_BYTES;

/// Pages since the drive was made.
pub struct PageTotals {
    pub placed: u64,
    pub relocated: u64,
    pub programmed: u64,
    pub buffered: u64,
}

impl Ssd {
    /// Returns the stream that wrote a mapped logical page.
    pub fn written_by(&self, logical: u32) -> Stream {
        let superblock = self
            .geometry
            .superblock(self.translation.ftl.lookup(logical));
        self.translation.superblocks[superblock as usize].stream
    }

    /// Returns the die that holds a mapped logical page.
    pub fn die_of(&self, logical: u32) -> u32 {
        self.geometry
            .place(self.translation.ftl.lookup(logical))
            .die
    }

    /// Returns whether a mapped logical page lies in the SLC cache.
    pub fn is_in_slc(&self, logical: u32) -> bool {
        let superblock = self
            .geometry
            .superblock(self.translation.ftl.lookup(logical));
        let slc = self.translation.slc.as_ref();
        slc.is_some_and(|slc| slc.holds(superblock))
    }

    /// Returns the number of 4 KiB pages that dies have been asked for.
    pub fn flash_reads(&self) -> u64 {
        self.flash.counts.units_out
    }

    /// Returns where pages are, when only whole pages were written, nothing read, and nothing is under way.
    pub fn page_totals(&self) -> PageTotals {
        PageTotals {
            placed: self.link.bytes / u64::from(UNIT_BYTES),
            relocated: self.flash.counts.units_out,
            programmed: self.flash.counts.programs * u64::from(self.geometry.unit_pages),
            buffered: self.buffered_pages(),
        }
    }
}
