//! The flash translation layer: a page map of 4 KiB units, superblocks filled in order by streams,
//! cleaning, TRIM. Pure state without time; `ssd` decides when things happen, `victim` what is
//! cleaned.
//!
//! The state is structures of arrays: two 32-bit maps, and a handful of bytes per superblock; about
//! 9 bytes per mapped page at 15 % over-provisioning.

pub mod map_flush;
pub mod page_numbers;
pub mod slc;
pub mod victim;
pub mod wear;

use std::collections::VecDeque;
use std::ops::Range;

use prefetch_index::prefetch_index;

use crate::ssd::ftl::page_numbers::PageNumbers;
use crate::ssd::ftl::victim::{Phase, Superblock, Victims};
use crate::ssd::ftl::wear::{EraseCounts, Wear};
use crate::ssd::geometry::Geometry;

/// No page.
pub const NONE: u32 = u32::MAX;

/// A stream of writes, which fills superblocks of its own: a number below the layer's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub u8);

/// Where a stream goes on.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    /// Next page; a multiple of the superblock size when a new one is needed.
    page: u32,
    end: u32,
}

/// The translation layer.
#[derive(Clone)]
pub struct Ftl {
    geometry: Geometry,
    map: PageNumbers,
    reverse: PageNumbers,
    superblocks: Box<[Superblock]>,
    victims: Victims,
    /// Free superblocks of each reclaim group, oldest first, which levels wear.
    free: Box<[VecDeque<u32>]>,
    wear: Wear,
    frontiers: Box<[Frontier]>,
    mapped: u32,
}

impl Ftl {
    /// Returns an empty drive with `streams` streams, whose erase counts may differ by `wear_spread` (0: any number).
    pub fn new(geometry: &Geometry, victims: Victims, streams: u32, wear_spread: u32) -> Self {
        Self {
            map: PageNumbers::new(geometry.logical_pages + geometry.map_pages, NONE),
            // What was never written was for a page that lies elsewhere.
            reverse: PageNumbers::new(geometry.physical_pages(), 0),
            superblocks: vec![Superblock::FREE; geometry.superblocks as usize].into_boxed_slice(),
            victims,
            free: (0..geometry.groups)
                .map(|group| geometry.superblocks_of(group).collect())
                .collect(),
            wear: Wear::new(geometry.superblocks, wear_spread),
            frontiers: vec![Frontier { page: 0, end: 0 }; streams as usize].into_boxed_slice(),
            mapped: 0,
            geometry: geometry.clone(),
        }
    }

    /// Returns the physical page of a logical one, or [`NONE`].
    #[inline]
    pub fn lookup(&self, logical: u32) -> u32 {
        self.map[logical as usize]
    }

    /// Fetches the map entry of a logical page into the cache.
    #[inline]
    pub fn prefetch(&self, logical: u32) {
        prefetch_index(&*self.map, logical as usize);
    }

    /// Returns the number of logical pages that hold data, those of the map itself included.
    pub fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    /// Returns the number of free superblocks of a reclaim group.
    pub fn free_superblocks(&self, group: u32) -> u32 {
        self.free[group as usize].len() as u32
    }

    /// Returns the number of valid pages of a reclaim group: one look at each of its superblocks.
    pub fn valid_in(&self, group: u32) -> u32 {
        let Range { start, end } = self.geometry.superblocks_of(group);
        let superblocks = &self.superblocks[start as usize..end as usize];
        superblocks.iter().map(|superblock| superblock.valid).sum()
    }

    /// Returns where the stream's next page will lie; `None`: it needs a new superblock.
    #[inline]
    pub fn frontier(&self, stream: Stream) -> Option<u32> {
        let Frontier { page, end } = self.frontiers[usize::from(stream.0)];
        (page < end).then_some(page)
    }

    /// Pages that the stream's superblock has room for.
    #[inline]
    pub fn left_in_superblock(&self, stream: Stream) -> u32 {
        let Frontier { page, end } = self.frontiers[usize::from(stream.0)];
        end - page
    }

    /// Gives a stream a fresh superblock of a reclaim group; for cold data, if wear is levelled, a worn one. `None`
    /// when none is free there.
    pub fn open(&mut self, stream: Stream, group: u32, cold: bool) -> Option<u32> {
        debug_assert!(self.frontier(stream).is_none());
        let free = &mut self.free[group as usize];
        let superblock = free.remove(self.wear.choose(free, cold))?;
        self.superblocks[superblock as usize].phase = Phase::Open;
        let page = superblock * self.geometry.superblock_pages;
        self.frontiers[usize::from(stream.0)] = Frontier {
            page,
            end: page + self.geometry.superblock_pages,
        };
        Some(superblock)
    }

    /// Writes `count` logical pages from `logical` on to the stream's frontier, which has that
    /// much room in its superblock.
    #[inline]
    pub fn place(&mut self, stream: Stream, logical: u32, count: u32) {
        let frontier = &mut self.frontiers[usize::from(stream.0)];
        let first = frontier.page;
        frontier.page += count;
        debug_assert!(frontier.page <= frontier.end);
        self.superblocks[self.geometry.superblock(first) as usize].valid += count;
        if count == 1 {
            self.reverse[first as usize] = logical;
            let old = std::mem::replace(&mut self.map[logical as usize], first);
            self.replaced(old);
        } else {
            self.place_run(first, logical, count);
        }
    }

    /// Puts `count` logical pages from `logical` on, which hold no data yet, on pages of a superblock that is free.
    pub fn put(&mut self, first: u32, logical: u32, count: u32) {
        self.superblocks[self.geometry.superblock(first) as usize].valid += count;
        self.place_run(first, logical, count);
    }

    /// Closes a free superblock whose pages were [put](Self::put) there: it may be cleaned from now on.
    pub fn put_closed(&mut self, superblock: u32) {
        let free = &mut self.free[self.geometry.group(superblock) as usize];
        free.retain(|&other| other != superblock);
        self.superblocks[superblock as usize].phase = Phase::Open;
        self.close(superblock);
    }

    fn place_run(&mut self, first: u32, logical: u32, count: u32) {
        let reverse = &mut self.reverse[first as usize..(first + count) as usize];
        for (reverse, logical) in reverse.iter_mut().zip(logical..) {
            *reverse = logical;
        }
        for i in 0..count {
            let old = std::mem::replace(&mut self.map[(logical + i) as usize], first + i);
            self.replaced(old);
        }
    }

    /// A mapping has taken the place of an old one.
    #[inline]
    fn replaced(&mut self, old: u32) {
        if old == NONE {
            self.mapped += 1;
        } else {
            self.invalidate(old);
        }
    }

    /// Forgets a logical page.
    pub fn trim(&mut self, logical: u32) {
        let old = std::mem::replace(&mut self.map[logical as usize], NONE);
        if old != NONE {
            self.mapped -= 1;
            self.invalidate(old);
        }
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let index = self.geometry.superblock(page);
        let superblock = &mut self.superblocks[index as usize];
        superblock.valid -= 1;
        if superblock.phase == Phase::Closed {
            self.victims.invalidated(index);
        }
    }

    /// Every unit of the superblock is programmed: it may be cleaned from now on.
    pub fn close(&mut self, superblock: u32) {
        debug_assert_eq!(self.superblocks[superblock as usize].phase, Phase::Open);
        self.superblocks[superblock as usize].phase = Phase::Closed;
        self.victims.add(&self.superblocks, superblock);
    }

    /// Every unit of a superblock of the SLC cache is programmed: it may be folded.
    pub fn cache(&mut self, superblock: u32) {
        self.superblocks[superblock as usize].phase = Phase::Cached;
    }

    /// Takes a superblock of the SLC cache out for folding, with its valid pages.
    pub fn take_cached(&mut self, superblock: u32) -> (u32, u32) {
        let state = &mut self.superblocks[superblock as usize];
        debug_assert_eq!(state.phase, Phase::Cached);
        state.phase = Phase::Draining;
        (superblock, state.valid)
    }

    /// Leaves the stream's next `count` pages unwritten.
    pub fn skip(&mut self, stream: Stream, count: u32) {
        self.frontiers[usize::from(stream.0)].page += count;
    }

    /// Takes the closed superblock of a reclaim group that the policy chooses out for cleaning, with its valid pages.
    /// `None` when there is none that the policy would clean.
    pub fn take_victim(&mut self, group: u32) -> Option<(u32, u32)> {
        let of_group = self.geometry.superblocks_of(group);
        let index = self.victims.take(&self.superblocks, of_group)?;
        let superblock = &mut self.superblocks[index as usize];
        superblock.phase = Phase::Draining;
        Some((index, superblock.valid))
    }

    /// As [`Self::take_victim`], the closed superblock whose erase count lags too far behind.
    pub fn take_lagging(&mut self, group: u32) -> Option<(u32, u32)> {
        let of_group = self.geometry.superblocks_of(group);
        let index = self.wear.lagging(&self.superblocks, of_group)?;
        self.victims.remove(index);
        let superblock = &mut self.superblocks[index as usize];
        superblock.phase = Phase::Draining;
        Some((index, superblock.valid))
    }

    /// Returns the program/erase cycles so far.
    pub fn erase_counts(&self) -> EraseCounts {
        self.wear.counts()
    }

    /// Moves valid pages of `from`, which lie in the victim `victim`, to the stream's frontier, whose superblock has room
    /// for `most`: no more than that. Gives how many were moved and the page to go on with.
    #[inline]
    pub fn relocate(
        &mut self,
        stream: Stream,
        victim: u32,
        from: Range<u32>,
        most: u32,
    ) -> (u32, u32) {
        let frontier = &mut self.frontiers[usize::from(stream.0)];
        let first = frontier.page;
        let (mut next, mut page) = (first, from.start);
        let end = first + most;
        debug_assert!(end <= frontier.end);
        let (map, reverse) = (&mut *self.map, &mut *self.reverse);
        while page < from.end && next < end {
            let logical = reverse[page as usize];
            // Which pages are valid is as good as random: no branch depends on it.
            let entry = &mut map[logical as usize];
            let valid = *entry == page;
            *entry = if valid { next } else { *entry };
            // An invalid one is overwritten by the next, or by whatever is written there.
            reverse[next as usize] = logical;
            next += u32::from(valid);
            page += 1;
        }
        let moved = next - first;
        if moved > 0 {
            frontier.page = next;
            self.superblocks[victim as usize].valid -= moved;
            self.superblocks[self.geometry.superblock(first) as usize].valid += moved;
        }
        (moved, page)
    }

    /// Returns the logical pages that the physical ones were written for.
    pub fn owners(&self, first: u32, count: u32) -> &[u32] {
        &self.reverse[first as usize..(first + count) as usize]
    }

    /// Fetches the map entries that relocating these pages will touch.
    #[inline]
    pub fn prefetch_reverse(&self, pages: Range<u32>) {
        let map = &*self.map;
        for &logical in &self.reverse[pages.start as usize..pages.end as usize] {
            prefetch_index(map, logical as usize);
        }
    }

    /// A drained superblock becomes free.
    pub fn release(&mut self, superblock: u32) {
        let state = &mut self.superblocks[superblock as usize];
        debug_assert_eq!((state.phase, state.valid), (Phase::Draining, 0));
        state.phase = Phase::Free;
        self.wear.erased(superblock);
        self.free[self.geometry.group(superblock) as usize].push_back(superblock);
    }
}

#[cfg(test)]
impl Ftl {
    /// Returns the logical page that a physical page was written for.
    pub fn owner(&self, page: u32) -> u32 {
        self.reverse[page as usize]
    }

    /// Returns the number of valid pages of a superblock.
    pub fn valid_pages(&self, superblock: u32) -> u32 {
        self.superblocks[superblock as usize].valid
    }
}
