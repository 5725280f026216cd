//! Superblocks from their first page to the end of their last program: taken when a stream needs one, filled stripe by
//! stripe, and programmed unit by unit as their data is complete.

use super::Ssd;
use crate::ssd::ftl::Stream;
use crate::ssd::ftl::slc::SlcCache;
use crate::ssd::geometry::Place;

/// Free superblocks that only cleaning may use.
pub(super) const RESERVED_SUPERBLOCKS: u32 = 2;

/// A unit between its first page and the end of its program.
#[derive(Clone, Copy, Default)]
pub(super) struct UnitState {
    /// Cleaning reads that still bring pages for it.
    pub(super) incoming: u16,
    pub(super) filled: bool,
}

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

impl Ssd {
    /// Next page for host data; cleaning is asked first when there is none.
    #[inline]
    pub(super) fn host_frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.clean();
        self.frontier(stream)
    }

    /// Next page of a stream, taking a fresh superblock when there is one to take.
    #[inline]
    pub(super) fn frontier(&mut self, stream: Stream) -> Option<u32> {
        let page = self.ftl.frontier(stream);
        if page.is_some() {
            return page;
        }
        self.open_superblock(stream)
    }

    #[cold]
    fn open_superblock(&mut self, stream: Stream) -> Option<u32> {
        let to_slc = u32::from(stream.0) < self.params.placement_handles
            && self.slc.as_ref().is_some_and(|slc| slc.free() > 0);
        let kept = self.streams.is_host(stream) && self.free_superblocks() <= RESERVED_SUPERBLOCKS;
        if kept && !to_slc {
            return None;
        }
        let cold = !self.streams.is_host(stream);
        let superblock = self.ftl.open(stream, self.group, cold)?;
        if let Some(slc) = self.slc.as_mut().filter(|_| to_slc) {
            slc.open(superblock);
        }
        self.superblocks[superblock as usize].stream = stream;
        self.superblocks[superblock as usize].programmed_units = 0;
        let first = superblock * self.geometry.superblock_units;
        let units = first..first + self.geometry.superblock_units;
        self.units[units.start as usize..units.end as usize].fill(UnitState::default());
        self.in_buffer.set_all(units.start, units.end);
        self.ftl.frontier(stream)
    }

    /// Free superblocks that are not set aside for the SLC cache.
    #[inline]
    pub(super) fn free_superblocks(&self) -> u32 {
        let set_aside = self.slc.as_ref().map_or(0, SlcCache::free);
        let free = self.ftl.free_superblocks(self.group);
        free.saturating_sub(set_aside)
    }

    /// Whether a superblock is in SLC mode.
    #[inline]
    fn is_slc(&self, superblock: u32) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc.holds(superblock))
    }

    /// A page of every plane of a die is full, which is all that it takes in SLC mode.
    #[cold]
    fn program_slc(&mut self, place: Place, stream: Stream) {
        self.flash
            .program_slc(self.now_ns, &mut self.calendar, place.unit, place.die);
        if place.die + 1 == self.geometry.dies {
            let row_rest = (self.geometry.unit_stripes - 1) * self.geometry.dies;
            self.ftl.skip(stream, row_rest * self.geometry.stripe_pages);
        }
    }

    /// The stripe that holds `page` is full; so may be its unit.
    #[inline]
    pub(super) fn stripe_filled(&mut self, page: u32) {
        let place = self.geometry.place(page);
        if self.slc.is_some() {
            let superblock = self.geometry.superblock(page);
            if self.is_slc(superblock) {
                let stream = self.superblocks[superblock as usize].stream;
                return self.program_slc(place, stream);
            }
        }
        if place.page_type + 1 == self.geometry.unit_stripes {
            self.units[place.unit as usize].filled = true;
            self.program_if_complete(place.unit, place.die);
        }
    }

    #[inline]
    pub(super) fn program_if_complete(&mut self, unit: u32, die: u32) {
        let state = self.units[unit as usize];
        if state.filled && state.incoming == 0 {
            self.flash
                .program(self.now_ns, &mut self.calendar, unit, die);
        }
    }

    pub(super) fn programmed(&mut self, unit: u32) {
        self.in_buffer.clear(unit);
        if self.zns.is_some() {
            return self.programmed_in_zone(unit);
        }
        let superblock = self.geometry.unit_superblock(unit);
        if self.groups.is_some() {
            self.enter_group(self.geometry.group(superblock));
        }
        let state = &mut self.superblocks[superblock as usize];
        state.programmed_units += 1;
        let SuperblockState {
            stream,
            programmed_units,
            ..
        } = *state;
        let all = programmed_units == self.geometry.superblock_units;
        if let Some(slc) = self.slc.as_mut().filter(|slc| slc.holds(superblock)) {
            self.buffered -= self.geometry.stripe_pages;
            if all {
                self.ftl.cache(superblock);
                slc.filled(superblock);
            }
            self.clean();
            return self.admit_waiting();
        }
        if all {
            self.ftl.close(superblock);
        }
        if self.streams.is_host(stream) {
            self.buffered -= self.geometry.unit_pages;
        } else {
            self.cleaning_buffered -= self.geometry.unit_pages;
        }
        self.clean();
        self.admit_waiting();
    }
}
