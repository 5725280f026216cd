//! Cleaning: which superblock is next, what of it moves and when, and what idle time is used for. The pace is the
//! host's, as `ssd` says. It is kept as credit: pages written times the victim's valid ones, less pages moved times its
//! invalid ones.

use std::ops::Range;

use crate::sim::event::Event;
use crate::ssd::ftl::Stream;
use crate::ssd::geometry::{Cursor, Geometry};

use super::flash::CleaningJob;
use super::idle::IdleCleaning;
use super::translation::RESERVED_SUPERBLOCKS;
use super::{IDLE, Ssd};
use crate::sim::server::Fifo;
use crate::sim::slab::Slab;
use crate::ssd::params::{SsdParams, UNIT_BYTES};

/// The superblock being cleaned.
#[derive(Clone, Copy)]
struct Victim {
    superblock: u32,
    /// Where its pages go.
    stream: Stream,
    valid: u32,
    /// Whether its pages are sensed in SLC mode.
    is_slc: bool,
    /// Its units that are not cleaned yet, and the first of them.
    units_left: u32,
    next: Cursor,
    /// The first unit whose map entries are not on their way into the processor's cache.
    ahead: Cursor,
}

/// Pages whose map entries are fetched into the processor's cache before they are moved. Several units may be cleaned
/// at once, and then one after the other takes less time than memory does.
const PREFETCHED_PAGES: u32 = 16;

/// Where cleaning goes on to write: a place in a unit that it has begun.
#[derive(Clone, Copy, Default)]
struct Target {
    page: u32,
    /// Pages to the end of the stripe.
    left: u32,
    unit: u32,
    /// Whether the unit is full with this stripe.
    fills_unit: bool,
}

/// One cleaning read, and the units that its pages go to.
#[derive(Clone, Copy)]
struct CleaningRead {
    victim: u32,
    units: [u32; Self::UNITS_MAX],
    count: usize,
    pages: u32,
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

/// Where cleaning is in a reclaim group.
#[derive(Clone, Default)]
pub(super) struct GroupCleaning {
    victim: Option<Victim>,
    target: Target,
    /// Whether the last victim was taken to level wear.
    levelled: bool,
    /// Superblocks whose reads are out: nearly free.
    draining: u32,
    credit: i64,
    /// Whether the host waits for cleaning to catch up.
    pub(super) host_waits: bool,
}

impl GroupCleaning {
    /// The host has written `pages`.
    #[inline]
    fn pay(&mut self, pages: u32, victim: Victim) {
        self.credit += i64::from(pages) * i64::from(victim.valid);
    }

    /// Stops the host while it is more than `ahead_pages` ahead of cleaning (0: any number).
    #[inline]
    fn hold_host(&mut self, ahead_pages: i64) {
        if ahead_pages > 0
            && let Some(victim) = self.victim
        {
            self.host_waits |= self.credit > ahead_pages * i64::from(victim.valid);
        }
    }
}

/// What moves valid pages out of superblocks and frees them.
#[derive(Clone)]
pub(super) struct Cleaner {
    /// The group at hand.
    pub(super) group: GroupCleaning,
    reads: Slab<CleaningRead>,
    pub(super) idle: Option<IdleCleaning>,
    ahead_pages: i64,
    prefetched_units: u32,
    /// The part of the controller that moves pages, and what one takes it.
    pub(super) mover: Fifo,
    page_ps: u64,
}

impl Cleaner {
    pub(super) fn new(params: &SsdParams, geometry: &Geometry) -> Self {
        Self {
            group: GroupCleaning::default(),
            reads: Slab::default(),
            idle: IdleCleaning::new(params, geometry),
            ahead_pages: params.gc_ahead_bytes.div_ceil(u64::from(UNIT_BYTES)) as i64,
            prefetched_units: PREFETCHED_PAGES.div_ceil(geometry.unit_pages),
            mover: Fifo::new(1),
            page_ps: (params.gc_page_ns * 1000.0).round() as u64,
        }
    }

    /// Returns whether moving pages takes the controller time.
    pub(super) const fn takes_time(&self) -> bool {
        self.page_ps > 0
    }
}

impl Ssd {
    /// The host has written `pages`: cleaning may move its share.
    #[inline]
    pub(super) fn pace(&mut self, pages: u32) {
        if let Some(victim) = self.cleaner.group.victim {
            self.cleaner.group.pay(pages, victim);
            if self.cleaner.group.credit > 0 && self.has_cleaning_room() {
                self.clean();
            }
        } else {
            self.clean();
        }
        self.cleaner.group.hold_host(self.cleaner.ahead_pages);
    }

    /// The last command has ended.
    pub(super) fn begin_idle(&mut self) {
        if !self.queue.has_kept()
            && let Some(governor) = &mut self.power.governor
            && governor.command_gone(self.now_ns)
        {
            self.queue.close();
        }
        if let Some(idle) = &mut self.cleaner.idle {
            idle.since_ns = self.now_ns;
            if !std::mem::replace(&mut idle.booked, true) {
                self.calendar.push(idle.begins_ns(), Event::Die.with(IDLE));
            }
        }
    }

    /// Begins to clean if no command has come, or looks again when none might have.
    pub(super) fn look_idle(&mut self) {
        let Some(idle) = &mut self.cleaner.idle else {
            return;
        };
        let begins_ns = idle.begins_ns();
        idle.booked = self.queue.is_idle() && begins_ns > self.now_ns;
        if idle.booked {
            self.calendar.push(begins_ns, Event::Die.with(IDLE));
            return;
        }
        for group in 0..self.geometry.groups {
            self.enter_group(group);
            self.clean();
        }
    }

    /// Returns the number of free superblocks up to which idle time is used for cleaning now.
    fn idle_target(&self) -> Option<u32> {
        let idle = self.cleaner.idle.as_ref()?;
        let is_idle = self.queue.is_idle() && self.now_ns >= idle.begins_ns();
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

    /// Returns whether all that keeps cleaning from going on is room in DRAM, as mostly under load.
    #[inline]
    fn waits_for_room(&self) -> bool {
        self.cleaner.group.victim.is_some()
            && self.cleaner.group.credit >= 0
            && !self.has_cleaning_room()
    }

    fn clean_next(&mut self) -> bool {
        let free = self.translation.free_superblocks(self.groups.active);
        let idle = self.idle_target();
        if self.cleaner.group.victim.is_none() {
            let until = idle.unwrap_or(0).max(self.params.gc_free_superblocks);
            self.cleaner.group.victim = self.choose_victim(free, until);
        }
        let Some(victim) = self.cleaner.group.victim else {
            self.cleaner.group.host_waits = false;
            return false;
        };
        let urgent = free <= RESERVED_SUPERBLOCKS;
        if self.cleaner.group.credit < 0 && !urgent && idle.is_none() {
            self.cleaner.group.host_waits = false;
            return false;
        }
        let credit = self.cleaner.group.credit;
        let cleaned = self.has_cleaning_room() && self.clean_unit(victim);
        if idle.is_some() {
            // What idle time gave is in the free superblocks; the host's account stays as it was.
            self.cleaner.group.credit = credit;
        }
        cleaned
    }

    /// Returns whether one more unit can be moved into DRAM.
    #[inline]
    fn has_cleaning_room(&self) -> bool {
        self.buffer.has_cleaning_room(self.geometry.unit_pages)
    }

    /// Returns the next superblock to clean, while fewer than `until` are free, or in idle time to fold.
    fn choose_victim(&mut self, free: u32, until: u32) -> Option<Victim> {
        let enough = free + self.cleaner.group.draining >= self.params.gc_free_superblocks;
        if enough && let Some(folded) = self.choose_cached() {
            return Some(folded);
        }
        if free + self.cleaner.group.draining >= until {
            return None;
        }
        // Levelling gains no space, so the host gets its turn in between.
        let lagging = if self.cleaner.group.levelled {
            None
        } else {
            self.translation.ftl.take_lagging(self.groups.active)
        };
        self.cleaner.group.levelled = lagging.is_some();
        let (superblock, valid) =
            lagging.or_else(|| self.translation.ftl.take_victim(self.groups.active))?;
        if self.cleaner.ahead_pages == 0 {
            self.cleaner.group.credit = self.cleaner.group.credit.min(0);
        }
        Some(self.victim(superblock, valid))
    }

    /// Returns, in idle time, the oldest superblock of the SLC cache.
    fn choose_cached(&mut self) -> Option<Victim> {
        self.translation.slc.as_ref()?;
        self.idle_target()?;
        let cached = self.translation.slc.as_mut()?.take_full()?;
        let (superblock, valid) = self.translation.ftl.take_cached(cached);
        Some(self.victim(superblock, valid))
    }

    fn victim(&self, superblock: u32, valid: u32) -> Victim {
        let written_by = self.translation.superblocks[superblock as usize].stream;
        let first = self.geometry.first_unit(superblock);
        let mut victim = Victim {
            superblock,
            stream: self.translation.streams.cleaning(written_by),
            valid,
            is_slc: self.senses_slc(first.page),
            units_left: self.geometry.superblock_units,
            next: first,
            ahead: first,
        };
        for _ in 0..self.cleaner.prefetched_units.min(victim.units_left) {
            self.prefetch(&mut victim);
        }
        victim
    }

    /// Fetches the map entries that moving one more unit will touch.
    #[inline]
    fn prefetch(&self, victim: &mut Victim) {
        for stripe in self.geometry.stripes(victim.ahead) {
            self.translation.ftl.prefetch_reverse(stripe);
        }
        victim.ahead = self.geometry.next_unit(victim.ahead);
    }

    /// Moves one unit of the victim; false when there is no space to move it to.
    fn clean_unit(&mut self, victim: Victim) -> bool {
        let superblock = victim.superblock;
        if self.frontier(victim.stream).is_none()
            || self.translation.ftl.free_superblocks(self.groups.active) == 0
                && self.translation.ftl.left_in_superblock(victim.stream) < self.geometry.unit_pages
        {
            return false;
        }
        let mut read = CleaningRead {
            victim: superblock,
            units: [0; CleaningRead::UNITS_MAX],
            count: 0,
            pages: 0,
        };
        let (mut senses, mut moved) = (0, 0);
        for stripe in self.geometry.stripes(victim.next) {
            let of_stripe = self.move_pages(victim, stripe, &mut read);
            senses += u32::from(of_stripe > 0);
            moved += of_stripe;
        }
        self.cleaner.group.credit -=
            i64::from(moved) * i64::from(self.geometry.superblock_pages - victim.valid);
        self.buffer.group.cleaning_pages += moved;
        if moved > 0 {
            self.translation.superblocks[superblock as usize].draining += 1;
            read.pages = moved;
            let job = CleaningJob {
                id: self.cleaner.reads.add(read),
                senses,
                is_slc: victim.is_slc,
                units: moved,
            };
            self.flash
                .cleaning_read(self.now_ns, &mut self.calendar, victim.next.die, job);
        }
        let units_left = victim.units_left - 1;
        if units_left == 0 {
            self.translation.superblocks[superblock as usize].issued = true;
            self.cleaner.group.draining += 1;
            self.cleaner.group.victim = None;
            self.release_if_drained(superblock);
        } else {
            let mut victim = Victim {
                units_left,
                next: self.geometry.next_unit(victim.next),
                ..victim
            };
            if units_left >= self.cleaner.prefetched_units {
                self.prefetch(&mut victim);
            }
            self.cleaner.group.victim = Some(victim);
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
            let (count, resume) = self.translation.ftl.relocate(
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
            self.cleaner.group.target = Target {
                page: first + count,
                left: target.left - count,
                ..target
            };
            if let Some(namespaces) = &mut self.namespaces {
                namespaces.moved(self.translation.ftl.owners(first, count));
            }
            let state = &mut self.buffer.units[target.unit as usize];
            state.incoming += u16::from(read.add(target.unit));
            state.filled |= target.fills_unit && count == target.left;
        }
        moved
    }

    /// Returns where in its unit a page lies that cleaning is to write: mostly it goes on where it was.
    #[inline]
    fn target(&self, page: u32) -> Target {
        if self.cleaner.group.target.page == page && self.cleaner.group.target.left > 0 {
            return self.cleaner.group.target;
        }
        let place = self.geometry.place(page);
        Target {
            page,
            left: self.geometry.left_in_stripe(page),
            unit: place.unit,
            fills_unit: place.page_type + 1 == self.geometry.unit_stripes,
        }
    }

    /// Pages that cleaning reads are in the controller. It moves one after the other.
    pub(super) fn cleaning_arrived(&mut self, id: u32) {
        if self.cleaner.page_ps == 0 {
            return self.cleaning_moved(id);
        }
        let service_ps = u64::from(self.cleaner.reads[id].pages) * self.cleaner.page_ps;
        let at_ns = self.cleaner.mover.finish_ns(self.now_ns, service_ps);
        self.calendar.push(at_ns, Event::Moved.with(id));
    }

    /// Pages that cleaning read lie in the units that they go to.
    pub(super) fn cleaning_moved(&mut self, id: u32) {
        let read = self.cleaner.reads[id];
        self.cleaner.reads.release(id);
        if self.groups.table.is_some() {
            self.enter_group(self.geometry.group(read.victim));
        }
        for &unit in read.units() {
            self.buffer.units[unit as usize].incoming -= 1;
            self.program_if_complete(unit, self.geometry.unit_die(unit));
        }
        self.translation.superblocks[read.victim as usize].draining -= 1;
        self.release_if_drained(read.victim);
        self.clean();
        self.admit_waiting();
    }

    fn release_if_drained(&mut self, superblock: u32) {
        let released = self.translation.release_if_drained(superblock);
        self.cleaner.group.draining -= u32::from(released);
    }
}
