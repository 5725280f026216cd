//! What the drive's memory holds: written ranges on their way to the medium, and ranges that were read
//! or are being read ahead. Contents are not kept, only which bytes are there.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::DiskParams;
use super::layout::{Layout, Place};

/// A written range that the medium does not have yet.
#[derive(Clone, Copy)]
struct Dirty {
    end: u64,
    /// Where it starts: the arm compares a range with others more than once.
    place: Place,
}

/// Written ranges that the medium does not have yet; neighbours are joined.
#[derive(Clone)]
pub struct WriteCache {
    /// By start.
    extents: BTreeMap<u64, Dirty>,
    /// Bytes in `extents`.
    dirty_bytes: u64,
    /// Bytes let in that have not crossed the interface, and those being written to the medium.
    pub moving_bytes: u64,
    capacity_bytes: u64,
    extents_most: usize,
}

impl WriteCache {
    /// Returns an empty cache.
    pub fn new(params: &DiskParams) -> Self {
        Self {
            extents: BTreeMap::new(),
            dirty_bytes: 0,
            moving_bytes: 0,
            capacity_bytes: params.write_cache_bytes,
            extents_most: params.write_cache_extents as usize,
        }
    }

    /// Returns whether writes are acknowledged before they are on the medium.
    pub const fn is_on(&self) -> bool {
        self.capacity_bytes > 0
    }

    /// Returns whether a write may come in. One larger than the cache comes in when nothing else is there.
    #[inline]
    pub fn has_room(&self, bytes: u64) -> bool {
        let held_bytes = self.dirty_bytes + self.moving_bytes;
        self.extents.len() < self.extents_most
            && (held_bytes + bytes <= self.capacity_bytes || held_bytes == 0)
    }

    /// Returns whether there is nothing to write and nothing on its way.
    pub fn is_clean(&self) -> bool {
        self.extents.is_empty() && self.moving_bytes == 0
    }

    /// Returns whether anything waits to be written.
    pub fn is_dirty(&self) -> bool {
        !self.extents.is_empty()
    }

    /// Adds a range that has arrived.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>, layout: &Layout) {
        let Range { mut start, mut end } = range;
        let mut place = None;
        let last = self.extents.range(..=end).next_back();
        if last.is_none_or(|(_, held)| held.end < start) {
            self.dirty_bytes += end - start;
            let place = layout.place(start);
            self.extents.insert(start, Dirty { end, place });
            return;
        }
        if let Some((&before, held)) = self.extents.range(..=start).next_back()
            && held.end >= start
        {
            if held.end >= end {
                return;
            }
            self.dirty_bytes -= held.end - before;
            (start, place) = (before, Some(held.place));
        }
        while let Some((&next, held)) = self.extents.range(start + 1..=end).next() {
            end = end.max(held.end);
            self.dirty_bytes -= held.end - next;
            self.extents.remove(&next);
        }
        self.dirty_bytes += end - start;
        let place = place.unwrap_or_else(|| layout.place(start));
        self.extents.insert(start, Dirty { end, place });
    }

    /// Returns whether all of a range is here.
    #[inline]
    pub fn holds(&self, range: &Range<u64>) -> bool {
        self.extents
            .range(..=range.start)
            .next_back()
            .is_some_and(|(_, held)| held.end >= range.end)
    }

    /// Returns the ranges from an address on, and round from the start.
    pub fn from(&self, at: u64) -> impl Iterator<Item = Range<u64>> {
        self.dirty_from(at).map(|(&start, held)| start..held.end)
    }

    /// Returns where the same ranges start.
    pub fn places_from(&self, at: u64) -> impl Iterator<Item = (u64, Place)> {
        self.dirty_from(at)
            .map(|(&start, held)| (start, held.place))
    }

    fn dirty_from(&self, at: u64) -> impl Iterator<Item = (&u64, &Dirty)> {
        self.extents.range(at..).chain(self.extents.range(..at))
    }

    /// Takes up to `most_bytes` from the head of the range at `start`, nothing where none begins; gives what it took.
    /// That counts as moving until it is on the medium.
    pub fn take(&mut self, start: u64, most_bytes: u64, layout: &Layout) -> Range<u64> {
        let Some(Dirty { end, .. }) = self.extents.remove(&start) else {
            return start..start;
        };
        let taken_end = end.min(start + most_bytes);
        if taken_end < end {
            let place = layout.place(taken_end);
            self.extents.insert(taken_end, Dirty { end, place });
        }
        self.dirty_bytes -= taken_end - start;
        self.moving_bytes += taken_end - start;
        start..taken_end
    }
}

/// Ranges of bytes that were read, the one used last in front.
#[derive(Clone)]
pub struct Segments {
    held: VecDeque<Range<u64>>,
    most: usize,
}

impl Segments {
    /// Returns an empty cache.
    pub fn new(params: &DiskParams) -> Self {
        Self {
            held: VecDeque::new(),
            most: params.read_segments as usize,
        }
    }

    /// Returns whether all of a range is here; it is then the one used last.
    #[inline]
    pub fn hit(&mut self, range: &Range<u64>) -> bool {
        let holds = |held: &Range<u64>| held.start <= range.start && range.end <= held.end;
        let Some(index) = self.held.iter().position(holds) else {
            return false;
        };
        self.held.make_contiguous()[..=index].rotate_right(1);
        true
    }

    /// Takes the range that ends at or covers `at`, which a stream goes on from.
    #[inline]
    pub fn take_before(&mut self, at: u64) -> Option<Range<u64>> {
        let leads = |held: &Range<u64>| held.start < at && at <= held.end;
        let index = self.held.iter().position(leads)?;
        self.held.remove(index)
    }

    /// Adds a range in front; the one used longest ago makes room.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) {
        self.held.truncate(self.most - 1);
        self.held.push_front(range);
    }

    /// Forgets what a write makes stale.
    #[inline]
    pub fn forget(&mut self, range: &Range<u64>) {
        self.held
            .retain(|held| held.end <= range.start || range.end <= held.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::tests::small_disk;
    use proptest::prelude::*;

    proptest! {
        /// Against one flag per block.
        #[test]
        fn the_write_cache_holds_what_was_written_and_not_yet_taken(
            steps in proptest::collection::vec((0u64..64, 1u64..12, any::<bool>()), 1..200)
        ) {
            let layout = Layout::new(&small_disk());
            let mut cache = WriteCache::new(&small_disk());
            let mut blocks = [false; 80];
            for (at, count, writes) in steps {
                if writes {
                    cache.insert(at..at + count, &layout);
                    blocks[at as usize..(at + count) as usize].fill(true);
                    continue;
                }
                let first = cache.from(at).next();
                if let Some(Range { start, .. }) = first {
                    let taken = cache.take(start, count, &layout);
                    cache.moving_bytes -= taken.end - taken.start;
                    blocks[taken.start as usize..taken.end as usize].fill(false);
                }
                prop_assert_eq!(
                    cache.dirty_bytes,
                    blocks.iter().filter(|&&block| block).count() as u64
                );
                for (at, &block) in (0u64..).zip(&blocks) {
                    prop_assert_eq!(cache.holds(&(at..at + 1)), block);
                }
            }
        }
    }
}
