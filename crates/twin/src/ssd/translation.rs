//! Superblocks from their first page to the end of their last program. One is taken when a stream needs it, filled
//! stripe by stripe, and programmed unit by unit as its data is complete.

use std::ops::Range;

use workload::Request;

use super::Ssd;
use super::flash::Flash;
use super::streams::Streams;
use crate::ssd::ftl::map_flush::MapFlush;
use crate::ssd::ftl::slc::SlcCache;
use crate::ssd::ftl::victim::Victims;
use crate::ssd::ftl::{Ftl, Stream};
use crate::ssd::geometry::{Divisor, Geometry, Place};
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// Free superblocks that only cleaning may use.
pub(super) const RESERVED_SUPERBLOCKS: u32 = 2;

/// A superblock being filled and programmed, or drained.
#[derive(Clone, Copy)]
pub(super) struct SuperblockState {
    pub(super) programmed_units: u32,
    pub(super) stream: Stream,
    /// Cleaning reads still out; the superblock is free when they are back.
    pub(super) draining: u32,
    pub(super) issued: bool,
}

impl SuperblockState {
    pub(super) const ERASED: Self = Self {
        programmed_units: 0,
        stream: Stream(0),
        draining: 0,
        issued: false,
    };
}

/// Where logical pages lie, in which superblocks, and who writes to those.
#[derive(Clone)]
pub(super) struct Translation {
    pub(super) ftl: Ftl,
    pub(super) map_flush: Option<MapFlush>,
    pub(super) slc: Option<SlcCache>,
    /// Whether pages of the SLC cache are sensed in a time of their own.
    slc_senses: bool,
    pub(super) superblocks: Box<[SuperblockState]>,
    pub(super) streams: Streams,
    /// Neighbouring pages that one command of a die reads.
    merge_pages: u32,
    by_merge: Divisor,
    pub(super) indirection_pages: u32,
    /// Reads of pages that were never written.
    pub(super) unmapped_reads: u64,
}

impl Translation {
    /// `mapped` is the geometry of what is mapped: nothing on a zoned drive.
    pub(super) fn new(
        params: &SsdParams,
        geometry: &Geometry,
        mapped: &Geometry,
        seed: u64,
    ) -> Self {
        let merge_pages = if params.independent_plane_reads {
            geometry.nand_pages
        } else {
            geometry.nand_pages * params.planes_per_die
        }
        .min(Flash::READ_UNITS_MAX);
        let victims = Victims::new(params.gc_policy, params.gc_choices, mapped, seed);
        Self {
            ftl: Ftl::new(mapped, victims, params.streams(), params.wear_spread_max),
            map_flush: MapFlush::new(params, geometry),
            slc: SlcCache::new(geometry),
            slc_senses: params.slc_read_us > 0.0,
            superblocks: vec![SuperblockState::ERASED; mapped.superblocks as usize]
                .into_boxed_slice(),
            streams: Streams::new(params),
            merge_pages,
            by_merge: Divisor::new(merge_pages),
            indirection_pages: params.indirection_unit_bytes / UNIT_BYTES,
            unmapped_reads: 0,
        }
    }

    /// Returns the first page and number of pages that a write programs: whole indirection units.
    #[inline]
    pub(super) fn written_pages(&self, request: &Request) -> (u32, u32) {
        let (first, count) = Ssd::pages(request);
        let within = self.indirection_pages - 1;
        let from = first & !within;
        (from, ((first + count + within) & !within) - from)
    }

    /// Pages from `page` on that the same command of a die can read.
    #[inline]
    pub(super) fn left_in_read(&self, page: u32) -> u32 {
        self.merge_pages - self.by_merge.div_rem(page).1
    }

    /// Forgets where logical pages lie.
    pub(super) fn trim(&mut self, pages: Range<u32>) {
        pages.clone().for_each(|page| self.ftl.trim(page));
        if let Some(flush) = &mut self.map_flush {
            pages.for_each(|page| flush.change(page, 1));
        }
    }

    /// Returns whether `pages` or more of the page map are overdue.
    #[inline]
    pub(super) fn owes_map(&self, pages: u32) -> bool {
        let flush = self.map_flush.as_ref();
        flush.is_some_and(|flush| flush.owes(pages))
    }

    /// Returns the number of free superblocks of a reclaim group that are not set aside for the SLC cache.
    #[inline]
    pub(super) fn free_superblocks(&self, group: u32) -> u32 {
        let set_aside = self.slc.as_ref().map_or(0, SlcCache::free);
        self.ftl.free_superblocks(group).saturating_sub(set_aside)
    }

    /// Returns whether a superblock is in SLC mode.
    #[inline]
    fn is_slc(&self, superblock: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(superblock))
    }

    /// Takes a fresh superblock of `group` for a stream, in SLC mode where the cache has room. Returns it.
    fn open(&mut self, stream: Stream, group: u32, handles: u32) -> Option<u32> {
        let to_slc =
            u32::from(stream.0) < handles && self.slc.as_ref().is_some_and(|slc| slc.free() > 0);
        let kept =
            self.streams.is_host(stream) && self.free_superblocks(group) <= RESERVED_SUPERBLOCKS;
        if kept && !to_slc {
            return None;
        }
        let cold = !self.streams.is_host(stream);
        let superblock = self.ftl.open(stream, group, cold)?;
        if let Some(slc) = self.slc.as_mut().filter(|_| to_slc) {
            slc.open(superblock);
        }
        let state = &mut self.superblocks[superblock as usize];
        state.stream = stream;
        state.programmed_units = 0;
        Some(superblock)
    }

    /// Frees a superblock whose valid pages are all safe in the buffer. Returns whether it is free.
    pub(super) fn release_if_drained(&mut self, superblock: u32) -> bool {
        let state = &mut self.superblocks[superblock as usize];
        if !state.issued || state.draining > 0 {
            return false;
        }
        state.issued = false;
        self.ftl.release(superblock);
        if let Some(slc) = &mut self.slc {
            slc.released(superblock);
        }
        true
    }
}

impl Ssd {
    /// Returns whether a page is sensed in the time of the SLC cache.
    #[inline]
    pub(super) fn senses_slc(&self, page: u32) -> bool {
        // A drive without that time looks no further.
        self.translation.slc_senses && self.translation.is_slc(self.geometry.superblock(page))
    }

    /// Returns the next page for host data; cleaning is asked first when there is none.
    #[inline]
    pub(super) fn host_frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.clean();
        self.frontier(stream)
    }

    /// Returns the next page of a stream, taking a fresh superblock when there is one to take.
    #[inline]
    pub(super) fn frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.translation.ftl.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.open_superblock(stream)
    }

    #[cold]
    fn open_superblock(&mut self, stream: Stream) -> Option<u32> {
        let handles = self.params.placement_handles;
        let superblock = self.translation.open(stream, self.groups.active, handles)?;
        let units = self.geometry.superblock_units;
        self.buffer.begin_units(superblock * units, units);
        self.translation.ftl.frontier(stream)
    }

    /// A page of every plane of a die is full, which is all that it takes in SLC mode.
    #[cold]
    fn program_slc(&mut self, place: Place, stream: Stream) {
        self.flash
            .program_slc(self.now_ns, &mut self.calendar, place.unit, place.die);
        if place.die + 1 == self.geometry.dies {
            let row_rest = (self.geometry.unit_stripes - 1) * self.geometry.dies;
            self.translation
                .ftl
                .skip(stream, row_rest * self.geometry.stripe_pages);
        }
    }

    /// The stripe that holds `page` is full; so may be its unit.
    #[inline]
    pub(super) fn stripe_filled(&mut self, page: u32) {
        let place = self.geometry.place(page);
        if self.translation.slc.is_some() {
            let superblock = self.geometry.superblock(page);
            if self.translation.is_slc(superblock) {
                let stream = self.translation.superblocks[superblock as usize].stream;
                return self.program_slc(place, stream);
            }
        }
        if place.page_type + 1 == self.geometry.unit_stripes {
            self.buffer.units[place.unit as usize].filled = true;
            self.program_if_complete(place.unit, place.die);
        }
    }

    #[inline]
    pub(super) fn program_if_complete(&mut self, unit: u32, die: u32) {
        if self.buffer.is_complete(unit) {
            self.flash
                .program(self.now_ns, &mut self.calendar, unit, die);
        }
    }

    pub(super) fn programmed(&mut self, unit: u32) {
        if self.zns.is_some() {
            return self.programmed_in_zone(unit);
        }
        self.buffer.holds.clear(unit);
        let superblock = self.geometry.unit_superblock(unit);
        if self.groups.table.is_some() {
            self.enter_group(self.geometry.group(superblock));
        }
        let state = &mut self.translation.superblocks[superblock as usize];
        state.programmed_units += 1;
        let SuperblockState {
            stream,
            programmed_units,
            ..
        } = *state;
        let all = programmed_units == self.geometry.superblock_units;
        if let Some(slc) = self
            .translation
            .slc
            .as_mut()
            .filter(|slc| slc.holds(superblock))
        {
            self.buffer.group.host_pages -= self.geometry.stripe_pages;
            if all {
                self.translation.ftl.cache(superblock);
                slc.filled(superblock);
            }
            self.clean();
            return self.admit_waiting();
        }
        if all {
            self.translation.ftl.close(superblock);
        }
        if self.translation.streams.is_host(stream) {
            self.buffer.group.host_pages -= self.geometry.unit_pages;
        } else {
            self.buffer.group.cleaning_pages -= self.geometry.unit_pages;
        }
        self.clean();
        self.admit_waiting();
    }
}
