//! Free space: block groups searched from a hint, as on ordinary disks, and zones written in order.
//!
//! Block groups are searched as in btrfs (`find_free_extent`, kernel 5.16). The group of the hint comes first, then
//! every group, then a new group, and only then a shorter piece. In a group it takes the first piece that is long
//! enough. Where files grow in place, what is free right at the hint comes first, however short (ext4
//! `EXT4_MB_HINT_MERGE`). Zones follow btrfs's zoned mode: one open data zone, filled in order. What is overwritten is
//! unusable until the whole zone is reset.

use std::collections::BTreeSet;
use std::ops::Range;

use super::ranges::Ranges;

/// Blocks that one page of btrfs's free-space bitmaps stands for, 128 MiB. A search begins where that of
/// the hint does (`find_free_space`), not at the hint itself.
const WINDOW: u64 = 32_768;

/// Number of lengths, powers of two from 1 on, for which a window knows where to begin to look.
const CLASSES: usize = 6;

/// What is known of the free space of a window, so that searches need not look again.
#[derive(Clone)]
struct Window {
    /// Blocks from the window's start, for runs of 1, 2, 4 ... blocks: no free run of that length begins in front.
    from: [u16; CLASSES],
    /// No free run that begins in the window is longer.
    longest: u64,
}

impl Window {
    const UNKNOWN: Self = Self {
        from: [0; CLASSES],
        longest: u64::MAX,
    };

    /// The block `at` is free now, counted from the window's start; one in a later window counts too.
    fn give(&mut self, at: u64) {
        for (class, from) in self.from.iter_mut().enumerate() {
            let first = at.saturating_sub((1 << class) - 1);
            *from = u64::from(*from).min(first) as u16;
        }
    }
}

/// Space in block groups of equal length, made when they are needed. Blocks are counted from the first.
#[derive(Clone)]
pub struct Groups {
    first: u64,
    blocks: u64,
    /// Blocks of a group.
    length: u64,
    /// Windows of a group.
    each: usize,
    grows: bool,
    /// Blocks in groups made so far.
    made: u64,
    free: Ranges,
    windows: Vec<Window>,
    /// No free run of a group is longer.
    longest: Vec<u64>,
}

impl Groups {
    /// Returns blocks in groups of `length`. `grows`: takes less than asked for at the hint.
    pub fn new(blocks: Range<u64>, length: u64, grows: bool) -> Self {
        Self {
            first: blocks.start,
            blocks: blocks.end - blocks.start,
            length,
            each: length.div_ceil(WINDOW) as usize,
            grows,
            made: 0,
            free: Ranges::default(),
            windows: Vec::new(),
            longest: Vec::new(),
        }
    }

    fn allocate(&mut self, want: u64, hint: Option<u64>) -> Option<Range<u64>> {
        let hint = hint.map(|hint| hint - self.first);
        let continued = hint.and_then(|hint| self.continued(want, hint));
        let Range { start, end } = match continued {
            Some(found) => found,
            None => self.anywhere(want.min(self.length), hint)?,
        };
        self.free.remove(start..end);
        Some(self.first + start..self.first + end)
    }

    /// Returns where `len` blocks are free, in a new group if need be; else half as many, and so on.
    fn anywhere(&mut self, mut len: u64, hint: Option<u64>) -> Option<Range<u64>> {
        while len > 0 {
            if let Some(start) = self.fit(len, hint) {
                return Some(start..start + len);
            }
            if !self.grow() {
                len /= 2;
            }
        }
        None
    }

    /// Returns what is free from `hint` on, even if it is less than `want`.
    fn continued(&self, want: u64, hint: u64) -> Option<Range<u64>> {
        if !self.grows || !self.free.contains(hint) {
            return None;
        }
        let limit = (hint + want).min((hint / self.length + 1) * self.length);
        Some(hint..self.free.run_end(hint, limit))
    }

    /// Returns where `len` blocks are free: in the group of the hint, from its window on, or in the first group
    /// that has them.
    fn fit(&mut self, len: u64, hint: Option<u64>) -> Option<u64> {
        let near = hint.filter(|&hint| hint < self.made).and_then(|hint| {
            let first = (hint % self.length / WINDOW) as usize;
            self.search((hint / self.length) as usize, first, len)
        });
        near.or_else(|| {
            (0..self.longest.len()).find_map(|group| {
                if self.longest[group] < len {
                    return None;
                }
                let found = self.search(group, 0, len);
                if found.is_none() {
                    self.longest[group] = len - 1;
                }
                found
            })
        })
    }

    /// Returns the first run of `len` blocks in a group that begins in its window `first` or later.
    fn search(&mut self, group: usize, first: usize, len: u64) -> Option<u64> {
        let Range { start, end: limit } = self.bounds(group);
        let windows = &mut self.windows[group * self.each..][..self.each];
        for (number, window) in windows.iter_mut().enumerate().skip(first) {
            if window.longest < len {
                continue;
            }
            let begin = start + number as u64 * WINDOW;
            let until = (begin + WINDOW).min(limit).max(begin);
            let class = (len.ilog2() as usize).min(CLASSES - 1);
            let from = begin + u64::from(window.from[class]);
            let found = match len {
                1 => self.free.first(from).filter(|&free| free < until),
                _ => self.free.run_of(len, from..until, limit),
            };
            if len == 1 << class {
                window.from[class] = (found.unwrap_or(until) - begin) as u16;
            }
            if found.is_some() {
                return found;
            }
            window.longest = len - 1;
        }
        None
    }

    /// Makes the next group; false when the device is used up.
    fn grow(&mut self) -> bool {
        let group = self.made..(self.made + self.length).min(self.blocks);
        if group.is_empty() {
            return false;
        }
        self.made = group.end;
        self.free.insert(group);
        let windows = self.windows.len() + self.each;
        self.windows.resize(windows, Window::UNKNOWN);
        self.longest.push(u64::MAX);
        true
    }

    /// Gives blocks back.
    fn give(&mut self, blocks: Range<u64>) {
        let (start, end) = (blocks.start - self.first, blocks.end - self.first);
        self.free.insert(start..end);
        let mut at = start;
        while at < end {
            let group = (at / self.length) as usize;
            let Range {
                start: first,
                end: limit,
            } = self.bounds(group);
            let last = (end.min(limit) - 1 - first) / WINDOW;
            self.longest[group] = u64::MAX;
            let here = (at - first) / WINDOW;
            for number in here.saturating_sub(1)..=last {
                let window = &mut self.windows[group * self.each + number as usize];
                window.give((at - first).saturating_sub(number * WINDOW));
            }
            for number in here..=last {
                self.windows[group * self.each + number as usize].longest = u64::MAX;
            }
            // What is free up to a window's start belongs to a run that begins further in front.
            for number in (0..here).rev() {
                if !self.free.contains(first + (number + 1) * WINDOW - 1) {
                    break;
                }
                self.windows[group * self.each + number as usize].longest = u64::MAX;
            }
            at = limit;
        }
    }

    /// Returns the blocks of a group.
    fn bounds(&self, group: usize) -> Range<u64> {
        let start = group as u64 * self.length;
        start..(start + self.length).min(self.made)
    }
}

/// Space in zones that are written in order.
#[derive(Clone)]
pub struct Zones {
    first: u64,
    length: u64,
    /// Blocks that are in use, of each zone.
    used: Vec<u64>,
    /// Blocks given back, of each zone.
    unusable: Vec<u64>,
    empty: BTreeSet<usize>,
    open: Option<usize>,
    pointer: u64,
}

/// Kernel 6.0, `btrfs_zoned_should_reclaim`: zones are cleaned once 75 % of the disk is taken.
const RECLAIM_FROM: f64 = 0.75;
/// Zones that only emptying another may take.
const RESERVED_ZONES: usize = 2;

impl Zones {
    /// Returns blocks in zones of `length`, as many as are whole.
    pub fn new(blocks: Range<u64>, length: u64) -> Self {
        let count = ((blocks.end - blocks.start) / length) as usize;
        Self {
            first: blocks.start,
            length,
            used: vec![0; count],
            unusable: vec![0; count],
            empty: (0..count).collect(),
            open: None,
            pointer: 0,
        }
    }

    /// Returns the blocks that data may take for good: of every zone but the reserve and the one that is written.
    pub fn data_blocks(&self) -> u64 {
        let zones = self.used.len().saturating_sub(RESERVED_ZONES + 1);
        zones as u64 * self.length
    }

    fn allocate(&mut self, want: u64, reserve: bool) -> Option<Range<u64>> {
        let zone = match self.open {
            Some(zone) => zone,
            None if !reserve && self.empty.len() <= RESERVED_ZONES => return None,
            None => {
                self.pointer = 0;
                self.empty.pop_first()?
            }
        };
        let len = want.min(self.length - self.pointer);
        let start = self.first + zone as u64 * self.length + self.pointer;
        self.pointer += len;
        self.used[zone] += len;
        self.open = (self.pointer < self.length).then_some(zone);
        Some(start..start + len)
    }

    /// Gives blocks back; the zones that are to be reset now. Extents that lie behind one another are one, whichever
    /// zones they are in.
    fn free(&mut self, blocks: Range<u64>) -> Vec<Range<u64>> {
        let (mut at, end) = (blocks.start - self.first, blocks.end - self.first);
        let mut emptied = Vec::new();
        loop {
            let zone = at / self.length;
            let until = end.min((zone + 1) * self.length);
            emptied.extend(self.free_in(zone as usize, until - at));
            at = until;
            if at >= end {
                return emptied;
            }
        }
    }

    fn free_in(&mut self, zone: usize, len: u64) -> Option<Range<u64>> {
        self.used[zone] -= len;
        self.unusable[zone] += len;
        if self.used[zone] > 0 || self.open == Some(zone) {
            return None;
        }
        self.unusable[zone] = 0;
        self.empty.insert(zone);
        Some(self.bounds(zone))
    }

    fn bounds(&self, zone: usize) -> Range<u64> {
        let start = self.first + zone as u64 * self.length;
        start..start + self.length
    }

    /// Returns the zone best worth relocating, when space is short: more than half of it unusable,
    /// or any when hardly a zone is left.
    fn victim(&self) -> Option<Range<u64>> {
        let (all, left) = (self.used.len(), self.empty.len());
        if left as f64 > (1.0 - RECLAIM_FROM) * all as f64 {
            return None;
        }
        let least = if left <= RESERVED_ZONES + 1 {
            1
        } else {
            self.length / 2
        };
        (0..all)
            .filter(|&zone| self.open != Some(zone) && self.unusable[zone] >= least)
            .max_by_key(|&zone| (self.unusable[zone], all - zone))
            .map(|zone| self.bounds(zone))
    }
}

/// Either way to keep space.
#[derive(Clone)]
pub enum Space {
    /// Any free block can be written.
    Groups(Groups),
    /// Only the block behind the last one of the zone can be written.
    Zones(Zones),
}

impl Space {
    /// At most `want` contiguous blocks, as near behind `hint` as the rules give. `None`: no space.
    /// Only with `reserve` the last zones are used: emptying a zone needs room to move its data to.
    pub fn allocate(&mut self, want: u64, hint: Option<u64>, reserve: bool) -> Option<Range<u64>> {
        match self {
            Self::Groups(groups) => groups.allocate(want, hint),
            Self::Zones(zones) => zones.allocate(want, reserve),
        }
    }

    /// Gives blocks back; the zones that are to be reset now.
    pub fn free(&mut self, blocks: Range<u64>) -> Vec<Range<u64>> {
        match self {
            Self::Groups(groups) => {
                groups.give(blocks);
                Vec::new()
            }
            Self::Zones(zones) => zones.free(blocks),
        }
    }

    /// Returns a zone whose data is to be moved away.
    pub fn victim(&self) -> Option<Range<u64>> {
        match self {
            Self::Groups(_) => None,
            Self::Zones(zones) => zones.victim(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GROUP: usize = 40_000;
    const FIRST: u64 = 7;

    /// The first run of `len` free blocks that begins in `from..`, in the group of `from`.
    fn first_fit(free: &[bool], from: usize, len: usize) -> Option<usize> {
        let limit = ((from / GROUP + 1) * GROUP).min(free.len());
        let mut run = 0;
        (from..limit).find_map(|at| {
            run = if free[at] { run + 1 } else { 0 };
            (run == len).then(|| at + 1 - len)
        })
    }

    proptest! {
        /// Compares with one flag per block. The hint's group is searched from its window on, then every group from its
        /// start, then a new group, then half as much.
        #[test]
        fn free_space_is_found_as_btrfs_finds_it(
            steps in proptest::collection::vec((1u64..30_000, 0u64..90_000, 0u8..4), 1..60)
        ) {
            let mut groups = Groups::new(FIRST..FIRST + 90_000, GROUP as u64, false);
            let mut free: Vec<bool> = Vec::new();
            let mut held: Vec<Range<u64>> = Vec::new();
            for (size, place, what) in steps {
                if what == 0 && !held.is_empty() {
                    let Range { start, end } = held.swap_remove(place as usize % held.len());
                    let end = end.min(start + size);
                    free[(start - FIRST) as usize..(end - FIRST) as usize].fill(true);
                    groups.give(start..end);
                    continue;
                }
                let want = if what == 1 { size % 9 + 1 } else { size };
                let (mut len, hint) = (want, place as usize);
                let expected = loop {
                    let window = hint % GROUP / WINDOW as usize * WINDOW as usize;
                    let near = (hint < free.len())
                        .then(|| first_fit(&free, hint / GROUP * GROUP + window, len as usize));
                    let starts = (0..free.len()).step_by(GROUP);
                    let any = || starts.clone().find_map(|start| first_fit(&free, start, len as usize));
                    if let Some(found) = near.flatten().or_else(any) {
                        break Some(FIRST + found as u64..FIRST + found as u64 + len);
                    }
                    if free.len() < 90_000 {
                        free.resize((free.len() + GROUP).min(90_000), true);
                    } else if len == 1 {
                        break None;
                    } else {
                        len /= 2;
                    }
                };
                let found = groups.allocate(want, Some(FIRST + place));
                prop_assert_eq!(&found, &expected);
                if let Some(blocks) = found {
                    free[(blocks.start - FIRST) as usize..(blocks.end - FIRST) as usize].fill(false);
                    held.push(blocks);
                }
            }
        }
    }

    #[test]
    fn what_is_given_back_across_the_border_of_zones_is_given_back_in_each() {
        let mut zones = Zones::new(100..400, 100);
        for start in [100, 200, 300] {
            assert_eq!(zones.allocate(100, true), Some(start..start + 100));
        }
        assert_eq!(zones.free(150..250), []);
        assert_eq!(zones.free(100..150), Vec::from_iter(Some(100..200)));
        assert_eq!(zones.free(250..400), [200..300, 300..400]);
    }
}
