//! Free space: block groups searched from a hint, as on ordinary disks, and zones written in order.
//!
//! Block groups, as btrfs searches (`find_free_extent`): the group of the hint from the hint on, then
//! every group, then a new group, and only then a shorter piece. Where files grow in place, what is free
//! right at the hint comes first, however short (ext4 `EXT4_MB_HINT_MERGE`). Zones follow its zoned mode: one open data
//! zone, filled in order; what is overwritten is unusable until the whole zone is reset.

use std::collections::{BTreeMap, BTreeSet};

/// Free extents behind the hint that are looked at before any that is long enough is taken.
const LOOK_AT: usize = 64;

/// A block group and its free extents.
struct Group {
    /// Start to length.
    free: BTreeMap<u64, u64>,
    /// Length and start of the same.
    by_length: BTreeSet<(u64, u64)>,
}

impl Group {
    fn new(start: u64, len: u64) -> Self {
        Self {
            free: BTreeMap::from([(start, len)]),
            by_length: BTreeSet::from([(len, start)]),
        }
    }

    /// First fit at or behind `from`, where it is near.
    fn near(&self, from: u64, len: u64) -> Option<u64> {
        let mut behind = self.free.range(from..).take(LOOK_AT);
        behind.find(|&(_, &l)| l >= len).map(|(&start, _)| start)
    }

    /// The shortest that is long enough.
    fn fit(&self, len: u64) -> Option<u64> {
        let found = self.by_length.range((len, 0)..).next();
        found.map(|&(_, start)| start)
    }

    fn insert(&mut self, start: u64, len: u64) {
        self.free.insert(start, len);
        self.by_length.insert((len, start));
    }

    fn remove(&mut self, start: u64) -> Option<u64> {
        let len = self.free.remove(&start)?;
        self.by_length.remove(&(len, start));
        Some(len)
    }

    fn take(&mut self, start: u64, len: u64) {
        if let Some(length) = self.remove(start)
            && length > len
        {
            self.insert(start + len, length - len);
        }
    }

    fn give(&mut self, mut start: u64, mut len: u64) {
        len += self.remove(start + len).unwrap_or(0);
        let before = self.free.range(..start).next_back();
        if let Some((&s, &l)) = before.filter(|&(&s, &l)| s + l == start) {
            self.remove(s);
            (start, len) = (s, l + len);
        }
        self.insert(start, len);
    }
}

/// Space in block groups of equal length, made when they are needed.
pub struct Groups {
    first: u64,
    end: u64,
    length: u64,
    grows: bool,
    groups: Vec<Group>,
}

impl Groups {
    /// Blocks `first..end` in groups of `length`. `grows`: takes less than asked for at the hint.
    pub fn new(first: u64, end: u64, length: u64, grows: bool) -> Self {
        Self {
            first,
            end,
            length,
            grows,
            groups: Vec::new(),
        }
    }

    fn allocate(&mut self, want: u64, hint: Option<u64>) -> Option<(u64, u64)> {
        if let Some(found) = hint.and_then(|hint| self.continued(want, hint)) {
            return Some(found);
        }
        let mut len = want.min(self.length);
        loop {
            if let Some(start) = self.fit(len, hint) {
                return Some((start, len));
            }
            if self.grow() {
                continue;
            }
            if len == 1 {
                return None;
            }
            len /= 2;
        }
    }

    /// What is free from `hint` on, even if it is less than `want`.
    fn continued(&mut self, want: u64, hint: u64) -> Option<(u64, u64)> {
        let near = self.group_of(hint);
        let group = self.groups.get_mut(near).filter(|_| self.grows)?;
        let len = want.min(*group.free.get(&hint)?);
        group.take(hint, len);
        Some((hint, len))
    }

    fn fit(&mut self, len: u64, hint: Option<u64>) -> Option<u64> {
        let count = self.groups.len();
        let first = hint.map_or(0, |hint| self.group_of(hint));
        let behind = hint.and_then(|hint| self.groups.get(first)?.near(hint, len));
        let (group, start) = match behind {
            Some(start) => (first, start),
            None => (0..count)
                .map(|step| (first + step) % count)
                .find_map(|group| Some((group, self.groups[group].fit(len)?)))?,
        };
        self.groups[group].take(start, len);
        Some(start)
    }

    /// Makes the next group; false when the device is used up.
    fn grow(&mut self) -> bool {
        let start = self.first + self.groups.len() as u64 * self.length;
        let end = (start + self.length).min(self.end);
        if start >= end {
            return false;
        }
        self.groups.push(Group::new(start, end - start));
        true
    }

    fn group_of(&self, block: u64) -> usize {
        let group = (block.saturating_sub(self.first) / self.length) as usize;
        group.min(self.groups.len().saturating_sub(1))
    }
}

/// Space in zones that are written in order.
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
    /// Zones of `length` from `first` on, as many whole ones as end by `end`.
    pub fn new(first: u64, end: u64, length: u64) -> Self {
        let count = ((end - first) / length) as usize;
        Self {
            first,
            length,
            used: vec![0; count],
            unusable: vec![0; count],
            empty: (0..count).collect(),
            open: None,
            pointer: 0,
        }
    }

    fn allocate(&mut self, want: u64, reserve: bool) -> Option<(u64, u64)> {
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
        Some((start, len))
    }

    fn free(&mut self, start: u64, len: u64) -> Option<(u64, u64)> {
        let zone = ((start - self.first) / self.length) as usize;
        self.used[zone] -= len;
        self.unusable[zone] += len;
        if self.used[zone] > 0 || self.open == Some(zone) {
            return None;
        }
        self.unusable[zone] = 0;
        self.empty.insert(zone);
        Some(self.bounds(zone))
    }

    fn bounds(&self, zone: usize) -> (u64, u64) {
        let start = self.first + zone as u64 * self.length;
        (start, start + self.length)
    }

    /// The zone that is best worth relocating, when space is short: more than half of it unusable,
    /// or any when hardly a zone is left.
    fn victim(&self) -> Option<(u64, u64)> {
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
pub enum Space {
    /// Any free block can be written.
    Groups(Groups),
    /// Only the block behind the last one of the zone can be written.
    Zones(Zones),
}

impl Space {
    /// At most `want` contiguous blocks, as near behind `hint` as the rules give. `None`: no space.
    /// Only with `reserve` the last zones are used: emptying a zone needs room to move its data to.
    pub fn allocate(&mut self, want: u64, hint: Option<u64>, reserve: bool) -> Option<(u64, u64)> {
        match self {
            Self::Groups(groups) => groups.allocate(want, hint),
            Self::Zones(zones) => zones.allocate(want, reserve),
        }
    }

    /// Gives blocks back; the bounds of a zone that is to be reset now.
    pub fn free(&mut self, start: u64, len: u64) -> Option<(u64, u64)> {
        match self {
            Self::Groups(groups) => {
                let group = groups.group_of(start);
                groups.groups[group].give(start, len);
                None
            }
            Self::Zones(zones) => zones.free(start, len),
        }
    }

    /// Bounds of a zone whose data is to be moved away.
    pub fn victim(&self) -> Option<(u64, u64)> {
        match self {
            Self::Groups(_) => None,
            Self::Zones(zones) => zones.victim(),
        }
    }
}
