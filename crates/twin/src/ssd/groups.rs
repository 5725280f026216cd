//! Reclaim groups (NVMe FDP): sets of dies that are filled and cleaned each by itself. A group has superblocks, free
//! ones, a victim, the host's account with cleaning and a share of the write buffer of its own. Its writes wait for
//! nobody else's. Everything else is the drive's: addresses and their map, link, controller, channels.
//!
//! Buffer and cleaner hold the state of the group at hand. That of the others is parked here, and exchanged when
//! something happens in another group. So a drive with one group pays nothing for it.

use std::mem::swap;

use workload::Request;

use super::buffer::GroupBuffer;
use super::cleaner::GroupCleaning;
use super::{EINVAL, Ssd};
use crate::ssd::ftl::Ftl;
use crate::ssd::geometry::Geometry;
use crate::ssd::params::SsdParams;

/// What a group has to itself, while another is at hand.
#[derive(Clone, Default)]
struct Inactive {
    buffer: GroupBuffer,
    cleaning: GroupCleaning,
}

/// How far a group is from being full.
#[derive(Clone, Copy, Default)]
struct Fullness {
    full: bool,
    /// Pages that may come before its valid ones are counted again.
    pages: u32,
}

/// Reclaim groups; a drive has one at least.
#[derive(Clone)]
pub(super) struct Groups {
    pub(super) active: u32,
    pub(super) table: Option<Box<GroupTable>>,
    /// Handles whose writes need no group chosen for them: none where there are several.
    pub(super) plain_handles: u16,
}

impl Groups {
    pub(super) fn new(params: &SsdParams, geometry: &Geometry) -> Self {
        Self {
            active: 0,
            table: GroupTable::new(params, geometry),
            plain_handles: match params.reclaim_groups {
                1 => params.placement_handles as u16,
                _ => 0,
            },
        }
    }
}

/// The groups of a drive with several.
#[derive(Clone)]
pub(super) struct GroupTable {
    inactive: Box<[Inactive]>,
    fullness: Box<[Fullness]>,
    /// Pages of each group's writes that are not in the buffer yet: they count as its valid ones.
    reserved: Box<[u32]>,
    /// Valid pages at which a group is full: its share of the addresses, and half of what it has beyond.
    full_pages: u32,
    superblock_pages: u32,
    /// Where the next write goes that names no placement, and where those go whose group is full.
    next: u32,
    spill: u32,
}

impl GroupTable {
    /// Returns the groups; `None` for a drive with one.
    fn new(params: &SsdParams, geometry: &Geometry) -> Option<Box<Self>> {
        let count = geometry.groups;
        (count > 1).then(|| {
            let share = geometry.logical_pages.div_ceil(count);
            let kept = params.gc_free_superblocks + params.streams() / count;
            let most = (geometry.superblocks_of(0).end - kept) * geometry.superblock_pages;
            Box::new(Self {
                inactive: (0..count).map(|_| Inactive::default()).collect(),
                fullness: vec![Fullness::default(); count as usize].into_boxed_slice(),
                reserved: vec![0; count as usize].into_boxed_slice(),
                full_pages: share + (most - share) / 2,
                superblock_pages: geometry.superblock_pages,
                next: 0,
                spill: 0,
            })
        })
    }

    fn count(&self) -> u32 {
        self.inactive.len() as u32
    }

    /// Returns a group's valid pages, and those that its writes will add.
    fn taken(&self, group: u32, ftl: &Ftl) -> u32 {
        ftl.valid_in(group) + self.reserved[group as usize]
    }

    /// Returns whether a group has room for `pages` pages more. Its valid pages are counted only when enough was
    /// written that the answer may be another one.
    fn admits(&mut self, group: u32, pages: u32, ftl: &Ftl) -> bool {
        if self.fullness[group as usize].pages < pages {
            let left = self.full_pages.saturating_sub(self.taken(group, ftl));
            let room = &mut self.fullness[group as usize];
            room.full = left < pages;
            room.pages = match room.full {
                true => self.superblock_pages.max(pages),
                false => left,
            };
        }
        let room = &mut self.fullness[group as usize];
        room.pages -= pages;
        !room.full
    }

    /// Returns the group for a write that asks for `wanted`, or for any.
    fn choose(&mut self, wanted: Option<u32>, pages: u32, ftl: &Ftl) -> u32 {
        let group = wanted.unwrap_or(self.next);
        if wanted.is_none() {
            self.next = (group + 1) % self.count();
        }
        if self.admits(group, pages, ftl) {
            return group;
        }
        if !self.admits(self.spill, pages, ftl) {
            let emptiest = (0..self.count()).min_by_key(|&group| self.taken(group, ftl));
            self.spill = emptiest.unwrap_or(group);
        }
        self.spill
    }

    /// Pages of the groups not at hand that are in the buffer.
    pub(super) fn buffered(&self) -> u64 {
        let inactive = self.inactive.iter();
        inactive
            .map(|group| u64::from(group.buffer.host_pages + group.buffer.cleaning_pages))
            .sum()
    }
}

impl Ssd {
    /// A write on a drive with several groups, or with a handle that the drive does not have. The block layer refuses
    /// a stream beyond the drive's with the same error.
    #[cold]
    pub(super) fn write_to_group(&mut self, slot: u32) {
        let request = self.requests[slot].request;
        let (_, pages) = self.translation.written_pages(&request);
        let named = u32::from(request.handle());
        let Some(groups) = self
            .groups
            .table
            .as_mut()
            .filter(|_| named < self.params.placements())
        else {
            return self.refuse(slot, EINVAL);
        };
        let count = groups.count();
        let wanted = (request.placement != Request::NO_PLACEMENT).then_some(named % count);
        let group = groups.choose(wanted, pages, &self.translation.ftl);
        groups.reserved[group as usize] += pages;
        self.requests[slot].request.placement = (named / count * count + group) as u16;
        self.enter_group(group);
        self.write(slot);
    }

    /// Pages of a write to the group at hand are in the buffer, and valid.
    #[inline]
    pub(super) fn placed_in_group(&mut self, pages: u32) {
        if let Some(groups) = &mut self.groups.table {
            groups.reserved[self.groups.active as usize] -= pages;
        }
    }

    /// Takes the group in hand that a write was given to.
    pub(super) fn enter_group_of(&mut self, slot: u32) {
        let placement = u32::from(self.requests[slot].request.placement);
        self.enter_group(placement % self.geometry.groups);
    }

    /// Takes a group in hand.
    pub(super) fn enter_group(&mut self, group: u32) {
        if group == self.groups.active {
            return;
        }
        self.exchange(self.groups.active);
        self.exchange(group);
        self.groups.active = group;
    }

    fn exchange(&mut self, group: u32) {
        let Some(groups) = &mut self.groups.table else {
            return;
        };
        let inactive = &mut groups.inactive[group as usize];
        swap(&mut self.buffer.group, &mut inactive.buffer);
        swap(&mut self.cleaner.group, &mut inactive.cleaning);
    }
}
