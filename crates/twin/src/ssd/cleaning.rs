//! Cleaning: which superblock is next, what of it moves and when, and what idle time is used for. The
//! pace is the host's, as `ssd` says; it is kept as credit: pages written times the victim's valid
//! ones, less pages moved times its invalid ones.

use std::ops::Range;

use crate::sim::event::Event;
use crate::ssd::ftl::Stream;
use crate::ssd::geometry::Cursor;

use super::superblocks::RESERVED_SUPERBLOCKS;
use super::{IDLE, Ssd};

/// The superblock being cleaned.
#[derive(Clone, Copy)]
pub(super) struct Victim {
    superblock: u32,
    /// Where its pages go.
    stream: Stream,
    valid: u32,
    /// Its units that are not cleaned yet, and the first of them.
    units_left: u32,
    next: Cursor,
    /// The first unit whose map entries are not on their way into the processor's cache.
    ahead: Cursor,
}

/// Pages whose map entries are fetched into the processor's cache before they are moved: several units may be cleaned at
/// once, and then one after the other takes less time than memory does.
const PREFETCHED_PAGES: u32 = 16;

/// Where cleaning goes on to write: a place in a unit that it has begun.
#[derive(Clone, Copy, Default)]
pub(super) struct Target {
    page: u32,
    /// Pages to the end of the stripe.
    left: u32,
    unit: u32,
    /// Whether the unit is full with this stripe.
    fills_unit: bool,
}

/// One cleaning read, and the units that its pages go to.
#[derive(Clone, Copy)]
pub(super) struct CleaningRead {
    victim: u32,
    units: [u32; Self::UNITS_MAX],
    count: usize,
}

impl CleaningRead {
    /// A unit has at most four stripes, and its pages, in a row elsewhere, touch one stripe more.
    const UNITS_MAX: usize = 5;

    fn units(&self) -> &[u32] {
        &self.units[..self.count]
    }

    /// Pages of a unit come with this read. Returns whether none did so far.
    #[inline]
    fn add(&mut self, unit: u32) -> bool {
        let new = self.units().last() != Some(&unit);
        if new {
            self.units[self.count] = unit;
            self.count += 1;
        }
        new
    }
}

impl Ssd {
    /// Units that hold [`PREFETCHED_PAGES`].
    pub(super) fn prefetched_units(unit_pages: u32) -> u32 {
        PREFETCHED_PAGES.div_ceil(unit_pages)
    }

    /// The host has written `pages`: cleaning may move its share.
    #[inline]
    pub(super) fn pace(&mut self, pages: u32) {
        if let Some(victim) = self.victim {
            self.credit += i64::from(pages) * i64::from(victim.valid);
            if self.credit > 0 && self.has_cleaning_room() {
                self.clean();
            }
        } else {
            self.clean();
        }
        if self.ahead_pages > 0
            && let Some(victim) = self.victim
        {
            self.host_waits |= self.credit > self.ahead_pages * i64::from(victim.valid);
        }
    }

    /// The last command has ended.
    pub(super) fn begin_idle(&mut self) {
        if self.kept_by_host.is_empty()
            && let Some(governor) = &mut self.governor
            && governor.command_gone(self.now_ns)
        {
            self.slots = 0;
        }
        if let Some(idle) = &mut self.idle {
            idle.since_ns = self.now_ns;
            if !std::mem::replace(&mut idle.booked, true) {
                self.calendar.push(idle.begins_ns(), Event::Die.with(IDLE));
            }
        }
    }

    /// Begins to clean if no command has come, or looks again when none might have.
    pub(super) fn look_idle(&mut self) {
        let Some(idle) = &mut self.idle else {
            return;
        };
        let begins_ns = idle.begins_ns();
        idle.booked = self.commands_taken == 0 && begins_ns > self.now_ns;
        if idle.booked {
            self.calendar.push(begins_ns, Event::Die.with(IDLE));
            return;
        }
        for group in 0..self.geometry.groups {
            self.enter_group(group);
            self.clean();
        }
    }

    /// Free superblocks up to which idle time is used for cleaning now.
    fn idle_target(&self) -> Option<u32> {
        let idle = self.idle.as_ref()?;
        let is_idle = self.commands_taken == 0 && self.now_ns >= idle.begins_ns();
        is_idle.then_some(idle.free_superblocks)
    }

    /// Moves units of the victim while there is credit, or need. When there is neither, cleaning has
    /// caught up with the host.
    #[inline]
    pub(super) fn clean(&mut self) {
        if !self.waits_for_room() {
            self.clean_on();
        }
    }

    #[inline(never)]
    fn clean_on(&mut self) {
        while self.clean_next() && !self.waits_for_room() {}
    }

    /// Whether all that keeps cleaning from going on is room in DRAM, as mostly under load.
    #[inline]
    fn waits_for_room(&self) -> bool {
        self.victim.is_some() && self.credit >= 0 && !self.has_cleaning_room()
    }

    fn clean_next(&mut self) -> bool {
        let free = self.free_superblocks();
        let idle = self.idle_target();
        if self.victim.is_none() {
            let until = idle.unwrap_or(0).max(self.params.gc_free_superblocks);
            self.victim = self.choose_victim(free, until);
        }
        let Some(victim) = self.victim else {
            self.host_waits = false;
            return false;
        };
        let urgent = free <= RESERVED_SUPERBLOCKS;
        if self.credit < 0 && !urgent && idle.is_none() {
            self.host_waits = false;
            return false;
        }
        let credit = self.credit;
        let cleaned = self.has_cleaning_room() && self.clean_unit(victim);
        if idle.is_some() {
            // What idle time gave is in the free superblocks; the host's account stays as it was.
            self.credit = credit;
        }
        cleaned
    }

    /// Whether one more unit can be moved into DRAM.
    #[inline]
    fn has_cleaning_room(&self) -> bool {
        self.cleaning_buffered + self.geometry.unit_pages <= self.cleaning_pages
    }

    /// The next superblock to clean, while fewer than `until` are free, or in idle time to fold.
    fn choose_victim(&mut self, free: u32, until: u32) -> Option<Victim> {
        let enough = free + self.draining >= self.params.gc_free_superblocks;
        if enough && let Some(folded) = self.choose_cached() {
            return Some(folded);
        }
        if free + self.draining >= until {
            return None;
        }
        // Levelling gains no space, so the host gets its turn in between.
        let lagging = if self.levelled {
            None
        } else {
            self.ftl.take_lagging(self.group)
        };
        self.levelled = lagging.is_some();
        let (superblock, valid) = lagging.or_else(|| self.ftl.take_victim(self.group))?;
        if self.ahead_pages == 0 {
            self.credit = self.credit.min(0);
        }
        Some(self.victim(superblock, valid))
    }

    /// In idle time the oldest superblock of the SLC cache.
    fn choose_cached(&mut self) -> Option<Victim> {
        self.slc.as_ref()?;
        self.idle_target()?;
        let cached = self.slc.as_mut()?.take_full()?;
        let (superblock, valid) = self.ftl.take_cached(cached);
        Some(self.victim(superblock, valid))
    }

    fn victim(&self, superblock: u32, valid: u32) -> Victim {
        let written_by = self.superblocks[superblock as usize].stream;
        let first = self.geometry.first_unit(superblock);
        let mut victim = Victim {
            superblock,
            stream: self.streams.cleaning(written_by),
            valid,
            units_left: self.geometry.superblock_units,
            next: first,
            ahead: first,
        };
        for _ in 0..self.prefetched_units.min(victim.units_left) {
            self.prefetch(&mut victim);
        }
        victim
    }

    /// Fetches the map entries that moving one more unit will touch.
    #[inline]
    fn prefetch(&self, victim: &mut Victim) {
        for stripe in self.geometry.stripes(victim.ahead) {
            self.ftl.prefetch_reverse(stripe);
        }
        victim.ahead = self.geometry.next_unit(victim.ahead);
    }

    /// Moves one unit of the victim; false when there is no space to move it to.
    fn clean_unit(&mut self, victim: Victim) -> bool {
        let superblock = victim.superblock;
        if self.frontier(victim.stream).is_none()
            || self.ftl.free_superblocks(self.group) == 0
                && self.ftl.left_in_superblock(victim.stream) < self.geometry.unit_pages
        {
            return false;
        }
        let mut read = CleaningRead {
            victim: superblock,
            units: [0; CleaningRead::UNITS_MAX],
            count: 0,
        };
        let (mut senses, mut moved) = (0, 0);
        for stripe in self.geometry.stripes(victim.next) {
            let of_stripe = self.move_pages(victim, stripe, &mut read);
            senses += u32::from(of_stripe > 0);
            moved += of_stripe;
        }
        self.credit -= i64::from(moved) * i64::from(self.geometry.superblock_pages - victim.valid);
        self.cleaning_buffered += moved;
        if moved > 0 {
            self.superblocks[superblock as usize].draining += 1;
            let die = victim.next.die;
            let id = self.cleaning_reads.add(read);
            self.flash
                .cleaning_read(self.now_ns, &mut self.calendar, die, id, senses, moved);
        }
        let units_left = victim.units_left - 1;
        if units_left == 0 {
            self.superblocks[superblock as usize].issued = true;
            self.draining += 1;
            self.victim = None;
            self.release_if_drained(superblock);
        } else {
            let mut victim = Victim {
                units_left,
                next: self.geometry.next_unit(victim.next),
                ..victim
            };
            if units_left >= self.prefetched_units {
                self.prefetch(&mut victim);
            }
            self.victim = Some(victim);
        }
        true
    }

    /// Moves the valid pages of a stripe of the victim, and makes the units that they fill wait for the read that
    /// brings them. Gives their number.
    #[inline]
    fn move_pages(&mut self, victim: Victim, stripe: Range<u32>, read: &mut CleaningRead) -> u32 {
        let (mut page, mut moved) = (stripe.start, 0);
        while page < stripe.end
            && let Some(first) = self.frontier(victim.stream)
        {
            let target = self.target(first);
            let (count, resume) = self.ftl.relocate(
                victim.stream,
                victim.superblock,
                page..stripe.end,
                target.left,
            );
            page = resume;
            if count == 0 {
                break;
            }
            moved += count;
            self.target = Target {
                page: first + count,
                left: target.left - count,
                ..target
            };
            if let Some(namespaces) = &mut self.namespaces {
                namespaces.moved(self.ftl.owners(first, count));
            }
            let state = &mut self.units[target.unit as usize];
            state.incoming += u16::from(read.add(target.unit));
            state.filled |= target.fills_unit && count == target.left;
        }
        moved
    }

    /// Where in its unit a page lies that cleaning is to write: mostly it goes on where it was.
    #[inline]
    fn target(&self, page: u32) -> Target {
        if self.target.page == page && self.target.left > 0 {
            return self.target;
        }
        let place = self.geometry.place(page);
        Target {
            page,
            left: self.geometry.left_in_stripe(page),
            unit: place.unit,
            fills_unit: place.page_type + 1 == self.geometry.unit_stripes,
        }
    }

    pub(super) fn cleaning_arrived(&mut self, id: u32) {
        let read = self.cleaning_reads[id];
        self.cleaning_reads.release(id);
        if self.groups.is_some() {
            self.enter_group(self.geometry.group(read.victim));
        }
        for &unit in read.units() {
            self.units[unit as usize].incoming -= 1;
            self.program_if_complete(unit, self.geometry.unit_die(unit));
        }
        self.superblocks[read.victim as usize].draining -= 1;
        self.release_if_drained(read.victim);
        self.clean();
        self.admit_waiting();
    }

    /// Frees a superblock whose valid pages are all safe in the buffer.
    fn release_if_drained(&mut self, superblock: u32) {
        let state = &mut self.superblocks[superblock as usize];
        if !state.issued || state.draining > 0 {
            return;
        }
        state.issued = false;
        self.draining -= 1;
        self.ftl.release(superblock);
        if let Some(slc) = &mut self.slc {
            slc.released(superblock);
        }
    }
}
